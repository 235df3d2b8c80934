"""dSprites: white squares, ellipses and hearts on black in every size, orientation and position, without a download.

Matthey, Higgins, Hassabis and Lerchner, "dSprites: Disentanglement testing Sprites dataset", 2017,
https://github.com/google-deepmind/dsprites-dataset (Apache-2.0). The originals were drawn with the game engine LOVE,
whose operations are repeated here in float32: from the centre of the image, a shape is moved to its position, turned,
scaled and, for the square and the heart, moved to its origin. Corners are snapped to 1/256 of a pixel, as by graphics
hardware, and a pixel is white if its centre lies inside. `dsprites_archive` reads the published files and compares them
with these images.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmark_data import expected_effects
from benchmark_data.dataset import Dataset
from benchmark_data.factors import Factor, FactorSpace, Indices
from benchmark_data.sources import Rendered
from benchmark_data.types import Pixels

IMAGE = 64
RADIUS = 0.15 * IMAGE
"""Half the side of the square at scale 1, in pixels; the sizes of the ellipse and the heart derive from it."""

SUBPIXELS = 256
"""Corners lie on a lattice of this many steps per pixel."""

SPACE = FactorSpace(
    Factor("shape", (1, 2, 3), "categorical", labels=("square", "ellipse", "heart")),
    Factor("scale", (0.5, 0.6, 0.7, 0.8, 0.9, 1.0), "ordinal"),
    Factor("orientation", np.linspace(0, 2 * np.pi, 40).tolist(), "cyclic", unit="rad"),
    Factor("posX", np.linspace(0, 1, 32).tolist(), "ordinal"),
    Factor("posY", np.linspace(0, 1, 32).tolist(), "ordinal"),
)

_Floats = NDArray[np.float32]


class Pose(NamedTuple):
    """A shape in every scale and orientation, in pixels: the offset of its corners is `x` + `y` + `origin`.

    The terms are kept separately, since sums of float32 depend on their order.
    """

    x: _Floats
    """Term of the corners' x in their x and y in the image: shape (6, 40, 2, corners)."""

    y: _Floats
    """Term of the corners' y: shape (6, 40, 2, corners)."""

    origin: _Floats
    """Shape (6, 40, 2)."""


def heart_curve() -> NDArray[np.float64]:
    """Return the curve x = 16 sin(t)^3, y = 13 cos(t) - 5 cos(2t) - 2 cos(3t) - cos(4t): float64, shape (150, 2)."""
    t = 2 * np.pi * np.arange(150) / 150
    x, y = 16 * np.sin(t) ** 3, 13 * np.cos(t) - 5 * np.cos(2 * t) - 2 * np.cos(3 * t) - np.cos(4 * t)
    return np.stack([x, y], axis=1)


@functools.cache
def poses() -> tuple[Pose, ...]:
    """Return square, ellipse and heart.

    The square has a side of 0.3 of the image. The ellipse is a circle as wide as the square, stretched by 1.33 in x and
    shrunk by 1.33 in y. The heart is as wide as the square, nearly as high, and slightly above the centre.
    """
    step = np.float32(2 * np.pi) / np.float32(100)
    angle = (step * np.arange(100, dtype=np.float32)).astype(np.float64)
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1).astype(np.float32)
    return (
        _pose(2 * RADIUS * np.array([[0, 0], [1, 0], [1, 1], [0, 1]]), RADIUS, RADIUS),
        _pose((RADIUS * np.array([1.33, 1 / 1.33])).astype(np.float32) * circle, 0, 0),
        _pose(RADIUS * heart_curve() / [16, -14.5], 0, 0.15 * RADIUS),
    )


def _pose(corners: NDArray[np.floating], *origin: float) -> Pose:
    """Turn and scale a shape, given by its corners, shape (n, 2), and its origin, both in pixels at scale 1."""
    scale, orientation = (np.asarray(SPACE.factors[i].values, np.float32) for i in (1, 2))
    # Increasing orientation turns the sprite anticlockwise; y points down. Tables are rounded from double precision.
    cos, sin = (function(orientation.astype(np.float64)).astype(np.float32) for function in (np.cos, np.sin))
    x, y = (np.stack(column, axis=-1) * scale[:, None, None] for column in ((cos, -sin), (sin, cos)))
    rounded, (left, up) = corners.astype(np.float32), -np.array(origin, np.float32)
    return Pose(x[..., None] * rounded[:, 0], y[..., None] * rounded[:, 1], x * left + y * up)


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
    middle = np.float32(IMAGE / 2)
    centres = (IMAGE / 2 * (np.arange(32) / 31 - 0.5)).astype(np.float32) + middle

    def corners(shape: int, rows: Indices) -> Indices:
        pose, (_, scale, orientation) = poses()[shape], labels[rows, :3].T
        position = pose.origin[scale, orientation] + centres[labels[rows, 3:]] - middle
        placed = (pose.y[scale, orientation] + position[..., None]) + pose.x[scale, orientation]
        placed[:, 1] *= -1  # corners are snapped in OpenGL's coordinates, where y points up
        snapped: Indices = np.rint(SUBPIXELS * (placed + middle)).astype(np.int64)
        snapped[:, 1] = SUBPIXELS * IMAGE - snapped[:, 1]
        return snapped

    return fill_polygons(labels[:, 0], corners)


