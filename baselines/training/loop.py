"""Training: one loop for every objective, architecture, loss and backend, that can stop anywhere and go on exactly.

The loop trains one run, or on jax many at once: the seeds and strengths of a sweep, as one program.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
import warnings
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import rich.progress
from numpy.typing import NDArray

import benchmark_data
from baselines import engines
from baselines.config import RunConfig
from baselines.engines import devices, pixels
from baselines.engines.engine import Engine
from baselines.model import Model
from baselines.nets import backend
from baselines.record import check_pixels, check_settings, digests_of, warn_if_code_changed
from baselines.run import Run
from baselines.run_folder import default_folder, is_trained, remove_derived_files
from baselines.training import finetune, stopping
from baselines.training.batches import batches, draw_batch, drawable_factors, training_rows
from baselines.training.claims import claim, holds_run, lock_folder
from baselines.training.progress import Bar, display
from baselines.training.recorder import Diverged, Observer, Recorder
from baselines.training.stopping import Stopped
from benchmark_data.dataset import Dataset
from benchmark_data.errors import InvalidInput, OffaxisWarning, UnknownName
from benchmark_data.variants import splitting

__all__ = ["Diverged", "Observer", "Stopped", "train", "train_together"]

SHARED_KEYS = (
    *("dataset", "objective", "architecture", "architecture_parameters"),
    *("latents", "reconstruction", "reduction", "reconstruction_weight", "batch_size", "frozen", "precision"),
)
"""What runs that are trained together have in common, besides the hyperparameters that are no floats."""

CHECKPOINT_SECONDS = 60.0
"""Seconds between two snapshots, at most. Those that the config does not ask to keep are removed when a later one is
there."""

DISPLAY_SECONDS = 0.1
"""Seconds between two changes of the display."""


def train(
    config: RunConfig,
    folder: str | os.PathLike[str] | None = None,
    *,
    dataset: Dataset | None = None,
    observers: Observer | Sequence[Observer] = (),
) -> Run:
    """Train a run into a folder, or resume it if the folder holds it already.

    A resumed run ends with the same weights and history as an uninterrupted one: bit for bit on TensorFlow with a CPU
    and the same number of threads. A finished run is returned unchanged; for more steps call `baselines.lengthen`
    first.

    Ctrl-C and SIGTERM end it after the current step, with a snapshot; a second one ends the process immediately.

    Args:
        config: what to train.
        folder: the run folder, created if missing; by default ``runs/<dataset>/<objective>/seed_<seed>``.
        dataset: the dataset, where ``benchmark_data.load`` does not know it: the user's images, as
            ``benchmark_data.from_images`` gives them. Its full name is the config's, up to a split by a rule.
        observers: a function, or several, called with each line of the history: its step, and scalars by name.

    Returns:
        The finished run.

    Raises:
        UnknownName: there is no such dataset.
        InvalidInput: ``config`` is no config, the folder holds another run or cannot be written, the disk is full, or
            the dataset is not the config's or its pixels are not those that the run began with.
        DamagedFile: a file of the folder does not hold what it should.
        Diverged: the loss is NaN or has exploded. The last snapshot stays.
        Stopped: Ctrl-C or SIGTERM came; a `KeyboardInterrupt` whose message says how to go on.
        MissingExtra: Keras or its backend is not installed.

    Example:
        >>> import tempfile
        >>> config = RunConfig(dataset="dsprites", objective="beta_vae", seed=0, steps=2, architecture="fc")
        >>> run = train(config, tempfile.mkdtemp())
        >>> run.encode(run.dataset.images([0, 1])).mean.shape
        (2, 10)
    """
    folders = None if folder is None else [folder]
    (outcome,) = train_together([config], folders, dataset=dataset, observers=[observers])
    if isinstance(outcome, Diverged):
        raise outcome
    return outcome


def train_together(
    configs: Sequence[RunConfig],
    folders: Sequence[str | os.PathLike[str]] | None = None,
    *,
    dataset: Dataset | None = None,
    observers: Sequence[Observer | Sequence[Observer]] | None = None,
    progress: rich.progress.Progress | None = None,
) -> list[Run | Diverged]:
    """Train runs that differ in seeds, strengths and step sizes in one program on the jax backend.

    Each has its own folder, history and snapshots, as from `train`, and resumes from its own last step, also if it was
    trained alone before. On a CPU its weights are those of `train` within rounding: a few 1e-6 after the first steps
    (batched matrix products sum in another order), growing as any rounding does in training. The models are divided
    among all devices that jax sees, whose number may change between calls. Runs that are finished or have diverged do
    not affect the others. A run's record counts its share of the program's seconds.

    On TensorFlow and PyTorch the runs are trained one after another, with the results of `train`.

    Args:
        configs: what to train: equal in the `SHARED_KEYS` and in all hyperparameters but floats. `groups` sorts them.
        folders: a run folder for each; by default as for `train`.
        dataset: as for `train`.
        observers: for each run a function, or several, called with its history.
        progress: a display that shows the runs; by default a new one, on standard error.

    Returns:
        For each config the finished run, or why it diverged: its last snapshot stays, and the others continue.

    Raises:
        UnknownName: there is no such dataset.
        InvalidInput: as `train`; or the runs cannot be trained together, or two have one folder.
        DamagedFile: a file of a folder does not hold what it should.
        Stopped: as for `train`, with snapshots of all.
        MissingExtra: Keras or its backend is not installed.
    """
    if invalid := [candidate for candidate in configs if not isinstance(candidate, RunConfig)]:
        raise InvalidInput(f"config: expected a RunConfig, received {invalid[0]!r}. Make one: RunConfig(dataset=...).")
    paths = [default_folder(config) for config in configs] if folders is None else [Path(f) for f in folders]
    _check_group(configs, paths)
    run_observers = _list_observers(observers or [()] * len(configs), len(configs))
    user_dataset = None if dataset is None else splitting.resolve(dataset, configs[0].dataset)
    try:
        dataset = benchmark_data.load(configs[0].dataset) if user_dataset is None else user_dataset
    except UnknownName as error:
        remedy = " For your own images: baselines.train(..., dataset=...), or offaxis train run --images FOLDER"
        is_published = configs[0].dataset.partition("/")[0] in benchmark_data.names()  # without this config or split
        error.args = (f"{error}{'' if is_published else remedy}",)
        raise
    dataset.prepare()
    configs = [finetune.resolve_source(c, folder, dataset) for c, folder in zip(configs, paths, strict=True)]
    check([c for c, folder in zip(configs, paths, strict=True) if not holds_run(folder, c)], dataset)
    recorders: dict[int, Recorder] = {}
    with contextlib.ExitStack() as stack:
        for config, folder in zip(configs, paths, strict=True):
            if not is_trained(folder, config):
                stack.enter_context(lock_folder(folder))
                claim(folder, config)
        digests = digests_of(dataset)  # other images may bear the same name, also those of a finished run
        for config, folder in zip(configs, paths, strict=True):
            check_pixels(folder, digests)
            check_settings(folder, config)
        warn_if_code_changed(zip(paths, configs, strict=True))
        unfinished = [i for i, config in enumerate(configs) if not is_trained(paths[i], config)]
        if not unfinished:
            return [Run.open(folder, dataset=user_dataset) for folder in paths]
        devices.warn(configs[0].precision)
        _warn_of_mean_reduction(max((configs[i] for i in unfinished), key=lambda config: config.epsilon))
        progress = progress or stack.enter_context(display())
        pool = stack.enter_context(ThreadPoolExecutor(1, thread_name_prefix="writer"))
        for i in unfinished:
            recorders[i] = Recorder(configs[i], paths[i], dataset, digests, run_observers[i], pool)
        request = stack.enter_context(stopping.catch_stop_signals())
        pending = list(recorders.values())
        for group in [pending] if backend.name() == "jax" else [[recorder] for recorder in pending]:
            if not request.is_set():
                _train_group(group, dataset, progress, request)
    if request.is_set():
        started = [recorder for recorder in pending if recorder.step]
        stopped = [recorder for recorder in started if recorder.running] or started or pending
        again = user_dataset is not None or len(pending) > 1
        raise stopping.stop_error([run.folder for run in stopped], [run.step for run in stopped], again=again)
    failures = [recorders[i].stopped if i in recorders else None for i in range(len(configs))]
    return [failure or Run.open(folder, dataset=user_dataset) for failure, folder in zip(failures, paths, strict=True)]


def _list_observers(observers: Sequence[Observer | Sequence[Observer]], runs: int) -> list[tuple[Observer, ...]]:
    """Return the functions that observe each run; refuse what is no function before anything is trained."""
    if len(observers) != runs:
        raise InvalidInput(f"observers: expected {runs} lists, received {len(observers)}. Pass one for each run.")
    lists = [(o,) if callable(o) or not isinstance(o, Iterable) else tuple(o) for o in observers]
    if wrong := [observe for functions in lists for observe in functions if not callable(observe)]:
        raise InvalidInput(f"observers: expected functions of a step and its scalars, received {wrong[0]!r}.")
    return lists


def _warn_of_mean_reduction(config: RunConfig) -> None:
    """Warn if reduction "mean" changes what hyperparameters mean, or needs a smaller epsilon."""
    if config.reduction != "mean":
        return
    objective = config.build_objective()
    if changes := objective.mean_changes:
        warnings.warn(f'{config.objective} with reduction "mean": {changes}', OffaxisWarning, stacklevel=3)
    if config.epsilon >= 1e-8 and objective.decodes and objective.reconstructs:
        message = "makes gradients too small for it: the encoder may hardly learn. Use a smaller one: epsilon=1e-12"
        warnings.warn(f'epsilon={config.epsilon:g}: reduction "mean" {message}', OffaxisWarning, stacklevel=3)


def check(configs: Sequence[RunConfig], dataset: Dataset) -> None:
    """Make the models of new runs of one group, and draw a batch of each.

    So no setting that is refused claims a folder.
    """
    distinct = {(c.split, c.train_share, c.start_from, c.start_weights, c.reset): c for c in configs}
    for config in distinct.values():
        rows = training_rows(dataset, config.train_share, config.split)
        model = Model(config, dataset.image_shape, dataset.space.sizes, precision=config.precision)
        if all(model.frozen()):
            raise InvalidInput("frozen: expected at least one layer to train, received all layers. Remove some.")
        finetune.load_source_weights(model)
        space = drawable_factors(config, model.objective, dataset)
        draw_batch(config, model.objective, dataset, rows, 1, images=False, space=space)


def groups(configs: Sequence[RunConfig]) -> list[list[int]]:
    """Sort runs by whether `train_together` takes them: return positions, each in one group, in order.

    Example:
        >>> runs = [
        ...     RunConfig(dataset="dsprites", objective=objective, seed=seed)
        ...     for seed in (0, 1)
        ...     for objective in ("beta_vae", "ae")
        ... ]
        >>> groups(runs)
        [[0, 2], [1, 3]]
    """
    positions: dict[str, list[int]] = {}
    for i, config in enumerate(configs):
        positions.setdefault(json.dumps(_shared_settings(config)), []).append(i)
    return list(positions.values())


def _shared_settings(config: RunConfig) -> dict[str, Any]:
    """Collect what must be the same for all runs of a group."""
    values = config.as_json()
    fixed = {name: v for name, v in config.hyperparameters.items() if not isinstance(v, float)}
    return {name: values[name] for name in SHARED_KEYS} | fixed


def _check_group(configs: Sequence[RunConfig], folders: Sequence[Path]) -> None:
    if len(folders) != len(configs) or len({folder.resolve() for folder in folders}) != len(folders) or not configs:
        expected = f"a different one for each of {len(configs)} runs (at least one)"
        raise InvalidInput(f"folders: expected {expected}, received {list(map(str, folders))}.")
    reference = _shared_settings(configs[0])
    for config in configs:
        for name, value in _shared_settings(config).items():
            if value != reference.get(name):
                raise InvalidInput(
                    f"{name} of runs that are trained together: expected the same for all, {reference.get(name)!r}, "
                    f"received {value!r}. baselines.training.loop.groups returns the groups."
                )


def _train_group(
    recorders: Sequence[Recorder],
    dataset: Dataset,
    progress: rich.progress.Progress,
    request: threading.Event,
) -> None:
    """Train runs in one program until each is finished or has diverged, or a stop is requested."""
    models = [_build_model(recorder, dataset) for recorder in recorders]
    for recorder in recorders:
        if recorder.running:  # anew, where snapshots were removed
            remove_derived_files(recorder.folder)
    images_left = sum((r.config.steps - r.step) * r.config.images_per_step for r in recorders)
    device_pixels = pixels.place(dataset, drawn=images_left) if backend.name() == "jax" else None
    program = _Program(recorders, engines.start(*models, pixels=device_pixels), progress)
    program.begin()
    with batches([r.config for r in recorders], dataset, program.steps_before, images=device_pixels is None) as feed:
        for batch in feed:
            scalars = program.step(batch)
            for recorder in recorders:
                recorder.raise_write_error(wait=False)
            program.process_step(scalars, stop=(stop := request.is_set()))
            if stop or not any(recorder.running for recorder in recorders):
                break
    for recorder in recorders:
        recorder.raise_write_error()


def _build_model(recorder: Recorder, dataset: Dataset) -> Model:
    """Make a run's model, with the weights that it starts from."""
    config = recorder.config
    model = Model(config, dataset.image_shape, dataset.space.sizes, precision=config.precision)
    finetune.start(model, recorder.folder)
    return model


