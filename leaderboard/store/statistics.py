"""From scores of seeds to what a table says: means, intervals, ranks.

Definitions follow Agarwal et al., "Deep Reinforcement Learning at the Edge of the Statistical Precipice" (NeurIPS
2021), and its library rliable. Unlike rliable, which draws from numpy's global state, resamples are drawn by
`benchmark_data.draws` under a seed that the caller can give, so that a table is the same on every machine.

`summaries` are what result files hold. Their interval is too narrow for few seeds: tables show another, which is in
`leaderboard.store.verdicts`, as comparisons are.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.special
from numpy.typing import ArrayLike, NDArray

from benchmark_data import draws
from benchmark_data.errors import InvalidInput
from leaderboard.store.verdicts import finite_scores, score_rows, slack

RESAMPLES = 2_000
CONFIDENCE = 0.95

Floats = NDArray[np.float64]


class Estimate(NamedTuple):
    """A number that seeds give, with its 95% interval.

    Attributes:
        value: what the seeds come to.
        low: lower end of the interval.
        high: upper end.
    """

    value: float
    low: float
    high: float


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


def summaries(scores: Sequence[Sequence[float]], *, seed: int = 0) -> tuple[Summary, ...]:
    """Summarise scores of a method's seeds.

    Args:
        scores: for each score one value per seed, at least one, as many for every score.
        seed: of the bootstrap.

    Returns:
        One for each score. With one seed there is no interval: nothing is known of its spread.

    Raises:
        InvalidInput: no values, other numbers of seeds, or one that is not finite.

    Example:
        >>> [found.mean for found in summaries([[0.25, 0.5], [0.5, 1.0]])]
        [0.375, 0.75]
        >>> summaries([[0.25, 0.5]])
        (Summary(seeds=2, mean=0.375, iqm=0.375, low=0.25, high=0.5),)
        >>> summaries([[0.2]])[0].low is None
        True
    """
    values = score_rows(scores, 1)
    if values.shape[1] == 1:
        return tuple(Summary(1, value, value, None, None) for value in values[:, 0].tolist())
    means, middles = values.mean(axis=1).tolist(), iqm(values).tolist()
    resampled = values.take(_resamples(values.shape[1], RESAMPLES, seed), axis=1).mean(axis=-1)
    lows, highs = np.quantile(resampled, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], axis=1).tolist()
    return tuple(map(Summary, itertools.repeat(values.shape[1]), means, middles, lows, highs))


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
    values = finite_scores(scores, 2)
    return _ends(statistic(values[_resamples(len(values), resamples, seed)]), confidence)


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
        shares.append(_won(finite_scores(of_x, 1), finite_scores(of_y, 1)).mean())
    return float(np.mean(shares))


def _won(x: Floats, y: Floats) -> Floats:
    """Say of each pair whether the first is higher: 1, 0, or one half where they are equal but for rounding."""
    gaps, least = x[:, None] - y, slack([x.mean(), y.mean()])
    return np.asarray((gaps > least) + (np.abs(gaps) <= least) / 2)


def improvement(x: Sequence[ArrayLike], y: Sequence[ArrayLike]) -> Estimate:
    """Return the probability of improvement with its 95% interval.

    The interval is method 5 of Newcombe, "Confidence intervals for an effect size measure based on the Mann-Whitney
    statistic, part 2" (Statistics in Medicine 2006): all probabilities that lie within 1.96 of their own standard
    errors (Hanley and McNeil 1982) of what is seen. Unlike a bootstrap's, it has a width where every run of one method
    beats all of the other. Over several tasks the error is that of tasks with the same probability, which is the
    largest that their mean can have; so the interval is too wide, rather than too narrow, where tasks differ. Runs of
    one seed go together over tasks, though: so the interval is at least as wide as that of the seeds' means over tasks
    (DeLong, DeLong and Clarke-Pearson 1988, with Student's t), where each method has equally many on all tasks.
    `benchmarks/ranks.py` measures how often it holds.

    Args:
        x: as in ``probability_of_improvement``, seeds in the same order on all tasks.
        y: likewise.

    Returns:
        The probability and its interval.

    Raises:
        InvalidInput: as ``probability_of_improvement``.

    Example:
        >>> found = improvement([[0.5, 0.6, 0.7, 0.8, 0.9]], [[0.1, 0.2, 0.3, 0.4, 0.45]])
        >>> found.value, round(found.low, 2), round(found.high, 2)
        (1.0, 0.64, 1.0)
    """
    seen = probability_of_improvement(x, y)
    won = [_won(finite_scores(a, 1), finite_scores(b, 1)) for a, b in zip(x, y, strict=True)]
    sizes = [(len(of_task), of_task.shape[1]) for of_task in won]
    if len(set(sizes)) > 1 or len(sizes) == 1:
        return _newcombe(seen, sizes, 0.0)
    together = np.mean(won, axis=0)
    return _newcombe(seen, sizes, _half_width([together.mean(axis=1), together.mean(axis=0)]))


def _half_width(sides: Sequence[Floats]) -> float:
    """Return half the width of a 95% interval of a mean that spreads with the seeds of either side.

    Args:
        sides: for each seed of a side how often it wins, shape (n,). A side with one seed tells nothing of its spread.
    """
    several = [side for side in sides if len(side) > 1]
    parts = np.array([side.var(ddof=1) / len(side) for side in several])
    freedom = np.array([len(side) - 1 for side in several])
    if not parts.sum() > 0:
        return 0.0
    quantile = scipy.special.stdtrit(parts.sum() ** 2 / (parts**2 / freedom).sum(), (1 + CONFIDENCE) / 2)
    return float(quantile * np.sqrt(parts.sum()))


def _newcombe(seen: float, sizes: Sequence[tuple[int, int]], least: float) -> Estimate:
    """Return a probability of improvement with its interval.

    Args:
        seen: the probability.
        sizes: the numbers of runs on either side of each task.
        least: of half the interval's width.
    """
    from scipy.optimize import brentq

    quantile = float(scipy.special.ndtri((1 + CONFIDENCE) / 2))

    def beyond(true: float) -> float:
        """How much farther a probability is from what is seen than its error allows."""
        share = (1 - true) / (2 - true) + true / (1 + true)
        squared = sum(true * (1 - true) * (1 + ((m + n) / 2 - 1) * share) / (m * n) for m, n in sizes)
        return abs(true - seen) - max(quantile * float(np.sqrt(squared)) / len(sizes), least)

    near = min(max(seen, 1e-9), 1 - 1e-9)  # 0 and 1 have no error, so they are no ends of a search
    low = 0.0 if seen <= least else brentq(beyond, 0.0, near)
    high = 1.0 if seen >= 1 - least else brentq(beyond, near, 1.0)
    return Estimate(seen, float(low), float(high))


GRID = np.linspace(-1.0, 1.0, 161)
"""Correlations of normal variables among which the ends of an interval are sought."""

PAIRS = 4
"""Pairs of numbers below which a rank correlation is not told."""


def rank_correlation(x: ArrayLike, y: ArrayLike) -> Estimate | None:
    """Return Spearman's rank correlation with a 95% interval that few pairs can bear.

    The interval holds all correlations that two normal variables (in any monotone scale) can have without the one that
    is seen being too high or too low for them, each in 2.5% of samples. What they would give is simulated with
    ``draws``, so that the interval is the same on every machine.

    Args:
        x: real numbers, shape (n,).
        y: likewise.

    Returns:
        The correlation; None for fewer than `PAIRS` pairs, or where all of ``x`` or of ``y`` are equal.

    Raises:
        InvalidInput: other shapes, or a number that is not finite.

    Example:
        >>> found = rank_correlation([1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 6, 5])
        >>> round(found.value, 3), round(found.low, 1), round(found.high, 1)
        (0.943, 0.3, 1.0)
        >>> rank_correlation([1, 2, 3], [1, 2, 3]) is None
        True
    """
    first, second = finite_scores(x, 1), finite_scores(y, 1)
    if len(first) != len(second):
        raise InvalidInput("pairs", expected="as many of either", received=f"{len(first)} and {len(second)}")
    if len(first) < PAIRS or not np.ptp(first) or not np.ptp(second):
        return None
    seen = float(np.asarray(np.corrcoef(ranks([first, second]).T, rowvar=False))[1, 0])
    simulated = _simulated(len(first))
    above = (simulated >= seen - 1e-12).mean(axis=1) > (1 - CONFIDENCE) / 2
    below = (simulated <= seen + 1e-12).mean(axis=1) > (1 - CONFIDENCE) / 2
    scale = 6 / np.pi * np.arcsin(GRID / 2)
    return Estimate(seen, min(seen, float(scale[above][0])), max(seen, float(scale[below][-1])))


@functools.lru_cache(maxsize=64)
def _simulated(count: int, samples: int = 2_000) -> Floats:
    """Return Spearman's correlations of samples of normal pairs: float64 (correlations of `GRID`, samples)."""
    uniform = np.clip(draws.uniform(0, np.arange(samples), 2 * count), 1e-12, None)
    one, other = np.split(scipy.special.ndtri(uniform), 2, axis=1)
    first = _ranks(one)
    both = (_ranks(rho * one + np.sqrt(1 - rho**2) * other) for rho in GRID)
    return np.array([(first * found).sum(axis=1) for found in both])


def _ranks(values: Floats) -> Floats:
    """Return the ranks along the last axis, of mean 0 and length 1; ties are not looked for."""
    ranks = values.argsort(axis=-1).argsort(axis=-1) - (values.shape[-1] - 1) / 2
    return np.asarray(ranks / np.sqrt((ranks**2).sum(axis=-1, keepdims=True)))


def ranks(values: ArrayLike) -> Floats:
    """Rank numbers along the last axis, the lowest first. Equal ones share the mean of the ranks that they take up.

    What `scipy.stats.rankdata` gives, without what importing it costs: a second, and 50 MiB.

    Args:
        values: real numbers, shape (..., n).

    Returns:
        float64 of the same shape, from 1 to n.

    Example:
        >>> ranks([0.5, 0.1, 0.5]).tolist()
        [2.5, 1.0, 2.5]
    """
    numbers = np.asarray(values, np.float64)
    order = np.argsort(numbers, axis=-1)
    ascending = np.take_along_axis(numbers, order, axis=-1)
    place = np.arange(numbers.shape[-1])
    new = np.ones(numbers.shape, bool)
    new[..., 1:] = ascending[..., 1:] != ascending[..., :-1]
    first = np.maximum.accumulate(np.where(new, place, 0), axis=-1)
    ends = np.ones(numbers.shape, bool)
    ends[..., :-1] = new[..., 1:]
    last = np.minimum.accumulate(np.where(ends, place, len(place))[..., ::-1], axis=-1)[..., ::-1]
    found = np.empty(numbers.shape)
    np.put_along_axis(found, order, (first + last) / 2 + 1, axis=-1)
    return found


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
    found: Floats = np.moveaxis(ranks(np.moveaxis(-np.asarray(means, np.float64), -2, -1)), -1, -2).mean(axis=-1)
    return found


class Across(NamedTuple):
    """One method across tasks.

    Attributes:
        rank: mean over tasks of the rank by the mean over seeds; 1 for a method that is first everywhere.
        iqm: interquartile mean of all its runs on all tasks.
        improvement: how probable it is that a run of it beats a run of another method, on a task drawn at random; None
            where there is no other.
    """

    rank: Estimate
    iqm: Estimate
    improvement: Estimate | None


def across(scores: Sequence[Sequence[ArrayLike]], *, seed: int = 0, resamples: int = 1_000) -> tuple[Across, ...]:
    """Compare methods across tasks, with intervals of what other seeds on the same tasks would give.

    The intervals are those of rliable's stratified bootstrap, with three changes. The seeds of each method are
    resampled among themselves, with all of their tasks where these have equally many, since runs of one seed go
    together. Resampled scores are moved away from their mean by sqrt(n / (n - 1)), since a resample of few seeds
    spreads less than the seeds themselves. And the interval of the interquartile mean is stretched as Student's is for
    few seeds. That of an improvement is the one of ``improvement``, with the runs of all others taken together; so it
    has a width where every run is won, and is too wide, rather than too narrow, where the others lie apart.
    `benchmarks/ranks.py` measures how often the intervals hold.

    Args:
        scores: for each method, for each task, one score per seed, shape (n,) with n >= 2, seeds in the same order.
        seed: of the resamples.
        resamples: how many.

    Returns:
        One for each method.

    Raises:
        InvalidInput: no methods or tasks, fewer than two scores somewhere, or one that is not finite.

    Example:
        >>> first, second = across([[[0.5, 0.6]], [[0.1, 0.2]]])
        >>> first.rank, second.improvement.value, round(second.improvement.high, 2)
        (Estimate(value=1.0, low=1.0, high=1.0), 0.0, 0.61)
    """
    if not scores or not scores[0] or len({len(tasks) for tasks in scores}) != 1:
        raise InvalidInput(
            "scores",
            expected="at least one method, with the same tasks for all",
            received=f"{[len(tasks) for tasks in scores]} tasks",
        )
    real = [[finite_scores(task, 2) for task in tasks] for tasks in scores]
    means, overall = [], []
    for m, tasks in enumerate(real):
        chosen = [_resamples(len(task), resamples, seed + m) for task in tasks]
        means.append([_shares(rows) @ task for task, rows in zip(tasks, chosen, strict=True)])
        pooled = iqm(np.concatenate([_spread(task, rows) for task, rows in zip(tasks, chosen, strict=True)], axis=1))
        overall.append(_stretched(float(iqm(np.concatenate(tasks))), np.asarray(pooled), min(map(len, tasks))))
    ranks = _rank_estimates(np.array([[task.mean() for task in tasks] for tasks in real]), np.array(means))
    return tuple(map(Across, ranks, overall, _improvements(real)))


def _shares(chosen: NDArray[np.int64]) -> Floats:
    """Return how much each seed counts in resamples: float64 (resamples, n), rows with the sum 1.

    A resample of n seeds spreads less than the seeds do, by sqrt((n - 1) / n), which is made up for.
    """
    resamples, n = chosen.shape
    counts = np.bincount((chosen + n * np.arange(resamples)[:, None]).ravel(), minlength=resamples * n) / n
    shares: Floats = 1 / n + (counts.reshape(resamples, n) - 1 / n) * np.sqrt(n / (n - 1))
    return shares


def _spread(scores: Floats, chosen: NDArray[np.int64]) -> Floats:
    """Return resampled scores, as far from their mean as seeds are: float64 (resamples, n)."""
    mean = scores.mean()
    moved: Floats = mean + (scores[chosen] - mean) * np.sqrt(len(scores) / (len(scores) - 1))
    return moved


BLOCK = 50
"""Resamples that are ranked at once."""


def _rank_estimates(means: Floats, resampled: Floats) -> list[Estimate]:
    """Return the average rank of each method.

    Noise moves ranks to the middle, once in the ranks that are seen and once more in resamples. So the interval goes as
    far on either side as resamples do on the side where they go further.

    Args:
        means: shape (methods, tasks).
        resampled: the same of resamples, shape (methods, tasks, resamples).
    """
    drawn = np.moveaxis(resampled, -1, 0)
    blocks = np.array_split(drawn, math.ceil(len(drawn) / BLOCK))  # ranking takes ten times an array's memory
    seen, others = average_ranks(means), np.concatenate([average_ranks(block) for block in blocks])
    found = []
    for m, value in enumerate(seen.tolist()):
        low, high = _ends(others[:, m], CONFIDENCE)
        half = max(value - low, high - value)
        found.append(Estimate(value, max(value - half, 1.0), min(value + half, float(len(means)))))
    return found


def _improvements(real: Sequence[Sequence[Floats]]) -> list[Estimate | None]:
    """Return how often runs of each method beat runs of the others, which are taken together on each task."""
    if len(real) == 1:
        return [None]
    values = np.zeros(len(real))
    sizes: list[list[tuple[int, int]]] = [[] for _ in real]
    shares: list[list[Floats]] = [[] for _ in real]
    for task in range(len(real[0])):
        groups = [tasks[task] for tasks in real]
        runs, counts = np.concatenate(groups), np.array([len(group) for group in groups])
        least, ascending = slack(runs.mean()), np.sort(runs)
        wins = np.searchsorted(ascending, runs - least) / 2 + np.searchsorted(ascending, runs + least, "right") / 2
        among_themselves = counts**2 / 2
        starts = np.cumsum(counts) - counts
        of_group = np.add.reduceat(wins, starts) - among_themselves
        others = len(runs) - counts
        for share, start, group, other in zip(shares, starts.tolist(), groups, others.tolist(), strict=True):
            share.append((wins[start : start + len(group)] - _won(group, group).sum(axis=1)) / other)
        values += of_group / (counts * others)
        for of_one, count, other in zip(sizes, counts.tolist(), others.tolist(), strict=True):
            of_one.append((count, other))
    values /= len(real[0])
    widths = [_half_width(_sides(real, m, won)) for m, won in enumerate(shares)]
    return [
        _newcombe(value, of_one, least) for value, of_one, least in zip(values.tolist(), sizes, widths, strict=True)
    ]


MANY = 24
"""Others from which on their own seeds are left out: together they move a mean over them by next to nothing."""


def _sides(real: Sequence[Sequence[Floats]], m: int, won: Sequence[Floats]) -> list[Floats]:
    """Return how much each seed wins over tasks, of a method and of each of the others, by what these count.

    Args:
        real: the scores of all methods.
        m: the method.
        won: for each task the shares of the others' runs that its runs beat.

    Returns:
        A side for the method and for each other one; none where runs cannot be told by seed.
    """
    if len(won) == 1 or any(len({len(task) for task in tasks}) > 1 for tasks in real):
        return []
    others = [tasks for place, tasks in enumerate(real) if place != m]
    sides = [np.asarray(np.mean(won, axis=0), np.float64)]
    if len(others) <= MANY:
        beaten = (np.mean([_won(a, b) for a, b in zip(real[m], tasks, strict=True)], axis=0) for tasks in others)
        sides += [of_one.mean(axis=0) / len(others) for of_one in beaten]
    return sides


def _stretched(value: float, resampled: Floats, seeds: int) -> Estimate:
    """Return a bootstrap interval, made wider as Student's is wider than the normal distribution's for so few seeds."""
    stretch = float(scipy.special.stdtrit(seeds - 1, (1 + CONFIDENCE) / 2) / scipy.special.ndtri((1 + CONFIDENCE) / 2))
    low, high = _ends(resampled, CONFIDENCE)
    return Estimate(value, value - stretch * max(value - low, 0.0), value + stretch * max(high - value, 0.0))


def _ends(statistics: Floats, confidence: float) -> tuple[float, float]:
    low, high = np.quantile(statistics, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


@functools.lru_cache(maxsize=256)
def _resamples(n: int, resamples: int, seed: int) -> NDArray[np.int64]:
    return (draws.uniform(seed, np.arange(resamples), n) * n).astype(np.int64)
