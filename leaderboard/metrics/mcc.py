"""Mean correlation coefficient (MCC): does each factor correlate with a latent of its own?

Hyvärinen and Morioka, "Unsupervised feature extraction by time-contrastive learning and nonlinear ICA" (2016), section
6, and later practice in causal representation learning: the mean absolute correlation of factors and latents under the
one-to-one assignment with the largest sum. Pearson's correlation measures linear relations, Spearman's monotone ones.

Range [0, 1]; ideal 1 for each of the two; chance near 0, and higher with many latents and few samples. Permuting,
flipping or scaling latents changes nothing. Class ids are treated as numbers: their order matters, and so does their
spacing for Pearson's, so that a categorical or cyclic factor is scored by an order that it does not have. A copy of a
latent does not lower the scores, and raises them if the latent correlates best with two factors.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmark_data.errors import needs
from leaderboard.arrays import ConstantFactors, Real, check_codes_factors, varying
from leaderboard.properties import Properties

PROPERTIES = Properties(
    asks="does each factor correlate with a latent of its own?",
    source="Hyvärinen and Morioka 2016, section 6",
    chance="near 0",
    copied_latent={},
    rotation_lowers=True,
    numbering_matters="class ids are treated as numbers, so their order and spacing matter to a correlation",
)


def score(
    codes: Real[ArrayLike, "n L"], factors: Real[ArrayLike, "n F"], *, constant_factors: ConstantFactors = "refuse"
) -> dict[str, float]:
    """Compute both correlation coefficients.

    Args:
        codes: real numbers, shape (n, L).
        factors: class ids, shape (n, F), taken for numbers.
        constant_factors: ``"refuse"`` or ``"drop"`` factors that have one value in the sample.

    Returns:
        ``pearson`` and ``spearman``, in [0, 1], each with its own assignment. With fewer latents than factors, factors
        without one count as 0, and so does a constant latent.

    Raises:
        InvalidInput: see ``leaderboard.arrays.check_codes_factors``.

    Example:
        >>> factors = np.stack(np.meshgrid(range(4), range(5), indexing="ij"), -1).reshape(-1, 2)
        >>> {name: round(value, 3) for name, value in score(np.exp(-1.0 * factors), factors).items()}
        {'pearson': 0.907, 'spearman': 1.0}
    """
    needs("MCC", "metrics", "scipy")
    from scipy.stats import rankdata

    codes, factors = check_codes_factors(codes, factors, constant_factors=constant_factors)
    v = (factors - factors.min(axis=0)).astype(np.float64)  # ids may be too large for it
    return {
        "pearson": _mean_best_assignment(_correlations(codes.astype(np.float64), v)),
        "spearman": _mean_best_assignment(_correlations(rankdata(codes, axis=0), rankdata(factors, axis=0))),
    }


def _correlations(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the absolute correlation of each column of x, (n, L), with each of y, (n, F): float64 (L, F)."""
    active = varying(x)
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    x /= np.where(active, np.abs(x).max(axis=0), 1.0)  # so that squares neither overflow nor underflow
    norms = np.outer(np.sqrt((x**2).sum(axis=0)), np.sqrt((y**2).sum(axis=0)))
    correlations = np.abs(x.T @ y) / np.where(active[:, None], norms, 1.0)
    return np.where(active[:, None], np.minimum(correlations, 1.0), 0.0)


def _mean_best_assignment(matrix: NDArray[np.float64]) -> float:
    """Return the mean over factors of the best assignment of latents to them."""
    from scipy.optimize import linear_sum_assignment

    return float(matrix[linear_sum_assignment(matrix, maximize=True)].sum() / matrix.shape[1])
