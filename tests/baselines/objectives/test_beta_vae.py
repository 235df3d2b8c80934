from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from baselines.objectives import Posterior, kl_to_prior
from baselines.objectives.beta_vae import OBJECTIVE


def test_kl_of_two_gaussians_by_hand(make_batch):
    # N(1, 1): 1/2. N(0, e): (e - 1 - 1) / 2. Two images: their mean.
    term = OBJECTIVE(beta=3.0).terms(make_batch([[1.0], [0.0]], [[0.0], [1.0]]))["kl"]
    assert term.weight == 3.0
    assert float(term.value) == pytest.approx((0.5 + (math.e - 2) / 2) / 2, rel=1e-6)


def test_against_numpy_on_random_posteriors(make_batch, posterior):
    mean, log_variance, _ = posterior
    # log q(z|x) - log p(z), averaged over very many z: what the divergence is the mean of
    noise = np.random.default_rng(1).normal(size=(20_000, 1, 1))
    codes = mean + np.exp(log_variance / 2) * noise
    ratio = stats.norm.logpdf(codes, mean, np.exp(log_variance / 2)) - stats.norm.logpdf(codes)
    term = OBJECTIVE().terms(make_batch(*posterior))["kl"]
    assert float(term.value) == pytest.approx(ratio.sum(2).mean(), rel=0.02)


def test_kl_agrees_with_numerical_integration():
    x = np.linspace(-30, 30, 200_001)
    for mean, log_variance in ((0.3, -1.0), (-2.0, 0.7)):
        q = stats.norm(mean, math.exp(log_variance / 2))
        expected = np.trapezoid(q.pdf(x) * (q.logpdf(x) - stats.norm.logpdf(x)), x)
        found = kl_to_prior(Posterior(np.float64(mean), np.float64(log_variance)))
        assert float(found) == pytest.approx(expected, rel=1e-5)
