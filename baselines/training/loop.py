"""Training: one loop for every objective, architecture, loss and backend, that can stop anywhere and go on exactly.

The loop trains one run, or on jax many at once: the seeds and strengths of a sweep, as one program.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import rich.progress
from numpy.typing import NDArray

import benchmark_data
from baselines.config import RunConfig
from baselines.model import Model, generator
from baselines.nets import backend
from baselines.objectives import Objective
from baselines.record import digests_of, same_pixels
from baselines.run import Run
from baselines.run_folder import default_folder, is_trained
from baselines.training import device_images, devices, engines, finetune, stopping
from baselines.training.prefetch import ahead
from baselines.training.progress import Bar, columns, side_by_side
from baselines.training.recorder import Diverged, Observer, Recorder, alone, claim, holds
from baselines.training.stopping import Stopped
from baselines.training.writer import Writer
from benchmark_data import console, draws
from benchmark_data.dataset import Dataset
from benchmark_data.errors import InvalidInput, OffaxisWarning, UnknownName
from benchmark_data.factors import FactorSpace, FactorTable, Indices
from benchmark_data.variants import splitting

__all__ = ["Diverged", "Observer", "Stopped", "train", "train_together"]

AHEAD = 4
"""Steps whose batches are prepared while the device works."""

SHARED = (
    *("dataset", "objective", "architecture", "architecture_parameters"),
    *("latents", "reconstruction", "reduction", "reconstruction_weight", "batch_size", "frozen", "precision"),
)
"""What runs that are trained together have in common, beside the hyperparameters that are no floats."""

SHOWN = 0.1
"""Seconds between two changes of the display."""


def train(
    config: RunConfig,
    folder: str | os.PathLike[str] | None = None,
    *,
    dataset: Dataset | None = None,
    observers: Sequence[Observer] = (),
    progress: rich.progress.Progress | None = None,
    checkpoint_seconds: float = 60.0,
    device_bytes: int | None = None,
) -> Run:
    """Train a run into a folder; go on where it stopped if the folder holds it already.

    A run that was stopped, however rudely, ends with the same weights and history as one that was not: bit for bit on
    TensorFlow with a CPU and the same number of threads. A finished run is given back as it is.

    Ctrl-C and SIGTERM end it after the step at which they come, with a snapshot; a second one ends the process at once.

    Args:
        config: what to train.
        folder: where to; made if it is not there. `default_folder` of the config if None.
        dataset: the dataset, where ``benchmark_data.load`` does not know it: one's own images, as
            ``benchmark_data.from_images`` gives them. Its full name is the config's, up to a split by a rule.
        observers: functions that are told each line of the history; `baselines.training.loggers` has some.
        progress: a display to show the run in; by default one of its own, on standard error.
        checkpoint_seconds: write a snapshot at least every so many seconds. Those that the config does not ask to keep
            are removed when a later one is there.
        device_bytes: as of `train_together`.

    Returns:
        The finished run.

    Raises:
        UnknownName: there is no such dataset.
        InvalidInput: the folder holds another run or cannot be written, the disk is full, or the dataset is not the
            config's or its pixels are not those that the run began with.
        DamagedFile: a file of the folder does not hold what it should.
        Diverged: the loss is NaN or has exploded. The last good snapshot stays.
        Stopped: Ctrl-C or SIGTERM came; a `KeyboardInterrupt` whose message says how to go on.
        MissingExtra: Keras or its backend is not installed.
    """
    (outcome,) = train_together(
        [config],
        None if folder is None else [folder],
        dataset=dataset,
        observers=[observers],
        progress=progress,
        checkpoint_seconds=checkpoint_seconds,
        device_bytes=device_bytes,
    )
    if isinstance(outcome, Diverged):
        raise outcome
    return outcome


def train_together(
    configs: Sequence[RunConfig],
    folders: Sequence[str | os.PathLike[str]] | None = None,
    *,
    dataset: Dataset | None = None,
    observers: Sequence[Sequence[Observer]] | None = None,
    progress: rich.progress.Progress | None = None,
    checkpoint_seconds: float = 60.0,
    device_bytes: int | None = None,
) -> list[Run | Diverged]:
    """Train runs that differ in seeds, strengths and step sizes in one program on the jax backend.

    Each gets the folder that `train` would have given it, with its own history and snapshots, and each goes on from its
    own last step, so that a program that was killed goes on, and runs that were trained alone may go on together. On a
    CPU its weights are those of `train` within rounding: a few 1e-6 after the first steps (a product of many matrices
    sums in another order than a product of one), growing as any rounding does in training. The
    models are divided among all devices that jax sees, and go on on any other number of them. Runs that are finished
    or have diverged keep their place in the program and change nothing for the others. A run's record counts its share
    of the program's seconds.

    On TensorFlow the runs are trained one after another, with the results of `train`.

    Args:
        configs: what to train: the same `SHARED` keys, and the same hyperparameters except floats. `groups` sorts them.
        folders: where to, one for each. `default_folder` of each config if None.
        dataset: as of `train`.
        observers: for each run the functions that are told its history.
        progress: a display to show the runs in; by default one of its own, on standard error.
        checkpoint_seconds: as of `train`.
        device_bytes: on jax, keep the dataset on the device if it takes no more than these bytes: as bits where all
            pixels have one of two values, else as bytes. If None, half of the device's free memory, but nothing for a
            training that draws fewer images than the dataset has, and nothing on a CPU. Results do not depend on it.

    Returns:
        For each config the finished run, or why it stopped; its last good snapshot stays, and the others go on.

    Raises:
        UnknownName: there is no such dataset.
        InvalidInput: as `train`; or the runs cannot be trained together, or two have one folder.
        DamagedFile: a file of a folder does not hold what it should.
        Stopped: as of `train`, with snapshots of all.
        MissingExtra: Keras or its backend is not installed.
    """
    own = dataset
    paths = [default_folder(config) for config in configs] if folders is None else [Path(f) for f in folders]
    _check_group(configs, paths)
    if own is not None:
        own = splitting.of(own, configs[0].dataset)
    dataset = benchmark_data.load(configs[0].dataset) if own is None else own
    dataset.prepare()
    together = backend.name() == "jax"
    configs = [finetune.resolved(c, folder, dataset) for c, folder in zip(configs, paths, strict=True)]
    check([c for c, folder in zip(configs, paths, strict=True) if not holds(folder, c)], dataset)
    recorders: dict[int, Recorder] = {}
    with contextlib.ExitStack() as stack:
        for config, folder in zip(configs, paths, strict=True):
            if not is_trained(folder, config):
                stack.enter_context(alone(folder))
                claim(folder, config)
        digests = None
        if own is not None:  # other images may bear the same name; no run passes for theirs, a finished one neither
            digests = digests_of(own)
            for folder in paths:
                same_pixels(folder, digests)
        left = [i for i, config in enumerate(configs) if not is_trained(paths[i], config)]
        if not left:
            return [Run.open(folder, dataset=own) for folder in paths]
        devices.warn(configs[0].precision)
        _warn_of_means(configs[0])
        if progress is None:
            progress = stack.enter_context(console.progress(*columns()))
        digests = digests or digests_of(dataset)
        writer = stack.enter_context(Writer())
        for i in left:
            told = observers[i] if observers else ()
            recorders[i] = Recorder(configs[i], paths[i], dataset, digests, told, writer)
        request = stack.enter_context(stopping.awaited())
        waiting = list(recorders.values())
        for group in [waiting] if together else [[recorder] for recorder in waiting]:
            if not request.made:
                _train(group, dataset, writer, progress, checkpoint_seconds, device_bytes, request)
    if request.made:
        begun = [i for i in left if recorders[i].step] or left
        raise stopping.stopped([paths[i] for i in begun], [recorders[i].step for i in begun], own=own is not None)
    stops = [recorders[i].stopped if i in recorders else None for i in range(len(configs))]
    return [stop or Run.open(folder, dataset=own) for stop, folder in zip(stops, paths, strict=True)]


def _warn_of_means(config: RunConfig) -> None:
    """Warn where a mean reduction makes something else of the hyperparameters than the paper's loss does."""
    changes = config.build_objective().mean_changes
    if config.reduction == "mean" and changes:
        warnings.warn(f'{config.objective} with reduction "mean": {changes}', OffaxisWarning, stacklevel=3)


