"""A dataset's pixels on the device, so that a step fetches its images there and no pixel passes through Python.

The jax backend alone uses it. Images are kept as bytes, or as bits where every pixel has one of two values, as in
dSprites and XYSquares: 262,144 images of 64 x 64 x 3 take 3.2 GB as bytes and 0.4 GB as bits.
"""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from baselines.nets.backend import jax
from baselines.training.prefetch import ahead
from benchmark_data.dataset import Dataset
from benchmark_data.sources import Images

BLOCK = 2048
"""Images that are rendered or read at a time while the device is filled."""

SHARE = 0.5
"""The share of the device's free memory that pixels may take if nobody says how much."""


class _MoreValues(Exception):
    """An image holds a pixel that is neither 0 nor the one other value."""


class Pixels:
    """All images of a dataset, on the device.

    Args:
        dataset: the dataset.
        top: keep bits, which stand for 0 and this value; bytes if 0.

    Attributes:
        held: the device's array, uint8, shape (N, bytes per image).
    """

    def __init__(self, dataset: Dataset, top: int = 0) -> None:
        self._shape, self._top = dataset.image_shape, top
        self.held = jax.numpy.zeros((len(dataset), _width(dataset, top)), np.uint8)
        write = jax.jit(
            lambda held, block, start: jax.lax.dynamic_update_slice(held, block, (start, 0)), donate_argnums=0
        )

        def read(start: int) -> NDArray[np.uint8]:
            rows = np.arange(start, min(start + BLOCK, len(dataset)))
            return _packed(dataset.images(rows), top)

        workers = os.cpu_count() or 1
        starts = range(0, len(dataset), BLOCK)
        with ahead(read, starts, count=2 * workers, workers=workers) as blocks:
            for start, block in zip(starts, blocks, strict=True):
                self.held = write(self.held, block, np.int32(start))

    def gather(self, held: Any, rows: Any) -> Any:
        """Fetch images; jax can trace it.

        Args:
            held: `held`, as an argument of the traced function, since it must not become a constant of it.
            rows: int32, of any shape.

        Returns:
            uint8, shape (*rows.shape, H, W, C): what ``dataset.images`` gives for the rows.
        """
        found = held[rows]
        if self._top:
            found = jax.numpy.unpackbits(found, axis=-1, count=math.prod(self._shape)) * np.uint8(self._top)
        return found.reshape(*rows.shape, *self._shape)


def place(dataset: Dataset, *, limit: int | None, drawn: int) -> Pixels | None:
    """Put a dataset's pixels on the device if they fit.

    Args:
        dataset: the dataset.
        limit: the bytes they may take. If None, half of the device's free memory; but nothing where ``drawn`` is less
            than the dataset, or on a CPU, which has no memory of its own.
        drawn: images that training is going to draw.

    Returns:
        The pixels; None where they stay with the host.
    """
    if limit is None:
        memory = jax.local_devices()[0].memory_stats() or {}
        free = memory.get("bytes_limit", 0) - memory.get("bytes_in_use", 0)
        limit = int(SHARE * free) if drawn >= len(dataset) else 0
    sample = dataset.images(dataset.quick_rows()) if limit else np.zeros(0, np.uint8)
    top = int(sample.max(initial=0))
    for value in (top, 0) if top and np.isin(sample, (0, top)).all() else (0,):
        if len(dataset) * _width(dataset, value) <= limit:
            try:
                return Pixels(dataset, value)
            except _MoreValues:  # the sample did not show it
                continue
    return None


def _width(dataset: Dataset, top: int) -> int:
    size = math.prod(dataset.image_shape)
    return math.ceil(size / 8) if top else size


def _packed(images: Images, top: int) -> NDArray[np.uint8]:
    flat = images.reshape(len(images), -1)
    if not top:
        return flat
    bits = flat == top
    if not (bits | (flat == 0)).all():
        raise _MoreValues
    return np.packbits(bits, axis=1)
