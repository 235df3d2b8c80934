"""Bonheme and Grzes, "How do Variational Autoencoders Learn?" (2022, arXiv 2205.08399), appendix C, tables 4 and 5.

    offaxis train sweep bonheme2022_fc --into runs/bonheme2022_fc

120 runs of 300,000 steps: the fully connected architecture at 8 settings on 3 datasets with 5 seeds. Needs dSprites,
Cars3D and SmallNORB: ``offaxis data prepare``.

Expected, from `offaxis board analyse`: the trends of `bonheme2022` again (appendix F, figures 12 to 14).
"""

from __future__ import annotations

from collections.abc import Mapping

from baselines.config import RunConfig
from baselines.sweeps.bonheme2022 import SNAPSHOTS

OBJECTIVES: list[tuple[str, Mapping[str, float]]] = [
    *(("beta_vae", {"beta": beta}) for beta in (1, 8, 16)),
    ("beta_tc_vae", {"beta": 2}),
    *(("dip_vae_ii", {"lambda_od": weight, "lambda_d": weight}) for weight in (1, 20, 50)),
    ("annealed_vae", {"c_max": 5, "gamma": 1_000, "iteration_threshold": 100_000}),
]
"""Table 5."""

SWEEP = tuple(
    RunConfig(
        dataset=dataset,
        objective=objective,
        hyperparameters=hyperparameters,
        architecture="fc",
        seed=seed,
        snapshots=every,
    )
    for dataset, every in SNAPSHOTS.items()
    for objective, hyperparameters in OBJECTIVES
    for seed in range(5)
)
