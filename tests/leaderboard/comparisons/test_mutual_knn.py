from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmark_data import InvalidInput
from leaderboard.comparisons import mutual_knn

CASE = json.loads((Path(__file__).parents[2] / "fixtures" / "beyond_pixels.json").read_text("utf-8"))["mutual_knn"]


@pytest.mark.parametrize("k", [1, 5, 10])
def test_it_equals_the_authors_code_on_rows_of_length_1(k):
    x, y = (np.array(CASE[name]) for name in ("x", "y"))
    x, y = (z / np.linalg.norm(z, axis=1, keepdims=True) for z in (x, y))
    assert mutual_knn.compare(x, y, k=k) == pytest.approx(CASE[str(k)], abs=1e-6)


def test_unrelated_representations_agree_by_chance():
    x, y = np.random.default_rng(0).normal(size=(2, 1000, 4))
    assert mutual_knn.compare(x, y) == pytest.approx(10 / 999, abs=0.005)


def test_too_many_neighbours_are_refused():
    with pytest.raises(InvalidInput, match="expected at least 11 samples, received 10"):
        mutual_knn.compare(np.eye(10), np.eye(10))
    with pytest.raises(InvalidInput, match="k: expected at least 1 neighbour, received 0"):
        mutual_knn.compare(np.eye(10), np.eye(10), k=0)
