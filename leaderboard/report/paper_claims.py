"""Do the results here go the way that the papers' results go? Worked out from the tables, whichever way it comes out.

Two papers report directions. Scores fall when the squares of XYSquares lie further apart (Michlo, Klein and James 2023,
arXiv 2202.13341, figure 9). They fall when a dataset is perturbed (Zietlow, Rolinek and Martius 2021, arXiv 2102.06822,
table 1), and further than when it gets noise of the same size (table 2).
"""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np

from leaderboard.properties import Column
from leaderboard.report import families
from leaderboard.report.ranking import Row, Table
from leaderboard.store import statistics

Verdict = Literal["as reported", "not told apart", "the other way"]

SPACING = "Michlo et al. 2023, figure 9"
PERTURBED = "Zietlow et al. 2021, table 1"
NOISY = "Zietlow et al. 2021, tables 1 and 2"


class Compared(NamedTuple):
    """One method on two tasks.

    Attributes:
        method: its name.
        title: its name as it is printed.
        difference: mean score on the task that should be the higher one, less that on the other.
        verdict: ``"not told apart"`` where the 95% bootstrap interval of the difference holds 0, or where either task
            has a single seed.
    """

    method: str
    title: str
    difference: float
    verdict: Verdict


class Direction(NamedTuple):
    """What a paper reports of two tasks, and what every trained method shows here.

    Attributes:
        source: where it is reported.
        tier: of the scores.
        column: the score.
        higher: the dataset with the higher scores in the paper.
        lower: the dataset with the lower ones.
        methods: those that were trained and scored on both here, by name.
    """

    source: str
    tier: str
    column: Column
    higher: str
    lower: str
    methods: tuple[Compared, ...]

    @property
    def median(self) -> float:
        """The median of the methods' differences."""
        return float(np.median([one.difference for one in self.methods]))

    @property
    def agreeing(self) -> int:
        """For how many methods the mean goes the paper's way, whatever the interval."""
        return sum(one.difference > 0 for one in self.methods)

    def of(self, verdict: Verdict) -> tuple[Compared, ...]:
        """Give the methods with a verdict."""
        return tuple(one for one in self.methods if one.verdict == verdict)


def find(boards: Sequence[Table]) -> list[Direction]:
    """Compare every pair of tables that a paper says something of.

    Args:
        boards: all tables.

    Returns:
        The directions that any trained method was scored for: next spacings and the two ends, then original against
        perturbed and noisy against perturbed. Results in quarantine are left out.
    """
    compared = [_direction(source, higher, lower) for source, higher, lower in _expected(boards)]
    return [found for found in compared if found is not None]


def _expected(boards: Sequence[Table]) -> Iterator[tuple[str, Table, Table]]:
    """Give (source, table with the higher scores, table with the lower scores)."""
    for name, parameter, _, steps in families.numbered(boards):
        if (name, parameter) == ("xysquares", "spacing"):
            ladder = [board for _, board in steps]
            yield from ((SPACING, near, far) for near, far in itertools.pairwise(ladder))
            if len(ladder) > 2:
                yield SPACING, ladder[0], ladder[-1]
    for original, changed in families.derived(boards):
        name = original.dataset.partition("/")[0]
        perturbed = [board for board in changed if board.dataset.startswith(f"{name}_perturbed")]
        noisy = [board for board in changed if board.dataset.startswith(f"{name}_noisy")]
        yield from ((PERTURBED, original, board) for board in perturbed)
        yield from ((NOISY, noise, board) for board in perturbed for noise in noisy if _size(noise) == _size(board))


def _size(board: Table) -> object:
    """Give the magnitude of a change."""
    found = families.dataset(board.dataset)
    return found.parameters.get("epsilon") if found else None


def _direction(source: str, higher: Table, lower: Table) -> Direction | None:
    columns = [column for column in higher.columns if column in lower.columns]
    there = _trained(lower)
    both = [(row, there[name]) for name, row in sorted(_trained(higher).items()) if name in there]
    if not columns or not both:
        return None
    column = columns[0]
    methods = tuple(_compared(first, second, column.key) for first, second in both)
    return Direction(source, higher.tier, column, higher.dataset, lower.dataset, methods)


def _trained(board: Table) -> dict[str, Row]:
    return {
        row.result.method: row
        for row in board.rows
        if row.category != "reference" and not row.warning and row.cells and board.columns[0].key in row.cells
    }


def _compared(higher: Row, lower: Row, key: str) -> Compared:
    x, y = higher.values(key), lower.values(key)
    verdict: Verdict = "not told apart"
    if len(x) > 1 and len(y) > 1:
        low, high = statistics.difference(x, y)
        verdict = "as reported" if low > 0 else "the other way" if high < 0 else "not told apart"
    return Compared(higher.result.method, higher.result.title, sum(x) / len(x) - sum(y) / len(y), verdict)


def comma_separated(found: Sequence[Direction]) -> str:
    """Render directions as CSV, a line for each method.

    Args:
        found: as from ``find``.

    Returns:
        CSV with a header.
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(("source", "tier", "score", "higher", "lower", "method", "difference", "verdict"))
    for direction in found:
        for one in direction.methods:
            writer.writerow(
                (
                    direction.source,
                    direction.tier,
                    direction.column.key,
                    direction.higher,
                    direction.lower,
                    one.method,
                    f"{one.difference:.6f}",
                    one.verdict,
                )
            )
    return stream.getvalue()
