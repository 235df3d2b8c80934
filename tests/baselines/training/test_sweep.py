"""Sweeps: the published ones, choosing among runs, and runs that outlive whoever trains them."""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import gc
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path

import filelock
import numpy as np
import pytest
import rich.progress
from typer.testing import CliRunner

import benchmark_data
from baselines import RunConfig, train
from baselines.commands import train as cli
from baselines.record import settings
from baselines.run_folder import Snapshots, is_trained, read_arrays, write_arrays
from baselines.training import batches, processes, sweep, worker
from benchmark_data import InvalidInput, Unavailable, UnknownName, console, discovery, files
from benchmark_data.datasets import smallnorb

NAMES = discovery.names("baselines.sweeps")
every = pytest.mark.parametrize("name", NAMES)


@pytest.fixture
def runs(tiny):
    """Two short runs, one that takes long enough to be killed, and one that diverges."""
    return [
        tiny(seed=1, snapshots=[]),
        tiny(seed=2, snapshots=[], steps=600, history_every=20),
        tiny(seed=3, snapshots=[], learning_rate=999.0, reconstruction="mse", steps=30, history_every=1),
    ]


def index(folder):
    with (folder / "index.csv").open(encoding="utf-8", newline="") as stream:
        return {int(row["seed"]): row for row in csv.DictReader(stream)}


def weights(folder, config):
    return (Snapshots(folder).path(config.steps) / "weights.npz").read_bytes()


@every
def test_a_sweep_is_a_tuple_of_different_runs_of_datasets_that_exist(name):
    configs = sweep.find(name)
    assert isinstance(configs, tuple)
    assert all(isinstance(config, RunConfig) for config in configs)
    assert len({sweep.run_path(config) for config in configs}) == len(configs)
    for dataset in {config.dataset for config in configs}:
        assert benchmark_data.load(dataset).id == dataset
    for split, dataset in {(config.split, config.dataset) for config in configs if config.split}:
        assert split in benchmark_data.load(dataset).splits


@every
def test_the_top_of_the_file_says_command_and_expectation(name):
    top = discovery.find("baselines.sweeps", name, kind="sweep").__doc__
    assert f"\n    offaxis train sweep {name}" in top
    assert "\nExpected" in top
    count = len(sweep.find(name))
    assert f"{count:,} runs" in top or {8: "eight runs"}.get(count, "") in top.lower()


def test_the_papers_numbers():
    def strengths(name, objective, *keys, only=()):
        chosen = [config for config in sweep.select(sweep.find(name), only) if config.objective == objective]
        return sorted({tuple(config.hyperparameters[key] for key in keys) for config in chosen})

    # Bonheme and Grześ 2022, tables 2 and 5
    assert strengths("bonheme2022", "beta_vae", "beta", only=["architecture=conv"]) == [(1,), (2,), (4,), (6,), (8,)]
    assert strengths("bonheme2022", "dip_vae_ii", "lambda_od", "lambda_d", only=["architecture=conv"]) == [
        (w, w) for w in (1, 2, 5, 10, 20)
    ]
    assert strengths(
        "bonheme2022", "annealed_vae", "gamma", "c_max", "iteration_threshold", only=["architecture=conv"]
    ) == [(1000, c, 100_000) for c in (5, 10, 25, 50, 75)]
    assert strengths("bonheme2022", "beta_vae", "beta", only=["architecture=fc"]) == [(1,), (8,), (16,)]
    assert {(c.architecture, c.steps, c.latents) for c in sweep.find("bonheme2022")} == {
        (architecture, 300_000, 10) for architecture in ("conv", "fc")
    }
    # Michlo et al. 2023: a beta of 0.001 is of the mean error of pixels divided by 0.124, and 0.124 ** 2 = 0.01538
    (beta, _) = strengths("michlo2023_overlap", "beta_vae", "beta")
    assert beta[0] == pytest.approx(0.001 * 0.0153846, rel=1e-4)
    assert {(c.batch_size, c.learning_rate, c.reduction) for c in sweep.find("michlo2023_overlap")} == {
        (256, 1e-3, "mean")
    }
    assert {c.steps for c in sweep.find("michlo2023_benchmark")} == {115_200}
    assert {c.reconstruction for c in sweep.find("michlo2023_box_blur")} == {"mse", "box_blur"}


