"""Mutual information between codes and factors, in nats, by counting.

Our own, so that a score does not move with a library's version. The discretiser and the plug-in estimator are those of
Locatello et al., "Challenging common assumptions in the unsupervised learning of disentangled representations" (2019).

Internal.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmark_data.errors import check_count
from leaderboard.arrays import Codes

if TYPE_CHECKING:
    from jaxtyping import Int64


def class_ids(column: Int64[NDArray[np.int64], " n"]) -> tuple[NDArray[np.int64], int]:
    """Number the classes that occur in a column 0, 1, 2, ... in ascending order of their ids.

    Args:
        column: int64, shape (n,).

    Returns:
        int64 (n,), the new ids, and how many classes there are.

    Example:
        >>> class_ids(np.array([7, -1, 7, 40]))
        (array([1, 0, 1, 2]), 3)
    """
    low, high = int(column.min()), int(column.max())
    if high - low > 4 * len(column) + 1024:  # too spread out for a table
        values, ids = np.unique(column, return_inverse=True)
        return ids.astype(np.int64), len(values)
    shifted = column - low
    present = np.bincount(shifted) > 0
    return (np.cumsum(present) - 1)[shifted], int(present.sum())


def number_classes(factors: Int64[NDArray[np.int64], "n F"]) -> Int64[NDArray[np.int64], "n F"]:
    """Number the classes of each factor, as ``class_ids`` does those of one.

    Args:
        factors: class ids, int64, shape (n, F).

    Returns:
        int64, shape (n, F).

    Example:
        >>> number_classes(np.array([[7, 0], [-1, 0], [40, 2]])).tolist()
        [[1, 0], [0, 0], [2, 1]]
    """
    return np.stack([class_ids(column)[0] for column in np.ascontiguousarray(factors.T)], axis=1)


def discretise(codes: Codes, bins: int = 20) -> NDArray[np.int64]:
    """Put each latent into equal-width bins over its own range.

    The edges are computed in the codes' own precision and each bin includes its lower edge, as ``numpy.histogram`` and
    ``numpy.digitize`` do in the reference. A constant latent is all in one bin.

    Args:
        codes: float32 or float64, shape (n, L).
        bins: how many bins.

    Returns:
        int64, shape (L, n), in [0, bins): rows are latents.

    Raises:
        InvalidInput: bins that are no integer, or fewer than two.

    Example:
        >>> discretise(np.array([[0.0], [0.4], [0.5], [1.0]]), bins=2)
        array([[0, 0, 1, 1]])
    """
    check_count("bins", bins, 2)
    binned = np.empty(codes.shape[::-1], np.int64)
    for row, z in zip(binned, np.ascontiguousarray(codes.T), strict=True):
        low, high = z.min(), z.max()
        step = (high - low) / z.dtype.type(bins)
        if not step:  # constant, or of a range that a float cannot divide
            row[:] = 0
            continue
        edges = np.arange(bins, dtype=z.dtype) * step + low
        # Division finds the bin up to rounding, and the neighbouring edges mend it. Where bins are narrower than the
        # gaps between floats, edges coincide, and some bins stay empty.
        row[:] = np.minimum((z - low) / step, bins - 1)
        upper = np.append(edges[1:], np.inf).astype(z.dtype)
        row += z >= upper[row]
        row -= z < edges[row]
    return binned


def entropy(ids: NDArray[np.int64]) -> float:
    """Return the entropy of the observed frequencies of a discrete variable.

    Args:
        ids: non-negative integers, shape (n,).

    Returns:
        Nats, at least 0.

    Example:
        >>> round(entropy(np.array([0, 1, 0, 1])), 6)
        0.693147
    """
    counts = np.bincount(ids)
    p = counts[counts > 0] / len(ids)
    return float(np.abs((p * np.log(p)).sum()))  # which is no -0.0


def mutual_information(bins: NDArray[np.int64], column: NDArray[np.int64]) -> NDArray[np.float64]:
    """Estimate the mutual information of each discretised latent with one factor.

    Args:
        bins: non-negative integers, shape (L, n): rows are latents, as from ``discretise``.
        column: class ids, shape (n,).

    Returns:
        float64, shape (L,), nats, at least 0.

    Example:
        >>> mutual_information(np.array([[0, 0, 1, 1], [0, 1, 0, 1]]), np.array([3, 3, 8, 8])).round(6)
        array([0.693147, 0.      ])
    """
    ids, classes = class_ids(column)
    n, width = len(ids), int(bins.max()) + 1
    information = np.empty(len(bins))
    x_log_x = _x_log_x(n)
    rows_of_classes = ids * width
    chunk = max(1, 2**20 // n)
    for start in range(0, len(bins), chunk):
        part = bins[start : start + chunk]
        # One table (latents, classes, bins) from one count.
        cells = part + rows_of_classes
        cells += (np.arange(len(part)) * (classes * width))[:, None]
        joint = np.bincount(cells.ravel(), minlength=len(part) * classes * width).reshape(len(part), classes, width)
        by_class, by_bin = joint.sum(axis=2), joint.sum(axis=1)
        plugin = (x_log_x[joint].sum(axis=(1, 2)) - x_log_x[by_class].sum(axis=1) - x_log_x[by_bin].sum(axis=1)) / n
        plugin += x_log_x[n] / n
        plugin[np.count_nonzero(by_bin, axis=1) == 1] = 0.0  # a constant latent, exactly
        information[start : start + chunk] = np.where(plugin > ROUNDING, plugin, 0.0)
    return information


ROUNDING = 1e-12
"""Information below this is an error of rounding, in nats."""


class Pairwise(NamedTuple):
    """Mutual information of all pairs of a latent and a factor, and their entropies, in nats.

    Attributes:
        information: float64 (L, F), the mutual information of each latent with each factor, at least 0 and at most
            either entropy.
        latents: float64 (L,), the entropy of each discretised latent, 0 for a constant one.
        factors: float64 (F,), the entropy of each factor.
    """

    information: NDArray[np.float64]
    latents: NDArray[np.float64]
    factors: NDArray[np.float64]


def pairwise(codes: Codes, factors: NDArray[np.int64], bins: int = 20) -> Pairwise:
    """Estimate the information of all pairs of a latent and a factor, with the plug-in estimator.

    Args:
        codes: float32 or float64, shape (n, L).
        factors: class ids, shape (n, F).
        bins: equal-width bins per latent, as in ``discretise``.

    Returns:
        The matrix and both entropies.

    Raises:
        InvalidInput: bins that are no integer, or fewer than two.

    Example:
        >>> pairs = pairwise(np.array([[0.0, 5.0], [0.0, 5.0], [1.0, 5.0], [1.0, 5.0]]), np.array([[3], [3], [8], [8]]))
        >>> pairs.information.round(6).tolist(), pairs.latents.round(6).tolist(), pairs.factors.round(6).tolist()
        ([[0.693147], [0.0]], [0.693147, 0.0], [0.693147])
    """
    binned = discretise(codes, bins)
    columns = np.ascontiguousarray(number_classes(factors).T)
    latent_entropies = np.array([entropy(row) for row in binned])
    factor_entropies = np.array([entropy(column) for column in columns])
    information = np.stack([mutual_information(binned, column) for column in columns], axis=1)
    # a latent that is the factor itself may come out an ulp above
    return Pairwise(
        np.minimum(information, np.minimum.outer(latent_entropies, factor_entropies)),
        latent_entropies,
        factor_entropies,
    )


@functools.lru_cache(maxsize=4)
def _x_log_x(n: int) -> NDArray[np.float64]:
    """Tabulate x log x for x = 0 .. n."""
    x = np.arange(n + 1, dtype=np.float64)
    x[1:] *= np.log(x[1:])
    return x
