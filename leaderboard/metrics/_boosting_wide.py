"""The same trees as `leaderboard.metrics._boosting_trees` grows, for codes of hundreds or thousands of latents.

Most latents cannot hold a node's best cut, and an upper bound shows it without a look at each cut. Each latent's sorted
samples are divided into stretches, short at the ends and longer towards the middle. Let S be the sum of the gradient
over the first i of a node's m samples, T the sum over all of them, and u = S - i T / m. A cut after i samples gains
u² m / (i (m - i)). Within a stretch, S lies between its value before the stretch less the stretch's negative gradients,
and that value plus its positive ones. So the sums of the stretches bound the gain of every cut within them. Latents are
searched from the greatest bound down until a bound is below the best gain found: the result is, bit by bit, that of
searching all.

The sums take one addition for each latent and sample of the smaller child of a node; those of the larger child are the
parent's less these. At the root, they are computed for the trees of all classes at once.
"""

from __future__ import annotations

import numpy as np

from leaderboard.metrics._boosting_trees import (
    DEPTH,
    PURE,
    SPLITS,
    compiled,
    cumulate,
    cumulate4,
    cut_of,
    leaf,
    shuffle,
)

STRETCHES = 64
"""Stretches of each latent's sorted samples; an even number."""

_NOT_LESS = 1.0 + 1e-9
"""Bounds are raised by this factor, which covers the rounding of their own arithmetic."""


@compiled
def _shift(n):  # type: ignore[no-untyped-def]
    """Return a number above twice what gradients, at most 1 in magnitude, come to in any stretch of n samples.

    A stretch's count and sum are kept in one number, count * shift + sum.
    """
    return 4.0 * n


@compiled
def _ends(n):  # type: ignore[no-untyped-def]
    """Return where stretches end, int64 (STRETCHES,): after 1 sample, then farther apart up to the middle; mirrored."""
    half = STRETCHES // 2
    ends = np.full(STRETCHES, n, np.int64)
    for b in range(half):
        ends[b] = int(np.ceil((n / 2.0) ** (b / (half - 1.0))))
    for b in range(half - 1):
        ends[half + b] = max(n - ends[half - 2 - b], ends[half - 1])
    return ends


@compiled
def stretch_of(order):  # type: ignore[no-untyped-def]
    """Return the stretch of each sample by each latent, uint8 (L, n), from the orders, uint32 (L, n)."""
    latents, n = order.shape
    ends = _ends(n)
    found = np.empty((latents, n), np.uint8)
    for j in range(latents):
        start = 0
        for b in range(STRETCHES):
            for r in range(start, ends[b]):
                found[j, order[j, r]] = b
            start = max(start, ends[b])
    return found


@compiled
def root_sums(order, residual, out):  # type: ignore[no-untyped-def]
    """Write count * shift + sum of each stretch at the root, for all trees, to ``out`` (trees, L, STRETCHES)."""
    trees, n = residual.shape
    shift, ends = _shift(n), _ends(n)
    by_sample = np.ascontiguousarray(residual.T)
    total = np.empty(trees)
    for j in range(len(order)):
        end = 0
        for b in range(STRETCHES):
            start, end = end, max(end, ends[b])
            total[:] = 0.0
            for r in range(start, end):
                row = by_sample[order[j, r]]
                for k in range(trees):
                    total[k] += row[k]
            for k in range(trees):
                out[k, j, b] = (end - start) * shift + total[k]


@compiled
def _add(stretch, samples, gradient, shift, out):  # type: ignore[no-untyped-def]
    """Write shift + gradient of the samples, summed by stretch, to ``out`` (STRETCHES,)."""
    out[:] = 0.0
    for i in range(len(samples)):
        out[stretch[samples[i]]] += shift + gradient[i]


