"""Training on Ray: of two nodes one dies half-way and nothing is lost; a study's numbers are those of a local run."""

from __future__ import annotations

import dataclasses
import json
import threading
import time

import pytest

from baselines.reproduction import catalogue, entries, runner
from baselines.run_folder import read_history
from baselines.training import sweep, worker
from benchmark_data import parallel

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'offaxis[cluster]'")

pytestmark = pytest.mark.whole  # clusters of two nodes, one of which is killed: they take both cores

PARTS = ("weights", "optimiser")


def test_a_node_that_dies_half_way_loses_nothing(cluster, tiny, tmp_path, monkeypatch):
    second = cluster.add_node(num_cpus=1, object_store_memory=10**8)
    doomed, begun, into = second.node_id, tmp_path / "begun", tmp_path / "sweep"
    configs = [tiny(seed=seed, steps=40, snapshots=[10], history_every=1) for seed in (1, 2, 3)]
    last = time.time() + 120  # not to wait for ever
    real = worker.train_runs

    def watched(runs, *options):
        import itertools
        import time

        import ray

        from benchmark_data.dataset import Dataset

        if ray.get_runtime_context().get_node_id() == doomed:
            images, calls = Dataset.images, itertools.count()

            def slow(dataset, rows):
                if len(rows) == 4 and next(calls) == 30:  # a batch that is far from the first and from the last
                    begun.write_text(runs[0][1])
                    time.sleep(600)  # until the node is killed
                return images(dataset, rows)

            Dataset.images = slow
        while not begun.exists() and time.time() < last and ray.get_runtime_context().get_node_id() != doomed:
            time.sleep(0.01)
        real(runs, *options)

    watched.__module__ = "__main__"  # travels by value: the nodes cannot import this module
    monkeypatch.setattr(worker, "train_runs", watched)
    over = threading.Event()
    steps = []

    def kill():
        while not (begun.exists() or over.wait(0.01)):
            pass
        if begun.exists():
            history = into / begun.read_text() / "history.jsonl"
            while len(read_history(history, until=40)) < 20 and time.time() < last:
                time.sleep(0.01)
            steps.append(len(read_history(history, until=40)))
        cluster.remove_node(second, allow_graceful=False)

    killer = threading.Thread(target=kill)
    with parallel.on_ray(cluster.address):
        assert len([node for node in ray.nodes() if node["Alive"]]) == 2
        killer.start()
        try:
            states = sweep.run(configs, into, ray=cluster.address, encode=False)
        finally:
            over.set()
            killer.join()
    if not begun.exists():
        pytest.skip("Ray gave the node that dies no task in time")
    assert begun.read_text() in {state.run for state in states}
    assert 20 <= steps[0] < 40, "the node died in the middle of this run"
    assert [(state.state, state.step, state.error) for state in states] == [("done", 40, "")] * 3
    monkeypatch.setattr(worker, "train_runs", real)
    whole = tmp_path / "whole"
    assert len(sweep.run(configs, whole, jobs=1, threads=1, encode=False)) == 3
    for state in states:
        files = ["history.jsonl"]
        files += [f"snapshots/step_{step}/{part}.npz" for step in ("00000010", "00000040") for part in PARTS]
        for file in files:
            assert (into / state.run / file).read_bytes() == (whole / state.run / file).read_bytes()


def test_a_study_trains_on_ray(cluster, tiny, tmp_path, monkeypatch):
    """A run, and transfers that start from it, with one thread here as there: last bits depend on their number, and a
    transfer's noise on the last bits of the weights that it starts from."""
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")  # the cores that joblib counts, and a sweep shares out
    source, target = tiny(), "xysquares/spacing_8"
    transfers = tuple(
        entries.Transfer(source=source, dataset=target, heads=heads, decoder=layers, changes={"steps": 2})
        for layers in (1, 4)
        for heads in (False, True)
    )
    plan = entries.Plan(runs=(source,), transfers=transfers, settings={"transfers": transfers, "images": 9, "shown": 2})
    entry = dataclasses.replace(catalogue.entries()["2304.10767/fig6"], desk=plan)
    with parallel.on_ray(cluster.address):
        there = runner.run(entry, "desk", tmp_path / "there", tmp_path / "there" / "runs", ray=cluster.address)
    here = runner.run(entry, "desk", tmp_path / "here", tmp_path / "here" / "runs", jobs=1)
    assert there["budget"]["runs"] == 5
    assert there["judged"] == here["judged"]
    assert there["files"]["table.csv.gz"] == here["files"]["table.csv.gz"]


def test_groups_of_runs_share_simulated_gpus(cluster, tiny, tmp_path, monkeypatch):
    """Two GPUs that Ray believes in, half of one for each task: five runs in groups of two, each one program of jax."""
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    node = cluster.add_node(num_cpus=2, num_gpus=2, object_store_memory=10**8)
    seen, into = tmp_path / "seen", tmp_path / "sweep"
    seen.mkdir()
    real = worker.train_runs

    def watched(runs, *options):
        import json
        import os

        found = {"gpus": os.environ["CUDA_VISIBLE_DEVICES"], "runs": len(runs), "options": options[3:]}
        real(runs, *options)
        import sys

        found["memory"] = os.environ["XLA_PYTHON_CLIENT_MEM_FRACTION"]
        found["tensorflow"] = "tensorflow" in sys.modules
        (seen / runs[0][2]).write_text(json.dumps(found))

    watched.__module__ = "__main__"
    monkeypatch.setattr(worker, "train_runs", watched)
    configs = [tiny(seed=seed, hyperparameters={"beta": float(seed)}) for seed in range(1, 6)]
    try:
        states = sweep.run(configs, into, ray=cluster.address, gpus=0.5, together=2, device="cpu", encode=False)
        tasks = [json.loads(path.read_text()) for path in seen.iterdir()]
        assert [(state.state, state.step, state.error) for state in states] == [("done", 6, "")] * 5
        assert sorted(task["runs"] for task in tasks) == [1, 2, 2]
        assert {task["gpus"] for task in tasks} <= {"0", "1"}
        for task in tasks:
            assert task["options"] == ["cpu", 0.5]
            assert task["memory"] == "0.450"
            assert not task["tensorflow"]
        (silent,) = sweep.run(configs[:1], tmp_path / "silent", ray=cluster.address, gpus=0.5, encode=False)
        assert silent.state == "failed"
        assert silent.error.startswith("--device gpu: expected a GPU that jax can use, received")
    finally:
        cluster.remove_node(node)
