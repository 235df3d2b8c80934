"""A dataset's pixels in the device's memory, from which steps on jax take their images. Internal."""

from __future__ import annotations

import math
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from baselines.nets.backend import jax
from benchmark_data.dataset import Dataset
from benchmark_data.types import Pixels

BLOCK = 2048
"""Images rendered or read at a time while the device is filled."""

SHARE = 0.5
"""The maximum share of the device's free memory for pixels."""


def free_bytes() -> int:
    """Return the device's free memory in bytes; 0 on a CPU, which has no memory of its own."""
    memory = jax.local_devices()[0].memory_stats() or {}
    return int(memory.get("bytes_limit", 0) - memory.get("bytes_in_use", 0))


def place(dataset: Dataset, *, drawn: int) -> Any:
    """Put a dataset's pixels on the device if they fit.

    Args:
        dataset: the dataset.
        drawn: the number of images that training will draw; if less than the dataset has, its pixels stay on the host.

    Returns:
        A jax array, uint8, shape (N, H, W, C); None if the pixels stay on the host.
    """
    if drawn < len(dataset) or len(dataset) * math.prod(dataset.image_shape) > int(SHARE * free_bytes()):
        return None
    pixels = jax.numpy.zeros((len(dataset), *dataset.image_shape), np.uint8)
    write_block = jax.jit(
        lambda pixels, block, start: jax.lax.dynamic_update_slice(pixels, block, (start, 0, 0, 0)), donate_argnums=0
    )

    def read_block(start: int) -> Pixels:
        return dataset.images(np.arange(start, min(start + BLOCK, len(dataset))))

    workers = os.cpu_count() or 1
    starts = range(0, len(dataset), BLOCK)
    with ThreadPoolExecutor(workers) as pool:
        for i in range(0, len(starts), workers):  # limits the blocks that wait in the host's memory
            for start, block in zip(starts[i:], pool.map(read_block, starts[i : i + workers]), strict=False):
                pixels = write_block(pixels, block, np.int32(start))
    return pixels