def check(configs: Sequence[RunConfig], dataset: Dataset) -> None:
    """Make the models of new runs and draw a batch of each, so that no setting that is refused claims a folder.

    Args:
        configs: runs of one group, as `groups` sorts them.
        dataset: their dataset.

    Raises:
        UnknownName: there is no such split.
        DamagedFile: a run to start from has other weights than the config names, or of other shapes.
        InvalidInput: architecture and images, or objective and factors, do not go together.
    """
    different = {(c.split, c.train_share, c.start_from, c.start_weights, c.reset): c for c in configs}
    for config in different.values():
        rows = training_rows(dataset, config.train_share, config.split)
        model = Model(config, dataset.image_shape, dataset.space.sizes, precision=config.precision)
        finetune.take(model)
        space = factors_drawn(config, model.objective, dataset)
        draw_batch(config, model.objective, dataset, rows, 1, images=False, space=space)


def groups(configs: Sequence[RunConfig]) -> list[list[int]]:
    """Sort runs by whether `train_together` takes them.

    Args:
        configs: any runs.

    Returns:
        Positions, each in one group, in order.

    Example:
        >>> runs = [
        ...     RunConfig(dataset="sprites2d", objective=objective, seed=seed)
        ...     for seed in (0, 1)
        ...     for objective in ("beta_vae", "ae")
        ... ]
        >>> groups(runs)
        [[0, 2], [1, 3]]
    """
    found: dict[str, list[int]] = {}
    for i, config in enumerate(configs):
        found.setdefault(json.dumps(_shared(config)), []).append(i)
    return list(found.values())


