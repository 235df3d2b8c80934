"""CKA with an interval over the samples, and the ceiling that the differences among seeds set.

A similarity of two models is high or low only against two things: how much it varies with the samples that were taken,
and how alike two trainings of one model are. The middle of the interval is the debiased estimate: CKA of few rows and
many columns is too high, which no drawing of rows shows. Its width is 1.96 standard deviations, either way, of that
estimate on random halves of the rows (subsampling: Politis, Romano and Wolf, 1999): about the value of all rows, a half
varies as all rows do about the truth. (A bootstrap would draw rows twice, which raises CKA itself and, in wide layers,
hides how much it varies.) The ceiling is the highest mean CKA with several seeds of one model that any representation
can have, as the upper noise ceiling of Nili et al. ("A toolbox for representational similarity analysis", 2014) is
among subjects.
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
    """Estimate the linear CKA of all samples that there might be, with its 95% interval, from some of them.

    Args:
        x: real numbers, shape (n, p), at least eight rows: the activations of one layer, one row per sample.
        y: real numbers, shape (n, q): another layer's, on the same samples in the same order.
        resamples: how many halves are drawn, at least 2; each takes n² (p + q) / 4 operations.
        seed: of the draws.

    Returns:
        Debiased CKA, 0 where it is below, and its interval, in [0, 1]. Where a layer is constant all three are 0.

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

    CKA is the cosine of centred Gram matrices, so that the mean of the seeds', each of unit norm, reaches it: the
    ceiling is the square root of the mean CKA over all ordered pairs of seeds, each with itself included. A
    representation that has what the seeds share, without their noise, is more like them than they are like each other.

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
