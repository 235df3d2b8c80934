"""Bonheme and Grześ, "How do Variational Autoencoders Learn?" (2022, arXiv 2205.08399), appendix C, tables 1 to 5.

    offaxis train sweep bonheme2022 --to runs/bonheme2022

420 runs of 300,000 steps: 4 objectives at 5 strengths on 3 datasets with 5 seeds, convolutional (tables 1 to 3), and 8
settings of them fully connected (tables 4 and 5; ``--only architecture=fc``). The first 300 took the authors about
6,000 hours of an A100. Needs dSprites, Cars3D and SmallNORB: ``offaxis data prepare``.

Expected, from `leaderboard.analyses`: CKA of the encoder's layers before the heads stays near 1 between strengths and
between objectives, and is near its final value early in training (figures 3, 4 and 7); that of mean and sampled codes
on dSprites decreases as beta increases, as more latents become passive (figure 5). The same trends for fully connected
models (appendix F, figures 12 to 14).

The paper's results are figures only; the authors' scores are at https://data.kent.ac.uk/444/.
"""

from __future__ import annotations

from collections.abc import Mapping

from baselines.config import RunConfig

SNAPSHOTS = {"cars3d/64_lanczos": 6_000, "dsprites": 11_520, "smallnorb/merged_64_lanczos": 1_000}
"""Dataset -> steps between two snapshots (appendix C, text)."""

OBJECTIVES: dict[str, list[tuple[str, Mapping[str, float]]]] = {
    "conv": [
        *(("beta_vae", {"beta": beta}) for beta in (1, 2, 4, 6, 8)),
        *(("beta_tc_vae", {"beta": beta}) for beta in (1, 2, 4, 6, 8)),
        *(("dip_vae_ii", {"lambda_od": weight, "lambda_d": weight}) for weight in (1, 2, 5, 10, 20)),
        *(
            ("annealed_vae", {"c_max": capacity, "gamma": 1_000, "iteration_threshold": 100_000})
            for capacity in (5, 10, 25, 50, 75)
        ),
    ],
    "fc": [
        *(("beta_vae", {"beta": beta}) for beta in (1, 8, 16)),
        ("beta_tc_vae", {"beta": 2}),
        *(("dip_vae_ii", {"lambda_od": weight, "lambda_d": weight}) for weight in (1, 20, 50)),
        ("annealed_vae", {"c_max": 5, "gamma": 1_000, "iteration_threshold": 100_000}),
    ],
}
"""Architecture -> objectives and strengths: tables 2 and 5."""

SWEEP = tuple(
    RunConfig(
        dataset=dataset,
        objective=objective,
        hyperparameters=hyperparameters,
        architecture=architecture,
        seed=seed,
        snapshots=interval,
    )
    for architecture, settings in OBJECTIVES.items()
    for dataset, interval in SNAPSHOTS.items()
    for objective, hyperparameters in settings
    for seed in range(5)
)
