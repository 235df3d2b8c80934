"""What does the number of latents do to MIG? β-TCVAE on sprites2d with 3, 10 and 20 latents, beside the desk's 5.

    offaxis train sweep desk_latents --only latents=3 --into runs/desk_latents/3 --jobs 2 --threads 1
    find runs/desk_latents/3 -name codes.npz -printf '%h ' |
        xargs offaxis board evaluate --new --reproduced --tier desk --into leaderboard/published/latents/3

and the same with 10 and 20.

15 runs with the settings of `baselines.sweeps.desk` on sprites2d, of which nothing but the number of latents and the
seed is changed: a run takes about a minute of a core. Runs with other numbers of latents are other methods, so each
number has a results tree of its own; those with 5 are on the board. The documentation draws the figure from all four.

Expected: with fewer latents than factors MIG is bounded by the factors that no latent is left for. With more, latents
that are not in use do not count, so that MIG falls only where a factor spreads over two of those that are.
"""

from __future__ import annotations

from baselines.sweeps import desk

LATENTS = (3, 10, 20)

SWEEP = tuple(desk.run("sprites2d", "beta_tc_vae", seed, latents=latents) for latents in LATENTS for seed in range(5))
