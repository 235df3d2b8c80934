"""dSprites with noise that means nothing, the control of dsprites_perturbed: see `benchmark_data.perturbation`."""

from __future__ import annotations

from benchmark_data import perturbation
from benchmark_data.datasets import dsprites

DATASET = perturbation.noisy(dsprites.DATASET)
