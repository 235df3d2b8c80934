"""Do models fall where a grid is made adversarial on purpose, as they do on XYSquares? The desk's settings on both.

    offaxis train sweep desk_adversarial --into runs/desk_adversarial --jobs 2 --threads 1
    find runs/desk_adversarial -name codes.npz -printf '%h ' |
        xargs offaxis board evaluate --new --reproduced --tier desk --into leaderboard/published

60 runs: β-VAE and β-TCVAE, five seeds each, on `benchmark_data.datasets.sprites2d_spaced` at its four spacings, and on
room3d beside room3d_equal. Settings are those of `baselines.sweeps.desk` on sprites2d and on room3d, of which nothing
is changed. A run takes about a minute of a core, of rooms three.

Expected: MIG falls from the spacing at which distances are linear in the move (2) to that at which every move costs the
same (16), as it does on XYSquares; and from room3d to room3d_equal.
"""

from __future__ import annotations

from baselines.sweeps import desk

DATASETS = (*(f"sprites2d_spaced/spacing_{spacing}" for spacing in (2, 16, 4, 8)), "room3d", "room3d_equal")

SWEEP = tuple(
    desk.run(dataset, objective, seed)
    for dataset in DATASETS
    for objective in ("beta_tc_vae", "beta_vae")
    for seed in range(5)
)
