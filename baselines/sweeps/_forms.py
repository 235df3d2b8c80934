"""A published run at another budget: keys that are not explicitly changed stay as published.

A strength is meaningful only with its loss, reduction and weight. So none of these can be changed here, and none can be
lost: a form is made by replacing keys of `CHANGED` in the published config, never by writing a new config.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from baselines.config import RunConfig
from benchmark_data.errors import InvalidInput

CHANGED = (
    *("dataset", "split", "train_share", "seed", "selection"),
    *("architecture", "architecture_parameters", "latents"),
    *("steps", "batch_size", "learning_rate", "beta_2", "snapshots"),
)
"""The keys of a config that a smaller form of a published run may change."""

TERMS = ("symmetric",)
"""Hyperparameters that a form may change."""


def form(published: RunConfig, **changes: Any) -> RunConfig:
    """Return a published run with some keys changed and all others kept.

    Args:
        published: the paper's run.
        **changes: keys of `CHANGED`, or hyperparameters of `TERMS`.

    Returns:
        The config. An annealing keeps its share of the training.

    Raises:
        InvalidInput: another key is changed.

    Example:
        >>> paper = RunConfig(dataset="dsprites", objective="beta_vae", hyperparameters={"beta": 4}, reduction="mean")
        >>> small = form(paper, dataset="dsprites", steps=100)
        >>> small.hyperparameters, small.reduction, small.steps
        ({'beta': 4.0}, 'mean', 100)
    """
    allowed = (*CHANGED, *TERMS)
    if refused := sorted(changes.keys() - set(allowed)):
        raise InvalidInput(f"form of a published run: expected changes of {', '.join(allowed)}, received {refused[0]}.")
    parameters = dict(published.hyperparameters) | {key: changes.pop(key) for key in TERMS if key in changes}
    if "iteration_threshold" in parameters:
        steps = changes.get("steps", published.steps)
        parameters["iteration_threshold"] = math.ceil(parameters["iteration_threshold"] * steps / published.steps)
    return dataclasses.replace(published, hyperparameters=parameters, **changes)
