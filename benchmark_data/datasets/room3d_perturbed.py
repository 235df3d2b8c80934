"""Room3D with a pattern whose position depends on a hidden variable: see `benchmark_data.variants.perturbation`."""

from benchmark_data.datasets import room3d
from benchmark_data.variants import perturbation

DATASET = perturbation.perturbed(room3d.DATASET)
