"""Sprites2D with less contrast, a control of sprites2d_perturbed: see `benchmark_data.variants.perturbation`."""

from __future__ import annotations

from benchmark_data.datasets import sprites2d
from benchmark_data.variants import perturbation

DATASET = perturbation.squeezed(sprites2d.DATASET)
