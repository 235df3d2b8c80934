"""Room3D with a pattern that moves with a hidden variable: see `benchmark_data.perturbation`."""

from __future__ import annotations

from benchmark_data import perturbation
from benchmark_data.datasets import room3d

DATASET = perturbation.perturbed(room3d.DATASET)
