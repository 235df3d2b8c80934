"""The smallest run there is, trained once for every module that looks at one."""

from __future__ import annotations

import dataclasses

import pytest

from baselines import RunConfig, objectives, train
from baselines.training import processes, worker
from leaderboard import protocol

TINY = {
    "dataset": "xysquares/spacing_1",
    "objective": "beta_vae",
    "architecture": "fc",
    "architecture_parameters": {"width": 8},
    "latents": 3,
    "steps": 6,
    "batch_size": 4,
    "snapshots": [0, 4],
    "history_every": 2,
}


@pytest.fixture(scope="session")
def tiny():
    """Make a config that differs from the smallest one in the given fields."""
    return lambda **changes: RunConfig(**TINY | changes)


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """The run of the smallest config. Nothing may write to its folder: the last test with it would fail for it."""
    run = train(RunConfig(**TINY), tmp_path_factory.mktemp("runs") / "tiny")
    before = sorted(run.folder.rglob("*"))
    yield run
    assert sorted(run.folder.rglob("*")) == before, "a test wrote to the run that all share"


@pytest.fixture
def few_rows(monkeypatch):
    """Let DCI of tier desk learn from 400 rows, not 10,000: its trees take seconds for each model."""
    desk = protocol.tier("desk")
    fewer = [dataclasses.replace(one, train=400, test=200) if one.metric == "dci" else one for one in desk.measurements]
    tiers = {**protocol.TIERS, "desk": dataclasses.replace(desk, measurements=tuple(fewer))}
    monkeypatch.setattr(protocol, "TIERS", tiers)


@pytest.fixture
def in_this_process(monkeypatch):
    """Let sweeps train here. A worker process takes seconds to load TensorFlow; test_sweep.py is about those."""
    for name, value in worker.thread_limits(1).items():
        monkeypatch.setenv(name, value)  # and away again
    monkeypatch.setattr(processes, "train", lambda tasks, *_: [worker.work(*task, 1) for task in tasks])


@pytest.fixture(scope="session")
def some_objectives(request):
    """Some objectives, for tests that compile programs for each of them; with ``--whole`` all.

    One with a network of its own, one on pairs, one without a decoder and one on labels.
    """
    some = ["factor_vae", "ada_gvae", "lejepa", "classifier"]
    return list(objectives.names()) if request.config.getoption("--whole") else some
