"""Reading rows of a dataset in any order: single items and batches, exact shuffling, shares of processes, pairs.

`Images` has the interface that PyTorch's ``DataLoader`` and Grain expect: a length, and items by number or numbers.
`benchmark_data.torch` returns the same items as tensors. `order` decides which rows a process reads, in which order:
the same ones for PyTorch, TFDS and Hugging Face.

>>> data = Images("xysquares/spacing_4", fields=("image", "label", "scaled"))
>>> image, label, scaled = data[9]
>>> image.shape, label.tolist(), (7 * scaled).tolist()  # positions 0 to 7
((64, 64, 3), [0, 0, 0, 0, 1, 1], [0.0, 0.0, 0.0, 0.0, 1.0, 1.0])
>>> images, labels, _ = data[[9, 0]]
>>> images.shape, labels.shape
((2, 64, 64, 3), (2, 6))
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

import benchmark_data
from benchmark_data import draws, parallel
from benchmark_data.dataset import Dataset
from benchmark_data.errors import InvalidInput, UnknownName, check_count, is_whole
from benchmark_data.factors import FactorSpace, FactorTable, Indices, check_integers
from benchmark_data.publish import records

__all__ = ["Batch", "Fields", "Images", "Pairs", "order", "rows_of", "share"]

Fields: TypeAlias = str | Sequence[str]
"""The name of one field, or a tuple of several."""

FIELDS = ("image", "label", "value", "scaled", "index")


def rows_of(dataset: Dataset, split: str | None) -> range | Indices:
    """Return the rows of a split.

    Args:
        dataset: the dataset.
        split: as TFDS and ``datasets`` write it: ``"train"``, ``"train[:10%]"``, ``"train[100:-50]+test"``. Bounds in
            rows must lie within the split, as both libraries require. Shares are rounded to the nearest row, also to
            none: of 20 rows ``"train[-2%:]"`` has none, where TFDS returns all. All rows of all splits if None.

    Returns:
        The rows, in order; a range if they form one.

    Raises:
        UnknownName: there is no such split.
        InvalidInput: the split cannot be parsed, or has no rows.

    Example:
        >>> rows_of(benchmark_data.load("xysquares"), "train[:1%]")
        range(0, 2621)
    """
    count = len(dataset)
    if split is None:
        return range(count)
    parts = []
    for term in check_split_text(dataset, split).split("+"):
        match = re.fullmatch(r"\s*([^][]+?)\s*(?:\[(-?\d+%?)?:(-?\d+%?)?\])?\s*", term)
        name = match[1] if match else term.partition("[")[0].strip()
        rows = dataset.splits[name]
        if not match:
            raise InvalidInput(
                f"split of {dataset.id}: expected a name with bounds in rows or percent, such as train[:10%] or "
                f"train[100:-50], received {term!r}."
            )
        for bound in match.groups()[1:]:
            limit, unit = (100, "%") if bound and bound.endswith("%") else (len(rows), " rows")
            if bound and abs(int(bound.rstrip("%"))) > limit:
                raise InvalidInput(
                    f"split of {dataset.id}: expected bounds of at most {limit}{unit}, received {term.strip()!r}."
                )
        parts.append(rows[slice(*(_parse_bound(bound, len(rows)) for bound in match.groups()[1:]))])
    if not any(map(len, parts)):
        raise InvalidInput(f"split of {dataset.id}: expected at least one row, received {split!r}, which has none.")
    return parts[0] if len(parts) == 1 else np.concatenate([np.asarray(part, np.int64) for part in parts])


def check_split_text(dataset: Dataset, split: object) -> str:
    """Check that a split is a string, and return it."""
    if not isinstance(split, str):
        raise InvalidInput(
            f"split of {dataset.id}: expected a string, such as 'train', 'train[:10%]' or 'train+test', received "
            f"{split!r}."
        )
    return split


def _parse_bound(text: str | None, n: int) -> int | None:
    if text is None:
        return None
    if not text.endswith("%"):
        return int(text)
    count = round(int(text[:-1]) * n / 100)
    return n if text.startswith("-") and not count else count  # none from the end on; TFDS reads it as from row 0


def order(
    rows: range | Indices,
    *,
    seed: int | None = None,
    epoch: int = 0,
    shard: tuple[int, int] = (0, 1),
    even: bool = False,
) -> Indices:
    """Return the rows that one process reads in one epoch, in order.

    Args:
        rows: the rows of all processes.
        seed: seed in [0, 2**64) of the shuffle, which differs in each epoch: the permutation depends only on seed and
            epoch. None keeps their order.
        epoch: the epoch, from 0.
        shard: (index of this process, number of processes). Process i of n reads rows i, i + n, i + 2n, ...
        even: drop the last rows so that all processes read equally many.

    Returns:
        int64, shape (n,).

    Raises:
        InvalidInput: ``shard``, ``epoch`` or ``seed`` is out of range.

    Example:
        >>> order(range(5)).tolist(), order(range(5), shard=(1, 2)).tolist()
        ([0, 1, 2, 3, 4], [1, 3])
        >>> order(range(5), seed=0).tolist(), order(range(5), seed=0, epoch=1).tolist()
        ([4, 1, 3, 0, 2], [0, 4, 2, 1, 3])
    """
    positions = share(len(rows), shard, even=even)
    check_order(seed, epoch)
    ordered = check_integers("rows", rows).astype(np.int64)
    if seed is not None:
        ordered = ordered[draws.permutation(int(draws.bits(seed, [epoch], 1)[0, 0]), len(ordered))]
    return ordered[positions.start : positions.stop : positions.step]


def check_order(seed: int | None, epoch: int = 0) -> None:
    """Check the seed and the epoch of an order."""
    if seed is not None:
        draws.check_seed(seed)
    check_count("epoch", epoch, 0)


def check_columns(dataset: Dataset, columns: Sequence[str] | None, known: Iterable[str]) -> list[str]:
    """Check the columns of a reader's records, and return each of them once; all if None."""
    known = list(known)
    if isinstance(columns, str) or (columns is not None and not len(columns)):
        raise InvalidInput(
            f"columns of {dataset.id}: expected a list of names, such as ['image'], or None for all, received "
            f"{columns!r}."
        )
    for column in columns or ():
        if column not in known:
            remedy = f"Did you mean 'label_{column}'?" * (f"label_{column}" in known)
            raise UnknownName(f"column of {dataset.id}", column, known, remedy)
    return known if columns is None else list(dict.fromkeys(columns))


