"""Michlo, Klein and James, "Overlooked Implications of the Reconstruction Loss for VAE Disentanglement" (2023), 5.3.

    offaxis train sweep michlo2023_benchmark --to runs/michlo2023_benchmark

160 runs of 115,200 steps: beta-VAE and Ada-GVAE at 8 strengths with 9 and 25 latents on 5 datasets (arXiv 2202.13341,
section 5.3 and table A4). Needs dSprites, Shapes3D, Cars3D and SmallNORB: ``offaxis data prepare``.

Expected: the best MIG and DCI over the sweep are far lower on XYSquares than on the other four, for both objectives,
and its best beta is smaller (figure 6). The paper's results are a figure only.

`baselines.sweeps._michlo2023` describes how beta is converted and what differs from the authors' training.
"""

from baselines.sweeps._michlo2023 import runs

DATASETS = ("dsprites", "shapes3d", "cars3d/64_bilinear", "smallnorb/left_64_bilinear", "xysquares/spacing_8")

BETAS = (0.000316, 0.001, 0.00316, 0.01, 0.0316, 0.1, 0.316, 1.0)

SWEEP = tuple(
    run for latents in (9, 25) for run in runs(DATASETS, BETAS, seeds=range(1), latents=latents, steps=115_200)
)
