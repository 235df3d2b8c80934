from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score

from benchmark_data import InvalidInput
from leaderboard.metrics import linear_identifiability, mcc, r_squared


def test_the_score_is_that_of_schott_et_al_and_scikit_learn(reference):
    """1 - MSE / variance, as in bethgelab/InDomainGeneralizationBenchmark's RSquared (commit e94a40bc), which is
    scikit-learn's r2_score where targets and held-out rows are the same; by scikit-learn's own regressions."""
    _, codes, factors, codes_test, factors_test = reference
    codes, factors, codes_test, factors_test = (
        codes[:200],
        factors[:200, -2:],
        codes_test[:100],
        factors_test[:100, -2:],
    )
    for readout, model in (
        ("linear", LinearRegression()),
        ("boosting", HistGradientBoostingRegressor(early_stopping=False, random_state=0, max_iter=100)),
    ):
        found = r_squared.score(codes, factors, codes_test=codes_test, factors_test=factors_test, readout=readout)
        predicted = [model.fit(codes.astype(float), v).predict(codes_test.astype(float)) for v in factors.T]
        each = [r2_score(v, p) for v, p in zip(factors_test.T, predicted, strict=True)]
        assert found == {
            "r_squared": pytest.approx(np.mean(each), abs=1e-6),
            "r_squared_min": pytest.approx(min(each), abs=1e-6),
        }


def test_by_hand_and_below_zero():
    # fitted: v = z; held out v = -z, whose error is (2z)^2 = 4 times the variance
    z = np.array([[-1.0], [0.0], [1.0]])
    v = np.array([[0], [1], [2]])
    assert r_squared.score(z, v, codes_test=z, factors_test=v)["r_squared"] == pytest.approx(1.0)
    assert r_squared.score(z, v, codes_test=-z, factors_test=v)["r_squared"] == pytest.approx(-3.0)


def test_scale_to_the_unit_interval_changes_nothing():
    rng = np.random.default_rng(0)
    z, v = rng.normal(size=(50, 2)), rng.integers(0, 5, size=(50, 1))
    plain, wide = (r_squared.score(z, f, codes_test=z, factors_test=f) for f in (v, 7 * v - 3))
    assert plain == pytest.approx(wide)


def test_factors_without_variance_in_the_held_out_part_are_left_out():
    rng = np.random.default_rng(0)
    v = rng.integers(0, 5, size=(50, 2))
    test = v.copy()
    test[:, 0] = 3
    assert r_squared.score(v, v, codes_test=test, factors_test=test)["r_squared"] == pytest.approx(1.0)
    test[:, 1] = 3
    assert r_squared.score(v, v, codes_test=test, factors_test=test) == {"r_squared": 0.0, "r_squared_min": 0.0}


def test_an_unknown_readout_is_refused():
    with pytest.raises(InvalidInput, match="readout: expected 'linear' or 'boosting', received 'mlp'"):
        r_squared.score(np.eye(4), np.eye(4)[:, :1], codes_test=np.eye(4), factors_test=np.eye(4)[:, :1], readout="mlp")


def test_errors_in_units_of_the_variance_over_the_whole_dataset():
    # As in by hand: the error is (2z)^2, 0 and 4 by turns; a grid of five values has a variance of 2.
    z, v = np.array([[-1.0], [0.0], [1.0]]), np.array([[0], [1], [2]])
    found = r_squared.score(z, v, codes_test=-z, factors_test=v, variances=[(5**2 - 1) / 12])
    assert found["r_squared"] == pytest.approx(1 - 8 / 3 / 2)
    # A factor with one value in the held-out part has an error, too.
    assert r_squared.score(z, v, codes_test=z, factors_test=[[1], [1], [1]], variances=[2.0])["r_squared"] < 1


@pytest.mark.parametrize("variances", [[1.0, 1.0], [0.0], [float("nan")], 1.0])
def test_variances_that_are_none_are_refused(variances):
    z, v = np.array([[-1.0], [0.0], [1.0]]), np.array([[0], [1], [2]])
    with pytest.raises(InvalidInput, match="variances: expected 1 positive numbers"):
        r_squared.score(z, v, codes_test=z, factors_test=v, variances=variances)


def test_nothing_is_fitted_to_the_rounding_of_latents_that_depend_on_each_other():
    """As of a posterior that collapsed: a latent is the sum of others but for rounding; not so in a held-out row."""
    numbers = np.random.default_rng(0)
    codes = np.zeros((600, 3))
    codes[:2, :2] = np.eye(2)
    codes[:, 2] = codes[:, 0] + codes[:, 1] + 1e-9 * numbers.normal(size=600)
    codes[-1] = 0, 0, 3
    factors = numbers.integers(0, 8, (600, 2))
    found = r_squared.score(codes[:400], factors[:400], codes_test=codes[400:], factors_test=factors[400:])
    assert found["r_squared"] > -10


@pytest.mark.parametrize("metric", [r_squared, mcc, linear_identifiability])
def test_class_ids_may_be_too_large_for_float64(metric):
    rng = np.random.default_rng(0)
    factors = rng.integers(0, [3, 5], (300, 2))
    codes = factors + 0.3 * rng.normal(size=factors.shape)

    def score(factors):
        held_out = {"codes_test": codes, "factors_test": factors} if metric is r_squared else {}
        return metric.score(codes, factors, **held_out)

    assert score(factors + 2**60) == pytest.approx(score(factors))


def test_too_few_rows_for_a_tree_are_refused():
    factors = np.arange(39)[:, None] % 3
    held_out = {"codes_test": 1.0 * factors, "factors_test": factors}
    assert r_squared.score(1.0 * factors, factors, **held_out)["r_squared"] == pytest.approx(1.0)
    with pytest.raises(InvalidInput, match=r"training rows for boosting.*: expected at least 40, received 39"):
        r_squared.score(1.0 * factors, factors, **held_out, readout="boosting")
