"""Michlo, Klein and James, "Overlooked Implications of the Reconstruction Loss for VAE Disentanglement" (2023), 5.4.

    offaxis train sweep michlo2023_overlap --to runs/michlo2023_overlap

160 runs of 57,600 steps: beta-VAE and Ada-GVAE at 2 strengths on XYSquares at spacings 1 to 8 with 5 seeds (arXiv
2202.13341, section 5.4 and table A4). Nothing is downloaded.

Expected: MIG and DCI increase as the spacing decreases from 8, where they are near the baseline, to 1 (figure 9). The
paper's results are a figure only.

`baselines.sweeps._michlo2023` describes how beta is converted and what differs from the authors' training.
"""

from baselines.sweeps._michlo2023 import runs

DATASETS = tuple(f"xysquares/spacing_{spacing}" for spacing in range(8, 0, -1))

SWEEP = tuple(runs(DATASETS, (0.001, 0.00316), seeds=range(5), latents=9, steps=57_600))
