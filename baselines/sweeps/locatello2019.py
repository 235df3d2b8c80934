"""Locatello et al. 2019, "Challenging Common Assumptions in the Unsupervised Learning of Disentangled Representations".

    offaxis train sweep locatello2019 --into runs/locatello2019
    offaxis train sweep locatello2019 --into runs/locatello2019 --only dataset=shapes3d --only seed=0

12,600 runs of 300,000 steps: 6 objectives at 6 strengths on 7 datasets with 50 seeds, as in the configuration
unsupervised_study_v1 of disentanglement_lib. Needs the archives: ``offaxis data prepare``. Only the last state is kept.

Expected: the scores of an objective vary over seeds about as much as they do over objectives and strengths.
"""

from __future__ import annotations

from collections.abc import Mapping

from baselines.config import RunConfig

DATASETS = (
    "dsprites",
    "color_dsprites",
    "noisy_dsprites",
    "scream_dsprites",
    "smallnorb/merged_64_lanczos",
    "cars3d/64_lanczos",
    "shapes3d",
)

OBJECTIVES: list[tuple[str, Mapping[str, float]]] = [
    *(("beta_vae", {"beta": beta}) for beta in (1, 2, 4, 6, 8, 16)),
    *(
        ("annealed_vae", {"c_max": capacity, "gamma": 1_000, "iteration_threshold": 100_000})
        for capacity in (5, 10, 25, 50, 75, 100)
    ),
    *(("factor_vae", {"gamma": gamma}) for gamma in (10, 20, 30, 40, 50, 100)),
    *(("dip_vae_i", {"lambda_od": weight, "lambda_d": 10 * weight}) for weight in (1, 2, 5, 10, 20, 50)),
    *(("dip_vae_ii", {"lambda_od": weight, "lambda_d": weight}) for weight in (1, 2, 5, 10, 20, 50)),
    *(("beta_tc_vae", {"beta": beta}) for beta in (1, 2, 4, 6, 8, 10)),
]

SWEEP = tuple(
    RunConfig(
        dataset=dataset,
        objective=objective,
        hyperparameters=hyperparameters,
        architecture="conv_dlib",
        train_share=1.0,
        seed=seed,
        snapshots=[],
    )
    for dataset in DATASETS
    for objective, hyperparameters in OBJECTIVES
    for seed in range(50)
)
