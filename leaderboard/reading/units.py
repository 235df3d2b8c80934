"""Units that are vectors: codes (n, L, d) become codes (n, L), one number for each unit, by one rule with a version.

EncDiff (Yang et al., "Diffusion model with cross attention as an inductive bias for disentanglement", 2024) and others
encode an image as L units of d numbers. Metrics look at latents of one number each; EncDiff scores the first principal
component of each unit, and so do we. The rule decides scores, so that it is never edited: a change is a new version.

Version ``first_component@v1``. For each unit by itself, in float64: the mean and covariance of the train rows, the
eigenvector of the greatest eigenvalue, its sign such that its largest entry by magnitude (the first of equal ones) is
positive, and for all rows the product of that vector with the row less the mean. The train rows are the task's; of
codes that belong to no task they are the first two thirds, which is the share of most tasks. So held-out rows decide
nothing. Units of one number are passed on as they are, byte for byte.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark_data.errors import InvalidInput, check_count
from leaderboard.arrays import check_codes

__all__ = ["VERSION", "reduce"]

VERSION = "first_component@v1"


def version(codes: NDArray[Any]) -> str:
    """Return the version of the rule of ``reduce``; empty if it returns the codes unchanged.

    Args:
        codes: as for ``reduce``.

    Returns:
        ``VERSION`` for codes of three axes with several numbers in a unit.
    """
    return VERSION if np.ndim(codes) == 3 and np.shape(codes)[2] > 1 else ""


def reduce(
    codes: NDArray[Any], what: str = "codes", *, train: int | None = None, fit: NDArray[Any] | None = None
) -> NDArray[Any]:
    """Reduce units of several numbers to one number each.

    Args:
        codes: real numbers, shape (n, L, d): samples, units, numbers of a unit. Anything that has not three axes is
            passed on as it is, for ``leaderboard.arrays.check_codes`` to judge.
        what: what the array is called in an error message.
        train: the number of leading rows that the rule is fitted on, at least 2. Default: two thirds.
        fit: other codes of the same units, whose train rows it is fitted on instead.

    Returns:
        Shape (n, L): for d = 1 the same numbers of the same dtype; else float32 for codes in float32 or float16 and
        float64 for all others. A unit that does not vary among the train rows is 0 everywhere.

    Raises:
        InvalidInput: units of no numbers, fewer than three rows or two train rows, or ``fit`` of another shape; or what
            ``leaderboard.arrays.check_codes`` refuses.

    Example:
        >>> codes = np.array([[[0.0, 0.0]], [[3.0, 4.0]], [[6.0, 8.0]]])  # one unit that moves by (3, 4)
        >>> reduce(codes).round(6).ravel().tolist()  # fitted on the first two rows
        [-2.5, 2.5, 7.5]
        >>> reduce(codes[:, :, :1]).ravel().tolist()
        [0.0, 3.0, 6.0]
    """
    codes = np.asarray(codes)
    if fit is not None and codes.shape[1:] != (row_shape := np.shape(fit)[1:]):
        raise InvalidInput(f"{what}: expected rows of shape {row_shape}, as in codes, received {codes.shape[1:]}.")
    if codes.ndim != 3:
        return codes
    n, units, size = codes.shape
    if n < 3 or not units or not size:
        raise InvalidInput(
            f"{what}: expected at least three rows, one unit and one number in each: shape (samples, units, numbers), "
            f"received shape {codes.shape}."
        )
    if size == 1:
        return codes[:, :, 0]
    if train is not None:
        check_count("train", train, 2)
    checked = check_codes(codes.reshape(n, units * size), what).reshape(n, units, size)
    fit_codes = checked if fit is None else fit
    fit_codes = fit_codes[: len(fit_codes) * 2 // 3 if train is None else train].astype(np.float64)
    return np.stack(
        [_project_on_first_component(checked[:, unit], fit_codes[:, unit]) for unit in range(units)], axis=1
    ).astype(checked.dtype)


def _project_on_first_component(unit: NDArray[np.floating], train: NDArray[np.float64]) -> NDArray[np.float64]:
    """Project a unit, (n, d), on the first principal component of its train rows, (m, d): float64 (n,)."""
    unit = unit.astype(np.float64)
    if (train == train[0]).all():
        return np.zeros(len(unit))
    unit = unit - train.mean(axis=0)
    direction = np.linalg.eigh(np.cov(train, rowvar=False))[1][:, -1]
    return np.asarray(unit @ direction * np.sign(direction[np.argmax(np.abs(direction))]))
