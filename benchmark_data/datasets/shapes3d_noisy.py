"""Shapes3D with noise that means nothing, the control of shapes3d_perturbed: see `benchmark_data.perturbation`."""

from __future__ import annotations

from benchmark_data import perturbation
from benchmark_data.datasets import shapes3d

DATASET = perturbation.noisy(shapes3d.DATASET)
