"""A run that is killed and resumed ends like one that was left alone: the same bytes."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from baselines import Diverged, RunConfig, train
from baselines.nets.backend import ops
from baselines.objectives import Term, beta_vae
from baselines.run import Run
from baselines.run_folder import Snapshots

# Two networks with an optimiser each. A large learning rate lets small differences grow.
CONFIG = RunConfig(
    dataset="xysquares/spacing_1",
    objective="factor_vae",
    hyperparameters={"units": 8, "discriminator_learning_rate": 0.01},
    architecture="fc",
    architecture_parameters={"width": 8},
    latents=4,
    steps=800,
    batch_size=8,
    learning_rate=0.01,
    snapshots=[20, 300],
    history_every=7,
    seed=3,
)


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(p.relative_to(folder)): p.read_bytes()
        for p in sorted(folder.rglob("*"))
        if p.is_file() and p.name not in ("run.json", "state.json")  # these hold seconds
    }


@pytest.fixture(scope="module")
def middle(tiny):
    """The config of a run that is killed while a snapshot is half written."""
    return tiny(steps=14, history_every=1)


@pytest.fixture(scope="module")
def killed(middle, tmp_path_factory, request):
    """What a process found that begins runs and kills them, and the folder that these are in."""
    if not hasattr(os, "fork"):
        pytest.skip("needs fork and SIGKILL")
    folder, kills = tmp_path_factory.mktemp("killed"), request.config.getoption("--kills")
    script = Path(__file__).with_name("kills.py")
    command = [sys.executable, script, json.dumps(CONFIG.as_json()), folder, str(kills), json.dumps(middle.as_json())]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder, [*map(json.loads, done.stdout.splitlines())]


def test_training_goes_on_while_a_snapshot_is_written_and_a_kill_then_loses_nothing(killed, middle, tmp_path):
    folder = killed[0] / "middle"
    assert killed[1][0] == -signal.SIGKILL
    assert Snapshots(folder).steps() == [0]
    assert list((folder / "snapshots").glob(".step_00000004*.part/weights.npz"))
    for each in (folder, tmp_path):
        assert train(middle, each).steps == [0, 4, 14]
    assert contents(folder) == contents(tmp_path)


def test_killed_at_random_moments_it_ends_with_the_same_bytes(killed, request):
    folder, (_, *lives, full, ended, whole) = killed
    kills = request.config.getoption("--kills")
    assert len(lives) == kills
    written = 0
    for life in lives:
        written = max(written, life["reported"])
        assert life["killed"], "a life ended by itself: give the run more steps"
        assert max(life["steps"], default=0) >= written
        assert set(life["steps"]) >= {step for step in CONFIG.snapshots if step <= written}
    assert written > 0

    assert full["status"] == 2
    assert "expected a writable path, received OSError: File too large" in full["message"]
    assert full["steps"] == lives[-1]["steps"]

    assert ended == whole == {"status": 0, "steps": [0, 20, 300, 800]}
    assert contents(folder / "killed") == contents(folder / "whole")
    budgets = [json.loads((folder / name / "run.json").read_text())["budget"] for name in ("killed", "whole")]
    assert budgets[0]["images"] == budgets[1]["images"] == 6400


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e9])
def test_a_loss_that_is_lost_stops_the_run_at_the_last_good_snapshot(tmp_path, monkeypatch, tiny, value):
    sane = beta_vae.OBJECTIVE.terms

    def lost(self, batch):
        return {**sane(self, batch), "lost": Term(1.0, ops.where(batch.step < 6, 0.0, value))}

    monkeypatch.setattr(beta_vae.OBJECTIVE, "terms", lost)
    message = r"at step 6: expected a finite number that does not explode, received (nan|inf|1e\+09). The last "
    with pytest.raises(Diverged, match=message + "snapshot is that of step 4"):
        train(tiny(), tmp_path / "run")
    run = Run.open(tmp_path / "run")
    assert (run.steps, [row["step"] for row in run.history]) == ([0, 4], [1, 2, 4])
    monkeypatch.undo()
    assert train(tiny(), tmp_path / "run").step == 6


def test_a_resumed_run_measures_an_explosion_by_its_first_loss(tmp_path, monkeypatch, tiny):
    """A loss of 1e8 is a hundred times the first, and more than a thousand times that of the step before."""
    sane = beta_vae.OBJECTIVE.terms

    def swinging(self, batch):
        swing = ops.where(batch.step < 2, 1e6, ops.where(batch.step < 5, 0.0, 1e8))
        return {**sane(self, batch), "swing": Term(1.0, swing)}

    monkeypatch.setattr(beta_vae.OBJECTIVE, "terms", swinging)
    run = train(tiny(), tmp_path / "run")
    shutil.rmtree(run.folder / "snapshots" / "step_00000006")
    assert Run.open(run.folder).step == 4
    assert train(tiny(), run.folder).step == 6


def test_a_second_network_that_explodes_stops_the_run(tmp_path):
    settings = CONFIG.as_json() | {"steps": 60, "snapshots": [1], "history_every": 1}
    settings["hyperparameters"] |= {"discriminator_learning_rate": 1e30}
    with pytest.raises(Diverged, match="The last snapshot is that of step 1"):
        train(RunConfig.from_json(settings), tmp_path / "run")
    assert Run.open(tmp_path / "run").step == 1
