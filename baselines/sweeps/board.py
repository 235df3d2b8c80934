"""A small board without downloads: nine objectives on thirteen rendered datasets with five seeds.

    offaxis train sweep board --into runs/board
    find runs/board -name codes.npz -printf '%h ' | xargs offaxis board score --into results

575 runs of a small fully connected model, 2,500 steps of 16 images: enough to see datasets differ, not to rank
objectives. They are no settings of the papers. One seed: ``--only seed=0``. Fewer steps do not do: after 1,000, even of
64 images, the MIG of two seeds of the beta-VAE was the same at spacing 1 and at spacing 8 (a difference of 0.002).
Smaller batches cost little: after 2,500 steps MIG at spacing 1 is 0.24 and 0.15 with 16 images, 0.20 and 0.12 with 32.

Expected: the better scores of each objective on XYSquares at spacing 1 rather than 8, where places overlap (Michlo et
al. 2023, figure 9), and on sprites2d rather than its perturbed form, with its noisy form between them (Zietlow et al.
2021, tables 1 and 2).
"""

from __future__ import annotations

from baselines import presets
from baselines.config import RunConfig

DATASETS = (
    *(f"xysquares/spacing_{spacing}" for spacing in (1, 2, 4, 8)),
    *(f"{base}{form}" for base in ("sprites2d", "room3d") for form in ("", "_noisy/eps10")),
    *(f"{base}_perturbed/{hidden}_eps10" for base in ("sprites2d", "room3d") for hidden in ("pca", "vae")),
    "solids",
)
"""The tasks of the board, and what transfers from and to sprites2d. Solids have one factor, too few for pairs."""

STEPS = 2_500

BATCH_SIZE = 16

OBJECTIVES: dict[str, dict[str, float]] = {
    "ae": {},
    "beta_vae": {"beta": presets.BETA},
    "beta_tc_vae": {"beta": 2.0},
    "factor_vae": {"gamma": 10.0, "units": 128},
    "dip_vae_i": {},
    "dip_vae_ii": {},
    "annealed_vae": {"gamma": 10.0, "c_max": 25.0, "iteration_threshold": STEPS},
    "ada_gvae": {},
    "ada_ml_vae": {},
}

PAIRS = ("ada_gvae", "ada_ml_vae")

SWEEP = tuple(
    RunConfig(
        dataset=dataset,
        objective=objective,
        hyperparameters=hyperparameters,
        batch_size=BATCH_SIZE,
        steps=STEPS,
        seed=seed,
        snapshots=[],
        **presets.SETTINGS,
    )
    for seed in range(5)
    for objective, hyperparameters in OBJECTIVES.items()
    for dataset in DATASETS
    if not (dataset == "solids" and objective in PAIRS)
)
