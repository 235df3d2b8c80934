from __future__ import annotations

import numpy as np
import pytest

from baselines.objectives.dip_vae_ii import OBJECTIVE


def test_by_hand(make_batch):
    # means (1, 1) and (-1, -1), unit variances: Cov[z] = 1 everywhere plus 1 on the diagonal
    terms = OBJECTIVE().terms(make_batch([[1.0, 1.0], [-1.0, -1.0]], np.zeros((2, 2))))
    assert [float(terms[name].value) for name in ("off_diagonal", "diagonal")] == [2.0, 2.0]
    assert [terms[name].weight for name in ("kl", "off_diagonal", "diagonal")] == [1.0, 10.0, 10.0]


def test_against_numpy_on_random_posteriors(make_batch, posterior):
    mean, log_variance, _ = posterior
    covariance = np.cov(mean, rowvar=False, bias=True) + np.diag(np.exp(log_variance).mean(0))
    terms = OBJECTIVE().terms(make_batch(*posterior))
    off = covariance[~np.eye(5, dtype=bool)]
    assert float(terms["off_diagonal"].value) == pytest.approx((off**2).sum(), rel=1e-5)
    assert float(terms["diagonal"].value) == pytest.approx(((np.diag(covariance) - 1) ** 2).sum(), rel=1e-5)
