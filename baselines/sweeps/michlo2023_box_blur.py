"""Michlo, Klein and James, "Overlooked Implications of the Reconstruction Loss for VAE Disentanglement" (2023), 6.1.

    offaxis train sweep michlo2023_box_blur --to runs/michlo2023_box_blur

40 runs of 57,600 steps: beta-VAE and Ada-GVAE with squared error alone and with that of blurred images added, at 2
strengths on XYSquares with 5 seeds (arXiv 2202.13341, section 6.1 and table A4). Nothing is downloaded.

Expected: MIG and DCI are far higher with the blur than without it, for both objectives (figure 11). The authors' notes
say that runs with the blur and the smaller beta may diverge. The paper's results are a figure only.

`baselines.sweeps._michlo2023` describes how beta is converted and what differs from the authors' training.
"""

from baselines.sweeps._michlo2023 import runs

SWEEP = tuple(
    run
    for loss in ("mse", "box_blur")
    for run in runs(
        ("xysquares/spacing_8",), (0.0001, 0.0316), seeds=range(5), latents=25, steps=57_600, reconstruction=loss
    )
)
