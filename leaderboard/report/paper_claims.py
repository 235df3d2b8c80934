"""Do the results here go the way that the papers' results go? Worked out from the tables, whichever way it comes out.

Two papers report directions. Scores fall when the squares of XYSquares lie further apart (Michlo, Klein and James 2023,
arXiv 2202.13341, figure 9). They fall when a dataset is perturbed (Zietlow, Rolinek and Martius 2021, arXiv 2102.06822,
table 1), and further than when it gets noise of the same size (table 2). To be perturbed images first lose contrast,
which may lower scores by itself: where there are scores on data with as little contrast and no pattern (``squeezed``),
a perturbed dataset must have lower ones than those, too.

Each such sentence is tested once, with all methods that were trained here on both datasets, as strata: with five seeds
a method, tests of single methods come to no verdict after the correction for how many they are (`verdicts`). What
others hand in is left out, verified or not: whoever chooses what to hand in could choose a verdict.
"""

from __future__ import annotations

import collections
import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from benchmark_data import files
from leaderboard.properties import Column
from leaderboard.report import families
from leaderboard.report.ranking import Row, Table
from leaderboard.store import verdicts

SPACING = "Michlo et al. 2023, figure 9"
PERTURBED = "Zietlow et al. 2021, table 1"
NOISY = "Zietlow et al. 2021, tables 1 and 2"

TITLES: dict[verdicts.Answer, str] = {
    "holds": "agrees",
    "not told apart": "inconclusive",
    "contradicted": "disagrees",
    "floor": "floor",
    "too few seeds": "too few seeds",
}
"""Verdicts as the board prints them."""


class Compared(NamedTuple):
    """One method on two tasks.

    Attributes:
        method: its name.
        title: its name as it is printed.
        difference: mean score on the task that should be the higher one, less that on the other.
        low: lower end of Welch's 95% interval of the difference; NaN below `verdicts.SEEDS` seeds.
        high: upper end.
        seeds: on the task with fewer.
        reached: whether the mean on the higher task reaches the floor.
    """

    method: str
    title: str
    difference: float
    low: float
    high: float
    seeds: int
    reached: bool


class Control(NamedTuple):
    """What a fall must be measured from as well.

    Attributes:
        dataset: its name.
        comparison: of the methods that both tasks have, as in `Direction`.
    """

    dataset: str
    comparison: verdicts.Comparison


class Direction(NamedTuple):
    """What a paper reports of two tasks, and what the trained methods show here, all together.

    Attributes:
        source: where it is reported.
        tier: of the scores.
        column: the score.
        higher: the dataset with the higher scores in the paper.
        lower: the dataset with the lower ones.
        floor: what a method's mean on the higher one must reach to test the claim: that of PCA there, and for MIG at
            least `verdicts.FLOOR`.
        methods: those that were trained here and scored on both, by name.
        comparison: of those with `verdicts.SEEDS` seeds on both, a stratum each.
        control: a task that must be higher, too; None where there is none.
        answer: the verdict, after Holm over all directions of the tier: of the decisive comparison where there are two.
        p: its p-value after Holm; None where there is no verdict.
    """

    source: str
    tier: str
    column: Column
    higher: str
    lower: str
    floor: float
    methods: tuple[Compared, ...]
    comparison: verdicts.Comparison
    control: Control | None = None
    answer: verdicts.Answer = "too few seeds"
    p: float | None = None

    @property
    def decisive(self) -> verdicts.Comparison:
        """The comparison that decides where a sentence says two things (`verdicts.decisive`)."""
        return verdicts.decisive([self.comparison, *([self.control.comparison] if self.control else [])])

    @property
    def title(self) -> str:
        """The verdict as it is printed."""
        return TITLES[self.answer]


def find(boards: Sequence[Table]) -> list[Direction]:
    """Compare every pair of tables that a paper says something of.

    Args:
        boards: all tables.

    Returns:
        The directions that any method of those trained here was scored for: next spacings and the two ends, then
        original against perturbed and noisy against perturbed. Results in quarantine are left out.
    """
    compared = [_direction(*expected) for expected in _expected(boards)]
    there = [found for found in compared if found is not None]
    judged: dict[int, Direction] = {}
    for tier in {found.tier for found in there}:
        places = [place for place, found in enumerate(there) if found.tier == tier]
        answers = verdicts.judge([there[place].decisive for place in places])
        for place, (answer, p) in zip(places, answers, strict=True):
            judged[place] = there[place]._replace(answer=answer, p=p)
    return [judged[place] for place in range(len(there))]


