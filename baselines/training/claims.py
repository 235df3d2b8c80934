"""Run folders: claim one for a run, lock it while that trains, and add steps."""

from __future__ import annotations

import contextlib
import os
import shlex
from pathlib import Path

import benchmark_data
from baselines.config import RunConfig
from baselines.record import check_pixels, check_settings, digests_of
from baselines.run import Run
from baselines.run_folder import LOCK, Snapshots, is_free, read_config, remove_derived_files
from baselines.training.recorder import whole_history
from benchmark_data import files
from benchmark_data.dataset import Dataset
from benchmark_data.errors import InvalidInput

__all__ = ["lengthen"]


def holds_run(folder: Path, config: RunConfig) -> bool:
    """Return whether a folder holds this run already; refuse one that holds another run or something else."""
    if not (folder / "config.json").exists():
        if is_free(folder):
            return False
        expected, remedy = "a run folder or an empty one", "Choose another folder."
        raise InvalidInput(f"{folder}: expected {expected}, received something else. {remedy}")
    existing = read_config(folder)
    if existing == config:
        return True
    ours, theirs = config.as_json(), existing.as_json()
    key = next(k for k in ours if ours[k] != theirs[k])
    expected, received = f"the run with {key} {ours[key]!r}", f"a run with {key} {theirs[key]!r}"
    remedy = "Choose another folder, or resume that run."
    if config.steps > existing.steps and existing.with_steps(config.steps) == config:
        is_known = (folder / "images.json").exists() or existing.dataset.partition("/")[0] in benchmark_data.names()
        call = f"baselines.lengthen({str(folder)!r}, {config.steps}, dataset=...), then train as before"
        command = f"offaxis train resume {shlex.quote(str(folder))} --steps {config.steps}"
        remedy = f"To make it longer: {command if is_known else call}"
    raise InvalidInput(f"{folder}: expected {expected}, received {received}. {remedy}")


def claim(folder: Path, config: RunConfig) -> None:
    """Make a folder this run's, or make sure that it is; `lock_folder` has locked it."""
    if not holds_run(folder, config):
        files.write_json(folder / "config.json", config.as_json())


def lock_folder(folder: Path) -> contextlib.AbstractContextManager[None]:
    """Keep other processes from training in the same folder, which is made if it is not there."""
    refusal = InvalidInput(
        f"{folder}: expected a run that no other process is training, received one that another process is training. "
        "Wait for it, or stop it."
    )
    return files.exclusive(folder / LOCK, what=folder, refusal=refusal)


def lengthened_config(folder: Path, steps: int) -> RunConfig:
    """Return the config of a run that is to take more steps, those that are done included. Nothing is written."""
    current = read_config(folder)
    config = current.with_steps(steps)
    if steps < current.steps:
        expected = f"at least {current.steps}, the steps of {folder}"
        raise InvalidInput(f"steps: expected {expected}, received {steps}. For fewer steps, train a new run.")
    return config


def lengthen(folder: str | os.PathLike[str], steps: int, dataset: Dataset | None = None) -> RunConfig:
    """Set more steps for a run, so that `baselines.train` continues it to the weights of one long run.

    Its images, last snapshot and history are checked first. Then files made from the last snapshot, such as codes, are
    removed, since they are not those of the longer run.

    Args:
        folder: the run folder.
        steps: the total number of steps, with those that are done.
        dataset: the user's images, for a run on such; not needed if its folder records where they are.

    Returns:
        The run's config, as the folder now holds it, for `baselines.train`.

    Raises:
        DamagedFile: there is no such run, or its last snapshot or history does not hold what it should.
        InvalidInput: it has more steps already, its images or settings are not those that it began with, another
            process is training it, or the folder cannot be written.
        MissingExtra: the extra ``train`` is not installed.
    """
    folder = Path(folder)
    current, config = read_config(folder), lengthened_config(folder, steps)
    if config == current:
        return current
    dataset = Run(folder, current, current.steps, dataset).dataset
    dataset.prepare()
    check_pixels(folder, digests_of(dataset))
    check_settings(folder, current)
    with lock_folder(folder):
        config = lengthened_config(folder, steps)  # again: another process may have lengthened the run
        snapshots = Snapshots(folder)
        if snapshots.last is not None:
            snapshots.read(snapshots.last)
            whole_history(folder, current)
        remove_derived_files(folder)  # first: a kill here leaves the shorter run, and not the longer one with its codes
        files.write_json(folder / "config.json", config.as_json())
    return config
