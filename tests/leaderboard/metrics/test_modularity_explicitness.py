from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.multiclass import OneVsRestClassifier

from leaderboard.metrics import modularity_explicitness


def test_modularity_equals_the_reference(reference):
    expected, codes, factors, _, _ = reference
    assert modularity_explicitness.modularity(codes, factors) == pytest.approx(expected["modularity"], abs=1e-9)


@pytest.mark.parametrize(
    ("values", "expected"), [([8] * 6, 0.3), ([3, 6, 40, 32, 32], 0.67), ([4, 24, 183], 0.99), ([8], 1.0)]
)
def test_modularity_of_noise_goes_by_the_factors_numbers_of_values(values, expected):
    """Those of XYSquares, dSprites and Cars3D, and a single factor: the docstring gives these numbers."""
    rng = np.random.default_rng(0)
    factors = rng.integers(0, values, (10_000, len(values)))
    found = modularity_explicitness.modularity(rng.normal(size=(10_000, 10)), factors)
    assert found == pytest.approx(expected, abs=0.05)


def sample(seed, n=300):
    rng = np.random.default_rng(seed)
    factors = np.stack([rng.integers(0, 2, n), rng.integers(0, 5, n)], axis=1)
    return factors @ [[1.0, 0.5, 0.0], [0.3, 0.0, 1.0]] + rng.normal(size=(n, 3)), factors


def test_explicitness_equals_the_formula():
    (codes, factors), (codes_test, factors_test) = sample(0), sample(1)
    found = modularity_explicitness.score(codes, factors, codes_test=codes_test, factors_test=factors_test)
    x, x_test = ((z - codes.mean(0)) / codes.std(0) for z in (codes, codes_test))
    areas = []
    for v, v_test in zip(factors.T, factors_test.T, strict=True):
        model = OneVsRestClassifier(LogisticRegression(solver="liblinear", random_state=0)).fit(x, v)
        areas.append(roc_auc_score(np.eye(v.max() + 1)[v_test], model.predict_proba(x_test)))
    assert found["explicitness_test"] == pytest.approx(np.mean(areas), abs=1e-9)


def test_constant_latents_do_not_break_the_standardisation():
    codes, factors = sample(0)
    padded = np.hstack([codes, np.full((len(codes), 2), 0.1)])
    plain = modularity_explicitness.score(codes, factors, codes_test=codes, factors_test=factors)
    found = modularity_explicitness.score(padded, factors, codes_test=padded, factors_test=factors)
    assert found["explicitness_train"] == pytest.approx(plain["explicitness_train"], abs=1e-3)
    assert found["modularity"] == pytest.approx(plain["modularity"] * 3 / 5)


def test_classes_that_a_part_lacks_are_left_out():
    codes, factors = sample(0)
    few = factors[:, 1] < 2
    found = modularity_explicitness.score(codes, factors, codes_test=codes[few], factors_test=factors[few])
    assert 0.5 < found["explicitness_test"] <= 1
    one = (factors == factors[0]).all(axis=1)
    found = modularity_explicitness.score(codes, factors, codes_test=codes[one], factors_test=factors[one])
    assert found["explicitness_test"] == 0.5


def test_a_single_factor():
    codes, factors = sample(0)
    assert modularity_explicitness.modularity(np.hstack([codes, 0 * codes]), factors[:, :1]) == 0.5


def test_a_factor_with_183_classes():
    rng = np.random.default_rng(0)
    factors = rng.permutation(np.arange(549) % 183)[:, None]
    codes = np.hstack([np.cos(factors / 29.1), np.sin(factors / 29.1)])
    found = modularity_explicitness.score(codes, factors, codes_test=codes[:100], factors_test=factors[:100])
    assert 0.5 < found["explicitness_test"] <= 1


def test_a_latent_that_is_independent_of_the_factor_knows_nothing_of_it():
    grid = np.stack(np.meshgrid(range(2), range(5), range(7), indexing="ij"), -1).reshape(-1, 3)
    assert modularity_explicitness.modularity(grid[:, 1:2] * 1.0, grid[:, :1]) == 0.0
