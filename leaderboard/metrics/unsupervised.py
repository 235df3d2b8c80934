"""Dependence between latents, without factors: total correlation, Wasserstein distance, mutual information.

Locatello et al., "Challenging common assumptions in the unsupervised learning of disentangled representations" (2019),
section 5.3 and their code: the total correlation and the squared 2-Wasserstein distance between a Gaussian with the
codes' covariance and the product of its marginals, and the mean mutual information of two latents in 20 equal-width
bins, in nats. 10,000 samples.

Range [0, ∞); 0 for independent latents, which is not the same as disentangled ones; smaller is more independent. A copy
of a latent, or no more samples than latents, makes the total correlation infinite. Permuting or flipping latents
changes nothing. A constant latent adds nothing to the first two; the mutual information is a mean over pairs, which a
constant latent lowers. Only the Wasserstein distance depends on the scale; its normalised form is invariant to a common
scale.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leaderboard.arrays import Real, check_codes, check_rows, varying
from leaderboard.information import discretise, mutual_information
from leaderboard.properties import Properties

PROPERTIES = Properties(
    asks="how much do latents depend on each other?",
    source="Locatello et al. 2019",
    chance="0",
    range=(0.0, math.inf),
    ideal=0.0,
    uses_factors=False,
    copied_latent={"gaussian_total_correlation": "infinite"},
    scale_dependent=("gaussian_wasserstein",),
)


def score(
    codes: Real[ArrayLike, "n L"], factors: Real[ArrayLike, "n F"] | None = None, *, bins: int = 20
) -> dict[str, float]:
    """Compute the unsupervised scores.

    Args:
        codes: real numbers, shape (n, L).
        factors: ignored, though their rows must match; accepted so that all metrics share one signature.
        bins: equal-width bins per latent.

    Returns:
        ``gaussian_total_correlation`` in nats, infinite if a latent is, up to rounding in float64, a linear function of
        others; ``gaussian_wasserstein`` in squared units of the codes;
        ``gaussian_wasserstein_normalised``, the same divided by the total variance, in [0, 2); ``mutual_information``
        in nats.

    Raises:
        InvalidInput: see ``leaderboard.arrays.check_codes``; or fewer than two bins.

    Example:
        >>> codes = np.random.default_rng(0).normal(size=(1000, 3))
        >>> score(codes)["gaussian_total_correlation"] < 0.01
        True
        >>> score(np.hstack([codes, codes]))["gaussian_total_correlation"]
        inf
    """
    codes = check_codes(codes)
    if factors is not None:
        check_rows(codes, factors)
    binned = discretise(codes, bins)
    latents = len(binned)
    pairs = sum(mutual_information(binned[i + 1 :], binned[i]).sum() for i in range(latents - 1))
    z = codes[:, varying(codes)].astype(np.float64)
    correlation, wasserstein, total = _gaussian_scores(z) if z.shape[1] else (0.0, 0.0, 1.0)
    return {
        "gaussian_total_correlation": correlation,
        "gaussian_wasserstein": wasserstein,
        "gaussian_wasserstein_normalised": wasserstein / total,
        "mutual_information": float(pairs / (latents * (latents - 1) / 2)) if latents > 1 else 0.0,
    }


def _gaussian_scores(z: NDArray[np.float64]) -> tuple[float, float, float]:
    """Return total correlation, Wasserstein distance and total variance of codes without constant latents."""
    covariance = np.atleast_2d(np.cov(z, rowvar=False))
    variances = np.diag(covariance)
    deviations = np.sqrt(variances)
    spectrum = np.linalg.eigvalsh(covariance / np.outer(deviations, deviations))
    # Eigenvalues of a singular correlation matrix come out as rounding errors of about this size.
    singular = len(z) <= z.shape[1] or spectrum[0] <= z.shape[1] * np.finfo(np.float64).eps * spectrum[-1]
    correlation = math.inf if singular else -0.5 * float(np.log(spectrum).sum())
    # The trace of the root of D S, D the diagonal of S, is that of the root of the symmetric matrix similar to it.
    largest = deviations.max()
    relative = deviations / largest  # fourth powers of small deviations would be 0
    roots = largest * np.sqrt(np.maximum(np.linalg.eigvalsh(covariance * np.outer(relative, relative)), 0.0))
    return max(0.0, correlation), max(0.0, 2 * float(variances.sum() - roots.sum())), float(variances.sum())
