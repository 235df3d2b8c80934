"""Shared by the split rules: the two lists of rows, and masks of a grid's rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmark_data import draws
from benchmark_data.errors import InvalidInput
from benchmark_data.factors import Factor, FactorSpace, FactorTable, Indices

Space = FactorSpace | FactorTable


class Parts(NamedTuple):
    """Train and test rows.

    Attributes:
        train: train rows, int64 (n,), ascending. Rows repeat if a rule draws them with replacement.
        test: test rows, int64 (m,), ascending, none of them in ``train``.
        weights: for a rule with weights, the weight of every row of the space, float64 (N,) in [0, 1], 0 for held-out
            rows; else None.
    """

    train: Indices
    test: Indices
    weights: NDArray[np.float64] | None = None


def check_grid(space: Space, rule: str) -> FactorSpace:
    """Check that a space is a full grid.

    Raises:
        InvalidInput: it is a table of labels.
    """
    if not isinstance(space, FactorSpace):
        raise InvalidInput(
            f"split rule {rule!r}: expected a dataset that is a full grid of factors, received {space!r}. Rules for "
            "any dataset: holdout and random."
        )
    return space


def has_order(factor: Factor) -> bool:
    """Return whether a factor's values have an order, as interpolation and extrapolation require."""
    return factor.size > 1 and factor.kind in ("ordinal", "cyclic")


def parts_from_mask(test: NDArray[np.bool_]) -> Parts:
    """Split the rows of a space by a mask of the test rows, bool (N,)."""
    return Parts(np.flatnonzero(~test).astype(np.int64), np.flatnonzero(test).astype(np.int64))


def random_mask(space: Space, count: int, seed: int) -> NDArray[np.bool_]:
    """Find the first rows of `draws.permutation`.

    Args:
        space: a grid or a table.
        count: the number of rows.
        seed: seed of the permutation.

    Returns:
        bool, shape (N,), true for ``count`` rows.
    """
    mask = np.zeros(len(space), bool)
    mask[draws.sample(seed, len(space), count)] = True
    return mask


def values_mask(space: FactorSpace, values: dict[int, list[int]], *, every: bool) -> NDArray[np.bool_]:
    """Find the rows whose factors take given values.

    Args:
        space: the grid.
        values: column -> class ids.
        every: all of the columns must take one of their values; otherwise any of them.

    Returns:
        bool, shape (N,). With no columns, True for all rows if ``every`` and False otherwise.
    """
    mask = np.full(space.sizes, every)
    for column, ids in values.items():
        column_mask = np.zeros(space.sizes[column], bool)
        column_mask[ids] = True
        column_mask = column_mask.reshape([-1 if axis == column else 1 for axis in range(len(space.sizes))])
        mask = mask & column_mask if every else mask | column_mask
    return mask.ravel()
