"""Encode rows of a dataset as PNG images and tf.train.Example records, and divide them into shards.

TensorFlow and Pillow encode one image per call, with overheads several times the work itself. Here a batch of images is
filtered in one numpy operation, each image is compressed by libdeflate, or by zlib if that is not installed, and the
part of a record that depends on the factors alone is looked up in a table. No TensorFlow is needed, so that worker
processes start fast and stay small.
"""

from __future__ import annotations

import itertools
import math
import struct
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmark_data.dataset import Dataset
from benchmark_data.errors import InvalidInput, check_count
from benchmark_data.factors import Indices
from benchmark_data.types import Extra, Pixels

try:
    import deflate  # libdeflate: zlib's format at less than half of zlib's time
except ImportError:
    _compress, COMPRESSOR = zlib.compress, "zlib"
else:
    _compress, COMPRESSOR = deflate.zlib_compress, "libdeflate"

BATCH = 2**22
"""Bytes of decoded pixels rendered, filtered and compressed at a time, to fit a core's cache."""

SHARD = 2**28
"""Bytes of decoded pixels per shard, at most. The number of shards depends on the dataset's size alone, so that a build
writes the same files on any machine."""

LEVEL = 6
"""The compression level. The bytes of files depend on the compressor, which `COMPRESSOR` names; pixels and digests do
not. Measured with zlib on squares, sprites, shaded scenes and noise of 64 x 64 pixels, level 6 makes files up to a
third smaller than level 3 in twice the time, which is half to two thirds of Pillow's; level 9 takes three to five times
as long again for another 4 to 7 percent."""

_COLOUR_TYPES = {1: 0, 3: 2, 4: 6}


def png_filter(images: Pixels) -> int:
    """Choose the PNG filter that makes a sample of a dataset's images smaller.

    Args:
        images: the sample, uint8, shape (n, H, W, C).

    Returns:
        0 (no filter), best for flat colours such as sprites, or 1 (difference to the pixel on the left), for shading
        and photographs. Differences to the pixel above gained nothing, Paeth's one percent on noise at twice the time.
    """
    return min((0, 1), key=lambda f: sum(map(len, pngs(images, f))))


def pngs(images: Pixels, filter_type: int) -> list[bytes]:
    """Encode images as PNG, one byte per channel.

    Palettes and one-bit pixels would be smaller, but numpy readers of TFDS and Hugging Face (both use Pillow) would
    return palette indices and booleans.

    Args:
        images: uint8, shape (n, H, W, C) with 1 (grey), 3 (RGB) or 4 (RGBA) channels.
        filter_type: 0 or 1, from `png_filter`.

    Returns:
        n PNG files.

    Raises:
        InvalidInput: another number of channels.

    Example:
        >>> import io, PIL.Image
        >>> image = np.arange(12, dtype=np.uint8).reshape(1, 2, 2, 3)
        >>> np.asarray(PIL.Image.open(io.BytesIO(pngs(image, 1)[0]))).tolist() == image[0].tolist()
        True
    """
    n, height, width, channels = images.shape
    if channels not in _COLOUR_TYPES:
        raise InvalidInput(f"images: expected 1, 3 or 4 channels, received {channels} channels.")
    rows = images.reshape(n, height, width * channels)
    lines = np.empty((n, height, 1 + width * channels), np.uint8)
    lines[:, :, 0] = filter_type
    lines[:, :, 1:] = rows
    if filter_type == 1:
        lines[:, :, 1 + channels :] -= rows[:, :, :-channels]
    header = b"\x89PNG\r\n\x1a\n" + _png_chunk(
        b"IHDR", struct.pack(">IIBBBBB", width, height, 8, _COLOUR_TYPES[channels], 0, 0, 0)
    )
    trailer = _png_chunk(b"IEND", b"")
    return [header + _png_chunk(b"IDAT", _compress(image.data, LEVEL)) + trailer for image in lines]


def _png_chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(data, zlib.crc32(kind)))


class Encoded(NamedTuple):
    """Some rows of a dataset, encoded."""

    rows: Indices
    """int64, shape (n,)."""

    labels: Indices
    """Class ids, int64, shape (n, F)."""

    pngs: list[bytes]
    """n PNG files."""

    extras: dict[str, NDArray[Any]]
    """The dataset's extra arrays, each of shape (n, ...), float32 or int64."""


