"""Whose a run folder is: claimed for one run, locked while it trains, and given more steps. Internal."""

from __future__ import annotations

import contextlib
import shlex
from pathlib import Path

import benchmark_data
from baselines.config import RunConfig
from baselines.record import digests_of, same_pixels
from baselines.run_folder import LOCK, Snapshots, is_free, read_config
from baselines.training.recorder import whole_history
from benchmark_data import files
from benchmark_data.dataset import Dataset
from benchmark_data.errors import InvalidInput, needs

MADE = (
    *("codes.npz", "activations.npz", "encoder.onnx"),
    *("traversals.png", "traversals.gif", "reconstructions.png", "losses.png"),
)
"""Files of a run folder that are made of the run up to its last snapshot."""


def holds(folder: Path, config: RunConfig) -> bool:
    """Return whether a folder holds this run already; refuse one that holds another run or something else."""
    if not (folder / "config.json").exists():
        if is_free(folder):
            return False
        expected, remedy = "a run's folder or an empty one", "Choose another folder."
        raise InvalidInput(f"{folder}: expected {expected}, received something else. {remedy}")
    held = read_config(folder)
    if held == config:
        return True
    ours, theirs = config.as_json(), held.as_json()
    key = next(k for k in ours if ours[k] != theirs[k])
    known = (folder / "images.json").exists() or held.dataset.partition("/")[0] in benchmark_data.names()
    longer = known and config.steps > held.steps and held.with_steps(config.steps) == config
    lengthen = f"To make it longer: offaxis train resume {shlex.quote(str(folder))} --steps {config.steps}"
    raise InvalidInput(
        f"{folder}: expected the run with {key} {ours[key]!r}, received a run with {key} {theirs[key]!r}. "
        f"{lengthen if longer else 'Choose another folder, or resume that run.'}"
    )


def claim(folder: Path, config: RunConfig) -> None:
    """Make a folder this run's, or make sure that it is; `alone` has locked it."""
    if not holds(folder, config):
        files.write_json(folder / "config.json", config.as_json())


def alone(folder: Path) -> contextlib.AbstractContextManager[None]:
    """Keep other processes from training in the same folder, which is made if it is not there."""
    needs("training", "train", "filelock")
    refusal = InvalidInput(
        f"{folder}: expected a run that no other process is training, received one that another process is training. "
        "Wait for it, or stop it."
    )
    return files.exclusive(folder / LOCK, what=folder, refusal=refusal)


def longer(folder: Path, steps: int) -> RunConfig:
    """Return the config of a run that is to take more steps, those that are done included. Nothing is written."""
    held = read_config(folder)
    if steps < held.steps:
        expected, remedy = (
            f"at least {held.steps}, which {folder} has already",
            "Give all steps, those that are done included.",
        )
        raise InvalidInput(f"--steps: expected {expected}, received {steps}. {remedy}")
    return held if steps == held.steps else held.with_steps(steps)


def lengthen(folder: Path, steps: int, dataset: Dataset | None = None) -> RunConfig:
    """Give a run more steps to take, so that `baselines.train` goes on with it, to the weights of one long run.

    What was made from its last snapshot, such as codes, is removed: it would pass for the longer run's. Before that,
    what the run goes on with is looked at: its images, its last snapshot and its history.

    Args:
        folder: the run folder.
        steps: all steps that it is to have taken, those that are done included.
        dataset: the user's own images, of a run on such.

    Returns:
        The run's config, as the folder now holds it.
    """
    held, config = read_config(folder), longer(folder, steps)
    if config == held:
        return held
    dataset = benchmark_data.load(config.dataset) if dataset is None else dataset
    dataset.prepare()
    same_pixels(folder, digests_of(dataset))
    with alone(folder):
        snapshots = Snapshots(folder)
        if snapshots.last is not None:
            snapshots.read(snapshots.last)
            whole_history(folder, held)
        for name in MADE:  # first: a kill here leaves the shorter run, and not the longer one with its codes
            try:
                (folder / name).unlink(missing_ok=True)
            except OSError as error:
                raise files.unwritable(folder / name, error) from error
        files.write_json(folder / "config.json", config.as_json())
    return config
