"""Ctrl-C and SIGTERM: nothing is lost, and the command that goes on is printed."""

import csv
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from baselines import RunConfig, Stopped, train
from baselines.commands import study
from baselines.commands import train as cli
from baselines.engines import devices
from baselines.record import objective_code
from baselines.reproduction import runner
from baselines.run import Run
from baselines.run_folder import Snapshots
from baselines.training import loop, stopping, sweep, worker

TRAIN = [sys.executable, "-c", "from baselines import program; program.main()", "train"]
ROOT = Path(cli.__file__).parents[1]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "TF_NUM_INTRAOP_THREADS": "1"}
LONG = (
    "run --dataset xysquares/spacing_1 --objective beta_vae --steps 1000000 --set architecture=fc --set width=4 "
    "--set batch_size=2 --set latents=2 --set snapshots=1000000 --no-encode --to"
)


def contents(folder):
    """Read the files of a run that hold no seconds."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name not in ("run.json", "state.json")
    }


def waits(condition, seconds=600.0):
    """Wait until something is so; fail the test if it never is."""
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it never came to it"
        time.sleep(0.05)


def lines(file):
    return file.read_text().count("\n") if file.exists() else 0


@pytest.mark.skipif(os.name == "nt", reason="needs signals")
@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.whole)])
def test_a_signal_leaves_a_snapshot_and_the_command_that_goes_on(tmp_path, number):
    folder = tmp_path / "a run"
    with subprocess.Popen(
        [*TRAIN, *LONG.split(), str(folder)], env=ENVIRONMENT, cwd=tmp_path, stderr=subprocess.PIPE, text=True
    ) as process:
        waits(lambda: lines(folder / "history.jsonl") >= 3 or process.poll() is not None)
        process.send_signal(number)
        said = process.stderr.read()
    assert process.returncode == 130, said
    step = int(re.search(r"stopped after step (\d+), with a snapshot. To continue: (.*)\n", said)[1])
    assert step >= 200, "the third line of the history is that of step 200"
    assert Snapshots(folder).steps() == [0, step]
    command = shlex.split(re.search(r"To continue: (.*)\n", said)[1])
    assert command == ["offaxis", "train", "resume", str(folder), "--no-encode"]
    assert ("Ctrl-C again" in said) == (number == signal.SIGINT)


def test_the_command_that_goes_on_has_the_options_that_the_config_does_not_hold(tmp_path, monkeypatch):
    def stopped(config, folder, **_):
        raise stopping.stop_error([folder], [7], again=True)

    monkeypatch.setattr(loop, "train", stopped)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    for name in worker.thread_limits(1):
        monkeypatch.setenv(name, "1")  # and away again
    words = f"{LONG} {tmp_path}/run --threads 1 --device cpu".split()
    done = CliRunner().invoke(cli.app, words)
    assert done.exit_code == 130
    assert (
        f"stopped after step 7, with a snapshot. To continue: offaxis train resume {tmp_path}/run "
        "--no-encode --device cpu --threads 1"
    ) in done.stderr


def test_ctrl_c_while_codes_are_written_says_how_to_go_on(trained, tmp_path, monkeypatch):
    folder = shutil.copytree(trained.folder, tmp_path / "run")
    monkeypatch.setattr(Run, "encode_task", interrupted)
    done = CliRunner().invoke(cli.app, ["resume", str(folder), "--device", "cpu"])
    assert done.exit_code == 130
    assert (
        f"stopped after training had finished. To continue: offaxis train resume {folder} --device cpu"
    ) in done.stderr


def test_a_record_says_how_earlier_parts_of_a_run_were_computed(tiny, tmp_path, monkeypatch):
    def stop_at(last):
        return lambda step, _: signal.raise_signal(signal.SIGINT) if step == last else None

    def computed_on(threads):
        return {"backend": "tensorflow", "threads": threads, "objective_code": objective_code("beta_vae")}

    for threads, last in ((1, 1), (2, 3), (1, 5)):  # each stops after the step that follows
        monkeypatch.setattr(devices, "record", lambda _, threads=threads: computed_on(threads))
        with pytest.raises(Stopped):
            train(tiny(steps=9, history_every=1), tmp_path, observers=[stop_at(last)])
    train(tiny(steps=9, history_every=1), tmp_path)
    record = json.loads((tmp_path / "run.json").read_text())
    assert (record["computed"], record["computed_before"]) == (computed_on(1), [computed_on(2)])


def test_a_stopped_run_ends_with_the_same_bytes(tiny, trained, tmp_path):
    def stop(step, _):
        if step == 2:
            signal.raise_signal(signal.SIGINT)

    folder = tmp_path / "run"
    held = signal.getsignal(signal.SIGINT)
    with pytest.raises(Stopped, match=rf"stopped after step 3, .* To continue: offaxis train resume {folder}"):
        train(tiny(), folder, observers=[stop])
    assert signal.getsignal(signal.SIGINT) is held
    assert Snapshots(folder).steps() == [0, 3]
    assert contents(train(tiny(), folder).folder) == contents(trained.folder)


@pytest.mark.skipif(os.name == "nt", reason="needs signals")
def test_the_second_ctrl_c_ends_at_once(tmp_path):
    program = (
        "import os, signal, sys, time\n"
        "from baselines.training import stopping\n"
        "with stopping.catch_stop_signals() as request:\n"
        "    signal.raise_signal(signal.SIGINT)\n"
        "    assert request.is_set()\n"
        "    signal.raise_signal(signal.SIGINT)\n"
        "    time.sleep(600)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], env=ENVIRONMENT, capture_output=True, check=False)
    assert done.returncode == -signal.SIGINT
    assert b"Stopping after this step, with a snapshot. Press Ctrl-C again to end at once." in done.stderr


def test_a_request_is_the_inner_blocks():
    with stopping.catch_stop_signals() as outer:
        with stopping.catch_stop_signals() as inner:
            signal.raise_signal(signal.SIGINT)
        assert (outer.is_set(), inner.is_set()) == (False, True)
        signal.raise_signal(signal.SIGINT)
        assert outer.is_set(), "behind the inner block it is the outer one's again"


def test_what_is_ignored_stays_so_and_threads_are_left_alone():
    held = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with stopping.catch_stop_signals() as request:
            signal.raise_signal(signal.SIGINT)
            assert not request.is_set()
    finally:
        signal.signal(signal.SIGINT, held)
    found = []

    def look():
        with stopping.catch_stop_signals() as request, stopping.sigterm_as_interrupt():
            found.append((request.is_set(), signal.getsignal(signal.SIGINT)))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert found == [(False, held)]


def test_a_run_that_finished_before_the_stop_is_not_called_stopped(tiny, tmp_path):
    def stop(step, _):
        if step == 1:
            signal.raise_signal(signal.SIGINT)

    message = r"^stopped after step 2, with a snapshot\. To continue: make the same call again"
    with pytest.raises(Stopped, match=message):
        loop.train_together(
            [tiny(steps=1, snapshots=[]), tiny(seed=1)], [tmp_path / "a", tmp_path / "b"], observers=[[], stop]
        )


def test_many_runs_and_own_images_go_on_with_the_same_call():
    assert "the same call again" in str(stopping.stop_error([Path("a")], [3], again=True))
    several = stopping.stop_error([Path("a"), Path("b")], [3, 3], again=False)
    assert "stopped 2 runs, each with a snapshot" in str(several)


@pytest.mark.skipif(os.name == "nt", reason="needs signals")
def test_a_sweep_that_is_stopped_keeps_what_its_workers_did(tmp_path, monkeypatch):
    config = RunConfig(
        dataset="xysquares/spacing_1",
        objective="ae",
        architecture="fc",
        architecture_parameters={"width": 4},
        latents=2,
        steps=1_000_000,
        batch_size=2,
        snapshots=1_000_000,
    )
    folder = tmp_path / sweep.run_path(config)

    def interrupt():
        waits(lambda: lines(folder / "history.jsonl") >= 3)
        os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=interrupt, daemon=True)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        sweep.run([config], tmp_path, jobs=1, threads=1, encode=False)
    thread.join()
    assert Snapshots(folder).steps()[-1] >= 200
    with (tmp_path / "index.csv").open(encoding="utf-8", newline="") as stream:
        (row,) = csv.DictReader(stream)
    assert (row["state"], row["error"]) == ("begun", "")


def interrupted(*_, **__):
    raise KeyboardInterrupt


def test_the_command_says_how_a_study_goes_on(monkeypatch):
    monkeypatch.setattr(runner, "run", interrupted)
    monkeypatch.setattr(sys, "argv", ["/bin/offaxis", "study", "run", "2202.13341/fig8"])
    done = CliRunner().invoke(study.app, ["run", "2202.13341/fig8"])
    assert done.exit_code == 130
    assert "To continue: offaxis study run 2202.13341/fig8" in done.stderr


def test_the_command_says_how_a_sweep_goes_on(monkeypatch):
    monkeypatch.setattr(sweep, "run", interrupted)
    monkeypatch.setattr(sys, "argv", ["/bin/offaxis", "train", "sweep", "smoke", "--only", "beta=4"])
    done = CliRunner().invoke(cli.app, ["sweep", "smoke"])
    assert done.exit_code == 130
    assert "To continue: offaxis train sweep smoke --only beta=4" in done.stderr
