"""MIG-sup: does each latent encode one factor alone?

Li et al., "Progressive learning and disentanglement of hierarchical representations" (2020), section 4.1: the mutual
information gap with latents and factors exchanged. It complements MIG, which does not see that one latent encodes two
factors. The paper divides by the entropy of the factor; Carbonneau et al., "Measuring disentanglement: a review of
metrics" (2022), whose code is the reference of the tests, divide by that of the latent. Estimator as in
``leaderboard.metrics.mig``: 20 equal-width bins per latent, plug-in.

Range [0, 1]; ideal 1; chance near 0. Uninformative latents lower this mean over all latents; the paper excludes
inactive ones, which codes alone do not identify. Permuting, flipping, scaling or copying latents changes nothing, but
for codes on edges of bins, and neither does the numbering of classes.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from benchmark_data.errors import check_choice
from leaderboard.arrays import ConstantFactors, Real, check_codes_factors
from leaderboard.information import pairwise
from leaderboard.properties import Properties

PROPERTIES = Properties(
    asks="does each latent encode one factor alone?",
    source="Li et al. 2020, section 4.1",
    chance="near 0",
    with_idle_latents=0.5,
    rotation_lowers=True,
)

Unit = Literal["factors", "latents"]


def score(
    codes: Real[ArrayLike, "n L"],
    factors: Real[ArrayLike, "n F"],
    *,
    bins: int = 20,
    normalised_by: Unit = "factors",
    constant_factors: ConstantFactors = "refuse",
) -> dict[str, float]:
    """Compute MIG-sup.

    Args:
        codes: real numbers, shape (n, L).
        factors: class ids, shape (n, F).
        bins: equal-width bins per latent.
        normalised_by: ``"factors"``, the entropy of each factor, as in the paper; or ``"latents"``, the entropy of the
            discretised latent, as in Carbonneau et al.
        constant_factors: ``"refuse"`` or ``"drop"`` factors that have one value in the sample.

    Returns:
        ``mig_sup``: the mean over latents of the gap between the two factors that each encodes best, in [0, 1]. A
        constant latent counts as 0; a single factor is compared with one of which nothing is known.

    Raises:
        InvalidInput: see ``leaderboard.arrays.check_codes_factors``; or fewer than two bins, or an unknown unit.

    Example:
        >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
        >>> score(factors, factors)
        {'mig_sup': 1.0}
        >>> score(factors @ [[2.0, 1.0], [1.0, 2.0]], factors)
        {'mig_sup': 0.0}
    """
    check_choice("normalised_by", normalised_by, ("factors", "latents"))
    codes, factors = check_codes_factors(codes, factors, constant_factors=constant_factors)
    pairs = pairwise(codes, factors, bins)
    if normalised_by == "factors":
        shares = pairs.information / pairs.factors
    else:
        shares = pairs.information / np.where(pairs.latents > 0, pairs.latents, 1.0)[:, None]
    ranked = np.sort(np.hstack([shares, np.zeros((len(shares), 1))]), axis=1)
    return {"mig_sup": float(np.mean(ranked[:, -1] - ranked[:, -2]))}
