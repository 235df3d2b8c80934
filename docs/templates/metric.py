"""Template of a metric: copy to ``leaderboard/metrics/<name>.py`` and change. The file name is its name.

State here what is computed, from which paper, and what leaves the score as it is: the mean over factors of the largest
share of one latent's variance that the classes of the factor explain, Fisher's correlation ratio (1925).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from leaderboard.arrays import Real, check_codes_factors
from leaderboard.information import class_ids
from leaderboard.properties import Properties

PROPERTIES = Properties(  # the contract tests hold the score to this; leaderboard/properties.py has the rest
    asks="how much of one latent's variance do the classes of a factor explain?",
    source="Fisher 1925, section 45",
    chance="(K - 1) / (n - 1) for K classes",
)


def score(codes: Real[ArrayLike, "n L"], factors: Real[ArrayLike, "n F"]) -> dict[str, float]:
    """Compute the score from arrays alone: no dataset, no model and no global seed; randomness is a keyword.

    Args:
        codes: real numbers, shape (n, L), one row for each sample.
        factors: class ids, shape (n, F).

    Returns:
        ``correlation_ratio``, a Python float in [0, 1]; higher is better.

    Raises:
        InvalidInput: see ``leaderboard.arrays.check_codes_factors``, the first line of every metric.

    Example:
        >>> score([[0.0, 3.0], [1.0, 1.0], [2.0, 2.0]], [[0], [1], [2]])
        {'correlation_ratio': 1.0}
    """
    codes, factors = check_codes_factors(codes, factors)
    latents = codes[:, (codes != codes[0]).any(axis=0)].astype(np.float64)
    if not latents.shape[1]:
        return {"correlation_ratio": 0.0}
    latents -= latents.mean(axis=0)
    explained = []
    for column in factors.T:
        ids, classes = class_ids(np.ascontiguousarray(column))
        sums = np.stack([np.bincount(ids, latent, classes) for latent in latents.T])
        between = (sums**2 / np.bincount(ids, minlength=classes)).sum(axis=1)
        explained.append((between / (latents**2).sum(axis=0)).max())
    return {"correlation_ratio": float(np.mean(explained))}
