"""Gradient-boosted trees like scikit-learn's ``GradientBoostingClassifier`` with default settings, compiled.

100 rounds, rate 0.1, depth 3, one regression tree per class and round (one for two classes). The algorithm is exact:
every split is the best one, on the same float32 values, by the same rule, so that importances and predictions differ
only as with two random states of scikit-learn. It is fast because codes are sorted once for all factors, rounds and
nodes, where scikit-learn sorts again in every node, and because a latent is searched only if its sums in 64 bins do not
exclude that it has the best split.

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
from leaderboard.information import number_classes
from leaderboard.metrics._bounds import CLOSE, bin_samples, candidate_latents, compiled, pack_gradient, sum_packed

ROUNDS = 100
RATE = 0.1
_DEPTH = 3
_SPLITS = 2**_DEPTH - 1  # nodes 0 .. 6 of a complete tree; the children of i are 2 i + 1 and 2 i + 2

_BINNED_FROM = 100_000  # codes of a training part, from which on bounds cost less than they save
_TIE_FACTOR = 1.0 - 1e-14  # proxies that differ by less are compared with scikit-learn's own arithmetic
_LEAST_IMPURITY = float(np.finfo(np.float64).eps)  # nor does it cut a node of smaller variance


class Boosted(NamedTuple):
    """Importances and predictions for each factor.

    Attributes:
        importances: float64 (L, F), at least 0; a column sums to 1, or to 0 if no split was found.
        train: int64 (n, F), the predicted class ids of the training samples.
        test: int64 (m, F), the predicted class ids of the held-out samples.
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
        codes: finite numbers, shape (n, L), within the range of float32, to which they are converted.
        factors: class ids, int64 (n, F), at least two of each factor.
        codes_test: shape (m, L).
        seed: for the order in which latents are tried in each node, which breaks ties.
        threads: number of factors to fit in parallel; None for the number of cores. Results do not depend on it.

    Returns:
        Importances and predictions.
    """
    x = np.ascontiguousarray(codes.T, dtype=np.float32)
    order = np.argsort(x, axis=1, kind="stable").astype(np.uint32)  # unsigned: no test for negative indices
    bins, cuttable = bin_samples(x if x.size >= _BINNED_FROM else x[:0], order)
    x_test = np.ascontiguousarray(codes_test, dtype=np.float32)
    columns = np.ascontiguousarray(number_classes(factors).T)
    class_ids = [np.unique(column) for column in factors.T]
    classes = [len(ids) for ids in class_ids]
    seeds = draws.bits(seed, np.arange(len(classes)), 1)[:, 0]

    def fit(f: int) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
        gains, raw, raw_test = _fit_factor(x, order, bins, cuttable, columns[f], classes[f], x_test, seeds[f])
        return gains, class_ids[f][_predicted_classes(raw)], class_ids[f][_predicted_classes(raw_test)]

    largest_first = sorted(range(len(classes)), key=lambda f: -classes[f])
    with ThreadPoolExecutor(threads or os.cpu_count()) as pool:
        fitted = dict(zip(largest_first, pool.map(fit, largest_first), strict=True))
    importances, train, test = zip(*(fitted[f] for f in range(len(classes))), strict=True)
    # A gain of 0 may be negative by rounding; the reference uses absolute values, too.
    return Boosted(np.abs(np.stack(importances, axis=1)), np.stack(train, axis=1), np.stack(test, axis=1))


def _predicted_classes(raw: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the class of each sample: the first with the largest raw score, or for two classes by its sign."""
    return raw.argmax(axis=0) if len(raw) > 1 else (raw[0] >= 0).astype(np.int64)


