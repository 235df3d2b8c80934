"""DCIMIG, also called 3CharM: does each factor have a latent that encodes it and nothing else?

Sepliarskaia, Kiseleva and de Rijke, "How to not measure disentanglement" (2019): each latent's gap in mutual
information between its two best factors is assigned to the best; each factor keeps its largest, and their sum is
divided by the summed entropies. Estimator as in ``leaderboard.metrics.mig``: 20 equal-width bins per latent, plug-in.

Range [0, 1]; ideal 1; chance near 0. Factors of more values weigh more. Permuting, flipping, scaling or copying latents
changes nothing, and neither does the numbering of classes: unlike MIG it does not penalise two latents of one factor.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from leaderboard.arrays import ConstantFactors, Real, check_codes_factors
from leaderboard.information import pairwise
from leaderboard.properties import Properties

PROPERTIES = Properties(
    asks="does each factor have a latent that encodes it and nothing else?",
    source="Sepliarskaia et al. 2019",
    chance="near 0",
    rotation_lowers=True,
)


def score(
    codes: Real[ArrayLike, "n L"],
    factors: Real[ArrayLike, "n F"],
    *,
    bins: int = 20,
    constant_factors: ConstantFactors = "refuse",
) -> dict[str, float]:
    """Compute DCIMIG.

    Args:
        codes: real numbers, shape (n, L).
        factors: class ids, shape (n, F).
        bins: equal-width bins per latent.
        constant_factors: ``"refuse"`` or ``"drop"`` factors that have one value in the sample.

    Returns:
        ``dcimig``: the kept gaps in units of the entropies. A single factor is compared with one that no latent
        encodes.

    Raises:
        InvalidInput: see ``leaderboard.arrays.check_codes_factors``; or fewer than two bins.

    Example:
        >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
        >>> score(factors, factors)
        {'dcimig': 1.0}
        >>> score(factors[:, :1], factors)
        {'dcimig': 0.5}
    """
    codes, factors = check_codes_factors(codes, factors, constant_factors=constant_factors)
    pairs = pairwise(codes, factors, bins)
    ranked = np.sort(np.hstack([pairs.information, np.zeros((codes.shape[1], 1))]), axis=1)
    gaps = np.zeros_like(pairs.factors)
    np.maximum.at(gaps, pairs.information.argmax(axis=1), ranked[:, -1] - ranked[:, -2])
    return {"dcimig": float(min(1.0, gaps.sum() / pairs.factors.sum()))}
