"""InfoMEC: modularity, compactness and explicitness in terms of information.

Hsu et al., "Disentanglement via latent quantization" (2023), section 4: the information of each latent about each
factor in units of the factor's entropy, by nearest neighbours (Ross 2014, 10 neighbours, scikit-learn) for continuous
codes and by counting for discrete ones. InfoM: the share of a latent's information that is about one factor, averaged
over active latents and scaled from 1 / F to 0. InfoC: the share of what is known of a factor that is in one latent,
likewise. InfoE: the share of a factor's entropy that logistic regression without a penalty predicts from all latents.

A latent is active if its range exceeds a twentieth of the greatest range; discrete ones if they vary. Tripod, by some
of the same authors, prunes by another rule: that is ``leaderboard.metrics.infomec_tripod``, and the two are not to be
mixed in a table.

Range [0, 1]; ideal 1 for each of the three; chance near 0 for InfoE on many samples, and above it for InfoM and InfoC,
which are ratios of small numbers on noise. Permuting or flipping latents changes nothing beyond the estimators' own
noise, and neither does a common scale nor the numbering of classes; the scale of one latent against the others decides
whether it is active. A copy of an informative latent lowers InfoC.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from leaderboard.arrays import ConstantFactors, check_codes_factors, check_seed
from leaderboard.metrics import _infomec
from leaderboard.properties import Properties

if TYPE_CHECKING:
    from jaxtyping import Real

PROPERTIES = Properties(
    asks=(
        "is a latent's information about one factor (InfoM), a factor's in one latent (InfoC), and can a linear "
        "classifier read it (InfoE)?"
    ),
    source="Hsu et al. 2023, section 4",
    chance="InfoE near 0; InfoM and InfoC larger, as ratios of small numbers",
    unbounded=("active_latents",),
    copied_latent={"infom": "same", "infoc": "no higher", "infoe": "same"},
    rotation_lowers=True,
    noise_scores="InfoM and InfoC are ratios: one chance dependency among small samples fills them",
    many_rows=False,
    tolerance=0.02,
)

_LEAST = 1 / 20


def score(
    codes: Real[ArrayLike, "n L"],
    factors: Real[ArrayLike, "n F"],
    *,
    discrete: bool = False,
    seed: int = 0,
    constant_factors: ConstantFactors = "refuse",
) -> dict[str, float]:
    """Compute InfoM, InfoC and InfoE, with latents pruned by range.

    Args:
        codes: real numbers, shape (n, L).
        factors: class ids, shape (n, F).
        discrete: the codes are values of a finite set, as those of a quantised encoder: counted, not measured by
            neighbours, and read one-hot.
        seed: for the noise of 1e-10 that breaks ties between neighbours.
        constant_factors: ``"refuse"`` or ``"drop"`` factors that have one value in the sample.

    Returns:
        ``infom``, ``infoc``, ``infoe`` and ``active_latents``, how many latents are active. A single active latent, or
        factor, is compared with one that knows, or of which is known, nothing. All are 0 if no latent varies. InfoE is
        at least 0, which classes of very unequal size may fall below.

    Raises:
        InvalidInput: see ``leaderboard.arrays.check_codes_factors``; or, for continuous codes, a factor with a class of
            its own for each row; for discrete ones, a latent with more than half as many values as rows.

    Example:
        >>> factors = np.stack(np.meshgrid(range(4), range(5), indexing="ij"), -1).reshape(-1, 2)
        >>> found = score(np.tile(factors, (20, 1)), np.tile(factors, (20, 1)), discrete=True)
        >>> {name: round(value, 3) for name, value in found.items()}
        {'infom': 1.0, 'infoc': 1.0, 'infoe': 1.0, 'active_latents': 2.0}
    """
    check_seed(seed)
    codes, factors = check_codes_factors(codes, factors, constant_factors=constant_factors)
    ranges = codes.max(axis=0).astype(np.float64) - codes.min(axis=0)
    active = ranges > 0 if discrete else ranges > ranges.max() * _LEAST
    return _infomec.scores(codes, factors, active, discrete=discrete, seed=seed)
