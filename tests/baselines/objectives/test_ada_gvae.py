from __future__ import annotations

import numpy as np
import pytest

import benchmark_data
from baselines.objectives import Posterior
from baselines.objectives._pairs import shared_latents
from baselines.objectives.ada_gvae import OBJECTIVE
from benchmark_data import Factor, FactorSpace, FactorTable, InvalidInput

SPACE = FactorSpace(Factor("colour", [0]), *(Factor(f"f{i}", range(50)) for i in range(4)))


def changed(objective, seed=0, n=4000):
    """Draw pairs; give how many factors differ in each."""
    first, second = objective.rows(np.arange(0, len(SPACE), 7), SPACE, n, np.random.default_rng(seed))
    assert (first % 7 == 0).all()
    return (SPACE.labels(first) != SPACE.labels(second)).sum(1)


def test_k_factors_are_drawn_anew():
    counts = changed(OBJECTIVE(changed=2))
    assert counts.max() == 2
    assert np.mean(counts == 2) == pytest.approx((49 / 50) ** 2, abs=0.01)  # a new value may be the old one


def test_k_is_drawn_from_1_to_one_less_than_the_factors_that_vary():
    counts = changed(OBJECTIVE())
    assert counts.max() == 3
    assert [np.mean(counts == k) for k in (1, 2, 3)] == pytest.approx([1 / 3] * 3, abs=0.04)


def test_the_reference_implementations_pairs_have_k_1_half_of_the_time():
    counts = changed(OBJECTIVE(changed=3, reference_pairs=True))
    assert [np.mean(counts == k) for k in (1, 3)] == pytest.approx([0.5, 0.5], abs=0.04)


def test_every_factor_is_chosen_equally_often():
    first, second = OBJECTIVE(changed=1).rows(np.arange(len(SPACE)), SPACE, 4000, np.random.default_rng(0))
    often = (SPACE.labels(first) != SPACE.labels(second)).mean(0)
    assert often == pytest.approx([0.0] + [0.245] * 4, abs=0.03)


def test_too_many_factors_or_no_grid_are_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(InvalidInput, match="'changed': expected fewer than the 4 factors that vary, received 4"):
        OBJECTIVE(changed=4).rows(np.arange(9), SPACE, 2, rng)
    single = FactorSpace(Factor("colour", [0]), Factor("x", range(5)))
    with pytest.raises(InvalidInput, match="objective on pairs: expected two factors that vary, or more, received"):
        OBJECTIVE().rows(np.arange(5), single, 2, rng)
    table = FactorTable(Factor("smiling", (0, 1), "binary"), rows=3, read=lambda: np.array([[0], [1], [0]]))
    with pytest.raises(InvalidInput, match="objective on pairs: expected a dataset that is a full grid"):
        OBJECTIVE().rows(np.arange(3), table, 2, rng)


def test_pairs_of_a_table_with_every_combination_once():
    """As SmallNORB's is: its rows are in an order of their own."""
    space = FactorSpace(Factor("colour", [0]), *(Factor(f"f{i}", range(9)) for i in range(4)))
    order = np.random.default_rng(1).permutation(len(space))
    table = FactorTable(*space.factors, rows=len(space), read=lambda: space.labels(order))
    known = np.arange(0, len(space), 3)
    first, second = OBJECTIVE(changed=1).rows(known, table, 500, np.random.default_rng(0))
    assert set(first.tolist()) <= set(known.tolist())
    assert (table.labels(first) != table.labels(second)).sum(1).max() == 1


def test_shared_latents_by_hand():
    # 2 KL(first || second): latent 0: 0, latent 1: (3 - 1)² = 4, latent 2: e - 1 - 1 = 0.72; threshold 2
    first = Posterior(np.array([[0.0, 1.0, 0.0]]), np.array([[0.0, 0.0, 1.0]]))
    second = Posterior(np.array([[0.0, 3.0, 0.0]]), np.array([[0.0, 0.0, 0.0]]))
    assert np.asarray(shared_latents(first, second)).tolist() == [[True, False, True]]


