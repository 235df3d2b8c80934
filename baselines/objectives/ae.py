"""Autoencoder: reconstruction alone, from a deterministic code.

Hinton and Salakhutdinov, "Reducing the Dimensionality of Data with Neural Networks", 2006.
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from baselines.objectives import Objective

PAPER = "https://doi.org/10.1126/science.1127647"
CODE = "https://github.com/nmichlo/disent"
CODE_LICENSE = "MIT"
CITATION = """@article{hinton2006reducing,
  title = {Reducing the Dimensionality of Data with Neural Networks},
  author = {Hinton, Geoffrey E. and Salakhutdinov, Ruslan R.},
  journal = {Science},
  volume = {313},
  pages = {504--507},
  year = {2006}
}"""


@dataclasses.dataclass(frozen=True)
class OBJECTIVE(Objective):
    """No terms other than the reconstruction. The log-variance head keeps its initial weights and is not used."""

    stochastic: ClassVar[bool] = False
