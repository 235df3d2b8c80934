"""A dataset: factors, pixels and what is known about them."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmark_data import draws
from benchmark_data.errors import InvalidInput, UnknownName, check_count
from benchmark_data.expected_effects import Effect
from benchmark_data.factors import FactorSpace, FactorTable, Indices, check_integers
from benchmark_data.types import Extra, Pixels, ReadOnly, Source

if TYPE_CHECKING:
    from jaxtyping import Float64, Int64, Integer, Shaped, UInt8

__all__ = ["Dataset", "Digest", "Family", "Rows"]

Rows: TypeAlias = Sequence[int] | Indices

CHUNK = 4096
"""Images per block of a digest. Part of the digest's definition: changing it changes every digest."""


def in_blocks(rows: Rows, size: int = CHUNK) -> Iterator[Rows]:
    """Divide rows into blocks, by default those of a digest.

    Args:
        rows: rows of a dataset, in order.
        size: rows of a block; the last one may have fewer.

    Yields:
        The rows of each block.
    """
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


class Splits(ReadOnly[str, range]):
    """The splits of a dataset: name -> rows. A missing name raises an error that suggests a remedy."""

    def __init__(self, dataset: str, splits: Mapping[str, range]) -> None:
        super().__init__(splits)
        self.dataset = dataset

    def __reduce__(self) -> tuple[Any, ...]:
        return Splits, (self.dataset, dict(self))

    def __missing__(self, name: str) -> NoReturn:
        holdout_name = f"{self.dataset}{'.' if '/' in self.dataset else '/'}holdout"
        own_images_hint = "for your own images, use benchmark_data.split(dataset, 'holdout')"
        expects_holdout = name in ("test", "validation")
        remedy = f"{holdout_name} has the splits train and test; {own_images_hint}." if expects_holdout else ""
        raise UnknownName(f"split of {self.dataset}", name, self, remedy)


