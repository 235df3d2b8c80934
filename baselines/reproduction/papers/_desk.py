"""What the desk tier puts in the place of the papers' datasets, models and budgets.

Datasets are the rendered stand-ins of `baselines.reproduction.papers._smoke`. Where an entry needs no more than the
board has, its runs are those of the sweeps ``desk`` and ``desk_conv32`` (`board`). Others are small fully connected
models of 128 units, 3,000 steps of 64 images and five seeds (`run`); what compares layers takes the papers' kinds of
architecture, at 1,000 steps (`similarity`, the sweep ``desk_similarity``), and so does what retrains some of them
(`transfer`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Container, Iterable
from typing import Any

from baselines.config import RunConfig
from baselines.reproduction.entries import Transfer
from baselines.reproduction.papers import _smoke
from baselines.sweeps import desk, desk_conv32, desk_similarity

SEEDS = 5

LATENTS = {"sprites2d": 5, "room3d": 6, "xysquares": 6}
"""As many as factors that vary."""

SETTINGS: dict[str, Any] = {
    "architecture": "fc",
    "architecture_parameters": {"width": 128},
    "learning_rate": 1e-3,
    "steps": 3_000,
    "batch_size": 64,
}
"""Of runs that are not the board's."""

SECONDS = {"sprites2d": 0.008, "room3d": 0.02, "xysquares": 0.008, "solids": 0.008, "xyobject": 0.008}
"""Seconds for a step of 64 images by family, half of what a run takes on a core of its own."""


def board(datasets: Container[str], objectives: Container[str]) -> tuple[RunConfig, ...]:
    """Return the board's own runs of some datasets and objectives, in the order of the sweeps desk and desk_conv32.

    Example:
        >>> [(run.objective, run.seed) for run in board({"sprites2d"}, {"ae"})][:2]
        [('ae', 0), ('ae', 1)]
    """
    return tuple(
        run for run in (*desk.SWEEP, *desk_conv32.SWEEP) if run.dataset in datasets and run.objective in objectives
    )


def run(dataset: str, objective: str, *, seed: int, **changes: Any) -> RunConfig:
    """Return a small fully connected model that the board does not have.

    Args:
        dataset: a rendered dataset.
        objective: an objective.
        seed: the seed.
        **changes: other keys of the config.

    Example:
        >>> run("sprites2d", "ae", seed=3).latents
        5
    """
    own: dict[str, Any] = {"latents": LATENTS[desk.family(dataset)], "snapshots": ()} | SETTINGS
    return RunConfig(dataset=dataset, objective=objective, seed=seed, **own | changes)


def similarity(published: RunConfig) -> RunConfig:
    """Return the desk's form of a run whose layers are compared, on the dataset that stands in for its own."""
    return desk_similarity.of(published, _smoke.stand_in(published.dataset))


def transfer(full: Transfer) -> Transfer:
    """Return the desk's form of a transfer: with as many steps as its source, and no snapshot but the last.

    Args:
        full: the study's.
    """
    return dataclasses.replace(
        full,
        source=similarity(full.source),
        dataset=_smoke.stand_in(full.dataset),
        changes={"steps": desk_similarity.STEPS, "snapshots": ()},
    )


def training(runs: Iterable[RunConfig]) -> dict[str, float]:
    """Return the seconds of a step by dataset, for `baselines.reproduction.entries.Plan`."""
    return {run.dataset: SECONDS[desk.family(run.dataset)] for run in runs}
