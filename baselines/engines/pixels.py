"""A dataset's pixels on the device, so that a step on jax fetches its images there. Internal."""

from __future__ import annotations

import math
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from baselines.nets.backend import jax
from benchmark_data.dataset import Dataset
from benchmark_data.sources import Pixels

BLOCK = 2048
"""Images that are rendered or read at a time while the device is filled."""

SHARE = 0.5
"""The share of the device's free memory that pixels may take."""


def free_bytes() -> int:
    """Return the device's free memory; 0 on a CPU, which has none of its own."""
    memory = jax.local_devices()[0].memory_stats() or {}
    return int(memory.get("bytes_limit", 0) - memory.get("bytes_in_use", 0))


def place(dataset: Dataset, *, drawn: int) -> Any:
    """Put a dataset's pixels on the device if they fit.

    Args:
        dataset: the dataset.
        drawn: images that training is going to draw: if fewer than the dataset has, its pixels stay with the host.

    Returns:
        jax's array, uint8, shape (N, H, W, C); None where the pixels stay with the host.
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
        for i in range(0, len(starts), workers):  # no more than these wait in the host's memory
            for start, block in zip(starts[i:], pool.map(read_block, starts[i : i + workers]), strict=False):
                pixels = write_block(pixels, block, np.int32(start))
    return pixels
