"""Trains a run in children that are killed at random moments. `test_resume.py` runs it as a script.

Whatever is slow to import is there before the first fork, and TensorFlow starts its threads in the children only, so
that a life costs little more than its steps. The script prints what it found after each life, as lines of JSON.
"""

from __future__ import annotations

import importlib
import json
import os
import random
import resource
import signal
import sys
import threading
import time
from pathlib import Path

import numpy as np

from baselines import RunConfig, run_folder, train
from baselines.run_folder import Snapshots, read_config, read_history
from baselines.training import loop
from benchmark_data import InvalidInput, files


def live(config: RunConfig, folder: Path, report: int, *, often: bool, limit: int | None) -> None:
    """Train, and report every snapshot once it is written; then the error, if there is one. Never returns."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    write = Snapshots.write

    def reporting(self: Snapshots, step: int, *state: object) -> None:
        write(self, step, *state)
        os.write(report, f"{step}\n".encode())

    Snapshots.write = reporting
    if limit is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    status = 1
    try:
        loop.CHECKPOINT_SECONDS = 0.0 if often else 60.0
        train(config, folder)
        status = 0
    except InvalidInput as error:
        os.write(report, f"{error}\n".encode())
        status = 2
    finally:
        os._exit(status)


def begin(config: RunConfig, folder: Path, *, often: bool = True, limit: int | None = None) -> tuple[int, int]:
    """Start a life; give its process and the end of the pipe on which it reports."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        live(config, folder, write, often=often, limit=limit)
    os.close(write)
    return child, read


def kill_in_the_middle(config: RunConfig, folder: Path) -> int:
    """Kill a life at step 12, while its snapshot of step 4 is half written; give its exit status."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    save, half = run_folder.save_arrays, threading.Event()

    def slow(path: Path, arrays: dict[str, np.ndarray]) -> None:
        save(path, arrays)
        if path.name == "weights.npz" and "step_00000004" in str(path):
            half.set()  # the weights are there, the moments are not
            threading.Event().wait()

    def kill(step: int, scalars: object) -> None:
        if step == 12:  # eight steps after the one whose snapshot is being written
            half.wait(600)
            os.kill(os.getpid(), signal.SIGKILL)

    run_folder.save_arrays = slow
    try:
        train(config, folder, observers=[kill])
    finally:
        os._exit(1)


def look(config: RunConfig, folder: Path) -> dict[str, object]:
    """Read everything that a folder holds, as a resume would; an error here is a corrupted folder."""
    snapshots = Snapshots(folder)
    steps = snapshots.steps()
    if steps:
        assert read_config(folder) == config
        assert files.read_json(folder / "run.json")["budget"]["steps"] >= steps[-1]
        recorded = [int(row["step"]) for row in read_history(folder / "history.jsonl", until=steps[-1])]
        every = config.history_every
        assert recorded == [s for s in range(1, steps[-1] + 1) if s in (1, config.steps) or s % every == 0]
    for step in steps:
        state, _ = snapshots.read(step)
        assert list(state.weights) == list(state.first) == list(state.second)
        assert all(np.isfinite(array).all() for part in state for array in part.values())
    return {"steps": steps}


def main() -> None:
    config, folder, kills = RunConfig.from_json(json.loads(sys.argv[1])), Path(sys.argv[2]), int(sys.argv[3])
    for module in ("keras", "tensorflow"):
        importlib.import_module(module)
    middle = RunConfig.from_json(json.loads(sys.argv[4]))
    print(json.dumps(kill_in_the_middle(middle, folder / "middle")), flush=True)
    rng = random.Random(kills)
    for _ in range(kills):
        child, pipe = begin(config, folder / "killed")
        with os.fdopen(pipe) as reports:
            reported = []
            if rng.random() < 0.75:  # otherwise it may not even have begun
                reported.append(reports.readline())
            time.sleep(rng.random() * 0.15)
            os.kill(child, signal.SIGKILL)
            killed = os.WIFSIGNALED(os.waitpid(child, 0)[1])
            reported += reports.readlines()
        last = max((int(line) for line in reported if line), default=0)
        print(json.dumps({"killed": killed, "reported": last, **look(config, folder / "killed")}), flush=True)

    child, pipe = begin(
        config, folder / "killed", limit=100_000
    )  # less than the weights take: as if the disk were full
    with os.fdopen(pipe) as reports:
        message = reports.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(json.dumps({"status": status, "message": message, **look(config, folder / "killed")}), flush=True)

    for name in ("killed", "whole"):
        child, pipe = begin(config, folder / name, often=False)
        with os.fdopen(pipe) as reports:
            reports.read()
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print(json.dumps({"status": status, **look(config, folder / name)}), flush=True)


if __name__ == "__main__":
    main()
