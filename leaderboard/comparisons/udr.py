"""Unsupervised disentanglement ranking (UDR): score runs without labels, by agreement with other runs.

Duan et al., "Unsupervised model selection for variational disentangled representation learning" (2020), section 4 and
the authors' implementation: the latents of one run are regressed on those of another by the lasso (penalty 0.1, both
standardised), or correlated by rank; the score of the pair is high where each informative latent of either run matches
one latent of the other; a run's score is the median over the other runs. Range [0, 1]; ideal 0.9 with the lasso, whose
penalty reduces a perfect match by 0.1, and 1 by rank; chance near 0 with the lasso.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmark_data.errors import InvalidInput, check_choice
from leaderboard.arrays import Real, as_plain_array, check_codes, standardise, varying
from leaderboard.properties import Properties

PROPERTIES = Properties(
    asks="do a run's latents match other runs', without labels?",
    source="Duan et al. 2020",
    chance="near 0",
    ideal="0.9 with the lasso, 1 by rank",
    uses_factors=False,
)

Similarity = Literal["lasso", "spearman"]

_LASSO_ALPHA = 0.1
_LEAST_DIVERGENCE = 0.01
"""The mean divergence from the prior, in nats, up to which a latent counts as shut down."""


def compare(
    x: Real[ArrayLike, "n p"],
    y: Real[ArrayLike, "n q"],
    *,
    kl_x: Real[ArrayLike, " p"] | None = None,
    kl_y: Real[ArrayLike, " q"] | None = None,
    similarity: Similarity = "lasso",
) -> float:
    """Score one pair of runs.

    Args:
        x: codes of one run, real numbers, shape (n, L).
        y: codes of the other on the same samples, shape (n, M).
        kl_x: the mean divergence of each latent's posterior from the prior, in nats, shape (L,); latents of at most
            0.01 are left out, after the regression. None to keep all latents that vary.
        kl_y: the same for ``y``, shape (M,).
        similarity: ``"lasso"`` or ``"spearman"``.

    Returns:
        The score, in [0, 1]; 0 if a run has no informative latent. The lasso regresses ``y`` on ``x``, so that the two
        directions differ slightly.

    Raises:
        InvalidInput: not 2-d, not finite, different rows, a divergence of another length, or an unknown similarity.

    Example:
        >>> x = np.random.default_rng(0).normal(size=(500, 3))
        >>> round(compare(x, -x[:, ::-1]), 2)
        0.9
    """
    a, b = _check_run(x, kl_x, "x"), _check_run(y, kl_y, "y")
    if len(a.codes) != len(b.codes):
        raise InvalidInput(f"y: expected {len(a.codes)} rows, as in x, received {len(b.codes)}.")
    return _score_pair(a, b, similarity)


def score(
    runs: Sequence[ArrayLike], *, kl: Sequence[ArrayLike] | None = None, similarity: Similarity = "lasso"
) -> list[float]:
    """Score each of several runs by its agreement with the others.

    Args:
        runs: codes of each run on the same samples, shape (n, L); runs may differ in L. At least two.
        kl: for each run the mean divergence of each latent from the prior, as in ``compare``.
        similarity: as in ``compare``.

    Returns:
        One score for each run, in [0, 1]: the median over the others of its latents regressed on theirs.

    Raises:
        InvalidInput: fewer than two runs, or as ``compare``.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> x = rng.normal(size=(500, 3))
        >>> [round(value, 1) for value in score([x, -x, x[:, [2, 0, 1]], x @ np.linalg.qr(rng.normal(size=(3, 3)))[0]])]
        [0.9, 0.9, 0.9, 0.4]
    """
    if len(runs) < 2:
        raise InvalidInput(f"runs: expected at least two, received {len(runs)}.")
    if kl is not None and len(kl) != len(runs):
        raise InvalidInput(f"kl: expected one array for each of {len(runs)} runs, received {len(kl)}.")
    checked = [_check_run(run, None if kl is None else kl[i], f"runs[{i}]") for i, run in enumerate(runs)]
    n = len(checked[0].codes)
    for i, run in enumerate(checked):
        if len(run.codes) != n:
            raise InvalidInput(f"runs[{i}]: expected {n} rows, as in runs[0], received {len(run.codes)}.")
    pairs = np.array([[_score_pair(a, b, similarity) if a is not b else 0.0 for b in checked] for a in checked])
    return [float(np.median(np.delete(pairs[:, i], i))) for i in range(len(checked))]


class _Run(NamedTuple):
    """Codes of the latents that vary, with mean 0 and variance 1, and which of these are informative."""

    codes: NDArray[np.float64]
    informative: NDArray[np.bool_]


def _check_run(x: Real[ArrayLike, "n p"], kl: ArrayLike | None, what: str) -> _Run:
    z = check_codes(x, what).astype(np.float64)
    kept = informative = varying(z)
    if kl is not None:
        divergence = as_plain_array(kl, f"divergence of {what}", f"{len(kept)} numbers")
        is_finite = divergence.dtype.kind in "fiu" and bool(np.isfinite(divergence).all())
        if divergence.shape != kept.shape or not is_finite:
            raise InvalidInput(
                f"divergence of {what}: expected {len(kept)} finite numbers, received dtype {divergence.dtype} and "
                f"shape {divergence.shape}."
            )
        informative = divergence > _LEAST_DIVERGENCE
    return _Run(standardise(z[:, kept])[0], informative[kept])


def _score_pair(x: _Run, y: _Run, similarity: Similarity) -> float:
    similarities = _similarities(x.codes, y.codes, similarity)
    return _relative_strength(similarities[np.ix_(x.informative, y.informative)])


def _similarities(x: NDArray[np.float64], y: NDArray[np.float64], similarity: Similarity) -> NDArray[np.float64]:
    """Return the similarity of each latent of x to each latent of y: (L, M), at least 0."""
    if similarity == "lasso":
        from sklearn.linear_model import Lasso

        if 0 in (x.shape[1], y.shape[1]):
            return np.zeros((x.shape[1], y.shape[1]))
        coefficients: NDArray[np.float64] = np.atleast_2d(Lasso(alpha=_LASSO_ALPHA).fit(x, y).coef_)
        return np.abs(coefficients).T
    check_choice("similarity", similarity, ("lasso", "spearman"))
    from scipy.stats import rankdata

    ranks = [rankdata(z, axis=0) for z in (x, y)]
    a, b = ((r - r.mean(axis=0)) / np.linalg.norm(r - r.mean(axis=0), axis=0) for r in ranks)
    return np.asarray(np.abs(a.T @ b))


def _relative_strength(matrix: NDArray[np.float64]) -> float:
    """Return the mean over the latents of both runs of the squared best match divided by the sum of all matches."""
    if not matrix.size:
        return 0.0
    strengths = []
    for axis in (0, 1):
        total = matrix.sum(axis=axis)
        matched = total > 0
        strengths.append((matrix.max(axis=axis)[matched] ** 2 / total[matched]).sum() / len(total))
    return float(min(np.mean(strengths), 1.0))
