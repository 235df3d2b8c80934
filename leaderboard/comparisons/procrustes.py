"""Procrustes similarity: how much of one representation is left after the best rotation onto another?

Equations 2 to 4 and appendix C of Bonheme and Grześ, "How do variational autoencoders learn?" (2022), after Ding et al.
(2021): centred columns, unit Frobenius norm, one minus half the orthogonal Procrustes distance, which is the nuclear
norm of Y'X. 0 for orthogonal, 1 for equal up to rotation, reflection and isotropic scaling. With few samples it
overestimates the similarity of unrelated representations; the papers interpret the smaller of this and CKA.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leaderboard.arrays import Real
from leaderboard.comparisons._pair import check_pair

_LARGEST_SVD = 512

_LEADING_COLUMNS = 128


def compare(x: Real[ArrayLike, "n p"], y: Real[ArrayLike, "n q"]) -> float:
    """Compute the Procrustes similarity.

    Args:
        x: real numbers, shape (n, p): the activations of one layer, one row per sample.
        y: real numbers, shape (n, q): another layer's, on the same samples in the same order.

    Returns:
        The similarity, in [0, 1], within 1e-5 of the formula in exact arithmetic; 0 if ``x`` or ``y`` is constant,
        where the papers' normalisation divides by zero.

    Raises:
        InvalidInput: not 2-d, not finite, different rows, or fewer than two samples.

    Example:
        >>> x = np.random.default_rng(0).normal(size=(100, 3))
        >>> round(compare(x, 2 * x[:, ::-1]), 6)
        1.0
    """
    x, y = check_pair(x, y)
    return similarity(narrow(x), narrow(y))


def similarity(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """Compute the Procrustes similarity of layers that are centred and scaled, and narrowed if they are wide.

    Args:
        x: float64 (n, p), from ``narrow``.
        y: float64 (n, q), from ``narrow``.

    Returns:
        The nuclear norm of y'x, at most 1.
    """
    if x is y:  # its singular values are squares of the layer's, whose sum is the squared norm
        return float(min(np.square(x).sum(), 1.0))
    return float(min(_nuclear_norm(y.T @ x), 1.0))


def narrow(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Replace a layer that is wider than the sample by one of at most n columns with the same Gram matrix.

    Two layers with one Gram matrix differ by a rotation, which no comparison here sees. What cost p x q x min(p, q)
    then costs n x n x n. The factor is a Cholesky factor with pivots, since a centred Gram matrix is singular.

    Args:
        x: float64 (n, p), centred, of unit Frobenius norm.

    Returns:
        ``x`` itself if p <= n, else float64 (n, r) with r < n its rank.
    """
    from scipy.linalg.lapack import dpstrf

    n, p = x.shape
    if p <= n:
        return x
    factor, pivots, rank, _ = dpstrf(x @ x.T, lower=1)
    result = np.zeros((n, rank))
    result[pivots - 1] = np.tril(factor)[:, :rank]
    return result


def project_on_leading(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turn a layer and keep its first columns, which hold most of it.

    The directions come from block power iteration (Halko, Martinsson and Tropp, "Finding structure with randomness",
    2011), begun from a fixed start. Whatever the directions, they are orthonormal, so that ``similarity`` of what two
    layers keep is a lower bound of the layers' own: a product between two orthonormal bases has no larger singular
    values. It costs a small part of the whole, and comes within 0.01 of it where a few directions hold a layer.

    Args:
        x: float64 (n, p), from ``narrow``.

    Returns:
        ``x`` itself if p <= 128, else float64 (n, 128).
    """
    if x.shape[1] <= _LEADING_COLUMNS:
        return x
    directions = np.random.default_rng(0).normal(size=(x.shape[1], _LEADING_COLUMNS))
    for _ in range(3):
        directions, _ = np.linalg.qr(x.T @ (x @ directions))
    return np.asarray(x @ directions)


def _nuclear_norm(a: NDArray[np.float64]) -> float:
    """Sum the singular values of a matrix.

    Those of a large matrix come from the eigenvalues of its product with its transpose, several times faster. Squaring
    loses the smallest values in rounding. That matters most where nearly all of them are 0, in matrices of rank one:
    there the sum was too large by 8e-7 of itself at 600 rows, 2e-6 at 2,048, about as the root of their number.
    """
    if min(a.shape) <= _LARGEST_SVD:
        return float(np.linalg.svd(a, compute_uv=False).sum())
    squares = np.linalg.eigvalsh(a @ a.T if len(a) <= a.shape[1] else a.T @ a)
    return float(np.sqrt(np.maximum(squares, 0.0)).sum())
