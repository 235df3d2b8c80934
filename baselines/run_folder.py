"""Read and write the run folder. Internal.

==============================  ===================================================================================
``config.json``                 the resolved config, which determines the run
``run.json``                    what the leaderboard reads: method, dataset and digest, seed, budget, versions
``history.jsonl``               one JSON object per recorded step: step, loss, reconstruction and the objective's terms
``snapshots/step_00006000/``    ``weights.npz``, ``optimiser.npz`` and ``state.json`` (step, seconds of training)
``codes.npz``                   ``indices`` int64 (n,), ``codes`` float32 (n, latents): means for the task's rows
``activations.npz``             ``layers``, ``indices`` and one float32 (n, p) array per layer, from input to output
``encoder.onnx``                the encoder: images uint8 (n, H, W, C) to codes
``start.npz``                   the initial weights of a transfer
``images.json``                 the folder of the user's own images
==============================  ===================================================================================

Snapshots are written atomically. Random numbers depend on the seed and the step alone, so no other state of the random
generator needs to be saved.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from baselines.config import RunConfig
from benchmark_data import files
from benchmark_data.archives import npz
from benchmark_data.errors import DamagedFile, InvalidInput, UnknownName

LOCK = ".lock"
"""The file in a run folder that is locked while a process trains the run. Its existence alone means nothing."""

DERIVED_FILES = (
    *("codes.npz", "activations.npz", "encoder.onnx"),
    *("traversals.png", "traversals.gif", "reconstructions.png", "losses.png"),
)
"""Files of a run folder that are derived from the last snapshot."""


class State(NamedTuple):
    """A run's state after a step: weights and Adam's two moments, float32 arrays by the weights' names."""

    weights: Mapping[str, NDArray[Any]]
    first: Mapping[str, NDArray[Any]]
    second: Mapping[str, NDArray[Any]]


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write named arrays to an ``.npz`` file, atomically."""
    with files.written_atomically(path) as temporary:
        save_arrays(temporary, arrays)


def save_arrays(path: Path, arrays: Mapping[str, Any]) -> None:
    """Write named arrays to a file that still has a temporary name."""
    with path.open("wb") as stream:
        np.savez(stream, **arrays)


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Read all arrays of an ``.npz`` file: finite numbers, without Python objects."""
    remedy = "Restore the file, or remove the folder that holds it and resume the run."
    arrays = npz.read_all(path, remedy=remedy)
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not (np.abs(array) <= np.finfo(np.float32).max).all():
            raise DamagedFile(f"{path}: {name}: expected finite numbers, received NaN or infinity in float32. {remedy}")
    return arrays


def has_codes(folder: Path) -> bool:
    """Return whether a run folder has codes that can be read."""
    try:
        return read_arrays(folder / "codes.npz").keys() >= {"indices", "codes"}
    except DamagedFile:
        return False


