from __future__ import annotations

import numba
import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

from leaderboard.metrics import _boosting as boosting
from leaderboard.metrics import _bounds as bounds


def tables(n):
    return np.concatenate([[0.0], 1 / np.arange(1, n + 1)]), np.concatenate([1 / np.arange(n, 0, -1), [0.0]])


def sorting(x):
    return np.argsort(x, axis=1, kind="stable").astype(np.uint32)


def search(x, gradient, tried=None, samples=None):
    """Search the samples, all by default, for their best cut."""
    n = x.shape[1]
    tried = np.arange(len(x)) if tried is None else tried
    samples = np.arange(n, dtype=np.uint32) if samples is None else samples
    nodes = np.zeros(n, np.uint8)
    nodes[samples] = 1
    rows, sums = np.empty((4, n), np.uint32), np.empty((4, n))
    total = gradient[samples].sum()
    return boosting._find_cut(x, sorting(x), nodes, 1, samples, tried, gradient, total, tables(n), rows, sums)


def brute(x, gradient):
    """The greatest sl² / nl + sr² / nr over all cuts between values more than 1e-7 apart."""
    best = -1.0
    for row in x:
        by = np.argsort(row, kind="stable")
        values, g = row[by], gradient[by]
        for i in range(1, len(row)):
            if values[i] > values[i - 1] + np.float32(1e-7):
                best = max(best, g[:i].sum() ** 2 / i + g[i:].sum() ** 2 / (len(row) - i))
    return best


@pytest.mark.parametrize("latents", [1, 3, 4, 6, 9])
@pytest.mark.parametrize("levels", [2, 5, None])
def test_the_best_cut_is_found_among_tied_and_untied_codes(latents, levels):
    rng = np.random.default_rng(latents)
    x = rng.normal(size=(latents, 120)).astype(np.float32)
    if levels:
        x = np.floor(x * levels / 4).astype(np.float32)
    gradient = rng.normal(size=120)
    value, latent, left = search(x, gradient)
    assert value == pytest.approx(brute(x, gradient), rel=1e-12)
    goes = np.argsort(x[latent], kind="stable")
    s = gradient[goes[:left]].sum()
    assert s**2 / left + (gradient.sum() - s) ** 2 / (120 - left) == pytest.approx(value, rel=1e-12)


def test_constant_codes_have_no_cut():
    assert search(np.full((3, 10), 0.5, np.float32), np.arange(10.0) - 4.5) == (-1.0, -1, -1)


def test_codes_closer_than_scikit_learn_cuts_stay_together():
    x, gradient = np.array([[0.0, 5e-8, 1.0, 1.0]], np.float32), np.array([3.0, -1.0, -1.0, -1.0])
    assert search(x, gradient) == (brute(x, gradient), 0, 2)
    assert search(x[:, :2].copy(), gradient[:2]) == (-1.0, -1, -1)


def test_the_first_tried_of_equal_latents_wins():
    row = np.random.default_rng(0).normal(size=50).astype(np.float32)
    gradient = np.random.default_rng(1).normal(size=50)
    for tried in ([0, 1, 2], [2, 0, 1], [1, 2, 0]):
        assert search(np.stack([row] * 3), gradient, np.array(tried))[1] == tried[0]


