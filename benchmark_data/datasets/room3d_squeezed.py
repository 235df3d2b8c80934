"""Room3D with less contrast, a control of room3d_perturbed: see `benchmark_data.variants.perturbation`."""

from benchmark_data.datasets import room3d
from benchmark_data.variants import perturbation

DATASET = perturbation.squeezed(room3d.DATASET)
