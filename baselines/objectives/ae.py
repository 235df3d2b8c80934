"""Autoencoder: reconstruction alone, from a deterministic code."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from baselines.objectives import Objective


@dataclasses.dataclass(frozen=True)
class OBJECTIVE(Objective):
    """No terms beside the reconstruction. The log-variance head keeps its initial weights and is not used."""

    stochastic: ClassVar[bool] = False
