"""InfoMEC as Tripod computes it: latents are pruned by the range of their middle half.

Hsu et al., "Tripod: three complementary inductive biases for disentangled representation learning" (2024), and
its code: the three scores of ``leaderboard.metrics.infomec``, where a latent is active if its interquartile range
exceeds a tenth of the largest one, and a discrete latent if it exceeds 0.1. Latents that vary only in a few outliers
are pruned here and kept there; do not mix the two in a table.

Range [0, 1]; ideal 1 for each of the three; chance near 0 for InfoE on many samples, and above it for InfoM and InfoC,
which are ratios of small numbers on noise. Permuting or flipping latents changes nothing beyond the estimators' own
noise, and neither does the numbering of classes nor, for continuous codes, a common scale; the scale of one latent
against the others decides whether it is active. A copy of an informative latent lowers InfoC.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import ArrayLike

from leaderboard.arrays import ConstantFactors, Real, check_codes_factors, check_seed
from leaderboard.metrics import infomec

PROPERTIES = dataclasses.replace(
    infomec.PROPERTIES,
    asks="the same as `infomec`, with latents pruned by interquartile range?",
    source="Hsu et al. 2024",
    chance="as `infomec`",
)

_LEAST_SPREAD = 1 / 10


def score(
    codes: Real[ArrayLike, "n L"],
    factors: Real[ArrayLike, "n F"],
    *,
    discrete: bool = False,
    seed: int = 0,
    constant_factors: ConstantFactors = "refuse",
) -> dict[str, float]:
    """Compute InfoM, InfoC and InfoE, with latents pruned by interquartile range.

    Args:
        codes: real numbers, shape (n, L).
        factors: class ids, shape (n, F).
        discrete: as in ``leaderboard.metrics.infomec.score``. The threshold of 0.1 is for Tripod's codes in [-1, 1].
        seed: as in ``leaderboard.metrics.infomec.score``.
        constant_factors: ``"refuse"`` or ``"drop"`` factors that have one value in the sample.

    Returns:
        ``infom``, ``infoc``, ``infoe`` and ``active_latents``, as in ``leaderboard.metrics.infomec.score``. All are 0
        if no latent is active.

    Raises:
        InvalidInput: see ``leaderboard.arrays.check_codes_factors``; or, for continuous codes, a factor with a class of
            its own for each row; for discrete ones, a latent with more than half as many values as rows.

    Example:
        >>> factors = np.stack(np.meshgrid(range(4), range(5), indexing="ij"), -1).reshape(-1, 2)
        >>> scores = score(np.tile(factors, (20, 1)), np.tile(factors, (20, 1)), discrete=True)
        >>> {name: round(value, 3) for name, value in scores.items()}
        {'infom': 1.0, 'infoc': 1.0, 'infoe': 1.0, 'active_latents': 2.0}
    """
    check_seed(seed)
    codes, factors = check_codes_factors(codes, factors, constant_factors=constant_factors)
    low, high = np.quantile(codes.astype(np.float64), [0.25, 0.75], axis=0)
    spread = high - low
    active = spread > (_LEAST_SPREAD if discrete else spread.max() * _LEAST_SPREAD)
    return infomec.score_active(codes, factors, active, discrete=discrete, seed=seed)