def share(count: int, shard: tuple[int, int], *, even: bool = False) -> range:
    """Return the positions that one process reads, of ``count`` positions of an order; `order` describes the arguments.

    Example:
        >>> share(5, (1, 2)), len(share(5, (0, 2), even=True))
        (range(1, 5, 2), 2)
    """
    if np.shape(shard) != (2,) or not all(map(is_whole, shard)) or not 0 <= shard[0] < shard[1]:
        raise InvalidInput(
            "shard: expected (index of this process, number of processes), such as (0, 2) or (1, 2), received "
            f"{shard!r}."
        )
    process, processes = shard
    return range(process, count // processes * processes if even else count, processes)


class Batch(Sequence[Any]):
    """Items that were read together, as a sequence; ``whole`` holds them stacked."""

    def __init__(self, whole: Any, length: int) -> None:
        self.whole = whole
        self._length = length

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: Any) -> Any:
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        return _item_at(self.whole, index)


class FieldBatch(list[Any]):
    """Items of one field that were read at once: a list, as PyTorch's own collate stacks no other sequence."""

    def __init__(self, whole: Any) -> None:
        super().__init__(whole)
        self.whole = whole


def _item_at(batch: Any, index: int) -> Any:
    return tuple(_item_at(part, index) for part in batch) if isinstance(batch, tuple) else batch[index]


