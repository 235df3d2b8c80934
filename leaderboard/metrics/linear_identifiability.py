"""Linear identifiability: are codes a linear map of the factors, and does that map preserve distances?

Klindt et al., "When does LeJEPA learn a world model?" (2026, arXiv 2605.26379), whose code computes three numbers: the
R² of predicting the standardised factors from the codes by least squares; the R² of predicting the codes from the
factors; and how far the second map A is from orthogonal, the Frobenius norm of A'A - 1 over the root of the number of
factors.

Range [0, 1] of both R²; ideal 1; chance L / n for L latents and n samples: they are fitted and measured on the same
samples (``r_squared`` uses held-out samples). The error is 0 for a rotation and 1 for uninformative codes. It has no
upper bound and depends on the scale of the codes. Permuting, flipping or rotating latents changes nothing. Class ids
are treated as numbers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leaderboard.arrays import ConstantFactors, Real, check_codes_factors, standardise
from leaderboard.properties import Properties

PROPERTIES = Properties(
    asks="are codes a linear map of the factors, and is it a rotation?",
    source="Klindt et al. 2026, arXiv 2605.26379",
    chance="L / n (n images)",
    unbounded=("orthogonality_error",),
    copied_latent={"linear_identifiability": "same"},
    scale_dependent=("orthogonality_error",),
    numbering_matters="class ids are treated as numbers, so their order and spacing matter to a linear map",
)


def score(
    codes: Real[ArrayLike, "n L"], factors: Real[ArrayLike, "n F"], *, constant_factors: ConstantFactors = "refuse"
) -> dict[str, float]:
    """Compute both R² and the error of orthogonality.

    Args:
        codes: real numbers, shape (n, L).
        factors: class ids, shape (n, F), taken for numbers.
        constant_factors: ``"refuse"`` or ``"drop"`` factors that have one value in the sample.

    Returns:
        ``linear_identifiability``, the R² of the factors given the codes, the mean over factors; ``codes_explained``,
        the R² of the codes given the factors, of all their variance together, 0 for constant codes;
        ``orthogonality_error``, not negative.

    Raises:
        InvalidInput: see ``leaderboard.arrays.check_codes_factors``.

    Example:
        >>> factors = np.stack(np.meshgrid(range(4), range(5), indexing="ij"), -1).reshape(-1, 2)
        >>> codes = (factors - factors.mean(axis=0)) / factors.std(axis=0)
        >>> {name: round(value, 3) + 0.0 for name, value in score(codes, factors).items()}
        {'linear_identifiability': 1.0, 'codes_explained': 1.0, 'orthogonality_error': 0.0}
    """
    codes, factors = check_codes_factors(codes, factors, constant_factors=constant_factors)
    z, v = codes.astype(np.float64), (factors - factors.min(axis=0)).astype(np.float64)  # ids may be too large for it
    z -= z.mean(axis=0)
    v = (v - v.mean(axis=0)) / v.std(axis=0)
    (scaled,) = standardise(z)
    factors_error, _ = _fit_residual(scaled, v)
    codes_error, weights = _fit_residual(v, z)
    total_variation, count = float((z**2).sum()), v.shape[1]
    return {
        "linear_identifiability": max(0.0, 1 - factors_error / v.size),
        "codes_explained": 1 - codes_error / total_variation if total_variation > 0 else 0.0,
        "orthogonality_error": float(np.linalg.norm(weights @ weights.T - np.eye(count)) / np.sqrt(count)),
    }


def _fit_residual(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[float, NDArray[np.floating]]:
    """Return the squared error of least squares from x to y, both centred, and their map: float64 (p, q)."""
    weights = np.linalg.lstsq(x, y, rcond=None)[0]
    return float(((y - x @ weights) ** 2).sum()), weights
