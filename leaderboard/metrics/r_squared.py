"""R² per factor: how much of each factor's variance does a regression from all latents explain on held-out rows?

Schott et al., "Visual representation learning does not generalize strongly within the same domain" (2022), section 4:
one minus the mean squared error in units of the factor's variance. Theirs is the variance over the whole dataset, which
can be passed as ``variances``; by default it is that on the held-out part, so that predicting its mean scores 0. The
two differ if a split leaves out some values of a factor. They train networks that predict factors; for codes a readout
is fitted on the training part: least squares (``readout="linear"``) or scikit-learn's histogram gradient boosting
(``readout="boosting"``, which needs 40 rows, and hundreds to be accurate).

Range (-∞, 1]; ideal 1; chance near 0, and below 0 if the readout extrapolates worse than the mean. Permuting, flipping,
scaling, mixing or copying latents does not change the linear readout. Class ids are treated as numbers: their order and
spacing matter, so that a categorical or cyclic factor is scored by an order that it does not have.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmark_data.errors import InvalidInput, check_choice, check_count, needs
from leaderboard.arrays import ConstantFactors, Real, check_seed, check_train_test, standardise, varying
from leaderboard.properties import Column, Properties

PROPERTIES = Properties(
    asks="how much of a factor's variance does a regression explain on held-out rows?",
    source="Schott et al. 2022, section 4",
    chance="near 0, or below",
    range=(-math.inf, 1.0),
    numbering_matters="class ids are treated as numbers, so their order and spacing matter to a regression",
    columns=(
        Column(
            "r_squared",
            "R²",
            "How much of the factors' variance a readout of the training part's codes explains on held-out rows.",
            low=-math.inf,
        ),
    ),
    part_ranges={"errors": (0.0, math.inf), "variances": (0.0, math.inf)},
)

Readout = Literal["linear", "boosting"]


def score(
    codes: Real[ArrayLike, "n L"],
    factors: Real[ArrayLike, "n F"],
    *,
    codes_test: Real[ArrayLike, "m L"],
    factors_test: Real[ArrayLike, "m F"],
    readout: Readout = "linear",
    variances: Real[ArrayLike, " F"] | None = None,
    seed: int = 0,
    constant_factors: ConstantFactors = "refuse",
) -> dict[str, float]:
    """Compute R² on the held-out part.

    Args:
        codes: real numbers, shape (n, L), to fit the readout on.
        factors: class ids, shape (n, F), taken for numbers.
        codes_test: real numbers, shape (m, L), held out.
        factors_test: class ids, shape (m, F).
        readout: ``"linear"`` or ``"boosting"``.
        variances: of the class ids over the whole dataset, positive, shape (F,) without factors that are dropped, to
            divide errors by: in a full grid (size² - 1) / 12. Default: those on the held-out part.
        seed: for boosting, which draws the rows that it bins if there are more than 200,000.
        constant_factors: ``"refuse"`` or ``"drop"`` factors that have one value in the training part.

    Returns:
        ``r_squared``, the mean over factors, and ``r_squared_min``, the least. Without ``variances``, factors that have
        one value in the held-out part are left out; both are 0 if nothing remains. ``parts`` has the value of each
        factor.

    Raises:
        InvalidInput: see ``leaderboard.arrays.check_train_test``; an unknown readout; fewer than 40 training rows for
            boosting; or variances of another shape or not positive.

    Example:
        >>> factors = np.stack(np.meshgrid(range(4), range(5), indexing="ij"), -1).reshape(-1, 2)
        >>> codes = np.hstack([factors[:, :1], np.cos(factors[:, 1:])])
        >>> scores = score(codes, factors, codes_test=codes, factors_test=factors)
        >>> {name: round(value, 3) for name, value in scores.items()}
        {'r_squared': 0.915, 'r_squared_min': 0.83}
    """
    return combine(
        parts(
            codes,
            factors,
            codes_test=codes_test,
            factors_test=factors_test,
            readout=readout,
            variances=variances,
            seed=seed,
            constant_factors=constant_factors,
        )
    )


def parts(
    codes: Real[ArrayLike, "n L"],
    factors: Real[ArrayLike, "n F"],
    *,
    codes_test: Real[ArrayLike, "m L"],
    factors_test: Real[ArrayLike, "m F"],
    readout: Readout = "linear",
    variances: Real[ArrayLike, " F"] | None = None,
    seed: int = 0,
    constant_factors: ConstantFactors = "refuse",
) -> dict[str, NDArray[np.float64]]:
    """Compute the errors of the readout. For the arguments see `score`.

    ``errors``: float64 (F,), the mean squared error on the held-out part, in squared class ids; ``variances``:
    float64 (F,), the variance there, or the given one, 0 for a factor that is left out.
    """
    check_seed(seed)
    codes, factors, codes_test, factors_test = check_train_test(
        codes, factors, codes_test, factors_test, constant_factors=constant_factors
    )
    z, z_test = codes.astype(np.float64), codes_test.astype(np.float64)
    v, v_test = (part - factors.min(axis=0) for part in (factors, factors_test))  # ids may be too large for float64
    check_choice("readout", readout, ("linear", "boosting"))
    predicted = _predict_linear(z, v, z_test) if readout == "linear" else _predict_boosting(z, v, z_test, seed)
    if variances is None:
        v_var = np.where(varying(v_test), v_test.var(axis=0), 0.0)
    else:
        v_var = np.asarray(variances, np.float64)
        if v_var.shape != (factors.shape[1],) or not (np.isfinite(v_var) & (v_var > 0)).all():
            expected = f"{factors.shape[1]} positive numbers, one for each factor"
            raise InvalidInput(f"variances: expected {expected}, received {v_var!r}.")
    return {"errors": ((predicted - v_test) ** 2).mean(axis=0), "variances": v_var}


def combine(score_parts: Mapping[str, ArrayLike]) -> dict[str, float]:
    """Compute the scores from their parts.

    Args:
        score_parts: as from ``parts``.

    Returns:
        As ``score``.

    Example:
        >>> combine({"errors": [0.0, 1.0, 7.0], "variances": [1.0, 2.0, 0.0]})
        {'r_squared': 0.75, 'r_squared_min': 0.5}
    """
    errors, variances = (np.asarray(score_parts[name], np.float64) for name in ("errors", "variances"))
    kept = variances > 0
    per_factor = 1 - errors[kept] / variances[kept] if kept.any() else np.zeros(1)
    return {"r_squared": float(per_factor.mean()), "r_squared_min": float(per_factor.min())}


ROUNDING = 1e-6
"""A direction in which codes vary by less than this share of the widest one is rounding of float32 and not fitted:
latents of a collapsed posterior are multiples of each other up to rounding."""


def _predict_linear(z: NDArray[np.float64], v: NDArray[np.int64], z_test: NDArray[np.float64]) -> NDArray[np.float64]:
    """Fit least squares with an intercept and predict the held-out part: float64 (m, F)."""
    z, z_test = standardise(z, z_test)
    centre = v.mean(axis=0)
    weights = np.linalg.lstsq(z, v - centre, rcond=ROUNDING)[0]
    return np.asarray(z_test @ weights + centre)


def _predict_boosting(
    z: NDArray[np.float64], v: NDArray[np.int64], z_test: NDArray[np.float64], seed: int
) -> NDArray[np.float64]:
    """Fit boosted trees for each factor and predict the held-out part: float64 (m, F)."""
    check_count("training rows for boosting, whose leaves have 20", len(z), 40)
    needs("R²", "metrics", "sklearn")
    from sklearn.ensemble import HistGradientBoostingRegressor

    models = (HistGradientBoostingRegressor(early_stopping=False, random_state=seed).fit(z, column) for column in v.T)
    return np.stack([model.predict(z_test) for model in models], axis=1)