def test_shared_latents_by_hand_with_the_symmetric_divergence():
    # 2 KL both ways: latent 0: 0; latent 1: 4 and 4; latent 2: variances e and 1 give e - 2 = 0.72 and 1 / e = 0.37;
    # latent 3: variances e² and 1 give e² - 3 = 4.4 and 1 / e² + 1 = 1.1, so 4.4 of 4.4 one way and 2.8 of 4 both ways
    first = Posterior(np.array([[0.0, 1.0, 0.0, 0.0]]), np.array([[0.0, 0.0, 1.0, 2.0]]))
    second = Posterior(np.array([[0.0, 3.0, 0.0, 0.0]]), np.zeros((1, 4)))
    turned = {both: np.asarray(shared_latents(second, first, symmetric=both)).tolist() for both in (False, True)}
    assert turned[True] == np.asarray(shared_latents(first, second, symmetric=True)).tolist()
    assert turned[True] == [[True, False, True, False]]
    assert turned[False] == [[True, False, True, True]], "1.1 is below half of 4"
    both = Posterior(*(np.concatenate(pair).astype(np.float32) for pair in zip(second, first, strict=True)))
    found = {symmetric: OBJECTIVE(symmetric=symmetric).aggregate(both) for symmetric in (False, True)}
    assert np.asarray(found[True].log_variance)[:, 3].tolist() == [0.0, 2.0], "left to each image"
    assert np.ptp(np.asarray(found[False].log_variance)[:, 3]) == 0


def test_shared_latents_where_the_inverse_variance_overflows():
    # 2 KL: 0 for the first two, (e^-55 / e^-55)² = 1 for the third; 1 / e^-110 is no float32
    for log_variance in (-90.0, -110.0):
        low = np.full((1, 3), log_variance, np.float32)
        first = Posterior(np.zeros((1, 3), np.float32), low)
        second = Posterior(np.array([[0.0, 0.0, np.exp(log_variance / 2)]], np.float32), low)
        assert np.asarray(shared_latents(first, second)).tolist() == [[True, True, False]]


def test_aggregation_by_hand():
    mean = np.array([[0.0, 1.0, 0.2], [0.0, 3.0, 0.4]], np.float32)
    variance = np.array([[1.0, 1.0, 1.0], [1.0, 1.0, 3.0]], np.float32)
    found = OBJECTIVE().aggregate(Posterior(mean, np.log(variance)))
    np.testing.assert_allclose(np.asarray(found.mean), [[0.0, 1.0, 0.3], [0.0, 3.0, 0.3]], rtol=1e-6)
    np.testing.assert_allclose(np.exp(found.log_variance), [[1.0, 1.0, 2.0], [1.0, 1.0, 2.0]], rtol=1e-6)


def test_aggregation_against_numpy_on_random_posteriors(posterior):
    mean, log_variance, _ = posterior
    m1, m2, v1, v2 = mean[:6], mean[6:], np.exp(log_variance[:6]), np.exp(log_variance[6:])
    distance = v1 / v2 + (m2 - m1) ** 2 / v2 - 1 + np.log(v2) - np.log(v1)
    shared = distance < (distance.min(1, keepdims=True) + distance.max(1, keepdims=True)) / 2
    assert 0 < shared.mean() < 1
    found = OBJECTIVE().aggregate(Posterior(mean, log_variance))
    for got, (one, two) in ((found.mean, (m1, m2)), (np.exp(found.log_variance), (v1, v2))):
        expected = np.concatenate([np.where(shared, (one + two) / 2, own) for own in (one, two)])
        np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_the_loss_is_the_mean_over_both_images(make_batch, posterior):
    # of pairs as of single images: half of the first images' KL divergence plus half of the second ones'
    mean, log_variance, _ = posterior
    kl = 0.5 * (mean**2 + np.exp(log_variance) - log_variance - 1).sum(1)
    term = OBJECTIVE(beta=3.0).terms(make_batch(*posterior))["kl"]
    assert term.weight == 3.0
    assert float(term.value) == pytest.approx(0.5 * kl[:6].mean() + 0.5 * kl[6:].mean(), rel=1e-5)


def test_equal_posteriors_share_nothing():
    # as with one latent, the range of the divergences is empty and nothing lies below its middle
    same = Posterior(np.ones((4, 3), np.float32), np.zeros((4, 3), np.float32))
    assert not np.asarray(shared_latents(same, same)).any()


def test_on_a_real_dataset_the_rows_exist():
    data = benchmark_data.load("xysquares/spacing_8")
    rows = OBJECTIVE().rows(np.arange(len(data)), data.space, 100, np.random.default_rng(0))
    assert rows.shape == (2, 100)
    assert data.rows(rows.ravel()).dtype == np.int64


def test_variances_below_float32():
    mean = np.array([[1.0]], np.float32)
    found = OBJECTIVE().average(Posterior(mean, mean - 201), Posterior(-mean, mean - 211))
    # (e^-200 + e^-210) / 2
    np.testing.assert_allclose(found.log_variance, np.log1p(np.exp(-10)) - 200 - np.log(2) * mean, rtol=1e-6)
    np.testing.assert_array_equal(found.mean, 0 * mean)
