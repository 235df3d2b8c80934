"""Room3D with noise that means nothing, the control of room3d_perturbed: see `benchmark_data.perturbation`."""

from __future__ import annotations

from benchmark_data import perturbation
from benchmark_data.datasets import room3d

DATASET = perturbation.noisy(room3d.DATASET)
