"""What was written before files moved to their rooms still reads: a run folder of version 0.1.0.

That published results do is for tests/contracts/test_results.py.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from baselines.run import Run
from leaderboard import protocol
from leaderboard.scoring import candidates

FIXTURES = Path(__file__).parents[1] / "fixtures"
FOLDER = FIXTURES / "run_0.1.0"


def test_a_run_folder_opens_and_encodes_as_it_did():
    # What version 0.1.0 printed, on TensorFlow 2.21, of the folder that it had just trained.
    before = json.loads((FIXTURES / "run_0.1.0.json").read_text())
    run = Run.open(FOLDER)
    assert run.steps == [2, 4]
    assert [row["step"] for row in run.history] == [1, 2, 4]
    assert np.asarray(run.encode(run.dataset.images(before["rows"])).mean) == pytest.approx(
        np.array(before["mean"]), rel=1e-4, abs=1e-6
    )


def test_its_codes_are_read_by_the_judge():
    run = candidates.load(FOLDER)
    assert (run.record.method, run.record.dataset, run.record.seed) == ("beta_vae", "dsprites", 0)
    assert run.codes.shape == (len(protocol.task("dsprites").indices), 2)
