import numpy as np
import pandas as pd
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


def test_regimes():
    for active, passive, regime in ((4, 0, "all in use"), (2, 2, "polarised"), (0, 4, "collapsed")):
        found = latents.summarise(*posterior(active, passive))
        assert (found.active, found.passive, found.mixed, found.regime) == (active, passive, 0, regime)


def test_similarities_fall_as_latents_become_passive():
    """For k of L unit-variance latents active, CKA(mean, sampled) is about sqrt(k / L)."""
    found = []
    for k in (4, 2, 1):
        mean, variance = posterior(k, 4 - k, n=4000)
        summary = latents.summarise(mean, variance, inputs=mean[:, :k].reshape(4000, k, 1, 1), seed=2)
        assert summary.cka_mean_sampled == pytest.approx(np.sqrt(k / 4), abs=0.03)
        assert summary.cka_input_mean > 0.999
        found.append(summary.cka_input_sampled)
    assert found == sorted(found, reverse=True)


def test_a_given_sample_is_used_and_the_input_is_optional():
    mean, variance = posterior(3, 0)
    assert latents.summarise(mean, variance, sampled=mean).cka_mean_sampled == pytest.approx(1.0)
    assert latents.summarise(mean, variance).cka_input_sampled is None


def test_hard_input():
    mean, variance = posterior(2, 1, n=10)
    one = latents.summarise(mean[:, :1], variance[:, :1])
    assert (one.active, one.regime) == (1, "all in use")
    constant = latents.summarise(np.zeros((10, 3)), np.ones((10, 3)), inputs=np.zeros((10, 4)))
    assert (constant.regime, constant.cka_mean_sampled, constant.cka_input_sampled) == ("collapsed", 0.0, 0.0)
    wide = latents.summarise(*posterior(12, 12, n=5))
    assert (wide.active, wide.passive) == (12, 12)
    with pytest.raises(InvalidInput, match=r"variance: expected shape \(10, 3\), as mean"):
        latents.measure(mean, variance[:, :2])
    with pytest.raises(InvalidInput, match=r"variance: expected positive numbers, received -1.*exponential of log"):
        latents.measure(mean, -np.ones_like(mean))
    with pytest.raises(InvalidInput, match="mean: expected finite numbers"):
        latents.measure(mean * np.nan, variance)
    with pytest.raises(InvalidInput, match=r"inputs: expected an array \(samples, ...\)"):
        latents.summarise(mean, variance, inputs=np.zeros(10))
    with pytest.raises(InvalidInput, match="y: expected 9 rows"):
        latents.summarise(mean, variance, inputs=np.zeros((9, 4)))


def runs():
    rows = []
    for method in ("beta_vae", "dip_vae_ii"):
        for strength, active in ((1, 3), (2, 2), (8, 0)):
            for seed in range(2):
                mean, variance = posterior(active, 3 - active, n=100)
                summary = latents.summarise(mean, variance, inputs=mean, seed=seed)
                rows.append({"method": method, "strength": strength, "seed": seed, **summary._asdict()})
    return pd.DataFrame(rows)


def test_drawing_with_words_or_without_an_input(tmp_path):
    table = runs()
    latents.draw(table, tmp_path / "a.png")
    latents.draw(table.assign(strength=table.strength.map(str), cka_input_sampled=None), tmp_path / "b.png")
    assert (tmp_path / "a.png").read_bytes() != (tmp_path / "b.png").read_bytes()
    with pytest.raises(InvalidInput, match="table: expected the columns strength"):
        latents.draw(table.drop(columns="strength"), tmp_path / "c.png")
