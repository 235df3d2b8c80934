"""What happens where the optional packages are not installed."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import importlib, pkgutil, sys

for package in ("pydantic", "numba", "matplotlib", "jinja2", "pyarrow", "safetensors", "onnxruntime", "ray", "keras"):
    sys.modules[package] = None

import leaderboard
from benchmark_data import MissingExtra

for module in pkgutil.walk_packages(leaderboard.__path__, "leaderboard."):
    try:
        importlib.import_module(module.name)
        print(module.name, "imported")
    except MissingExtra as error:
        print(module.name, error)
"""


def test_every_module_is_imported_or_names_the_extra():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    assert lines["leaderboard.commands.board"] == lines["leaderboard.metrics.dci"] == "imported"
    for module in ("store.results", "scoring.submission", "scoring.candidates"):
        assert "pip install 'offaxis[board]'" in lines[f"leaderboard.{module}"]
