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
"""The share of the device's free memory that pixels may take if nobody says how much."""


def place(dataset: Dataset, *, limit: int | None, drawn: int) -> Any:
    """Put a dataset's pixels on the device if they fit.

    Args:
        dataset: the dataset.
        limit: the bytes they may take. If None, half of the device's free memory; but nothing where ``drawn`` is less
            than the dataset, or on a CPU, which has no memory of its own.
        drawn: images that training is going to draw.

    Returns:
        jax's array, uint8, shape (N, H, W, C); None where the pixels stay with the host.
    """
    if limit is None:
        memory = jax.local_devices()[0].memory_stats() or {}
        free = memory.get("bytes_limit", 0) - memory.get("bytes_in_use", 0)
        limit = int(SHARE * free) if drawn >= len(dataset) else 0
    if len(dataset) * math.prod(dataset.image_shape) > limit:
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
