"""Sweeps: many runs with one command, one progress display and one index; they survive the death of any worker.

A sweep is a file in ``baselines/sweeps`` and its runs are folders, so its whole state is on disk: finished runs are
skipped, interrupted ones are resumed exactly, and ``index.csv`` is derived from the folders::

    index.csv                                   a row for each run of the last call: state, step, loss, settings, folder
    <dataset>/<objective>/seed_<seed>_<digest>  the run folders
    failed/<digest>.json                        why a run failed; it is tried again, unless it diverged

Runs are trained in worker processes on this machine, or as tasks of a Ray cluster, one by one or many together in one
program. Workers share only the folder. One that dies is replaced, and its runs resume from their last snapshots.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import json
import math
import os
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import rich.progress

import benchmark_data
from baselines import record, validation
from baselines.config import RunConfig
from baselines.engines import devices
from baselines.run_folder import has_codes, is_trained
from baselines.training import processes, stopping, worker
from baselines.training.loop import groups
from baselines.training.progress import display
from benchmark_data import discovery, files, parallel
from benchmark_data.errors import InvalidInput, OffaxisError, UnknownName

POLL_SECONDS = 1.0
"""Seconds between two updates of the progress display."""

INDEX_SECONDS = 15.0
"""Seconds between two writes of the index."""


def find(name: str) -> tuple[RunConfig, ...]:
    """Return a sweep's runs by name.

    Raises:
        UnknownName: there is no such sweep; the message suggests the nearest name and lists all.

    Example:
        >>> len(find("bonheme2022"))
        420
    """
    return discovery.find("baselines.sweeps", name, kind="sweep").SWEEP


def select(configs: Sequence[RunConfig], only: Sequence[str]) -> tuple[RunConfig, ...]:
    """Choose runs.

    Args:
        configs: the runs of a sweep.
        only: conditions ``key=value`` on keys of the config, the objective or the architecture. Values of one key are
            alternatives; conditions on different keys must all hold. A dataset may be named without its config.

    Returns:
        The runs that fulfil them, in their order.

    Raises:
        InvalidInput: a condition is not ``key=value``, or no run fulfils all.
        UnknownName: no run has such a key.

    Example:
        >>> conditions = ["dataset=cars3d", "beta=4", "beta=8", "seed=0", "architecture=conv"]
        >>> chosen = select(find("bonheme2022"), conditions)
        >>> [(run.objective, run.hyperparameters["beta"]) for run in chosen]
        [('beta_vae', 4.0), ('beta_vae', 8.0), ('beta_tc_vae', 4.0), ('beta_tc_vae', 8.0)]
    """
    filters: dict[str, list[Any]] = collections.defaultdict(list)
    for condition in only:
        key, value = validation.setting("--only", condition)
        filters[key].append(value)
    settings = [_flat_settings(config) for config in configs]
    for key in filters:
        if not any(key in run_settings for run_settings in settings):
            raise UnknownName("--only", key, set().union(*settings))
    selected = tuple(
        config
        for config, values in zip(configs, settings, strict=True)
        if all(any(_has_setting(values, key, value) for value in allowed) for key, allowed in filters.items())
    )
    if not selected:
        actual = ", ".join(f"{key}={value}" for key in filters for value in sorted({str(s.get(key)) for s in settings}))
        raise InvalidInput(f"--only: expected a setting that a run has, of {actual}, received {' '.join(only)}.")
    return selected


def _flat_settings(config: RunConfig) -> dict[str, Any]:
    values = config.as_json()
    return {**values.pop("hyperparameters"), **values.pop("architecture_parameters"), **values}


def _has_setting(settings: dict[str, Any], key: str, value: Any) -> bool:
    """Return whether a run has a setting; a dataset may be named without its config."""
    if key == "dataset":
        return value in (settings[key], settings[key].partition("/")[0])
    actual = settings.get(key, math.nan)  # which equals nothing
    return bool((list(actual) if isinstance(actual, tuple) else actual) == value)


class RunStatus(NamedTuple):
    """State of a run of a sweep: a row of ``index.csv``.

    Attributes:
        run: its folder, within the sweep's.
        state: ``done``, ``failed``, ``begun`` or ``waiting``.
        step: the last recorded step.
        steps: the number of steps of the finished run.
        loss: the loss of that step; empty if none is recorded.
        seconds: seconds of training so far, up to the last snapshot.
        dataset: the dataset.
        objective: the objective.
        hyperparameters: all settings that distinguish it from others of its objective, in JSON, as in ``run.json``.
        seed: the seed.
        digest: digest of the config.
        error: why it failed.
    """

    run: str
    state: str
    step: int
    steps: int
    loss: float | str
    seconds: float
    dataset: str
    objective: str
    hyperparameters: str
    seed: int
    digest: str
    error: str


def run_path(config: RunConfig) -> str:
    """Return a run's folder within its sweep's.

    Example:
        >>> run_path(find("smoke")[0])
        'xysquares/spacing_1/beta_vae/seed_0_...'
    """
    return f"{config.dataset}/{config.objective}/seed_{config.seed}_{config.digest[:8]}"


def run_status(config: RunConfig, into: Path, *, encode: bool = True) -> RunStatus:
    """Return a run's row of the index, read from disk; with ``encode`` it is done only once its codes are written."""
    name, digest = run_path(config), config.digest
    folder, step, seconds, error = into / name, 0, 0.0, ""
    loss: float | str = ""
    state = "begun" if (folder / "config.json").exists() else "waiting"
    if state == "begun":
        step, loss = _read_step_and_loss(folder / "history.jsonl")
        seconds, version = _read_seconds_and_version(folder / "run.json")
        if is_trained(folder, config):
            current_version = _dataset_version(config.dataset)
            if current_version not in ("", version):
                remedy = "Remove the folder to train it again."
                state, error = "failed", f"trained on {config.dataset} {version}, now {current_version}. {remedy}"
            elif not encode or has_codes(folder):
                state, step = "done", config.steps
    failure_file = worker.failure_path(into, digest)
    if failure_file.exists() and state != "done":
        message, diverged = _read_failure(failure_file)
        if not (diverged and state == "waiting"):  # its folder was removed, to train the run again
            state, error = "failed", message
    return RunStatus(
        run=name,
        state=state,
        step=step,
        steps=config.steps,
        loss=loss,
        seconds=seconds,
        dataset=config.dataset,
        objective=config.objective,
        hyperparameters=json.dumps(record.settings(config), sort_keys=True),
        seed=config.seed,
        digest=digest,
        error=error,
    )


