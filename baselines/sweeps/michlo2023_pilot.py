"""Pilot of the sweep michlo2023_reduced: strengths at both ends of the spacing sweep of XYSquares.

    offaxis train sweep michlo2023_pilot --to runs/michlo2023_pilot --only dataset=xysquares/spacing_8

40 runs of 12,000 steps of 64 images (46 million images with pairs): the paper's two objectives, convolution and loss,
with seeds 100 to 103, which no published result uses. Nothing is downloaded. benchmarks/michlo2023_pilot.csv has the
runs that were trained.

The authors' figure 9 shows Ada-GVAE at 0.001, and the beta-VAE at 0.001 from spacing 3 on and at 0.00316 below it
(their plotting script). At 5% of their images these may be too small for a beta-VAE at spacing 1, so that 0.1 is tried
there; and 0.0001 at spacing 8, as "much smaller values for beta are needed" (section 5.3).

Expected: models that disentangle at spacing 1, and models that reconstruct at spacing 8.
"""

from baselines.sweeps._michlo2023 import REDUCED, runs

SEEDS = (100, 101, 102, 103)

BETAS = {8: (0.001, 0.0001), 1: (0.001, 0.00316, 0.1)}
"""Spacing -> published strengths."""

SWEEP = tuple(
    run
    for seed in SEEDS
    for spacing, betas in BETAS.items()
    for run in runs((f"xysquares/spacing_{spacing}",), betas, seeds=(seed,), **REDUCED)
)
"""The first seed of all before the second of any."""
