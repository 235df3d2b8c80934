"""Methods across the tasks of a tier: their mean over tasks, its rank, and the interval of that rank.

Means are over the tasks that at least half of the ranked methods share (`shared`): with a task that few methods were
trained on, all others would have no mean. The tasks are fixed: intervals are over seeds on the same tasks, and do not
extend to other tasks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from leaderboard.report import ranking
from leaderboard.report.ranking import Table
from leaderboard.store import intervals, rank_intervals


class Standing(NamedTuple):
    """One method across the shared tasks.

    Attributes:
        method: its name.
        title: as printed.
        category: by its supervision.
        rank: by the mean over tasks of the mean score, within the category; from 1 on. Equal printed means share a
            rank.
        place: 95% interval of the rank, and the band (`rank_intervals.rank_intervals`).
        mean: over tasks, of the mean score.
        interval: Student's 95% interval of the mean over seeds.
    """

    method: str
    title: str
    category: str
    rank: int
    place: rank_intervals.RankInterval
    mean: float
    interval: tuple[float, float] | None


class Overall(NamedTuple):
    """The standings of a tier.

    Attributes:
        tasks: datasets of the tasks in the means, those of `shared`.
        standings: the methods that are ranked on all of ``tasks``, best first within each category.
        left_out: titles of methods that are left out because their seeds differ by task (`ranking.seeds_agree`).
    """

    tasks: tuple[str, ...]
    standings: tuple[Standing, ...]
    left_out: tuple[str, ...]

    @property
    def groups(self) -> dict[str, list[Standing]]:
        """The standings by category."""
        by_category: dict[str, list[Standing]] = {}
        for standing in self.standings:
            by_category.setdefault(standing.category, []).append(standing)
        return by_category


def shared(boards: Sequence[Table]) -> tuple[Table, ...]:
    """Return the tables of the tasks to average over: those on which at least half of the ranked methods are ranked.

    Methods with a rank on any task count, of all categories together, so that every mean of a tier is over the same
    tasks; if any of them were trained here, only these count, so that submissions on a few tasks change no mean.

    Args:
        boards: the tables of one tier.

    Returns:
        Some of them, in their order; all if there is no such task.
    """
    rows = [[row for row in board.rows if row.rank] for board in boards]
    has_trained_here = any(row.trained_here for group in rows for row in group)
    ranked = [{row.result.method for row in group if row.trained_here or not has_trained_here} for group in rows]
    methods = set().union(*ranked)
    counted = tuple(board for board, names in zip(boards, ranked, strict=True) if 2 * len(names) >= len(methods))
    return counted or tuple(boards)


def overall(boards: Sequence[Table]) -> Overall | None:
    """Compare methods across the tasks that they share, within each category.

    Args:
        boards: the tables of one tier.

    Returns:
        The standings; None with fewer than two such tasks, if tables rank by different scores, or if no method is
        ranked on all tasks.
    """
    counted = shared(boards)
    columns = {board.columns[0] for board in counted if board.columns}
    if len(counted) < 2 or len(columns) != 1:
        return None
    (column,) = columns
    standings: list[Standing] = []
    left_out: list[str] = []
    for category in ranking.CATEGORIES:
        ranked = [{row.result.method: row for row in board.groups.get(category, ()) if row.rank} for board in counted]
        ranked_everywhere = sorted(set.intersection(*(set(rows) for rows in ranked)))
        methods = [method for method in ranked_everywhere if ranking.seeds_agree([rows[method] for rows in ranked])]
        ranked_rows = (row for board in boards for row in board.groups.get(category, ()) if row.rank)
        titles = {row.result.method: row.result.title for row in ranked_rows}
        left_out += [titles[method] for method in ranked_everywhere if method not in methods]
        if not methods:
            continue
        scores = {method: [rows[method].values(column.key) for rows in ranked] for method in methods}
        means = {method: sum(sum(runs) / len(runs) for runs in tasks) / len(tasks) for method, tasks in scores.items()}
        printed = {method: round(mean, ranking.DIGITS) for method, mean in means.items()}
        places = rank_intervals.rank_intervals(scores, printed=printed)
        for method in sorted(methods, key=lambda m: (-means[m], m)):
            rank = 1 + sum(other > printed[method] for other in printed.values())
            interval = column.within(intervals.interval_over_tasks(scores[method]))
            standings.append(Standing(method, titles[method], category, rank, places[method], means[method], interval))
    if not standings:
        return None
    return Overall(tuple(board.dataset for board in counted), tuple(standings), tuple(left_out))
