"""Methods across the tasks of a tier: their mean over tasks, their rank by it, and which ranks the seeds leave open.

What is averaged over are the tasks that at least half of the ranked methods share (`shared`): a task that few methods
were trained on would otherwise leave all others without a place. The tasks are taken as they are: intervals say what
other seeds on the same tasks would give, nothing of other tasks.
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Sequence

from leaderboard.properties import Column
from leaderboard.report import ranking
from leaderboard.report.ranking import Table
from leaderboard.store import rank_intervals


@dataclasses.dataclass(frozen=True)
class Standing:
    """One method across the tasks that are averaged over.

    Attributes:
        method: its name.
        title: as it is printed.
        category: what it may see.
        rank: by the mean over tasks of the mean score, within the category; from 1 on. Means that are equal as printed
            share a rank.
        place: the ranks that the seeds leave open, and the band (`rank_intervals.places`).
        mean: over tasks, of the mean score.
    """

    method: str
    title: str
    category: str
    rank: int
    place: rank_intervals.Place
    mean: float


@dataclasses.dataclass(frozen=True)
class Overall:
    """The standings of a tier.

    Attributes:
        tier: its name.
        column: the score that is compared.
        tasks: what is averaged over: those of `shared`.
        others: the tier's other tasks.
        standings: the methods that are ranked on all of ``tasks``, best first within each category.
        left_out: titles of methods that are ranked on some tasks, but not on all of these.
    """

    tier: str
    column: Column
    tasks: tuple[str, ...]
    others: tuple[str, ...]
    standings: tuple[Standing, ...]
    left_out: tuple[str, ...]

    @property
    def groups(self) -> dict[str, list[Standing]]:
        """The standings by category."""
        found: dict[str, list[Standing]] = {}
        for standing in self.standings:
            found.setdefault(standing.category, []).append(standing)
        return found


@dataclasses.dataclass(frozen=True)
class Leader:
    """Who is first in a category, and how sure that is.

    Attributes:
        category: what its methods may see.
        method: the leader's name.
        title: as it is printed.
        mean: over the tasks that are averaged over; None where no method is ranked on all of them.
        others: how many methods it is compared with: those that are ranked on all of these tasks, too.
        near: how many of these its seeds do not tell to be lower.
        firsts: on how many of these tasks it has the first rank; of all tasks, where ``mean`` is None.
        tasks: on how many of the same tasks any method of the category has a rank.
        lacking: titles of methods that are ranked on some tasks, but not on all of these.
    """

    category: str
    method: str
    title: str
    mean: float | None
    others: int
    near: int
    firsts: int
    tasks: int
    lacking: tuple[str, ...]


MOST = 24
"""Methods of a category up to which pairs of them are compared on pages of their own."""


def shared(boards: Sequence[Table]) -> tuple[Table, ...]:
    """Return the tables of the tasks that are averaged over: at least half of the ranked methods are ranked on each.

    Counted are the methods with a rank on any task, of all categories together, so that every mean of a tier is over
    the same tasks; if any of them were trained here, these alone, so that submissions on a few tasks change no mean.

    Args:
        boards: the tables of one tier.

    Returns:
        Some of them, in their order; all, where no method has a rank.
    """
    rows = [[row for row in board.rows if row.rank] for board in boards]
    own = any(row.trained_here for of in rows for row in of)
    ranked = [{row.result.method for row in of if row.trained_here or not own} for of in rows]
    methods = set().union(*ranked)
    return tuple(board for board, there in zip(boards, ranked, strict=True) if 2 * len(there) >= len(methods))


def overall(boards: Sequence[Table]) -> Overall | None:
    """Compare methods across the tasks that they share, within each category.

    Args:
        boards: the tables of one tier.

    Returns:
        The standings; None where there are no two such tasks, or no method that is ranked on all of them.
    """
    counted = shared(boards)
    columns = {board.columns[0] for board in counted if board.columns}
    if len(counted) < 2 or len(columns) != 1:
        return None
    (column,) = columns
    found: list[Standing] = []
    left_out: set[str] = set()
    for category in ranking.CATEGORIES:
        ranked = [{row.result.method: row for row in board.groups.get(category, ()) if row.rank} for board in counted]
        methods = sorted(set.intersection(*(set(rows) for rows in ranked)))
        rows_of = (row for board in boards for row in board.groups.get(category, ()) if row.rank)
        titles = {row.result.method: row.result.title for row in rows_of}
        left_out |= {title for method, title in titles.items() if method not in methods}
        if not methods:
            continue
        scores = {method: [rows[method].values(column.key) for rows in ranked] for method in methods}
        means = {method: sum(sum(task) / len(task) for task in tasks) / len(tasks) for method, tasks in scores.items()}
        printed = {method: round(mean, ranking.DIGITS) for method, mean in means.items()}
        places = rank_intervals.places(scores, printed=printed)
        for method in sorted(methods, key=lambda m: (-means[m], m)):
            rank = 1 + sum(other > printed[method] for other in printed.values())
            found.append(Standing(method, titles[method], category, rank, places[method], means[method]))
    if not found:
        return None
    tasks = tuple(board.dataset for board in counted)
    return Overall(
        tier=boards[0].tier,
        column=column,
        tasks=tasks,
        others=tuple(board.dataset for board in boards if board.dataset not in tasks),
        standings=tuple(found),
        left_out=tuple(sorted(left_out)),
    )


def leaders(boards: Sequence[Table], found: Overall | None) -> tuple[Leader, ...]:
    """Say who leads each category: by the standings, or where there are none by how often a method is first.

    Args:
        boards: the tables of one tier.
        found: their standings.

    Returns:
        One for each category with a ranked method.
    """
    made = []
    standings = found.groups if found else {}
    for category in ranking.CATEGORIES:
        placed = standings.get(category, [])
        ranked = {
            board.dataset: rows
            for board in boards
            if (rows := [row for row in board.groups.get(category, ()) if row.rank])
        }
        if not ranked:
            continue
        titles = {row.result.method: row.result.title for rows in ranked.values() for row in rows}
        tables = [rows for name, rows in ranked.items() if not (placed and found) or name in found.tasks]
        firsts = collections.Counter(row.result.method for rows in tables for row in rows if row.rank == 1)
        if placed:
            best, mean, others, near = placed[0].method, placed[0].mean, len(placed) - 1, placed[0].place.high - 1
        else:
            best, mean = min(firsts, key=lambda method: (-firsts[method], method)), None
            others, near = len(titles) - 1, 0
        whole = {standing.method for standing in placed}
        lacking = tuple(sorted(titles[method] for method in titles.keys() - whole)) if placed else ()
        made.append(
            Leader(
                category=category,
                method=best,
                title=titles[best],
                mean=mean,
                others=others,
                near=near,
                firsts=firsts[best],
                tasks=len(tables),
                lacking=lacking,
            )
        )
    return tuple(made)
