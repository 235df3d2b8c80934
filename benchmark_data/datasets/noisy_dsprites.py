"""Noisy dSprites: white sprites on a background of uniform noise, which is not a factor.

Locatello et al., "Challenging Common Assumptions in the Unsupervised Learning of Disentangled Representations", ICML
2019, and disentanglement_lib, which draws new noise at each access. Here the noise depends on the row alone, so that
all copies have the same pixels.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from benchmark_data import draws
from benchmark_data.datasets import color_dsprites, dsprites
from benchmark_data.factors import Indices
from benchmark_data.sources import Derived
from benchmark_data.types import Pixels

SEED = int.from_bytes(b"noise")
"""Not a small number, since those are used to shuffle rows (`benchmark_data.draws`)."""


def add_noise(images: Pixels, indices: Indices, labels: Indices) -> Pixels:
    """Put noise behind the sprites, independent and uniform for every pixel and channel.

    Args:
        images: uint8 of 0 and 255, shape (n, 64, 64, 1).
        indices: rows, int64, shape (n,), which determine the noise.
        labels: ignored.

    Returns:
        uint8, shape (n, 64, 64, 3), with white sprites.

    Example:
        >>> black = np.zeros((4, 64, 64, 1), np.uint8)
        >>> round(float(add_noise(black, np.arange(4), None).mean()), 0)
        128.0
    """
    n, height, width, _ = images.shape
    words = draws.bits(SEED, indices, height * width * 3 // 8)
    # Eight pixels to a word, the lowest byte first on every machine.
    noise = words.astype("<u8", copy=False).view(np.uint8).reshape(n, height, width, 3)
    return np.maximum(noise, images)


def white_mask(images: Pixels) -> NDArray[np.bool_]:
    """Return a mask of white pixels, which are sprites and hardly ever noise: bool (n, 64, 64)."""
    return (images == 255).all(axis=-1)


DATASET = dataclasses.replace(
    dsprites.DATASET,
    name="noisy_dsprites",
    version="2.0.0",
    source=Derived(dsprites.DATASET, add_noise),
    image_shape=(64, 64, 3),
    effects=dsprites.effects_on(white_mask),
    description=(
        "dSprites with white sprites on a background of noise, uniform for every pixel and channel. The noise is a "
        "nuisance, no factor; it is drawn once for each row, so that all copies are the same."
    ),
    citation=f"{dsprites.DATASET.citation}\n\n{color_dsprites.CITATION}",
    defects=(
        *dsprites.DATASET.defects,
        "disentanglement_lib draws noise anew at each access; its images are of the same kind, not the same pixels.",
    ),
)
