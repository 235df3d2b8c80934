"""InfoMEC: modularity, compactness and explicitness in terms of information.

Hsu et al., "Disentanglement via latent quantization" (2023), section 4: the information of each latent about each
factor in units of the factor's entropy, by nearest neighbours (Ross 2014, 10 neighbours, scikit-learn) for continuous
codes and by counting for discrete ones. InfoM: the share of a latent's information that is about one factor, averaged
over active latents and rescaled so that 1 / F becomes 0. InfoC: the share of the information about a factor that is in
one latent, likewise. InfoE: the share of a factor's entropy that logistic regression without a penalty predicts from
all latents.

A latent is active if its range exceeds a twentieth of the largest range; discrete ones if they vary. Tripod, by some of
the same authors, prunes by another rule, ``leaderboard.metrics.infomec_tripod``; do not mix the two in a table.

Range [0, 1]; ideal 1 for each of the three; chance near 0 for InfoE on many samples, and above it for InfoM and InfoC,
which are ratios of small numbers on noise. Permuting or flipping latents changes nothing beyond the estimators' own
noise, and neither does a common scale nor the numbering of classes; the scale of one latent against the others decides
whether it is active. A copy of an informative latent lowers InfoC.
"""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmark_data.errors import InvalidInput, needs
from leaderboard.arrays import Codes, ConstantFactors, Real, check_codes_factors, check_seed, standardise
from leaderboard.information import ROUNDING, entropy, mutual_information, number_classes
from leaderboard.properties import Properties

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
    noise_scores="InfoM and InfoC are ratios: in small samples, one chance dependency can make them large",
    many_rows=False,
    tolerance=0.07,  # the estimator breaks ties by noise: perfect codes of 240 samples score 0.94 to 1
)

_LEAST_RANGE = 1 / 20
NEIGHBOURS = 10
_ITERATIONS = 100


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
        discrete: whether the codes are values of a finite set, as from a quantised encoder: these are counted instead
            of estimated by neighbours, and one-hot in the regression.
        seed: for the noise of 1e-10 that breaks ties between neighbours.
        constant_factors: ``"refuse"`` or ``"drop"`` factors that have one value in the sample.

    Returns:
        ``infom``, ``infoc``, ``infoe`` and ``active_latents``, the number of active latents. For a single active latent
        or factor, the second-best is taken as uninformative. All are 0 if no latent varies. InfoE is at least 0: lower
        values, which classes of very unequal size can have, are clipped.

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
    ranges = codes.max(axis=0).astype(np.float64) - codes.min(axis=0)
    active = ranges > 0 if discrete else ranges > ranges.max() * _LEAST_RANGE
    return score_active(codes, factors, active, discrete=discrete, seed=seed)


def score_active(
    codes: Codes, factors: NDArray[np.int64], active: NDArray[np.bool_], *, discrete: bool, seed: int
) -> dict[str, float]:
    """Compute the three scores from codes and their active latents.

    Args:
        codes: float32 or float64, shape (n, L).
        factors: class ids, shape (n, F), none of them constant.
        active: bool, shape (L,).
        discrete: whether codes are values of a finite set.
        seed: for the noise that breaks ties between neighbours.

    Returns:
        ``infom``, ``infoc``, ``infoe`` and ``active_latents``.

    Raises:
        InvalidInput: for continuous codes, a factor with a class of its own for each row; for discrete ones, a latent
            with more than half as many values as rows.
    """
    if not active.any():
        return {"infom": 0.0, "infoc": 0.0, "infoe": 0.0, "active_latents": 0.0}
    needs("InfoMEC", "metrics", "sklearn")
    z = codes.astype(np.float64)
    if discrete:
        _check_discrete(z)
    ids = number_classes(factors)
    shares = _normalised_information(z[:, active], ids, discrete, seed)
    return {
        "infom": _concentration(shares.T),
        "infoc": _concentration(shares),
        "infoe": _explicitness(z, ids, discrete),
        "active_latents": float(active.sum()),
    }


def _check_discrete(z: NDArray[np.float64]) -> None:
    """Refuse latents, also inactive ones, whose values hardly repeat: InfoE would predict any factor from them."""
    for index, column in enumerate(z.T):
        if (values := len(np.unique(column))) > len(column) / 2:
            raise InvalidInput(
                f"codes: expected discrete codes, whose values repeat, received {values} values in {len(column)} rows "
                f"of latent {index}. Pass discrete=False, or more rows."
            )


def _normalised_information(
    z: NDArray[np.float64], ids: NDArray[np.int64], discrete: bool, seed: int
) -> NDArray[np.float64]:
    """Return the information of each latent about each factor in units of the factor's entropy: float64 (F, L)."""
    entropies = np.array([entropy(column) for column in ids.T])
    if discrete:
        values = np.stack([np.unique(column, return_inverse=True)[1] for column in z.T])
        information = np.stack([mutual_information(values, column) for column in ids.T])
    else:
        from sklearn.feature_selection import mutual_info_classif

        for index, column in enumerate(ids.T):
            if np.bincount(column).max() == 1:
                raise InvalidInput(
                    "factors: expected a class with two rows or more, to look for neighbours in, received as many "
                    f"classes as rows in column {index}. Put neighbouring values into one class."
                )
        (z,) = standardise(z)
        information = np.array(
            [
                [
                    mutual_info_classif(
                        latent[:, None], factor, discrete_features=False, n_neighbors=NEIGHBOURS, random_state=seed
                    )[0]
                    for latent in z.T
                ]
                for factor in ids.T
            ]
        )
    return np.asarray(information / entropies[:, None])


def _concentration(rows: NDArray[np.float64]) -> float:
    """Return the mean share of a row's largest entry, rescaled to 0 for uniform rows and 1 for a single nonzero entry.

    A row of zeros, up to rounding, counts as uniform. A row of length 1 is compared with a second entry of zero.
    """
    total, count = rows.sum(axis=1), max(2, rows.shape[1])
    is_informed = total > ROUNDING
    share = np.where(is_informed, rows.max(axis=1) / np.where(is_informed, total, 1.0), 1 / count)
    return max(0.0, float((share.mean() - 1 / count) / (1 - 1 / count)))


def _explicitness(z: NDArray[np.float64], ids: NDArray[np.int64], discrete: bool) -> float:
    """Return the mean share of a factor's entropy that logistic regression predicts on the rows that it was fitted to.

    It has no penalty and balanced classes, so that without codes all classes have the same probability, and the cross
    entropy is the logarithm of their number.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import log_loss
    from sklearn.preprocessing import OneHotEncoder
    from threadpoolctl import threadpool_limits

    x = OneHotEncoder().fit_transform(z) if discrete else standardise(z)[0]
    shares = []
    with threadpool_limits(1), warnings.catch_warnings():
        # 100 iterations as in the reference; codes that separate classes perfectly have no finite optimum.
        warnings.simplefilter("ignore", ConvergenceWarning)
        for column in ids.T:
            model = LogisticRegression(C=np.inf, class_weight="balanced", max_iter=_ITERATIONS).fit(x, column)
            shares.append(1 - log_loss(column, model.predict_proba(x)) / np.log(column.max() + 1))
    return float(max(0.0, np.mean(shares)))
