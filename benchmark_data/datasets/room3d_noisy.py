"""Room3D with noise instead of a pattern, a control of room3d_perturbed: see `variants.perturbation`."""

from benchmark_data.datasets import room3d
from benchmark_data.variants import perturbation

DATASET = perturbation.noisy(room3d.DATASET)
