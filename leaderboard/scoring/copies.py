"""Find runs of one training: their codes differ only in order, sign and scale of latents.

Trainings with different seeds do not order images alike on every latent, however well both encode the factors: in
32,718 pairs of 905 runs on the same data, at least one latent had a rank correlation below 0.993 with every latent of
the other run, except for five trainings that were done twice. So two runs count as one training if each latent of
either has an absolute rank correlation of at least `ALIKE` with a latent of the other. Constant latents are left out.

Not detected: the same training with noise added, with latents mixed, or with an additional latent. Codes of few values
that equal the factors in every seed are refused, too.

Internal.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

ALIKE = 0.9999
"""The least absolute rank correlation (Spearman) of two latents that are the same up to a monotone map."""

ROWS = 2_000
"""About this number of rows is compared, evenly spaced over the task's."""

CONSTANT = 1e-5
"""A latent is constant if its range is at most this share of its largest absolute value: the rest is rounding."""

Ranked = NDArray[np.float32]


def latent_ranks(codes: NDArray[np.floating]) -> Ranked:
    """Rank each latent of a run, once for all comparisons.

    Args:
        codes: real numbers, shape (n, L).

    Returns:
        float32, shape (latents that vary, rows compared): ranks with mean 0 and norm 1, so that inner products are rank
        correlations.
    """
    from scipy.stats import rankdata

    sampled = np.asarray(codes, np.float64)[:: max(1, len(codes) // ROWS)].T
    varies = np.ptp(sampled, axis=1) > CONSTANT * np.abs(sampled).max(axis=1, initial=0)
    centred = rankdata(sampled[varies], axis=1) - (sampled.shape[1] + 1) / 2
    return (centred / np.linalg.norm(centred, axis=1, keepdims=True)).astype(np.float32)


def same_training(first: Ranked, second: Ranked) -> bool:
    """Return whether two runs on the same rows are the same up to order, sign and any monotone map of latents.

    Args:
        first: a run, from ``latent_ranks``.
        second: another one.

    Returns:
        True if each latent of either is one of the other. False if a run has only constant latents.

    Example:
        >>> codes = np.random.default_rng(0).standard_normal((500, 3))
        >>> same_training(latent_ranks(codes), latent_ranks(np.exp(-2 * codes[:, ::-1])))
        True
        >>> same_training(latent_ranks(codes), latent_ranks(codes + 0.1 * codes[:, ::-1]))
        False
    """
    if not len(first) or not len(second) or np.abs(second @ first[0]).max() < ALIKE:
        return False  # one latent distinguishes most pairs
    matches = np.abs(first @ second.T) >= ALIKE
    return bool(matches.any(axis=0).all() and matches.any(axis=1).all())
