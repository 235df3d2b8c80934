"""dSprites on a coarse grid of positions: at the largest spacing none overlap, and all moves change pixels equally.

XYSquares' spacing sweep (Michlo et al., IJCAI 2023, arXiv 2202.13341, section 5.4) for sprites that also differ in
rotation, size and shape. The sprites are those of `dsprites` at 0.58 of their size, so that the largest can rotate
within 16 pixels. Of all positions in the image, `benchmark_data.variants.adversarial.chosen` selects ones without
overlap for constant distances, and ones 2 pixels apart for linear distances: the two ends of the sweep. Position
changes pixels most, so it has the largest effect on the giveaway of a dataset.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from benchmark_data.dataset import Dataset, Family
from benchmark_data.datasets import dsprites, xysquares
from benchmark_data.factors import Factor, FactorSpace, Indices
from benchmark_data.sources import Rendered
from benchmark_data.types import Pixels

PLACES = 4
SIZE = 0.58
"""Size of the sprites, as a multiple of their size in dSprites."""
SPACINGS = (2, 4, 8, 16)
"""Pixels between neighbouring positions."""

_SHAPE, _SCALE, _ORIENTATION = dsprites.SPACE.factors[:3]
SPACE = FactorSpace(
    _SHAPE,
    _SCALE,
    Factor("orientation", _ORIENTATION.values[:-1], "cyclic", unit="rad"),  # the last is the first again
    Factor("posX", range(PLACES), "ordinal", unit="place"),
    Factor("posY", range(PLACES), "ordinal", unit="place"),
)


def render(labels: Indices, *, spacing: int) -> Pixels:
    """Draw one white sprite on black.

    Args:
        labels: int64, shape (n, 5): shape, scale, orientation, posX and posY.
        spacing: pixels between positions, whose grid is centred in the image; even, at most 16.

    Returns:
        uint8 of 0 and 255, shape (n, 64, 64, 1).

    Example:
        >>> image = render(np.array([[0, 5, 0, 0, 3]]), spacing=16)[0, ..., 0]
        >>> np.argwhere(image).min(0).tolist(), np.argwhere(image).max(0).tolist()
        ([50, 2], [61, 13])
    """
    first_place = dsprites.IMAGE / 2 - spacing * (PLACES - 1) / 2
    return draw_sprites(labels[:, :3], (first_place + spacing * labels[:, 3:]).astype(np.float64))


def draw_sprites(labels: Indices, centres: NDArray[np.float64]) -> Pixels:
    """Draw one white sprite of the dataset's size on black, at any position.

    Args:
        labels: int64, shape (n, 3): shape, scale and orientation.
        centres: centre of the sprite in pixels, float64, shape (n, 2): x to the right and y down. The sprite must lie
            in the image.

    Returns:
        uint8 of 0 and 255, shape (n, 64, 64, 1).

    Example:
        >>> image = draw_sprites(np.array([[0, 5, 0]]), np.array([[8.0, 40.0]]))[0, ..., 0]
        >>> np.argwhere(image).min(0).tolist(), np.argwhere(image).max(0).tolist()
        ([34, 2], [45, 13])
    """

    def corners(shape: int, rows: Indices) -> Indices:
        pose, (_, scale, orientation) = dsprites.poses()[shape], labels[rows].T
        turned = pose.x[scale, orientation] + pose.y[scale, orientation] + pose.origin[scale, orientation][..., None]
        placed = SIZE * turned.astype(np.float64) + centres[rows, :, None]
        return np.rint(dsprites.SUBPIXELS * placed).astype(np.int64)

    return dsprites.fill_polygons(labels[:, 0], corners)


def _dataset(spacing: int) -> Dataset:
    return Dataset(
        name="dsprites_spaced",
        config=f"spacing_{spacing}",
        parameters={"spacing": spacing},
        version="1.0.0",
        space=SPACE,
        source=Rendered(functools.partial(render, spacing=spacing)),
        image_shape=(dsprites.IMAGE, dsprites.IMAGE, 1),
        description=(
            "A white square, ellipse or heart on black in 6 sizes and 39 orientations, at one of 4 x 4 places that lie "
            f"{spacing} px apart. "
            + (
                "No sprite reaches into another place: images that differ in one coordinate are equally far apart in "
                "pixels, whatever the move, and a VAE with a pixel-wise loss has nothing to order places by."
                if spacing == max(SPACINGS)
                else "Sprites at neighbouring places may overlap: distance in pixels then grows with the move, up to a "
                "limit."
            )
        ),
        citation=f"{xysquares.CITATION}\n\n{dsprites.DATASET.citation}",
        license="MIT",
        homepage="https://arxiv.org/abs/2202.13341",
        effects=dsprites.EFFECTS,
        defects=(
            "Small sprites at neighbouring orientations may be equal: at spacing 16, 11,232 rows are 8,384 different "
            "images.",
        ),
    )


DATASET = Family(*(_dataset(spacing) for spacing in SPACINGS), default="spacing_16")
