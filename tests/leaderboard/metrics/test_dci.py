from __future__ import annotations

import sys

import numpy as np
import pytest

import leaderboard.metrics
from benchmark_data import InvalidInput, MissingExtra
from leaderboard.doubts import LostSpread
from leaderboard.metrics import dci


def test_fast_dci_equals_the_reference(reference):
    expected, codes, factors, codes_test, factors_test = reference
    scores = dci.score(codes, factors, codes_test=codes_test, factors_test=factors_test)
    assert scores == {name: pytest.approx(value, abs=0.01) for name, value in expected["dci"].items()}


def two_factors(n=300, seed=0):
    rng = np.random.default_rng(seed)
    factors = np.stack([rng.integers(0, 2, n), rng.integers(0, 4, n)], axis=1)
    codes = (factors @ [[1.0, 0.2, 0.0], [0.0, 1.0, 0.3]] + 0.4 * rng.normal(size=(n, 3))).astype(np.float32)
    return codes, factors


def test_both_modes_agree_on_the_matrix_and_each_accuracy():
    codes, factors = two_factors()
    codes_test, factors_test = two_factors(seed=1)
    arrays = {"codes_test": codes_test, "factors_test": factors_test}
    fast = dci.parts(codes, factors, mode="fast", **arrays)
    slow = dci.parts(codes, factors, mode="reference", **arrays)
    np.testing.assert_allclose(fast["matrix"], slow["matrix"], atol=0.01)
    np.testing.assert_allclose(fast["accuracy_train"], slow["accuracy_train"], atol=0.01)
    np.testing.assert_allclose(fast["accuracy_test"], slow["accuracy_test"], atol=0.02)
    np.testing.assert_allclose(fast["matrix"].sum(axis=0), 1.0)


def test_both_modes_agree_on_tied_codes():
    """Latents with four values each: most neighbours in the sorted order are equal and must not be cut apart."""
    codes, factors = two_factors()
    codes = np.round(codes).astype(np.float32)
    arrays = {"codes_test": codes, "factors_test": factors}
    fast = dci.parts(codes, factors, mode="fast", **arrays)
    slow = dci.parts(codes, factors, mode="reference", **arrays)
    np.testing.assert_allclose(fast["matrix"], slow["matrix"], atol=0.01)
    np.testing.assert_allclose(fast["accuracy_train"], slow["accuracy_train"], atol=0.005)


def test_neighbours_closer_than_the_threshold_are_not_cut_apart():
    factors = np.arange(40)[:, None] % 2
    near = (factors * 0.9e-7).astype(np.float32)
    apart = (factors * 1.2e-7).astype(np.float32)
    for codes, known in ((near, 0.0), (apart, 1.0)):
        with pytest.warns(LostSpread, match=r"the range of 1 of 1 latents \(the first: 0\) is below 1e-06"):
            found = dci.parts(codes, factors, codes_test=codes, factors_test=factors)
        assert found["matrix"].tolist() == [[known]]


def test_bounds_leave_out_no_latent_that_a_node_can_be_cut_by(monkeypatch):
    """Codes so dense that all samples together have no gap to cut, and those of a node have."""
    _boosting = pytest.importorskip("leaderboard.metrics._boosting")
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 3, (3_000, 2))
    codes = rng.normal(size=(3_000, 4)).astype(np.float32)
    codes[:, :2] = 1e-5 * (factors + 0.7 * codes[:, :2])
    arrays = {"codes_test": codes, "factors_test": factors}
    exact = dci.parts(codes, factors, **arrays)
    monkeypatch.setattr(_boosting, "_BINNED_FROM", 1)
    bounded = dci.parts(codes, factors, **arrays)
    np.testing.assert_array_equal(bounded["matrix"], exact["matrix"])
    assert exact["matrix"][:2].sum() > 1.5, "which hold what there is to know"


def test_the_number_of_threads_changes_nothing_and_the_seed_little():
    codes, factors = two_factors()
    arrays = {"codes_test": codes, "factors_test": factors}
    one = dci.score(codes, factors, threads=1, **arrays)
    assert dci.score(codes, factors, threads=2, **arrays) == one
    assert dci.score(codes, factors, seed=1, **arrays) == {k: pytest.approx(v, abs=0.01) for k, v in one.items()}


