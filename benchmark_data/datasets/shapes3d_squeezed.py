"""Shapes3D with less contrast, a control of shapes3d_perturbed: see `benchmark_data.variants.perturbation`."""

from benchmark_data.datasets import shapes3d
from benchmark_data.variants import perturbation

DATASET = perturbation.squeezed(shapes3d.DATASET)
