"""Two methods side by side: their differences on each task by each score, with intervals and verdicts.

Seeds of two methods do not belong together, so each difference is tested by Welch's test of two groups of seeds; on a
task where a method has a single one, it is tested whether its score could be that of one more seed of the other.
Verdicts of one score hold for all of its tasks at once (Holm). The means over tasks are compared in one test more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from benchmark_data import files
from benchmark_data.errors import InvalidInput, UnknownName
from leaderboard.properties import Column
from leaderboard.report.ranking import Row, Table, seeds_agree, tier_order
from leaderboard.store import intervals, verdicts

ACROSS = "mean over tasks"
"""The name of the mean over all tasks, in place of a task's."""


class Difference(NamedTuple):
    """The difference of two methods in one score, on one task or in the mean over tasks.

    Attributes:
        task: the dataset's name, or `ACROSS`.
        column: the score.
        first: mean over seeds of the first method.
        second: that of the second one.
        comparison: first minus second.
        answer: ``supported`` if the first is significantly higher, ``opposed`` if the second is; `verdicts.NEITHER` if
            nothing was tested because neither is above an untrained encoder.
        p: p-value, after Holm over the tasks of the score; None if nothing was tested.
        seeds: the numbers of seeds of the first and of the second method; of the mean, the fewest on a task.
    """

    task: str
    column: Column
    first: float
    second: float
    comparison: verdicts.Comparison
    answer: verdicts.Answer
    p: float | None
    seeds: tuple[int, int]


class Pair(NamedTuple):
    """Two methods in one tier.

    Attributes:
        tier: its name.
        first: name and title of the first method.
        second: those of the second one.
        differences: for each score each task on which both have it, then the mean over these if there are several.
        left_out: tasks of the tier that are not compared, with the reasons.
    """

    tier: str
    first: tuple[str, str]
    second: tuple[str, str]
    differences: tuple[Difference, ...]
    left_out: tuple[str, ...] = ()

    def verdict(self, difference: Difference) -> str:
        """Return a verdict in words."""
        first, second = (f"{title} is higher" for _, title in (self.first, self.second))
        return verdicts.in_words(difference.answer, supported=first, opposed=second)

    @property
    def by_task(self) -> dict[str, list[Difference]]:
        """The differences of each task, in the order of the scores."""
        differences: dict[str, list[Difference]] = {}
        for difference in self.differences:
            differences.setdefault(difference.task, []).append(difference)
        if ACROSS in differences:
            differences[ACROSS] = differences.pop(ACROSS)
        return differences


def compare(boards: Sequence[Table], first: str, second: str) -> Pair:
    """Compare two methods on all tasks of a tier that both were scored on.

    Args:
        boards: the tables of one tier. Rows that are marked or in quarantine are left out.
        first: a method's name.
        second: another method's name.

    Returns:
        The pair.

    Raises:
        UnknownName: there is no such method in the tables.
        InvalidInput: the same method twice, or no task that both were scored on.
    """
    row_of_method = {row.result.method: row for board in boards for row in board.rows}
    for name in (first, second):
        if name not in row_of_method:
            raise UnknownName("method with results in this tier", name, row_of_method.keys() - {first, second})
    if first == second:
        raise InvalidInput(f"methods to compare: expected two different ones, received {first} twice.")
    shared = [(board, left, right) for board in boards for left, right in _shared_rows(board, first, second)]
    if not shared:
        raise InvalidInput(
            f"{first} and {second}: expected a task on which both have scores in one tier, without flags or "
            "quarantine, received none. Score both in one tier: offaxis board score RUN... --tier desk."
        )
    columns = list(dict.fromkeys(column for board, _, _ in shared for column in board.columns))
    titles = [(name, row_of_method[name].result.title) for name in (first, second)]
    differences = tuple(difference for column in columns for difference in _compare_by_score(shared, column))
    _, *rows = zip(*shared, strict=True)
    uneven = [title for (_, title), group in zip(titles, rows, strict=True) if not seeds_agree(group)]
    left_out = [*_omissions(boards, titles), *(f"{ACROSS}: seeds of {title} differ between tasks" for title in uneven)]
    return Pair(boards[0].tier, titles[0], titles[1], differences, tuple(left_out))


def restrict_to_tasks(pair: Pair, boards: Sequence[Table]) -> Pair:
    """Restrict a pair to some tasks. p-values remain corrected for all, since a task may be chosen for its result.

    Args:
        pair: a pair on all tasks.
        boards: the tables of the tasks to keep.

    Returns:
        The pair with the differences on these tasks, and with those of these tasks that are left out.

    Raises:
        InvalidInput: the methods were not both scored on any of them.
    """
    tasks = {board.dataset for board in boards}
    kept = tuple(difference for difference in pair.differences if difference.task in tasks)
    if not kept:
        raise InvalidInput(
            f"{pair.first[0]} and {pair.second[0]}: expected a task of tier {pair.tier} that both were scored on, "
            "received none among the requested tasks. Choose another --task or --tier."
        )
    return pair._replace(differences=kept, left_out=tuple(_omissions(boards, [pair.first, pair.second])))


def describe(boards: Sequence[Table], name: str) -> str:
    """Describe a method by its title, its number of seeds per task, and their optimiser steps.

    Args:
        boards: tables in which it has rows.
        name: the method's name.
    """
    rows = [row for board in boards for row in board.rows if row.result.method == name]
    seeds = intervals.format_range([row.seeds for row in rows])
    steps = intervals.format_range([run.budget.steps for row in rows for run in row.runs])
    return f"{rows[0].result.title} ({seeds} seed{'s' * (seeds != '1')}, {steps} steps)"


