"""Symsol_reduced and dSprites: a transfer pair, 64 x 64, grey, as published. See `benchmark_data.variants.pairs`."""

from benchmark_data.datasets import dsprites, symsol_reduced
from benchmark_data.variants import pairs

DATASET = pairs.both_ways(symsol=symsol_reduced.DATASET.configs["published"], dsprites=dsprites.DATASET)
