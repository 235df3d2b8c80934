from __future__ import annotations

import numpy as np
import pytest

from leaderboard.metrics import jemmig


def test_it_equals_the_reference(recorded):
    for name, expected, (codes, factors, *_) in recorded("carbonneau2022"):
        for bins in (10, 20):
            found = jemmig.score(codes, factors, bins=bins)["jemmig"]
            assert found == pytest.approx(expected[f"jemmig_{bins}"], abs=1e-6), name


GRID = np.stack(np.meshgrid(range(2), range(4), indexing="ij"), -1).reshape(-1, 2)


def test_by_hand():
    # One latent that is the second factor: for that one the joint entropy is all mutual information, so 1. A copy makes
    # the second best know as much: 1 - ln 4 / (ln 4 + ln 16) = 2 / 3. Nothing is known of the first factor: 0.
    assert jemmig.score(GRID[:, 1:], GRID, bins=16)["jemmig"] == pytest.approx(1 / 2)
    assert jemmig.score(GRID[:, [1, 1]], GRID, bins=16)["jemmig"] == pytest.approx(1 / 3)


def test_constant_codes_score_nothing_where_the_formula_would_reward_their_low_entropy():
    assert jemmig.score(np.zeros((8, 2)), GRID) == {"jemmig": 0.0}


def test_of_latents_that_know_as_much_the_one_that_holds_the_least_counts():
    v = np.stack(np.meshgrid(range(3), range(4), indexing="ij"), -1).reshape(-1, 2).repeat(20, 0)
    z = np.c_[v[:, 0], v[:, 1], v[:, 0] * 4 + v[:, 1]] * 1.0
    assert jemmig.score(z, v) == jemmig.score(z[:, [2, 1, 0]], v)


def test_a_latent_that_is_independent_of_the_factor_knows_nothing_of_it():
    grid = np.stack(np.meshgrid(range(2), range(5), range(7), indexing="ij"), -1).reshape(-1, 3)
    assert jemmig.score(grid[:, 1:2] * 1.0, grid[:, :1]) == {"jemmig": 0.0}
