"""What a run would take, before it is trained: time on this machine, measured by a few steps, and disk. Internal."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import benchmark_data
from baselines import engines
from baselines.config import RunConfig
from baselines.engines.engine import Engine
from baselines.model import Model
from baselines.nets import backend
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
    """
    dataset = benchmark_data.load(config.dataset) if dataset is None else splitting.of(dataset, config.dataset)
    dataset.prepare()
    config = finetune.resolved(config, folder, dataset)
    holds(folder, config)
    left = config.steps - (Snapshots(folder).last or 0)
    model = Model(config, dataset.image_shape, dataset.space.sizes, precision=config.precision)
    engine = engines.start(model)
    seconds, measured, scalars = _measured(engine, config, dataset)
    kept = sum(config.keeps(step) for step in range(config.steps + 1))
    state = sum(array.nbytes for part in engine.state() for array in part.values())
    codes = _rows(dataset) * (8 + 4 * model.code_size) if encode else 0
    trained = (v for v, held in zip(model.variables(), model.frozen(), strict=True) if not held)
    line = len(json.dumps({"step": config.steps, **scalars})) + 1
    return Estimate(
        left=left,
        seconds=left * seconds,
        rate=config.batch_size * model.objective.n_views / seconds,
        measured=measured,
        parameters=sum(math.prod(v.shape) for v in trained),
        images=len(training_rows(dataset, config.train_share, config.split)),
        snapshots=kept,
        snapshot_bytes=state,
        bytes=kept * state + codes + line * (config.steps // config.history_every),
    )


def _measured(engine: Engine, config: RunConfig, dataset: Dataset) -> tuple[float, int, dict[str, float]]:
    """Return the seconds of a step, over how many steps, and the scalars of one."""
    long = config.with_steps(max(config.steps, 1_000_000))
    count = 0
    with batches([long], dataset, [0]) as feed:
        _steps(engine, feed)
        start = time.perf_counter()
        while time.perf_counter() - start < MEASURED:
            scalars = _steps(engine, feed)
            count += WARM
        return (time.perf_counter() - start) / count, count, scalars


def _steps(engine: Engine, feed: Any) -> dict[str, float]:
    """Take a few steps and wait for the last one."""
    for _ in range(WARM):
        scalars = engine.step(*next(feed))
    return {name: float(backend.to_numpy(value)[0]) for name, value in scalars.items()}


def _rows(dataset: Dataset) -> int:
    try:
        return len(task_rows(dataset))
    except InvalidInput:
        return 0


def kind(config: RunConfig) -> str:
    """Describe what decides how long a step takes and what is kept: runs of one kind take the same."""
    values = config.as_json()
    names = (
        *("objective", "architecture", "architecture_parameters", "latents", "reconstruction", "batch_size"),
        *("precision", "frozen", "steps", "snapshots", "history_every"),
    )
    dataset = benchmark_data.load(config.dataset)
    data = [dataset.image_shape, dataset.space.sizes, _rows(dataset)]
    sizes = {name: value for name, value in config.hyperparameters.items() if not isinstance(value, float)}
    return json.dumps([data, sizes, *(values[name] for name in names)], sort_keys=True)


def of_sweep(configs: Sequence[RunConfig], folders: Sequence[Path], *, encode: bool = True) -> list[Estimate]:
    """Estimate many runs, with their folders; of each kind, one is measured."""
    measured: dict[str, Estimate] = {}
    found = []
    for config, folder in zip(configs, folders, strict=True):
        config = finetune.resolved(config, folder, benchmark_data.load(config.dataset))
        holds(folder, config)
        key = kind(config)
        if key not in measured:
            measured[key] = estimate(config, folder, encode=encode)
        left = config.steps - (Snapshots(folder).last or 0)
        images = left * config.batch_size * config.build_objective().n_views
        found.append(measured[key]._replace(left=left, seconds=images / measured[key].rate))
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
