"""What a run would take is said before anything is written, and comes true on disk."""

from __future__ import annotations

import re

import pytest
from typer.testing import CliRunner

from baselines import train
from baselines.commands import train as cli
from baselines.training import dry_run, sweep
from benchmark_data import InvalidInput


def call(command):
    done = CliRunner().invoke(cli.app, command.split(), catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout


def weight(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(dry_run, "MEASURED", 0.05)


def test_a_run(tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    command = (
        "run --dataset xysquares/spacing_1 --objective beta_vae --steps 20 --set architecture=fc --set width=64 "
        f"--set batch_size=2 --set latents=3 --set snapshots=10 --into {tmp_path}/run"
    )
    said = call(f"{command} --dry-run")
    assert not (tmp_path / "run").exists()
    assert f"beta_vae on xysquares/spacing_1, seed 0, into {tmp_path}/run" in said
    assert "images 235,929, 2 a step" in said, "nine tenths of 262,144"
    assert "steps  20 of 20" in said
    assert re.search(r"time   about \d+ seconds: [\d,]+ images a second, measured over \d+ steps on ", said)
    assert re.search(r"disk   about [\d.]+ MB, with 3 snapshots of [\d.]+ MB each", said)


def test_a_run_on_pairs_counts_images(tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    said = call(
        "run --dataset xysquares/spacing_1 --objective ada_gvae --steps 2 --set architecture=fc --set width=8 "
        f"--set batch_size=3 --set latents=3 --into {tmp_path}/run --dry-run"
    )
    assert "images 235,929, 6 a step, in 3 pairs" in said


def test_the_disk_that_was_foretold(tiny, tmp_path):
    config = tiny(architecture_parameters={"width": 64})
    foretold = dry_run.estimate(config, tmp_path / "run", encode=False)
    train(config, tmp_path / "run")
    assert foretold.bytes == pytest.approx(weight(tmp_path / "run"), rel=0.05)
    assert (foretold.left, foretold.snapshots) == (6, 3)
    assert foretold.rate > 0
    assert dry_run.estimate(config, tmp_path / "run").left == 0


def test_a_sweep(tiny, trained, tmp_path, monkeypatch):
    runs = (tiny(), tiny(seed=1), tiny(objective="ae"))
    monkeypatch.setattr(sweep, "find", lambda _: runs)
    found = dry_run.of_sweep(runs, [trained.folder, tmp_path / "b", tmp_path / "c"])
    assert [one.left for one in found] == [0, 6, 6]
    assert (found[0].seconds, found[0].rate == found[1].rate) == (0, True)
    said = call(f"sweep smoke --into {tmp_path}/sweep --jobs 1 --dry-run")
    assert not (tmp_path / "sweep").exists()
    assert f"3 runs into {tmp_path}/sweep, 0 are done" in said
    assert "steps  18 in 3 runs" in said
    assert re.search(r"time   about \d+ seconds with --jobs 1 --threads \d+ on .*; a run of each of 2 kinds", said)


def test_the_folder_of_another_run_is_refused_as_the_run_would_be(tiny, trained):
    """Of a longer run a negative number of steps would be left."""
    for found, message in (
        (lambda config: dry_run.estimate(config, trained.folder), "expected the run with steps 2, received .* steps 6"),
        (lambda config: dry_run.of_sweep([config], [trained.folder]), "expected the run with steps 2, received"),
    ):
        with pytest.raises(InvalidInput, match=message):
            found(tiny(steps=2, snapshots=[]))
