"""What the smoke tier puts in the place of the papers' datasets, models and budgets.

Datasets are rendered stand-ins, nothing is downloaded. Models are those of `baselines.demo`, fully connected and 128
wide, which learn in a minute on a laptop; two seeds instead of five or ten. So a figure's *direction* may be seen, and
no number of a paper. 108 runs in all: 40 for Bonheme and Grzes, both papers, 24 for Michlo and 44 for Zietlow et
al. ``offaxis-study list`` adds up the hours of all that can be run: under 3 on 2 cores, at rates measured under load.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from baselines.config import RunConfig

STAND_INS = {
    "dsprites": "sprites2d",
    "shapes3d": "room3d",
    "cars3d": "room3d",
    "smallnorb": "solids",
    "symsol": "solids",
}
"""Family of a published dataset -> the family that stands in for it."""

STEPS = {"room3d": 600, "solids": 1_000}
"""Steps of a run by family: fewer where images take longer to render than to train on. Others take `USUAL`."""

USUAL = 2_000

SEEDS = 2

KEPT = (0.025, 0.25, 0.5, 0.75)
"""The snapshots that are kept beside the last, as shares of the training."""

SECONDS = {"room3d": 0.116, "solids": 0.056, "sprites2d": 0.037, "xysquares": 0.037}
"""Seconds for a step of 64 images by family, measured on two cores that other work shared at a load of 8 to 12."""


def family(dataset: str) -> str:
    """Give the dataset's family without what is done to it.

    Example:
        >>> family("room3d_perturbed/vae_eps10"), family("xysquares/spacing_1")
        ('room3d', 'xysquares')
    """
    return dataset.partition("/")[0].partition("_")[0]


def stand_in(dataset: str) -> str:
    """Give the rendered dataset that stands in for a published one.

    Example:
        >>> stand_in("cars3d/64_lanczos"), stand_in("shapes3d_noisy/eps10"), stand_in("xysquares/spacing_8")
        ('room3d', 'room3d_noisy/eps10', 'xysquares/spacing_8')
    """
    name, _, config = dataset.partition("/")
    base, _, change = name.partition("_")
    if base not in STAND_INS:
        return dataset
    return f"{STAND_INS[base]}_{change}/{config}" if change else STAND_INS[base]


def run(config: RunConfig, **changes: Any) -> RunConfig:
    """Give the small form of a study's run; objective, strength, latents and seed stay.

    Args:
        config: the study's.
        **changes: keys that differ from the plan above.

    Returns:
        The config, with an annealing that is as long a part of the training as before.
    """
    dataset = stand_in(config.dataset)
    steps = STEPS.get(family(dataset), USUAL)
    hyperparameters = dict(config.hyperparameters)
    if "iteration_threshold" in hyperparameters:
        hyperparameters["iteration_threshold"] = math.ceil(
            hyperparameters["iteration_threshold"] * steps / config.steps
        )
    own: dict[str, Any] = {
        "dataset": dataset,
        "split": "",
        "hyperparameters": hyperparameters,
        "architecture": "fc",
        "architecture_parameters": {"width": 128},
        "batch_size": 64,
        "learning_rate": 2e-3,
        "beta_2": 0.99,
        "steps": steps,
        "snapshots": tuple(round(share * steps) for share in KEPT),
    } | changes
    return dataclasses.replace(config, **own)


def training(*datasets: str) -> dict[str, float]:
    """Give the seconds of a step by dataset, for `baselines.study.Plan`."""
    return {dataset: SECONDS[family(dataset)] for dataset in datasets}