@compiled
def _bound(packed, positive, m, total, steepest, shift, slack, inverse):  # type: ignore[no-untyped-def]
    """Return an upper bound on the gain of any cut of a node by one latent.

    ``packed`` and ``positive`` are the stretches' sums; u moves by at most ``steepest`` from a sample to the next.
    """
    slope = total / m
    i, s, before, top = 0, 0.0, 0.0, 0.0
    for b in range(STRETCHES):
        count = int(packed[b] / shift + 0.5)
        if count == 0:
            continue
        here = packed[b] - count * shift
        after_i, s = i + count, s + here
        after = s - after_i * slope
        rise = positive[b] + slack
        fall = rise - here + slack
        u = max(0.0, max(before + rise, rise - after) if slope >= 0.0 else max(after + fall, fall - before))
        # At either end, u is at most the number of samples up to the end times the steepest step.
        near = u * steepest if i == 0 else u * u * inverse[i]
        far = u * steepest if after_i == m else u * u * inverse[m - after_i]
        if i > 0 and after_i < m:
            gain = max(near + u * u * inverse[m - i], far + u * u * inverse[after_i])
        else:
            gain = near + far
        top = max(top, gain)
        i, before = after_i, after
    return top * _NOT_LESS


@compiled
def _in_order(row, at, node, out):  # type: ignore[no-untyped-def]
    """Write the samples of a node in the order of ``row`` to the front of ``out``; return how many there are."""
    count = 0
    for r in range(len(row)):
        s = row[r]
        out[count] = s
        count += at[s] == node
    return count


@compiled
def _search(x, order, at, node, m, tried, bounds, gradient, total, tables, rows, sums):  # type: ignore[no-untyped-def]
    """Find a node's best cut as `leaderboard.metrics._boosting` does: its value, its latent, its left count."""
    rising, falling = tables
    up, down = rising[1:m], falling[len(falling) - m :]
    place = np.empty(len(tried), np.int64)
    for p in range(len(tried)):
        place[tried[p]] = p
    ranked = np.argsort(-bounds)
    base = total * total / m
    best, chosen, cut = -1.0, -1, -1
    for first in range(0, len(ranked), 4):
        if base + bounds[ranked[first]] < best:
            break
        block = ranked[first : first + 4]
        for b in range(len(block)):
            _in_order(order[block[b]], at, node, rows[b])
        if len(block) == 4:
            cumulate4(rows, np.arange(4), 0, m, gradient, sums)
        else:
            for b in range(len(block)):
                cumulate(rows[b, :m], gradient, sums[b])
        for b in range(len(block)):
            j = block[b]
            found, count = cut_of(x[j], rows[b, :m], sums[b, : m - 1], total, up, down, best)
            # Of equal cuts, that of the latent which is tried first.
            if found > best or (found == best and found >= 0.0 and place[j] < place[chosen]):
                best, chosen, cut = found, j, count
    return best, chosen, cut


