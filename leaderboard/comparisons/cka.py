"""Linear centred kernel alignment (CKA): how similar are two representations of the same samples?

Kornblith et al., "Similarity of neural network representations revisited" (2019); section 2.2 of Bonheme and Grześ,
"How do variational autoencoders learn?" (2022). Biased, centred, no arccosine: 0 for orthogonal, 1 for equal up to
rotation, reflection and isotropic scaling. ``debiased=True`` uses the debiased estimator. The papers interpret the
smaller of this and the Procrustes similarity.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leaderboard.arrays import Real
from leaderboard.comparisons._pair import check_pair


def compare(x: Real[ArrayLike, "n p"], y: Real[ArrayLike, "n q"], *, debiased: bool = False) -> float:
    """Compute linear CKA.

    Args:
        x: real numbers, shape (n, p): the activations of one layer, one row per sample.
        y: real numbers, shape (n, q): another layer's, on the same samples in the same order.
        debiased: use the unbiased estimator of the Hilbert-Schmidt independence criterion (Song et al., 2012; Nguyen
            et al., 2021) instead of the papers'. For unrelated representations it is near 0 at any number of samples,
            and can be slightly negative. It needs at least four samples.

    Returns:
        The similarity, in [0, 1]; 0 if ``x`` or ``y`` is constant. Debiased: at most 1; 0 also if all samples are
        equidistant.

    Raises:
        InvalidInput: not 2-d, not finite, different rows, or too few samples.

    Example:
        >>> x = np.random.default_rng(0).normal(size=(100, 3))
        >>> round(compare(x, 2 * x[:, ::-1]), 6)
        1.0
        >>> compare(x, np.random.default_rng(1).normal(size=(100, 3))) < 0.1
        True
    """
    x, y = check_pair(x, y, at_least=4 if debiased else 2)
    if not debiased and max(x.shape[1], y.shape[1]) <= len(x):  # through features: p x q, p x p and q x q products
        inner = float(np.square(x.T @ y).sum())
        norms = float(np.square(x.T @ x).sum()) * float(np.square(y.T @ y).sum())
    else:  # through samples: n x n Gram matrices
        k, el = (_unbiased(gram) if debiased else gram for gram in (x @ x.T, y @ y.T))
        inner, norms = float((k * el).sum()), float((k * k).sum()) * float((el * el).sum())
    return min(inner / float(np.sqrt(norms)), 1.0) if norms > 0 else 0.0


def _unbiased(gram: NDArray[np.float64]) -> NDArray[np.float64]:
    """Centre a Gram matrix so that inner products of such matrices are n (n - 3) times the unbiased criterion."""
    n, rounding = len(gram), len(gram) * np.finfo(np.float64).eps * np.abs(gram).max()
    gram = gram.copy()
    np.fill_diagonal(gram, 0.0)
    means = gram.sum(axis=0) / (n - 2)
    means -= means.sum() / (2 * (n - 1))
    gram -= means[:, None] + means[None, :]
    np.fill_diagonal(gram, 0.0)
    return gram if np.abs(gram).max() > rounding else np.zeros_like(gram)
