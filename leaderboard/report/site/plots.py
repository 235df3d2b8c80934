"""What the pages draw: scores against a number.

Everything here is places in a small coordinate system, worked out from the results; `site/parts.html` puts it into SVG.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from leaderboard import protocol
from leaderboard.report import families, ranking
from leaderboard.report.ranking import Row, Table
from leaderboard.store.statistics import Summary

COLOURS = 6
DASHES = 4

INSET = 18
"""Between the ends of an axis and its first and last place."""


@dataclasses.dataclass(frozen=True)
class Tick:
    """A place on an axis, with a line of text."""

    at: float
    label: str


@dataclasses.dataclass(frozen=True)
class Point:
    """A value in a plot, in the plot's coordinates, with the ends of its interval."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None


@dataclasses.dataclass(frozen=True)
class Series:
    """One line in a plot. Beyond `COLOURS` of them the looks come again, hollow."""

    title: str
    colour: str
    shape: int
    hollow: bool
    reference: bool
    points: tuple[Point, ...]


@dataclasses.dataclass(frozen=True)
class Panel:
    """One set of axes."""

    title: str
    summary: str
    y_ticks: tuple[Tick, ...]
    series: tuple[Series, ...]


@dataclasses.dataclass(frozen=True)
class Plot:
    """Panels that share their horizontal axis.

    Attributes:
        title: what is drawn.
        axis: what stands below the horizontal axis.
        tier: of the scores.
        caption: what must be known to read it.
        x_ticks: places on the horizontal axis.
        panels: one for each score.
        legend: the lines that occur in any panel.
        width: of the coordinate system, as the numbers below it.
    """

    title: str
    axis: str
    tier: str
    caption: str
    x_ticks: tuple[Tick, ...]
    panels: tuple[Panel, ...]
    legend: tuple[Series, ...]
    width: int = 250
    height: int = 206
    left: int = 40
    top: int = 10
    bottom: int = 162

    @property
    def right(self) -> int:
        """Where the horizontal axis ends."""
        return self.width - 4


def scores_vs_parameter(boards: Sequence[Table]) -> list[Plot]:
    """Draw scores against the one number in which configurations of a dataset differ, such as the spacing.

    Args:
        boards: all tables.

    Returns:
        A plot for each tier and each number with two values or more. The dataset that was changed stands at
        ``epsilon`` 0, where there are two changed ones.
    """
    return [
        _against_number(name, parameter, tier, steps)
        for name, parameter, tier, steps in families.numeric_sweeps(boards)
    ]


def _against_number(name: str, parameter: str, tier: str, steps: Sequence[tuple[float, Table]]) -> Plot:
    values = [value for value, _ in steps]
    plot = Plot(f"{name}: score against {parameter}", parameter, tier, "", (), (), ())
    span = values[-1] - values[0]
    places = [plot.left + INSET + (v - values[0]) / span * (plot.right - plot.left - 2 * INSET) for v in values]
    note = f" At 0: {steps[0][1].dataset}, unchanged." if parameter == "epsilon" and values[0] == 0 else ""
    ticks = [Tick(round(place, 1), f"{value:g}") for place, value in zip(places, values, strict=True)]
    return _scores(plot, ticks, [board for _, board in steps], note)


