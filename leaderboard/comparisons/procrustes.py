"""Procrustes similarity: how similar are two representations after the best rotation of one onto the other?

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
        The similarity, in [0, 1], within 1e-5 of the formula in exact arithmetic; 0 if ``x`` or ``y`` is constant, for
        which the papers' normalisation divides by zero.

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
    """Compute the Procrustes similarity of layers from ``narrow``.

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
    """Replace a layer with more columns than samples by one of at most n columns with the same Gram matrix.

    Layers with the same Gram matrix differ by a rotation, to which comparisons are invariant. The cost decreases from
    p x q x min(p, q) to n x n x n. The factor is a pivoted Cholesky factor, since a centred Gram matrix is singular.

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
    """Project a layer on its leading directions.

    The directions are computed by block power iteration (Halko, Martinsson and Tropp, "Finding structure with
    randomness", 2011) from a fixed start. Since they are orthonormal, however accurate, ``similarity`` of two projected
    layers is a lower bound of that of the layers: multiplying by orthonormal bases increases no singular value. It is
    much cheaper, and within 0.01 if a few directions explain most of the layer.

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

    Those of a large matrix are computed from the eigenvalues of its product with its transpose, several times faster.
    Squaring loses the smallest values to rounding. The error is largest for matrices of rank one: the sum was too large
    by a share of 8e-7 at 600 rows and 2e-6 at 2,048, about proportional to the root of that number.
    """
    if min(a.shape) <= _LARGEST_SVD:
        return float(np.linalg.svd(a, compute_uv=False).sum())
    squares = np.linalg.eigvalsh(a @ a.T if len(a) <= a.shape[1] else a.T @ a)
    return float(np.sqrt(np.maximum(squares, 0.0)).sum())
