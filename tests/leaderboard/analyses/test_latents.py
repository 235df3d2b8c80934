import numpy as np
import pytest

from benchmark_data import draws
from benchmark_data.errors import InvalidInput
from leaderboard.analyses import latents


def posterior(active, passive, n=500):
    mean = draws.normal(1, np.arange(n), active + passive) * ([1.0] * active + [1e-3] * passive)
    return mean, np.broadcast_to([0.01] * active + [1.0] * passive, mean.shape)


def test_each_kind_by_the_published_thresholds():
    # Half of the samples at 0.02 and half at 0.98: passive for some, active for others. 0.5 throughout is neither.
    swinging = np.tile([0.02, 0.98], 10)
    columns = [[0.09] * 20, [0.11] * 20, [0.91] * 20, [1.09] * 20, [1.11] * 20, [0.5] * 20, swinging, [0.79] * 20]
    variance = np.array(columns).T
    table = latents.measure(np.zeros_like(variance), variance)
    assert table.kind.tolist() == ["active", "mixed", "passive", "passive", "mixed", "mixed", "mixed", "mixed"]
    assert table.used.tolist() == [True, True, False, False, False, True, True, True]
    assert table.noise_variance[6] == pytest.approx(0.48**2)


def test_kl_is_that_of_a_gaussian_from_the_prior():
    table = latents.measure([[2.0], [0.0]], [[0.5], [1.0]])
    assert table.kl[0] == pytest.approx(0.5 * (4 + 0.5 - np.log(0.5) - 1) / 2)


def test_hard_input():
    mean, variance = posterior(2, 1, n=10)
    assert latents.measure(mean[:, :1], variance[:, :1]).kind.tolist() == ["active"]
    assert set(latents.measure(np.zeros((10, 3)), np.ones((10, 3))).kind) == {"passive"}
    assert latents.measure(*posterior(12, 12, n=5)).kind.tolist() == ["active"] * 12 + ["passive"] * 12
    with pytest.raises(InvalidInput, match=r"variance: expected shape \(10, 3\), as mean"):
        latents.measure(mean, variance[:, :2])
    with pytest.raises(InvalidInput, match=r"variance: expected positive numbers, received -1.*exponential of log"):
        latents.measure(mean, -np.ones_like(mean))
    with pytest.raises(InvalidInput, match="mean: expected finite numbers"):
        latents.measure(mean * np.nan, variance)