def _scores(plot: Plot, ticks: Sequence[Tick], boards: Sequence[Table], note: str) -> Plot:
    """Fill a plot with the scores of the methods that have any on two or more of the tables."""
    rows: dict[str, dict[float, Row]] = {}
    for tick, board in zip(ticks, boards, strict=True):
        for row in board.rows:
            if not row.warning:
                rows.setdefault(row.result.method, {})[tick.at] = row
    several = {method: of for method, of in rows.items() if len(of) > 1}
    trained = [m for m in sorted(several) if next(iter(several[m].values())).category != "reference"]
    if len(trained) > DRAWN:
        first = boards[0].columns[0].key
        highest = {
            m: np.mean([row.cells[first].mean for row in several[m].values() if first in row.cells]) for m in trained
        }
        trained = sorted(sorted(trained, key=lambda m: (-highest[m], m))[:DRAWN])
        several = {
            m: of for m, of in several.items() if m in trained or next(iter(of.values())).category == "reference"
        }
        note += f" The {DRAWN} methods with the highest means."
    references = [m for m in sorted(several) if m not in trained]
    panels: list[Panel] = []
    legend: dict[str, Series] = {}
    absent: set[str] = set()
    below = ""
    for column in protocol.COLUMNS.values():
        cells = {
            method: {place: row.cells[column.key] for place, row in of.items() if column.key in row.cells}
            for method, of in several.items()
        }
        if not any(cells.values()):
            continue
        best = max((cell.mean for m in trained for cell in cells[m].values()), default=1.0)
        beyond = {m for m in references if all(cell.mean > 2 * best for cell in cells[m].values())}
        shown = [cell for m in [*trained, *references] if m not in beyond for cell in cells[m].values()]
        top = ceiling(max((cell.mean if cell.high is None else cell.high for cell in shown), default=1.0))
        up = _vertical(plot, top)
        below = below or _below(cell.mean for cell in shown)
        series = []
        for method in [*references, *trained]:
            if not cells[method]:
                continue
            title = next(iter(rows[method].values())).result.title
            if method in beyond:
                absent.add(title)
                continue
            among = trained if method in trained else references
            one = _line(title, among.index(method), method in references, _points(cells[method], up))
            series.append(one)
            legend.setdefault(method, one)
        y_ticks = tuple(Tick(up(top * k / 4), f"{top * k / 4:.3g}") for k in range(5))
        panels.append(Panel(column.title, column.summary, y_ticks, tuple(series)))
    caption = ranking.caption(plot.tier, [row for board in boards for row in board.rows]) + note + below
    if absent:
        caption += f" Above the scale and not drawn: {', '.join(sorted(absent))}."
    return dataclasses.replace(
        plot,
        caption=caption,
        x_ticks=tuple(ticks),
        panels=tuple(panels),
        legend=tuple(legend[method] for method in [*trained, *references] if method in legend),
    )


DRAWN = 12
"""The most methods that a plot shows: those with the best means. More could not be distinguished."""


def _below(values: Iterable[float]) -> str:
    """Say where values below 0 stand, if there are any."""
    return " What is below 0 is drawn at 0." if any(value < 0 for value in values) else ""


def _line(title: str, place: int, reference: bool, points: tuple[Point, ...]) -> Series:
    colour = "--reference" if reference else f"--c{place % COLOURS}"
    shape, hollow = place % (DASHES if reference else COLOURS), place // COLOURS % 2 == 1
    return Series(title, colour, shape, hollow, reference, points)


def _points(cells: Mapping[float, Summary], up: Callable[[float], float]) -> tuple[Point, ...]:
    return tuple(
        Point(
            x, up(cell.mean), None if cell.low is None else up(cell.low), None if cell.high is None else up(cell.high)
        )
        for x, cell in sorted(cells.items())
    )


def _vertical(plot: Plot, top: float) -> Callable[[float], float]:
    """Return the place of a value on an axis from 0 to ``top``; beyond them that of the end."""
    return lambda value: round(plot.bottom - (min(max(value, 0.0), top) / top) * (plot.bottom - plot.top), 1)


def ceiling(value: float) -> float:
    """Return the end of an axis that holds a score: a round number not far above it.

    Args:
        value: the greatest score, at most 1.

    Returns:
        A number in (0, 1].

    Example:
        >>> ceiling(0.11)
        0.12
    """
    value = min(max(value, 1e-4), 1.0)
    scale = 10 ** math.floor(math.log10(value))
    steps = (1, 1.2, 1.6, 2, 2.4, 3.2, 4, 6, 8, 10)
    return float(min(1.0, next(round(s * scale, 12) for s in steps if s * scale >= value * (1 - 1e-12))))
