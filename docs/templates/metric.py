"""Template of a metric: copy to ``leaderboard/metrics/<name>.py`` and change. The file name is its name.

State the paper and equation, the range, the ideal, the level of chance and what leaves the score as it is, as here:
linear predictability, the mean over factors of the largest squared correlation between the factor and one latent.
Range [0, 1]; ideal 1; chance about 1 / n. Permuting, flipping, shifting or scaling latents changes nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from leaderboard.arrays import check_codes_factors


def score(codes: ArrayLike, factors: ArrayLike) -> dict[str, float]:
    """Compute the score from arrays alone: no dataset, no model and no global seed; randomness is a keyword.

    Args:
        codes: real numbers, shape (n, L), one row for each sample.
        factors: class ids, shape (n, F).

    Returns:
        ``metric``: a Python float; higher is better.

    Raises:
        InvalidInput: see ``leaderboard.arrays.check_codes_factors``, the first line of every metric.

    Example:
        >>> score([[0.0, 3.0], [1.0, 1.0], [2.0, 2.0]], [[0], [1], [2]])
        {'metric': 1.0}
    """
    codes, factors = check_codes_factors(codes, factors)
    latents, labels = codes - codes.mean(axis=0), factors - factors.mean(axis=0)
    scale = np.sqrt(np.outer((latents**2).sum(axis=0), (labels**2).sum(axis=0)))
    correlation = np.divide(latents.T @ labels, scale, out=np.zeros_like(scale), where=scale > 0)
    return {"metric": float((correlation**2).max(axis=0).mean())}
