"""Sprites2D with meaningless noise, the control of sprites2d_perturbed: see `benchmark_data.variants.perturbation`."""

from __future__ import annotations

from benchmark_data.datasets import sprites2d
from benchmark_data.variants import perturbation

DATASET = perturbation.noisy(sprites2d.DATASET)
