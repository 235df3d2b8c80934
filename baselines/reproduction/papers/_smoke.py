"""What the smoke tier puts in the place of the papers' datasets, models and budgets.

Datasets are rendered stand-ins, nothing is downloaded. Models are those of `baselines.sweeps.board`, fully connected
and 128 wide, 2,500 steps of 16 images, two seeds instead of five or ten; where an entry asks for no more than the board
has, its runs are the board's own (`board`). So a figure's *direction* may be seen, and no number of a paper.
Nothing rendered has faces: xyobject, whose place, size and colour vary, stands in for CelebA.
``offaxis study list`` adds up the hours of all that can be run.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Container
from typing import Any

from baselines import presets
from baselines.config import RunConfig
from baselines.reproduction.entries import Transfer
from baselines.sweeps import desk_similarity
from baselines.sweeps.board import BATCH_SIZE, STEPS, SWEEP
from baselines.sweeps.desk import family

STAND_INS = {
    "dsprites": "sprites2d",
    "shapes3d": "room3d",
    "cars3d": "room3d",
    "smallnorb": "solids",
    "symsol_reduced": "solids",
    "celeba": "xyobject/plain",
}
"""Family of a published dataset -> the dataset that stands in for it."""

SEEDS = 2

KEPT = (0.025, 0.25, 0.5, 0.75)
"""The snapshots that are kept beside the last, as shares of the training."""

RETRAINED = 1_000
"""The steps of a transfer, of which a part is trained only."""

SECONDS = {"room3d": 0.011, "solids": 0.011, "sprites2d": 0.0055, "xysquares": 0.0085, "xyobject": 0.0085}
"""Seconds for a step of 16 images by family, on two cores that train two runs at a time: half of what one run takes."""


def stand_in(dataset: str) -> str:
    """Return the rendered dataset that stands in for a published one.

    Example:
        >>> stand_in("cars3d/64_lanczos"), stand_in("shapes3d_noisy/eps10"), stand_in("xysquares/spacing_8")
        ('room3d', 'room3d_noisy/eps10', 'xysquares/spacing_8')
    """
    name, _, config = dataset.partition("/")
    if name in STAND_INS:
        return STAND_INS[name]
    base, _, change = name.partition("_")
    if base not in STAND_INS:
        return dataset
    return f"{STAND_INS[base]}_{change}/{config}"


def run(config: RunConfig, **changes: Any) -> RunConfig:
    """Return the small form of a study's run; objective, strength, latents and seed stay.

    Args:
        config: the study's.
        **changes: keys that differ from the plan above.

    Returns:
        The config, with an annealing that is as long a part of the training as before.
    """
    dataset = stand_in(config.dataset)
    steps = changes.get("steps", STEPS)
    own: dict[str, Any] = {
        "dataset": dataset,
        "split": "",
        "hyperparameters": desk_similarity.annealed(config, steps),
        "batch_size": BATCH_SIZE,
        "steps": steps,
        "snapshots": tuple(round(share * steps) for share in KEPT),
    }
    return dataclasses.replace(config, **own | presets.SETTINGS | changes)


def transfer(full: Transfer) -> Transfer:
    """Return the small form of a study's transfer, of `RETRAINED` steps."""
    return dataclasses.replace(
        full,
        source=run(full.source),
        dataset=stand_in(full.dataset),
        changes={"steps": RETRAINED, "snapshots": ()},
    )


def board(datasets: Container[str], objectives: Container[str]) -> tuple[RunConfig, ...]:
    """Return the board's own runs of some datasets and objectives.

    Args:
        datasets: the datasets.
        objectives: the objectives.

    Returns:
        The configs of `SEEDS` seeds, in the order of the sweep.

    Example:
        >>> [(run.objective, run.seed) for run in board({"room3d"}, {"ae"})]
        [('ae', 0), ('ae', 1)]
    """
    return tuple(run for run in SWEEP if run.seed < SEEDS and run.dataset in datasets and run.objective in objectives)


def training(*datasets: str) -> dict[str, float]:
    """Return the seconds of a step by dataset, for `baselines.reproduction.entries.Plan`."""
    return {dataset: SECONDS[family(dataset)] for dataset in datasets}
