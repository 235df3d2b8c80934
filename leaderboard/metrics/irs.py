"""Interventional robustness score (IRS): how constant is a latent when all factors but one are changed?

Suter et al., "Robustly disentangled causal mechanisms" (2019), as implemented by Locatello et al. (2019): for each
latent and factor, one minus the 99th percentile of the distance from the mean at one value of the factor, averaged over
its values, in units of the latent's largest distance from its overall mean; the best factor of each latent; averaged
over latents with that largest distance as weight. 10,000 samples; factors in 20 equal-width bins.

Range (-1, 1]; ideal 1. The paper states [0, 1], but neither its definition nor the reference implementation ensures
it: the mean at one value of a factor may be up to twice as far from some samples as the overall mean from any, so that
a latent of two clusters with rare outliers is below 0. Chance depends on the tails of the noise, since the percentile
is below the maximum: with 10,000 samples about 0.01 for uniform, 0.37 for Gaussian noise and 0.9 for Student's t with 2
degrees of freedom. Permuting or flipping latents changes nothing; a latent of larger scale has a larger weight.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmark_data.errors import InvalidInput
from leaderboard.arrays import ConstantFactors, Real, check_codes_factors, varying
from leaderboard.information import discretise, number_classes
from leaderboard.properties import Properties

PROPERTIES = Properties(
    asks="does a latent stay still when all factors but one change?",
    source="Suter et al. 2019",
    chance="0.3 to 0.4 on Gaussian noise",
    range=(-1.0, 1.0),
    unbounded=("active_latents",),
    copied_latent={"irs": "same"},
    rotation_lowers=True,
)


def score(
    codes: Real[ArrayLike, "n L"],
    factors: Real[ArrayLike, "n F"],
    *,
    quantile: float = 0.99,
    bins: int = 20,
    constant_factors: ConstantFactors = "refuse",
) -> dict[str, float]:
    """Compute IRS.

    Args:
        codes: real numbers, shape (n, L).
        factors: class ids, shape (n, F).
        quantile: the quantile of the distances; 1 is the paper's, which depends on single outliers.
        bins: equal-width bins of a factor's classes in order; a factor with at most this number of classes is not
            binned.
        constant_factors: ``"refuse"`` or ``"drop"`` factors that have one value in the sample.

    Returns:
        ``irs``: the score, in (-1, 1], 0 if every latent is constant; ``active_latents``: the number of latents that
        vary.

    Raises:
        InvalidInput: see ``leaderboard.arrays.check_codes_factors``; or ``quantile`` is not in [0, 1].

    Example:
        >>> factors = np.stack(np.meshgrid(range(4), range(5), indexing="ij"), -1).reshape(-1, 2)
        >>> score(factors, factors)
        {'irs': 1.0, 'active_latents': 2.0}
    """
    codes, factors = check_codes_factors(codes, factors, constant_factors=constant_factors)
    if not 0 <= quantile <= 1:
        raise InvalidInput(f"quantile: expected a number in [0, 1], received {quantile}.")
    z = codes[:, varying(codes)].astype(np.float64)
    if not z.shape[1]:
        return {"irs": 0.0, "active_latents": 0.0}
    largest_distance = np.abs(z - z.mean(axis=0)).max(axis=0)
    robustness = np.stack(
        [1 - _deviation(z, ids, quantile) / largest_distance for ids in discretise(number_classes(factors) * 1.0, bins)]
    )
    return {
        "irs": float(np.average(robustness.max(axis=0), weights=largest_distance)),
        "active_latents": float(z.shape[1]),
    }


def _deviation(z: NDArray[np.float64], ids: NDArray[np.int64], quantile: float) -> NDArray[np.float64]:
    """Average over the values of a factor the quantile of the distance from the mean at that value: float64 (L,)."""
    groups = [z[ids == value] for value in np.unique(ids)]
    distances = [np.quantile(np.abs(g - g.mean(axis=0)), quantile, axis=0) for g in groups]
    return np.asarray(np.mean(distances, axis=0))
