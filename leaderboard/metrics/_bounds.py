"""Bounds on the best split of each latent from sums in bins, so that few latents have to be searched.

Part of `leaderboard.metrics._boosting`: of 1,280 latents hardly any has to be searched sample by sample, and the split
found is the same.
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

BINS = 64
"""Bins of the samples sorted by a latent."""

CLOSE = np.float32(1e-7)
"""scikit-learn does not cut between values closer than this; compared in float32."""


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile without the interpreter lock; cache the machine code on disk if a folder for it is writable."""
    compiled_function: Callable[..., Any]
    try:
        compiled_function = numba.njit(nogil=True, error_model="numpy", cache=True)(function)
    except RuntimeError:  # numba found no such folder
        compiled_function = numba.njit(nogil=True, error_model="numpy")(function)
    return compiled_function


@compiled
def bin_samples(x, order):  # type: ignore[no-untyped-def]
    """Divide the sorted samples of each latent into at most BINS bins, between which it can be cut.

    They are narrow near both ends, where gains change fast. Returns the bins of each sample, uint64 (ceil(L / 8), n)
    with a byte for each latent, and whether a bin can be cut inside, uint8 (BINS, L) with L padded to whole words.
    """
    latents, n = x.shape
    angle = np.arcsin(np.sqrt(np.arange(n + 1) / n)) * (BINS * 2.0 / np.pi)
    bins = np.zeros(((latents + 7) // 8, n), np.uint64)
    cuttable = np.zeros((BINS, 8 * len(bins)), np.uint8)
    for j in range(latents):
        row, last_bin, run_start = order[j], np.int64(-1), 0
        for i in range(1, n + 1):
            if i < n and not x[j, row[i]] > x[j, row[i - 1]] + CLOSE:
                continue
            k = np.int64((angle[run_start] + angle[i]) / 2)  # no cut between them: use their middle
            # Neighbours of a node may be farther apart than those of all samples.
            cuttable[k, j] = k == last_bin or x[j, row[i - 1]] > x[j, row[run_start]] + CLOSE
            for s in row[run_start:i]:
                bins[j // 8, s] |= np.uint64(k) << np.uint64(8 * (j % 8))
            last_bin, run_start = k, i
    return bins, cuttable


@compiled
def pack_gradient(gradient, packed_gradient):  # type: ignore[no-untyped-def]
    """Write each sample as one integer: a count of 1, and the two signs of its gradient in units of less than all/2^w.

    Sums of such integers are sums of the three. Returns w, and the largest of either sign in units, at least 1.
    """
    n = len(gradient)
    width = 24
    while n >> (63 - 2 * width):
        width -= 1
    rise_sum, fall_sum, largest_rise, largest_fall = 0.0, 0.0, 0.0, 0.0
    for g in gradient:
        rise_sum += max(g, 0.0)
        fall_sum += max(-g, 0.0)
        largest_rise = max(largest_rise, g)
        largest_fall = max(largest_fall, -g)
    scale = ((1 << width) - 2) / max(rise_sum, fall_sum)
    for i in range(n):
        up, down = np.int64(max(gradient[i], 0.0) * scale), np.int64(max(-gradient[i], 0.0) * scale)
        packed_gradient[i] = (1 << (2 * width)) + (up << width) + down
    return width, max(largest_rise * scale, 1.0), max(largest_fall * scale, 1.0)


@compiled
def sum_packed(bins, samples, packed_gradient, out):  # type: ignore[no-untyped-def]
    """Write the sum of the samples' packs for each bin and latent."""
    sums = np.empty((8, BINS), np.int64)
    sample_packs = packed_gradient[samples]
    for block in range(len(bins)):
        sums[:] = 0
        words = bins[block]
        for i in range(len(samples)):
            word, p = words[samples[i]], sample_packs[i]
            for c in range(8):
                sums[c, (word >> np.uint64(8 * c)) & np.uint64(255)] += p
        for k in range(BINS):
            for c in range(8):
                out[k, 8 * block + c] = sums[c, k]


@compiled
def candidate_latents(packed_sums, root_sums, cuttable, order, nodes, node, packed_gradient, units):  # type: ignore[no-untyped-def]
    """Return which latents may have the largest sl² / nl + sr² / nr, by the sums of a node in their bins.

    That is total² / n + d² / (n nl nr) with d = n sl - nl total. Between bins d² / (nl nr) is exact; within bins it is
    bounded for all latents, then computed sample by sample for those left. Rounding gradients to whole units changes
    the roots of gains by less than sqrt(n) units. ``root_sums`` has the sums of the root.
    """
    latents = len(order)
    left_sums = np.zeros(packed_sums.shape[1], np.int64)
    attained_gain, possible_gain = np.zeros(packed_sums.shape[1]), np.zeros(packed_sums.shape[1])
    node_sum = packed_sums[:, 0].sum()
    n, up, down = _unpack(node_sum, units)
    total = up - down
    for k in range(BINS):
        for j in range(len(left_sums)):
            before = left_sums[j]
            after = left_sums[j] = before + packed_sums[k, j]
            attained_gain[j] = max(attained_gain[j], _gain(n, total, after, units))
            possible_gain[j] = max(possible_gain[j], cuttable[k, j] * _gain_bound(n, total, before, after, units))
    threshold = max(np.sqrt(attained_gain.max()) - 4.0 * n, 0.0) ** 2
    for j in range(latents):
        if attained_gain[j] >= threshold or possible_gain[j] < threshold:
            continue
        possible_gain[j] = 0.0
        before, first = 0, 0
        for k in range(BINS):
            after, last = before + packed_sums[k, j], first + (root_sums[k, j] >> (2 * units[0]))
            if cuttable[k, j] and _gain_bound(n, total, before, after, units) >= threshold:
                for s in order[j, first:last]:
                    before += packed_gradient[s] * (nodes[s] == node)
                    possible_gain[j] = max(possible_gain[j], _gain(n, total, before, units))
            before, first = after, last
    return np.maximum(attained_gain, possible_gain)[:latents] >= threshold


@numba.njit(inline="always")
def _unpack(sums, units):  # type: ignore[no-untyped-def]
    """Return the three sums as floats."""
    width = units[0]
    mask = (1 << width) - 1
    return _to_float(sums >> (2 * width)), _to_float((sums >> width) & mask), _to_float(sums & mask)


@numba.njit(inline="always")
def _to_float(integer):  # type: ignore[no-untyped-def]
    """Convert an integer below 2^52 to float64, in a way that compilers vectorise."""
    return np.int64(integer | 0x4330000000000000).view(np.float64) - 4503599627370496.0


@numba.njit(inline="always")
def _gain(n, total, sums, units):  # type: ignore[no-untyped-def]
    """Return d² / (nl nr) for the sums of the left side; 0 if either side has no samples."""
    count, up, down = _unpack(sums, units)
    d = n * (up - down) - count * total
    return d * d / max(count * (n - count), 1.0)


@numba.njit(inline="always")
def _gain_bound(n, total, before, after, units):  # type: ignore[no-untyped-def]
    """Return an upper bound of d² / (nl nr) for cuts within a bin, from the sums before and after it.

    It is convex in nl and sl, so that it is largest at a corner of the possible values: all positive gradients come
    first, or all negative ones. The corners with both sums alike share a bound.
    """
    _, largest_rise, largest_fall = units
    n0, up0, down0 = _unpack(before, units)
    n1, up1, down1 = _unpack(after, units)
    rises, falls = (up1 - up0) / largest_rise, (down1 - down0) / largest_fall  # at least so many samples
    high = _corner_bound(n, total, up1 - down0, n0 + rises, n1 - falls)
    low = _corner_bound(n, total, up0 - down1, n0 + falls, n1 - rises)
    return max(high, low)


@numba.njit(inline="always")
def _corner_bound(n, total, s, a, b):  # type: ignore[no-untyped-def]
    """Return an upper bound of d² / (nl nr) for sum ``s`` of the ``a`` or ``b`` first samples."""
    a, b = min(max(a, 1.0), n - 1.0), min(max(b, 1.0), n - 1.0)
    d, e = n * s - a * total, n * s - b * total
    return max(d * d, e * e) / min(a * (n - a), b * (n - b))
