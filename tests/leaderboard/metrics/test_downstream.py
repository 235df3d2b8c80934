from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier

from benchmark_data import InvalidInput
from leaderboard.doubts import LostSpread
from leaderboard.metrics import downstream


def sample(seed, n=400):
    rng = np.random.default_rng(seed)
    factors = np.stack([rng.integers(0, 2, n), rng.integers(0, 3, n)], axis=1)
    return (factors @ [[1.0, 0.5, 0.0], [0.3, 0.0, 1.0]] + 0.3 * rng.normal(size=(n, 3))).astype(np.float32), factors


def test_trees_are_scikit_learns():
    (codes, factors), (codes_test, factors_test) = sample(0), sample(1)
    found = downstream.accuracies(codes, factors, codes_test=codes_test, factors_test=factors_test)
    for f in range(2):
        trees = GradientBoostingClassifier(random_state=0).fit(codes, factors[:, f])
        assert found.train[f] == pytest.approx(trees.score(codes, factors[:, f]), abs=0.01)
        assert found.test[f] == pytest.approx(trees.score(codes_test, factors_test[:, f]), abs=0.02)


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::sklearn.exceptions.ConvergenceWarning")
def test_logistic_regression_is_scikit_learns():
    from sklearn.linear_model import LogisticRegressionCV
    from sklearn.model_selection import KFold

    (codes, factors), (codes_test, factors_test) = sample(0), sample(1)
    arrays = {"codes_test": codes_test, "factors_test": factors_test}
    found = downstream.accuracies(codes, factors, classifier="logistic", **arrays)
    for f in range(2):
        model = LogisticRegressionCV(Cs=10, cv=KFold(5), scoring="accuracy").fit(codes, factors[:, f])
        assert found.test[f] == pytest.approx((model.predict(codes_test) == factors_test[:, f]).mean(), abs=0.01)


def test_more_samples_help_and_the_keys_say_which():
    (codes, factors), (codes_test, factors_test) = sample(0), sample(1)
    found = downstream.score(codes, factors, codes_test=codes_test, factors_test=factors_test, sizes=(10, 400))
    assert list(found) == [f"{c}_{n}_{x}" for c in ("gbt", "logistic") for n in (10, 400) for x in ("mean", "min")]
    for classifier in ("gbt", "logistic"):
        assert found[f"{classifier}_400_mean"] > found[f"{classifier}_10_mean"]
        assert found[f"{classifier}_400_min"] <= found[f"{classifier}_400_mean"]


def test_a_small_sample_may_hold_one_class_of_a_factor():
    codes, factors = sample(0)
    codes, factors = (
        np.concatenate([codes[factors[:, 0] == 1][:12], codes]),
        np.concatenate([factors[factors[:, 0] == 1][:12], factors]),
    )
    arrays = {"codes_test": codes, "factors_test": factors}
    for classifier in ("gbt", "logistic"):
        found = downstream.score(codes, factors, sizes=(12,), classifiers=(classifier,), **arrays)
        assert found[f"{classifier}_12_min"] <= factors[:, 0].mean()
        assert found[f"{classifier}_12_mean"] > 0.4


def test_sizes_default_to_those_that_fit():
    codes, factors = sample(0)
    found = downstream.score(codes, factors, codes_test=codes, factors_test=factors, classifiers=("gbt",))
    assert list(found) == ["gbt_10_mean", "gbt_10_min", "gbt_100_mean", "gbt_100_min"]


def test_a_default_size_may_be_all_rows():
    codes, factors = sample(0, n=100)
    scores = downstream.score(codes, factors, codes_test=codes, factors_test=factors, classifiers=("logistic",))
    assert [key for key in scores if key.endswith("mean")] == ["logistic_10_mean", "logistic_100_mean"]


def test_the_seed_breaks_ties_between_latents():
    """Both latents are the factor in training; in the test one of them is its opposite."""
    factors = np.arange(60)[:, None] % 2
    arrays = {"codes_test": np.hstack([factors, 1 - factors]).astype(float), "factors_test": factors}
    codes = np.repeat(factors + np.linspace(0, 0.1, 60)[:, None], 2, axis=1)
    means = [
        downstream.score(codes, factors, sizes=[60], classifiers=["gbt"], seed=seed, **arrays)["gbt_60_mean"]
        for seed in (0, 0, *range(1, 6))
    ]
    assert means[0] == means[1]
    assert len(set(means)) > 1


def test_codes_far_from_zero_are_warned_of():
    codes, factors = sample(0)
    far = codes.astype(np.float64) + 1e8
    for classifier in ("gbt", "logistic"):
        with pytest.warns(LostSpread, match=r"the range of \d+ of \d+ latents \(the first: 0\) is below 1e-06"):
            downstream.score(far, factors, codes_test=far, factors_test=factors, sizes=[12], classifiers=[classifier])


def test_what_cannot_be_asked():
    codes, factors = sample(0)
    arrays = {"codes_test": codes, "factors_test": factors}
    with pytest.raises(InvalidInput, match=r"sizes: expected training samples from 2 to 400, received \[401\]"):
        downstream.score(codes, factors, sizes=[401], **arrays)
    with pytest.raises(InvalidInput, match=r"sizes: expected an integer, at least 2, received 2\.5"):
        downstream.score(codes, factors, sizes=[2.5], **arrays)
    for classifiers in ((), "gbt"):
        with pytest.raises(InvalidInput, match="classifiers: expected a list of 'gbt', 'logistic' or both, received"):
            downstream.score(codes, factors, sizes=[12], classifiers=classifiers, **arrays)
    with pytest.raises(InvalidInput, match=r"from 2 to 6, received \(10, 100, 1000, 10000\)"):
        downstream.score(codes[:6], factors[:6], **arrays)
    with pytest.raises(InvalidInput, match="classifier: expected 'gbt' or 'logistic', received 'svm'"):
        downstream.score(codes, factors, classifiers=["svm"], **arrays)
