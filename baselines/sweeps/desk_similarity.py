"""Layer similarities of Bonheme and Grześ (2022, 2023) at tier desk: their kinds of model on rendered data.

    offaxis train sweep desk_similarity --to runs/desk --jobs 2 --threads 1
    offaxis study run 2205.08399 --tier desk --runs runs/desk

Claims on the similarity of layers need the papers' kinds of architecture: fully connected decoders stay similar where
convolutional ones do not (2205.08399, appendix F). So these are ``conv_small``, the papers' convolutions at half the
width, as the board's desk tier has them, and ``fc`` of 1,200 units where the papers have it. Runs have 1,000 steps of
64 images at a learning rate of 5e-4, with snapshots near the shares of training that the papers show (dSprites' first
is at 7.7%, ours at 2.5%), and five seeds. A run takes one to two minutes of an idle core, so the sweep takes about two
hours on two cores. The papers' own width and budget are in the tier study.

Runs are ordered so that figures are completed one by one: those of figure 3 first.

Expected: the papers' claims, each judged over seeds and compared with its control. docs/findings.md has the results.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from baselines.config import RunConfig
from baselines.sweeps._forms import form

STEPS = 1_000

SEEDS = 5

SNAPSHOTS = (25, 250, 500, 750)
"""Snapshots at 0.025, 0.25, 0.5 and 0.75 of the training, and at its end."""

FIRST = 2
"""One more snapshot of fully connected models: epoch 1 of 410 (2205.08399, figure 12)."""

ANNEALED = {"c_max": 5, "gamma": 1_000, "iteration_threshold": 100_000}

CONV: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("room3d", "beta_tc_vae", {"beta": 2}),
    ("solids", "annealed_vae", ANNEALED),
    *(("dsprites", "beta_vae", {"beta": beta}) for beta in (1, 8)),
    *(("dsprites", "dip_vae_ii", {"lambda_od": weight, "lambda_d": weight}) for weight in (1, 5, 20)),
    *(
        (dataset, objective, strength)
        for dataset in ("room3d", "solids")
        for objective, strength in (("beta_vae", {"beta": 1}), ("dip_vae_ii", {"lambda_od": 1, "lambda_d": 1}))
    ),
    *(("dsprites", "beta_vae", {"beta": beta}) for beta in (2, 4, 6)),
    ("room3d", "beta_vae", {"beta": 8}),
    *((dataset, "classifier", {}) for dataset in ("dsprites", "room3d", "solids")),
    ("xyobject/plain", "beta_vae", {"beta": 1}),  # stand-in for CelebA
    *((dataset, "beta_tc_vae", {"beta": 2}) for dataset in ("dsprites", "solids")),
    *((dataset, "dip_vae_ii", {"lambda_od": 5, "lambda_d": 5}) for dataset in ("room3d", "solids")),
    *((dataset, "annealed_vae", ANNEALED) for dataset in ("dsprites", "room3d")),
    ("dsprites", "beta_vae", {"beta": 256}),  # collapses (64, tried with another seed, did not)
)
"""Dataset, objective and strength of the convolutional models with 10 latents."""

FC: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("solids", "annealed_vae", ANNEALED),
    *(("dsprites", "beta_vae", {"beta": beta}) for beta in (1, 8, 16)),
    *((dataset, "beta_vae", {"beta": 1}) for dataset in ("room3d", "solids")),
    *((dataset, "dip_vae_ii", {"lambda_od": 1, "lambda_d": 1}) for dataset in ("dsprites", "room3d", "solids")),
)
"""The same for the fully connected ones."""


def desk_form(published: RunConfig, dataset: str) -> RunConfig:
    """Return a paper's run at desk tier, with the same objective, strength, latents and seed.

    Args:
        published: the paper's run.
        dataset: the stand-in for its dataset.

    Returns:
        The config, with convolutions of half the width. An annealing keeps its share of the training.
    """
    return form(
        published,
        dataset=dataset,
        split="",
        architecture="conv_small" if published.architecture == "conv" else published.architecture,
        architecture_parameters={} if published.architecture == "conv" else published.architecture_parameters,
        steps=STEPS,
        learning_rate=5e-4,
        snapshots=(FIRST, *SNAPSHOTS) if published.architecture == "fc" else SNAPSHOTS,
    )


def runs() -> Iterator[RunConfig]:
    """Yield the runs, model by model."""
    models = [
        *((*model, "conv", 10) for model in CONV),
        ("dsprites", "beta_vae", {"beta": 1}, "conv", 20),
        *((*model, "fc", 10) for model in FC),
        ("dsprites", "beta_vae", {"beta": 1}, "transformer", 10),
    ]
    for dataset, objective, hyperparameters, architecture, latents in models:
        for seed in range(SEEDS):
            published = RunConfig(
                dataset=dataset,
                objective=objective,
                hyperparameters=hyperparameters,
                architecture=architecture,
                latents=latents,
                seed=seed,
            )
            yield desk_form(published, dataset)


SWEEP = tuple(runs())
