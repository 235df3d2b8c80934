"""Color dSprites: dSprites with each sprite in a random colour, which is not a factor.

Locatello et al., "Challenging Common Assumptions in the Unsupervised Learning of Disentangled Representations", ICML
2019, and disentanglement_lib, which draws a new colour at each access. Here the colour depends on the row alone, so
that all copies have the same pixels.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from benchmark_data import draws
from benchmark_data.datasets import dsprites
from benchmark_data.factors import Indices
from benchmark_data.sources import Derived
from benchmark_data.types import Pixels

SEED = int.from_bytes(b"colours")
"""Not a small number, since those are used to shuffle rows (`benchmark_data.draws`)."""

CITATION = """@inproceedings{locatello2019challenging,
  title = {Challenging Common Assumptions in the Unsupervised Learning of Disentangled Representations},
  author = {Locatello, Francesco and Bauer, Stefan and Lucic, Mario and R{\\"a}tsch, Gunnar and Gelly, Sylvain and
    Sch{\\"o}lkopf, Bernhard and Bachem, Olivier},
  booktitle = {Proceedings of the 36th International Conference on Machine Learning},
  volume = {97},
  pages = {4114--4124},
  year = {2019}
}"""


def colour_sprites(images: Pixels, indices: Indices, labels: Indices) -> Pixels:
    """Colour every sprite, each channel uniform between one half and one.

    Args:
        images: uint8 of 0 and 255, shape (n, 64, 64, 1).
        indices: rows, int64, shape (n,), which determine the colours.
        labels: ignored.

    Returns:
        uint8, shape (n, 64, 64, 3), on black.

    Example:
        >>> white = np.full((2, 64, 64, 1), 255, np.uint8)
        >>> int(colour_sprites(white, np.array([0, 1]), None).min()) >= 128
        True
    """
    colours = np.round(255 * (0.5 + 0.5 * draws.uniform(SEED, indices, 3))).astype(np.uint8)
    # Pixels are 0 or 255: "and" gives 0 or the colour.
    return images & colours[:, None, None, :]


DATASET = dataclasses.replace(
    dsprites.DATASET,
    name="color_dsprites",
    version="2.0.0",
    source=Derived(dsprites.DATASET, colour_sprites),
    image_shape=(64, 64, 3),
    description=(
        "dSprites with each sprite in a colour of its own, every channel uniform between one half and one. The colour "
        "is a nuisance, no factor; it is drawn once for each row, so that all copies are the same."
    ),
    citation=f"{dsprites.DATASET.citation}\n\n{CITATION}",
    defects=(
        *dsprites.DATASET.defects,
        "disentanglement_lib draws colours anew at each access; its images are of the same kind, not the same pixels.",
    ),
)
