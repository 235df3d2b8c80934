"""Are two runs one training? Codes that differ in order, sign and scale of latents alone say the same of every image.

Two trainings that differ in their seed do not order images alike on every latent, however well both find the factors:
in 32,718 pairs of 905 runs on the same data, at least one latent had a rank correlation below 0.993 with every latent
of the other run, but for five trainings that were done twice. So two runs are taken for one where each latent of either
has a rank correlation of `ALIKE` or more with a latent of the other. Latents that are constant are left out.

What this cannot see: the same training with noise added, with latents mixed, or beside a latent that the other run does
not have. Codes that take few values and are the factors themselves in every seed would be refused, too.

Internal.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

ALIKE = 0.9999
"""The least rank correlation (Spearman), up to its sign, of two latents that are the same up to a monotone map."""

ROWS = 2_000
"""About so many rows are looked at, spread over the task's."""

CONSTANT = 1e-5
"""A latent whose values spread by this part of the greatest one or less is constant: the rest is rounding."""

Ranked = NDArray[np.float32]


def latent_ranks(codes: NDArray[np.floating]) -> Ranked:
    """Rank each latent of a run, once for all comparisons.

    Args:
        codes: real numbers, shape (n, L).

    Returns:
        float32, shape (latents that vary, rows looked at): ranks with mean 0 and norm 1, so that inner products are
        rank correlations.
    """
    from scipy.stats import rankdata

    sampled = np.asarray(codes, np.float64)[:: max(1, len(codes) // ROWS)].T
    varies = np.ptp(sampled, axis=1) > CONSTANT * np.abs(sampled).max(axis=1, initial=0)
    centred = rankdata(sampled[varies], axis=1) - (sampled.shape[1] + 1) / 2
    return (centred / np.linalg.norm(centred, axis=1, keepdims=True)).astype(np.float32)


def same_training(first: Ranked, second: Ranked) -> bool:
    """Say whether two runs on the same rows are the same up to order, sign and any monotone map of latents.

    Args:
        first: a run, from ``latent_ranks``.
        second: another one.

    Returns:
        True if each latent of either is one of the other. Runs without a latent that varies are never the same.

    Example:
        >>> codes = np.random.default_rng(0).standard_normal((500, 3))
        >>> same_training(latent_ranks(codes), latent_ranks(np.exp(-2 * codes[:, ::-1])))
        True
        >>> same_training(latent_ranks(codes), latent_ranks(codes + 0.1 * codes[:, ::-1]))
        False
    """
    if not len(first) or not len(second) or np.abs(second @ first[0]).max() < ALIKE:
        return False  # one latent tells most pairs apart
    matches = np.abs(first @ second.T) >= ALIKE
    return bool(matches.any(axis=0).all() and matches.any(axis=1).all())