@pytest.mark.parametrize("name", ["michlo2023_pilot", "michlo2023_reduced"])
def test_reduced_runs_of_michlo_2023_are_published_ones_but_for_budget_strength_and_seed(name):
    published = sweep.find("michlo2023_overlap") + sweep.find("michlo2023_box_blur")
    own = ("steps", "batch_size", "latents", "seed", "hyperparameters", "selection")

    def kept(config):
        hyperparameters = {key: value for key, value in config.hyperparameters.items() if key != "beta"}
        return {key: value for key, value in config.as_json().items() if key not in own} | hyperparameters

    runs = sweep.find(name)
    assert all(kept(run) in [kept(other) for other in published] for run in runs)
    assert {(run.steps, run.batch_size, run.latents) for run in runs} == {(12_000, 64, 9)}
    assert all(run.hyperparameters["symmetric"] for run in runs if run.objective == "ada_gvae")
    assert not {run.digest for run in sweep.find("michlo2023_pilot")} & {run.digest for run in published}


@pytest.mark.parametrize(("name", "published"), [("michlo2023_overlap", 0.001), ("michlo2023_box_blur", 0.0001)])
def test_epsilon_of_michlo_2023_shrinks_as_its_errors_do(name, published):
    """Adam's step stays that of the authors' loss, which is larger by the inverse of the variance of the pixels."""
    run = sweep.find(name)[0]
    scale = run.hyperparameters["beta"] / published
    assert scale == pytest.approx(0.1240347**2)
    assert run.epsilon == pytest.approx(1e-8 * scale)


def test_the_pilot_of_michlo_2023_has_seeds_of_its_own():
    pilot, reduced = sweep.find("michlo2023_pilot"), sweep.find("michlo2023_reduced")
    assert (len(pilot), len(reduced)) == (40, 100)
    assert {run.seed for run in pilot}.isdisjoint(run.seed for run in reduced)
    assert [len({run.seed for run in pilot[:part]}) for part in (10, 20, 30, 40)] == [1, 2, 3, 4]


def test_choosing_runs():
    configs = sweep.find("smoke")
    assert sweep.select(configs, []) == configs
    chosen = sweep.select(configs, ["dataset=xysquares", "objective=ada_gvae", "seed=1"])
    assert [(c.dataset, c.objective, c.seed) for c in chosen] == [
        (f"xysquares/spacing_{spacing}", "ada_gvae", 1) for spacing in (1, 8)
    ]
    assert len(sweep.select(configs, ["dataset=xysquares/spacing_1", "dataset=xysquares/spacing_8"])) == 8
    assert len(sweep.select(configs, ["beta=4"])) == 4
    assert len(sweep.select(configs, ["width=64"])) == 8
    start = {"start_from": "somewhere", "start_weights": "0" * 64, "steps": 1}
    frozen = tuple(dataclasses.replace(configs[0], frozen=layers, **start) for layers in (("mean",), ("encoder_1",)))
    assert sweep.select(frozen, ['frozen=["mean"]']) == frozen[:1]
    for only, error, message in (
        (["seed"], InvalidInput, "--only: expected KEY=VALUE, received 'seed'"),
        (["sed=1"], UnknownName, r"--only: .* received 'sed'. Did you mean 'seed'"),
        (["seed=7"], InvalidInput, "--only: expected a setting that a run has, of seed=0, seed=1, received seed=7"),
    ):
        with pytest.raises(error, match=message):
            sweep.select(configs, only)
    with pytest.raises(UnknownName, match=r"sweep: .* received 'smok'. Did you mean 'smoke'"):
        sweep.find("smok")


def test_a_failed_run_leaves_no_steps_to_wait_for(tiny, tmp_path):
    failed, waiting = tiny(seed=1), tiny(seed=2)
    worker.record_failure(tmp_path, failed.digest, "why")
    progress = rich.progress.Progress(disable=True)
    sweep._ProgressMonitor([failed, waiting], tmp_path, False, progress)._refresh()
    (task,) = progress.tasks
    assert (task.completed, task.total, task.fields["loss"]) == (failed.steps, 2 * failed.steps, "1 failed")