class Snapshots:
    """The snapshots of a run folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "snapshots"

    def path(self, step: int) -> Path:
        """Return the folder of the snapshot after a step."""
        return self.folder / f"step_{step:08d}"

    def steps(self) -> list[int]:
        """List the steps that have a snapshot, in order."""
        if not self.folder.is_dir():
            return []
        matches = (re.fullmatch(r"step_(\d{8,})", p.name) for p in self.folder.iterdir())
        return sorted(int(match[1]) for match in matches if match)

    @property
    def last(self) -> int | None:
        """The step of the last snapshot; None if there is none, not even that before training."""
        return max(self.steps(), default=None)

    def write(self, step: int, state: State, seconds: float) -> None:
        """Write the state after a step, and the seconds of training so far, atomically."""
        moments = {f"{part}/{n}": a for part in ("first", "second") for n, a in getattr(state, part).items()}
        with files.written_atomically(self.path(step)) as temporary:
            temporary.mkdir()
            save_arrays(temporary / "weights.npz", state.weights)
            save_arrays(temporary / "optimiser.npz", moments)
            files.write_json(temporary / "state.json", {"step": step, "seconds": seconds})

    def read(self, step: int) -> tuple[State, float]:
        """Read the state after a step, and the seconds of training so far."""
        moments = read_arrays(self.path(step) / "optimiser.npz")
        first, second = (
            {n.removeprefix(f"{part}/"): a for n, a in moments.items() if n.startswith(f"{part}/")}
            for part in ("first", "second")
        )
        weights, seconds = self.read_weights(step)
        return State(weights, first, second), seconds

    def read_weights(self, step: int) -> tuple[dict[str, NDArray[Any]], float]:
        """Read the weights after a step, and the seconds of training so far."""
        folder = self.path(step)
        facts = files.read_json(folder / "state.json")
        if not isinstance(facts, dict) or facts.get("step") != step or not isinstance(facts.get("seconds"), float):
            received = json.dumps(facts)[:80]
            raise DamagedFile(f"{folder / 'state.json'}: expected step {step} and seconds, received {received}.")
        return read_arrays(folder / "weights.npz"), facts["seconds"]

    def remove(self, step: int) -> None:
        """Remove a snapshot: its folder is first renamed, so that it disappears in one step."""
        doomed = self.path(step).with_name(f".{self.path(step).name}.part")
        os.replace(self.path(step), doomed)
        shutil.rmtree(doomed, ignore_errors=True)


def default_folder(config: RunConfig) -> Path:
    """Return the default folder of a run: ``runs/<dataset>/<objective>/seed_<seed>``.

    Example:
        >>> print(default_folder(RunConfig(dataset="dsprites", objective="beta_vae", seed=3)).as_posix())
        runs/dsprites/beta_vae/seed_3
    """
    return Path("runs", config.dataset, config.objective, f"seed_{config.seed}")


def is_free(folder: Path) -> bool:
    """Return whether a folder is absent or empty, except for a lock and files left by killed processes."""
    if not folder.is_dir():
        return not folder.exists()
    return all(path.name == LOCK or files.is_left_behind(path) for path in folder.iterdir())


def clear_leftovers(folder: Path) -> None:
    """Remove temporary files, except those that other processes of this machine are writing."""
    for path in (*folder.glob(".*.part"), *folder.glob("snapshots/.*.part")):
        if files.is_being_written(path):
            continue
        shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)


def remove_derived_files(folder: Path) -> None:
    """Remove the files derived from snapshots of a run before it gets its last one; the caller has locked it."""
    for name in DERIVED_FILES:
        files.remove_file(folder / name)


def read_config(folder: Path) -> RunConfig:
    """Read a run folder's config."""
    path = files.path_in_run(folder, "config.json")
    try:
        return RunConfig.read(path)
    except UnknownName as error:
        raise DamagedFile(f"{path}: {error} A newer version of Offaxis may have written it.") from error
    except (InvalidInput, LookupError) as error:
        raise DamagedFile(f"{path}: {error}") from error


def is_trained(folder: Path, config: RunConfig) -> bool:
    """Return whether a folder holds the results of this run's training: its last snapshot, and its record."""
    if Snapshots(folder).last != config.steps or not (folder / "run.json").exists():
        return False
    try:
        stored = read_config(folder)
    except DamagedFile:
        return False
    if config.start_from and stored.start_from and config.start_weights in ("", stored.start_weights):
        config = dataclasses.replace(config, start_from=stored.start_from, start_weights=stored.start_weights)
    return stored == config


def read_history(path: Path, *, until: int | None = None) -> list[dict[str, float]]:
    """Read a history, a dictionary for each recorded step; empty if there is no file.

    Args:
        path: a ``history.jsonl``.
        until: leave out lines after this step. The last line may then be incomplete, as left by a killed process.

    Raises:
        DamagedFile: a line is no JSON object of finite numbers with a step and a loss.
    """
    rows: list[dict[str, float]] = []
    try:
        text = path.read_text(encoding="utf-8") if path.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise DamagedFile(f"{path}: expected lines of JSON, received {error}.") from error
    *lines, last = text.split("\n")
    if last and until is None:
        lines.append(last)
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
            step = row["step"]
            numbers = [row["loss"], *row.values()]
            if not isinstance(step, int) or not all(isinstance(n, int | float) and abs(n) < math.inf for n in numbers):
                raise TypeError
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            expected = "a JSON object of finite numbers, with a step and a loss"
            raise DamagedFile(f"{path}, line {number}: expected {expected}, received {line[:60]!r}.") from error
        if until is None or step <= until:
            rows.append(row)
    return rows
