from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from leaderboard.metrics import linear_identifiability

FILE = Path(__file__).parents[2] / "fixtures" / "beyond_pixels.json"
CASE = json.loads(FILE.read_text("utf-8"))["linear_identifiability"]


def test_it_equals_the_authors_code():
    found = linear_identifiability.score(CASE["codes"], CASE["factors"])
    assert found["linear_identifiability"] == pytest.approx(CASE["r2_hz"], abs=1e-9)
    assert found["codes_explained"] == pytest.approx(CASE["r2_zh"], abs=1e-9)
    assert found["orthogonality_error"] == pytest.approx(CASE["orth_err_normalized"], abs=1e-9)


def test_a_rotation_is_orthogonal_and_a_shear_is_not():
    factors = np.stack(np.meshgrid(range(5), range(4), indexing="ij"), -1).reshape(-1, 2)
    z = (factors - factors.mean(axis=0)) / factors.std(axis=0)
    turn = np.array([[0.6, 0.8], [-0.8, 0.6]])
    assert linear_identifiability.score(z @ turn, factors)["orthogonality_error"] == pytest.approx(0, abs=1e-9)
    sheared = linear_identifiability.score(z @ np.array([[1.0, 1.0], [0.0, 1.0]]), factors)
    assert sheared["linear_identifiability"] == pytest.approx(1)
    assert sheared["orthogonality_error"] == pytest.approx(np.sqrt(3 / 2))
    nothing = linear_identifiability.score(np.zeros((20, 3)), factors)
    assert nothing == {"linear_identifiability": 0.0, "codes_explained": 0.0, "orthogonality_error": 1.0}