def _read_step_and_loss(path: Path) -> tuple[int, float | str]:
    """Read step and loss of the last whole line of a history that may be growing."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, OverflowError):
        with path.open("rb") as stream:
            stream.seek(max(0, path.stat().st_size - 4096))
            row = json.loads(stream.read().rpartition(b"\n")[0].rpartition(b"\n")[2])
        return int(row["step"]), float(row["loss"])
    return 0, ""


def _read_seconds_and_version(path: Path) -> tuple[float, str]:
    """Read the seconds of training, and the version of the dataset."""
    with contextlib.suppress(OffaxisError, KeyError, TypeError, ValueError):
        stored = files.read_json(path)
        return float(stored["budget"]["seconds"]), str(stored["dataset_version"])
    return 0.0, ""


@functools.cache
def _dataset_version(dataset: str) -> str:
    """Return a dataset's current version; empty for the user's own images, which only their pixels identify."""
    is_published = dataset.partition("/")[0] in benchmark_data.names()
    return benchmark_data.load(dataset).version if is_published else ""


def _read_failure(path: Path) -> tuple[str, bool]:
    """Read why a run failed, and whether it would fail again."""
    with contextlib.suppress(OffaxisError, KeyError, TypeError):
        failure = files.read_json(path)
        return str(failure["error"]), bool(failure["diverged"])
    return "unknown", False


def run(
    configs: Sequence[RunConfig],
    into: str | os.PathLike[str],
    *,
    jobs: int | None = None,
    threads: int | None = None,
    together: int = 1,
    ray: str | None = None,
    gpus: float = 0.0,
    encode: bool = True,
    device: str = "auto",
    progress: rich.progress.Progress | None = None,
) -> list[RunStatus]:
    """Train the runs of a sweep that are not done, and write the index.

    Args:
        configs: the runs.
        into: the folder, created if missing. It may hold runs of other calls.
        jobs: worker processes on this machine; one per core if None. Use 1 on a GPU.
        threads: threads of each worker; by default the cores are divided among them. On Ray one per task, as Ray
            assumes. TensorFlow's last bits depend on this number, and on nothing else here.
        together: how many runs a worker trains in one program, on the jax backend; see `baselines.train_together`.
        ray: the address of a Ray cluster to train on, ``"local"``, or None; see
            `benchmark_data.parallel.on_ray`. The nodes must have the folder under the same path.
        gpus: the GPUs that each Ray task requests; see there.
        encode: write the codes that the leaderboard scores, too.
        device: the device of each worker; see `baselines.engines.devices.choose`. For Ray tasks with GPUs, ``"auto"``
            means ``"gpu"``, so that none of them silently trains on a CPU.
        progress: a display that shows the runs; by default a new one, on standard error.

    Returns:
        The runs' states, as in ``index.csv``; failed runs raise no error. Ctrl-C and SIGTERM raise a
        `KeyboardInterrupt` once the workers on this machine have written snapshots; the same call resumes.

    Raises:
        InvalidInput: the folder cannot be written or another call is using it, two runs are the same, a number of jobs,
            threads or runs below 1, no cluster answers at the address, none of its nodes has the GPUs, or ``"gpu"`` on
            a machine without one.
        UnknownName: there is no such dataset or device.
        MissingExtra: Ray is not installed.
        Unavailable: a dataset is not prepared and cannot be downloaded.
    """
    into = Path(into).absolute()
    devices.check(device)
    if device == "gpu" and ray is None and devices.installed_gpus() is None:
        devices.choose(device)  # raises what every worker would; with a GPU, this process must not occupy it
    for name, value in (("jobs", jobs), ("threads", threads), ("together", together)):
        if value is not None:
            validation.within(name, value, least=1)
    if (most_common := collections.Counter(map(run_path, configs)).most_common(1)) and most_common[0][1] > 1:
        raise InvalidInput(f"runs of the sweep: expected each once, received {most_common[0][0]} more than once.")
    for dataset in dict.fromkeys(config.dataset for config in configs):
        benchmark_data.load(dataset)
    refusal = InvalidInput(
        f"{into}: expected a sweep that no other process is running, received one that another process is running. "
        "Wait for it, stop it, or choose another folder."
    )
    with contextlib.ExitStack() as stack:
        stack.enter_context(files.exclusive(into / ".lock", what=into, refusal=refusal))
        stack.enter_context(parallel.on_ray(ray, gpus=gpus))
        stack.enter_context(stopping.sigterm_as_interrupt())  # after Ray's start, which replaces the SIGTERM handler
        if progress is None:
            progress = stack.enter_context(display())
        monitor = _ProgressMonitor(configs, into, encode, progress)
        monitor.write()
        todo = [config for config in configs if not monitor.settled(config)]
        record.warn_if_code_changed((into / run_path(config), config) for config in configs if monitor.settled(config))
        tasks: list[processes.Task] = [
            ([(config.as_json(), run_path(config), config.digest) for config in group], str(into), encode)
            for group in _group_runs(todo, together)
        ]
        stack.enter_context(monitor.watching())
        if ray is None:
            for dataset in dict.fromkeys(config.dataset for config in todo):
                benchmark_data.load(dataset).prepare()  # once, so that an error is reported once
            processes.train(tasks, jobs, threads, device, len(list(_group_runs(configs, together))))
        else:
            ray_device = "gpu" if gpus and device == "auto" else device
            options = (threads or 1, ray_device, min(gpus, 1.0) or 1.0)
            for _ in parallel.in_parallel(worker.train_runs, [(*task, *options) for task in tasks]):
                pass
    return monitor.states()


class _ProgressMonitor:
    """Shows the state of the run folders, and writes it to the index, in a separate thread."""

    def __init__(
        self, configs: Sequence[RunConfig], into: Path, encode: bool, progress: rich.progress.Progress
    ) -> None:
        self._configs, self._folder, self._encode, self._progress = configs, into, encode, progress
        self._states = {config.digest: run_status(config, into, encode=encode) for config in configs}
        self._unsettled = [config for config in configs if not self.settled(config)]
        self._task = progress.add_task(
            f"steps of {len(configs)} runs", total=sum(c.steps for c in configs), rate="", loss=""
        )
        self._stop_event = threading.Event()

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Watch runs while they are trained."""
        thread = threading.Thread(target=self._watch, name="monitor", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._stop_event.set()
            thread.join()
            self._refresh()
            self.write()

    def states(self) -> list[RunStatus]:
        """Return the runs' states, in order."""
        return [self._states[config.digest] for config in self._configs]

    def settled(self, config: RunConfig) -> bool:
        """Return whether a run needs no work: it is done, or diverged and would diverge again."""
        state = self._states[config.digest].state
        diverged = state == "failed" and _read_failure(worker.failure_path(self._folder, config.digest))[1]
        return state == "done" or diverged

    def write(self) -> None:
        """Write ``index.csv``."""
        files.write_text(self._folder / "index.csv", files.comma_separated(RunStatus._fields, self.states()))

    def _watch(self) -> None:
        last_write = time.monotonic()
        while not self._stop_event.wait(POLL_SECONDS):
            self._refresh()
            if time.monotonic() - last_write > INDEX_SECONDS:
                with contextlib.suppress(OffaxisError):  # the last write raises it
                    self.write()
                last_write = time.monotonic()

    def _refresh(self) -> None:
        for config in self._unsettled:
            self._states[config.digest] = run_status(config, self._folder, encode=self._encode)
        self._unsettled = [config for config in self._unsettled if self._states[config.digest].state != "done"]
        states = collections.Counter(state.state for state in self._states.values())
        self._progress.update(
            self._task,
            completed=sum(state.steps if state.state == "failed" else state.step for state in self._states.values()),
            rate=f"{states['done']} done",
            loss=f"{states['failed']} failed" if states["failed"] else "",
        )


def _group_runs(configs: Sequence[RunConfig], together: int) -> Iterator[list[RunConfig]]:
    """Divide runs into groups of at most ``together`` that can be trained in one program."""
    for positions in groups(configs) if together > 1 else [[i] for i in range(len(configs))]:
        for i in range(0, len(positions), together):
            yield [configs[position] for position in positions[i : i + together]]
