"""Regression trees as scikit-learn grows them in gradient boosting, compiled: every cut of every latent is looked at.

Needs numba, so import this module only where it is used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmark_data.errors import MissingExtra

try:
    import numba
except ImportError as error:
    raise MissingExtra("gradient boosting", "numba", "metrics") from error

RATE = 0.1
DEPTH = 3
SPLITS = 2**DEPTH - 1  # nodes 0 .. 6 of a complete tree; the children of i are 2 i + 1 and 2 i + 2

_CLOSE = np.float32(1e-7)  # scikit-learn does not cut between values closer than this; compared in float32
_NEARLY = 1.0 - 1e-14  # proxies that differ by less are compared with scikit-learn's own arithmetic
PURE = float(np.finfo(np.float64).eps)  # nor does it cut a node of smaller variance


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile without the interpreter lock; keep the machine code on disk where some folder for it can be written."""
    compiled: Callable[..., Any]
    try:
        compiled = numba.njit(nogil=True, error_model="numpy", cache=True)(function)
    except RuntimeError:  # numba found no such folder
        compiled = numba.njit(nogil=True, error_model="numpy")(function)
    return compiled


@compiled
def grow(  # type: ignore[no-untyped-def]
    x, order, gradient, positive, shrink, raw, tables, scratch, state, importances, tree
):
    """Grow one tree on ``gradient``; write it to ``tree``, add its gains to ``importances`` and its leaves to ``raw``.

    A node is the same stretch of every row of ``order`` (root), ``level1`` or ``level2``: the node's samples, sorted by
    each latent. A node that is not split keeps threshold infinity, so that all of it goes left, down to one of the
    eight values.
    """
    latents, n = x.shape
    level1, level2, left, aside, samples, sums = scratch
    feature, threshold, value = tree
    begin = np.zeros(SPLITS, np.int64)
    end = np.zeros(SPLITS, np.int64)
    impurity = np.empty(SPLITS)
    tried = np.arange(latents)
    end[0] = n
    samples[:] = np.arange(n)
    feature[:] = 0
    threshold[:] = np.inf
    value[:] = 0.0
    for node in range(SPLITS):
        lo, hi = begin[node], end[node]
        if lo == hi:
            continue
        depth = 0 if node == 0 else (1 if node < 3 else 2)
        here = order if depth == 0 else (level1 if depth == 1 else level2)
        total, squares = 0.0, 0.0
        for i in range(lo, hi):
            g = gradient[samples[i]]
            total += g
            squares += g * g
        if node == 0:
            impurity[0] = squares / n - (total / n) ** 2
        best, chosen, cut = -1.0, -1, -1
        if hi - lo > 1 and impurity[node] > PURE:
            shuffle(tried, state)
            best, chosen, cut = _search(x, here, lo, hi, tried, gradient, total, tables, sums)
        first_leaf = ((node + 1) << (DEPTH - depth)) - 1 - SPLITS
        if chosen < 0:
            value[first_leaf] = leaf(here[0, lo:hi], gradient, positive, shrink, raw)
            continue

        middle = lo + cut
        feature[node] = chosen
        a, b = x[chosen, here[chosen, middle - 1]], x[chosen, here[chosen, middle]]
        threshold[node] = np.float64(a) / 2.0 + np.float64(b) / 2.0
        importances[chosen] += best - total * total / (hi - lo)
        if depth == 2:
            value[first_leaf] = leaf(here[chosen, lo:middle], gradient, positive, shrink, raw)
            value[first_leaf + 1] = leaf(here[chosen, middle:hi], gradient, positive, shrink, raw)
            continue

        # The last bit of a total decides ties, so that it matters in which order it is summed. scikit-learn leaves a
        # node's samples as its last sort and a partition by swaps left them.
        samples[lo:hi] = here[tried[-1], lo:hi]
        sum_left, squares_left = 0.0, 0.0
        for i in range(lo, middle):
            s = here[chosen, i]
            left[s] = 1
            sum_left += gradient[s]
            squares_left += gradient[s] * gradient[s]
        for i in range(middle, hi):
            left[here[chosen, i]] = 0
        first, last = lo, hi
        while first < last:
            if left[samples[first]]:
                first += 1
            else:
                last -= 1
                samples[first], samples[last] = samples[last], samples[first]
        for child, begins, ends, s, q in (
            (2 * node + 1, lo, middle, sum_left, squares_left),
            (2 * node + 2, middle, hi, total - sum_left, squares - squares_left),
        ):
            begin[child], end[child] = begins, ends
            impurity[child] = q / (ends - begins) - (s / (ends - begins)) ** 2
        below = level1 if depth == 0 else level2
        for j in range(latents):
            _partition(here[j, lo:hi], below[j, lo:hi], left, aside)


