"""XYObject: one coloured square that moves, grows and changes colour.

The toy dataset of disent (Michlo 2021, MIT licence), drawn from its definition: a square of 7 to 15 pixels in 24
colours (four shades of six hues) on a black image. `shaded` has the same images, row by row, but two factors, intensity
(shade) and color (hue), instead of one for both.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from benchmark_data import expected_effects
from benchmark_data.dataset import Dataset, Family
from benchmark_data.factors import Factor, FactorSpace, Indices
from benchmark_data.sources import Rendered
from benchmark_data.types import Pixels

IMAGE = 64
SIZES = (7, 9, 11, 13, 15)
SPACING = 2
PLACES = (IMAGE - SIZES[-1]) // SPACING + 1
SHADES = 4
HUES = {
    "red": (255, 0, 0),
    "yellow": (255, 255, 0),
    "green": (0, 255, 0),
    "cyan": (0, 255, 255),
    "blue": (0, 0, 255),
    "magenta": (255, 0, 255),
}
PALETTE = np.stack([np.array(list(HUES.values())) * shade // SHADES for shade in range(1, SHADES + 1)]).astype(np.uint8)
"""Colours, uint8, shape (shades, hues, 3): 63, 127, 191 and 255 where the hue is on."""

_PLACE = (
    Factor("x", range(PLACES), "ordinal", unit="place"),
    Factor("y", range(PLACES), "ordinal", unit="place"),
    Factor("scale", SIZES, "ordinal", unit="px"),
)
PLAIN = FactorSpace(
    *_PLACE,
    Factor(
        "color",
        range(SHADES * len(HUES)),
        "categorical",
        labels=[f"{hue}_{shade}" for shade in range(1, SHADES + 1) for hue in HUES],
    ),
)
SHADED = FactorSpace(
    *_PLACE,
    Factor("intensity", [shade / SHADES for shade in range(1, SHADES + 1)], "ordinal"),
    Factor("color", range(0, 360, 60), "cyclic", unit="deg", labels=list(HUES)),
)


def render(labels: Indices) -> Pixels:
    """Draw one square. The centre of a position is the same for all sizes.

    Args:
        labels: int64, shape (n, 4): x, y, scale, color; or (n, 5): x, y, scale, intensity, color.

    Returns:
        uint8, shape (n, 64, 64, 3).

    Example:
        >>> image = render(np.array([[1, 0, 0, 18]]))[0]
        >>> lit = np.argwhere(image.any(-1))
        >>> lit.min(0).tolist(), lit.max(0).tolist(), image[4, 6].tolist()
        ([4, 6], [10, 12], [255, 0, 0])
    """
    size = np.array(SIZES)[labels[:, 2]]
    corner = SPACING * labels[:, :2].T + (SIZES[-1] - size) // 2
    column_mask, row_mask = (np.arange(IMAGE) >= corner[..., None]) & (np.arange(IMAGE) < (corner + size)[..., None])
    colours = PALETTE[labels[:, 3], labels[:, 4]] if labels.shape[1] == 5 else PALETTE.reshape(-1, 3)[labels[:, 3]]
    row_of_pixels = (column_mask[..., None] * colours[:, None]).reshape(len(labels), 1, IMAGE * 3)
    return (row_mask[..., None] * row_of_pixels).reshape(-1, IMAGE, IMAGE, 3)


def shade_then_hue(images: Pixels) -> NDArray[np.float64]:
    """Order the 24 colours: by shade, which steps by 63 or 64, then by hue, which adds less than that.

    Args:
        images: uint8, shape (n, 64, 64, 3).

    Returns:
        float64, shape (n,).
    """
    return expected_effects.brightness(images) + 60 * (expected_effects.mean_hue(images) % 1)


PLACE_EFFECTS = {"x": expected_effects.right(), "y": expected_effects.down(), "scale": expected_effects.larger()}
PALETTE_EFFECTS = {"color": expected_effects.Effect("goes through the hues of each shade", shade_then_hue)}
COLOUR_EFFECTS = {"intensity": expected_effects.brighter(), "color": expected_effects.hue()}


def _dataset(config: str, space: FactorSpace, note: str) -> Dataset:
    return Dataset(
        name="xyobject",
        config=config,
        parameters={"shaded": config == "shaded"},
        version="1.0.0",
        space=space,
        source=Rendered(render),
        image_shape=(IMAGE, IMAGE, 3),
        description=(
            f"A square of 7, 9, 11, 13 or 15 px on a black 64 x 64 image, its centre at one of {PLACES} x {PLACES} "
            f"places that lie {SPACING} px apart, in four shades of six hues. {note} "
            "Moves of the square overlap, so that distance in pixels grows with distance in place and in size."
        ),
        citation="""@misc{michlo2021disent,
  author = {Michlo, Nathan Juraj},
  title = {Disent - A modular disentangled representation learning framework for PyTorch},
  howpublished = {GitHub},
  year = {2021},
  url = {https://github.com/nmichlo/disent}
}""",
        license="MIT",
        homepage="https://github.com/nmichlo/disent",
        effects={**PLACE_EFFECTS, **(COLOUR_EFFECTS if config == "shaded" else PALETTE_EFFECTS)},
    )


DATASET = Family(
    _dataset("plain", PLAIN, "The 24 colours are one factor without an order: the shade is there but has no name."),
    _dataset("shaded", SHADED, "Shade and hue are two factors; the images are those of `xyobject/plain`, row by row."),
    default="plain",
)
