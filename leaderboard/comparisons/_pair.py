"""Checks of the arguments of every comparison."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmark_data.errors import InvalidInput
from leaderboard.arrays import check_codes


def check_pair(x: ArrayLike, y: ArrayLike, *, at_least: int = 2) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Check two representations of the same samples; centre and scale them.

    Args:
        x: real numbers, shape (n, p).
        y: real numbers, shape (n, q).
        at_least: the least number of samples.

    Returns:
        float64 copies whose columns have mean 0 and whose Frobenius norm is 1 (equation 10 of Bonheme and Grześ,
        2022); all zero if the input is constant. CKA does not depend on the scale; this one prevents underflow.

    Raises:
        InvalidInput: not 2-d, not finite, different rows, or too few samples.
    """
    x, y = check_codes(x, "x"), check_codes(y, "y")
    if len(x) != len(y):
        transposed = " One of them looks transposed." if x.shape[1] == len(y) or y.shape[1] == len(x) else ""
        raise InvalidInput(
            f"y: expected {len(x)} rows, as in x, received {len(y)}. Compare layers on the same samples, in the same "
            f"order.{transposed}"
        )
    if len(x) < at_least:
        raise InvalidInput(f"x: expected at least {at_least} samples, received {len(x)}.")
    return centred(x), centred(y)


def centred(x: NDArray[np.floating]) -> NDArray[np.float64]:
    """Centre the columns and scale to unit Frobenius norm, in float64.

    Args:
        x: shape (n, p).

    Returns:
        float64 (n, p), C-contiguous; all zero if every column is constant.
    """
    shift = x[0]  # exact zeros for constant columns, and no cancellation for columns far from 0
    result: NDArray[np.float64] = x.astype(np.float64) - shift
    result -= result.mean(axis=0)
    scale = np.abs(result).max()
    if scale > 0:
        result /= scale  # squares of very small or large numbers would leave the range of float64
        result /= np.linalg.norm(result)
    return result
