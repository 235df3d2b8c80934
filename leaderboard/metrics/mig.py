"""Mutual information gap (MIG): is each factor encoded by one latent alone?

Chen et al., "Isolating sources of disentanglement in variational autoencoders" (2018), equation 6, with the estimator
of Locatello et al. (2019): 20 equal-width bins per latent, plug-in mutual information, 10,000 samples.

Range [0, 1]; ideal 1; chance near 0, since the plug-in estimator's bias is similar for all latents. Permuting or
flipping latents changes nothing, except for codes on edges of bins; copying an informative latent lowers its factor's
score to 0. A factor with more values than bins cannot reach 1: with 20 bins one of 40 values has at most log 20 / log
40 = 0.81, so that the factors themselves score 0.90 on dSprites, whose orientation has 40 values and whose positions
have 32.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leaderboard.arrays import ConstantFactors, Real, check_codes_factors
from leaderboard.information import pairwise
from leaderboard.properties import Column, Properties

PROPERTIES = Properties(
    asks="is each factor encoded by one latent alone?",
    source="Chen et al. 2018, equation 6",
    chance="near 0",
    copied_latent={"mig": "zero"},
    rotation_lowers=True,
    columns=(  # tenths of the rows give at most 0.13 less where codes are the factors, and gave 0.03 less elsewhere
        Column("mig", "MIG", "Mutual information gap: is each factor encoded by one latent alone?", tenth=0.2),
    ),
    part_ranges={"gaps": (0.0, 1.0)},
)


def score(
    codes: Real[ArrayLike, "n L"],
    factors: Real[ArrayLike, "n F"],
    *,
    bins: int = 20,
    constant_factors: ConstantFactors = "refuse",
) -> dict[str, float]:
    """Compute MIG.

    Args:
        codes: real numbers, shape (n, L).
        factors: class ids, shape (n, F).
        bins: equal-width bins per latent.
        constant_factors: ``"refuse"`` or ``"drop"`` factors that have one value in the sample.

    Returns:
        ``mig``: the mean over factors of the gap between the two most informative latents, in units of the factor's
        entropy. For a single latent, the second-best is taken as uninformative.

    Raises:
        InvalidInput: see ``leaderboard.arrays.check_codes_factors``; or fewer than two bins.

    Example:
        >>> codes = [[0.0, 0.3], [0.1, 0.9], [1.0, 0.3], [0.9, 0.9]]
        >>> score(codes, [[0], [0], [1], [1]])
        {'mig': 1.0}
    """
    return combine(parts(codes, factors, bins=bins, constant_factors=constant_factors))


def parts(
    codes: Real[ArrayLike, "n L"],
    factors: Real[ArrayLike, "n F"],
    *,
    bins: int = 20,
    constant_factors: ConstantFactors = "refuse",
) -> dict[str, NDArray[np.float64]]:
    """Return ``gaps``, float64 (F,), in [0, 1]: the gap of each factor. For the arguments see `score`."""
    codes, factors = check_codes_factors(codes, factors, constant_factors=constant_factors)
    pairs = pairwise(codes, factors, bins)
    ranked = np.sort(np.vstack([pairs.information, np.zeros((1, factors.shape[1]))]), axis=0)
    return {"gaps": (ranked[-1] - ranked[-2]) / pairs.factors}


def combine(score_parts: Mapping[str, ArrayLike]) -> dict[str, float]:
    """Compute the score from its parts.

    Args:
        score_parts: as from ``parts``.

    Returns:
        As ``score``.

    Example:
        >>> combine({"gaps": [1.0, 0.5]})
        {'mig': 0.75}
    """
    return {"mig": float(np.mean(np.asarray(score_parts["gaps"], np.float64)))}
