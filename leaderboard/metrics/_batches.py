"""Batches in which one factor is fixed, drawn from a given sample, for FactorVAE's and BetaVAE's scores.

The reference renders new images for every batch. Here a batch is drawn with replacement from the rows of the sample
with the fixed value, so that codes of any dataset suffice, whether or not it is a complete grid. A row is paired with a
different one, if one has its value: a row paired with itself, most often if a value has few rows, would have no
differences and reveal the fixed factor whatever the codes. For independent factors both draw from the same
distribution, if the sample has enough rows of each value.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from benchmark_data import draws
from benchmark_data.errors import InvalidInput, check_count
from leaderboard.arrays import varying
from leaderboard.information import number_classes

_CHUNK = 100
"""Batches that are drawn at a time: more do not fit the processor's cache, and 2,048 latents take 0.2 GiB."""


def check(factors: NDArray[np.int64], factors_test: NDArray[np.int64], batch: int, **counts: int) -> None:
    """Check arguments for which the score would be meaningless.

    Args:
        factors: class ids, shape (n, F), each of which varies.
        factors_test: those of the held-out part, shape (m, F).
        batch: samples per batch.
        **counts: numbers of batches, by argument name.

    Raises:
        InvalidInput: a single factor, which is always guessed; a factor that is constant in the held-out part alone,
            so that it seems fixed in every batch; a batch of less than 2; or no batches.
    """
    if factors.shape[1] < 2:
        raise InvalidInput("factors: expected at least two factors that vary, received one.")
    if not (varies := varying(factors_test)).all():
        raise InvalidInput(
            "factors_test: expected at least two values of each factor that varies in factors, received one value in "
            f"{np.count_nonzero(~varies)} of {len(varies)} factors. Divide the samples into the two parts at random."
        )
    check_count("batch", batch, 2)
    for name, value in counts.items():
        check_count(name, value, 1)


def draw_fixed_factor_batches(
    factors: NDArray[np.int64], count: int, batch: int, seed: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Draw batches whose samples share the value of one factor, in chunks.

    Args:
        factors: class ids, shape (n, F).
        count: number of batches.
        batch: samples per batch.
        seed: a non-negative integer.

    Yields:
        For c batches: the fixed factor, int64 (c,), and the rows, int64 (c, batch).
    """
    groups = _Groups(factors)
    for start in range(0, count, _CHUNK):
        u = draws.uniform(seed, np.arange(start, min(start + _CHUNK, count)), batch + 2)
        fixed = _scale_to_integers(u[:, 0], factors.shape[1])
        reference = _scale_to_integers(u[:, 1], len(factors))
        yield fixed, groups.draw(fixed[:, None], reference[:, None], u[:, 2:])


def draw_paired_batches(
    factors: NDArray[np.int64], count: int, batch: int, seed: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
    """Draw batches of pairs whose two samples share the value of one factor, in chunks.

    Args:
        factors: class ids, shape (n, F).
        count: number of batches.
        batch: pairs per batch.
        seed: a non-negative integer.

    Yields:
        For c batches: the shared factor, int64 (c,), and the rows of both sides, int64 (c, batch) each.
    """
    groups = _Groups(factors)
    for start in range(0, count, _CHUNK):
        u = draws.uniform(seed, np.arange(start, min(start + _CHUNK, count)), 2 * batch + 1)
        fixed = _scale_to_integers(u[:, 0], factors.shape[1])
        first = _scale_to_integers(u[:, 1 : batch + 1], len(factors))
        yield fixed, first, groups.draw_peer(fixed[:, None], first, u[:, batch + 1 :])


class _Groups:
    """The rows that share a value, for every factor."""

    def __init__(self, factors: NDArray[np.int64]) -> None:
        ids = np.ascontiguousarray(number_classes(factors).T)
        self.order = np.stack([np.argsort(column, kind="stable") for column in ids])
        counts = [np.bincount(column) for column in ids]
        self.size = np.stack([c[column] for c, column in zip(counts, ids, strict=True)])
        self.start = np.stack([(np.cumsum(c) - c)[column] for c, column in zip(counts, ids, strict=True)])
        self.rank = np.argsort(self.order, axis=1) - self.start  # of each row among those that share its value

    def draw(self, factor: NDArray[np.int64], row: NDArray[np.int64], u: NDArray[np.float64]) -> NDArray[np.int64]:
        """Draw, for every uniform number, a row with the same value of ``factor`` as ``row``."""
        return self.order[factor, self.start[factor, row] + _scale_to_integers(u, self.size[factor, row])]

    def draw_peer(self, factor: NDArray[np.int64], row: NDArray[np.int64], u: NDArray[np.float64]) -> NDArray[np.int64]:
        """Draw like `draw`, but a row other than ``row``, if one has its value."""
        size = self.size[factor, row]
        offset = 1 + _scale_to_integers(u, np.maximum(size - 1, 1))
        return self.order[factor, self.start[factor, row] + (self.rank[factor, row] + offset) % size]


def _scale_to_integers(u: NDArray[np.float64], limit: int | NDArray[np.int64]) -> NDArray[np.int64]:
    """Convert uniform numbers in [0, 1) to integers in [0, limit)."""
    return (u * limit).astype(np.int64)
