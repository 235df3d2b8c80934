"""Gradient-boosted trees as scikit-learn's ``GradientBoostingClassifier`` with default settings grows them, compiled.

100 rounds, rate 0.1, depth 3, one regression tree per class and round (one in all for two classes). It is the same
algorithm, not an approximation of it: every split is the best of all, on the same float32 values, by the same rule, so
that importances and predictions differ only as two random states of scikit-learn itself differ. It is fast because the
codes are sorted once for all factors, rounds and nodes, where scikit-learn sorts again in every node, and because a
latent is searched only where its sums in 64 bins leave it a chance to be the best.

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
from leaderboard.metrics._bounds import CLOSE, candidates, compiled, divided, packed, totals

ROUNDS = 100
RATE = 0.1
_DEPTH = 3
_SPLITS = 2**_DEPTH - 1  # nodes 0 .. 6 of a complete tree; the children of i are 2 i + 1 and 2 i + 2

_WIDE = 100_000  # codes of a training part, from which on bounds cost less than they save
_NEARLY = 1.0 - 1e-14  # proxies that differ by less are compared with scikit-learn's own arithmetic
_PURE = float(np.finfo(np.float64).eps)  # nor does it cut a node of smaller variance


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
    codes_test: NDArray[np.floating],
    *,
    seed: int,
    threads: int | None = None,
) -> Boosted:
    """Fit one classifier for each factor.

    Args:
        codes: finite numbers, shape (n, L), of magnitude that float32 can hold, as the trees see it.
        factors: int64 (n, F), classes numbered 0 .. K - 1 for each factor, each of them present, and at least two.
        codes_test: shape (m, L).
        seed: for the order in which latents are tried in each node, which decides ties.
        threads: how many factors to fit at a time; None for as many as there are cores. Results do not depend on it.

    Returns:
        Importances and predictions.
    """
    x = np.ascontiguousarray(codes.T, dtype=np.float32)
    order = np.argsort(x, axis=1, kind="stable").astype(np.uint32)  # unsigned: no test for negative indices
    bins, inside = divided(x if x.size >= _WIDE else x[:0], order)
    x_test = np.ascontiguousarray(codes_test, dtype=np.float32)
    columns = np.ascontiguousarray(factors.T)
    classes = (factors.max(axis=0) + 1).tolist()
    seeds = draws.bits(seed, np.arange(len(classes)), 1)[:, 0]

    def fit(f: int) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
        gains, raw, raw_test = _fit(x, order, bins, inside, columns[f], classes[f], x_test, seeds[f])
        return gains, _predicted(raw), _predicted(raw_test)

    largest_first = sorted(range(len(classes)), key=lambda f: -classes[f])
    with ThreadPoolExecutor(threads or os.cpu_count()) as pool:
        fitted = dict(zip(largest_first, pool.map(fit, largest_first), strict=True))
    importances, train, test = zip(*(fitted[f] for f in range(len(classes))), strict=True)
    # A cut that gains nothing may come out below 0 by rounding; the reference takes magnitudes, too.
    return Boosted(np.abs(np.stack(importances, axis=1)), np.stack(train, axis=1), np.stack(test, axis=1))


def _predicted(raw: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the class of each sample: the first greatest raw score, or for two classes its sign."""
    return raw.argmax(axis=0) if len(raw) > 1 else (raw[0] >= 0).astype(np.int64)


