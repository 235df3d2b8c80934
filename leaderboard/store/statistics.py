"""From scores of seeds to what a table says: means, intervals, ranks.

Definitions follow Agarwal et al., "Deep Reinforcement Learning at the Edge of the Statistical Precipice" (NeurIPS
2021), and its library rliable. Unlike rliable, which draws from numpy's global state, resamples are drawn by
`benchmark_data.draws` under a seed that the caller can give, so that a table is the same on every machine.

`summary` is what result files hold. Its interval is too narrow for few seeds: tables show another, which is in
`leaderboard.store.verdicts`, as comparisons are.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.stats
from numpy.typing import ArrayLike, NDArray

from benchmark_data import draws
from benchmark_data.errors import InvalidInput

RESAMPLES = 2_000
CONFIDENCE = 0.95

Floats = NDArray[np.float64]


class Summary(NamedTuple):
    """What a table says of one score of one method on one task.

    Args:
        seeds: how many seeds.
        mean: their mean.
        iqm: their interquartile mean.
        low: lower end of the 95% bootstrap interval of the mean; None for a single seed.
        high: upper end; None for a single seed.
    """

    seeds: int
    mean: float
    iqm: float
    low: float | None
    high: float | None


def summary(values: Sequence[float], *, seed: int = 0) -> Summary:
    """Summarise the scores of a method's seeds.

    Args:
        values: one score per seed, at least one.
        seed: of the bootstrap.

    Returns:
        The summary. With one seed there is no interval: nothing is known of its spread.

    Raises:
        InvalidInput: no values, or one that is not finite.

    Example:
        >>> summary([0.25, 0.5])
        Summary(seeds=2, mean=0.375, iqm=0.375, low=0.25, high=0.5)
        >>> summary([0.2]).low is None
        True
    """
    scores = _scores(values, 1)
    if len(scores) == 1:
        return Summary(1, float(scores[0]), float(scores[0]), None, None)
    low, high = interval(scores, lambda sample: sample.mean(axis=-1), seed=seed)
    return Summary(len(scores), float(scores.mean()), float(iqm(scores)), low, high)


def iqm(scores: ArrayLike, axis: int = -1) -> Any:
    """Return the interquartile mean: the mean of what is left without the lowest and the highest quarter.

    As rliable has it, ``floor(n / 4)`` scores are cut at each end.

    Args:
        scores: shape (..., n, ...).
        axis: the axis to reduce.

    Returns:
        float64, without that axis.

    Example:
        >>> float(iqm([0.0, 0.4, 0.6, 1.0, 0.5]))
        0.5
    """
    ordered = np.sort(np.asarray(scores, np.float64), axis=axis)
    n = ordered.shape[axis]
    return ordered.take(range(n // 4, n - n // 4), axis=axis).mean(axis=axis)


def interval(
    scores: ArrayLike,
    statistic: Callable[[Floats], Floats],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
) -> tuple[float, float]:
    """Return the percentile bootstrap interval of a statistic of seeds.

    Args:
        scores: one score per seed, shape (n,) with n >= 2.
        statistic: takes resampled scores, float64 (resamples, n), and reduces the last axis.
        seed: of the resamples.
        resamples: how many.
        confidence: how much of the bootstrap distribution the interval holds, in (0, 1).

    Returns:
        The ends of the interval.

    Raises:
        InvalidInput: fewer than two scores, or one that is not finite.

    Example:
        >>> interval([0.25, 0.5, 0.75], lambda sample: sample.mean(axis=-1))
        (0.25, 0.75)
    """
    values = _scores(scores, 2)
    return _ends(statistic(values[_resamples(len(values), resamples, seed)]), confidence)


def iqm_across(scores: Sequence[ArrayLike], *, seed: int = 0) -> Summary:
    """Return the interquartile mean of all runs on all tasks, with its interval.

    The interval is rliable's stratified bootstrap: the runs of each task are resampled among themselves.

    Args:
        scores: for each task, one score per seed, shape (n,) with n >= 2.
        seed: of the resamples.

    Returns:
        The summary; ``seeds`` counts all runs.

    Raises:
        InvalidInput: no tasks, fewer than two scores on one, or one that is not finite.

    Example:
        >>> iqm_across([[0.0, 0.25], [0.75, 1.0]]).iqm
        0.5
    """
    tasks = [_scores(task, 2) for task in scores]
    if not tasks:
        raise InvalidInput("scores", expected="those of at least one task", received="none")
    everything = np.concatenate(tasks)
    low, high = _ends(iqm(np.concatenate(_stratified(tasks, seed), axis=1)), CONFIDENCE)
    return Summary(len(everything), float(everything.mean()), float(iqm(everything)), low, high)


def probability_of_improvement(x: Sequence[ArrayLike], y: Sequence[ArrayLike]) -> float:
    """Describe how probable it is that a run of one method beats a run of another, on a task drawn at random.

    On each task this is the Mann-Whitney statistic over the number of pairs, a tie counting one half.

    Args:
        x: for each task, one score per seed of one method.
        y: the same of the other, for the same tasks.

    Returns:
        A number in [0, 1]; 0.5 if neither is better.

    Raises:
        InvalidInput: no tasks or another number of them, or no scores on one.

    Example:
        >>> probability_of_improvement([[0.2, 0.4]], [[0.3, 0.4]])
        0.375
    """
    if len(x) != len(y) or not x:
        raise InvalidInput(
            "scores", expected="those of the same tasks, at least one", received=f"{len(x)} and {len(y)} tasks"
        )
    shares = []
    for of_x, of_y in zip(x, y, strict=True):
        gaps = _scores(of_x, 1)[:, None] - _scores(of_y, 1)[None, :]
        shares.append((gaps > 0).mean() + (gaps == 0).mean() / 2)
    return float(np.mean(shares))


def average_ranks(means: ArrayLike) -> Floats:
    """Rank methods on each task and average the ranks. Equal means share the mean of the ranks that they take up.

    Args:
        means: mean score of each method on each task, shape (..., methods, tasks), higher is better.

    Returns:
        float64, shape (..., methods), 1 for a method that is first everywhere.

    Example:
        >>> average_ranks([[0.9, 0.5], [0.1, 0.5], [0.0, 0.6]]).tolist()
        [1.75, 2.25, 2.0]
    """
    ranks: Floats = scipy.stats.rankdata(-np.asarray(means, np.float64), axis=-2).mean(axis=-1)
    return ranks


def rank_stability(scores: Sequence[Sequence[ArrayLike]], *, seed: int = 0) -> Floats:
    """Describe how often each method would take each place, had other seeds been drawn.

    The seeds of each method and task are resampled, ranks are averaged over tasks, and methods are put in order of that
    average. Equal averages share the better place.

    Args:
        scores: for each method, for each task, one score per seed, shape (n,) with n >= 2.
        seed: of the resamples.

    Returns:
        float64, shape (methods, methods): [m, p] is the share of resamples in which method m took place p, from 0 on.
        Each row sums to 1.

    Raises:
        InvalidInput: no methods or tasks, fewer than two scores somewhere, or one that is not finite.

    Example:
        >>> rank_stability([[[0.5, 0.6]], [[0.1, 0.2]]]).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    if not scores or not scores[0] or len({len(tasks) for tasks in scores}) != 1:
        raise InvalidInput(
            "scores",
            expected="at least one method, with the same tasks for all",
            received=f"{[len(tasks) for tasks in scores]} tasks",
        )
    flat = [_scores(task, 2) for tasks in scores for task in tasks]
    means = np.stack([sample.mean(axis=-1) for sample in _stratified(flat, seed)], axis=-1)
    ranks = average_ranks(means.reshape(len(means), len(scores), -1))
    places = scipy.stats.rankdata(ranks, method="min", axis=-1)
    return np.stack([(places == place).mean(axis=0) for place in range(1, len(scores) + 1)], axis=-1)


def _stratified(samples: Sequence[Floats], seed: int) -> list[Floats]:
    """Resample each sample by itself: a list of (resamples, n) arrays."""
    return [sample[_resamples(len(sample), RESAMPLES, seed + place)] for place, sample in enumerate(samples)]


def _ends(statistics: Floats, confidence: float) -> tuple[float, float]:
    low, high = np.quantile(statistics, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


@functools.lru_cache(maxsize=256)
def _resamples(n: int, resamples: int, seed: int) -> NDArray[np.int64]:
    return (draws.uniform(seed, np.arange(resamples), n) * n).astype(np.int64)


def _scores(values: ArrayLike, least: int) -> Floats:
    scores = np.asarray(values, np.float64)
    if scores.ndim != 1 or len(scores) < least or not np.isfinite(scores).all():
        raise InvalidInput("scores", expected=f"at least {least} finite numbers", received=repr(scores.tolist()))
    return scores
