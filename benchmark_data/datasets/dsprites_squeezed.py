"""dSprites with less contrast, a control of dsprites_perturbed: see `benchmark_data.variants.perturbation`."""

from benchmark_data.datasets import dsprites
from benchmark_data.variants import perturbation

DATASET = perturbation.squeezed(dsprites.DATASET)
