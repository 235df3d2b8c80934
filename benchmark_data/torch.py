"""Every dataset for PyTorch: map-style datasets whose items are tensors, read a batch at a time. No TensorFlow.

>>> import benchmark_data.torch
>>> data = benchmark_data.torch.Images("xysquares/spacing_4", split="train")
>>> images, labels = next(iter(benchmark_data.torch.loader(data, batch_size=64, shuffle_seed=0)))
>>> images.shape, images.dtype, labels.shape
(torch.Size([64, 3, 64, 64]), torch.uint8, torch.Size([64, 6]))

`loader` combines PyTorch's own ``DataLoader`` with `Batches`, which draws batches, and `collate`, which keeps a batch
as it was read. ``DataLoader``, ``Subset`` and ``random_split`` work without them; without `collate` each batch is split
into items and stacked again. Pixels do not depend on the number of workers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from benchmark_data import reading
from benchmark_data.dataset import Dataset
from benchmark_data.errors import InvalidInput, MissingExtra, UnknownName, check_count, is_whole
from benchmark_data.factors import Indices

try:
    import torch
    import torch.utils.data
except ImportError as error:
    raise MissingExtra("benchmark_data.torch", (error.name or "torch").split(".")[0], "torch") from error

__all__ = ["Batches", "Images", "Pairs", "collate", "loader"]


class _TensorFields(reading.Images):
    """Fields as tensors."""

    def __init__(
        self,
        dataset: Dataset | str,
        *,
        dtype: Literal["uint8", "float32"] = "uint8",
        layout: Literal["CHW", "HWC"] = "CHW",
        **options: Any,
    ) -> None:
        self.dtype, self.layout = getattr(dtype, "__name__", str(dtype).removeprefix("torch.")), layout  # torch.float32
        if self.dtype not in ("uint8", "float32"):
            raise UnknownName("dtype of images", self.dtype, ["uint8", "float32"])
        if layout not in ("CHW", "HWC"):
            raise UnknownName("layout of images", layout, ["CHW", "HWC"])
        super().__init__(dataset, **options)

    def _convert_images(self, images: NDArray[np.uint8]) -> Any:
        tensor = torch.from_numpy(np.ascontiguousarray(images))  # a mirrored image has strides that PyTorch refuses
        if self.layout == "CHW":
            tensor = tensor.permute(0, 3, 1, 2)
        return tensor.to(torch.float32).div_(255) if self.dtype == "float32" else tensor

    def _convert_array(self, array: NDArray[Any]) -> Any:
        return torch.from_numpy(array)


class Images(_TensorFields, torch.utils.data.Dataset):  # type: ignore[misc]
    """Rows of a dataset by number, as tensors: a map-style dataset for ``torch.utils.data.DataLoader``.

    Args:
        dataset: a dataset, or its full name such as ``"xysquares/spacing_4"``.
        fields: the content of an item: one field as a string, or several as a tuple in that order.

            - ``image``: uint8 in [0, 255] or float32 in [0, 1], shape (C, H, W) or (H, W, C);
            - ``label``: class ids, int64, shape (F,);
            - ``value``: values in the factors' units, float32, shape (F,);
            - ``scaled``: class ids divided by the largest, float32 in [0, 1], shape (F,);
            - ``index``: the row, int64, shape ();
            - ``extra_<name>``: another array that the dataset has, such as rotations.
        dtype: of images, ``"uint8"`` or ``"float32"``.
        layout: of images, ``"CHW"`` or ``"HWC"``. Pixels are not copied: CHW images have PyTorch's memory format
            ``channels_last``, which its convolutions accept. Flatten them with ``reshape`` or ``flatten``.
        **options: ``split``, ``rows`` and ``factors``, as for `benchmark_data.reading.Images`.

    Raises:
        UnknownName: there is no such dataset, split, factor, field, dtype or layout.
        InvalidInput: both a split and rows, no row, or a row that does not exist.
        Unavailable: the dataset must be prepared first.

    Example:
        >>> data = Images("room3d", factors=["shape", "scale"], fields=("image", "value"), dtype="float32")
        >>> image, value = data[1]
        >>> image.shape, image.dtype, value.tolist()
        (torch.Size([3, 64, 64]), torch.float32, [0.0, 0.75])
        >>> data[[0, 1, 2]][0].shape
        torch.Size([3, 3, 64, 64])
    """


class Pairs(_TensorFields, reading.Pairs, torch.utils.data.Dataset):  # type: ignore[misc]
    """Pairs of images that share most of their factors, as tensors: see `benchmark_data.reading.Pairs`.

    An item is (first, second, changed): the chosen fields of each image, and a mask of the factors that were drawn
    anew, bool, shape (F,).

    Args:
        dataset: a dataset, or its full name.
        dtype: of images, as for `Images`.
        layout: of images, as for `Images`.
        **options: ``changed``, ``distinct``, ``seed``, ``length``, ``split``, ``rows``, ``factors`` and ``fields``, as
            for `benchmark_data.reading.Pairs`.

    Raises:
        UnknownName: there is no such dataset, split, factor, field, dtype or layout.
        InvalidInput: the rows are not a full grid of factors, or the number of changed factors is out of range.

    Example:
        >>> first, second, changed = Pairs("xysquares", changed=2, seed=1)[0]
        >>> first.shape, second.shape, int(changed.sum())
        (torch.Size([3, 64, 64]), torch.Size([3, 64, 64]), 2)
    """


def collate(items: Any) -> Any:
    """Collate items into a batch. Items that `Images` or `Pairs` read together are stacked already.

    Args:
        items: the items that a dataset's ``__getitems__`` returned.

    Returns:
        The batch; for items of other datasets, the result of PyTorch's own ``default_collate``.
    """
    is_batch = isinstance(items, reading.Batch | reading.FieldBatch)
    return items.whole if is_batch else torch.utils.data.default_collate(items)


class Batches(torch.utils.data.Sampler):  # type: ignore[misc]
    """A batch sampler that shuffles all items and divides them among processes, for any number of workers alike.

    Each pass is the next epoch, with a new order. ``set_epoch`` sets the epoch, to resume training.

    Args:
        data: the dataset, or its number of items.
        batch_size: items per batch.
        shuffle_seed: seed in [0, 2**64), as for `benchmark_data.reading.order`; None keeps the order.
        shard: (index of this process, number of processes).
        drop_last: drop a last batch that is not full, so that all processes have equally many batches.

    Raises:
        InvalidInput: ``shard`` or the seed is out of range, the batch size is below 1, or ``data`` a number below 0.

    Example:
        >>> batches = Batches(10, 4, shuffle_seed=0)
        >>> [len(batch) for batch in batches], len(batches)
        ([4, 4, 2], 3)
    """

    def __init__(
        self,
        data: Any,
        batch_size: int,
        *,
        shuffle_seed: int | None = None,
        shard: tuple[int, int] = (0, 1),
        drop_last: bool = False,
    ) -> None:
        check_count("batch_size", batch_size, 1)
        count = data if is_whole(data) else len(data)
        check_count("number of items", count, 0)
        self._items = range(count)
        reading.check_order(shuffle_seed)
        self._seed = shuffle_seed
        self._batch_size, self._shard, self._drop_last = batch_size, shard, drop_last
        self.epoch = self.done = 0
        self.given: tuple[int, int] | None = None
        own_items = len(reading.share(len(self._items), shard, even=drop_last))
        self._batch_count = own_items // batch_size if drop_last else -(-own_items // batch_size)

    def __len__(self) -> int:
        return self._batch_count

    def set_epoch(self, epoch: int, done: int = 0) -> None:
        """Start the next pass at an epoch, after its first ``done`` batches."""
        reading.check_order(None, epoch)
        check_count("done", done, 0)
        if done > len(self):
            raise InvalidInput(f"done: expected at most {len(self)}, the number of batches per epoch, received {done}.")
        self.epoch, self.done, self.given = epoch, done, None

    def __iter__(self) -> Iterator[Indices]:
        # A pass begins with its first batch: PyTorch asks for iterators that it never uses.
        order = reading.order(self._items, seed=self._seed, epoch=self.epoch, shard=self._shard, even=self._drop_last)
        starts = range(0, self._batch_count * self._batch_size, self._batch_size)[self.done :]
        self.epoch, self.done = self.epoch + 1, 0
        for start in starts:
            yield order[start : start + self._batch_size]


class _Loader(torch.utils.data.DataLoader):  # type: ignore[misc]
    """A ``DataLoader`` that resumes, by the protocol of torchdata's ``StatefulDataLoader``.

    Without workers and pinned memory it reads batches itself: PyTorch's own iterator takes a quarter of the time of
    batches that are drawn fast.
    """

    def __iter__(self) -> Iterator[Any]:
        batches = self.batch_sampler
        epoch, done = batches.epoch, batches.done
        if self.num_workers or self.pin_memory or not hasattr(self.dataset, "__getitems__"):
            loaded = super().__iter__()
        else:
            loaded = (self.collate_fn(self.dataset.__getitems__(numbers)) for numbers in batches)
        for number, batch in enumerate(loaded, done + 1):
            batches.given = (epoch, number) if number < len(batches) else (epoch + 1, 0)
            yield batch

    def state_dict(self) -> dict[str, int]:
        """Return the loader's position: after the last batch that it returned."""
        epoch, done = self.batch_sampler.given or (self.batch_sampler.epoch, self.batch_sampler.done)
        return {"epoch": epoch, "batches": done}

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """Start the next pass at the position of another loader with the same arguments."""
        self.batch_sampler.set_epoch(state["epoch"], state["batches"])


