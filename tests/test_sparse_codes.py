from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from benchmark_data import InvalidInput

SPEC = importlib.util.spec_from_file_location("sparse_codes", Path(__file__).parents[1] / "benchmarks/sparse_codes.py")
sparse_codes = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(sparse_codes)


def sparse_features(n=4000, units=12, width=30):
    """Features that are sums of two of twelve directions, with their strengths."""
    rng = np.random.default_rng(0)
    strengths = np.zeros((n, units))
    for row in strengths:
        row[rng.choice(units, 2, replace=False)] = rng.uniform(0.5, 1.5, 2)
    return strengths @ np.linalg.qr(rng.normal(size=(width, units)))[0].T, strengths


@pytest.mark.parametrize(("kind", "settings"), [("topk", {"active": 2}), ("l1", {"strength": 0.5})])
def test_it_finds_the_directions_that_features_are_sums_of(kind, settings):
    features, strengths = sparse_features()
    codes = sparse_codes.fit(features, units=24, kind=kind, steps=1500, learning_rate=3e-3, **settings)(features)
    correlation = np.corrcoef(codes.T + 1e-9 * np.random.default_rng(1).normal(size=codes.T.shape), strengths.T)[
        :24, 24:
    ]
    assert correlation.max(axis=0).mean() > 0.85  # of codes at random 0.1
    assert (codes >= 0).all()


@pytest.mark.parametrize(("k", "l1"), [(3, 0.0), (7, 0.3)])
def test_gradients_are_those_of_finite_differences(k, l1):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(5, 6))
    weights = [rng.normal(size=shape) for shape in ((6, 7), (7,), (7, 6), (6,))]

    def loss():
        z = sparse_codes._units(x, weights, k)
        return (((z @ weights[2] + weights[3] - x) ** 2).sum() + l1 * z.sum()) / len(x)

    for weight, gradient in zip(weights, sparse_codes._gradients(x, weights, k, l1), strict=True):
        place = tuple(rng.integers(size) for size in weight.shape)
        kept = weight[place]
        weight[place] = kept + 1e-6
        above = loss()
        weight[place] = kept - 1e-6
        expected, weight[place] = (above - loss()) / 2e-6, kept
        assert gradient[place] == pytest.approx(expected, rel=1e-4, abs=1e-6)


def test_the_same_seed_gives_the_same_codes_and_constant_features_none():
    features = np.random.default_rng(0).normal(size=(100, 5))
    one, again = (sparse_codes.fit(features, units=8, steps=5, seed=3)(features) for _ in range(2))
    np.testing.assert_array_equal(one, again)
    assert np.isfinite(sparse_codes.fit(np.ones((20, 5)), units=8, steps=5)(np.ones((3, 5)))).all()


def test_settings_out_of_range_are_refused():
    with pytest.raises(InvalidInput, match="active: expected at most 4, the number of units, received 5"):
        sparse_codes.fit(np.eye(9), units=4, active=5)
    with pytest.raises(InvalidInput, match="expected 'topk' or 'l1', received 'l0'"):
        sparse_codes.fit(np.eye(9), units=9, kind="l0")
    for wrong in ({"steps": -1}, {"strength": float("nan")}, {"learning_rate": float("nan")}, {"seed": -1}):
        with pytest.raises(InvalidInput, match=next(iter(wrong))):
            sparse_codes.fit(np.eye(9), units=9, **wrong)
    assert sparse_codes.fit(np.eye(9), units=4, kind="l1", steps=1)(np.eye(9)).shape == (9, 4)
