from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from leaderboard.metrics import mcc


def test_it_equals_the_reference_with_as_many_latents_as_factors(recorded):
    for name, expected, (codes, factors, *_) in recorded("causalverse"):
        found = mcc.score(codes[:, : factors.shape[1]], factors)
        assert found["spearman"] == pytest.approx(expected["square"]["spearman"], abs=1e-6), name
        # the reference adds noise of 1e-6 to the codes, which latents of 1e-3 feel
        tolerance = 1e-5 if name.endswith("collapsed") else 1e-6
        assert found["pearson"] == pytest.approx(expected["square"]["pearson"], abs=tolerance), name


def test_with_more_latents_it_is_within_or_just_above_what_the_reference_draws(recorded):
    """The reference gives the other latents factors of noise, which may take a latent away: five of its seeds."""
    for name, expected, (codes, factors, *_) in recorded("causalverse"):
        for key, value in mcc.score(codes, factors).items():
            low, high = min(expected["all"][key]), max(expected["all"][key])
            assert low - 1e-6 <= value <= high + 1e-6 + 2 * (high - low), (name, key)


def test_by_hand():
    x = np.array([0, 1, 2, 3])
    codes = np.stack([-x, np.array([1, -1, -1, 1])], axis=1)
    assert mcc.score(codes, x[:, None]) == pytest.approx({"pearson": 1.0, "spearman": 1.0})
    assert mcc.score(codes[:, 1:], x[:, None]) == pytest.approx({"pearson": 0.0, "spearman": 0.0})
    # two factors, one latent: the other factor gets none
    assert mcc.score(x[:, None], np.stack([x, x[::-1] // 2], axis=1))["pearson"] == pytest.approx(0.5)


def test_spearman_is_that_of_scipy():
    rng = np.random.default_rng(0)
    codes, factors = rng.normal(size=(200, 3)).round(1), rng.integers(0, 5, size=(200, 2))
    for latent in range(3):
        expected = abs(spearmanr(codes[:, latent], factors[:, 0]).statistic)
        assert mcc.score(codes[:, [latent]], factors[:, :1])["spearman"] == pytest.approx(expected, abs=1e-12)


def test_a_constant_latent_and_one_of_tiny_or_huge_scale():
    x = np.arange(10.0)
    codes = np.stack([np.full(10, 0.1), 1e-30 * x, 1e30 * x], axis=1)
    found = [mcc.score(codes[:, [latent]], x[:, None])["pearson"] for latent in range(3)]
    np.testing.assert_allclose(found, [0.0, 1.0, 1.0], atol=1e-12)
