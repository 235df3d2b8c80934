"""No test reaches what the user keeps: see conftest.py at the root."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import platformdirs
import pytest

from benchmark_data.archives import store

ROOT = Path(__file__).parents[1]


def test_every_folder_of_the_user_is_one_of_the_test_run(pytestconfig):
    home = Path(os.environ["OFFAXIS_TEST_HOME"])
    assert Path.home() == home
    assert Path(platformdirs.user_cache_dir("offaxis")).is_relative_to(home)
    if not pytestconfig.getoption("--prepared"):
        assert store.root().is_relative_to(home)


def test_tensorflow_datasets_and_hugging_face_write_to_it():
    tfds = pytest.importorskip("tensorflow_datasets")
    hub = pytest.importorskip("huggingface_hub")
    datasets = pytest.importorskip("datasets")
    home = os.environ["OFFAXIS_TEST_HOME"]
    for place in (tfds.core.constants.DATA_DIR, hub.constants.HF_HOME, datasets.config.HF_DATASETS_CACHE):
        assert Path(os.path.expanduser(place)).is_relative_to(home), place


@pytest.mark.parametrize("workers", [(), ("--numprocesses", "1")], ids=["alone", "a worker"])
def test_the_light_lane_leaves_out_what_it_says(tmp_path, workers):
    (tmp_path / "conftest.py").write_text((ROOT / "conftest.py").read_text("utf-8"), "utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", "utf-8")
    (tmp_path / "test_it.py").write_text(
        "import subprocess, sys\n"
        "def test_light(): import json\n"
        "def test_heavy(): import keras\n"
        "def test_program(): subprocess.run([sys.executable, '-c', ''])\n",
        "utf-8",
    )
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "--light", "-p", "no:cacheprovider", *workers, tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert "1 passed, 2 skipped" in done.stdout, done.stdout + done.stderr
    assert "needs keras, which --light leaves out" in done.stdout
