"""JEMMIG: is each factor encoded by one latent alone, which encodes nothing else?

Do and Tran, "Theory and evaluation metrics for learning disentangled representations" (2020), section 4.3: the joint
entropy of a factor and its best latent, less their mutual information, plus that of the second best latent. Normalised
as in Carbonneau et al., "Measuring disentanglement: a review of metrics" (2022), whose code is the reference of the
tests: divided by the factor's entropy plus the logarithm of the number of bins, and taken from 1, so that higher is
better. Estimator as in ``leaderboard.metrics.mig``: 20 equal-width bins per latent, plug-in.

Range [0, 1]; ideal 1, which takes a latent with one bin for each value of the factor. Chance is about 0.1 to 0.2 on
Gaussian noise, whose bins are not filled evenly (0 on uniform, 0.46 on Student's t with 2 degrees of freedom).
Permuting, flipping or scaling latents changes nothing, but for codes on edges of bins, and neither does the numbering
of classes; a copy of an informative latent lowers the score, though not to 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from leaderboard.arrays import ConstantFactors, Real, check_codes_factors
from leaderboard.information import pairwise
from leaderboard.properties import Properties

PROPERTIES = Properties(
    asks="is each factor encoded by one latent alone, which encodes nothing else?",
    source="Do and Tran 2020, section 4.3",
    chance="0.1 to 0.2 on Gaussian noise",
    copied_latent={"jemmig": "no higher"},
    rotation_lowers=True,
)


def score(
    codes: Real[ArrayLike, "n L"],
    factors: Real[ArrayLike, "n F"],
    *,
    bins: int = 20,
    constant_factors: ConstantFactors = "refuse",
) -> dict[str, float]:
    """Compute JEMMIG.

    Args:
        codes: real numbers, shape (n, L).
        factors: class ids, shape (n, F).
        bins: equal-width bins per latent. The score depends on it twice: through the estimates and as a unit.
        constant_factors: ``"refuse"`` or ``"drop"`` factors that have one value in the sample.

    Returns:
        ``jemmig``: the mean over factors, in [0, 1]. For a single latent, the second-best is taken as uninformative. A
        factor that no latent encodes scores 0, where the formula alone would reward a constant latent for
        its low entropy.

    Raises:
        InvalidInput: see ``leaderboard.arrays.check_codes_factors``; or fewer than two bins.

    Example:
        >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
        >>> score(factors, factors)
        {'jemmig': 1.0}
    """
    codes, factors = check_codes_factors(codes, factors, constant_factors=constant_factors)
    pairs = pairwise(codes, factors, bins)
    # Of equals, the one that holds the least.
    best_latents = (pairs.information - 1e-9 * pairs.latents[:, None]).argmax(axis=0)
    ranked = np.sort(np.vstack([pairs.information, np.zeros((1, factors.shape[1]))]), axis=0)
    joint = pairs.factors + pairs.latents[best_latents] - ranked[-1]
    scores = 1 - (joint - ranked[-1] + ranked[-2]) / (pairs.factors + np.log(bins))
    return {"jemmig": float(np.where(ranked[-1] > 0, np.clip(scores, 0.0, 1.0), 0.0).mean())}