@compiled
def grow_wide(  # type: ignore[no-untyped-def]
    x, order, stretch, root, gradient, positive, shrink, raw, tables, scratch, state, importances, tree
):
    """Grow one tree, as ``leaderboard.metrics._boosting.grow`` does.

    ``root``, (L, STRETCHES), has the sums of the stretches at the root; ``scratch`` is overwritten.
    """
    latents, n = x.shape
    feature, threshold, value = tree
    at, samples, rows, sums, held, bounds = scratch
    inverse = tables[0]
    shift = _shift(n)
    slack = 1e-16 * n * n * shift  # what the sums may lose to rounding
    size = np.zeros(SPLITS, np.int64)
    impurity = np.empty(SPLITS)
    begin = np.zeros(SPLITS, np.int64)
    tried = np.arange(latents)
    at[:] = 0
    size[0] = n
    samples[:] = np.arange(n)
    feature[:] = 0
    threshold[:] = np.inf
    value[:] = 0.0
    chosen_samples = np.array([i for i in range(n) if positive[i]])
    for j in range(latents):
        held[0, j] = root[j]
    for node in range(SPLITS):
        m, lo = size[node], begin[node]
        if m == 0:
            continue
        depth = 0 if node == 0 else (1 if node < 3 else 2)
        total, squares = 0.0, 0.0
        for i in range(lo, lo + m):
            g = gradient[samples[i]]
            total += g
            squares += g * g
        if node == 0:
            impurity[0] = squares / n - (total / n) ** 2
        best, chosen, cut = -1.0, -1, -1
        if m > 1 and impurity[node] > PURE:
            shuffle(tried, state)
            _bounds(
                stretch,
                held[node],
                samples[lo : lo + m],
                chosen_samples,
                at,
                node,
                gradient,
                total,
                shift,
                slack,
                inverse,
                bounds,
            )
            best, chosen, cut = _search(x, order, at, node, m, tried, bounds, gradient, total, tables, rows, sums)
        first_leaf = ((node + 1) << (DEPTH - depth)) - 1 - SPLITS
        if chosen < 0:
            _in_order(order[0], at, node, rows[0])
            value[first_leaf] = leaf(rows[0, :m], gradient, positive, shrink, raw)
            continue
        _in_order(order[chosen], at, node, rows[0])
        row = rows[0]
        feature[node] = chosen
        a, b = x[chosen, row[cut - 1]], x[chosen, row[cut]]
        threshold[node] = np.float64(a) / 2.0 + np.float64(b) / 2.0
        importances[chosen] += best - total * total / m
        if depth == 2:
            value[first_leaf] = leaf(row[:cut], gradient, positive, shrink, raw)
            value[first_leaf + 1] = leaf(row[cut:m], gradient, positive, shrink, raw)
            continue
        # As in the plain search: the order in which the last latent tried and a partition by swaps leave the samples.
        _in_order(order[tried[-1]], at, node, rows[1])
        samples[lo : lo + m] = rows[1, :m]
        left_child, right_child = 2 * node + 1, 2 * node + 2
        sum_left, squares_left = 0.0, 0.0
        for i in range(cut):
            s = row[i]
            at[s] = left_child
            sum_left += gradient[s]
            squares_left += gradient[s] * gradient[s]
        for i in range(cut, m):
            at[row[i]] = right_child
        first, last = lo, lo + m
        while first < last:
            if at[samples[first]] == left_child:
                first += 1
            else:
                last -= 1
                samples[first], samples[last] = samples[last], samples[first]
        begin[left_child], size[left_child] = lo, cut
        begin[right_child], size[right_child] = lo + cut, m - cut
        for child, s, q in (
            (left_child, sum_left, squares_left),
            (right_child, total - sum_left, squares - squares_left),
        ):
            impurity[child] = q / size[child] - (s / size[child]) ** 2
        small, large = (left_child, right_child) if cut <= m - cut else (right_child, left_child)
        inside = samples[begin[small] : begin[small] + size[small]].copy()
        inside.sort()
        steps = np.empty(len(inside))
        for i in range(len(inside)):
            steps[i] = gradient[inside[i]]
        for j in range(latents):
            _add(stretch[j], inside, steps, shift, held[small, j])
            for b in range(STRETCHES):
                held[large, j, b] = held[node, j, b] - held[small, j, b]


@compiled
def _bounds(  # type: ignore[no-untyped-def]
    stretch, held, samples, chosen, at, node, gradient, total, shift, slack, inverse, out
):
    """Write the bound of each latent's gain in a node to ``out`` (L,); ``chosen`` are the samples of the class."""
    m = len(samples)
    slope = total / m
    steepest = 0.0
    for i in range(m):
        steepest = max(steepest, abs(gradient[samples[i]] - slope))
    inside = np.array([s for s in chosen if at[s] == node], np.int64)
    positive = np.empty(STRETCHES)
    for j in range(len(stretch)):
        positive[:] = 0.0
        for s in inside:
            positive[stretch[j, s]] += gradient[s]
        out[j] = _bound(held[j], positive, m, total, steepest, shift, slack, inverse)
