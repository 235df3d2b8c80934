"""Sprites2D with a pattern that moves with a hidden variable: see `benchmark_data.perturbation`."""

from __future__ import annotations

from benchmark_data import perturbation
from benchmark_data.datasets import sprites2d

DATASET = perturbation.perturbed(sprites2d.DATASET)
