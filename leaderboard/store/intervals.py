"""Means of seeds with Student's 95% intervals, over one task or several, for tables and plots.

A seed counts once: over tasks the spread is that of the mean of each seed (`leaderboard.store.verdicts` explains why).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import scipy.special
from numpy.typing import ArrayLike, NDArray

from benchmark_data.errors import InvalidInput

SEEDS = 4
"""The fewest seeds per group for a test: a permutation test of three against three has a p-value of at least 2/20."""

ERROR = 0.05
"""The rate of "supported" and "opposed" together if there is no difference."""

Floats: TypeAlias = NDArray[np.float64]


def rounding(means: ArrayLike) -> float:
    """Return the tolerance within which means of scores count as equal, for rounding errors.

    Args:
        means: the means to compare, real numbers of any shape.

    Returns:
        1e-9 times the largest absolute value, at least 1e-9.

    Example:
        >>> abs(0.1 + 0.2 - 0.3) <= rounding([0.1 + 0.2, 0.3]), rounding([-2e3, 1e3]) > 1e-6
        (True, True)
    """
    return 1e-9 * float(np.abs(means).max(initial=1.0))


def finite_scores(values: ArrayLike, least: int) -> Floats:
    """Convert scores to an array, and check their number and that they are finite.

    Args:
        values: one score per seed, shape (n,).
        least: the least number of scores.

    Returns:
        float64, shape (n,).

    Raises:
        InvalidInput: fewer scores, another shape, or one that is not finite or no number.
    """
    try:
        scores = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        scores = np.array(math.nan)
    if scores.ndim != 1 or len(scores) < least or not np.isfinite(scores).all():
        raise InvalidInput(f"scores: expected at least {least} finite numbers, received {values!r}.")
    return scores


def mean_interval(values: ArrayLike) -> tuple[float, float] | None:
    """Return Student's 95% interval of the mean of seeds.

    Args:
        values: one score per seed, shape (n,).

    Returns:
        Its ends; None below `SEEDS` seeds. It is rightly wide for few seeds: a percentile bootstrap of five seeds
        covers the mean in 84% of cases instead of 95%.

    Raises:
        InvalidInput: no scores, or one that is not finite.

    Example:
        >>> [round(end, 3) for end in mean_interval([0.1, 0.2, 0.3, 0.4])]
        [0.045, 0.455]
        >>> mean_interval([0.1, 0.2]) is None
        True
    """
    scores = finite_scores(values, 1)
    if len(scores) < SEEDS:
        return None
    mean = float(scores.mean())
    half = t_quantile(len(scores) - 1) * float(scores.std(ddof=1)) / math.sqrt(len(scores))
    return mean - half, mean + half


def format_mean(values: Sequence[float], ends: tuple[float, float] = (-math.inf, math.inf)) -> str:
    """Format a mean, with its 95% interval from `SEEDS` finite scores on, clipped to a range.

    Example:
        >>> format_mean([0.1, 0.2, 0.3, 0.4]), format_mean([0.1, 0.2]), format_mean([0.1, 0.2, 0.8, 0.9], (0, 1))
        ('0.250 (0.045 to 0.455)', '0.150', '0.500 (0.000 to 1.000)')
    """
    interval = mean_interval(values) if np.isfinite(values).all() else None
    shown = f" ({max(interval[0], ends[0]):.3f} to {min(interval[1], ends[1]):.3f})" if interval else ""
    return f"{np.mean(values):.3f}{shown}"


def format_range(counts: Sequence[int]) -> str:
    """Format the range of some counts; one number if all are equal.

    Example:
        >>> format_range([3000, 250, 1000]), format_range([5, 5])
        ('250 to 3,000', '5')
    """
    return " to ".join(f"{count:,}" for count in sorted({min(counts), max(counts)}))


def t_quantile(freedom: float) -> float:
    """Return the half-width of a 95% interval in standard errors: the 0.975 quantile of Student's t."""
    return float(scipy.special.stdtrit(freedom, 1 - ERROR / 2))


def t_tail(t: ArrayLike, freedom: ArrayLike) -> Floats:
    """Return the upper tail probability of Student's t, elementwise."""
    return scipy.special.stdtr(np.asarray(freedom, np.float64), -np.asarray(t, np.float64))


def interval_over_tasks(tasks: Sequence[ArrayLike]) -> tuple[float, float] | None:
    """Return Student's 95% interval of a mean over tasks, a seed counted once.

    Args:
        tasks: for each task its scores, shape (n,), seeds in the same order.

    Returns:
        Its ends; None without tasks, or if one has fewer than `SEEDS` seeds.

    Raises:
        InvalidInput: no scores of a task, or one that is not finite.

    Example:
        >>> scores = [0.1, 0.2, 0.3, 0.4]
        >>> interval_over_tasks([scores]) == mean_interval(scores)
        True
        >>> [round(end, 3) for end in interval_over_tasks([scores, scores])]  # the same runs again add nothing
        [0.045, 0.455]
    """
    scores = [finite_scores(task, 1) for task in tasks]
    if not scores or min(map(len, scores)) < SEEDS:
        return None
    squared, freedom = squared_error(scores)
    mean, half = float(np.mean([task.mean() for task in scores])), t_quantile(freedom) * math.sqrt(squared)
    return mean - half, mean + half


def squared_error(tasks: Sequence[Floats]) -> tuple[float, float]:
    """Return the squared standard error of a mean over tasks, a seed counted once, and its degrees of freedom.

    It is computed from each seed's contribution to the mean. A task's scores are in the order of the seeds, and a task
    with more seeds begins with those of the others: seeds of the same tasks are a stratum with one variance, and the
    squared errors of strata are summed. If a stratum has one seed, or no variance exceeds rounding, tasks are assumed
    to be fully correlated, which is the largest error that their mean can have.
    """
    boundaries = sorted({len(task) for task in tasks})
    stratum_sizes = np.diff([0, *boundaries])
    if stratum_sizes.min() > 1:
        contributions = [
            sum(task[boundary - size : boundary] / len(task) for task in tasks if len(task) >= boundary) / len(tasks)
            for size, boundary in zip(stratum_sizes, boundaries, strict=True)
        ]
        squared_errors = stratum_sizes * np.array([np.var(stratum, ddof=1) for stratum in contributions])
        if (total := squared_errors.sum()) > rounding([task.mean() for task in tasks]) ** 2:
            return float(total), float(total**2 / (squared_errors**2 / (stratum_sizes - 1)).sum())
    error = np.mean([task.std(ddof=1) / math.sqrt(len(task)) for task in tasks])
    return float(error**2), float(boundaries[0] - 1)