def _shared(config: RunConfig) -> dict[str, Any]:
    """Collect what must be the same for all runs of a group."""
    values = config.as_json()
    fixed = {name: v for name, v in config.hyperparameters.items() if not isinstance(v, float)}
    return {name: values[name] for name in SHARED} | fixed


def _check_group(configs: Sequence[RunConfig], folders: Sequence[Path]) -> None:
    if len(folders) != len(configs) or len(set(folders)) != len(folders) or not configs:
        raise InvalidInput(
            "folders",
            expected=f"another one for each of {len(configs)} runs, and a run at least",
            received=str(list(map(str, folders))),
        )
    first = _shared(configs[0])
    for config in configs:
        for name, value in _shared(config).items():
            if value != first.get(name):
                raise InvalidInput(
                    f"{name} of runs that are trained together",
                    expected=f"the same for all, {first.get(name)!r}",
                    received=repr(value),
                    remedy="baselines.training.loop.groups says which runs go together.",
                )


def _train(
    recorders: Sequence[Recorder],
    dataset: Dataset,
    writer: Writer,
    progress: rich.progress.Progress,
    checkpoint_seconds: float,
    device_bytes: int | None,
    request: stopping.Request,
) -> None:
    """Train runs in one program until each is finished or has diverged, or somebody asks to stop."""
    models = [_model(recorder, dataset) for recorder in recorders]
    held = None
    if backend.name() == "jax":
        drawn = sum((r.config.steps - r.step) * r.images for r in recorders)
        held = device_images.place(dataset, limit=device_bytes, drawn=drawn)
    program = _Program(recorders, engines.start(*models, pixels=held), progress, checkpoint_seconds)
    program.begin()
    with batches([r.config for r in recorders], dataset, program.first, images=held is None) as feed:
        for batch in feed:
            scalars = program.step(batch)
            writer.check()
            stop = request.made
            program.look(scalars, stop=stop)
            if stop or not any(recorder.running for recorder in recorders):
                break


def _model(recorder: Recorder, dataset: Dataset) -> Model:
    """Make a run's model, with the weights that it starts from."""
    config = recorder.config
    model = Model(config, dataset.image_shape, dataset.space.sizes, precision=config.precision)
    finetune.start(model, recorder.folder)
    return model


