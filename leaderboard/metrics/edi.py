"""Exclusivity disentanglement index (EDI): how exclusively do latents and factors predict each other?

Julka, Wang and Granitzer, "Towards an improved metric for evaluating disentangled representations" (2024): the
exclusivity of a row or column of normalised mutual information is its largest entry minus the root mean square of the
others. Modularity sums the exclusivity of each latent for its best factor, at most 1 per factor, and averages over
factors; compactness averages that of each factor over latents; explicitness is the share of each factor's entropy that
is captured. Estimator as in ``leaderboard.metrics.mig``: 20 equal-width bins per latent, plug-in.

Two things are simpler here than in the authors' code, which trains a neural network (MINE) to estimate what all latents
together capture: information is normalised by the factor's entropy; and explicitness is that of the best latent, a
lower bound.

Range [0, 1]; ideal 1 for each of the three; chance near 0 on many samples: on few, explicitness is too high, and
modularity, a sum over latents, grows with their number. Permuting, flipping or scaling latents changes nothing, and
neither does the numbering of classes; a copy of an informative latent lowers compactness and may raise modularity.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leaderboard.arrays import ConstantFactors, Real, check_codes_factors
from leaderboard.information import pairwise
from leaderboard.properties import Properties

PROPERTIES = Properties(
    asks="how exclusively do latents and factors predict each other?",
    source="Julka et al. 2024",
    chance="near 0",
    factor_order_matters="if a latent predicts several factors equally well, the first is credited",
    copied_latent={"compactness": "no higher", "explicitness": "same"},
    rotation_lowers=True,
)


def score(
    codes: Real[ArrayLike, "n L"],
    factors: Real[ArrayLike, "n F"],
    *,
    bins: int = 20,
    constant_factors: ConstantFactors = "refuse",
) -> dict[str, float]:
    """Compute EDI.

    Args:
        codes: real numbers, shape (n, L).
        factors: class ids, shape (n, F).
        bins: equal-width bins per latent.
        constant_factors: ``"refuse"`` or ``"drop"`` factors that have one value in the sample.

    Returns:
        ``modularity``, ``compactness`` and ``explicitness``, in [0, 1]. For a single latent or factor, the second-best
        is taken as uninformative.

    Raises:
        InvalidInput: see ``leaderboard.arrays.check_codes_factors``; or fewer than two bins.

    Example:
        >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
        >>> score(factors, factors)
        {'modularity': 1.0, 'compactness': 1.0, 'explicitness': 1.0}
        >>> score(np.hstack([factors, factors[:, :1]]), factors)["compactness"].__round__(3)
        0.646
    """
    codes, factors = check_codes_factors(codes, factors, constant_factors=constant_factors)
    pairs = pairwise(codes, factors, bins)
    matrix = pairs.information / pairs.factors
    by_factor = np.zeros(matrix.shape[1])
    np.add.at(by_factor, matrix.argmax(axis=1), _exclusivity(matrix))
    return {
        "modularity": float(np.minimum(by_factor, 1.0).mean()),
        "compactness": float(_exclusivity(matrix.T).mean()),
        "explicitness": float(matrix.max(axis=0).mean()),
    }


def _exclusivity(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for each row its largest entry minus the root mean square of the others: float64 (rows,), at least 0."""
    ranked = np.sort(rows, axis=1)
    others = (ranked[:, :-1] ** 2).sum(axis=1) / max(1, rows.shape[1] - 1)
    return np.asarray(np.maximum(ranked[:, -1] - np.sqrt(others), 0.0))
