"""One change of the desk's settings in each part: the grid, the hidden variable, the latents or the precision.

    offaxis train sweep desk_controls --only precision=bfloat16 --to runs/precision/bfloat16 --jobs 2 --threads 1
    find runs/precision/bfloat16 -name codes.npz -printf '%h ' |
        xargs offaxis board score --new --reproduced --tier desk --to leaderboard/published/precision/bfloat16

115 runs with the settings of `baselines.sweeps.desk`, of which each part changes one. ``--only`` selects a part; a run
takes one to four minutes of a core. Runs with other numbers of latents, or in bfloat16, are other methods, so each of
``latents=3``, ``10`` and ``20`` and bfloat16 has its own results tree (``leaderboard/published/latents/3`` ...). The
others belong on the board.

- ``ADVERSARIAL``: β-VAE and β-TCVAE, five seeds, on dsprites_spaced at four spacings and on room3d and room3d_equal.
- ``CONV32``: the pattern follows a latent of a VAE (``conv32``), as in Zietlow et al. 2021, in place of a principal
  component of the pixels: the paper's four objectives on dSprites, five seeds, and β-TCVAE on room3d, ten seeds.
  docs/datasets.md describes how the latents were made.
- ``LATENTS``: β-TCVAE on dSprites with 3, 10 and 20 latents; the desk has 5.
- ``PRECISION``: β-TCVAE on dSprites in bfloat16. Its ten seeds have the same initial weights, rows and noise as the
  board's float32 runs, so that seeds are paired.

Expected: MIG decreases from the spacing at which distances are linear in the move (2) to that at which all moves change
the distance equally (16), from room3d to room3d_equal, and from original and contrast-matched images to those with the
pattern. With fewer latents than factors MIG is bounded, since some factors have no latent; with more, unused latents do
not count. bfloat16 makes no difference: weights, losses, KL and Adam have 24 bits of mantissa.
"""

from baselines.sweeps import desk

SPACED = tuple(f"dsprites_spaced/spacing_{spacing}" for spacing in (2, 16, 4, 8))

ADVERSARIAL = tuple(
    desk.run(dataset, objective, seed)
    for dataset in (*SPACED, "room3d", "room3d_equal")
    for objective in ("beta_tc_vae", "beta_vae")
    for seed in range(5)
)

ZIETLOW = ("beta_tc_vae", "beta_vae", "ae", "factor_vae")
"""The objectives of Zietlow et al. 2021, tables 1 and 2."""

CONV32 = (
    *(desk.run("dsprites_perturbed/conv32_eps10", name, seed) for name in ZIETLOW for seed in range(5)),
    *(desk.run("room3d_perturbed/conv32_eps10", "beta_tc_vae", seed) for seed in range(10)),
)

LATENTS = tuple(desk.run("dsprites", "beta_tc_vae", seed, latents=n) for n in (3, 10, 20) for seed in range(5))

PRECISION = tuple(desk.run("dsprites", "beta_tc_vae", seed, precision="bfloat16") for seed in range(10))

SWEEP = (*ADVERSARIAL, *CONV32, *LATENTS, *PRECISION)
