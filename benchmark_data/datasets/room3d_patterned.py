"""Room3D under a pattern that moves with a further factor: see `benchmark_data.variants.perturbation`."""

from benchmark_data.datasets import room3d
from benchmark_data.variants import perturbation

DATASET = perturbation.patterned(room3d.DATASET)
