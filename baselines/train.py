"""Training: one loop for every objective, architecture, loss and backend, that can stop anywhere and go on exactly."""

from __future__ import annotations

import collections
import contextlib
import json
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import rich.progress
from numpy.typing import NDArray

import benchmark_data
from baselines import backend, engines, transfer
from baselines.config import RunConfig
from baselines.model import Model, generator
from baselines.objective import Objective
from baselines.run import Run, Snapshots, clear_leftovers, default_folder, read_config, read_history, write_record
from benchmark_data import console, draws, files
from benchmark_data.dataset import Dataset, Digest
from benchmark_data.errors import DamagedFile, InvalidInput, OffaxisError, UnknownName
from benchmark_data.factors import Indices

try:
    import fcntl
except ModuleNotFoundError:  # Windows
    fcntl = None  # type: ignore[assignment]

Observer: TypeAlias = Callable[[int, Mapping[str, float]], None]
"""Is told a step and the history's scalars of it: loss, reconstruction and the objective's terms."""

AHEAD = 4
"""Batches that are prepared while the device works."""

EXPLODED = 1e3
"""A loss this many times the first one is taken to have exploded."""


class Diverged(OffaxisError):
    """The loss or a weight is no longer a finite number, or has exploded."""


def train(
    config: RunConfig,
    folder: str | os.PathLike[str] | None = None,
    *,
    dataset: Dataset | None = None,
    observers: Sequence[Observer] = (),
    progress: rich.progress.Progress | None = None,
    checkpoint_seconds: float = 60.0,
) -> Run:
    """Train a run into a folder; go on where it stopped if the folder holds it already.

    A run that was stopped, however rudely, ends with the same weights and history as one that was not: bit for bit on
    TensorFlow with a CPU. A finished run is given back as it is.

    Args:
        config: what to train.
        folder: where to; made if it is not there. `default_folder` of the config if None.
        dataset: the dataset, where ``benchmark_data.load`` does not know it: one's own images, as
            ``benchmark_data.from_images`` gives them. Its full name is the config's.
        observers: functions that are told each line of the history; `baselines.observers` has some.
        progress: a display to show the run in; by default one of its own, on standard error.
        checkpoint_seconds: write a snapshot at least this often. Those that the config does not ask to keep are removed
            when a later one is there.

    Returns:
        The finished run.

    Raises:
        UnknownName: there is no such dataset.
        InvalidInput: the folder holds another run or cannot be written, the disk is full, or the dataset is not the
            config's or its pixels are not those that the run began with.
        DamagedFile: a file of the folder does not hold what it should.
        Diverged: the loss is NaN or has exploded. The last good snapshot stays.
        MissingExtra: Keras or its backend is not installed.
    """
    own = dataset
    if own is not None and own.id != config.dataset:
        raise InvalidInput("dataset", expected=f"the config's, {config.dataset!r}", received=repr(own.id))
    dataset = benchmark_data.load(config.dataset) if own is None else own
    dataset.prepare()
    backend.name()
    folder = default_folder(config) if folder is None else Path(folder)
    config = transfer.resolved(config, folder, dataset)
    _claim(folder, config)
    done = Snapshots(folder).steps()
    if done and done[-1] == config.steps and (folder / "run.json").exists():
        return Run.open(folder, dataset=own)
    with contextlib.ExitStack() as stack:
        stack.enter_context(_alone(folder))
        if progress is None:
            progress = stack.enter_context(console.progress(*columns()))
        _train(config, folder, dataset, observers, progress, checkpoint_seconds)
    return Run.open(folder, dataset=own)