def test_the_seed_decides_between_latents_that_are_alike():
    codes, factors = two_factors()
    alike = np.hstack([codes, codes])
    arrays = {"codes_test": alike, "factors_test": factors}
    first, second = (dci.parts(alike, factors, seed=seed, **arrays)["matrix"] for seed in (0, 1))
    assert (first != second).any()


def test_classes_missing_from_one_part():
    codes, factors = two_factors()
    seen = factors[:, 1] < 3
    scores = dci.parts(codes[seen], factors[seen], codes_test=codes, factors_test=factors)
    assert scores["accuracy_test"][1] <= seen.mean()
    scores = dci.parts(codes, factors, codes_test=codes[seen], factors_test=factors[seen])
    assert 0.5 < scores["accuracy_test"][1] <= 1


def test_class_ids_may_be_any_integers():
    codes, factors = two_factors()
    arrays = {"codes_test": codes, "factors_test": factors}
    renamed = factors * 1000 - 7
    assert dci.score(codes, renamed, codes_test=codes, factors_test=renamed) == dci.score(codes, factors, **arrays)


def test_a_copy_of_every_latent_lowers_completeness_alone():
    factors = np.stack(np.meshgrid(range(3), range(4), range(20), indexing="ij"), -1).reshape(-1, 3)[:, :2]
    codes = (factors + 0.01 * np.random.default_rng(0).normal(size=factors.shape)).astype(np.float32)
    doubled = np.hstack([codes, codes])
    one = dci.score(codes, factors, codes_test=codes, factors_test=factors)
    two = dci.score(doubled, factors, codes_test=doubled, factors_test=factors)
    assert one["disentanglement"] > 0.99
    assert two["disentanglement"] > 0.99
    assert one["completeness"] > 0.99
    # Shared evenly between two of four latents: 1 - log 2 / log 4.
    assert two["completeness"] == pytest.approx(0.5, abs=0.03)


def test_an_unknown_mode_is_refused():
    codes, factors = two_factors(20)
    with pytest.raises(InvalidInput, match="mode: expected 'fast' or 'reference', received 'lightgbm'"):
        dci.score(codes, factors, codes_test=codes, factors_test=factors, mode="lightgbm")
    with pytest.raises(InvalidInput, match="threads: expected at least 1, received -1"):
        dci.score(codes, factors, codes_test=codes, factors_test=factors, threads=-1)


def test_fast_mode_without_numba_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    for name in ("_boosting", "_bounds"):
        monkeypatch.delitem(sys.modules, f"leaderboard.metrics.{name}", raising=False)
        monkeypatch.delattr(leaderboard.metrics, name, raising=False)
    codes, factors = two_factors(20)
    with pytest.raises(MissingExtra, match=r"gradient boosting: expected the package numba.*offaxis\[metrics\]"):
        dci.score(codes, factors, codes_test=codes, factors_test=factors)
    assert dci.score(codes, factors, codes_test=codes, factors_test=factors, mode="reference")


def concentration(matrix):
    scores = dci.combine({"matrix": matrix, "accuracy_train": [1.0], "accuracy_test": [1.0]})
    return scores["disentanglement"], scores["completeness"]


def test_concentration_by_hand():
    matrix = np.array([[0.5, 0.0], [0.5, 0.0], [0.0, 1.0], [0.0, 0.0]])
    # Every latent in use serves one factor. Factor 0 is spread over two of four latents: 1 - log 2 / log 4 = 0.5.
    assert concentration(matrix) == (pytest.approx(1.0, abs=1e-9), pytest.approx((0.5 + 1.0) / 2, abs=1e-9))
    assert concentration(np.zeros((4, 2)))[0] == pytest.approx(0.0, abs=1e-12)
    assert concentration(np.array([[0.7, 0.3]]))[1] == 1.0
    assert concentration(np.zeros((1, 2)))[1] == 0.0
