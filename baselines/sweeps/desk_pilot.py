"""The pilot of the desk tier: which strengths of the papers' grids serve a small convolutional model.

    offaxis-train sweep desk_pilot --into runs/desk_pilot

64 runs on original datasets alone, with seeds 100 and 101, which nothing that is published uses. Strengths are chosen
by MIG, which looks at labels: what `baselines.sweeps.desk` takes from here is chosen with supervision, the same for all
forms of a dataset, and said so wherever its results stand.

On XYSquares the pixels are nearly all black, and a convolution with Bernoulli pixels stays at the empty picture for the
first thousand steps. There the reconstruction is a squared error, as in Michlo et al. 2023, weighed by 128: with β = 4
and 6 latents that is their β of 0.001 (`baselines.nets.reconstruction.beta_from_mean`), so that all objectives keep the
strengths that they have elsewhere.

Expected: a strength for each objective whose models know more than PCA. What came out: benchmarks/desk_pilot.csv.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from baselines.config import RunConfig

SEEDS = (100, 101)

SETTINGS: dict[str, dict[str, Any]] = {
    "sprites2d": {"latents": 5, "learning_rate": 5e-4},
    "room3d": {"latents": 6, "learning_rate": 5e-4},
    "xysquares/spacing_1": {
        "latents": 6,
        "learning_rate": 1e-3,
        "reconstruction": "mse",
        "reconstruction_weight": 128.0,
    },
}
"""Dataset -> the settings that all of its runs share: as many latents as factors."""

OBJECTIVES: tuple[tuple[str, dict[str, Any]], ...] = (
    *(("beta_tc_vae", {"beta": beta}) for beta in (4.0, 8.0)),
    *(("beta_vae", {"beta": beta}) for beta in (4.0, 8.0, 16.0)),
    *(("factor_vae", {"gamma": gamma, "units": 256}) for gamma in (20.0, 35.0)),
    ("annealed_vae", {"gamma": 10.0, "c_max": 25.0, "iteration_threshold": 3_000}),
)
"""The strengths that are compared. FactorVAE's discriminator has a quarter of the paper's units, to be affordable."""


WEIGHTS = (1.0, 8.0, 32.0, 128.0)
"""Weights of the reconstruction that a fully connected model is tried with on XYSquares, at either end of the ladder.
The one that serves must leave something reconstructed where places do not overlap, or a low score says nothing."""


def runs() -> Iterator[RunConfig]:
    """Yield the runs, so that every dataset and strength has one seed before any has two."""
    for seed in SEEDS:
        for objective, hyperparameters in OBJECTIVES:
            for dataset, settings in SETTINGS.items():
                yield RunConfig(
                    dataset=dataset,
                    objective=objective,
                    hyperparameters=hyperparameters,
                    architecture="conv_small",
                    steps=3_000,
                    batch_size=64,
                    seed=seed,
                    snapshots=[1_000, 2_000],
                    **settings,
                )


def fully_connected() -> Iterator[RunConfig]:
    """Yield the runs of a small fully connected model on XYSquares."""
    for seed in SEEDS:
        for weight in WEIGHTS:
            for spacing in (1, 8):
                yield RunConfig(
                    dataset=f"xysquares/spacing_{spacing}",
                    objective="beta_tc_vae",
                    hyperparameters={"beta": 6.0},
                    architecture="fc",
                    architecture_parameters={"width": 64},
                    latents=6,
                    reconstruction="mse",
                    reconstruction_weight=weight,
                    learning_rate=2e-3,
                    steps=3_000,
                    batch_size=64,
                    seed=seed,
                    snapshots=[1_000, 2_000],
                )


SWEEP = (*runs(), *fully_connected())
