"""Pilot of the sweep michlo2023_reduced: strengths at both ends of the spacing sweep of XYSquares, and two between.

    offaxis train sweep michlo2023_pilot --to runs/michlo2023_pilot --only dataset=xysquares/spacing_8

112 runs of 12,000 steps of 64 images (129 million images with pairs): the paper's two objectives, convolution and loss,
with seeds 100 to 103, which no published result uses. Nothing is downloaded. benchmarks/michlo2023_pilot.csv has the
runs that were trained, most of them on pixels in [0, 1] (``conv``), before the sweep standardised them as the authors
do (``conv standardised``). Michlo et al. 2023 say that "much smaller values for beta are needed" at spacing 8 (section
5.3); their own strengths in the spacing sweep are 0.001 and 0.00316. At 5% of their images these are too small for a
beta-VAE at spacing 1: its posterior keeps 23 nats, where the six factors have 12.5.

At spacing 8 half of the runs or more collapse, with either scale of the pixels and at any strength. While codes are
still noise, the decoder silences it, until all units of its last hidden layer give 0: nothing is learned from there on.

Expected: models that disentangle at spacing 1, and some that reconstruct at spacing 8.

Selected for each objective and end: the strength with the highest mean MIG among those whose reconstructions explain
more than `COLLAPSED` of the variance of the images; where none does, the one that explains most. MIG uses labels, and
the sweep michlo2023_reduced states this in ``selection``.
"""

from __future__ import annotations

from baselines.sweeps._michlo2023 import REDUCED, runs

SEEDS = (100, 101, 102, 103)

BETAS = {8: (0.00001, 0.0001, 0.000316, 0.001), 1: (0.001, 0.00316, 0.01, 0.0316, 0.1, 0.316)}
BETAS |= dict.fromkeys((2, 4), (0.00316, 0.1))
"""Spacing -> strengths as published."""

COLLAPSED = 0.05
"""Share of explained variance below which a model is called collapsed."""

SWEEP = tuple(
    run
    for seed in SEEDS
    for spacing, betas in BETAS.items()
    for run in runs((f"xysquares/spacing_{spacing}",), betas, seeds=(seed,), **REDUCED)
)
"""One seed of everything before any has two."""
