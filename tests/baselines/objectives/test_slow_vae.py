from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

import benchmark_data
from baselines.nets.backend import tensorflow
from baselines.objectives.slow_vae import OBJECTIVE, cross_entropy_to_laplace
from benchmark_data import Factor, FactorSpace, FactorTable, InvalidInput

CASE = json.loads((Path(__file__).parents[2] / "fixtures" / "objectives_since_2020.json").read_text())["slow_vae"]
SPACE = FactorSpace(
    Factor("shape", range(3), "categorical"), Factor("x", range(32), "ordinal"), Factor("angle", range(8), "cyclic")
)


def test_terms_and_gradients_are_half_of_the_reference_implementations(make_batch):
    """There images of a pair follow one another, and the loss is a sum over them where ours is a mean."""
    order = [*range(0, 10, 2), *range(1, 10, 2)]
    mean, log_variance = (
        tensorflow.constant(np.array(CASE[key])[order], tensorflow.float32) for key in ("mean", "log_variance")
    )
    objective = OBJECTIVE(beta=CASE["beta"], gamma=CASE["gamma"], rate=CASE["rate"])
    with tensorflow.GradientTape() as tape:
        tape.watch([mean, log_variance])
        kl = tensorflow.reduce_sum(0.5 * (mean**2 + tensorflow.exp(log_variance) - log_variance - 1), axis=1)
        batch = make_batch(mean, log_variance)
        posterior = batch.posterior._replace(mean=mean, log_variance=log_variance)
        terms = objective.terms(type(batch)(**{**vars(batch), "posterior": posterior, "kl": kl}))
        loss = sum(term.weight * term.value for term in terms.values())
    assert float(terms["kl"].value) == pytest.approx(CASE["kl_normal"], rel=1e-6)
    assert float(terms["transition"].value) == pytest.approx(CASE["kl_laplace"], rel=1e-6)
    assert float(loss) == pytest.approx(CASE["loss_without_reconstruction"] / 2, rel=1e-6)
    for found, name in zip(tape.gradient(loss, [mean, log_variance]), ("mean", "log_variance"), strict=True):
        expected = np.array(CASE[f"gradient_of_{name}"])[order] / 2
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_the_cross_entropy_is_that_of_many_samples():
    z = 0.7 + 1.5 * np.random.default_rng(0).normal(size=10**6)
    expected = -scipy.stats.laplace.logpdf(z, scale=1 / 2.5).mean()  # ± 3 deviations of 2.5 / 1000
    found = cross_entropy_to_laplace(np.float32(0.7), np.float32(2 * np.log(1.5)), 2.5)
    assert float(found) == pytest.approx(expected, abs=0.0075)


def pairs(objective, seed=0, n=20_000):
    first, second = objective.rows(np.arange(0, len(SPACE), 7), SPACE, n, np.random.default_rng(seed))
    assert (first % 7 == 0).all()
    return SPACE.labels(first), SPACE.labels(second)


def test_neighbours_move_as_the_paper_has_it():
    """From a class in the middle: Laplace over all classes, scale log(size), given that anything moved at all."""
    one, other = pairs(OBJECTIVE())
    assert (one[:, 0] == other[:, 0]).all()  # a shape does not change
    assert (one != other).any(axis=1).all()
    chance = {}
    for factor, size, start in ((1, 32, 16), (2, 8, 4)):
        weights = scipy.stats.laplace.pdf(np.arange(size), loc=start, scale=np.log(size))
        chance[factor] = weights / weights.sum()
    for factor, rest, start in ((1, 2, 16), (2, 1, 4)):
        from_start = other[one[:, factor] == start, factor]
        moved = from_start[from_start != start]
        away = np.delete(chance[factor], start)
        expected = away / away.sum()
        found = np.delete(np.bincount(moved, minlength=len(chance[factor])), start) / len(moved)
        assert np.abs(found - expected).max() < 4 * np.sqrt(0.25 / len(moved)), rest


def test_both_factors_move_together_as_often_as_by_chance():
    """P(both move) is the product of the two chances to move; where nothing would, one factor is moved."""
    one, other = pairs(OBJECTIVE(), n=40_000)
    moved = (one != other)[:, 1:]
    stays = []
    for size in (32, 8):
        weights = np.exp(-np.abs(np.arange(size)[:, None] - np.arange(size)) / np.log(size))
        stays.append(np.mean(1 / weights.sum(axis=1)))
    x, angle = stays
    expected = [(1 - x) * (1 - angle), (1 - x) * angle + x * angle / 2, x * (1 - angle) + x * angle / 2]
    found = [(moved == want).all(axis=1).mean() for want in ([True, True], [True, False], [False, True])]
    assert found == pytest.approx(expected, abs=0.012)


def test_a_rate_of_the_data_of_0_draws_factors_anew():
    one, other = pairs(OBJECTIVE(data_rate=0.0))
    counts = np.bincount(other[one[:, 1] == 0, 1], minlength=32)
    assert counts[1:].std() / counts[1:].mean() < 0.4  # about 20 a class: 0.22 by chance; at a rate of 1 it is over 1


@pytest.mark.parametrize("rate", [2600.0, 1e9])
def test_at_a_large_rate_of_the_data_one_factor_moves_by_one_class(rate):
    """exp(-2600 / log 32) is below the least float64, though some class beside the first one must be drawn."""
    one, other = pairs(OBJECTIVE(data_rate=rate))
    assert (np.abs(one - other).sum(axis=1) == 1).all()
    for factor in (1, 2):  # either way alike, in the middle
        step = (other - one)[(other != one)[:, factor] & (one[:, factor] == 4), factor]
        assert np.abs(step.mean()) < 4 / np.sqrt(len(step))


def test_what_has_no_neighbours_is_refused():
    rng = np.random.default_rng(0)
    table = FactorTable(Factor("smiling", (0, 1), "binary"), rows=3, read=lambda: np.array([[0], [1], [0]]))
    with pytest.raises(InvalidInput, match="pairs of neighbours: expected a dataset that is a full grid"):
        OBJECTIVE().rows(np.arange(3), table, 2, rng)
    with pytest.raises(InvalidInput, match="pairs of neighbours: expected a factor whose values have an order"):
        OBJECTIVE().rows(np.arange(3), FactorSpace(Factor("shape", range(3), "categorical")), 2, rng)
    with pytest.raises(InvalidInput, match="hyperparameter 'rate': expected a positive number, received 0"):
        OBJECTIVE(rate=0.0)


def test_on_a_real_dataset_the_rows_exist():
    data = benchmark_data.load("dsprites")
    rows = OBJECTIVE().rows(np.arange(len(data)), data.space, 100, np.random.default_rng(0))
    assert rows.shape == (2, 100)
    assert data.rows(rows.ravel()).dtype == np.int64
    one, other = data.labels(rows[0]), data.labels(rows[1])
    assert (one[:, 0] == other[:, 0]).all()
    assert np.abs(one - other)[:, 3].mean() < 8  # of 32 places; 10.7 if drawn anew
