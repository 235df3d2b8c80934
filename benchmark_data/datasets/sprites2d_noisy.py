"""Sprites2D with noise that means nothing, the control of sprites2d_perturbed: see `benchmark_data.perturbation`."""

from __future__ import annotations

from benchmark_data import perturbation
from benchmark_data.datasets import sprites2d

DATASET = perturbation.noisy(sprites2d.DATASET)