@compiled
def _fit(x, order, bins, inside, y, classes, x_test, seed):  # type: ignore[no-untyped-def]
    """Boost one factor: x float32 (L, n), order uint32 (L, n) sorting each row, y int64 (n,), x_test float32 (m, L)."""
    latents, n = x.shape
    m = len(x_test)
    trees = 1 if classes == 2 else classes
    raw = np.empty((trees, n))
    raw_test = np.empty((trees, m))
    shares = np.bincount(y) / n
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
    scratch = (
        np.empty((_SPLITS, *inside.shape), np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.uint8),
        np.empty(n, np.uint32),
        np.empty((4, n), np.uint32),
        np.empty((4, n)),
    )
    feature, threshold, value = np.empty(_SPLITS, np.int64), np.empty(_SPLITS), np.empty(_SPLITS + 1)
    importances = np.zeros(latents)
    positive = np.empty(n, np.uint8)
    shrink = 1.0 if trees == 1 else (trees - 1.0) / trees

    for _ in range(ROUNDS):
        _residuals(raw, y, residual)
        for k in range(trees):
            positive[:] = y == (1 if trees == 1 else k)
            _grow(
                x, order, (bins, inside), residual[k], positive, shrink, raw[k], (rising, falling), scratch, state,
                importances, (feature, threshold, value),
            )  # fmt: skip
            out = raw_test[k]
            for i in range(m):
                node = 0
                for _ in range(_DEPTH):
                    node = 2 * node + 1 + (x_test[i, feature[node]] > threshold[node])
                out[i] += RATE * value[node - _SPLITS]

    total = importances.sum()
    if total > 0:
        importances /= total
    return importances, raw, raw_test


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
def _grow(  # type: ignore[no-untyped-def]
    x, order, binned, gradient, positive, shrink, raw, tables, scratch, state, importances, tree
):
    """Grow one tree on ``gradient``; write it to ``tree``, add its gains to ``importances`` and its leaves to ``raw``.

    A node that is not split keeps threshold infinity, so that all of it goes left, down to one of the eight values.
    """
    latents, n = x.shape
    bins = binned[0]
    packs, pack, nodes, samples, rows, sums = scratch
    feature, threshold, value = tree
    begin = np.zeros(_SPLITS, np.int64)
    end = np.zeros(_SPLITS, np.int64)
    impurity = np.empty(_SPLITS)
    tried = np.arange(latents)
    end[0] = n
    everyone = np.arange(n).astype(np.uint32)
    samples[:], nodes[:] = everyone, 0
    feature[:], threshold[:], value[:] = 0, np.inf, 0.0
    wide = len(bins) > 0
    units = packed(gradient, pack) if wide else (0, 1.0, 1.0)
    if wide:
        totals(bins, samples, pack, packs[0])
    for node in range(_SPLITS):
        lo, hi = begin[node], end[node]
        if lo == hi:
            continue
        size = hi - lo
        depth = 0 if node == 0 else (1 if node < 3 else 2)
        total, squares = _sums(samples[lo:hi], gradient)
        if node == 0:
            impurity[0] = squares / n - (total / n) ** 2
        best, chosen, cut = -1.0, -1, -1
        if size > 1 and impurity[node] > _PURE:
            _shuffle(tried, state)  # the first of equal latents wins
            _members(everyone, nodes, node, rows[0])
            these = rows[0, :size].copy()
            some = tried
            if wide:
                some = tried[candidates(packs[node], packs[0], binned[1], order, nodes, node, pack, units)[tried]]
            best, chosen, cut = _search(x, order, nodes, node, these, some, gradient, total, tables, rows, sums)
        first_leaf = ((node + 1) << (_DEPTH - depth)) - 1 - _SPLITS
        here = rows[0, :size]
        _members(order[max(chosen, 0)], nodes, node, rows[0])
        if chosen < 0:
            value[first_leaf] = _leaf(here, gradient, positive, shrink, raw)
            continue

        feature[node] = chosen
        a, b = x[chosen, here[cut - 1]], x[chosen, here[cut]]
        threshold[node] = np.float64(a) / 2.0 + np.float64(b) / 2.0
        importances[chosen] += best - total * total / size
        if depth == 2:
            value[first_leaf] = _leaf(here[:cut], gradient, positive, shrink, raw)
            value[first_leaf + 1] = _leaf(here[cut:], gradient, positive, shrink, raw)
            continue

        _members(order[tried[-1]], nodes, node, rows[1])
        samples[lo:hi] = rows[1, :size]
        left, right = 2 * node + 1, 2 * node + 2
        sum_left, squares_left = _parted(here, cut, left, gradient, nodes, samples[lo:hi])
        begin[left], end[left], begin[right], end[right] = lo, lo + cut, lo + cut, hi
        impurity[left] = squares_left / cut - (sum_left / cut) ** 2
        impurity[right] = (squares - squares_left) / (size - cut) - ((total - sum_left) / (size - cut)) ** 2
        if wide:
            smaller, larger = (left, right) if 2 * cut < size else (right, left)
            _members(everyone, nodes, smaller, rows[1])
            totals(bins, rows[1, : end[smaller] - begin[smaller]], pack, packs[smaller])
            np.subtract(packs[node], packs[smaller], packs[larger])


@compiled
def _parted(here, cut, left, gradient, nodes, samples):  # type: ignore[no-untyped-def]
    """Move a node's samples to its children, those before the cut to the left one: its sum and sum of squares.

    The last bit of a total decides ties, so that it matters in which order it is summed. scikit-learn leaves a node's
    ``samples`` as its last sort and a partition by swaps left them.
    """
    nodes[here[:cut]] = left
    nodes[here[cut:]] = left + 1
    first, last = 0, len(samples)
    while first < last:
        if nodes[samples[first]] == left:
            first += 1
        else:
            last -= 1
            samples[first], samples[last] = samples[last], samples[first]
    return _sums(here[:cut], gradient)


@compiled
def _sums(samples, gradient):  # type: ignore[no-untyped-def]
    """Sum the gradient of samples, and its squares."""
    total, squares = 0.0, 0.0
    for s in samples:
        total += gradient[s]
        squares += gradient[s] * gradient[s]
    return total, squares


@compiled
def _members(row, nodes, node, out):  # type: ignore[no-untyped-def]
    """Copy those samples of ``row`` that are in a node to the front of ``out``, in their order."""
    k = np.uint64(0)
    for i in range(len(row)):  # written in any case: a branch would be guessed wrong too often
        s = row[i]
        out[k] = s
        k += np.uint64(nodes[s] == node)


