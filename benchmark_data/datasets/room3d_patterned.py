"""Room3D with a pattern whose position is a further factor: see `benchmark_data.variants.perturbation`."""

from benchmark_data.datasets import room3d
from benchmark_data.variants import perturbation

DATASET = perturbation.patterned(room3d.DATASET)