class _Program:
    """Runs side by side in one engine: what is recorded, kept and shown of them, step by step.

    Attributes:
        first: the last step that each run had done before.
    """

    def __init__(
        self,
        recorders: Sequence[Recorder],
        engine: engines.Engine,
        progress: rich.progress.Progress,
        checkpoint_seconds: float,
    ) -> None:
        self._recorders, self._engine = recorders, engine
        self._checkpoint_seconds = checkpoint_seconds
        self._before = [self._resumed(i) for i in range(len(recorders))]
        self.first = [recorder.step for recorder in recorders]
        shown = side_by_side([r.config for r in recorders], self.first)
        self._groups = [[recorders[i] for i in group] for group in shown]
        self._bars = [
            Bar(progress, [r.config for r in group], [r.step for r in group], [r.loss for r in group])
            for group in self._groups
        ]
        self._stepped: list[int] = []
        self._start = self._saved = self._shown = time.perf_counter()

    def _resumed(self, i: int) -> float:
        """Put a run where its last snapshot left it; return the seconds that it had taken."""
        recorder = self._recorders[i]
        if not recorder.step:
            return 0.0
        state, seconds = recorder.snapshots.read(recorder.step)
        self._engine.load(state, str(recorder.snapshots.path(recorder.step)), i)
        return seconds

    def begin(self) -> None:
        """Keep the state that training starts from, with the run's record."""
        for i, recorder in enumerate(self._recorders):
            if recorder.snapshots.last is None:
                self._keep(i)
            elif not (recorder.folder / "run.json").exists():  # somebody has removed it
                recorder.describe(recorder.step, self._before[i])

    def step(self, batch: Sequence[dict[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
        """Take a step of every run; return its scalars for each, where a run records them."""
        scalars = self._engine.step(*batch)
        self._stepped = [i for i, recorder in enumerate(self._recorders) if recorder.running]
        for i in self._stepped:
            self._recorders[i].step += 1
        if not any(self._recorders[i].records for i in self._stepped):
            return {}
        return {name: np.asarray(value) for name, value in scalars.items()}

    def look(self, scalars: dict[str, NDArray[Any]], *, stop: bool) -> None:
        """Record, keep and show what is due after a step; mark the runs that have diverged."""
        now = time.perf_counter()
        keep_all = stop or now - self._saved > self._checkpoint_seconds
        show_all = now - self._shown > SHOWN
        for i in self._stepped:
            recorder = self._recorders[i]
            try:
                if recorder.records:
                    recorder.record({name: float(value[i]) for name, value in scalars.items()})
                if recorder.keeps or keep_all:
                    self._keep(i)
            except Diverged as error:
                recorder.stopped = error
        if show_all or not all(self._recorders[i].running for i in self._stepped):
            self._show()
        self._saved = now if keep_all else self._saved
        self._shown = now if show_all else self._shown

    def _keep(self, i: int) -> None:
        share = (time.perf_counter() - self._start) / len(self._recorders)
        self._recorders[i].keep(self._engine.copy(i), self._before[i] + share)

    def _show(self) -> None:
        for bar, group in zip(self._bars, self._groups, strict=True):
            bar.show([r.step for r in group], [r.loss for r in group], [r.stopped is not None for r in group])


def training_rows(dataset: Dataset, share: float, split: str = "") -> Indices:
    """Return the rows that runs train on: the same for every run, whatever its seed.

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
        raise UnknownName(f"split of {dataset.id}", split, [*dataset.splits, *splitting.split_rules()])
    rows = dataset.splits[split] if split else range(len(dataset))
    return rows.start + draws.permutation(0, len(rows))[: max(1, int(share * len(rows)))]


def factors_drawn(config: RunConfig, objective: Objective, dataset: Dataset) -> FactorSpace | FactorTable:
    """Return the factors of the rows that an objective may draw: of pairs both images are of the part to train on.

    Args:
        config: the run's config.
        objective: its objective.
        dataset: its dataset.

    Returns:
        All factors of the dataset; for an objective on pairs those of its split by itself.
    """
    part = dataset.splits[config.split] if config.split else range(len(dataset))
    whole = objective.n_views == 1 or len(part) == len(dataset)
    return dataset.space if whole else dataset.space.part(part)


def draw_batch(
    config: RunConfig,
    objective: Objective,
    dataset: Dataset,
    rows: Indices,
    step: int,
    *,
    images: bool = True,
    space: FactorSpace | FactorTable | None = None,
) -> dict[str, NDArray[Any]]:
    """Draw a step's batch: a function of the config and the step alone.

    Args:
        config: the run's config.
        objective: its objective.
        dataset: its dataset.
        rows: the rows to train on.
        step: from 1.
        images: give the images; otherwise their rows.
        space: the factors of the rows that may be drawn, as `factors_drawn` gives them; the dataset's if None.

    Returns:
        ``images`` uint8 (n, H, W, C), or ``rows`` int32 (n,); ``noise`` float32 (n, code size), ``step`` float32 () and
        the objective's inputs.
    """
    rng = generator(config.seed, step)
    chosen = objective.rows(rows, space or dataset.space, config.batch_size, rng).ravel()
    size = objective.code_size(config.latents, dataset.space.sizes)
    return {
        "noise": rng.standard_normal((len(chosen), size), np.float32),
        "step": np.array(step, np.float32),
        **objective.inputs(chosen, dataset.space, config.latents, rng),
        **({"images": dataset.images(chosen)} if images else {"rows": chosen.astype(np.int32)}),
    }


@contextlib.contextmanager
def batches(
    configs: Sequence[RunConfig], dataset: Dataset, done: Sequence[int], *, images: bool = True
) -> Iterator[Iterator[list[dict[str, NDArray[Any]]]]]:
    """Prepare the batches of runs that are trained together, ahead, in a thread.

    Args:
        configs: the runs' configs.
        dataset: their dataset.
        done: the last step that each run has done.
        images: as of `draw_batch`.

    Yields:
        An iterator over what `draw_batch` gives for each run's next step, until all are finished; those that are
        earlier get the batch of their last step again.

    Raises:
        UnknownName: there is no such split.
        InvalidInput: objective and factors do not go together.
    """
    objectives = [config.build_objective() for config in configs]
    chosen = [training_rows(dataset, config.train_share, config.split) for config in configs]
    spaces = [factors_drawn(c, objective, dataset) for c, objective in zip(configs, objectives, strict=True)]

    def draw(taken: int) -> list[dict[str, NDArray[Any]]]:
        return [
            draw_batch(config, objective, dataset, rows, min(last + taken, config.steps), images=images, space=space)
            for config, objective, rows, last, space in zip(configs, objectives, chosen, done, spaces, strict=True)
        ]

    most = max(config.steps - last for config, last in zip(configs, done, strict=True))
    with ahead(draw, range(1, most + 1), count=AHEAD) as drawn:
        yield drawn
