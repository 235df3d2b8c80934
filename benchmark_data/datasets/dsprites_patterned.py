"""dSprites with a pattern whose position is a further factor: see `benchmark_data.variants.perturbation`."""

from benchmark_data.datasets import dsprites
from benchmark_data.variants import perturbation

DATASET = perturbation.patterned(dsprites.DATASET)
