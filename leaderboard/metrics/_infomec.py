"""What InfoMEC's two metrics share: they differ in which latents they call active."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from benchmark_data.errors import InvalidInput, needs
from leaderboard.arrays import Codes, standardised
from leaderboard.information import entropy, mutual_information, numbered

NEIGHBOURS = 10
_ITERATIONS = 100
_ROUNDING = 1e-12
"""Information below this is an error of rounding."""


def scores(
    codes: Codes, factors: NDArray[np.int64], active: NDArray[np.bool_], *, discrete: bool, seed: int
) -> dict[str, float]:
    """Compute the three scores from codes whose active latents are known.

    Args:
        codes: float32 or float64, shape (n, L).
        factors: class ids, shape (n, F), none of them constant.
        active: bool, shape (L,).
        discrete: codes are values of a finite set.
        seed: for the noise that breaks ties between neighbours.

    Returns:
        ``infom``, ``infoc``, ``infoe`` and ``active_latents``.

    Raises:
        InvalidInput: continuous codes, and a factor that has a class of its own for each row; or codes that are said to
            be discrete, and a latent that has a value of its own for most rows.
    """
    if not active.any():
        return {"infom": 0.0, "infoc": 0.0, "infoe": 0.0, "active_latents": 0.0}
    z = codes.astype(np.float64)
    if discrete:
        _check_repeated(z, np.flatnonzero(active))
    ids = numbered(factors)
    known = _normalised_information(z[:, active], ids, discrete, seed)
    return {
        "infom": _concentration(known.T),
        "infoc": _concentration(known),
        "infoe": _explicitness(z, ids, discrete),
        "active_latents": float(active.sum()),
    }


def _check_repeated(z: NDArray[np.float64], active: NDArray[np.int64]) -> None:
    """Refuse latents that count and whose values hardly repeat: each of them would know all of any factor."""
    for place, column in zip(active, z[:, active].T, strict=True):
        if (values := len(np.unique(column))) > len(column) / 2:
            raise InvalidInput(
                f"codes: expected discrete codes, whose values repeat, received {values} values in {len(column)} rows "
                f"of latent {place}. Pass discrete=False, or more rows."
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
        needs("InfoMEC", "metrics", "sklearn")
        from sklearn.feature_selection import mutual_info_classif

        for place, column in enumerate(ids.T):
            if np.bincount(column).max() == 1:
                raise InvalidInput(
                    "factors: expected a class with two rows or more, to look for neighbours in, received as many "
                    f"classes as rows in column {place}. Put neighbouring values into one class."
                )
        (z,) = standardised(z)
        information = np.array(
            [
                [
                    mutual_info_classif(
                        column[:, None], of, discrete_features=False, n_neighbors=NEIGHBOURS, random_state=seed
                    )[0]
                    for column in z.T
                ]
                for of in ids.T
            ]
        )
    return np.asarray(information / entropies[:, None])


def _concentration(rows: NDArray[np.float64]) -> float:
    """Return how much of each row is in its largest entry, averaged: 0 for even rows, 1 for rows of one entry.

    A row of zeros, up to rounding, is even. A row of a single entry is compared with a second one that is zero.
    """
    total, count = rows.sum(axis=1), max(2, rows.shape[1])
    known = total > _ROUNDING
    share = np.where(known, rows.max(axis=1) / np.where(known, total, 1.0), 1 / count)
    return float((share.mean() - 1 / count) / (1 - 1 / count))


def _explicitness(z: NDArray[np.float64], ids: NDArray[np.int64], discrete: bool) -> float:
    """Return the mean share of a factor's entropy that logistic regression predicts on the rows that it was fitted to.

    The machine has no penalty and its classes are balanced, so that without codes it gives all classes the same
    probability, and its cross entropy is the logarithm of their number.
    """
    needs("InfoMEC", "metrics", "sklearn")
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import log_loss
    from sklearn.preprocessing import OneHotEncoder
    from threadpoolctl import threadpool_limits

    x = OneHotEncoder().fit_transform(z) if discrete else standardised(z)[0]
    shares = []
    with threadpool_limits(1), warnings.catch_warnings():
        # As in the reference, 100 iterations must do; codes that separate classes perfectly have no finite optimum.
        warnings.simplefilter("ignore", ConvergenceWarning)
        for column in ids.T:
            model = LogisticRegression(C=np.inf, class_weight="balanced", max_iter=_ITERATIONS).fit(x, column)
            shares.append(1 - log_loss(column, model.predict_proba(x)) / np.log(column.max() + 1))
    return float(max(0.0, np.mean(shares)))
