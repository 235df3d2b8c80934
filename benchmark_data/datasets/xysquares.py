"""XYSquares: three squares whose spacing determines whether pixel distance reveals the order of positions.

Michlo, Klein and James, "Overlooked Implications of the Reconstruction Loss for VAE Disentanglement", IJCAI 2023
(arXiv 2202.13341), section 5. The spacing sweep of section 5.4 keeps the grid at 8 x 8 and moves the positions closer
together until the squares overlap. With a spacing of 8 no two positions share a pixel and every pair of images that
differ in one factor is at the same distance; with a spacing of 1 they overlap by 7/8 and the distance grows with the
move.
"""

from __future__ import annotations

import functools

import numpy as np

from benchmark_data import expected_effects
from benchmark_data.dataset import Dataset, Family
from benchmark_data.factors import Factor, FactorSpace, Indices
from benchmark_data.sources import Rendered
from benchmark_data.types import Pixels

IMAGE = 64
SQUARE = 8
GRID = 8
_SQUARE_OFFSETS = np.add.outer(3 * IMAGE * np.arange(SQUARE), 3 * np.arange(SQUARE)).ravel()
"""Offsets of a square's pixels from its first one, in a flat (64, 64, 3) image."""

SPACE = FactorSpace(
    *(
        Factor(f"{axis}_{colour}", range(GRID), "ordinal", unit="place")
        for colour in ("R", "G", "B")
        for axis in ("x", "y")
    )
)

EFFECTS = {
    f"{axis}_{colour}": move(functools.partial(expected_effects.channel, number=number))
    for number, colour in enumerate("RGB")
    for axis, move in (("x", expected_effects.right), ("y", expected_effects.down))
}

CITATION = """@inproceedings{michlo2023overlooked,
  title = {Overlooked Implications of the Reconstruction Loss for {VAE} Disentanglement},
  author = {Michlo, Nathan and Klein, Richard and James, Steven},
  booktitle = {Proceedings of the Thirty-Second International Joint Conference on Artificial Intelligence},
  year = {2023},
  eprint = {2202.13341},
  archivePrefix = {arXiv}
}"""


def offset(spacing: int) -> int:
    """Return the first pixel of position 0: the 8 positions are centred in the image.

    Args:
        spacing: pixels between positions, 1 to 8.

    Returns:
        24, 21, 17, 14, 10, 7, 3, 0 for a spacing of 1, 2, ... 8.
    """
    return (IMAGE - (SQUARE + (GRID - 1) * spacing)) // 2


def render(labels: Indices, *, spacing: int) -> Pixels:
    """Draw one square in each colour channel.

    Args:
        labels: int64, shape (n, 6): x and y of the red, the green and the blue square, each in [0, 8).
        spacing: pixels between positions, 1 to 8.

    Returns:
        uint8 of 0 and 255, shape (n, 64, 64, 3).

    Example:
        >>> image = render(np.array([[0, 1, 0, 0, 0, 0]]), spacing=8)[0]
        >>> np.argwhere(image[..., 0]).min(0).tolist(), np.argwhere(image[..., 0]).max(0).tolist()
        ([8, 0], [15, 7])
    """
    images = np.zeros((len(labels), IMAGE, IMAGE, 3), np.uint8)
    corners = offset(spacing) + spacing * labels.reshape(-1, 3, 2)
    first_positions = (corners[..., 1] * IMAGE + corners[..., 0]) * 3 + np.arange(3)
    first_positions += np.arange(len(labels))[:, None] * (IMAGE * IMAGE * 3)
    images.ravel()[first_positions[..., None] + _SQUARE_OFFSETS] = 255
    return images


def _dataset(spacing: int) -> Dataset:
    return Dataset(
        name="xysquares",
        config=f"spacing_{spacing}",
        parameters={"spacing": spacing},
        version="1.0.0",
        space=SPACE,
        source=Rendered(functools.partial(render, spacing=spacing)),
        image_shape=(IMAGE, IMAGE, 3),
        description=(
            "A red, a green and a blue square of 8 x 8 pixels, each at one of 8 x 8 places that lie "
            f"{spacing} px apart and are centred in a black 64 x 64 image. "
            + (
                "No two places overlap: all images that differ in one factor are equally far apart in pixels, "
                "and a VAE with a pixel-wise loss has nothing to order them by."
                if spacing == SQUARE
                else f"Neighbouring places share {SQUARE - spacing} of 8 columns or rows, "
                "so that distance in pixels grows with distance in the factors, up to a limit."
            )
        ),
        citation=CITATION,
        license="MIT",
        homepage="https://arxiv.org/abs/2202.13341",
        effects=EFFECTS,
    )


DATASET = Family(*(_dataset(spacing) for spacing in range(1, 9)), default="spacing_8")
