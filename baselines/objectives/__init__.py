"""Objectives, one file each: the file name is the objective's name."""

from __future__ import annotations

from baselines.nets.backend import Tensor
from baselines.objectives._base import (
    Adam,
    Batch,
    Call,
    Network,
    Objective,
    Posterior,
    Term,
    check_grid,
    check_two_images,
    check_two_latents,
    find,
    halves,
    kl_to_prior,
    limited,
    names,
)

__all__ = [
    "Adam",
    "Batch",
    "Call",
    "Network",
    "Objective",
    "Posterior",
    "Tensor",
    "Term",
    "check_grid",
    "check_two_images",
    "check_two_latents",
    "find",
    "halves",
    "kl_to_prior",
    "limited",
    "names",
]
