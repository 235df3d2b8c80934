"""Every command that writes, with faults: nothing is left behind, nothing is lost, and nothing wrong is said.

A command runs in a fork of this process, on a toy dataset, and is killed at three of its steps, started twice at once,
given a full disk, and given names as long as file systems allow. Afterwards the same command makes the same bytes. A
killed worker process is in ``tests/benchmark_data/test_parallel.py``, through which all commands start theirs.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import re
import resource
import shutil
import signal
import sys
import time
import traceback
import warnings
from pathlib import Path

import numpy as np
import pytest

from baselines import program
from leaderboard.store import results_tree

ROOT = Path(__file__).parents[3]

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="forks, and limits of the system"),
    pytest.mark.usefixtures("toys", "one_tier"),
]

WRITES = {
    "data show": ("toy/small", "--to", "OUT.png"),
    "data audit": ("toy/small", "--traversals", "2", "--pairs", "10", "--to", "OUT.json"),
    "data publish": ("toy/small", "--to", "OUT"),
    "board score": ("RUN", "--no-verify", "--to", "OUT"),
    "board submit": ("OUT", "--method", "mine", "--task", "toy/small", "--tier", "smoke"),
    "board compare": ("a", "b", "--results", "TREE", "--to", "OUT.csv"),
    "board similarity": ("RUN", "RUN", "--to", "OUT.png"),
    "board build": ("TREE", "--to", "OUT"),
}
"""Command -> how it is called here. OUT is what it writes."""

ELSEWHERE = {
    "data prepare": "benchmark_data/archives/test_store.py::test_a_kill_during_the_build_leaves_nothing",
    "data build": "benchmark_data/test_tfds.py::test_what_a_killed_build_left_is_removed_by_the_next_one",
    "train run": "baselines/training/test_resume.py::test_killed_at_random_moments_it_ends_with_the_same_bytes",
    "train resume": "baselines/training/test_longer.py::test_killed_while_a_run_is_made_longer",
    "train transfer": "baselines/training/test_loop.py::test_two_processes_that_begin_one_new_folder_at_once",
    "train sweep": "baselines/training/test_sweep.py::test_a_killed_worker_costs_nothing",
    "train encode": "benchmark_data/test_files.py::test_a_killed_process_leaves_nothing_under_the_final_name",
    "train draw": "benchmark_data/test_files.py::test_a_killed_process_leaves_nothing_under_the_final_name",
    "train export": "benchmark_data/test_files.py::test_a_folder_that_another_process_made_meanwhile",
    "board verify": "leaderboard/store/test_results.py::test_evaluating_twice_changes_no_byte",
    "study run": "baselines/reproduction/test_runner.py::test_a_study_that_is_killed_goes_on_from_the_snapshots",
    "demo": "baselines/training/test_sweep.py::test_a_killed_worker_costs_nothing",
}
"""Command -> the test of what it writes with, where it trains, downloads or needs TensorFlow."""

READS = "data list, data info, data verify, train list, board tasks, board show, board check, study list, doctor"


def act(words, folder, *, kill=0, limit=None, slow=False):
    """Run a command: its exit code, words and number of steps.

    A step is what makes writing durable: a call of fsync or rename.
    """
    steps, told, code = 0, io.StringIO(), 0

    def counted(real):
        def call(*arguments):
            nonlocal steps
            steps += 1
            if steps == kill:
                os.kill(os.getpid(), signal.SIGKILL)
            if slow:
                time.sleep(0.02)
            return real(*arguments)

        return call

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(os, "replace", counted(os.replace))
        patch.setattr(os, "fsync", counted(lambda descriptor: None))
        patch.setattr(sys, "argv", ["offaxis", *words])
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        try:
            with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
                program.main()
        except SystemExit as end:
            code = end.code or 0
        except BaseException:
            told.write(traceback.format_exc())
            code = 70
        return code, told.getvalue()[-20_000:], steps


def start(*arguments, **faults):
    """Run a command in a fork; give its process and the pipe on which it says what `act` returns."""
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        child = os.fork()
    if child:
        os.close(write)
        return child, read
    os.write(write, json.dumps(act(*arguments, **faults)).encode())
    os._exit(0)


def end(process):
    """Wait for a command: its exit code (negative where it was killed), words and number of steps."""
    child, read = process
    with os.fdopen(read, "rb") as pipe:
        said = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return tuple(json.loads(said)) if said else (status, "", 0)


def contents(folder):
    """Hash what lies in a folder; locks, whose presence means nothing, are left out."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != ".lock"
    }


def refused(code, words):
    """Check that a command said in one sentence what was wrong."""
    lines = [line for line in words.splitlines() if line.startswith("error: ")]
    assert (code, len(lines), "Traceback" in words) == (2, 1, False), words


@pytest.fixture
def place(run_folder, made_result, tmp_path, monkeypatch):
    """A folder with what commands read; made anew under each name that is asked for."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    given = tmp_path / "given"
    given.mkdir()
    shutil.move(run_folder(), given / "RUN")
    rng = np.random.default_rng(0)
    layers = {name: rng.standard_normal((50, 3)).astype(np.float32) for name in ("mean", "log_variance", "sampled")}
    np.savez(given / "RUN" / "activations.npz", layers=np.array(list(layers)), indices=np.arange(50), **layers)
    for task in ("toy/spacing_1", "toy/spacing_8"):
        results = [made_result(task, "a", 0.8, 0.81, 0.82), made_result(task, "b", 0.1, 0.2, 0.3)]
        results_tree.write(given / "TREE", results)

    def make(name):
        return Path(shutil.copytree(given, tmp_path / name))

    return make


@pytest.mark.parametrize("command", WRITES)
def test_nothing_is_left_behind_and_nothing_wrong_is_said(command, place):
    words = [*command.split(), *WRITES[command]]
    clean = place("clean")
    before = contents(clean)
    code, said, steps = act(words, clean)  # here, so that forks need not import what it needs
    assert (code, steps > 0) == (0, True), said
    whole = contents(clean)

    for number, step in enumerate(sorted({1, (steps + 1) // 2, steps})):
        folder = place(f"killed-{number}")
        assert end(start(words, folder, kill=step))[0] == -signal.SIGKILL
        code, said, _ = end(start(words, folder))
        assert not code or "OUT already contains a submission" in said, said
        assert contents(folder) == whole

    folder = place("twice")
    for code, said, _ in map(end, [start(words, folder, slow=True), start(words, folder, slow=True)]):
        if code:
            refused(code, said)
            assert re.search("Another process|existing folder|OUT already contains a submission", said)
    assert contents(folder) == whole

    folder = place("full")
    refused(*end(start(words, folder, limit=0))[:2])
    assert contents(folder) == before

    for length in (255, 256):
        folder = place(f"long-{length}")
        named = [w if not w.startswith("OUT") else "x" * (length - len(w[3:])) + w[3:] for w in words]
        code, said, _ = end(start(named, folder))
        assert not [name for name in contents(folder) if name.endswith(".part")]
        if code or length > 255:
            refused(code, said)
            assert "File name too long" in said


def test_every_command_is_known_to_write_or_to_read():
    from typer.core import TyperGroup

    every = set()
    for part in program.PARTS:
        command = program.load(part)
        every |= {f"{part} {name}" for name in command.commands} if isinstance(command, TyperGroup) else {part}
    assert set(WRITES) | set(ELSEWHERE) | set(READS.split(", ")) == every
    for test in ELSEWHERE.values():
        file, _, name = test.partition("::")
        assert f"def {name}" in (ROOT / "tests" / file).read_text("utf-8")
