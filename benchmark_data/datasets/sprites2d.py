"""Sprites2D: a rendered stand-in for dSprites, on the same grid of factors and with the same outlines.

dSprites: Matthey, Higgins, Hassabis and Lerchner, "dSprites: Disentanglement testing Sprites dataset", 2017,
https://github.com/google-deepmind/dsprites-dataset (Apache-2.0). The geometry was fitted to the 320 images of the
animation in that repository and draws each of them exactly; `benchmarks/fit_sprites2d.py` repeats the comparison.
Every outline is a polygon whose size is a round fraction of the image, its corners are snapped to 1/256 of a pixel as
graphics hardware does, and a pixel is white where its centre lies inside.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from benchmark_data import expected_effects
from benchmark_data.dataset import Dataset
from benchmark_data.factors import Factor, FactorSpace, Indices
from benchmark_data.sources import Images, Rendered

IMAGE = 64
RADIUS = 0.15 * IMAGE
"""Half the side of the square at scale 1, in pixels; the ellipse and the heart are sized by it."""

SUBPIXELS = 256
"""Corners lie on a lattice of this many steps per pixel."""

SPACE = FactorSpace(
    Factor("shape", (1, 2, 3), "categorical", labels=("square", "ellipse", "heart")),
    Factor("scale", (0.5, 0.6, 0.7, 0.8, 0.9, 1.0), "ordinal"),
    Factor("orientation", np.linspace(0, 2 * np.pi, 40).tolist(), "cyclic", unit="rad"),
    Factor("posX", np.linspace(0, 1, 32).tolist(), "ordinal"),
    Factor("posY", np.linspace(0, 1, 32).tolist(), "ordinal"),
)


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
    t = 2 * np.pi * np.arange(150) / 150
    x = 16 * np.sin(t) ** 3
    y = 13 * np.cos(t) - 5 * np.cos(2 * t) - 2 * np.cos(3 * t) - np.cos(4 * t)
    heart = np.stack([x / 16, -y / 14.5 - 0.15], axis=1)
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


def render(labels: Indices) -> Images:
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


def drawn(labels: Indices, centres: NDArray[np.float64], size: float = 1.0) -> Images:
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
    # The 64 pixels of a row are the bits of one integer. An edge that crosses the row flips all pixels to its right.
    bits = np.zeros((len(labels), IMAGE), np.uint64)
    for shape, poses in enumerate(_poses(size)):
        chosen = np.flatnonzero(labels[:, 0] == shape)
        _, scale, orientation = labels[chosen].T
        corners = np.rint(poses[scale, orientation] + SUBPIXELS * centres[chosen, :, None]).astype(np.int64)
        sprite, row, column = _crossings(corners)
        np.bitwise_xor.at(bits.ravel(), chosen[sprite] * IMAGE + row, np.uint64(2**64 - 1) << column.astype(np.uint64))
    pixels = np.unpackbits(bits.astype("<u8", copy=False).view(np.uint8), bitorder="little")
    return np.negative(pixels, out=pixels).reshape(len(labels), IMAGE, IMAGE, 1)


def _crossings(corners: Indices) -> tuple[Indices, Indices, Indices]:
    """Find where the outlines cross the lines through the pixels' centres, in exact integer arithmetic.

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
    polygon, start, end, crossed = polygon[edge], start[edge], end[edge], first[edge] + step
    x0, y0 = x[polygon, start], y[polygon, start]
    width, height = x[polygon, end] - x0, y[polygon, end] - y0
    centre = SUBPIXELS // 2
    # column = ceil((x - 1/2 px) / 1 px) at x = x0 + (crossed row's centre - y0) * width / height
    beyond = (centre - x0) * height - (SUBPIXELS * crossed + centre - y0) * width
    return polygon, crossed, -(beyond // (SUBPIXELS * height))


def effects_on(sprite: expected_effects.Mask) -> dict[str, expected_effects.Effect]:
    """Describe what the factors do to a sprite.

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
    name="sprites2d",
    version="1.0.0",
    space=SPACE,
    source=Rendered(render),
    image_shape=(IMAGE, IMAGE, 1),
    description=(
        "A white square, ellipse or heart on black in 6 sizes, 40 orientations and 32 x 32 positions. A stand-in for "
        "dSprites that needs no download: the same grid of factors, drawn from outlines fitted to 320 of its images. "
        "It is a dataset of its own, and results on it are not results on dSprites."
    ),
    citation="""@misc{dsprites17,
  author = {Loic Matthey and Irina Higgins and Demis Hassabis and Alexander Lerchner},
  title = {{dSprites}: Disentanglement testing Sprites dataset},
  howpublished = {https://github.com/deepmind/dsprites-dataset/},
  year = {2017}
}""",
    license="MIT",
    people=False,
    photographs=False,
    homepage="https://github.com/google-deepmind/dsprites-dataset",
    effects=EFFECTS,
    defects=("Orientations 0 and 39 are the same angle (0 and 2 pi), as in dSprites: their images are equal.",),
)
