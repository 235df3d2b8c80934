"""Shapes3D with noise instead of a pattern, a control of shapes3d_perturbed: see `variants.perturbation`."""

from benchmark_data.datasets import shapes3d
from benchmark_data.variants import perturbation

DATASET = perturbation.noisy(shapes3d.DATASET)
