"""What several test modules share: golden files, compared or, with ``--update-golden``, rewritten; a Ray cluster."""

from __future__ import annotations

import importlib
import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from benchmark_data import draws

GOLDEN = Path(__file__).parent / "golden"


def pytest_addoption(parser):
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden files instead of comparing")
    parser.addoption(
        "--also",
        type=Path,
        metavar="FOLDER",
        help="test the files in FOLDER/datasets, FOLDER/objectives and FOLDER/metrics as if they were in the packages",
    )
    parser.addoption("--registry", action="store_true", help="ask the package index whether the extras can be had")
    parser.addoption("--kills", type=int, default=4, help="how often the run of test_resume.py is killed")


FOLDERS = {
    "datasets": "benchmark_data.datasets",
    "objectives": "baselines.objectives",
    "metrics": "leaderboard.metrics",
}
"""Where what is discovered lies."""


def pytest_configure(config):
    folder = config.getoption("--also")
    if folder:
        for name, package in FOLDERS.items():
            importlib.import_module(package).__path__.append(str(folder.resolve() / name))


@pytest.fixture
def golden_sheet(request):
    """Compare 4 x 8 fixed images of a dataset, chosen by the counter-based generator, with a PNG pixel by pixel."""

    def check(dataset, name):
        rows = draws.permutation(1, len(dataset))[:32]
        height, width, channels = dataset.image_shape
        grid = dataset.images(rows).reshape(4, 8, height, width, channels).swapaxes(1, 2)
        sheet = grid.reshape(4 * height, 8 * width, channels).squeeze()
        path = GOLDEN / f"{name}.png"
        if request.config.getoption("--update-golden"):
            Image.fromarray(sheet).save(path, optimize=True)
        with Image.open(path) as picture:
            assert np.array_equal(np.asarray(picture), sheet), f"{path.name} differs: look at it before updating it"

    return check


@pytest.fixture(scope="module")
def cluster():
    """A cluster on this machine, of one node with one core.

    A node that dies is missed after some ten seconds, one that is slow to answer because others need the processor
    after minutes. Workers get their share of it: Ray would give them the lowest priority but four.
    """
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'offaxis[cluster]'")
    from ray.cluster_utils import Cluster

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    missed = {
        "health_check_initial_delay_ms": 1000,
        "health_check_period_ms": 1000,
        "health_check_failure_threshold": 10,
        "health_check_timeout_ms": 60_000,
        "worker_niceness": 0,
    }
    node = {"num_cpus": 1, "include_dashboard": False, "object_store_memory": 10**8, "_system_config": missed}
    made = Cluster(initialize_head=True, head_node_args=node)
    yield made
    made.shutdown()
