"""Gradient-boosted trees as scikit-learn's ``GradientBoostingClassifier`` with default settings grows them, compiled.

100 rounds, rate 0.1, depth 3, one regression tree per class and round (one in all for two classes). It is the same
algorithm, not an approximation of it: every split is searched exhaustively, on the same float32 values, by the same
rule, so that importances and predictions differ only as two random states of scikit-learn itself differ. It is fast
because the codes are sorted once for all factors, rounds and nodes, and each node inherits its order from its parent by
a stable partition, where scikit-learn sorts again in every node.

Friedman, "Greedy function approximation: a gradient boosting machine" (2001), algorithm 6; checked against
scikit-learn 1.9.1. Needs numba, so import this module only where it is used.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmark_data import draws
from leaderboard.metrics._boosting_trees import DEPTH, RATE, SPLITS, compiled, grow
from leaderboard.metrics._boosting_wide import STRETCHES, grow_wide, root_sums, stretch_of

ROUNDS = 100

WIDE = 64
"""Latents from which on trees are grown by `leaderboard.metrics._boosting_wide`, which is faster there."""


class Boosted(NamedTuple):
    """What came out for each factor.

    Attributes:
        importances: float64 (L, F), at least 0; a column sums to 1, or to 0 where no split was found.
        train: int64 (n, F), the predicted classes of the training samples.
        test: int64 (m, F), the predicted classes of the held-out samples.
    """

    importances: NDArray[np.float64]
    train: NDArray[np.int64]
    test: NDArray[np.int64]


def boost(
    codes: NDArray[np.floating],
    factors: NDArray[np.int64],
    classes: list[int],
    codes_test: NDArray[np.floating],
    *,
    seed: int,
    threads: int | None = None,
) -> Boosted:
    """Fit one classifier for each factor.

    Args:
        codes: finite numbers, shape (n, L), of magnitude that float32 can hold, as the trees see it.
        factors: int64 (n, F), classes numbered 0 .. K - 1 for each factor, each of them present.
        classes: the K of each factor, at least 2.
        codes_test: shape (m, L).
        seed: for the order in which latents are tried in each node, which decides ties.
        threads: how many factors to fit at a time; None for as many as there are cores. Results do not depend on it.

    Returns:
        Importances and predictions.
    """
    x = np.ascontiguousarray(codes.T, dtype=np.float32)
    order = np.argsort(x, axis=1, kind="stable").astype(np.uint32)  # unsigned: no test for negative indices
    x_test = np.ascontiguousarray(codes_test, dtype=np.float32)
    columns = np.ascontiguousarray(factors.T)
    seeds = draws.bits(seed, np.arange(len(classes)), 1)[:, 0]
    stretch = stretch_of(order) if len(x) >= WIDE else np.empty((0, 0), np.uint8)

    def fit(f: int) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
        result: tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]
        result = _fit(x, order, stretch, columns[f], classes[f], x_test, seeds[f])
        return result

    largest_first = sorted(range(len(classes)), key=lambda f: -classes[f])
    with ThreadPoolExecutor(threads or os.cpu_count()) as pool:
        fitted = dict(zip(largest_first, pool.map(fit, largest_first), strict=True))
    importances, train, test = zip(*(fitted[f] for f in range(len(classes))), strict=True)
    return Boosted(np.stack(importances, axis=1), np.stack(train, axis=1), np.stack(test, axis=1))


@compiled
def _fit(x, order, stretch, y, classes, x_test, seed):  # type: ignore[no-untyped-def]
    """Boost one factor: x float32 (L, n), order uint32 (L, n) sorting each row, y int64 (n,), x_test float32 (m, L).

    ``stretch``, uint8 (L, n), is that of `stretch_of` for trees of many latents, and empty for those of few.
    """
    latents, n = x.shape
    m = len(x_test)
    trees = 1 if classes == 2 else classes
    counts = np.zeros(classes)
    for i in range(n):
        counts[y[i]] += 1.0
    raw = np.empty((trees, n))
    raw_test = np.empty((trees, m))
    shares = counts / n
    middle = np.exp(np.log(shares).mean())
    for k in range(trees):
        start = np.log(shares[1] / shares[0]) if trees == 1 else np.log(shares[k] / middle)
        raw[k] = start
        raw_test[k] = start

    rising = np.empty(n + 1)  # rising[i] = 1 / i and falling[i] = 1 / (n - i): both run forward along a node
    falling = np.empty(n + 1)
    for i in range(1, n + 1):
        rising[i] = 1.0 / i
        falling[n - i] = 1.0 / i

    state = np.array([seed], np.uint64)
    residual = np.empty((trees, n))
    wide = len(stretch) > 0
    of_few, of_many = 0 if wide else n, n if wide else 0
    scratch = (
        np.empty((latents, of_few), np.uint32),
        np.empty((latents, of_few), np.uint32),
        np.empty(of_few, np.uint8),
        np.empty(of_few, np.uint32),
        np.empty(of_few, np.uint32),
        np.empty((4, of_few)),
    )
    root = np.empty((trees if wide else 0, latents, STRETCHES))
    scratch_wide = (
        np.empty(of_many, np.uint8),
        np.empty(of_many, np.uint32),
        np.empty((4, of_many + 1), np.uint32),
        np.empty((4, of_many)),
        np.empty((SPLITS if wide else 0, latents, STRETCHES)),
        np.empty(latents),
    )
    feature, threshold, value = np.empty(SPLITS, np.int64), np.empty(SPLITS), np.empty(SPLITS + 1)
    importances = np.zeros(latents)
    positive = np.empty(n, np.uint8)
    shrink = 1.0 if trees == 1 else (trees - 1.0) / trees

    for _ in range(ROUNDS):
        _residuals(raw, y, residual)
        if wide:
            root_sums(order, residual, root)
        for k in range(trees):
            for i in range(n):
                positive[i] = y[i] == (1 if trees == 1 else k)
            tree = (feature, threshold, value)
            if wide:
                grow_wide(
                    x, order, stretch, root[k], residual[k], positive, shrink, raw[k], (rising, falling), scratch_wide,
                    state, importances, tree,
                )  # fmt: skip
            else:
                grow(
                    x, order, residual[k], positive, shrink, raw[k], (rising, falling), scratch, state, importances,
                    tree,
                )  # fmt: skip
            out = raw_test[k]
            for i in range(m):
                node = 0
                for _ in range(DEPTH):
                    node = 2 * node + 1 + (x_test[i, feature[node]] > threshold[node])
                out[i] += RATE * value[node - SPLITS]

    total = importances.sum()
    if total > 0:
        importances /= total
    return importances, _predict(raw), _predict(raw_test)


@compiled
def _residuals(raw, y, residual):  # type: ignore[no-untyped-def]
    """Write y - p, the negative gradient of the log loss; raw and residual are (trees, n)."""
    trees, n = raw.shape
    if trees == 1:
        for i in range(n):
            if raw[0, i] > -37.0:
                e = np.exp(-raw[0, i])
                residual[0, i] = (e if y[i] == 1 else -1.0) / (1.0 + e)
            else:  # where exp(-raw) is so large that 1 + e is e, and later overflows
                residual[0, i] = y[i] - np.exp(raw[0, i])
        return
    top = raw[0].copy()
    for k in range(1, trees):
        for i in range(n):
            top[i] = max(top[i], raw[k, i])
    total = np.zeros(n)
    for k in range(trees):
        for i in range(n):
            e = np.exp(raw[k, i] - top[i])
            residual[k, i] = e
            total[i] += e
    for k in range(trees):
        for i in range(n):
            residual[k, i] = (1.0 if y[i] == k else 0.0) - residual[k, i] / total[i]


@compiled
def _predict(raw):  # type: ignore[no-untyped-def]
    """Return the class of each sample: the first greatest raw score, or for two classes its sign."""
    trees, n = raw.shape
    result = np.zeros(n, np.int64)
    if trees == 1:
        for i in range(n):
            result[i] = raw[0, i] >= 0
        return result
    top = raw[0].copy()
    for k in range(1, trees):
        for i in range(n):
            if raw[k, i] > top[i]:
                top[i] = raw[k, i]
                result[i] = k
    return result
