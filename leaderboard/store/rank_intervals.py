"""Ranks of several methods: all pairs by Welch's test and Holm, intervals of ranks, and bands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from benchmark_data.errors import InvalidInput
from leaderboard.store.intervals import ERROR, SEEDS, Floats, finite_scores, rounding, squared_error, t_tail
from leaderboard.store.verdicts import holm


class RankInterval(NamedTuple):
    """Confidence interval of the rank of a group among others.

    Attributes:
        low: the best rank that it may have: one more than the number of groups that are significantly higher.
        high: the worst rank that it may have.
        band: 1 for the highest band. Each group of a band differs significantly from each group of every other band.
    """

    low: int
    high: int
    band: int


def rank_intervals(
    groups: Mapping[str, Sequence[ArrayLike]], *, printed: Mapping[str, float] | None = None
) -> dict[str, RankInterval]:
    """Compute simultaneous 95% confidence intervals of ranks, and bands of groups that do not differ significantly.

    Every pair is tested as in `pairwise_p_values`. If no pair is a false positive, as in 95% of families, all intervals
    contain the true ranks (Al Mohamad, Goeman and van Zwet, "Simultaneous Confidence Intervals for Ranks with
    Application to Ranking Institutions", Biometrics 2022), and groups that are equal are in one band. A band ends only
    where every group above is significantly higher than every group below; so a band may be a chain.

    Args:
        groups: name -> for each task its scores, shape (n,), n >= `SEEDS`, seeds in the same order. All groups have the
            same tasks in the same order; means over tasks are compared, and a seed counts once.
        printed: name -> that mean, as printed. Groups with equal printed means count as equal, so that a rank by
            printed means lies within its interval. The mean itself if None.

    Returns:
        Name -> its interval and band.

    Raises:
        InvalidInput: a group of fewer seeds or of other tasks, or a score that is not finite.

    Example:
        >>> scores = {"a": [[0.8, 0.81, 0.82, 0.83]], "b": [[0.1, 0.2, 0.3, 0.4]], "c": [[0.1, 0.2, 0.25, 0.3]]}
        >>> ranks = rank_intervals(scores)
        >>> ranks["a"], ranks["c"]
        (RankInterval(low=1, high=1, band=1), RankInterval(low=2, high=3, band=2))
    """
    if not groups:
        return {}
    p_values = pairwise_p_values(list(groups.values()))
    scores = {name: [np.asarray(task, np.float64) for task in tasks] for name, tasks in groups.items()}
    printed = printed or {name: float(np.mean([task.mean() for task in tasks])) for name, tasks in scores.items()}
    means = np.array([printed[name] for name in groups])
    above = (p_values <= ERROR) & (means[:, None] < means)
    differs = above | above.T
    low = 1 + above.sum(axis=1)
    high = len(groups) - above.sum(axis=0)
    order = np.argsort(-means, kind="stable")
    sorted_differs = differs[np.ix_(order, order)]
    band = np.ones(len(groups), np.int64)
    for position in range(1, len(groups)):
        starts_band = bool(sorted_differs[:position, position:].all())
        band[order[position]] = band[order[position - 1]] + starts_band
    return {name: RankInterval(int(low[i]), int(high[i]), int(band[i])) for i, name in enumerate(groups)}


def pairwise_p_values(groups: Sequence[Sequence[ArrayLike]]) -> Floats:
    """Test every pair of several groups by Welch's test and Holm over all pairs.

    Args:
        groups: the scores of each of k groups, as in `rank_intervals`.

    Returns:
        The p-values after Holm: float64 (k, k), 1 on the diagonal. Without any spread they are 1 (equal) or 0.

    Raises:
        InvalidInput: a group of fewer seeds or of other tasks, or a score that is not finite.
    """
    if len({len(tasks) for tasks in groups}) > 1 or any(not tasks for tasks in groups):
        raise InvalidInput(
            f"groups: expected the same tasks for all, at least one, received {[len(tasks) for tasks in groups]} tasks."
        )
    scores = [[finite_scores(task, SEEDS) for task in tasks] for tasks in groups]
    means = np.array([np.mean([task.mean() for task in tasks]) for tasks in scores])
    errors, freedoms = np.array([squared_error(tasks) for tasks in scores]).T
    first, second = np.triu_indices(len(means), 1)
    squared = errors[first] + errors[second]
    difference = np.abs(means[first] - means[second])
    tolerance = rounding(means)
    has_spread = np.sqrt(squared) > tolerance
    p_values = (difference <= tolerance).astype(np.float64)
    welch_terms = errors**2 / freedoms  # after Welch and Satterthwaite
    freedom = squared[has_spread] ** 2 / (welch_terms[first] + welch_terms[second])[has_spread]
    p_values[has_spread] = 2 * t_tail(difference[has_spread] / np.sqrt(squared[has_spread]), freedom)
    adjusted = np.ones((len(means), len(means)))
    adjusted[first, second] = adjusted[second, first] = holm(p_values)
    return adjusted
