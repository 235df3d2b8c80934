"""The smallest run there is, trained once for every module that looks at one."""

from __future__ import annotations

import contextlib
import functools
import os

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
    """Let tasks have 600 rows, not 15,000, which take seconds to encode and to score for each model."""
    monkeypatch.setattr(protocol, "TRAIN", 400)
    monkeypatch.setattr(protocol, "TEST", 200)
    monkeypatch.setattr(protocol, "task", functools.cache(protocol.task.__wrapped__))


def train_here(patch):
    for name, value in worker.thread_limits(1).items():
        patch.setenv(name, value)  # and away again
    patch.setattr(
        processes,
        "train",
        lambda tasks, jobs, threads, device, in_all: [worker.train_runs(*task, 1, device) for task in tasks],
    )


@contextlib.contextmanager
def training_here():
    with pytest.MonkeyPatch.context() as patch:
        train_here(patch)
        yield


@pytest.fixture
def in_this_process(monkeypatch):
    """Let sweeps train here. A worker process takes seconds to load TensorFlow; test_sweep.py is about those.

    By the test's own patches: those of another context would be undone before them, and put back by them.
    """
    train_here(monkeypatch)


@pytest.fixture(scope="session")
def sweeps_here():
    """The same as a context, for what a module makes once."""
    return training_here


@pytest.fixture(scope="session")
def jax_on_cpu():
    """The environment of a process that computes on jax. Compiling its programs would take longer than running them."""
    flags = "--xla_cpu_use_fusion_emitters=false"  # they take a third of the rest
    quick = {"JAX_DISABLE_MOST_OPTIMIZATIONS": "1", "XLA_FLAGS": flags}
    return {**os.environ, "KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu", **quick}


@pytest.fixture(scope="session")
def some_objectives(request):
    """Some objectives, for tests that compile programs for each of them; with ``--whole`` all.

    One with a network of its own, one on pairs, one without a decoder and one on labels.
    """
    some = ["factor_vae", "ada_gvae", "lejepa", "classifier"]
    return list(objectives.names()) if request.config.getoption("--whole") else some
