"""Mutual k-nearest-neighbour alignment: do two representations find the same samples near each other?

Huh et al., "The Platonic Representation Hypothesis" (2024), section 2 and appendix A: of each sample's k nearest
neighbours, the share that both representations have among theirs, the mean over the samples. Neighbours are those by
Euclidean distance, which on rows of length 1, as the authors normalise them, are those by the inner product. It sees
what CKA does not: agreement nearby between representations that differ as a whole. Chance is k / (n - 1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmark_data.errors import InvalidInput
from leaderboard.comparisons._pair import check_pair

if TYPE_CHECKING:
    from jaxtyping import Real


def compare(x: Real[ArrayLike, "n p"], y: Real[ArrayLike, "n q"], *, k: int = 10) -> float:
    """Compute the alignment.

    Args:
        x: real numbers, shape (n, p), one row per sample.
        y: real numbers, shape (n, q): another representation of the same samples in the same order.
        k: neighbours of each sample, fewer than n.

    Returns:
        The share, in [0, 1]; 0 if ``x`` or ``y`` is constant. It takes about 20 n² bytes.

    Raises:
        InvalidInput: not 2-d, not finite, different rows, or too few samples for k neighbours.

    Example:
        >>> x = np.random.default_rng(0).normal(size=(100, 3))
        >>> compare(x, 2 * x[:, ::-1])
        1.0
    """
    if k < 1:
        raise InvalidInput(f"k: expected at least 1 neighbour, received {k}.")
    x, y = check_pair(x, y, at_least=k + 1)
    if not x.any() or not y.any():
        return 0.0
    return float((_near(x, k) & _near(y, k)).sum() / (k * len(x)))


def _near(x: NDArray[np.float64], k: int) -> NDArray[np.bool_]:
    """Mark the k nearest rows of each row, without itself: bool (n, n)."""
    squares = (x**2).sum(axis=1)
    distances = squares[:, None] + squares[None] - 2 * (x @ x.T)
    np.fill_diagonal(distances, np.inf)
    found = np.zeros(distances.shape, bool)
    np.put_along_axis(found, np.argpartition(distances, k - 1, axis=1)[:, :k], True, axis=1)
    return found