def test_a_killed_worker_costs_nothing_and_a_failed_run_stops_no_other(runs, tmp_path, monkeypatch):
    begun, start = [], processes._start_worker

    def recorded(threads, cores):
        begun.append(start(threads, cores))
        return begun[-1]

    monkeypatch.setattr(processes, "_start_worker", recorded)
    (tmp_path / "called" / "queue.py").parent.mkdir()
    (tmp_path / "called" / "queue.py").write_text("raise SystemExit(7)")
    monkeypatch.chdir(tmp_path / "called")  # files where the command is called are no modules of a worker
    history = tmp_path / sweep.run_path(runs[1]) / "history.jsonl"

    def kill():
        until = time.monotonic() + 600
        while time.monotonic() < until and not (history.exists() and history.read_bytes()):
            time.sleep(0.005)
        for process in begun[-1:]:
            process.send_signal(signal.SIGKILL)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    states = sweep.run(runs, tmp_path, jobs=1, threads=1, encode=False)
    ends = [process.returncode for process in begun]
    assert ends == [-signal.SIGKILL, -signal.SIGTERM], "one by the test, one at the end"
    killer.join()
    assert [state.state for state in states] == ["done", "done", "failed"]
    assert "expected a finite number that does not explode" in states[2].error
    found = index(tmp_path)
    assert [(row["state"], row["step"], row["steps"]) for row in found.values()][:2] == [
        ("done", "6", "6"),
        ("done", "600", "600"),
    ]
    for config, row in zip(runs, found.values(), strict=True):
        assert row["digest"] == config.digest
        assert json.loads(row["hyperparameters"]) == settings(config)
        assert (tmp_path / row["run"] / "config.json").exists()
    assert float(found[1]["loss"]) > 0
    assert float(found[2]["seconds"]) > 0
    for config, state in zip(runs[:2], states, strict=False):
        whole = train(config, tmp_path / "whole" / state.run)
        assert weights(tmp_path / state.run, config) == weights(whole.folder, config)

    # Once more: nothing is trained, not even what would diverge again.
    monkeypatch.setattr(processes, "_start_worker", lambda threads, cores: pytest.fail("there is nothing to do"))
    assert sweep.run(runs, tmp_path, encode=False) == states
    assert index(tmp_path) == found
    shutil.rmtree(tmp_path / states[2].run)
    assert sweep.run_status(runs[2], tmp_path).state == "waiting", "one whose folder is removed is trained again"


@pytest.mark.parametrize(("in_all", "threads"), [(8, 1), (3, 1), (2, 2), (1, 4)])
def test_a_run_has_as_many_threads_when_the_others_are_done(tmp_path, monkeypatch, in_all, threads):
    """With others its sums are rounded in another way."""
    monkeypatch.setattr("joblib.cpu_count", lambda: 4)
    chosen = []
    monkeypatch.setattr(processes, "_choose_cores", lambda jobs, threads: chosen.append((jobs, threads)) or [])
    processes.train([([], str(tmp_path), False)], None, None, "cpu", in_all)
    assert chosen == [(1, threads)]


def test_rows_of_one_objective_and_seed_are_told_apart_by_their_settings(tiny, tmp_path):
    changes = ({}, {"architecture_parameters": {"width": 9}}, {"learning_rate": 0.5}, {"hyperparameters": {"beta": 2}})
    rows = [sweep.run_status(tiny(**change), tmp_path) for change in changes]
    assert len({row.hyperparameters for row in rows}) == 4
    assert json.loads(rows[1].hyperparameters) == settings(tiny(**changes[1]))


