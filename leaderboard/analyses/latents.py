"""Which latents are in use? Active, passive and mixed units, and posterior collapse against the polarised regime.

A VAE shuts down latents that it does not need: their posterior stays at the prior, with mean 0 and variance 1. If some
are passive, this is the polarised regime (Rolinek et al., 2019); if all are, posterior collapse. Bonheme and Grześ,
"How do variational autoencoders learn?" (2022), figure 5 and appendix G, track both by CKA: passive latents are noise
in the sampled representation and nearly nothing in the mean one, so that CKA(mean, sampled) and CKA(input, sampled)
fall as their number grows. Neither alone shows how many latents were needed: compare it with that of a run that
reconstructs.

Units are classified by the posterior variance of each latent over the data, with the thresholds of the authors' code
for that paper: passive when its mean lies within 0.1 of 1, active when its mean is at most 0.1, each only if its
variance is below 0.1, and mixed otherwise. Zietlow et al., "Demystifying inductive biases for beta-VAE based
architectures" (2021), section 5.4, count a unit as used when the mean is below 0.8.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from benchmark_data.errors import InvalidInput
from leaderboard.arrays import Real, check_codes

TOLERANCE = 0.1
"""How far from 0 or 1 the mean posterior variance may lie, and the bound on its own variance (Bonheme and Grześ)."""

USED_BELOW = 0.8
"""A unit with less posterior variance than this is used (Zietlow et al.)."""


def measure(mean: Real[ArrayLike, "n L"], variance: Real[ArrayLike, "n L"]) -> pd.DataFrame:
    """Describe each latent of a Gaussian posterior.

    Args:
        mean: posterior means, shape (n, L).
        variance: posterior variances, above 0, shape (n, L).

    Returns:
        A row per latent: ``latent`` (its number); ``noise``, the mean posterior variance; ``noise_variance``, the
        variance of the posterior variance over samples; ``signal``, the variance of the posterior mean; ``kl``, the
        mean Kullback-Leibler divergence from the prior in nats; ``kind``, ``"active"``, ``"mixed"`` or ``"passive"``;
        and ``used``, whether ``noise`` is below 0.8.

    Raises:
        InvalidInput: not 2-d, not finite, shapes that differ, or variances that are not positive.

    Example:
        >>> mean = np.array([[-1.0, 0.01], [1.0, -0.01]])
        >>> measure(mean, np.array([[0.02, 0.99], [0.03, 1.0]]))[["noise", "kind"]].round(3).values.tolist()
        [[0.025, 'active'], [0.995, 'passive']]
    """
    mu, var = check_posterior(mean, variance)
    noise, spread = var.mean(axis=0), var.var(axis=0)
    steady = spread < TOLERANCE
    active, passive = steady & (noise <= TOLERANCE), steady & (np.abs(noise - 1) <= TOLERANCE)
    return pd.DataFrame(
        {
            "latent": np.arange(mu.shape[1]),
            "noise": noise,
            "noise_variance": spread,
            "signal": mu.var(axis=0),
            "kl": 0.5 * (mu**2 + var - np.log(var) - 1).mean(axis=0),
            "kind": np.select([active, passive], ["active", "passive"], "mixed"),
            "used": noise < USED_BELOW,
        }
    )


def check_posterior(mean: ArrayLike, variance: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Check the means and variances of a diagonal Gaussian posterior.

    Args:
        mean: real numbers, shape (n, L).
        variance: above 0, shape (n, L).

    Returns:
        Both as float64.

    Raises:
        InvalidInput: not 2-d, not finite, shapes that differ, or variances that are not positive.
    """
    mu = check_codes(mean, "mean").astype(np.float64)
    var = check_codes(variance, "variance").astype(np.float64)
    if mu.shape != var.shape:
        raise InvalidInput(f"variance: expected shape {mu.shape}, as mean, received shape {var.shape}.")
    if not (lowest := var.min()) > 0:
        raise InvalidInput(
            f"variance: expected positive numbers, received {lowest:.3g}. Pass variances; take the exponential of log "
            "variances first."
        )
    return mu, var
