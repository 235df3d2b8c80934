"""Sprites2D: dSprites drawn in double precision, from one outline for each shape.

It precedes the renderer of `dsprites`, from which it differs by one pixel in some of its images; published results rest
on it. `benchmarks/fit_dsprites.py` compares both with real images.
"""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
from numpy.typing import NDArray

from benchmark_data.datasets import dsprites
from benchmark_data.datasets.dsprites import IMAGE, RADIUS, SPACE, SUBPIXELS
from benchmark_data.factors import Indices
from benchmark_data.sources import Pixels, Rendered


def outlines() -> tuple[NDArray[np.float64], ...]:
    """Return the corners of the three shapes at scale 1, upright, around their position.

    The square has a side of 0.3 of the image. The ellipse is a circle as wide as the square, stretched by 1.33 in x and
    shrunk by 1.33 in y, with 100 corners. The heart is the curve x = 16 sin(t)^3, y = 13 cos(t) - 5 cos(2t) - 2 cos(3t)
    - cos(4t) with 150 corners, as wide as the square and nearly as high, and set a little high.

    Returns:
        Square, ellipse and heart, each float64, shape (corners, 2): x to the right and y downwards, in pixels.
    """
    square = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]], np.float64)
    t = 2 * np.pi * np.arange(100) / 100
    ellipse = np.stack([1.33 * np.cos(t), np.sin(t) / 1.33], axis=1)
    heart = dsprites.heart() / [16, -14.5] - [0, 0.15]
    return RADIUS * square, RADIUS * ellipse, RADIUS * heart


@functools.cache
def _poses(size: float) -> tuple[NDArray[np.float64], ...]:
    """Return the corners of each shape for every scale and orientation, in subpixels: shape (6, 40, 2, corners)."""
    scale, orientation = (np.asarray(SPACE.factors[i].values) for i in (1, 2))
    # A growing orientation turns the sprite anticlockwise; y points down.
    cos, sin = np.cos(orientation), np.sin(orientation)
    rotation = np.stack([np.stack([cos, sin], axis=-1), np.stack([-sin, cos], axis=-1)], axis=-2)
    return tuple(
        SUBPIXELS * size * scale[:, None, None, None] * np.einsum("oij,cj->oic", rotation, corners)
        for corners in outlines()
    )


def render(labels: Indices) -> Pixels:
    """Draw one white sprite on black.

    Args:
        labels: int64, shape (n, 5): shape, scale, orientation, posX and posY.

    Returns:
        uint8 of 0 and 255, shape (n, 64, 64, 1).

    Example:
        >>> image = render(np.array([[0, 0, 0, 31, 0]]))[0, ..., 0]
        >>> np.argwhere(image).min(0).tolist(), np.argwhere(image).max(0).tolist()
        ([11, 43], [20, 52])
    """
    return drawn(labels[:, :3], IMAGE // 4 + IMAGE / 2 * labels[:, 3:] / 31)


def drawn(labels: Indices, centres: NDArray[np.float64], size: float = 1.0) -> Pixels:
    """Draw one white sprite on black, wherever.

    Args:
        labels: int64, shape (n, 3): shape, scale and orientation.
        centres: where the sprite's middle is, float64, shape (n, 2): x to the right and y downwards, in pixels. The
            sprite must lie in the image.
        size: its size, as a multiple of the one that its scale says.

    Returns:
        uint8 of 0 and 255, shape (n, 64, 64, 1).

    Example:
        >>> image = drawn(np.array([[0, 5, 0]]), np.array([[8.0, 40.0]]), size=0.5)[0, ..., 0]
        >>> np.argwhere(image).min(0).tolist(), np.argwhere(image).max(0).tolist()
        ([35, 3], [44, 12])
    """
    poses = _poses(size)

    def corners(shape: int, rows: Indices) -> Indices:
        turned = poses[shape][labels[rows, 1], labels[rows, 2]]
        snapped: Indices = np.rint(turned + SUBPIXELS * centres[rows, :, None]).astype(np.int64)
        return snapped

    return dsprites.filled(labels[:, 0], corners)


DATASET = dataclasses.replace(
    dsprites.DATASET,
    name="sprites2d",
    source=Rendered(render),
    description=(
        "A white square, ellipse or heart on black in 6 sizes, 40 orientations and 32 x 32 positions: dSprites drawn "
        "in double precision. Of 64,834 real images of dSprites 64,825 are equal in every pixel, and nine differ by "
        "one pixel: results on it are results on dSprites up to one pixel in about 7,000 images."
    ),
    license="MIT",
    defects=("Orientations 0 and 39 are the same angle (0 and 2 pi), as in dSprites: their images are equal.",),
)
