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


@pytest.mark.parametrize("levels", [2, 4])
def test_rounding_does_not_choose_among_samples_that_are_equally_near(levels):
    rng = np.random.default_rng(0)
    x = rng.integers(0, levels, (400, 3)).astype(float)
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    one_hot = np.eye(20)[rng.integers(0, 20, 400)]
    far = x + 100 * rng.integers(0, 2, (400, 1))
    for codes, same in (
        (x, 1.1 * x),
        (x, x[:, ::-1]),
        (x, x @ turn + 5),
        (far, far @ turn + 5),
        (one_hot, one_hot[:, rng.permutation(20)]),
    ):
        assert mutual_knn.compare(codes, same) == 1.0


def test_ties_go_to_the_first_samples_and_every_sample_has_k_neighbours():
    x = np.array([[0.0], [1.0], [-1.0], [1.0], [-1.0]])
    assert [np.flatnonzero(row).tolist() for row in mutual_knn._nearest_mask(x, 2)] == [
        [1, 2],
        [0, 3],
        [0, 4],
        [0, 1],
        [0, 2],
    ]


def test_neighbours_are_found_in_groups_that_are_far_apart():
    rng = np.random.default_rng(0)
    group, inner = rng.integers(0, 2, 400), rng.normal(size=(400, 5))
    assert mutual_knn.compare(np.c_[group, 1e-5 * inner], np.c_[10 * group, inner]) == 1.0


def test_a_far_sample_does_not_blur_the_others():
    x = np.random.default_rng(0).normal(size=(300, 3))
    x[0] *= 1e5
    truth = np.linalg.norm(x[:, None] - x[None], axis=2) + np.diag(np.full(300, np.inf))
    expected = np.zeros((300, 300), bool)
    np.put_along_axis(expected, truth.argsort(axis=1)[:, :10], True, axis=1)
    assert (mutual_knn._nearest_mask(x, 10) == expected).mean() > 0.9999


def test_too_many_neighbours_are_refused():
    with pytest.raises(InvalidInput, match="expected at least 11 samples, received 10"):
        mutual_knn.compare(np.eye(10), np.eye(10))
    with pytest.raises(InvalidInput, match="k: expected at least 1, received 0"):
        mutual_knn.compare(np.eye(10), np.eye(10), k=0)


@pytest.mark.parametrize("k", [2.5, "a", True])
def test_k_is_an_integer(k):
    with pytest.raises(InvalidInput, match="k: expected an integer, at least 1, received "):
        mutual_knn.compare(np.eye(10), np.eye(10), k=k)