class Images:
    """Rows of a dataset by number, as numpy arrays.

    Args:
        dataset: a dataset, or its full name.
        split: the rows, as for `rows_of`.
        rows: the rows themselves, instead of a split: int, shape (n,).
        factors: the factors of ``label``, ``value`` and ``scaled``, by name; all if None.
        fields: the content of an item: one of these as a string, or several as a tuple in that order.

            - ``image``: uint8, shape (H, W, C);
            - ``label``: class ids, int64, shape (F,);
            - ``value``: values in the factors' units, float32, shape (F,);
            - ``scaled``: class ids divided by the largest, float32 in [0, 1], shape (F,);
            - ``index``: the row, int64, shape ();
            - ``extra_<name>``: another array that the dataset has, such as rotations.

    Raises:
        UnknownName: there is no such dataset, split, factor or field.
        InvalidInput: both a split and rows, no row, or a row that does not exist.
        Unavailable: the dataset must be prepared first.

    Example:
        >>> data = Images("room3d", split="train[:10%]", factors=["shape"], fields=("image", "label"))
        >>> len(data), data[15][1].tolist()
        (48000, [1])
    """

    def __init__(
        self,
        dataset: Dataset | str,
        *,
        split: str | None = None,
        rows: ArrayLike | None = None,
        factors: Sequence[str] | None = None,
        fields: Fields = ("image", "label"),
    ) -> None:
        self.dataset = benchmark_data.load(dataset)
        if split is not None and rows is not None:
            raise InvalidInput(f"rows: expected a split or rows, not both, received split {split!r} and rows.")
        # A copy: the caller may shuffle theirs.
        self.rows = rows_of(self.dataset, split) if rows is None else self.dataset.rows(rows).copy()
        self._factor_columns = self.dataset._factor_columns(factors)
        self.factors = tuple(self.dataset.space.names[column] for column in self._factor_columns)
        self.fields = fields if isinstance(fields, str) else tuple(fields)
        known_fields = [*FIELDS, *(f"extra_{name}" for name in self.dataset.extras)]
        for field in (fields,) if isinstance(fields, str) else self.fields:
            if field not in known_fields:
                raise UnknownName(f"field of {self.dataset.id}", field, known_fields)
        self.dataset.images(self.rows[:1])  # one that is not ready says so now

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.dataset.id}: {len(self)} items of {self.fields}>"

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the dataset by name if possible: the process that unpickles it loads the dataset."""
        return {**vars(self), "dataset": parallel.handle(self.dataset)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, dataset=parallel.open_handle(state["dataset"]))

    def __getitem__(self, index: Any) -> Any:
        """Return an item by its number, or a whole batch by a list of numbers, an array or a slice."""
        if isinstance(index, slice):
            return self._read_batch(np.arange(len(self))[index])
        if np.ndim(index):
            return self._read_batch(self._check_numbers(index))
        number = operator.index(index)
        if not -len(self) <= number < len(self):  # ends a loop over the items, so it must be this error
            raise IndexError(f"item {number} of {len(self)}")
        return _item_at(self._read_batch(np.array([number % len(self)])), 0)

    def __getitems__(self, indices: ArrayLike) -> Batch | FieldBatch:
        """Return several items, read at once: what PyTorch's ``DataLoader`` calls."""
        numbers = self._check_numbers(indices)
        whole = self._read_batch(numbers)
        return Batch(whole, len(numbers)) if isinstance(whole, tuple) else FieldBatch(whole)

    def batches(
        self, batch_size: int, *, shuffle_seed: int | None = None, epoch: int = 0, shard: tuple[int, int] = (0, 1)
    ) -> Iterator[Any]:
        """Iterate over the items once, in batches.

        The last batch may be smaller than ``batch_size``; the other arguments are those of `order`, whose ``seed`` is
        ``shuffle_seed``. The iterator has no state to save: to resume within an epoch, skip batches with
        `itertools.islice`.

        Raises:
            InvalidInput: ``batch_size`` is below 1, or as `order`.

        Example:
            >>> images, labels = next(Images("xysquares").batches(256, shuffle_seed=0))
            >>> images.shape, labels.shape
            ((256, 64, 64, 3), (256, 6))
        """
        numbers = order(range(len(self)), seed=shuffle_seed, epoch=epoch, shard=shard)
        check_count("batch_size", batch_size, 1)
        return (self._read_batch(numbers[start : start + batch_size]) for start in range(0, len(numbers), batch_size))

    def _check_numbers(self, indices: ArrayLike) -> Indices:
        numbers = np.asarray(indices)
        malformed = numbers.ndim != 1 or (numbers.size > 0 and numbers.dtype.kind not in "iu")
        if malformed or (numbers.size and not (numbers.min() >= 0 and numbers.max() < len(self))):
            description = f"{numbers.dtype} of shape {numbers.shape}"
            received = description if malformed else f"numbers in [{numbers.min()}, {numbers.max()}]"
            raise InvalidInput(
                f"items of {self.dataset.id}: expected integers of shape (n,) in [0, {len(self) - 1}], "
                f"received {received}."
            )
        return numbers.astype(np.int64, copy=False)

    def _read_batch(self, numbers: Indices) -> Any:
        return self._read_fields(self._rows_at(numbers))

    def _rows_at(self, numbers: Indices) -> Indices:
        rows = self.rows
        return rows.start + rows.step * numbers if isinstance(rows, range) else rows[numbers]

    def _read_fields(self, rows: Indices) -> Any:
        """Return the fields of rows that exist."""
        labels = self.dataset.space.labels(rows)
        if isinstance(self.fields, str):
            return self._read_field(self.fields, rows, labels)
        return tuple(self._read_field(field, rows, labels) for field in self.fields)

    def _read_field(self, field: str, rows: Indices, labels: Indices) -> Any:
        if field == "image":
            return self._convert_images(self.dataset.images_from_labels(rows, labels))
        if field == "value":
            return self._convert_array(self.dataset.space.values(labels)[:, self._factor_columns].astype(np.float32))
        if field not in ("label", "scaled"):
            return self._convert_array(records.column(self.dataset, field, rows, labels))
        chosen_labels = labels[:, self._factor_columns]
        if field == "label":
            return self._convert_array(chosen_labels)
        largest = np.array(self.dataset.space.sizes)[self._factor_columns] - 1
        return self._convert_array((chosen_labels / np.maximum(largest, 1)).astype(np.float32))

    def _convert_images(self, images: NDArray[np.uint8]) -> Any:
        """Return images, uint8 (n, H, W, C), as the reader returns them."""
        return images

    def _convert_array(self, array: NDArray[Any]) -> Any:
        """Return another field as the reader returns it."""
        return array


