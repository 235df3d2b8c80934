"""Statistics of seeds' scores: means, interquartile means, rank correlations.

Intervals of means are in `leaderboard.store.intervals`, comparisons in `.verdicts`.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.special
from numpy.typing import ArrayLike

from benchmark_data import draws
from benchmark_data.errors import InvalidInput
from benchmark_data.types import Estimate
from leaderboard.store.intervals import ERROR, Floats, finite_scores


class Summary(NamedTuple):
    """Summary of one score of one method on one task.

    Attributes:
        seeds: the number of seeds.
        mean: mean over seeds.
        iqm: interquartile mean.
        low: lower end of the interval shown; None if there is none.
        high: upper end.
    """

    seeds: int
    mean: float
    iqm: float
    low: float | None = None
    high: float | None = None


def summary(scores: Sequence[float]) -> Summary:
    """Summarise a score of a method's seeds.

    Args:
        scores: one value per seed, at least one.

    Returns:
        The summary, without an interval.

    Raises:
        InvalidInput: no values, or one that is not finite.

    Example:
        >>> summary([0.5, 1.0])
        Summary(seeds=2, mean=0.75, iqm=0.75, low=None, high=None)
    """
    values = finite_scores(scores, 1)
    return Summary(len(values), float(values.mean()), float(iqm(values)))


def iqm(scores: ArrayLike) -> Any:
    """Return the interquartile mean along the last axis: the mean without the lowest and the highest quarter.

    As in rliable, the library of Agarwal et al., "Deep Reinforcement Learning at the Edge of the Statistical Precipice"
    (NeurIPS 2021), ``floor(n / 4)`` scores are cut at each end.

    Args:
        scores: shape (..., n).

    Returns:
        float64, shape (...).

    Example:
        >>> float(iqm([0.0, 0.4, 0.6, 1.0, 0.5]))
        0.5
    """
    ordered = np.sort(np.asarray(scores, np.float64))
    n = ordered.shape[-1]
    return ordered[..., n // 4 : n - n // 4].mean(axis=-1)


GRID = np.concatenate([[-1.0], np.tanh(np.linspace(-5.0, 5.0, 201)), [1.0]])
"""Candidates for the ends of an interval, as correlations of normal variables; denser near -1 and 1, where intervals
are narrow."""

MIN_PAIRS = 4
"""The fewest pairs for which a rank correlation is reported."""


def rank_correlation(x: ArrayLike, y: ArrayLike) -> Estimate | None:
    """Return Spearman's rank correlation with a 95% interval that is valid for few pairs.

    The interval contains all correlations of two normal variables (in any monotone scale) for which the observed one is
    in neither 2.5% tail of samples. Samples are simulated with ``draws``, so that the interval is the same on every
    machine.

    Args:
        x: real numbers, shape (n,).
        y: likewise.

    Returns:
        The correlation; None for fewer than `MIN_PAIRS` pairs, or if ``x`` or ``y`` is constant.

    Raises:
        InvalidInput: other shapes, or a number that is not finite.

    Example:
        >>> estimate = rank_correlation([1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 6, 5])
        >>> round(estimate.value, 3), round(estimate.low, 1), round(estimate.high, 1)
        (0.943, 0.3, 1.0)
        >>> rank_correlation([1, 2, 3], [1, 2, 3]) is None
        True
    """
    first, second = finite_scores(x, 1), finite_scores(y, 1)
    if len(first) != len(second):
        raise InvalidInput(f"pairs: expected as many of either, received {len(first)} and {len(second)}.")
    if len(first) < MIN_PAIRS or not np.ptp(first) or not np.ptp(second):
        return None
    from scipy.stats import spearmanr

    observed = float(spearmanr(first, second).statistic)
    simulated = _simulate_correlations(len(first))
    above = (simulated >= observed - 1e-12).mean(axis=1) > ERROR / 2
    below = (simulated <= observed + 1e-12).mean(axis=1) > ERROR / 2
    scale = 6 / np.pi * np.arcsin(GRID / 2)
    return Estimate(observed, min(observed, float(scale[above][0])), max(observed, float(scale[below][-1])))


@functools.lru_cache(maxsize=8)
def _simulate_correlations(count: int) -> Floats:
    """Return Spearman's correlations of 10,000 samples of normal pairs: float64 (correlations of `GRID`, samples)."""
    uniform = np.clip(draws.uniform(0, np.arange(10_000), 2 * count), 1e-12, None)
    normal, noise = np.split(scipy.special.ndtri(uniform), 2, axis=1)
    first_ranks = _unit_ranks(normal)
    second_ranks = (_unit_ranks(rho * normal + np.sqrt(1 - rho**2) * noise) for rho in GRID)
    return np.array([(first_ranks * ranks).sum(axis=1) for ranks in second_ranks])


def _unit_ranks(values: Floats) -> Floats:
    """Return the ranks along the last axis, scaled to mean 0 and norm 1; there must be no ties."""
    columns = np.ascontiguousarray(values.T)  # counting how many are smaller is faster than sorting rows so short
    smaller = np.stack([(columns < column).sum(axis=0, dtype=np.uint16) for column in columns], axis=-1)
    ranks = smaller - (values.shape[-1] - 1) / 2
    return np.asarray(ranks / np.sqrt((ranks[0] ** 2).sum()))
