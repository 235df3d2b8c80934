"""Template of a dataset: copy to ``benchmark_data/datasets/<name>.py`` and change. The file name is the dataset's name.

One white disc on black, at 16 x 16 places and in four sizes. Nothing else is to be edited: ``offaxis data list`` shows
the dataset, TFDS and Hugging Face serve it, and the contract tests run over it.
"""

from __future__ import annotations

import numpy as np

from benchmark_data import expected_effects
from benchmark_data.dataset import Dataset
from benchmark_data.factors import Factor, FactorSpace, Indices
from benchmark_data.sources import Rendered
from benchmark_data.types import Pixels

SPACE = FactorSpace(  # the last factor varies fastest
    Factor("radius", (3, 5, 7, 9), "ordinal", unit="px"),
    Factor("x", np.linspace(10, 54, 16), "ordinal", unit="px"),
    Factor("y", np.linspace(10, 54, 16), "ordinal", unit="px"),
)


def render(labels: Indices) -> Pixels:
    """Draw a batch: class ids int64 (n, 3) to uint8 images (n, 64, 64, 1), without state and without a loop."""
    radius, x, y = (v[:, None, None] for v in SPACE.values(labels).T)
    rows, columns = np.mgrid[:64, :64]
    inside = (columns - x) ** 2 + (rows - y) ** 2 <= radius**2
    return np.uint8(255) * inside[..., None].astype(np.uint8)


DATASET = Dataset(
    name="dataset",  # the file's name
    version="1.0.0",  # raise it when pixels or factors change
    space=SPACE,
    source=Rendered(render),
    image_shape=(64, 64, 1),
    # What one sees as the class id rises: the contract tests hold labels to it. See benchmark_data/expected_effects.py.
    effects={"radius": expected_effects.larger(), "x": expected_effects.right(), "y": expected_effects.down()},
    description="A white disc on black, at 16 x 16 places and in four sizes. It shows how a dataset is declared.",
    citation="@misc{disc, title = {Template}, year = {2026}}",
    license="MIT",
    homepage="https://example.org",
)