class Pairs(Images):
    """Pairs of images that share most of their factors: weak supervision.

    The first image is any of the chosen rows. For the second, k factors are drawn anew, uniformly among the values in
    those rows, and the others are kept (Locatello et al., "Weakly-Supervised Disentanglement Without Compromises",
    ICML 2020, section 5). A pair depends only on seed and number; ``length`` is the number of pairs, so that a
    length of steps times batch size yields new pairs throughout training.

    An item is (first, second, changed): the chosen fields of each image, and a mask of the factors that were drawn
    anew, bool, shape (F,).

    Args:
        dataset: a dataset, or its full name.
        changed: k; or the names of the factors to draw anew; or None, which draws k from 1 .. F - 1 for every pair, F
            being the number of factors with more than one value.
        distinct: whether the new value of a factor must differ from the old one. As published, it may be equal.
        seed: seed of the pairs, in [0, 2**64).
        length: the number of pairs; the number of rows if None.
        split: the rows of both images, as for `Images`: all, or consecutive ones. They must be a full grid of factors:
            otherwise second images could be held-out rows.
        rows: the rows themselves, instead of a split.
        factors: as for `Images`; those of ``changed`` too.
        fields: as for `Images`, of both images.

    Raises:
        UnknownName: there is no such dataset, split, factor or field.
        InvalidInput: the rows are not a full grid, k is not between 1 and F, no factor is named or one that does not
            vary, ``length`` is not positive, the seed is out of range, or both a split and rows are given.
        Unavailable: the dataset must be prepared first.

    Example:
        >>> pairs = Pairs("xysquares", changed=1, distinct=True, fields=("image", "label"))
        >>> (image, label), (other_image, other_label), changed = pairs[5]
        >>> int((label != other_label).sum()), bool(((label != other_label) == changed).all())
        (1, True)
    """

    def __init__(
        self,
        dataset: Dataset | str,
        *,
        changed: int | Sequence[str] | None = None,
        distinct: bool = False,
        seed: int = 0,
        length: int | None = None,
        split: str | None = None,
        rows: ArrayLike | None = None,
        factors: Sequence[str] | None = None,
        fields: Fields = "image",
    ) -> None:
        super().__init__(dataset, split=split, rows=rows, factors=factors, fields=fields)
        self._space = self._partner_space()
        self._varying = np.flatnonzero(np.array(self._space.sizes) > 1)
        if isinstance(changed, str) or not isinstance(changed, int | np.integer | Iterable | None):
            raise InvalidInput(
                f"changed: expected a number of factors, or a list of names, such as ['shape'], received {changed!r}."
            )
        if isinstance(changed, int | np.integer) and not 0 < changed <= len(self._varying):
            raise InvalidInput(
                f"changed: expected 1 to {len(self._varying)}, the number of factors that vary, received {changed}."
            )
        if isinstance(changed, Iterable):
            named_columns = np.array([self._space.column(name) for name in changed], np.int64)
            changed = len(np.intersect1d(named_columns, self._varying))
            if not changed or changed < len(named_columns):
                received = "a factor twice, or one with a single value here" if len(named_columns) else "none"
                raise InvalidInput(f"changed: expected factors that vary, each once, received {received}.")
            self._varying = named_columns
        draws.check_seed(seed)
        self.changed, self.distinct, self.seed = changed, distinct, seed
        self._length = len(self.rows) if length is None else length
        check_count("length", self._length, 1)

    def __len__(self) -> int:
        return self._length

    def _partner_space(self) -> FactorSpace | FactorTable:
        """Return the factors of the chosen rows, from which second images are drawn too."""
        space, rows = self.dataset.space, self.rows
        received = ""
        if len(np.unique(rows)) < len(self.dataset):
            consecutive = range(int(rows[0]), int(rows[0]) + len(rows))
            if np.array_equal(rows, consecutive):
                space = space.part(consecutive)
            else:
                received = "rows that are not consecutive"
        if received or not space.names or not space.full:
            raise InvalidInput(
                f"pairs of {self.dataset.id}: expected a full grid of factors, or a part that is one (as by the split "
                f"rules interpolation and extrapolation), received {received or repr(space)}."
            )
        return space

    def draw(self, numbers: ArrayLike) -> tuple[Indices, Indices, NDArray[np.bool_]]:
        """Draw pairs by number: rows of first and of second images, int64 (n,); factors drawn anew, bool (n, F)."""
        space = self._space
        numbers = np.asarray(numbers, np.int64)
        f = len(space.sizes)
        bits = draws.bits(self.seed, numbers, 2 + 2 * f)
        first = self._rows_at((bits[:, 0] % np.uint64(len(self.rows))).astype(np.int64))
        count = np.full(len(numbers), self.changed or 0)
        if self.changed is None:
            count = 1 + (bits[:, 1] % np.uint64(max(1, len(self._varying) - 1))).astype(np.int64)
        rank = bits[:, 2 : 2 + len(self._varying)].argsort(axis=1, kind="stable").argsort(axis=1)
        redrawn = np.zeros((len(numbers), f), bool)
        redrawn[:, self._varying] = rank < count[:, None]
        old, sizes = space.labels(first), np.array(space.sizes)
        choices = np.maximum(sizes - self.distinct, 1)
        shift = (bits[:, 2 + f :] % choices.astype(np.uint64)).astype(np.int64)
        new = (old + 1 + shift) % sizes if self.distinct else shift
        second = space.index(np.where(redrawn, new, old))
        return first, second, redrawn

    def _read_batch(self, numbers: Indices) -> Any:
        first, second, mask = self.draw(numbers)
        return self._read_fields(first), self._read_fields(second), self._convert_array(mask[:, self._factor_columns])
