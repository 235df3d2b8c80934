"""dSprites with a pattern whose position depends on a hidden variable: see `benchmark_data.variants.perturbation`."""

from benchmark_data.datasets import dsprites
from benchmark_data.variants import perturbation

DATASET = perturbation.perturbed(dsprites.DATASET)
