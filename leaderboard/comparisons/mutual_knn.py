"""Mutual k-nearest-neighbour alignment: do samples have the same neighbours in two representations?

Huh et al., "The Platonic Representation Hypothesis" (2024), section 2 and appendix A: the share of each sample's k
nearest neighbours that is common to both representations, averaged over samples. Neighbours are by Euclidean distance,
which on rows of length 1, as the authors normalise them, is equivalent to the inner product. Unlike CKA it measures
local agreement between representations that differ globally. Chance is k / (n - 1), and higher for discrete codes: of
equidistant samples, up to rounding, the first in order are taken.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmark_data.errors import check_count
from leaderboard.arrays import Real
from leaderboard.comparisons._pair import check_pair

_CHUNK_ROWS = 256
"""Rows whose distances to all others are computed at a time."""


def compare(x: Real[ArrayLike, "n p"], y: Real[ArrayLike, "n q"], *, k: int = 10) -> float:
    """Compute the alignment.

    Args:
        x: real numbers, shape (n, p), one row per sample.
        y: real numbers, shape (n, q): another representation of the same samples in the same order.
        k: number of neighbours of each sample, less than n.

    Returns:
        The share, in [0, 1]; 0 if ``x`` or ``y`` is constant. It needs about 2 n² bytes. If the data have two clusters
        1e6 or more times as far apart as neighbours, rounding errors lower it: from 1 to about 0.99 at 1e6, and below
        0.5 at 1e7.

    Raises:
        InvalidInput: not 2-d, not finite, different rows, or too few samples for k neighbours.

    Example:
        >>> x = np.random.default_rng(0).normal(size=(100, 3))
        >>> compare(x, 2 * x[:, ::-1])
        1.0
    """
    check_count("k", k, 1)
    x, y = check_pair(x, y, at_least=k + 1)
    if not x.any() or not y.any():
        return 0.0
    return float((_nearest_mask(x, k) & _nearest_mask(y, k)).sum() / (k * len(x)))


def _nearest_mask(x: NDArray[np.float64], k: int) -> NDArray[np.bool_]:
    """Mark the k nearest rows of each row, without itself: bool (n, n)."""
    squares = (x**2).sum(axis=1)
    rounding = 8 * np.finfo(float).eps * (x.shape[1] + 8)  # of a product of rows, several times over
    nearest = np.empty((len(x), len(x)), bool)
    for start in range(0, len(x), _CHUNK_ROWS):
        rows = slice(start, start + _CHUNK_ROWS)
        distances = squares[rows, None] + squares - 2 * (x[rows] @ x.T)
        np.fill_diagonal(distances[:, start:], np.inf)
        furthest = np.partition(distances, k - 1, axis=1)[:, k - 1 : k]
        slack = rounding * (furthest + squares[rows, None])  # so that rounding does not break ties
        nearer = distances < furthest - slack
        tied = (distances <= furthest + slack) & ~nearer
        missing = k - nearer.sum(axis=1, keepdims=True)
        nearest[rows] = nearer | (tied & (tied.cumsum(axis=1) <= missing))
    return nearest
