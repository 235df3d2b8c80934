"""Room3D in four hues that are equally far apart in pixels, so that no hue lies between others.

The ten hues of `room3d` are a circle in pixels too: a hue's neighbours are nearest to it, which reveals their order to
a VAE that reconstructs pixels. Flat colours are points in three dimensions, where at most four are equally far apart:
the corners of a regular tetrahedron. So for each of four hues, a quarter of the colour circle apart,
`benchmark_data.variants.adversarial.redrawn` finds a shade, among all colours in fifths within 1/24 of a turn of the
hue, that together form one. No channel is above four fifths, to saturate less in strong light; where one saturates,
distances differ slightly.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from benchmark_data import expected_effects
from benchmark_data.dataset import Dataset
from benchmark_data.datasets import room3d, xysquares
from benchmark_data.factors import Factor, FactorSpace, Indices
from benchmark_data.sources import Rendered
from benchmark_data.types import Pixels

HUES = (0.0, 0.25, 0.5, 0.75)
LABELS = ("red", "olive", "dark_cyan", "violet")
CHANNELS = np.array([(4, 0, 0), (3, 4, 1), (0, 1, 1), (3, 1, 4)])
"""Red, green and blue of each hue in fifths: squared distances are 18 for every pair."""

SPACE = FactorSpace(
    *(Factor(name, HUES, "cyclic", labels=LABELS) for name in room3d.SPACE.names[:3]), *room3d.SPACE.factors[3:]
)


def render(labels: Indices) -> Pixels:
    """Draw a solid in a room.

    Args:
        labels: int64, shape (n, 6): floor hue, wall hue, object hue, scale, shape, orientation.

    Returns:
        uint8, shape (n, 64, 64, 3).

    Example:
        >>> image = render(np.array([[0, 3, 1, 0, 0, 7]]))[0]
        >>> [image[row, 32].tolist() for row in (0, 30, 45)]  # sky, violet wall, olive cube
        [[153, 226, 249], [163, 54, 218], [144, 192, 48]]
    """
    return room3d.render(labels, channels=CHANNELS)


def red_right(images: Pixels) -> NDArray[np.float64]:
    """Compute how much more red there is on the right half than on the left: float64 (n,), for red walls."""
    return -room3d.green_right(images)


EFFECTS = room3d.effects_of(
    {"floor_hue": 0, "wall_hue": 2, "object_hue": 3},  # red, dark cyan and violet
    "violet",
    expected_effects.Effect(
        "brings the right wall nearer", red_right, where={"floor_hue": 2, "wall_hue": 0, "object_hue": 2}
    ),
)

DATASET = Dataset(
    name="room3d_equal",
    version="1.0.0",
    space=SPACE,
    source=Rendered(render),
    image_shape=(room3d.IMAGE, room3d.IMAGE, 3),
    description=(
        "The rooms of room3d in four hues each for the floor, the walls and the solid, drawn in shades that are "
        "equally far apart in pixels: no hue lies between others, so that a VAE with a pixel-wise loss has nothing to "
        "order hues by. Scales, shapes and orientations are those of room3d."
    ),
    citation=f"{xysquares.CITATION}\n\n{room3d.DATASET.citation}",
    license="MIT",
    homepage="https://arxiv.org/abs/2202.13341",
    effects=EFFECTS,
)
