"""Solids and dSprites: a transfer pair that needs no download. See `benchmark_data.variants.pairs`.

It stands in for Symsol_reduced and dSprites; it is a pair of its own, and results on it are not results on them.
"""

from benchmark_data.datasets import dsprites, solids
from benchmark_data.variants import pairs

DATASET = pairs.both_ways(solids=solids.DATASET, dsprites=dsprites.DATASET)
