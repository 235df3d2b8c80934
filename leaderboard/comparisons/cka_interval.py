"""CKA with a 95% interval over samples, and its noise ceiling over seeds.

The interval is centred on the debiased estimate, since CKA of few rows and many columns is biased upwards, which
resampling does not reveal. Its half-width is 1.96 standard deviations of that estimate on random halves of the rows
(subsampling: Politis, Romano and Wolf, 1999): a half varies about the estimate from all rows as that does about the
true value. (A bootstrap repeats rows, which raises CKA and, in wide layers, understates its variance.) The ceiling is
the highest mean CKA with several seeds of one model that any representation can have, like the upper noise ceiling of
Nili et al. ("A toolbox for representational similarity analysis", 2014) among subjects.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from benchmark_data.errors import InvalidInput, check_count
from benchmark_data.types import Estimate
from leaderboard.arrays import Real, check_seed
from leaderboard.comparisons import cka
from leaderboard.comparisons._pair import check_pair


def compare(x: Real[ArrayLike, "n p"], y: Real[ArrayLike, "n q"], *, resamples: int = 200, seed: int = 0) -> Estimate:
    """Estimate the linear CKA of the population that the samples are drawn from, with its 95% interval.

    Args:
        x: real numbers, shape (n, p), at least eight rows: the activations of one layer, one row per sample.
        y: real numbers, shape (n, q): another layer's, on the same samples in the same order.
        resamples: the number of random halves, at least 2; each takes n² (p + q) / 4 operations.
        seed: of the draws.

    Returns:
        Debiased CKA and its interval, clipped to [0, 1]; all 0 if a layer is constant.

    Raises:
        InvalidInput: as ``leaderboard.comparisons.cka.compare``; fewer than 8 rows or 2 resamples; a seed out of range.

    Example:
        >>> x = np.random.default_rng(0).normal(size=(500, 3))
        >>> y = x + np.random.default_rng(1).normal(size=(500, 3))
        >>> [round(each, 2) for each in compare(x, y)]
        [0.48, 0.44, 0.52]
    """
    check_count("resamples", resamples, 2)
    check_seed(seed)
    x, y = check_pair(x, y, at_least=8)
    value = max(cka.compare(x, y, debiased=True), 0.0)
    rng, n = np.random.default_rng(seed), len(x)
    halves = (rng.permutation(n)[: n // 2] for _ in range(resamples))
    resampled = [cka.compare(x[rows], y[rows], debiased=True) for rows in halves]
    margin = 1.96 * float(np.std(resampled, ddof=1))
    return Estimate(value, max(value - margin, 0.0), min(value + margin, 1.0))


def ceiling(seeds: Sequence[ArrayLike]) -> float:
    """Compute the highest mean CKA with several seeds of one model that any representation can have.

    CKA is the cosine of centred Gram matrices, so that the mean of the seeds' Gram matrices, each of unit norm, attains
    it: the ceiling is the square root of the mean CKA over all ordered pairs of seeds, including each with itself. It
    exceeds the mean CKA between seeds, since the mean Gram matrix averages out their noise.

    Args:
        seeds: activations of one layer, shape (n, p), on the same samples, for each of two or more seeds.

    Returns:
        The ceiling, in [0, 1]; 0 if all seeds are constant.

    Raises:
        InvalidInput: fewer than two seeds, or as ``leaderboard.comparisons.cka.compare``.

    Example:
        >>> x = np.random.default_rng(0).normal(size=(500, 3))
        >>> round(ceiling([x, 2 * x, -x]), 6)
        1.0
    """
    if len(seeds) < 2:
        raise InvalidInput(f"seeds: expected two or more, received {len(seeds)}.")
    return math.sqrt(np.mean([cka.compare(*pair) for pair in itertools.product(seeds, repeat=2)]))
