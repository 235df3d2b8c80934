"""Room3D with meaningless noise, the control of room3d_perturbed: see `benchmark_data.variants.perturbation`."""

from benchmark_data.datasets import room3d
from benchmark_data.variants import perturbation

DATASET = perturbation.noisy(room3d.DATASET)
