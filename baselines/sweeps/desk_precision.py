"""Does bfloat16 cost scores? β-TCVAE on sprites2d in both precisions, ten seeds each.

    offaxis train sweep desk_precision --only precision=bfloat16 --into runs/precision/bfloat16 --jobs 2 --threads 1
    find runs/precision/bfloat16 -name codes.npz -printf '%h ' |
        xargs offaxis board evaluate --new --reproduced --tier desk --into leaderboard/published/precision/bfloat16

and the same with float32; ``python benchmarks/precision.py`` compares them.

20 runs with the settings of `baselines.sweeps.desk` on sprites2d, of which nothing but precision and seed is changed: a
run takes about a minute of a core that has AVX512_BF16, and several of one that has not. Both precisions begin with
the same weights and see the same rows and noise, so that seeds are paired. Each has a results tree of its own.

Expected: no difference. Activations and products have 8 bits of mantissa, but weights, losses, KL and Adam have 24.
"""

from __future__ import annotations

from baselines.sweeps import desk

SWEEP = tuple(
    desk.run("sprites2d", "beta_tc_vae", seed, precision=precision)
    for precision in ("float32", "bfloat16")
    for seed in range(10)
)
