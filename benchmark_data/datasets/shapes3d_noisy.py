"""Shapes3D with meaningless noise, the control of shapes3d_perturbed: see `benchmark_data.variants.perturbation`."""

from benchmark_data.datasets import shapes3d
from benchmark_data.variants import perturbation

DATASET = perturbation.noisy(shapes3d.DATASET)