@compiled
def _fit_factor(x, order, bins, cuttable, y, classes, x_test, seed):  # type: ignore[no-untyped-def]
    """Boost one factor: x float32 (L, n), order uint32 (L, n) sorting each row, y int64 (n,), x_test float32 (m, L)."""
    latents, n = x.shape
    m = len(x_test)
    trees = 1 if classes == 2 else classes
    raw = np.empty((trees, n))
    raw_test = np.empty((trees, m))
    frequencies = np.bincount(y) / n
    geometric_mean = np.exp(np.log(frequencies).mean())
    for k in range(trees):
        start_score = np.log(frequencies[1] / frequencies[0]) if trees == 1 else np.log(frequencies[k] / geometric_mean)
        raw[k] = start_score
        raw_test[k] = start_score

    inverse = np.empty(n + 1)  # inverse[i] = 1 / i and inverse_reversed[i] = 1 / (n - i): both run forward in a node
    inverse_reversed = np.empty(n + 1)
    for i in range(1, n + 1):
        inverse[i] = 1.0 / i
        inverse_reversed[n - i] = 1.0 / i

    random_state = np.array([seed], np.uint64)
    residual = np.empty((trees, n))
    scratch = (
        np.empty((_SPLITS, *cuttable.shape), np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.uint8),
        np.empty(n, np.uint32),
        np.empty((4, n), np.uint32),
        np.empty((4, n)),
    )
    feature, threshold, value = np.empty(_SPLITS, np.int64), np.empty(_SPLITS), np.empty(_SPLITS + 1)
    importances = np.zeros(latents)
    positive = np.empty(n, np.uint8)
    shrinkage = 1.0 if trees == 1 else (trees - 1.0) / trees

    for _ in range(ROUNDS):
        _compute_residuals(raw, y, residual)
        for k in range(trees):
            positive[:] = y == (1 if trees == 1 else k)
            _grow_tree(
                x, order, (bins, cuttable), residual[k], positive, shrinkage, raw[k], (inverse, inverse_reversed),
                scratch, random_state, importances, (feature, threshold, value),
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
def _compute_residuals(raw, y, residual):  # type: ignore[no-untyped-def]
    """Write y - p, the negative gradient of the log loss; raw and residual are (trees, n)."""
    trees, n = raw.shape
    if trees == 1:
        for i in range(n):
            if raw[0, i] > -37.0:
                e = np.exp(-raw[0, i])
                residual[0, i] = (e if y[i] == 1 else -1.0) / (1.0 + e)
            else:  # exp(-raw) is so large that 1 + e equals e, or overflows
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
def _grow_tree(  # type: ignore[no-untyped-def]
    x, order, binned, gradient, positive, shrinkage, raw, tables, scratch, random_state, importances, tree
):
    """Grow one tree on ``gradient``; write it to ``tree``, add its gains to ``importances`` and its leaves to ``raw``.

    A node that is not split has threshold infinity, so that all its samples go left, down to one of the eight leaves.
    """
    latents, n = x.shape
    bins = binned[0]
    packed_sums, packed_gradient, nodes, samples, rows, sums = scratch
    feature, threshold, value = tree
    begin = np.zeros(_SPLITS, np.int64)
    end = np.zeros(_SPLITS, np.int64)
    impurity = np.empty(_SPLITS)
    latent_order = np.arange(latents)
    end[0] = n
    all_samples = np.arange(n).astype(np.uint32)
    samples[:], nodes[:] = all_samples, 0
    feature[:], threshold[:], value[:] = 0, np.inf, 0.0
    is_binned = len(bins) > 0
    units = pack_gradient(gradient, packed_gradient) if is_binned else (0, 1.0, 1.0)
    if is_binned:
        sum_packed(bins, samples, packed_gradient, packed_sums[0])
    for node in range(_SPLITS):
        lo, hi = begin[node], end[node]
        if lo == hi:
            continue
        size = hi - lo
        depth = 0 if node == 0 else (1 if node < 3 else 2)
        total, squares = _sum_gradients(samples[lo:hi], gradient)
        if node == 0:
            impurity[0] = squares / n - (total / n) ** 2
        gain, latent, n_left = -1.0, -1, -1
        if size > 1 and impurity[node] > _LEAST_IMPURITY:
            _shuffle(latent_order, random_state)  # the first of equal latents wins
            _copy_members(all_samples, nodes, node, rows[0])
            members = rows[0, :size].copy()
            pool = latent_order
            if is_binned:
                pool = latent_order[
                    candidate_latents(
                        packed_sums[node], packed_sums[0], binned[1], order, nodes, node, packed_gradient, units
                    )[latent_order]
                ]
            gain, latent, n_left = _find_cut(x, order, nodes, node, members, pool, gradient, total, tables, rows, sums)
        first_leaf = ((node + 1) << (_DEPTH - depth)) - 1 - _SPLITS
        ordered = rows[0, :size]
        _copy_members(order[max(latent, 0)], nodes, node, rows[0])
        if latent < 0:
            value[first_leaf] = _fit_leaf(ordered, gradient, positive, shrinkage, raw)
            continue

        feature[node] = latent
        low, high = x[latent, ordered[n_left - 1]], x[latent, ordered[n_left]]
        threshold[node] = np.float64(low) / 2.0 + np.float64(high) / 2.0
        importances[latent] += gain - total * total / size
        if depth == 2:
            value[first_leaf] = _fit_leaf(ordered[:n_left], gradient, positive, shrinkage, raw)
            value[first_leaf + 1] = _fit_leaf(ordered[n_left:], gradient, positive, shrinkage, raw)
            continue

        _copy_members(order[latent_order[-1]], nodes, node, rows[1])
        samples[lo:hi] = rows[1, :size]
        left, right = 2 * node + 1, 2 * node + 2
        sum_left, squares_left = _split_node(ordered, n_left, left, gradient, nodes, samples[lo:hi])
        begin[left], end[left], begin[right], end[right] = lo, lo + n_left, lo + n_left, hi
        impurity[left] = squares_left / n_left - (sum_left / n_left) ** 2
        impurity[right] = (squares - squares_left) / (size - n_left) - ((total - sum_left) / (size - n_left)) ** 2
        if is_binned:
            smaller, larger = (left, right) if 2 * n_left < size else (right, left)
            _copy_members(all_samples, nodes, smaller, rows[1])
            sum_packed(bins, rows[1, : end[smaller] - begin[smaller]], packed_gradient, packed_sums[smaller])
            np.subtract(packed_sums[node], packed_sums[smaller], packed_sums[larger])


@compiled
def _split_node(ordered, n_left, left, gradient, nodes, samples):  # type: ignore[no-untyped-def]
    """Move a node's samples to its children, those before the cut to the left one; return its sum and sum of squares.

    The last bit of a total decides ties, so the order of summation matters: that of scikit-learn's ``samples`` after
    its last sort and a partition by swaps.
    """
    nodes[ordered[:n_left]] = left
    nodes[ordered[n_left:]] = left + 1
    first, last = 0, len(samples)
    while first < last:
        if nodes[samples[first]] == left:
            first += 1
        else:
            last -= 1
            samples[first], samples[last] = samples[last], samples[first]
    return _sum_gradients(ordered[:n_left], gradient)


@compiled
def _sum_gradients(samples, gradient):  # type: ignore[no-untyped-def]
    """Sum the gradient of samples, and its squares."""
    total, squares = 0.0, 0.0
    for s in samples:
        total += gradient[s]
        squares += gradient[s] * gradient[s]
    return total, squares


@compiled
def _copy_members(row, nodes, node, out):  # type: ignore[no-untyped-def]
    """Copy those samples of ``row`` that are in a node to the front of ``out``, in their order."""
    k = np.uint64(0)
    for i in range(len(row)):  # always written, since a branch would often be mispredicted
        s = row[i]
        out[k] = s
        k += np.uint64(nodes[s] == node)


@compiled
def _sort_samples(row, samples, out):  # type: ignore[no-untyped-def]
    """Sort a few samples by one latent, stably."""
    for i in range(len(samples)):
        s = samples[i]
        k = i
        while k > 0 and row[out[k - 1]] > row[s]:
            out[k] = out[k - 1]
            k -= 1
        out[k] = s


@compiled
def _find_cut(  # type: ignore[no-untyped-def]
    x, order, nodes, node, samples, latents, gradient, total, tables, rows, sums
):
    """Find the cut of a node with the largest sl² / nl + sr² / nr: its value, its latent, its left count."""
    size = len(samples)
    best_gain, best_latent, n_left = -1.0, -1, -1
    inverse, inverse_reversed = tables
    inv_nl, inv_nr = inverse[1:size], inverse_reversed[len(inverse_reversed) - size :]
    for first in range(0, len(latents), 4):
        block = min(4, len(latents) - first)
        for place in range(block):
            if size > 64:
                _copy_members(order[latents[first + place]], nodes, node, rows[place])
            else:
                _sort_samples(x[latents[first + place]], samples, rows[place])
        # Four running sums at a time, since each waits for its own last addition.
        if block == 4:
            _cumulate4(rows, size, gradient, sums)
        else:
            for place in range(block):
                _cumulate(rows[place, :size], gradient, sums[place])
        for place in range(block):
            j, ordered = latents[first + place], rows[place]
            left_sums = sums[place, : size - 1]
            largest = _largest_gain(left_sums, total, inv_nl, inv_nr)
            cutoff = max(best_gain, largest) * _TIE_FACTOR
            while largest >= best_gain * _TIE_FACTOR:
                allowed = False
                for i in range(size - 1):
                    sl = left_sums[i]
                    if sl * sl * inv_nl[i] + (total - sl) * (total - sl) * inv_nr[i] < cutoff:
                        continue
                    if x[j, ordered[i + 1]] > x[j, ordered[i]] + CLOSE:
                        allowed = True
                        # Divided as scikit-learn does: a product with the reciprocal may differ in the last bit.
                        exact = sl * sl / (i + 1) + (total - sl) * (total - sl) / (size - 1 - i)
                        if exact > best_gain:
                            best_gain, best_latent, n_left = exact, j, i + 1
                if allowed or cutoff <= best_gain * _TIE_FACTOR:
                    break
                # The largest lies between equal codes: search all that exceed the best so far.
                cutoff = best_gain * _TIE_FACTOR
    return best_gain, best_latent, n_left


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
def _largest_gain(sums, total, inv_nl, inv_nr):  # type: ignore[no-untyped-def]
    """Return the greatest sl² / nl + sr² / nr over all cuts."""
    # Non-negative floats are ordered like their bits, and compilers vectorise the maximum of integers.
    largest = np.int64(0)
    for i in range(len(sums)):
        sl = sums[i]
        sr = total - sl
        largest = max(largest, np.float64(sl * sl * inv_nl[i] + sr * sr * inv_nr[i]).view(np.int64))
    return np.int64(largest).view(np.float64)


@compiled
def _fit_leaf(samples, gradient, positive, shrinkage, raw):  # type: ignore[no-untyped-def]
    """Take one Newton step in a leaf: return its value and add it to the samples' raw scores."""
    numerator, denominator = 0.0, 0.0
    for s in samples:
        g = gradient[s]
        p = positive[s] - g
        numerator += g
        denominator += p * (1.0 - p)
    size = len(samples)
    numerator, denominator = numerator / size * shrinkage, denominator / size
    step = 0.0 if abs(denominator) < 1e-150 else numerator / denominator
    for s in samples:
        raw[s] += RATE * step
    return step


@compiled
def _shuffle(latents, random_state):  # type: ignore[no-untyped-def]
    """Shuffle latents in place."""
    for j in range(len(latents) - 1, 0, -1):
        r = _draw_integer(random_state, j + 1)
        latents[j], latents[r] = latents[r], latents[j]


@compiled
def _draw_integer(random_state, below):  # type: ignore[no-untyped-def]
    """Draw an integer in [0, below) by SplitMix64; the modulo's bias is below 2**-50 for any number of latents."""
    random_state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = random_state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.int64((z ^ (z >> np.uint64(31))) % np.uint64(below))