@compiled
def _sorted(row, samples, out):  # type: ignore[no-untyped-def]
    """Sort a few samples by one latent, equal ones as they were."""
    for i in range(len(samples)):
        s = samples[i]
        k = i
        while k > 0 and row[out[k - 1]] > row[s]:
            out[k] = out[k - 1]
            k -= 1
        out[k] = s


@compiled
def _search(  # type: ignore[no-untyped-def]
    x, order, nodes, node, samples, tried, gradient, total, tables, rows, sums
):
    """Find the cut of a node with the greatest sl² / nl + sr² / nr: its value, its latent, its left count."""
    size = len(samples)
    best, chosen, cut = -1.0, -1, -1
    rising, falling = tables
    up, down = rising[1:size], falling[len(falling) - size :]
    for first in range(0, len(tried), 4):
        block = min(4, len(tried) - first)
        for b in range(block):
            if size > 64:
                _members(order[tried[first + b]], nodes, node, rows[b])
            else:
                _sorted(x[tried[first + b]], samples, rows[b])
        # Four running sums at a time, since each waits for its own last addition.
        if block == 4:
            _cumulate4(rows, size, gradient, sums)
        else:
            for b in range(block):
                _cumulate(rows[b, :size], gradient, sums[b])
        for b in range(block):
            j, here = tried[first + b], rows[b]
            left_sums = sums[b, : size - 1]
            top = _greatest(left_sums, total, up, down)
            bar = max(best, top) * _NEARLY
            while top >= best * _NEARLY:
                allowed = False
                for i in range(size - 1):
                    s = left_sums[i]
                    if s * s * up[i] + (total - s) * (total - s) * down[i] < bar:
                        continue
                    if x[j, here[i + 1]] > x[j, here[i]] + CLOSE:
                        allowed = True
                        # Divided as scikit-learn does: a product with the reciprocal may differ in the last bit.
                        exact = s * s / (i + 1) + (total - s) * (total - s) / (size - 1 - i)
                        if exact > best:
                            best, chosen, cut = exact, j, i + 1
                if allowed or bar <= best * _NEARLY:
                    break
                bar = best * _NEARLY  # the greatest lies between equal codes: look at all that beat the best so far
    return best, chosen, cut


@compiled
def _cumulate(row, gradient, out):  # type: ignore[no-untyped-def]
    """Write the running sums of the gradient in the order of ``row``."""
    s = 0.0
    for i in range(len(row)):
        s += gradient[row[i]]
        out[i] = s


@compiled
def _cumulate4(rows, size, gradient, out):  # type: ignore[no-untyped-def]
    """Write the running sums for four latents."""
    r0, r1, r2, r3 = rows[0], rows[1], rows[2], rows[3]
    o0, o1, o2, o3 = out[0], out[1], out[2], out[3]
    s0 = s1 = s2 = s3 = 0.0
    for i in range(size):
        s0 += gradient[r0[i]]
        s1 += gradient[r1[i]]
        s2 += gradient[r2[i]]
        s3 += gradient[r3[i]]
        o0[i] = s0
        o1[i] = s1
        o2[i] = s2
        o3[i] = s3


@compiled
def _greatest(sums, total, up, down):  # type: ignore[no-untyped-def]
    """Return the greatest sl² / nl + sr² / nr over all cuts."""
    # Non-negative floats have the order of their bits, and compilers take the maximum of integers many at a time.
    top = np.int64(0)
    for i in range(len(sums)):
        s = sums[i]
        rest = total - s
        top = max(top, np.float64(s * s * up[i] + rest * rest * down[i]).view(np.int64))
    return np.int64(top).view(np.float64)


@compiled
def _leaf(samples, gradient, positive, shrink, raw):  # type: ignore[no-untyped-def]
    """Take one Newton step in a leaf: give its value and add it to the samples' raw scores."""
    numerator, denominator = 0.0, 0.0
    for s in samples:
        g = gradient[s]
        p = positive[s] - g
        numerator += g
        denominator += p * (1.0 - p)
    size = len(samples)
    numerator, denominator = numerator / size * shrink, denominator / size
    step = 0.0 if abs(denominator) < 1e-150 else numerator / denominator
    for s in samples:
        raw[s] += RATE * step
    return step


@compiled
def _shuffle(tried, state):  # type: ignore[no-untyped-def]
    """Bring latents into a new random order."""
    for j in range(len(tried) - 1, 0, -1):
        r = _draw(state, j + 1)
        tried[j], tried[r] = tried[r], tried[j]


@compiled
def _draw(state, below):  # type: ignore[no-untyped-def]
    """Draw an integer in [0, below) by SplitMix64; the modulo's bias is below 2**-50 for any number of latents."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.int64((z ^ (z >> np.uint64(31))) % np.uint64(below))