def loader(
    data: Any,
    batch_size: int,
    *,
    shuffle_seed: int | None = None,
    shard: tuple[int, int] = (0, 1),
    drop_last: bool = False,
    **options: Any,
) -> Any:
    """Return a ``DataLoader`` that reads whole batches.

    Args:
        data: `Images` or `Pairs`.
        batch_size: items per batch.
        shuffle_seed: shuffles all items, anew in each epoch; None keeps their order.
        shard: (index of this process, number of processes), for training in several processes.
        drop_last: drop a last batch that is not full, so that all processes have equally many batches.
        **options: further arguments of ``torch.utils.data.DataLoader``, such as ``num_workers`` and ``pin_memory``.
            A worker takes about 18 µs to transfer an image: workers pay off if drawing or decoding takes longer.

    Returns:
        A ``torch.utils.data.DataLoader``; its ``batch_sampler`` is a `Batches`. ``state_dict()`` returns its position
        and ``load_state_dict(state)`` resumes there, in the middle of an epoch, too.

    Raises:
        InvalidInput: ``data`` is a `Dataset` or a name, ``shard`` or the seed is out of range, the batch size is below
            1, or a sampler or ``shuffle`` is given.

    Example:
        >>> first, second, changed = next(iter(loader(Pairs("xysquares", changed=1), 32)))
        >>> first.shape, changed.shape
        (torch.Size([32, 3, 64, 64]), torch.Size([32, 6]))
    """
    if options.get("shuffle") or any(options.get(name) is not None for name in ("sampler", "batch_sampler")):
        raise InvalidInput(
            "loader: expected no shuffle and no sampler, since it draws batches itself, received one. Pass "
            "shuffle_seed=0. To use a sampler: torch.utils.data.DataLoader(data, 64, sampler=..., collate_fn=collate)."
        )
    if isinstance(data, str | Dataset):
        raise InvalidInput(f"loader: expected Images or Pairs, such as Images('dsprites'), received {data!r}.")
    batches = Batches(data, batch_size, shuffle_seed=shuffle_seed, shard=shard, drop_last=drop_last)
    return _Loader(data, batch_sampler=batches, **{"collate_fn": collate, **options})