def _train(
    config: RunConfig,
    folder: Path,
    dataset: Dataset,
    observers: Sequence[Observer],
    progress: rich.progress.Progress,
    checkpoint_seconds: float,
) -> None:
    clear_leftovers(folder)
    digest = dataset.digest()
    _same_pixels(folder, digest)
    model = Model(config, dataset.image_shape, dataset.space.sizes)
    transfer.start(model, folder)
    engine = engines.start(model)
    snapshots, last, before = Snapshots(folder), 0, 0.0
    done = snapshots.steps()
    if done:
        last = done[-1]
        state, before = snapshots.read(last)
        engine.load(state, str(snapshots.path(last)))
    history = folder / "history.jsonl"
    rows = read_history(history, until=last)
    with files.written_atomically(history) as temporary:
        temporary.write_text("".join(_line(row) for row in rows), encoding="utf-8")
    limit = EXPLODED * max(1.0, abs(rows[0]["loss"])) if rows else math.inf

    def keep(step: int, seconds: float) -> None:
        state = engine.state()
        if not all(np.isfinite(a).all() for a in state.weights.values()):
            raise _diverged(folder, step, "a weight that is not finite", snapshots)
        write_record(  # before the snapshot, so that a run with its last snapshot always has its record
            folder,
            method=config.objective,
            dataset=dataset,
            digest=digest,
            seed=config.seed,
            supervision=model.objective.supervision,
            hyperparameters=_hyperparameters(config),
            device=backend.device(),
            versions=backend.versions("numpy", "keras", backend.name()),
            steps=step,
            images=step * config.batch_size * model.objective.views,
            seconds=seconds,
        )
        snapshots.write(step, state, seconds)
        for other in snapshots.steps():
            if other != step and not config.keeps(other):
                snapshots.remove(other)

    if not done and config.keeps(0):
        keep(0, 0.0)
    bar = progress.add_task(
        f"{config.objective}/{config.seed} {config.dataset}",
        total=config.steps,
        completed=last,
        rate="",
        loss=f"loss {rows[-1]['loss']:.4g}" if rows else "",
    )
    start = saved = time.perf_counter()
    chosen = training_rows(dataset, config.train_share, config.split)
    with batches(config, model.objective, dataset, chosen, last + 1) as feed:
        for step, batch in feed:
            scalars = engine.step(batch)
            if step == 1 or step % config.history_every == 0 or step == config.steps:
                row = {"step": step, "loss": 0.0, "reconstruction": 0.0}  # the order of the columns
                row |= {name: float(value) for name, value in scalars.items()}
                if not all(math.isfinite(value) for value in row.values()) or row["loss"] > limit:
                    raise _diverged(folder, step, f"{row['loss']:.4g}", snapshots)
                if step == 1:
                    limit = EXPLODED * max(1.0, abs(row["loss"]))
                _append(history, row)
                for observe in observers:
                    observe(step, {name: value for name, value in row.items() if name != "step"})
                progress.update(bar, loss=f"loss {row['loss']:.4g}")
            now = time.perf_counter()
            if config.keeps(step) or now - saved > checkpoint_seconds:
                keep(step, before + now - start)
                saved = now
            rate = (step - last) * config.batch_size * model.objective.views / (now - start)
            progress.update(bar, completed=step, rate=f"{rate:,.0f} img/s")


def columns() -> tuple[rich.progress.ProgressColumn, ...]:
    """Give the columns that a display needs to show runs: images per second, and the loss."""
    return (
        rich.progress.TextColumn("{task.fields[rate]}", style="cyan"),
        rich.progress.TextColumn("{task.fields[loss]}"),
    )


def training_rows(dataset: Dataset, share: float, split: str = "") -> Indices:
    """Give the rows that runs train on: the same for every run, whatever its seed.

    Args:
        dataset: the dataset.
        share: how much of it, in (0, 1].
        split: how much of this split of it; of all rows if empty.

    Returns:
        int64, shape (m,), at least one row, in random order.

    Raises:
        UnknownName: there is no such split.

    Example:
        >>> len(training_rows(benchmark_data.load("xysquares/spacing_1"), 0.9))
        235929
    """
    if split and split not in dataset.splits:
        raise UnknownName(f"split of {dataset.id}", split, dataset.splits)
    rows = dataset.splits[split] if split else range(len(dataset))
    return rows.start + draws.permutation(0, len(rows))[: max(1, int(share * len(rows)))]


def draw_batch(
    config: RunConfig, objective: Objective, dataset: Dataset, rows: Indices, step: int
) -> dict[str, NDArray[Any]]:
    """Draw a step's batch: a function of the config and the step alone.

    Args:
        config: the run's config.
        objective: its objective.
        dataset: its dataset.
        rows: the rows to train on.
        step: from 1.

    Returns:
        ``images`` uint8 (n, H, W, C), ``noise`` float32 (n, latents), ``step`` float32 () and the objective's draws.
    """
    rng = generator(config.seed, step)
    chosen = objective.rows(rows, dataset.space, config.batch_size, rng).ravel()
    return {
        "noise": rng.standard_normal((len(chosen), config.latents), np.float32),
        "step": np.array(step, np.float32),
        **objective.draws(chosen, dataset.space, config.latents, rng),
        "images": dataset.images(chosen),
    }


