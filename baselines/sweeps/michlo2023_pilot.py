"""Pilot of the sweep michlo2023_reduced: strengths at both ends of the spacing sweep of XYSquares, and one between.

    offaxis train sweep michlo2023_pilot --to runs/michlo2023_pilot --only dataset=xysquares/spacing_8

88 runs of 12,000 steps of 64 images (101 million images with pairs): the paper's two objectives, convolution and loss,
at 4 strengths for spacing 8 and 5 for spacing 1, with seeds 100 to 103, which no published result uses; at spacings 2
and 4 with a strength of spacing 1. Nothing is downloaded. Michlo et al. 2023 say that "much smaller values
for beta are needed" at spacing 8 (section 5.3); their own strengths in the spacing sweep are 0.001 and 0.00316.

Expected: models that disentangle at spacing 1, and some that reconstruct at spacing 8.

Selected for each objective and end: the strength with the highest mean MIG among those whose reconstructions explain
more than `COLLAPSED` of the variance of the images; where none does, the one that explains most. MIG uses labels, and
the sweep michlo2023_reduced states this in ``selection``.
"""

from __future__ import annotations

from baselines.sweeps._michlo2023 import REDUCED, runs

SEEDS = (100, 101, 102, 103)

BETAS = {8: (0.00001, 0.0001, 0.000316, 0.001), 1: (0.001, 0.00316, 0.01, 0.0316, 0.1), 2: (0.00316,), 4: (0.00316,)}
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