class _Program:
    """Runs side by side in one engine: what is recorded, kept and shown of them, step by step.

    Attributes:
        steps_before: the last step that each run had done before.
    """

    def __init__(
        self,
        recorders: Sequence[Recorder],
        engine: Engine,
        progress: rich.progress.Progress,
    ) -> None:
        self._recorders, self._engine = recorders, engine
        self._seconds = [self._resume(i) for i in range(len(recorders))]
        self.steps_before = [recorder.step for recorder in recorders]
        self._bar = Bar(progress, [r.config for r in recorders], self.steps_before, [r.loss for r in recorders])
        self._stepped: list[int] = []
        self._step_time = self._save_time = self._show_time = time.perf_counter()

    def _resume(self, i: int) -> float:
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
                self._keep_snapshot(i)
            elif not (recorder.folder / "run.json").exists():  # somebody has removed it
                recorder.describe(recorder.step, self._seconds[i])

    def step(self, batch: Sequence[dict[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
        """Take a step of every run; return its scalars for each, where a run records them."""
        scalars = self._engine.step(*batch)
        self._stepped = [i for i, recorder in enumerate(self._recorders) if recorder.running]
        for i in self._stepped:
            self._recorders[i].step += 1
        if not any(self._recorders[i].is_recorded_step for i in self._stepped):
            return {}
        return {name: backend.to_numpy(value) for name, value in scalars.items()}

    def process_step(self, scalars: dict[str, NDArray[Any]], *, stop: bool) -> None:
        """Record, keep and show what is due after a step; mark the runs that have diverged."""
        now = time.perf_counter()
        for i in self._stepped:  # those that are over took no part
            self._seconds[i] += (now - self._step_time) / len(self._stepped)
        self._step_time = now
        keep_all = stop or now - self._save_time > CHECKPOINT_SECONDS
        show_all = now - self._show_time > DISPLAY_SECONDS
        for i in self._stepped:
            recorder = self._recorders[i]
            try:
                if recorder.is_recorded_step:
                    recorder.record({name: float(value[i]) for name, value in scalars.items()})
                if recorder.config.keeps(recorder.step) or keep_all:
                    self._keep_snapshot(i)
            except Diverged as error:
                recorder.stopped = error
        if show_all or not all(self._recorders[i].running for i in self._stepped):
            steps, losses = [r.step for r in self._recorders], [r.loss for r in self._recorders]
            self._bar.show(steps, losses, [r.stopped is not None for r in self._recorders])
        self._save_time = now if keep_all else self._save_time
        self._show_time = now if show_all else self._show_time

    def _keep_snapshot(self, i: int) -> None:
        self._recorders[i].keep(self._engine.copy(i), self._seconds[i])
