"""dSprites with noise instead of a pattern, a control of dsprites_perturbed: see `variants.perturbation`."""

from benchmark_data.datasets import dsprites
from benchmark_data.variants import perturbation

DATASET = perturbation.noisy(dsprites.DATASET)