def counted(found: Sequence[Direction]) -> dict[str, int]:
    """Count verdicts.

    Args:
        found: as from ``find``.

    Returns:
        Verdict as it is printed -> how many directions have it, those without any left out. They add up to all.
    """
    counts = collections.Counter(direction.title for direction in found)
    return {title: counts[title] for title in TITLES.values() if counts[title]}


def _expected(boards: Sequence[Table]) -> Iterator[tuple[str, Table, Table, Table | None]]:
    """Return (source, table with the higher scores, table with the lower scores, control that must be higher, too)."""
    for name, parameter, _, steps in families.numeric_sweeps(boards):
        if (name, parameter) == ("xysquares", "spacing"):
            boards_in_order = [board for _, board in steps]
            yield from ((SPACING, near, far, None) for near, far in itertools.pairwise(boards_in_order))
            if len(boards_in_order) > 2:
                yield SPACING, boards_in_order[0], boards_in_order[-1], None
    for original, changed in families.base_and_variants(boards):
        name = original.dataset.partition("/")[0]
        perturbed, noisy, squeezed = (
            [board for board in changed if board.dataset.startswith(f"{name}_{kind}")]
            for kind in ("perturbed", "noisy", "squeezed")
        )
        for board in perturbed:
            control = next((one for one in squeezed if _size(one) == _size(board)), None)
            yield PERTURBED, original, board, control
        yield from ((NOISY, one, board, None) for board in perturbed for one in noisy if _size(one) == _size(board))


def _size(board: Table) -> object:
    """Return the magnitude of a change."""
    found = families.dataset(board.dataset)
    return found.parameters.get("epsilon") if found else None


def _direction(source: str, higher: Table, lower: Table, control: Table | None = None) -> Direction | None:
    columns = [column for column in higher.columns if column in lower.columns]
    there = _trained(lower)
    both = [(row, there[name]) for name, row in sorted(_trained(higher).items()) if name in there]
    if not columns or not both:
        return None
    column = columns[0]
    floor = _floor(higher, column.key)
    methods = tuple(_compared(first, second, column.key, floor) for first, second in both)
    enough = [pair for pair, one in zip(both, methods, strict=True) if one.seeds >= verdicts.SEEDS] or both
    comparison = verdicts.compare(
        [first.values(column.key) for first, _ in enough],
        [second.values(column.key) for _, second in enough],
        floors=[floor] * len(enough),
    )
    beside = _direction(source, control, lower) if control else None
    return Direction(
        source,
        higher.tier,
        column,
        higher.dataset,
        lower.dataset,
        floor,
        methods,
        comparison,
        Control(beside.higher, beside.comparison) if beside else None,
    )


def _floor(board: Table, key: str) -> float:
    """Return what a method must reach on a task for a fall from there to say anything."""
    free = [row.cells[key].mean for row in board.rows if row.result.method == "pca" and key in row.cells]
    return verdicts.floor(key, max(free, default=None))


def _trained(board: Table) -> dict[str, Row]:
    return {
        row.result.method: row
        for row in board.rows
        if row.category != "reference" and not row.warning and row.trained_here and board.columns[0].key in row.cells
    }


def _compared(higher: Row, lower: Row, key: str, floor: float) -> Compared:
    found = verdicts.welch([higher.values(key)], [lower.values(key)])
    return Compared(
        higher.result.method,
        higher.result.title,
        found.difference,
        found.low,
        found.high,
        found.seeds,
        float(np.mean(higher.values(key))) >= floor,
    )


def comma_separated(found: Sequence[Direction]) -> str:
    """Render directions as CSV: a line for each direction, with its verdict, and one for each of its methods.

    Args:
        found: as from ``find``.

    Returns:
        CSV with a header. Numbers that there are none of are empty.
    """
    rows: list[tuple[object, ...]] = []
    for one in found:
        place = (one.source, one.tier, one.column.key, one.higher, one.lower)
        all_, tested = one.comparison, sum(method.seeds >= verdicts.SEEDS for method in one.methods)
        rows.append((*place, "all", tested, all_.reached, all_.difference, all_.low, all_.high, one.p, one.title))
        if one.control:
            of = one.control.comparison
            from_control = (one.source, one.tier, one.column.key, one.control.dataset, one.lower)
            rows.append((*from_control, "all", None, of.reached, of.difference, of.low, of.high, None, "control"))
        for method in one.methods:
            numbers = (method.difference, method.low, method.high)
            rows.append((*place, method.method, method.seeds, int(method.reached), *numbers, None, None))
    return files.comma_separated(FIELDS, rows)


FIELDS = (
    *("source", "tier", "score", "higher", "lower", "method", "count", "reach_the_floor"),
    *("difference", "low", "high", "p_after_holm", "verdict"),
)
"""Columns of the CSV; ``count`` is of a direction's methods with enough seeds, and of a method's seeds."""
