from __future__ import annotations

import numpy as np
import pytest

from benchmark_data import InvalidInput
from leaderboard.doubts import LostSpread
from leaderboard.metrics import omes

SIZES = (5, 6, 8)


def make(kind, seed=0):
    """Make the codes that the reference was run on: a whole grid and five latents."""
    rng = np.random.default_rng(seed)
    factors = np.stack(np.meshgrid(*map(range, SIZES), indexing="ij"), -1).reshape(-1, 3)
    centred = (factors - (np.array(SIZES) - 1) / 2) / ((np.array(SIZES) - 1) / 2)
    noise = rng.normal(size=(len(factors), 5))
    if kind == "aligned":
        codes = 0.1 * noise
        codes[:, :3] += centred
    elif kind == "mixed":
        codes = np.tanh(centred @ rng.normal(size=(3, 5))) + 0.1 * noise
    elif kind == "noise":
        codes = noise
    else:  # collapsed: the third factor is nowhere
        codes = 1e-3 * noise
        codes[:, 0] += centred[:, 0] + 0.2 * noise[:, 0]
        codes[:, 1] += centred[:, 1]
    return codes, factors


def test_all_pairs_score_within_the_spread_of_the_pairs_that_the_reference_draws(recorded):
    """Ten of its seeds."""
    for kind, expected, _ in recorded("dapueto2024"):
        codes, factors = make(kind)
        for key, (_, low, high) in expected.items():
            alpha = float(key.removesuffix("_avg"))
            assert low <= omes.score(codes, factors, alpha=alpha)["omes"] <= high, (kind, key)


# By the reference's disentanglement_score of this matrix.
MATRIX = np.array([[0.9, 0.1, 0.0], [0.2, 0.5, 0.3], [0.0, 0.05, 0.8], [0.4, 0.0, 0.1]])
OF_MATRIX = {
    0.5: 0.45871314102564104,
    1.0: 0.4653333333333334,
    0.0: 0.45209294871794875,
}


@pytest.mark.parametrize("alpha", OF_MATRIX)
def test_the_score_of_a_matrix_equals_the_reference(monkeypatch, alpha):
    monkeypatch.setattr(omes, "_encoding_matrix", lambda *_: MATRIX)
    found = omes.score(np.zeros((2, 1)), np.array([[0], [1]]), alpha=alpha)["omes"]
    assert found == pytest.approx(OF_MATRIX[alpha], abs=1e-12)


def test_the_matrix_equals_that_of_all_pairs_written_out():
    rng = np.random.default_rng(0)
    factors = rng.integers(0, [3, 4], size=(60, 2))
    codes = factors @ rng.normal(size=(2, 3)) + rng.normal(size=(60, 3))
    found = omes._encoding_matrix(codes, factors)
    for f in range(2):
        pairs = [
            (i, j)
            for i in range(60)
            for j in range(60)
            if factors[i, f] != factors[j, f] and factors[i, 1 - f] == factors[j, 1 - f]
        ]
        i, j = np.array(pairs).T
        for d in range(3):
            assert found[d, f] == pytest.approx(1 - abs(np.corrcoef(codes[i, d], codes[j, d])[0, 1]), abs=1e-9)


def test_a_latent_that_is_the_same_in_all_pairs_of_a_factor_does_not_encode_it():
    """The first two rows differ in the first factor alone; rows 0, 2 and 3 in the second, which correlate by -1 / 2."""
    factors, codes = np.array([[0, 0], [1, 0], [0, 1], [0, 2]]), np.array([[0.0], [0.0], [1.0], [2.0]])
    np.testing.assert_allclose(omes._encoding_matrix(codes, factors), [[0.0, 0.5]], atol=1e-12)


def test_perfect_codes_of_few_values_score_less_than_noise():
    """A latent of K values correlates by -1 / (K - 1) over pairs that differ: with two values, not at all encoded."""
    factors = np.stack(np.meshgrid(range(2), range(2), indexing="ij"), -1).reshape(-1, 2).repeat(50, axis=0)
    assert omes.score(factors, factors)["omes"] == pytest.approx(0.0, abs=1e-12)
    noise = np.random.default_rng(0).normal(size=factors.shape)
    assert omes.score(noise, factors)["omes"] == pytest.approx(0.5, abs=0.05)


def test_latents_that_hardly_vary_are_left_out():
    codes, factors = make("collapsed")
    assert omes._encoding_matrix(codes, factors).shape == (2, 3)
    with pytest.warns(LostSpread, match=r"codes: every standard deviation is below 0\.05"):
        assert set(omes.score(0.01 * codes, factors).values()) == {0.0}


def test_bad_input():
    grid = make("noise")[1]
    with pytest.raises(InvalidInput, match=r"alpha: expected a number in \[0, 1\], received 1.5"):
        omes.score(grid, grid, alpha=1.5)
    with pytest.raises(
        InvalidInput, match=r"pairs of rows that differ in one factor alone.*received none for column 0"
    ):
        omes.score(np.eye(4), np.stack([np.arange(4), np.arange(4)], axis=1))
