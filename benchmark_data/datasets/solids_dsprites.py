"""Solids and dSprites: a transfer pair that needs no download. See `benchmark_data.variants.pairs`.

A stand-in for Symsol_reduced and dSprites: results on it are not results on them.
"""

from benchmark_data.datasets import dsprites, solids
from benchmark_data.variants import pairs

DATASET = pairs.both_ways(solids=solids.DATASET, dsprites=dsprites.DATASET)