@pytest.mark.parametrize("scale", [1.0, 1e-8, 1e-9])
def test_a_tree_is_scikit_learns(scale):
    """On a gradient without ties there is one best tree of depth 3; nodes of next to no variance are not cut."""
    rng = np.random.default_rng(0)
    n, latents = 400, 5
    x = rng.normal(size=(latents, n)).astype(np.float32)
    gradient = scale * (np.sin(3 * x[0]) + x[1] * x[2] + rng.normal(size=n))
    order = sorting(x)
    binned = bounds.bin_samples(x, order)
    scratch = (
        np.empty((7, *binned[1].shape), np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.uint8),
        np.empty(n, np.uint32),
        np.empty((4, n), np.uint32),
        np.empty((4, n)),
    )
    feature, threshold, value = np.empty(7, np.int64), np.empty(7), np.empty(8)
    importances, raw = np.zeros(latents), np.zeros(n)
    boosting._grow_tree(
        x, order, binned, gradient, np.zeros(n, np.uint8), 1.0, raw, tables(n), scratch, np.zeros(1, np.uint64),
        importances, (feature, threshold, value),
    )  # fmt: skip
    tree = DecisionTreeRegressor(max_depth=3, random_state=0).fit(x.T, gradient).tree_
    np.testing.assert_allclose(importances / n, tree.compute_feature_importances(normalize=False), rtol=1e-9)
    assert sorted((f, t) for f, t in zip(feature, threshold, strict=True) if np.isfinite(t)) == [
        (f, pytest.approx(t, rel=1e-12)) for f, t in sorted(zip(tree.feature, tree.threshold, strict=True)) if f >= 0
    ]


@pytest.mark.parametrize("size", [2, 3, 40, 1_000, 2_000])
@pytest.mark.parametrize("kind", ["noise", "sparse", "tied", "known", "copies"])
def test_a_latent_that_is_left_out_has_no_best_cut(kind, size):
    rng = np.random.default_rng(size)
    gradient = np.where(rng.random(2_000) < 0.1, 0.9, -0.1) * rng.random(2_000)
    x = rng.normal(size=(50, 2_000))
    if kind == "sparse":
        x = np.maximum(x - 0.5, 0)
    elif kind == "tied":
        x = np.floor(x * 2)
    elif kind == "known":
        x[7] += 5 * gradient
    elif kind == "copies":
        x[25:] = -x[:25]
    x = x.astype(np.float32)
    samples = np.sort(rng.choice(2_000, size, replace=False)).astype(np.uint32)
    nodes = np.zeros(2_000, np.uint8)
    nodes[samples] = 1
    order, pack = sorting(x), np.empty(2_000, np.int64)
    bins, inside = bounds.bin_samples(x, order)
    sums = np.empty((2, *inside.shape), np.int64)
    units = bounds.pack_gradient(gradient, pack)
    bounds.sum_packed(bins, np.arange(2_000, dtype=np.uint32), pack, sums[0])
    bounds.sum_packed(bins, samples, pack, sums[1])
    left = bounds.candidate_latents(sums[1], sums[0], inside, order, nodes, 1, pack, units)
    assert search(x, gradient, np.flatnonzero(left), samples) == search(x, gradient, samples=samples)
    if size >= 1_000:
        assert left.sum() <= 10, "hardly any is left out"


def test_a_few_samples_are_sorted_as_many_are():
    row = np.array([2, 1, 2, 0, 1, 1], np.float32)
    nodes = np.array([1, 1, 1, 0, 1, 1], np.uint8)
    few, many = np.empty(6, np.uint32), np.empty(6, np.uint32)
    boosting._sort_samples(row, np.array([0, 1, 2, 4, 5], np.uint32), few)
    boosting._copy_members(sorting(row[None])[0], nodes, 1, many)
    assert few[:5].tolist() == many[:5].tolist() == [1, 4, 5, 0, 2]


@pytest.mark.parametrize("trees", [1, 5])
def test_residuals_survive_extreme_scores(trees):
    raw = np.random.default_rng(0).normal(size=(trees, 4)) * [1.0, 1e3, 1e100, -1e100]
    residual = np.empty_like(raw)
    boosting._compute_residuals(raw, np.array([0, 1, 0, 1]), residual)
    assert np.isfinite(residual).all()
    if trees > 1:
        np.testing.assert_allclose(residual.sum(axis=0), 0.0, atol=1e-12)


def test_no_folder_for_machine_code_is_no_error(monkeypatch):
    real = numba.njit

    def njit(*arguments, cache=False, **options):
        def decorate(function):
            if cache:
                raise RuntimeError("cannot cache function: no locator available")
            return real(**options)(function)

        return decorate

    monkeypatch.setattr(numba, "njit", njit)
    assert bounds.compiled(lambda a: a + 1)(1) == 2