@compiled
def _search(x, here, lo, hi, tried, gradient, total, tables, sums):  # type: ignore[no-untyped-def]
    """Find the cut of samples [lo, hi) with the greatest sl² / nl + sr² / nr: its value, its latent, its left count."""
    size = hi - lo
    best, chosen, cut = -1.0, -1, -1
    rising, falling = tables
    up, down = rising[1:size], falling[len(falling) - size :]
    for first in range(0, len(tried), 4):
        block = min(4, len(tried) - first)
        # Four running sums at a time, since each waits for its own last addition.
        if block == 4:
            cumulate4(here, tried[first : first + 4], lo, hi, gradient, sums)
        else:
            for b in range(block):
                cumulate(here[tried[first + b], lo:hi], gradient, sums[b])
        for b in range(block):
            j = tried[first + b]
            found, place = cut_of(x[j], here[j, lo:hi], sums[b, : size - 1], total, up, down, best)
            if found > best:
                best, chosen, cut = found, j, place
    return best, chosen, cut


@compiled
def cut_of(values, row, left_sums, total, up, down, best):  # type: ignore[no-untyped-def]
    """Find the first greatest cut of samples in the order of one latent, if it reaches ``best``: value, left count."""
    top = _greatest(left_sums, total, up, down)
    found, cut = -1.0, -1
    bar = max(best, top) * _NEARLY
    while top >= best * _NEARLY:
        allowed = False
        for i in range(len(left_sums)):
            s = left_sums[i]
            if s * s * up[i] + (total - s) * (total - s) * down[i] < bar:
                continue
            if values[row[i + 1]] > values[row[i]] + _CLOSE:
                allowed = True
                # Divided as scikit-learn does: a product with the reciprocal may differ in the last bit.
                exact = s * s / (i + 1) + (total - s) * (total - s) / (len(row) - 1 - i)
                if exact > found:
                    found, cut = exact, i + 1
        if allowed or bar <= best * _NEARLY:
            break
        bar = best * _NEARLY  # the greatest lies between equal codes: look at all that beat the best so far
    return found, cut


@compiled
def cumulate(row, gradient, out):  # type: ignore[no-untyped-def]
    """Write the running sums of the gradient in the order of ``row``."""
    s = 0.0
    for i in range(len(row)):
        s += gradient[row[i]]
        out[i] = s


@compiled
def cumulate4(here, rows, lo, hi, gradient, out):  # type: ignore[no-untyped-def]
    """Write the running sums for four latents."""
    r0, r1, r2, r3 = here[rows[0], lo:hi], here[rows[1], lo:hi], here[rows[2], lo:hi], here[rows[3], lo:hi]
    o0, o1, o2, o3 = out[0], out[1], out[2], out[3]
    s0 = s1 = s2 = s3 = 0.0
    for i in range(hi - lo):
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
def _partition(source, target, left, aside):  # type: ignore[no-untyped-def]
    """Copy the marked samples to the front and the others to the back, each in the order they had; both must occur."""
    a, b = np.uint64(0), np.uint64(0)
    for i in range(len(source)):  # written to both places and kept in one: a branch would be guessed wrong too often
        s = source[i]
        goes = np.uint64(left[s])
        target[a] = s
        aside[b] = s
        a += goes
        b += np.uint64(1) - goes
    for i in range(b):
        target[a + i] = aside[i]


@compiled
def leaf(samples, gradient, positive, shrink, raw):  # type: ignore[no-untyped-def]
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
def shuffle(tried, state):  # type: ignore[no-untyped-def]
    """Put the latents into a new random order, in which the first of equal ones wins."""
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
