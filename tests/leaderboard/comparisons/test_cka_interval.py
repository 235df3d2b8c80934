from __future__ import annotations

import numpy as np
import pytest

from benchmark_data import InvalidInput
from leaderboard.comparisons import cka, cka_interval


def sample(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4))
    return x, x @ np.diag([1.0, 0.5, 0, 0]) + 0.5 * rng.normal(size=(n, 4))


def test_the_interval_holds_the_true_similarity_in_nearly_all_samples():
    truth = cka.compare(*sample(200_000, 0))
    found = [cka_interval.compare(*sample(400, seed), resamples=100) for seed in range(1, 61)]
    held = sum(each.low <= truth <= each.high for each in found)
    assert held >= 51  # of 60; fewer once in 1,000 where the chance is 0.95
    assert all(each.high - each.low < 0.2 for each in found)


def test_the_interval_of_unrelated_layers_holds_0_however_many_columns():
    found = [cka_interval.compare(*np.random.default_rng(seed).normal(size=(2, 200, 50))) for seed in range(9)]
    assert sum(each.low == 0 for each in found) >= 7  # of 9; fewer once in 100 where the chance is 0.95
    assert all(each.high < 0.1 for each in found)


def test_the_interval_of_wide_layers_holds_the_true_similarity(monkeypatch):
    def wide(n, seed):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(n, 100))
        return x, x + 0.7 * rng.normal(size=(n, 100))

    truth = cka.compare(*wide(20_000, 0))
    found = [cka_interval.compare(*wide(100, seed), resamples=50) for seed in range(1, 41)]
    assert sum(each.low <= truth <= each.high for each in found) >= 33  # of 40; fewer once in 1,000


def test_layers_that_are_orthogonal_have_an_interval():
    x, y = np.array([[1.0], [-1], [1], [-1]] * 25), np.array([[1.0], [1], [-1], [-1]] * 25)
    value, low, high = cka_interval.compare(x, y)
    assert 0 <= low <= value < 1e-12 < high < 0.1  # rounding differs between processors


def test_the_ceiling_is_reached_by_the_mean_of_the_gram_matrices():
    seeds = [sample(100, 0)[0], *sample(100, 1)]
    centred = [z - z.mean(axis=0) for z in seeds]
    best = np.concatenate([z / np.sqrt(np.linalg.norm(z @ z.T)) for z in centred], axis=1)
    assert cka_interval.ceiling(seeds) == pytest.approx(np.mean([cka.compare(best, z) for z in seeds]))
    assert cka_interval.ceiling([seeds[0]] * 3) == pytest.approx(1)
    for other in seeds:
        assert np.mean([cka.compare(other, z) for z in seeds]) <= cka_interval.ceiling(seeds)
    collapsed = 0 * seeds[0]
    assert cka_interval.ceiling([seeds[0], collapsed]) == pytest.approx(0.5), "that of the first, (1 + 0) / 2"
    assert cka_interval.ceiling([collapsed, collapsed]) == 0
    with pytest.raises(InvalidInput, match="seeds: expected two or more, received 1"):
        cka_interval.ceiling(seeds[:1])
    with pytest.raises(InvalidInput, match="resamples: expected at least 2, received 1"):
        cka_interval.compare(*seeds[:2], resamples=1)
    for wrong in (2.5, "x", True):
        with pytest.raises(InvalidInput, match="resamples: expected an integer, at least 2, received "):
            cka_interval.compare(*seeds[:2], resamples=wrong)
