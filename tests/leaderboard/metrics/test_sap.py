from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from leaderboard.metrics import sap


def test_sap_equals_the_reference(reference):
    expected, codes, factors, codes_test, factors_test = reference
    found = sap.score(codes, factors, codes_test=codes_test, factors_test=factors_test)
    assert found["sap"] == pytest.approx(expected["sap"], abs=1e-3)


@pytest.mark.parametrize("classes", [2, 3, 9])
@pytest.mark.parametrize("scale", [0.01, 1.0, 30.0])
def test_the_machines_are_liblinears(classes, scale):
    rng = np.random.default_rng(classes)
    ids = rng.choice(classes, size=300, p=np.arange(1, classes + 1) / sum(range(1, classes + 1)))
    x = scale * (ids + rng.normal(size=300) - classes / 2)
    slopes, offsets = sap._fit_machines(x, ids, classes)
    exact = LinearSVC(C=0.01, class_weight="balanced", tol=1e-10, max_iter=100_000, dual=False).fit(x[:, None], ids)
    np.testing.assert_allclose(slopes, exact.coef_[:, 0], rtol=1e-4, atol=1e-7)
    np.testing.assert_allclose(offsets, exact.intercept_, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("offset", [0.0, 10.0, 1e6])
def test_an_offset_matters_as_in_the_reference(offset):
    rng = np.random.default_rng(0)
    factors = rng.integers(0, [2, 3], (600, 2))
    codes = factors + 0.3 * rng.normal(size=(600, 2)) + offset
    train, test = slice(0, 400), slice(400, 600)
    found = sap._accuracies(codes[train], factors[train], codes[test], factors[test])
    for (latent, factor), accuracy in np.ndenumerate(found):
        machine = LinearSVC(C=0.01, class_weight="balanced", tol=1e-10, max_iter=100_000, dual=False)
        machine.fit(codes[train, [latent]], factors[train, factor])
        expected = machine.score(codes[test, [latent]], factors[test, factor])
        assert accuracy == pytest.approx(expected, abs=0.01)


def test_a_copy_of_the_best_latent_leaves_no_gap():
    factors = np.stack(np.meshgrid(range(2), range(2), range(9), indexing="ij"), -1).reshape(-1, 3)[:, :2]
    codes = factors * 4.0 - 2
    arrays = {"codes_test": codes, "factors_test": factors}
    assert sap.score(codes, factors, **arrays)["sap"] == 0.5
    doubled = np.hstack([codes, codes])
    assert sap.score(doubled, factors, codes_test=doubled, factors_test=factors)["sap"] == 0.0


def test_a_single_latent_is_compared_with_one_that_knows_nothing():
    factors = np.repeat([[0], [1]], [30, 10], axis=0)
    codes = factors * 4.0 - 2
    found = sap.score(codes, factors, codes_test=codes, factors_test=factors)["sap"]
    padded = np.hstack([codes, np.zeros((40, 1))])
    assert found == sap.score(padded, factors, codes_test=padded, factors_test=factors)["sap"]
    assert 0 < found < 1


@pytest.mark.parametrize("latents", [1, 2])
def test_the_numbering_of_classes_does_not_matter_to_a_constant_latent(latents):
    rare = np.repeat([0, 1], [900, 100])[:, None]
    codes = np.hstack([2.0 * rare - 1, 0.0 * rare])[:, :latents]
    scores = [sap.score(codes, v, codes_test=codes, factors_test=v)["sap"] for v in (rare, 1 - rare)]
    assert scores == pytest.approx([0.1, 0.1]), "the second best always predicts the frequent class, in 900 of 1,000"


def test_two_latents_are_compared_with_each_other_even_if_one_that_knows_nothing_is_better():
    """The second latent's machine takes half of the frequent class for the rare one."""
    rare = np.repeat([0, 1], [900, 100])[:, None]
    vague = np.r_[np.tile([-1.0, 1.0], 450), np.tile([1.0, 1.0, 1.0, 1.0, -1.0], 20)]
    codes = np.column_stack([2.0 * rare - 1, vague])
    assert sap.score(codes, rare, codes_test=codes, factors_test=rare)["sap"] == pytest.approx(1 - (450 + 80) / 1000)