@contextlib.contextmanager
def batches(
    config: RunConfig, objective: Objective, dataset: Dataset, rows: Indices, first: int
) -> Iterator[Iterator[tuple[int, Mapping[str, NDArray[Any]]]]]:
    """Prepare batches ahead, in a thread.

    Args:
        config: the run's config.
        objective: its objective.
        dataset: its dataset.
        rows: the rows to train on.
        first: the first step; the last one is the config's.

    Yields:
        An iterator over (step, what `draw_batch` gives for it).
    """
    pool = ThreadPoolExecutor(1, thread_name_prefix="batches")

    def feed() -> Iterator[tuple[int, Mapping[str, NDArray[Any]]]]:
        pending: collections.deque[Future[dict[str, NDArray[Any]]]] = collections.deque()
        for step in range(first, config.steps + 1):
            while len(pending) < min(AHEAD, config.steps + 1 - step):
                pending.append(pool.submit(draw_batch, config, objective, dataset, rows, step + len(pending)))
            yield step, pending.popleft().result()

    try:
        yield feed()
    finally:
        pool.shutdown(cancel_futures=True)


def _claim(folder: Path, config: RunConfig) -> None:
    """Make the folder this run's, or make sure that it is."""
    if (folder / "config.json").exists():
        held = read_config(folder)
        if held != config:
            ours, theirs = config.as_json(), held.as_json()
            key = next(k for k in ours if ours[k] != theirs[k])
            raise InvalidInput(
                str(folder),
                expected=f"the run with {key} {ours[key]!r}",
                received=f"a run with {key} {theirs[key]!r}",
                remedy="Choose another folder, or resume that run.",
            )
    elif folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InvalidInput(
            str(folder),
            expected="a run's folder or an empty one",
            received="something else",
            remedy="Choose another folder.",
        )
    else:
        files.write_json(folder / "config.json", config.as_json())


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep other processes from training the same folder, where the platform has file locks."""
    with (folder / "config.json").open("rb") as stream:
        if fcntl is not None:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise InvalidInput(
                    str(folder),
                    expected="a run that nobody else is training",
                    received="one that another process is training",
                    remedy="Wait for it, or stop it.",
                ) from error
        yield


def _same_pixels(folder: Path, digest: Digest) -> None:
    path = folder / "run.json"
    if not path.exists():
        return
    held = files.read_json(path)
    if not isinstance(held, dict) or "dataset_digest" not in held:
        raise DamagedFile(str(path), expected="a run's record", received="something else")
    if held["dataset_digest"] != digest._asdict():
        raise InvalidInput(
            f"dataset of {folder}",
            expected="the pixels and factors that the run began with",
            received="others",
            remedy="Use the version of the dataset that run.json names, or train again in another folder.",
        )


def _hyperparameters(config: RunConfig) -> dict[str, Any]:
    """Collect what tells this run from others of its method, for run.json."""
    own = ("dataset", "objective", "seed", "steps", "snapshots", "history_every", "start_from")
    nested = ("hyperparameters", "architecture_parameters")
    unused = [name for name in ("split", "start_weights", "reset", "frozen") if not getattr(config, name)]
    shared = {name: value for name, value in config.as_json().items() if name not in (*own, *nested, *unused)}
    return {**config.hyperparameters, **config.architecture_parameters, **shared}


def _line(row: Mapping[str, float]) -> str:
    return json.dumps(row, allow_nan=False) + "\n"


def _append(path: Path, row: Mapping[str, float]) -> None:
    try:
        with path.open("a", encoding="utf-8") as stream:
            stream.write(_line(row))
    except OSError as error:
        raise files.unwritable(path, error) from error


def _diverged(folder: Path, step: int, received: str, snapshots: Snapshots) -> Diverged:
    kept = snapshots.steps()
    return Diverged(
        f"loss of {folder} at step {step}",
        expected="a finite number that does not explode",
        received=received,
        remedy=f"The last good snapshot is {f'that of step {kept[-1]}' if kept else 'none'}. "
        "Try a smaller learning rate or weaker terms.",
    )
