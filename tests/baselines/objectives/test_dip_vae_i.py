from __future__ import annotations

import numpy as np
import pytest

from baselines.objectives.dip_vae_i import OBJECTIVE


def test_by_hand(make_batch):
    # means (1, 1) and (-1, -1): covariance 1 everywhere; off the diagonal 1² + 1², on it (1 - 1)²
    terms = OBJECTIVE().terms(make_batch([[1.0, 1.0], [-1.0, -1.0]], np.zeros((2, 2))))
    assert [float(terms[name].value) for name in ("off_diagonal", "diagonal")] == [2.0, 0.0]
    assert [terms[name].weight for name in ("kl", "off_diagonal", "diagonal")] == [1.0, 10.0, 100.0]


def test_against_numpy_on_random_posteriors(make_batch, posterior):
    covariance = np.cov(posterior[0], rowvar=False, bias=True)
    terms = OBJECTIVE(lambda_od=2.0, lambda_d=3.0).terms(make_batch(*posterior))
    off = covariance[~np.eye(5, dtype=bool)]
    assert float(terms["off_diagonal"].value) == pytest.approx((off**2).sum(), rel=1e-5)
    assert float(terms["diagonal"].value) == pytest.approx(((np.diag(covariance) - 1) ** 2).sum(), rel=1e-5)
    assert [terms[name].weight for name in ("off_diagonal", "diagonal")] == [2.0, 3.0]


def test_small_covariances_beside_large_variances(make_batch):
    # In float64: 8e-4 beside 5e4, the squares of five variances of 100, whose last bit in float32 is 4e-3.
    signs = np.array([[(-1.0) ** (row >> bit & 1) for bit in range(5)] for row in range(32)])
    signs[:, 1:] += 1e-4 * signs[:, :-1]
    mean = (10 * signs).astype(np.float32)
    covariance = np.cov(mean.astype(np.float64), rowvar=False, bias=True)
    expected = (covariance[~np.eye(5, dtype=bool)] ** 2).sum()
    value = float(OBJECTIVE().terms(make_batch(mean, np.zeros_like(mean)))["off_diagonal"].value)
    assert value == pytest.approx(expected, rel=0.01)
