"""Does MIG fall when the hidden variable is a latent of a VAE, as in Zietlow et al. 2021? At the desk's settings.

    offaxis train sweep desk_conv32 --into runs/desk_conv32 --jobs 2 --threads 1
    find runs/desk_conv32 -name codes.npz -printf '%h ' |
        xargs offaxis board evaluate --new --reproduced --tier desk --into leaderboard/published

55 runs on data whose pattern moves with a latent (``conv32``) in place of a principal component of the pixels
(``pca32``, in `baselines.sweeps.desk`, which has the original, squeezed and noisy forms, too): the desk's nine
objectives on sprites2d, five seeds each, and on room3d the one VAE above the floor there, β-TCVAE, with the paper's ten
seeds. A run takes one to four minutes of a core. docs/datasets.md says how the latents were made. The wheel lacks them;
a checkout has them.

Expected: MIG falls from original, and from squeezed images, which have as little contrast and no pattern.
"""

from __future__ import annotations

from baselines.sweeps import desk

SWEEP = (
    *(
        desk.run("sprites2d_perturbed/conv32_eps10", objective, seed)
        for objective in desk.OBJECTIVES
        for seed in range(5)
    ),
    *(desk.run("room3d_perturbed/conv32_eps10", "beta_tc_vae", seed) for seed in range(10)),
)
