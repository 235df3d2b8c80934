"""The benchmark of similarities for the day there is a GPU runs on a processor, with small layers."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "benchmarks" / "similarity.py"


def test_cka_on_a_device_beside_each_pair_by_itself():
    pytest.importorskip("jax")
    command = [sys.executable, SCRIPT, "--backend", "jax", "--samples", "2048", "--shrink", "32", "--memory", "0.1"]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = [line.split("|")[1:-1] for line in done.stdout.splitlines() if line.startswith("|")]
    assert [row[0].strip() for row in rows] == ["all pairs at once, on the GPU", "each pair directly, on the GPU"]
    text = " ".join(done.stdout.split())
    assert float(re.search(r"greatest difference (\S+);", text)[1]) < 1e-4  # two float32 computations of numbers near 1
    assert "hours for the Gram matrices" in text
