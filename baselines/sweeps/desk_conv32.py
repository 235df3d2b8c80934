"""Does MIG fall when the hidden variable is a latent of a VAE, as in Zietlow et al. 2021? The desk's settings on rooms.

    offaxis-train sweep desk_conv32 --into runs/desk_conv32 --jobs 2 --threads 1
    find runs/desk_conv32 -name codes.npz -printf '%h ' |
        xargs offaxis-board evaluate --new --reproduced --tier desk --into leaderboard/published

5 runs: β-TCVAE, the one VAE above the floor on rooms, five seeds, on room3d whose pattern moves with a latent
(``conv32``) in place of a principal component of the pixels (``pca32``, in `baselines.sweeps.desk`, which has original,
squeezed and noisy rooms, too). A run takes about three minutes of a core. docs/datasets.md says where the latent is.

Expected: MIG falls from original, and from squeezed rooms, which have as little contrast and no pattern.
"""

from __future__ import annotations

from baselines.sweeps import desk

SWEEP = tuple(desk.run("room3d_perturbed/conv32_eps10", "beta_tc_vae", seed) for seed in range(5))
