"""A thread writes snapshots. That training goes on, and that a kill in the middle loses nothing: test_resume.py."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time

import pytest

from baselines import Diverged, train
from baselines.run_folder import Snapshots, clear_leftovers
from baselines.training.recorder import Recorder
from benchmark_data import InvalidInput, files


def test_a_snapshot_that_cannot_be_written_stops_the_run(tiny, tmp_path, monkeypatch):
    def full(self, step, state, seconds):
        raise OSError("no space left")

    told = []
    monkeypatch.setattr(Snapshots, "write", full)
    with pytest.raises(OSError, match="no space left"):
        train(tiny(steps=500), tmp_path / "run", observers=lambda step, scalars: told.append(step))
    assert 500 not in told


def test_a_run_that_diverges_waits_for_the_snapshot_that_is_being_written(tiny, tmp_path, monkeypatch):
    write, diverged, asked = Snapshots.write, Recorder._divergence_error, threading.Event()

    def slow(self, *given):
        asked.wait(60)
        time.sleep(0.05)
        write(self, *given)

    def ask(self, received):
        asked.set()
        return diverged(self, received)

    monkeypatch.setattr(Snapshots, "write", slow)
    monkeypatch.setattr(Recorder, "_divergence_error", ask)
    with pytest.raises(Diverged, match="The last snapshot is that of step 0"):
        train(tiny(learning_rate=900.0, steps=40, snapshots=[0], history_every=1), tmp_path / "run")


KILLED_AT_ONCE = """
import json, os, pathlib, signal, sys
from baselines import RunConfig
from baselines.training import claims

os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)  # no file takes its name any more
folder = pathlib.Path(sys.argv[2])
with claims.lock_folder(folder):
    claims.claim(folder, RunConfig.from_json(json.loads(sys.argv[1])))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs SIGKILL")
def test_a_kill_while_the_first_file_is_written_leaves_the_folder_free(tiny, tmp_path):
    folder = tmp_path / "run"
    command = [sys.executable, "-c", KILLED_AT_ONCE, json.dumps(tiny().as_json()), str(folder)]
    assert subprocess.run(command, check=False).returncode == -9
    assert [path.suffix for path in folder.glob(".config.json.*")] == [".part"]
    assert train(tiny(), folder).step == 6
    assert not list(folder.glob("*.part"))


def test_files_that_another_process_is_writing_are_kept(tmp_path):
    with files.written_atomically(tmp_path / "encoder.onnx") as being_written:
        being_written.touch()
        (tmp_path / ".step_00000004.part").mkdir()
        clear_leftovers(tmp_path)
        assert list(tmp_path.iterdir()) == [being_written]


def test_another_programs_unfinished_file_is_something_else(tiny, tmp_path):
    (tmp_path / ".film.part").touch()
    with pytest.raises(InvalidInput, match="expected a run folder or an empty one, received something else"):
        train(tiny(), tmp_path)