class Digest(NamedTuple):
    """SHA-256 of a dataset's decoded pixels and of its class ids, in hexadecimal.

    Each is the hash of the hashes of blocks of `CHUNK` rows, so that blocks can be hashed on many machines.
    Pixels are hashed as uint8 in (n, H, W, C) order, class ids as little-endian int64 in (n, F) order.
    """

    pixels: str
    factors: str

    @classmethod
    def of(cls, blocks: Iterable[Digest]) -> Digest:
        """Hash the hashes of consecutive blocks.

        Args:
            blocks: their digests, in order.

        Returns:
            The digest of all of them.
        """
        return cls(*(hashlib.sha256("".join(column).encode()).hexdigest() for column in zip(*blocks, strict=True)))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Dataset:
    """Images with known factors of variation.

    Args:
        name: the name of the file that declares it.
        config: the name of the configuration within a family; empty for a dataset that stands alone.
        parameters: what distinguishes it from the family's other configurations: ``load(name, **parameters)`` finds it.
        version: semantic version of the data; a change of pixels or factors changes it.
        space: a full grid, or a table of labels.
        source: where pixels come from.
        image_shape: (height, width, channels).
        description: what the images show, and why one would use them; one paragraph.
        citation: BibTeX.
        license: SPDX identifier, or the name of a custom licence.
        homepage: where the data or its definition comes from.
        redistributable: False where the licence forbids publishing copies.
        defects: known defects of the data, one sentence each.
        splits: name -> rows; one split ``train`` of everything unless the source has its own.
        effects: factor -> how the image changes as its class id rises, or a sentence why no measure shows it; see
            `benchmark_data.expected_effects`. The contract tests check labels against it.

    Example:
        >>> import benchmark_data
        >>> xysquares = benchmark_data.load("xysquares", spacing=4)
        >>> len(xysquares), xysquares.image_shape, xysquares.space.names
        (262144, (64, 64, 3), ('x_R', 'y_R', 'x_G', 'y_G', 'x_B', 'y_B'))
        >>> xysquares.images([0, 9]).shape
        (2, 64, 64, 3)
        >>> xysquares.labels([9]).tolist()
        [[0, 0, 0, 0, 1, 1]]
    """

    name: str
    version: str
    space: FactorSpace | FactorTable
    source: Source
    image_shape: tuple[int, int, int]
    description: str
    citation: str
    license: str
    homepage: str
    config: str = ""
    parameters: Mapping[str, object] = dataclasses.field(default_factory=dict)
    redistributable: bool = True
    defects: tuple[str, ...] = ()
    splits: Mapping[str, range] = dataclasses.field(default_factory=dict)
    effects: Mapping[str, Effect | str] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        if not re.fullmatch(r"\d+\.\d+\.\d+", self.version):
            raise InvalidInput(
                f"version of {self.id}: expected three numbers such as 1.0.0, received {self.version!r}."
            )
        splits = self.splits or {"train": range(len(self.space))}
        object.__setattr__(self, "splits", Splits(self.id, splits))
        for name in ("parameters", "effects"):
            object.__setattr__(self, name, ReadOnly(getattr(self, name)))

    def __hash__(self) -> int:
        return hash((self.id, self.version))

    @property
    def id(self) -> str:
        """The full name: ``name/config``, or ``name`` where there is no configuration."""
        return f"{self.name}/{self.config}" if self.config else self.name

    @property
    def prepared(self) -> bool:
        """Whether images can be read now: always for rendered data, after `prepare` for an archive."""
        return self.source.ready

    def prepare(self, *, manual_dir: str | os.PathLike[str] | None = None, keep_downloads: bool = True) -> None:
        """Download and cache what `images` needs, if anything. Does nothing where it is done already.

        Args:
            manual_dir: a folder with the user's own copies of source files; by default that of ``OFFAXIS_MANUAL_DIR``.
            keep_downloads: keep the downloaded files, in case the mirrors disappear.

        Raises:
            Unavailable: no mirror provides a file.
            DamagedFile: a file differs from the published one.
            InvalidInput: the cache cannot be written, or the disk is too small.
        """
        if not self.prepared:
            folder = None if manual_dir is None else Path(manual_dir)
            self.source.prepare(manual_dir=folder, keep_downloads=keep_downloads)

    @property
    def extras(self) -> Mapping[str, Extra]:
        """Further arrays of the dataset by name, such as rotations. Most datasets have none."""
        return self.source.extras

    def extra(self, name: str, indices: Integer[ArrayLike, " n"]) -> Shaped[NDArray[Any], "n ..."]:
        """Return rows of an extra array.

        Args:
            name: one of `extras`.
            indices: rows, int, shape (n,) with n >= 1, each in [0, len).

        Returns:
            Shape (n, *shape), of the extra's dtype, a new array.

        Raises:
            UnknownName: there is no such array.
            InvalidInput: an empty selection, not integers, or a row that does not exist.
        """
        if name not in self.extras:
            raise UnknownName(f"extra array of {self.id}", name, self.extras)
        return self.source.extra(name, self.rows(indices))

    def __len__(self) -> int:
        return len(self.space)

    def __repr__(self) -> str:
        return f"<Dataset {self.id} {self.version}: {len(self)} images {self.image_shape}, {self.space!r}>"

    def images(self, indices: Integer[ArrayLike, " n"]) -> UInt8[Pixels, "n H W C"]:
        """Return images by row.

        Args:
            indices: rows, int, shape (n,) with n >= 1, each in [0, len), in any order, repeats allowed.

        Returns:
            uint8 in [0, 255], shape (n, H, W, C), a new array.

        Raises:
            InvalidInput: an empty selection, not integers, or a row that does not exist; or the source returns other
                arrays than these.
            Unavailable: the dataset must be prepared first. So must an archive for its labels.
        """
        rows = self.rows(indices)
        return self.images_from_labels(rows, self.space.labels(rows))

    def images_from_labels(self, rows: Int64[Indices, " n"], labels: Int64[Indices, "n F"]) -> UInt8[Pixels, "n H W C"]:
        """Return images of rows whose class ids are known, so that they are not read twice.

        Args:
            rows: rows, int64, shape (n,), already checked.
            labels: their class ids, int64, shape (n, F).

        Returns:
            uint8 in [0, 255], shape (n, H, W, C), a new array.

        Raises:
            InvalidInput: the source returns other arrays than these.

        Example:
            >>> import benchmark_data
            >>> sprites = benchmark_data.load("dsprites")
            >>> rows = np.array([0, 1])
            >>> sprites.images_from_labels(rows, sprites.labels(rows)).shape
            (2, 64, 64, 1)
        """
        shape = (len(rows), *self.image_shape)
        images: object = self.source.images(rows, labels) if len(rows) else np.empty(shape, np.uint8)
        if isinstance(images, np.ndarray) and images.dtype == np.uint8 and images.shape == shape:
            return images
        raise InvalidInput(
            f"images of {self.id}: expected uint8 of shape {shape} from its source, for {len(rows)} rows, received "
            f"{f'{images.dtype} of shape {images.shape}' if isinstance(images, np.ndarray) else type(images).__name__}."
        )

    def __getitem__(self, index: object) -> NoReturn:
        """Say what to use instead: a dataset gives batches of images and labels by method, not examples by index."""
        raise InvalidInput(
            f"{self.id}[{index!r}]: expected a call of a method, such as images([0, 1, 2]) or labels([0, 1, 2]), "
            "received an index. For a DataLoader of PyTorch, use benchmark_data.torch.Images (docs/recipes.md)."
        )

    def labels(self, indices: Integer[ArrayLike, " n"], factors: Sequence[str] | None = None) -> Int64[Indices, "n F"]:
        """Return the class ids of rows.

        Args:
            indices: rows, int, shape (n,) with n >= 1, each in [0, len).
            factors: names of the factors, in the order of the columns; all if None.

        Returns:
            int64, shape (n, F), column f in [0, size of factor f).

        Raises:
            InvalidInput: an empty selection, not integers, a row that does not exist, or no list of names.
            UnknownName: there is no such factor.
        """
        return self.space._labels(self.rows(indices))[:, self._factor_columns(factors)]  # they are checked

    def values(
        self, indices: Integer[ArrayLike, " n"], factors: Sequence[str] | None = None
    ) -> Float64[NDArray[np.float64], "n F"]:
        """Return the factors' values of rows, in their units.

        Args:
            indices: rows, int, shape (n,) with n >= 1, each in [0, len).
            factors: names of the factors, in the order of the columns; all if None.

        Returns:
            float64, shape (n, F), each column in the unit of its factor.

        Raises:
            InvalidInput: an empty selection, not integers, a row that does not exist, or no list of names.
            UnknownName: there is no such factor.
        """
        return self.space.values(self.labels(indices))[:, self._factor_columns(factors)]

    def scaled(
        self, indices: Integer[ArrayLike, " n"], factors: Sequence[str] | None = None
    ) -> Float64[NDArray[np.float64], "n F"]:
        """Return the class ids of rows scaled to [0, 1]: 0 for a factor's first value, 1 for its last.

        So are targets scaled by Schott et al. (arXiv 2107.08221). A factor with one value is 0.

        Args:
            indices: rows, int, shape (n,) with n >= 1, each in [0, len).
            factors: names of the factors, in the order of the columns; all if None.

        Returns:
            float64 in [0, 1], shape (n, F).

        Raises:
            InvalidInput: an empty selection, not integers, a row that does not exist, or no list of names.
            UnknownName: there is no such factor.

        Example:
            >>> import benchmark_data
            >>> benchmark_data.load("dsprites").scaled([0, 737279], ["shape", "posX"]).tolist()
            [[0.0, 0.0], [1.0, 1.0]]
        """
        columns = self._factor_columns(factors)
        largest = np.maximum(np.array(self.space.sizes)[columns] - 1, 1)
        return self.labels(indices, factors) / largest

    def _factor_columns(self, factors: Sequence[str] | None) -> list[int]:
        if factors is None:
            return list(range(len(self.space.factors)))
        if isinstance(factors, str) or not len(factors):
            raise InvalidInput(
                f"factors of {self.id}: expected a list of names, such as ['shape'], received {factors!r}."
            )
        return [self.space.column(name) for name in factors]

    def rows(self, indices: Integer[ArrayLike, " n"]) -> Int64[Indices, " n"]:
        """Check a selection of rows.

        Args:
            indices: rows, int, shape (n,) with n >= 1, each in [0, len).

        Returns:
            The same as int64.

        Raises:
            InvalidInput: an empty selection, not integers, or a row that does not exist.
        """
        array = check_integers(f"rows of {self.id}", indices)
        if not len(array):
            raise InvalidInput(f"rows of {self.id}: expected at least one row, received an empty selection.")
        count = len(self)
        if array.min() < 0 or array.max() >= count:
            raise InvalidInput(
                f"rows of {self.id}: expected rows in [0, {count - 1}], received rows in [{array.min()}, "
                f"{array.max()}]."
            )
        return array.astype(np.int64, copy=False)

    def batches(self, rows: Rows | None = None, *, batch_size: int = 256) -> Iterator[tuple[Indices, Pixels]]:
        """Go through rows in order, a batch at a time.

        Args:
            rows: the rows; all of them if None.
            batch_size: images per batch; the last batch may be smaller.

        Returns:
            An iterator over (rows int64 (n,), images uint8 (n, H, W, C)).

        Raises:
            InvalidInput: ``batch_size`` is below 1; or, from the iterator, a row that does not exist.
        """
        check_count("batch_size", batch_size, 1)
        blocks = map(self.rows, in_blocks(range(len(self)) if rows is None else rows, batch_size))
        return ((batch.copy(), self.images(batch)) for batch in blocks)

    def quick_rows(self) -> Indices:
        """Return the fixed rows of the quick digest.

        Returns:
            1,024 rows, or all rows of a smaller dataset: int64, shape (n,).
        """
        return draws.sample(0, len(self), 1024)

    def digest(self, *, full: bool = False) -> Digest:
        """Hash the decoded pixels and the class ids.

        Args:
            full: hash every row, in order, instead of the 1,024 of `quick_rows`.

        Returns:
            The two hashes. A quick and a full digest of the same dataset differ.

        Raises:
            Unavailable: the dataset must be prepared first.
        """
        rows: Rows = range(len(self)) if full else self.quick_rows()
        return Digest.of(self.block_digest(block) for block in in_blocks(rows))

    def block_digest(self, rows: Rows) -> Digest:
        """Hash one block of rows, for digests that are computed on several machines.

        Args:
            rows: the rows of one block, at most `CHUNK`.

        Returns:
            The hashes of this block alone.
        """
        pixels, factors = hashlib.sha256(), hashlib.sha256()
        for batch, images in self.batches(rows):
            pixels.update(images.tobytes())
            factors.update(self.labels(batch).astype("<i8").tobytes())
        return Digest(pixels.hexdigest(), factors.hexdigest())