def batches(dataset: Dataset, rows: range | Indices) -> Iterator[Encoded]:
    """Encode rows of a dataset, a batch at a time.

    Args:
        dataset: the dataset.
        rows: the rows, in order.

    Yields:
        The rows, a few hundred small images or fewer large ones at a time.
    """
    filter_type = png_filter(dataset.images(dataset.quick_rows()[:16]))
    for indices, images in dataset.batches(rows, batch_size=max(1, BATCH // math.prod(dataset.image_shape))):
        extras = {
            name: dataset.extra(name, indices).astype(extra_dtype(extra)) for name, extra in dataset.extras.items()
        }
        yield Encoded(indices, dataset.labels(indices), pngs(images, filter_type), extras)


def extra_dtype(extra: Extra) -> type[np.float32 | np.int64]:
    """Return the dtype of an extra array in records: float32 or int64, the only ones of ``tf.train.Example``."""
    return np.float32 if np.dtype(extra.dtype).kind == "f" else np.int64


def columns(dataset: Dataset) -> dict[str, type[np.generic]]:
    """Return the names of a record's columns, and their dtypes, in order."""
    names = dataset.space.names
    return {
        "image": np.uint8,
        "index": np.int64,
        "factors": np.int64,
        **{f"extra_{name}": extra_dtype(extra) for name, extra in dataset.extras.items()},
        **{f"label_{name}": np.int64 for name in names},
        **{f"value_{name}": np.float32 for name in names},
    }


def column(dataset: Dataset, name: str, rows: Indices, labels: Indices) -> NDArray[Any]:
    """Return one column of some records.

    Args:
        dataset: the dataset.
        name: one of `columns`.
        rows: rows that exist, int64, shape (n,).
        labels: their class ids, int64, shape (n, F).

    Returns:
        Shape (n, ...), of the column's dtype.
    """
    if name in ("index", "factors"):
        return rows if name == "index" else labels
    if name == "image":
        return dataset.images_from_labels(rows, labels)
    kind, _, source_name = name.partition("_")
    if kind == "extra":
        return dataset.extra(source_name, rows).astype(extra_dtype(dataset.extras[source_name]), copy=False)
    factor_index = dataset.space.column(source_name)
    if kind == "label":
        return labels[:, factor_index]
    return np.asarray(dataset.space.factors[factor_index].values, np.float32)[labels[:, factor_index]]


class Examples:
    """Serialise rows as ``tf.train.Example`` messages, as TFDS would for the features of `benchmark_data.tfds`.

    Map entries are sorted by key, as in protobuf's deterministic serialisation.

    Args:
        dataset: the dataset.

    Example:
        >>> import benchmark_data
        >>> xysquares = benchmark_data.load("xysquares")
        >>> records = Examples(xysquares)(next(batches(xysquares, range(3))))
        >>> len(records), records[0].count(b"label_x_R")
        (3, 1)
    """

    def __init__(self, dataset: Dataset) -> None:
        factors = dataset.space.factors
        self._extras = sorted(dataset.extras)
        self._packed = [[_varint(c) for c in range(f.size)] for f in factors]
        order = sorted(range(len(factors)), key=lambda i: factors[i].name)
        self._entry_columns = order * 2
        self._entries = [
            [_entry(f"label_{factors[i].name}", _int64_list(_varint(c))) for c in range(factors[i].size)] for i in order
        ] + [[_entry(f"value_{factors[i].name}", _float_list(v)) for v in factors[i].values] for i in order]

    def __call__(self, batch: Encoded) -> list[bytes]:
        """Serialise some rows.

        Args:
            batch: the rows.

        Returns:
            One message for each.
        """
        records = []
        for i, (row, png, labels) in enumerate(
            zip(batch.rows.tolist(), batch.pngs, batch.labels.tolist(), strict=True)
        ):
            entries = [
                *(_entry(f"extra_{name}", _number_list(batch.extras[name][i])) for name in self._extras),
                _entry("factors", _int64_list(b"".join([ids[c] for ids, c in zip(self._packed, labels, strict=True)]))),
                _entry("image", _field(1, _field(1, png))),
                _entry("index", _int64_list(_varint(row))),
                *[entry[labels[f]] for entry, f in zip(self._entries, self._entry_columns, strict=True)],
            ]
            records.append(_field(1, b"".join(entries)))
        return records


def _varint(n: int) -> bytes:
    """Encode an integer as protobuf does, a negative one as its 64-bit two's complement."""
    n &= 2**64 - 1
    return bytes((n,)) if n < 128 else bytes((n & 127 | 128,)) + _varint(n >> 7)


def _field(number: int, data: bytes) -> bytes:
    """Encode a length-delimited protobuf field."""
    return bytes((number << 3 | 2,)) + _varint(len(data)) + data


def _entry(name: str, feature: bytes) -> bytes:
    """Encode an entry of ``map<string, Feature>``."""
    return _field(1, _field(1, name.encode()) + _field(2, feature))


def _int64_list(packed: bytes) -> bytes:
    return _field(3, _field(1, packed))


def _float_list(values: ArrayLike) -> bytes:
    return _field(2, _field(1, np.asarray(values, "<f4").tobytes()))


def _number_list(data: NDArray[Any]) -> bytes:
    return _float_list(data) if data.dtype.kind == "f" else _int64_list(b"".join(map(_varint, data.ravel().tolist())))


def shards(dataset: Dataset, rows: range, count: int | None = None) -> list[range]:
    """Divide the rows of a split into shards of nearly equal length.

    Args:
        dataset: the dataset.
        rows: the rows of the split.
        count: the number of shards; by default the fewest of at most `SHARD` bytes of pixels each.

    Returns:
        Consecutive parts of ``rows``; no part is empty.

    Raises:
        InvalidInput: there are no rows, or fewer than one shard.

    Example:
        >>> import benchmark_data
        >>> [len(part) for part in shards(benchmark_data.load("xysquares"), range(10), 3)]
        [3, 3, 4]
    """
    if not rows:
        raise InvalidInput(f"split of {dataset.id}: expected at least one row, received none.")
    if count is None:
        count = -(-len(rows) * math.prod(dataset.image_shape) // SHARD)
    check_count("number of shards", count, 1)
    count = min(count, len(rows))
    bounds = [len(rows) * i // count for i in range(count + 1)]
    return [rows[a:b] for a, b in itertools.pairwise(bounds)]
