from __future__ import annotations

import numpy as np
import pytest

from benchmark_data import InvalidInput
from leaderboard.metrics import irs


def straightforward(z, factors, quantile=0.99):
    """The published formula with a loop over factors, values and latents."""
    scores, weights = [], []
    for latent in z.T.astype(float):
        greatest = np.abs(latent - latent.mean()).max()
        best = 0.0
        for v in factors.T:
            edges = np.histogram(v, 20)[1]
            ids = np.digitize(v, edges[:-1])
            far = [np.quantile(np.abs(latent[ids == k] - latent[ids == k].mean()), quantile) for k in set(ids)]
            best = max(best, 1 - np.mean(far) / greatest)
        scores.append(best)
        weights.append(greatest)
    return np.dot(scores, weights) / np.sum(weights)


@pytest.mark.parametrize("quantile", [0.5, 0.99, 1.0])
def test_irs_equals_the_formula(quantile):
    rng = np.random.default_rng(0)
    factors = np.stack([rng.integers(0, 5, 900), rng.integers(0, 40, 900)], axis=1)
    codes = (factors / [4, 39]) @ rng.normal(size=(2, 5)) + 0.2 * rng.normal(size=(900, 5))
    expected = straightforward(codes, factors, quantile)
    assert irs.score(codes, factors, quantile=quantile)["irs"] == pytest.approx(expected, abs=1e-12)


def test_active_latents_are_counted_and_constant_ones_left_out():
    factors = np.stack(np.meshgrid(range(4), range(5), indexing="ij"), -1).reshape(-1, 2)
    padded = np.hstack([factors, np.full((20, 2), 0.1)])
    assert irs.score(padded, factors) == {"irs": 1.0, "active_latents": 2.0}
    assert irs.score(padded[:, 2:], factors) == {"irs": 0.0, "active_latents": 0.0}


def test_classes_whose_ids_lie_far_apart_are_kept_apart():
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 4, size=(400, 2))
    codes = factors + 0.1 * rng.normal(size=factors.shape)
    spread = np.array([0, 1, 100, 101])[factors]
    assert irs.score(codes, spread) == irs.score(codes, factors)


def test_noise_scores_well_above_zero_as_documented():
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 8, size=(10_000, 3))
    assert irs.score(rng.normal(size=(10_000, 5)), factors)["irs"] == pytest.approx(0.35, abs=0.05)


def test_the_least_score_is_within_the_range_that_the_file_states():
    """By hand: means ∓0.8 at the two values; the 99th percentile of distances is 1.8 - 0.09 * 1.6 = 1.656."""
    codes = np.r_[-np.ones(9), 1, np.ones(9), -1][:, None]
    factors = np.repeat([0, 1], 10)[:, None]
    assert irs.score(codes, factors)["irs"] == pytest.approx(1 - 1.656)
    low, high = irs.PROPERTIES.range
    assert low <= irs.score(codes, factors)["irs"] <= high


def test_a_quantile_outside_its_range_is_refused():
    with pytest.raises(InvalidInput, match=r"quantile: expected a number in \[0, 1\], received 99"):
        irs.score(np.eye(4), np.arange(4)[:, None] % 2, quantile=99)
