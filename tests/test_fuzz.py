"""Some hundred damaged files, always the same ones, at every public door. By hand: ``python tests/fuzz.py``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux alone")
def test_damaged_files_are_refused_in_the_projects_words():
    command = [sys.executable, "-m", "tests.fuzz", "--cases", "200", "--minutes", "10"]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, check=False)
    assert not done.returncode, done.stdout + done.stderr[-2_000:]