def test_a_worker_that_always_dies_fails_its_run_alone(tiny, tmp_path, monkeypatch):
    dying = [sys.executable, "-c", "import sys; sys.stdin.readline(); sys.exit(3)"]
    started = []

    def start(threads, cores):
        started.append(subprocess.Popen(dying, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        return started[-1]

    monkeypatch.setattr(processes, "_start_worker", start)
    states = sweep.run([tiny(seed=1), tiny(seed=2)], tmp_path, jobs=2)
    assert [state.error for state in states] == ["its worker died 3 times, last with 3"] * 2
    assert len(started) == 2 * processes.ATTEMPTS
    # Runs that are trained together are tried one by one, too: apart they need less memory.
    sweep.run([tiny(seed=3), tiny(seed=4)], tmp_path / "together", jobs=1, together=2)
    assert len(started) == 2 * processes.ATTEMPTS + processes.ATTEMPTS + 2 * processes.ATTEMPTS
    # It is tried again, and what was wrong is forgotten once it is done.
    monkeypatch.setattr(processes, "train", lambda tasks, *_: [worker.train_runs(*task, 1) for task in tasks])
    (state,) = sweep.run([tiny(seed=1)], tmp_path)
    assert (state.state, state.error, state.step) == ("done", "", 6)
    assert (tmp_path / state.run / "codes.npz").exists()
    assert [path.stem for path in (tmp_path / "failed").iterdir()] == [tiny(seed=2).digest]
    assert {seed: row["state"] for seed, row in index(tmp_path).items()} == {1: "done"}


def test_memory_of_runs_that_failed_together_is_free_when_they_are_retried(tiny, tmp_path, monkeypatch):
    engines = []

    class Engine:
        def __init__(self):
            self.itself = self  # as the closures of an engine refer to it

    def fail(configs, *_, **__):
        alive.append(sum(reference() is not None for reference in engines))
        engine = Engine()
        engines.append(weakref.ref(engine))
        raise MemoryError

    alive: list[int] = []
    monkeypatch.setattr("baselines.training.loop.train_together", fail)
    runs = [(config.as_json(), f"run_{config.seed}", config.digest) for config in (tiny(seed=1), tiny(seed=2))]
    gc.disable()
    try:
        worker.train_runs(runs, str(tmp_path), False, 1)
    finally:
        gc.enable()
    assert alive[:2] == [0, 0]
    assert len(list((tmp_path / "failed").iterdir())) == 2


def test_sigterm_is_the_sweeps_also_on_ray_which_takes_it_for_itself(tiny, tmp_path, monkeypatch):
    @contextlib.contextmanager
    def on_ray(address, *, gpus):
        before = signal.signal(signal.SIGTERM, lambda number, frame: pytest.fail("Ray's"))
        yield
        signal.signal(signal.SIGTERM, before)

    monkeypatch.setattr("benchmark_data.parallel.on_ray", on_ray)
    monkeypatch.setattr(processes, "train", lambda *_: signal.raise_signal(signal.SIGTERM))
    with pytest.raises(KeyboardInterrupt):
        sweep.run([tiny()], tmp_path)


def test_a_worker_that_begins_while_a_sweep_is_stopped_gets_no_run(tmp_path, monkeypatch):
    both, ended, end = threading.Barrier(2), threading.Event(), processes._end_workers
    late = f"import pathlib, sys; sys.stdin.readline() and pathlib.Path({str(tmp_path / 'begun')!r}).touch(); print()"

    def start(threads, cores):
        if both.wait(600) == 0:
            raise OSError("stopped")
        ended.wait(600)
        return subprocess.Popen([sys.executable, "-c", late], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ending(processes):
        end(processes)
        ended.set()

    monkeypatch.setattr(processes, "_start_worker", start)
    monkeypatch.setattr(processes, "_end_workers", ending)
    with pytest.raises(OSError, match="stopped"):
        processes.train([([], str(tmp_path), False)] * 4, 2, 1, "cpu", 4)
    assert not (tmp_path / "begun").exists()


def test_what_a_library_prints_is_no_answer_of_a_worker():
    program = (
        "import os; from baselines.training import worker; worker.train_runs = lambda *task: os.write(1, b'noise'); "
    )
    with subprocess.Popen(
        [sys.executable, "-c", program + "worker.main()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        running.stdin.write("[[], 1]\n")
        running.stdin.flush()
        assert running.stdout.readline() == "over\n"
        assert running.communicate() == ("", "noise")


def test_a_worker_has_its_threads_and_ends_with_whoever_started_it(monkeypatch):
    given, start = {}, subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", lambda words, **options: given.update(options) or start(words, **options))
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    process = processes._start_worker(3, set())
    assert given["env"]["OMP_NUM_THREADS"] == "3"
    assert os.getsid(process.pid) == process.pid, "Ctrl-C in the terminal does not reach it"
    assert process.poll() is None
    process.communicate(timeout=600)
    assert process.returncode == 0


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this platform pins no process")
def test_workers_have_cores_of_their_own_where_they_fill_the_machine(monkeypatch):
    """Two sweeps of one worker each chose the same core, and took twice as long."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {2, 3, 5, 7})
    assert processes._choose_cores(1, 1) == [set()]
    assert processes._choose_cores(2, 1) == [set(), set()]
    assert processes._choose_cores(4, 1) == [{2}, {3}, {5}, {7}]
    assert processes._choose_cores(2, 2) == [{2, 3}, {5, 7}]
    assert processes._choose_cores(3, 2) == [set(), set(), set()]
    monkeypatch.undo()
    core = min(os.sched_getaffinity(0))
    process = processes._start_worker(1, {core})
    assert os.sched_getaffinity(process.pid) == {core}
    process.communicate(timeout=600)


def test_what_is_no_error_of_ours_is_recorded_too(tiny, tmp_path, monkeypatch):
    def broken(configs, folders, **options):
        if len(configs) > 1 or configs[0].seed == 1:
            raise MemoryError("no more")
        return real(configs, folders, **options)

    real = sys.modules["baselines.training.loop"].train_together
    monkeypatch.setattr(sys.modules["baselines.training.loop"], "train_together", broken)
    configs = [tiny(seed=1), tiny(seed=2)]
    task = [(config.as_json(), sweep.run_path(config), config.digest) for config in configs]
    worker.train_runs(task, str(tmp_path), False, 1)
    states = [sweep.run_status(config, tmp_path, encode=False) for config in configs]
    assert [(state.state, state.error) for state in states] == [("failed", "MemoryError: no more"), ("done", "")]


@pytest.mark.parametrize("steps", [6, 0])
def test_a_run_is_trained_with_its_last_snapshot_and_its_record_and_done_with_its_codes(tiny, tmp_path, steps):
    """A record comes before the first snapshot, and somebody may remove it later. No snapshot is none of step 0."""
    config = tiny(steps=steps, snapshots=[])
    folder = tmp_path / sweep.run_path(config)

    def found():
        states = [sweep.run_status(config, tmp_path, encode=encode).state for encode in (False, True)]
        return is_trained(folder, config), *states

    assert found() == (False, "waiting", "waiting")
    files.write_json(folder / "config.json", config.as_json())
    record = {"budget": {"seconds": 1.0}, "dataset_version": benchmark_data.load(config.dataset).version}
    codes = {"indices": np.arange(3), "codes": np.zeros((3, 2), np.float32)}
    files.write_json(folder / "run.json", record)
    assert found() == (False, "begun", "begun")
    Snapshots(folder).path(steps).mkdir(parents=True)
    assert found() == (True, "done", "begun")
    (folder / "codes.npz").touch()
    assert found() == (True, "done", "begun"), "codes that cannot be read are written again"
    write_arrays(folder / "codes.npz", codes)
    assert found() == (True, "done", "done")
    files.write_json(folder / "run.json", record | {"dataset_version": "0.9.0"})
    assert found() == (True, "failed", "failed")
    assert re.search(r"trained on \S+ 0\.9\.0, now \S+\. Remove the folder", sweep.run_status(config, tmp_path).error)
    (folder / "run.json").unlink()
    assert found() == (False, "begun", "begun")


@pytest.mark.parametrize("line", ["[1]", "5", '{"step": 1, "loss": null}', '{"step": 1e999, "loss": 1}'])
def test_a_file_with_something_else_in_one_run_does_not_end_the_sweep(tiny, tmp_path, line):
    folder = tmp_path / sweep.run_path(tiny())
    files.write_json(folder / "config.json", tiny().as_json())
    files.write_json(folder / "run.json", {"budget": {"seconds": "x"}, "dataset_version": "1.0.0"})
    (folder / "history.jsonl").write_text(line + "\n")
    status = sweep.run_status(tiny(), tmp_path)
    assert (status.state, status.step, status.loss, status.seconds) == ("begun", 0, "", 0)


def test_a_run_of_another_default_is_not_done(tiny, tmp_path, monkeypatch):
    """A default that changes leaves a run's folder as it is: what lies there was trained with the former one."""
    config = tiny(objective="beta_vae")
    folder = tmp_path / sweep.run_path(config)
    train(config, folder)
    assert is_trained(folder, config)
    held = json.loads((folder / "config.json").read_text())
    beta = held["hyperparameters"]["beta"]
    (folder / "config.json").write_text(json.dumps(held | {"hyperparameters": {"beta": 2 * beta}}))
    assert sweep.run_status(config, tmp_path, encode=False).state == "begun"
    (state,) = sweep.run([config], tmp_path, jobs=1, encode=False)
    assert state.state == "failed"
    assert f"a run with hyperparameters {{'beta': {2 * beta}}}" in state.error
    del held["hyperparameters"]["beta"]  # a setting that was added since has the default that it had all along
    (folder / "config.json").write_text(json.dumps(held))
    assert is_trained(folder, config)
    (folder / "config.json").unlink()
    assert not is_trained(folder, config)


@pytest.mark.whole
def test_runs_trained_together_on_jax(tiny, trained, tmp_path, monkeypatch):
    """Within rounding what TensorFlow makes of each alone; frozen layers stay to the last bit."""
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    shared = {"start_from": str(trained.folder), "frozen": ["encoder_2"], "reset": ["mean"]}
    configs = [tiny(seed=seed, hyperparameters={"beta": 1.0 + seed}, **shared) for seed in (1, 2, 3)]
    source = read_arrays(Snapshots(trained.folder).path(6) / "weights.npz")
    states = sweep.run(configs, tmp_path / "jax", jobs=1, together=2, encode=False)
    assert [state.state for state in states] == ["done"] * 3
    for config, state in zip(configs, states, strict=True):
        record = json.loads((tmp_path / "jax" / state.run / "run.json").read_text())
        assert "jax" in record["versions"]
        alone = train(config, tmp_path / "alone" / str(config.seed))
        found, expected = (
            read_arrays(Snapshots(folder).path(6) / "weights.npz")
            for folder in (tmp_path / "jax" / state.run, alone.folder)
        )
        for name, array in expected.items():
            np.testing.assert_allclose(found[name], array, atol=1e-4)
            assert (found[name] == source[name]).all() == ("encoder_2" in name), name


def test_without_a_terminal_a_sweep_is_one_short_line(tiny, tmp_path, monkeypatch, capsys):
    """25 runs that take a step a moment, as a program does that trains them together; a line may come amid a step."""
    configs = [tiny(seed=seed % 5, hyperparameters={"beta": float(seed // 5)}, steps=10**6) for seed in range(25)]
    said, whole = "", "steps of 25 runs"

    def stepping(tasks, *_):
        ((runs, into, _),) = tasks
        folders = [os.path.join(into, folder) for _, folder, _ in runs]
        for folder in folders:
            os.makedirs(folder)
            files.write_json(Path(folder) / "config.json", {})
        nonlocal said
        until, step = time.monotonic() + 30, 0
        while said.count(whole) < 2 and time.monotonic() < until:
            step += 1
            for place, folder in enumerate(folders):
                with open(os.path.join(folder, "history.jsonl"), "a", encoding="utf-8") as history:
                    history.write(json.dumps({"step": step, "loss": 1 + place / 10}) + "\n")
            time.sleep(0.02)
            said += capsys.readouterr().err

    monkeypatch.setattr(processes, "train", stepping)
    monkeypatch.setattr(sweep, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(console, "REPORT_SECONDS", 0.05)
    sweep.run(configs, tmp_path, together=25, encode=False)
    line = next(line for line in said.splitlines() if whole in line)
    assert len(line) < 80, line


def test_runs_are_divided_into_programs(tiny):
    configs = [tiny(seed=seed, latents=latents) for latents in (2, 3) for seed in range(3)]
    parts = [[(c.latents, c.seed) for c in part] for part in sweep._group_runs(configs, 2)]
    assert parts == [[(2, 0), (2, 1)], [(2, 2)], [(3, 0), (3, 1)], [(3, 2)]]
    assert [len(part) for part in sweep._group_runs(configs, 1)] == [1] * 6


def test_what_cannot_be_run(tiny, tmp_path):
    with pytest.raises(InvalidInput, match=r"runs of the sweep: expected each once, .*seed_0_\w{8} more than once"):
        sweep.run([tiny(), tiny()], tmp_path)
    with pytest.raises(InvalidInput, match="jobs: expected at least 1, received 0"):
        sweep.run([tiny()], tmp_path, jobs=0)
    with pytest.raises(UnknownName, match=r"dataset: .* Did you mean 'dsprites'"):
        sweep.run([tiny(dataset="sprites2e")], tmp_path)
    with (
        filelock.FileLock(tmp_path / ".lock"),
        pytest.raises(InvalidInput, match="expected a sweep that no other process is running, received one"),
    ):
        sweep.run([tiny()], tmp_path)
    with pytest.raises(InvalidInput, match="--gpus: expected 0 without --ray, received 1"):
        sweep.run([tiny()], tmp_path, gpus=1)
    with pytest.raises(Unavailable, match="img_align_celeba"):
        sweep.run([tiny(dataset="celeba/native")], tmp_path / "celeba")
    assert not (tmp_path / "index.csv").exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInput, match="file: expected a writable path"):
        sweep.run([tiny()], tmp_path / "file")


def test_the_command(tmp_path, monkeypatch, in_this_process):
    monkeypatch.chdir(tmp_path)
    command = "sweep smoke --only objective=beta_vae --only dataset=xysquares/spacing_1 --steps 1 --no-encode"
    done = CliRunner().invoke(cli.app, command.split(), catch_exceptions=False)
    assert done.exit_code == 0
    assert done.stdout.splitlines() == ["2 of 2 runs are done, 0 failed", os.path.join("runs", "smoke", "index.csv")]
    assert [row["steps"] for row in index(tmp_path / "runs/smoke").values()] == ["1", "1"]

    monkeypatch.setattr(processes, "train", lambda tasks, *_: None)
    encoded = [*command.removesuffix(" --no-encode").split(), "--only", "seed=1"]
    again = CliRunner().invoke(cli.app, encoded, catch_exceptions=False)
    assert again.exit_code == 1
    assert again.stdout.splitlines()[0] == "0 of 1 runs are done, 0 failed"


def test_every_run_of_every_sweep_can_draw_a_batch(monkeypatch):
    """As far as that can be known without the archives: SmallNORB's labels are those that its files must have."""

    def part_of(dataset, split):
        part = dataset.splits[split] if split else range(len(dataset))
        return np.arange(part.start, part.stop)

    left = benchmark_data.load("smallnorb/left_64_bilinear").space
    views = [range(size) for size in left.sizes]
    grids = [np.meshgrid(views[0], toys, *views[2:], indexing="ij") for toys in smallnorb.INSTANCES.values()]
    table = np.concatenate([np.stack(grid, axis=-1).reshape(-1, len(views)) for grid in grids])
    monkeypatch.setitem(vars(left), "_table", table)
    monkeypatch.setattr(batches, "training_rows", lambda data, _, split: part_of(data, split)[:1000])  # no shuffling
    configs = {(run.dataset, run.split, run.objective): run for name in NAMES for run in sweep.find(name)}
    assert ("smallnorb/left_64_bilinear", "train", "ada_gvae") in configs
    for config in configs.values():
        dataset = benchmark_data.load(config.dataset)
        part = part_of(dataset, config.split)
        with batches.batches([dataclasses.replace(config, steps=1, snapshots=[])], dataset, [0], images=False) as feed:
            for (batch,) in feed:
                assert np.isin(batch["rows"], part).all(), config


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is on Linux alone")
def test_a_closed_standard_error_is_not_the_pipe_of_answers():
    """What TensorFlow logs was taken for an answer: half of the runs were ended, and nothing failed."""
    code = """if True:
        import os
        from baselines.training import processes
        process = processes._start_worker(1, set())
        print(os.readlink(f"/proc/{process.pid}/fd/2"))
        process.kill()
        process.communicate()
    """
    shell = ["sh", "-c", 'exec "$@" 2>&-', "sh", sys.executable, "-c", code]
    assert subprocess.run(shell, stdout=subprocess.PIPE, text=True, check=True).stdout == f"{os.devnull}\n"