def check_dataset(dataset: object) -> None:
    """Refuse what is not a dataset, such as a name.

    Raises:
        InvalidInput: it is not a `Dataset`.
    """
    if not isinstance(dataset, Dataset):
        raise InvalidInput(f"dataset: expected a Dataset, as from benchmark_data.load(name), received {dataset!r}.")


class Family:
    """Several configurations of one dataset: the same file, the same factors, one thing that varies.

    Args:
        *datasets: the configurations. All bear the same name, and each its own config and parameters.
        default: the config that ``load(name)`` means.

    Example:
        >>> from benchmark_data.datasets.xysquares import DATASET
        >>> list(DATASET.configs)[:2], DATASET.default
        (['spacing_1', 'spacing_2'], 'spacing_8')
    """

    def __init__(self, *datasets: Dataset, default: str) -> None:
        self.configs = {d.config: d for d in datasets}
        self.default = default
        if len(self.configs) != len(datasets) or default not in self.configs or len({d.name for d in datasets}) != 1:
            raise InvalidInput(
                "family of datasets: expected one name, different configs, and a default among them, received "
                f"{[d.id for d in datasets]} with default {default!r}."
            )

    def find(self, parameters: Mapping[str, object]) -> Dataset:
        """Return the one configuration whose parameters agree with the given ones.

        Args:
            parameters: some or all of a configuration's parameters; those not given are those of the default.

        Returns:
            The configuration.

        Raises:
            UnknownName: there is no such parameter, or no configuration with such a value.
        """
        defaults = self.configs[self.default].parameters
        for key in parameters:
            if key not in defaults:
                raise UnknownName(f"parameter of {self.configs[self.default].name}", key, defaults)
        wanted = {**defaults, **parameters}
        for dataset in self.configs.values():
            if dict(dataset.parameters) == wanted:
                return dataset
        raise UnknownName(
            f"parameters of {self.configs[self.default].name}",
            _format_parameters(wanted),
            (_format_parameters(dataset.parameters) for dataset in self.configs.values()),
        )


def _format_parameters(parameters: Mapping[str, object]) -> str:
    """Write parameters as they are typed: a text in quotes, so that '4' is not 4."""
    return ", ".join(f"{name}={value!r}" for name, value in parameters.items())
