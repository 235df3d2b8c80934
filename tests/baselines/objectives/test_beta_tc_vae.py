from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from baselines.nets.backend import tensorflow
from baselines.objectives import Posterior
from baselines.objectives.beta_tc_vae import OBJECTIVE, total_correlation


def test_against_scipy_on_random_posteriors(make_batch, posterior):
    mean, log_variance, codes = posterior
    density = stats.norm.logpdf(codes[:, None], mean[None], np.exp(log_variance / 2)[None])
    expected = np.mean(logsumexp(density.sum(2), axis=1) - logsumexp(density, axis=1).sum(1))
    terms = OBJECTIVE(beta=6.0).terms(make_batch(mean, log_variance, codes))
    assert float(terms["total_correlation"].value) == pytest.approx(expected, rel=1e-5)
    assert [term.weight for term in terms.values()] == [1.0, 5.0]


def test_two_images_by_hand():
    # Unit Gaussians at (0, 0) and (d, d), codes at their means, d so large that each code belongs to its image only:
    # log q(z) = -log 2π and the marginals sum to the same; with the constants, TC = log(N M) = log 2 for N = 1.
    mean = np.array([[0.0, 0.0], [20.0, 20.0]], np.float32)
    value = float(total_correlation(Posterior(mean, np.zeros_like(mean)), mean))
    assert value == pytest.approx(0.0, abs=1e-5)
    assert value + (2 - 1) * math.log(1 * 2) == pytest.approx(math.log(2), abs=1e-5)


@pytest.mark.parametrize("log_variance", [-90.0, -110.0])
def test_variances_whose_inverse_is_no_float32(log_variance):
    # As with images far apart by hand above: each code belongs to its image only, and the total correlation is least.
    mean = tensorflow.constant([[0.5, -0.25], [1.0, 2.0], [-3.0, 0.75]])
    spread = tensorflow.fill(mean.shape, log_variance)
    with tensorflow.GradientTape() as tape:
        tape.watch([mean, spread])
        codes = mean + tensorflow.exp(0.5 * spread) * tensorflow.constant([[1.0, -1.0], [0.5, 2.0], [-1.5, 0.0]])
        value = total_correlation(Posterior(mean, spread), codes)
    assert float(value) == pytest.approx(0.0, abs=1e-4)
    for gradient in tape.gradient(value, [mean, spread]):
        assert np.isfinite(gradient).all()


def test_one_latent_has_none():
    mean = np.random.default_rng(0).normal(size=(8, 1)).astype(np.float32)
    assert float(total_correlation(Posterior(mean, np.zeros_like(mean)), mean)) == pytest.approx(0.0, abs=1e-6)