def method(boards: Sequence[Table], name: str) -> str:
    """Find a method by its name or title.

    Args:
        boards: tables.
        name: such as ``beta_vae``, or ``β-VAE``.

    Returns:
        The method's name.

    Raises:
        UnknownName: there is no such method in the tables.
        InvalidInput: it has two results on one task, from two results trees.
    """
    titles = {row.result.method: row.result.title for board in boards for row in board.rows}
    method_name = name if name in titles else next((key for key, title in titles.items() if title == name), None)
    if method_name is None:
        raise UnknownName("method with results", name, titles)
    for board in boards:
        if (count := sum(row.result.method == method_name for row in board.rows)) > 1:
            raise InvalidInput(
                f"results of {method_name} on {board.task}: expected one, received {count}, in several results trees. "
                "Name one of the trees alone."
            )
    return method_name


def of_tier(boards: Sequence[Table], first: str, second: str, tier: str = "") -> list[Table]:
    """Choose the tables of the tier in which two methods are compared.

    Args:
        boards: all tables.
        first: a method's name.
        second: another method's name.
        tier: the tier's name; if empty, the first one with a task that both were scored on.

    Returns:
        Its tables; all tables if no tier has both methods.

    Raises:
        UnknownName: there are no results in the tier.
    """
    tiers = sorted({board.tier for board in boards}, key=tier_order)
    if tier and tier not in tiers:
        raise UnknownName("tier with results", tier, tiers)
    for name in [tier] if tier else tiers:
        tier_boards = [board for board in boards if board.tier == name]
        if tier or any(True for board in tier_boards for _ in _shared_rows(board, first, second)):
            return tier_boards
    return list(boards)


def _omissions(boards: Sequence[Table], names: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield the tasks on which two methods are not compared: one is marked or in quarantine there, or has no row."""
    absent: dict[str, list[str]] = {}
    for board in boards:
        rows = {row.result.method: row for row in board.rows}
        for name, title in names:
            if name in rows and rows[name].warning:
                yield f"{board.dataset}: {title} is {rows[name].note}"
            elif name not in rows and any(other in rows for other, _ in names):
                absent.setdefault(title, []).append(board.dataset)
    for title, tasks in absent.items():
        yield f"{title} has no scores in this tier on {', '.join(tasks)}"


def _shared_rows(board: Table, first: str, second: str) -> Iterator[tuple[Row, Row]]:
    rows = {row.result.method: row for row in board.rows if not row.warning}
    if first in rows and second in rows:
        yield rows[first], rows[second]


def _compare_by_score(shared: Sequence[tuple[Table, Row, Row]], column: Column) -> Iterator[Difference]:
    key = column.key
    tasks = [(board, left, right) for board, left, right in shared if left.values(key) and right.values(key)]
    tests = [_compare_rows(*entry, key) for entry in tasks]
    answers = verdicts.judge([comparison for comparison, _ in tests])
    for (board, left, right), (comparison, neither), (answer, p) in zip(tasks, tests, answers, strict=True):
        verdict = verdicts.NEITHER if neither else answer
        seeds = (len(left.values(key)), len(right.values(key)))
        left_mean, right_mean = left.cells[key].mean, right.cells[key].mean
        yield Difference(board.dataset, column, left_mean, right_mean, comparison, verdict, p, seeds)
    _, first, second = zip(*tasks, strict=True) if tasks else ((), (), ())
    if len(tasks) > 1 and not all(untested for _, untested in tests) and seeds_agree(first) and seeds_agree(second):
        joint = verdicts.compare_methods(*([row.values(key) for row in rows] for rows in (first, second)))
        ((answer, p),) = verdicts.judge([joint])
        seeds = (min(len(row.values(key)) for row in first), min(len(row.values(key)) for row in second))
        left_mean, right_mean = (sum(row.cells[key].mean for row in rows) / len(rows) for rows in (first, second))
        yield Difference(ACROSS, column, left_mean, right_mean, joint, answer, p, seeds)


def _compare_rows(board: Table, left: Row, right: Row, key: str) -> tuple[verdicts.Comparison, bool]:
    """Compare two methods; without a p-value if neither is above an untrained encoder."""
    comparison = verdicts.compare_methods([left.values(key)], [right.values(key)])
    untrained = [row for row in board.rows if row.result.method == "random_encoder" and not row.warning]
    baseline = [row.cells[key].mean for row in untrained if key in row.cells]
    neither = verdicts.is_at_chance(left.cells[key].mean, right.cells[key].mean, baseline)
    return (comparison._replace(p=None) if neither else comparison), neither


FIELDS = ("difference", "low", "high", "p_after_holm", "seeds", "seeds_other", "verdict")


def comma_separated(pair: Pair) -> str:
    """Render a pair as CSV, one line for each task and score.

    Args:
        pair: the pair.

    Returns:
        CSV with a header; the columns of ``first`` and ``second`` have the methods' names.
    """
    rows = []
    for difference in pair.differences:
        gap = difference.comparison
        p = None if difference.p is None else f"{difference.p:.3g}"
        numbers = (difference.first, difference.second, gap.difference, gap.low, gap.high, p)
        first, second = (f"{name} is higher" for name, _ in (pair.first, pair.second))
        answer = verdicts.in_words(difference.answer, supported=first, opposed=second)
        rows.append((pair.tier, difference.task, difference.column.key, *numbers, *difference.seeds, answer))
    return files.comma_separated(["tier", "task", "score", pair.first[0], pair.second[0], *FIELDS], rows)
