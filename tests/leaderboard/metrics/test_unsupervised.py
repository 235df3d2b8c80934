from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.linalg
from sklearn.metrics import mutual_info_score

from benchmark_data import InvalidInput
from leaderboard.metrics import unsupervised


def test_gaussian_scores_equal_the_reference(reference):
    expected, codes, factors, _, _ = reference
    found = unsupervised.score(codes, factors)
    for key in ("gaussian_total_correlation", "gaussian_wasserstein"):
        assert found[key] == pytest.approx(expected[key], abs=1e-9)


def test_the_other_scores_equal_their_formulas():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(500, 4)) @ rng.normal(size=(4, 4))
    found = unsupervised.score(z)
    s = np.cov(z.T)
    distance = 2 * np.trace(s) - 2 * np.trace(scipy.linalg.sqrtm(s * np.diag(s)[:, None]).real)
    assert found["gaussian_wasserstein_normalised"] == pytest.approx(distance / np.trace(s), abs=1e-9)
    binned = [np.digitize(latent, np.histogram(latent, 20)[1][:-1]) for latent in z.T]
    pairs = [mutual_info_score(binned[i], binned[j]) for i in range(4) for j in range(4) if i != j]
    assert found["mutual_information"] == pytest.approx(np.mean(pairs), abs=1e-12)


def test_two_correlated_gaussians_by_hand():
    rng = np.random.default_rng(0)
    z = np.linalg.qr(rng.normal(size=(1000, 3)) @ np.diag([1, 1, 0]) + [[0, 0, 1]])[0]
    z = z[:, :2] - z[:, :2].mean(0)
    z = np.linalg.qr(z)[0] @ np.linalg.cholesky([[1, 0.6], [0.6, 1]]).T
    assert unsupervised.score(z)["gaussian_total_correlation"] == pytest.approx(-0.5 * math.log(1 - 0.36))


@pytest.mark.parametrize("scale", [1e-125, 1e-100, 1e-30, 1e35])
def test_no_scale_changes_the_normalised_distance(scale):
    z = np.random.default_rng(0).normal(size=(1000, 3)) @ np.array([[1.0, 0.02, 0], [0, 1, 0], [0, 0, 0.1]])
    plain, scaled = (unsupervised.score(codes) for codes in (z, z * scale))
    for key in ("gaussian_wasserstein_normalised", "gaussian_total_correlation"):
        assert scaled[key] == pytest.approx(plain[key], rel=1e-9)
    assert scaled["gaussian_wasserstein"] / scale**2 == pytest.approx(plain["gaussian_wasserstein"], rel=1e-9)


def test_dependent_and_constant_latents():
    z = np.random.default_rng(0).normal(size=(100, 3))
    plain = unsupervised.score(z)
    for singular in (np.hstack([z, z[:, :1]]), np.hstack([z, z.sum(1, keepdims=True)]), z[:3]):
        assert unsupervised.score(singular)["gaussian_total_correlation"] == math.inf
    rounded = np.hstack([z[:, :1], z[:, :1].astype(np.float32) + np.float32(100)])
    assert 5 < unsupervised.score(rounded)["gaussian_total_correlation"] < math.inf
    padded = unsupervised.score(np.hstack([z, np.full((100, 1), 0.1)]))
    assert padded["gaussian_total_correlation"] == pytest.approx(plain["gaussian_total_correlation"])
    assert padded["gaussian_wasserstein"] == pytest.approx(plain["gaussian_wasserstein"])
    assert set(unsupervised.score(np.ones((5, 2))).values()) == {0.0}
    assert unsupervised.score(z[:, :1])["mutual_information"] == 0.0


def test_rows_must_match_even_though_factors_are_not_looked_at():
    with pytest.raises(InvalidInput, match="codes: expected 4 rows, as in factors, received 5"):
        unsupervised.score(np.eye(5), np.arange(4)[:, None])


def test_constant_factors_are_not_looked_at():
    codes = np.random.default_rng(0).normal(size=(50, 3))
    assert unsupervised.score(codes, np.full((50, 2), 7)) == unsupervised.score(codes)