def fill_polygons(shapes: Indices, corners: Callable[[int, Indices], Indices]) -> Pixels:
    """Fill polygons with white, one on each image.

    Args:
        shapes: the class id of each image's shape, int64, shape (n,).
        corners: called with a shape and the indices of its images, int64, shape (m,); returns the corners' x (to the
            right) and y (down) in subpixels, int64, shape (m, 2, corners). They must lie in the image.

    Returns:
        uint8 of 0 and 255, shape (n, 64, 64, 1).

    Example:
        >>> half = np.array([[[0, 8192, 8192, 0], [0, 0, 16384, 16384]]])
        >>> fill_polygons(np.array([0]), lambda shape, images: half).mean(axis=(0, 1))[[0, 31, 32, 63], 0].tolist()
        [255.0, 255.0, 0.0, 0.0]
    """
    # The 64 pixels of a row are the bits of one integer. An edge that crosses the row flips all pixels to its right.
    bits = np.zeros((len(shapes), IMAGE), np.uint64)
    for shape in np.unique(shapes).tolist():
        images = np.flatnonzero(shapes == shape)
        sprite, row, column = _crossings(corners(shape, images))
        np.bitwise_xor.at(bits.ravel(), images[sprite] * IMAGE + row, np.uint64(2**64 - 1) << column.astype(np.uint64))
    pixels = np.unpackbits(bits.astype("<u8", copy=False).view(np.uint8), bitorder="little")
    return np.negative(pixels, out=pixels).reshape(len(shapes), IMAGE, IMAGE, 1)


def _crossings(corners: Indices) -> tuple[Indices, Indices, Indices]:
    """Find where the outlines cross the horizontal lines through pixel centres, in exact integer arithmetic.

    Args:
        corners: x and y of closed polygons in subpixels, int64, shape (n, 2, corners).

    Returns:
        The polygon, the row and the first column whose centre is not left of the crossing, each int64, shape (k,).
    """
    x, y = corners[:, 0], corners[:, 1]
    # The first row whose centre lies below the corner; a centre at the same height belongs to the row above.
    row = (y + SUBPIXELS // 2) // SUBPIXELS
    polygon, start = np.nonzero(row != np.roll(row, -1, axis=1))
    end = (start + 1) % row.shape[1]
    first, last = np.sort([row[polygon, start], row[polygon, end]], axis=0)
    edge = np.repeat(np.arange(len(polygon)), last - first)
    step = np.arange(len(edge)) - np.repeat(np.cumsum(last - first) - (last - first), last - first)
    polygon, start, end, crossed_row = polygon[edge], start[edge], end[edge], first[edge] + step
    x0, y0 = x[polygon, start], y[polygon, start]
    width, height = x[polygon, end] - x0, y[polygon, end] - y0
    centre = SUBPIXELS // 2
    # column = ceil((x - 1/2 px) / 1 px) at x = x0 + (crossed row's centre - y0) * width / height
    negative_numerator = (centre - x0) * height - (SUBPIXELS * crossed_row + centre - y0) * width
    return polygon, crossed_row, -(negative_numerator // (SUBPIXELS * height))


def effects_on(sprite: expected_effects.Mask) -> dict[str, expected_effects.Effect]:
    """Declare the effects of the factors on a sprite.

    Args:
        sprite: finds the sprite's pixels.

    Returns:
        An effect for each factor.
    """
    order = ("heart", "ellipse", "square")
    return {
        "shape": expected_effects.Effect(
            "covers more pixels", functools.partial(expected_effects.area, of=sprite), order, {"scale": 5}
        ),
        "scale": expected_effects.larger(sprite),
        "orientation": expected_effects.Effect(
            "turns anticlockwise",
            functools.partial(expected_effects.direction, of=sprite),
            where={"shape": 2, "scale": 5},
        ),
        "posX": expected_effects.right(sprite),
        "posY": expected_effects.down(sprite),
    }


EFFECTS = effects_on(expected_effects.bright)

DATASET = Dataset(
    name="dsprites",
    version="1.0.0",
    space=SPACE,
    source=Rendered(render),
    image_shape=(IMAGE, IMAGE, 1),
    description=(
        "White squares, ellipses and hearts on black in 6 scales, 40 orientations and 32 x 32 positions, each "
        "combination once. The most used disentanglement dataset, drawn here without a download: all 64,834 real "
        "images that were compared are equal in every pixel, and the number of white pixels in all 737,280 is the "
        "published one. Pixels are 0 and 255."
    ),
    citation="""@misc{dsprites17,
  author = {Loic Matthey and Irina Higgins and Demis Hassabis and Alexander Lerchner},
  title = {{dSprites}: Disentanglement testing Sprites dataset},
  howpublished = {https://github.com/deepmind/dsprites-dataset/},
  year = {2017}
}""",
    effects=EFFECTS,
    license="Apache-2.0",
    homepage="https://github.com/google-deepmind/dsprites-dataset",
    defects=(
        "Orientations 0 and 39 are both upright (0 and 2 pi): their sprites are the same, 18,432 of them twice.",
        "Squares nearly repeat after a quarter turn and ellipses after half a turn: without orientation 39, 3,142 "
        "sprites still repeat another; 715,706 of all sprites are different.",
        "Images that were not compared may differ from the published ones: of 196 ways to round that agree with all "
        "that is known, none differs from this one in more than 26 images.",
    ),
)
