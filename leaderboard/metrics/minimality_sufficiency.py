"""Minimality and sufficiency: does each latent encode only one factor, and does some latent encode each factor fully?

Almudévar et al., "Defining and measuring disentanglement for non-independent factors of variation" (2024), section 5:
for each latent the largest share of its entropy that a factor explains, and for each factor the largest share of its
entropy that a latent explains, each averaged. Unlike gaps between latents or factors, both can be 1 for dependent
factors. 15 equal-width bins per latent, plug-in, as in the authors' code.

Minimality: range [0, 1]; ideal 1. Sufficiency: range [0, 1]; ideal 1. Chance near 0 for both on many samples.
Minimality is a mean over all latents; a constant one counts as 0, though it encodes nothing superfluous. Permuting,
flipping, scaling or copying latents changes neither, except for codes on edges of bins, and nor does the numbering of
classes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from leaderboard.arrays import ConstantFactors, Real, check_codes_factors
from leaderboard.information import pairwise
from leaderboard.properties import Properties

PROPERTIES = Properties(
    asks="does a latent encode only one factor, and some latent each factor fully?",
    source="Almudévar et al. 2024, section 5",
    chance="near 0",
    with_idle_latents=0.5,
    rotation_lowers=True,
)


def score(
    codes: Real[ArrayLike, "n L"],
    factors: Real[ArrayLike, "n F"],
    *,
    bins: int = 15,
    constant_factors: ConstantFactors = "refuse",
) -> dict[str, float]:
    """Compute minimality and sufficiency.

    Args:
        codes: real numbers, shape (n, L).
        factors: class ids, shape (n, F).
        bins: equal-width bins per latent. More bins than values split a latent and lower its minimality.
        constant_factors: ``"refuse"`` or ``"drop"`` factors that have one value in the sample.

    Returns:
        ``minimality`` and ``sufficiency``, in [0, 1].

    Raises:
        InvalidInput: see ``leaderboard.arrays.check_codes_factors``; or fewer than two bins.

    Example:
        >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
        >>> score(factors[:, :1], factors)
        {'minimality': 1.0, 'sufficiency': 0.5}
    """
    codes, factors = check_codes_factors(codes, factors, constant_factors=constant_factors)
    pairs = pairwise(codes, factors, bins)
    latent_shares = pairs.information.max(axis=1) / np.where(pairs.latents > 0, pairs.latents, 1.0)
    return {
        "minimality": float(latent_shares.mean()),
        "sufficiency": float((pairs.information.max(axis=0) / pairs.factors).mean()),
    }
