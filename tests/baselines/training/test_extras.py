"""What the extras for training install: CUDA where it is asked for, and nowhere else."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from baselines.engines import devices

ROOT = Path(__file__).parents[3]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]


def requirements(extra):
    """What an extra asks for, with the extras that it names in place of their names."""
    found = []
    for requirement in EXTRAS[extra]:
        inner = re.fullmatch(r"offaxis\[(.+)\]", requirement)
        found += [each for name in inner[1].split(",") for each in requirements(name)] if inner else [requirement]
    return found


def test_cuda_comes_with_its_own_extras_alone():
    named = {extra: " ".join(requirements(extra)) for extra in EXTRAS}
    assert {extra for extra, text in named.items() if "cuda" in text} == {"gpu", "tensorflow-gpu"}
    assert "tensorflow" not in named["gpu"]
    assert "tensorflow-cpu" not in named["tensorflow-gpu"]  # the same files as tensorflow's
    for command in devices.INSTALL.values():
        assert re.search(r"offaxis\[(.+)\]", command)[1] in EXTRAS


@pytest.mark.parametrize(
    ("extra", "wanted", "unwanted"),
    [
        ("train", "tensorflow-cpu", ("jax-cuda12-plugin", "nvidia-cudnn-cu12")),
        ("gpu", "jax-cuda12-plugin", ("tensorflow", "tensorflow-cpu")),
        ("tensorflow-gpu", "nvidia-cudnn-cu12", ("tensorflow-cpu", "jax")),
    ],
)
def test_pip_finds_all_of_an_extra(extra, wanted, unwanted, request, tmp_path):
    if not request.config.getoption("--registry"):
        pytest.skip("asks the package index, for a minute or two: pytest --registry")
    if not sys.platform.startswith("linux"):
        pytest.skip("CUDA is for Linux")
    report = tmp_path / "report.json"
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--only-binary", ":all:"]
    options = ["--quiet", "--retries", "1", "--report", report]
    done = subprocess.run([*command, *options, *requirements(extra)], capture_output=True, text=True, check=False)
    if re.search("Connection|Network is unreachable|Temporary failure|No matching distribution found for", done.stderr):
        pytest.skip(f"the package index did not answer: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    names = {each["metadata"]["name"].lower().replace("_", "-") for each in json.loads(report.read_text())["install"]}
    assert wanted in names
    assert not names.intersection(unwanted)
