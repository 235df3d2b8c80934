"""Warnings about codes and factors whose scores can be computed but are probably not meaningful. Internal."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from benchmark_data.errors import OffaxisWarning

if TYPE_CHECKING:
    from jaxtyping import Int64

_LEAST_SPREAD = 1e-6
"""A spread below this, absolute or relative to the magnitude, leaves float32 trees with hardly any distinct values."""


class LostSpread(OffaxisWarning):
    """Latents vary, but so little that a classifier or a score treats them as constant."""


class ContinuousFactors(OffaxisWarning):
    """A factor has a different value in most rows."""


class SameCodes(OffaxisWarning):
    """There are very few different codes."""


def warn_if_lost(codes: NDArray[np.floating]) -> None:
    """Warn of latents whose spread is too small for classifiers that take codes as they are.

    Trees see float32 numbers and do not split between those closer than 1e-7; logistic regression has a penalty that
    depends on the codes' scale. Both then treat signal as noise, as the reference implementations do.

    Args:
        codes: float32 or float64, shape (n, L). Latents that are constant relative to the others, up to 1e-6 of the
            largest spread, are ignored.

    Warns:
        LostSpread: a latent's range is below 1e-6, or below 1e-6 of its magnitude.

    Example:
        >>> warn_if_lost(np.array([[0.0, 1.0], [1.0, 1.0]]))
    """
    high, low = codes.max(axis=0).astype(np.float64), codes.min(axis=0).astype(np.float64)
    spread, magnitude = high - low, np.maximum(np.abs(high), np.abs(low))
    is_lost = (spread > _LEAST_SPREAD * spread.max()) & (spread < _LEAST_SPREAD * np.maximum(magnitude, 1.0))
    if is_lost.any():
        warnings.warn(
            f"codes: the range of {is_lost.sum()} of {len(is_lost)} latents (the first: {is_lost.argmax()}) is below "
            f"{_LEAST_SPREAD:g}, or below {_LEAST_SPREAD:g} of their magnitude, which classifiers treat as constant; "
            "subtract each latent's mean and divide by its standard deviation.",
            LostSpread,
            stacklevel=3,
        )


def warn_if_same(codes: NDArray[np.floating], what: str = "codes") -> None:
    """Warn of codes that hardly depend on the images, as after posterior collapse.

    Args:
        codes: float32 or float64, shape (n, L).
        what: name of the codes in the warning.

    Warns:
        SameCodes: at most one different code per thousand rows, or one in all.

    Example:
        >>> warn_if_same(np.array([[0.0, 1.0], [1.0, 1.0]]))
    """
    count = len({hash(row.tobytes()) for row in codes + 0.0})  # -0.0 is 0.0
    if count <= max(1, len(codes) // 1000):
        few = (
            "the codes are the same in all rows" if count == 1 else f"{len(codes):,} rows have {count} different codes"
        )
        warnings.warn(
            f"{what}: {few}; was the right model encoded, or did its posterior collapse?",
            SameCodes,
            stacklevel=3,
        )


def warn_if_continuous(factors: Int64[NDArray[np.int64], "n F"], names: Sequence[str], what: str) -> None:
    """Warn of factors whose values hardly recur, since metrics treat each value as a class.

    Args:
        factors: class ids, shape (n, F).
        names: of the factors.
        what: name of the samples in the warning.

    Warns:
        ContinuousFactors: a factor has more values than half of the rows.

    Example:
        >>> warn_if_continuous(np.arange(8)[:, None] // 2, ["size"], "mine")
    """
    continuous = [
        name for name, column in zip(names, factors.T, strict=True) if 2 * len(np.unique(column)) > len(factors)
    ]
    if continuous:
        warnings.warn(
            f"{what}: {', '.join(continuous)}: most of {len(factors):,} rows have a unique value. Metrics treat each "
            "value as a class, so their scores are meaningless: bin the values first (numpy.digitize), or leave out "
            "ids.",
            ContinuousFactors,
            stacklevel=3,
        )
