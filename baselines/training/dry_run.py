"""What a run would take, before it is trained: time on this machine, measured by a few steps, and disk."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import benchmark_data
from baselines import engines
from baselines.config import RunConfig
from baselines.model import Model
from baselines.run import task_rows
from baselines.run_folder import Snapshots
from baselines.training import finetune
from baselines.training.batches import batches, training_rows
from baselines.training.claims import holds
from benchmark_data.dataset import Dataset
from benchmark_data.errors import InvalidInput
from benchmark_data.variants import splitting

WARM = 5
"""Steps that are not measured: the first ones compile."""

MEASURED = 2.0
"""Seconds of steps that are measured, at least."""


class Estimate(NamedTuple):
    """What a run would take.

    Attributes:
        left: steps that are left to take.
        seconds: how long those would take.
        rate: images per second that were measured.
        measured: over how many steps.
        parameters: numbers that are trained.
        images: images that it is trained on.
        snapshots: how many are kept.
        snapshot_bytes: what each takes on disk.
        bytes: what the folder holds in the end, nearly: snapshots, history and codes.
    """

    left: int
    seconds: float
    rate: float
    measured: int
    parameters: int
    images: int
    snapshots: int
    snapshot_bytes: int
    bytes: int


def estimate(config: RunConfig, folder: Path, *, encode: bool = True, dataset: Dataset | None = None) -> Estimate:
    """Measure a few steps of a run, without writing anything.

    Args:
        config: the run.
        folder: its folder, which may hold a part of it.
        encode: count its codes.
        dataset: the user's own images, where ``benchmark_data.load`` does not know the config's dataset.

    Returns:
        What is left of it would take.

    Raises:
        UnknownName: there is no such dataset, or no layer to reset or freeze.
        DamagedFile: there is no run to start from.
        InvalidInput: it is not finished, or is of another shape; or the folder holds another run.
        MissingExtra: Keras or its backend is not installed.
    """
    dataset = benchmark_data.load(config.dataset) if dataset is None else splitting.of(dataset, config.dataset)
    dataset.prepare()
    config = finetune.resolved(config, folder, dataset)
    left = _left(config, folder)
    model = Model(config, dataset.image_shape, dataset.space.sizes, precision=config.precision)
    engine = engines.start(model)
    long = config.with_steps(max(config.steps, 1_000_000))
    with batches([long], dataset, [0]) as feed:
        for _ in range(WARM):
            scalars = _waited(engine.step(*next(feed)))
        count, start = 0, time.perf_counter()
        while time.perf_counter() - start < MEASURED:
            for _ in range(WARM):
                last = engine.step(*next(feed))
            _waited(last)
            count += WARM
        each = (time.perf_counter() - start) / count
    kept = sum(config.keeps(step) for step in range(config.steps + 1))
    state = sum(array.nbytes for part in engine.state() for array in part.values())
    codes = _rows(dataset) * (8 + 4 * model.code_size) if encode else 0
    free = (v for v, held in zip(model.variables(), model.frozen(), strict=True) if not held)
    trained = sum(math.prod(v.shape) for v in free)
    line = len(json.dumps({"step": config.steps, **scalars})) + 1
    return Estimate(
        left=left,
        seconds=left * each,
        rate=config.batch_size * model.objective.n_views / each,
        measured=count,
        parameters=trained,
        images=len(training_rows(dataset, config.train_share, config.split)),
        snapshots=kept,
        snapshot_bytes=state,
        bytes=kept * state + codes + line * (config.steps // config.history_every),
    )


def _left(config: RunConfig, folder: Path) -> int:
    """Return how many steps are left of a run; refuse the folder of another one, as training does."""
    holds(folder, config)
    return config.steps - (Snapshots(folder).last or 0)


def _waited(scalars: dict[str, Any]) -> dict[str, float]:
    """Wait for a step to be over."""
    return {name: float(np.asarray(value)[0]) for name, value in scalars.items()}


def _rows(dataset: Dataset) -> int:
    try:
        return len(task_rows(dataset))
    except InvalidInput:
        return 0


def kind(config: RunConfig) -> str:
    """Describe what decides how long a step takes: runs of one kind take the same."""
    values = config.as_json()
    names = (
        *("objective", "architecture", "architecture_parameters", "latents", "reconstruction", "batch_size"),
        *("precision", "frozen", "steps", "snapshots", "history_every"),  # the last three decide what is on disk
    )
    dataset = benchmark_data.load(config.dataset)
    data = [dataset.image_shape, dataset.space.sizes, _rows(dataset)]  # the last two decide what codes take
    sizes = {name: value for name, value in config.hyperparameters.items() if not isinstance(value, float)}
    return json.dumps([data, sizes, *(values[name] for name in names)], sort_keys=True)


def of_sweep(configs: Sequence[RunConfig], folders: Sequence[Path], *, encode: bool = True) -> list[Estimate]:
    """Estimate many runs; of each kind, one is measured.

    Args:
        configs: the runs.
        folders: their folders.
        encode: count their codes.

    Returns:
        An estimate for each.

    Raises:
        UnknownName: there is no such dataset.
        InvalidInput: a folder holds another run.
        MissingExtra: Keras or its backend is not installed.
    """
    measured: dict[str, Estimate] = {}
    found = []
    for config, folder in zip(configs, folders, strict=True):
        left = _left(finetune.resolved(config, folder, benchmark_data.load(config.dataset)), folder)
        key = kind(config)
        if key not in measured:
            measured[key] = estimate(config, folder, encode=encode)
        one = measured[key]
        images = left * config.batch_size * config.build_objective().n_views
        found.append(one._replace(left=left, seconds=images / one.rate))
    return found


def duration(seconds: float) -> str:
    """Write a duration for people.

    Example:
        >>> duration(41), duration(1200), duration(50_000)
        ('41 seconds', '20 minutes', '13.9 hours')
    """
    if seconds < 120:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:,.1f} hours"


def size(count: int) -> str:
    """Write a number of bytes for people.

    Example:
        >>> size(940), size(2_300_000), size(41_000_000_000)
        ('0.9 kB', '2.3 MB', '41.0 GB')
    """
    for unit, name in ((1e9, "GB"), (1e6, "MB")):
        if count >= unit:
            return f"{count / unit:,.1f} {name}"
    return f"{count / 1e3:.1f} kB"
