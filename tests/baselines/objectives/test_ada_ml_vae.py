from __future__ import annotations

import numpy as np

from baselines.objectives import Posterior
from baselines.objectives.ada_ml_vae import OBJECTIVE


def test_average_by_hand():
    # variances 1 and 3: 2 * 1 * 3 / 4 = 1.5; means 0 and 4: (0 / 1 + 4 / 3) * 1.5 / 2 = 1
    found = OBJECTIVE().average(
        Posterior(np.array([[0.0]]), np.log([[1.0]])), Posterior(np.array([[4.0]]), np.log([[3.0]]))
    )
    np.testing.assert_allclose([np.exp(found.log_variance), found.mean], [[[1.5]], [[1.0]]])


def test_aggregation_against_numpy_on_random_posteriors(posterior):
    mean, log_variance, _ = posterior
    found = OBJECTIVE().aggregate(Posterior(mean, log_variance))
    m1, m2, v1, v2 = mean[:6], mean[6:], np.exp(log_variance[:6]), np.exp(log_variance[6:])
    distance = v1 / v2 + (m2 - m1) ** 2 / v2 - 1 + np.log(v2) - np.log(v1)
    shared = distance < (distance.min(1, keepdims=True) + distance.max(1, keepdims=True)) / 2
    variance = 2 * v1 * v2 / (v1 + v2)
    average = (m1 / v1 + m2 / v2) * variance * 0.5
    np.testing.assert_allclose(
        found.mean, np.concatenate([np.where(shared, average, m1), np.where(shared, average, m2)]), rtol=1e-6
    )
    np.testing.assert_allclose(
        np.exp(found.log_variance),
        np.concatenate([np.where(shared, variance, v1), np.where(shared, variance, v2)]),
        rtol=1e-6,
    )
    assert shared.any()
    assert not shared.all()


def test_variances_below_float32():
    mean = np.array([[1.0]], np.float32)
    found = OBJECTIVE().average(Posterior(mean, mean - 201), Posterior(-mean, mean - 211))
    # 2 / (e^200 + e^210) = 2 e^-210 / (1 + e^-10)
    np.testing.assert_allclose(found.log_variance, np.log(2) - 210 - np.log1p(np.exp(-10)) * mean, rtol=1e-6)
    np.testing.assert_allclose(found.mean, -mean, rtol=1e-4)
