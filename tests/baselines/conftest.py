"""The smallest run there is, trained once for every module that looks at one."""

from __future__ import annotations

import pytest

from baselines import RunConfig, train

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
