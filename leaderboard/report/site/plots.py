"""Plots of scores against a parameter of datasets.

Results are converted to positions in a small coordinate system; `site/parts.html` draws them as SVG.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from benchmark_data.sources import Derived
from leaderboard import protocol
from leaderboard.report import ranking
from leaderboard.report.ranking import Row, Table
from leaderboard.store.statistics import Summary

COLOURS = 6
DASHES = 4

INSET = 18
"""Distance between the ends of an axis and its first and last position."""


class Tick(NamedTuple):
    """A position on an axis, with its label."""

    at: float
    label: str


class Point(NamedTuple):
    """A value in a plot, in the plot's coordinates, with the ends of its interval."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None


class Series(NamedTuple):
    """A method in a plot: a line for each run of adjacent ticks. Beyond `COLOURS` the styles repeat, hollow."""

    title: str
    colour: str
    shape: int
    hollow: bool
    reference: bool
    runs: tuple[tuple[Point, ...], ...]


class Panel(NamedTuple):
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
        axis: label of the horizontal axis.
        caption: the caption.
        x_ticks: ticks of the horizontal axis.
        panels: one for each score.
        legend: the lines that occur in any panel.
        width: of the coordinate system, as the numbers below it.
    """

    title: str
    axis: str
    caption: str
    x_ticks: tuple[Tick, ...]
    panels: tuple[Panel, ...]
    legend: tuple[Series, ...]
    width: ClassVar[int] = 250
    height: ClassVar[int] = 206
    left: ClassVar[int] = 40
    right: ClassVar[int] = 246
    top: ClassVar[int] = 10
    bottom: ClassVar[int] = 162


def scores_vs_parameter(boards: Sequence[Table]) -> list[Plot]:
    """Draw scores against the one number in which configurations of a dataset differ, such as the spacing.

    Args:
        boards: all tables.

    Returns:
        A plot for each tier and each parameter with two values or more. An original dataset is drawn at ``epsilon`` 0
        if there are two perturbed forms of it.
    """
    return [_plot_against_number(*sweep) for sweep in _numeric_sweeps(boards)]


def _numeric_sweeps(boards: Sequence[Table]) -> list[tuple[str, str, str, list[tuple[float, Table]]]]:
    """Find configurations of a dataset that differ in one number only.

    Args:
        boards: all tables.

    Returns:
        (dataset, parameter, tier, [(value, table), ...] in the order of the values), two tables or more in each; in the
        order of the tables.
    """
    tables_by_name = {(board.dataset, board.tier): board for board in boards}
    sweeps: dict[tuple[str, tuple[str, ...], str, str], dict[float, Table]] = {}
    bases: dict[tuple[str, tuple[str, ...], str, str], Table] = {}
    for board in boards:
        dataset = ranking.known_dataset(board.dataset)
        if dataset is None:
            continue
        base = dataset.source.base.id if isinstance(dataset.source, Derived) else ""
        for parameter, value in dataset.parameters.items():
            if isinstance(value, bool) or not isinstance(value, int | float):
                continue
            fixed = tuple(str(v) for k, v in sorted(dataset.parameters.items()) if k != parameter)
            key = (dataset.name, fixed, parameter, board.tier)
            sweeps.setdefault(key, {})[float(value)] = board
            if parameter == "epsilon" and (base, board.tier) in tables_by_name:
                bases[key] = tables_by_name[base, board.tier]
    return [
        (
            " ".join([key[0], *filter(str.isalpha, key[1])]),
            key[2],
            key[3],
            sorted((({0.0: bases[key]} if key in bases else {}) | values).items()),
        )
        for key, values in sweeps.items()
        if len(values) > 1
    ]


def _plot_against_number(name: str, parameter: str, tier: str, steps: Sequence[tuple[float, Table]]) -> Plot:
    """Draw the scores of the methods with scores in two or more of the tables."""
    (first_value, first_board), *_, (last_value, _) = steps
    start, span = Plot.left + INSET, Plot.right - Plot.left - 2 * INSET
    positions = [round(start + (value - first_value) / (last_value - first_value) * span, 1) for value, _ in steps]
    caption = ranking.caption(tier, [row for _, board in steps for row in board.rows])
    if parameter == "epsilon" and first_value == 0:
        caption += f" At 0: {first_board.dataset}, unchanged."
    rows: dict[str, dict[float, Row]] = {}
    for position, (_, board) in zip(positions, steps, strict=True):
        for row in board.rows:
            if not row.warning:
                rows.setdefault(row.result.method, {})[position] = row
    titles = {method: next(iter(by_x.values())).result.title for method, by_x in rows.items()}
    plottable = [method for method in sorted(rows) if len(rows[method]) > 1]
    references = [m for m in plottable if next(iter(rows[m].values())).category == "reference"]
    trained = [m for m in plottable if m not in references]
    if len(trained) > DRAWN:
        key = first_board.columns[0].key
        values = {m: [row.cells[key].mean for row in rows[m].values() if key in row.cells] for m in trained}
        trained = sorted(sorted(trained, key=lambda m: -np.mean(values[m] or [-math.inf]))[:DRAWN])
        caption += f" The {DRAWN} methods with the highest means."
    panels: list[Panel] = []
    legend: dict[str, Series] = {}
    not_drawn: dict[str, list[str]] = {}
    has_negative = False
    for column in protocol.COLUMNS.values():
        sparse = {m: {x: row.cells.get(column.key) for x, row in rows[m].items()} for m in (*references, *trained)}
        cells = {m: {x: cell for x, cell in by_x.items() if cell} for m, by_x in sparse.items() if any(by_x.values())}
        if not cells:
            continue
        best = max((cell.mean for m in trained for cell in cells.get(m, {}).values()), default=1.0)
        most = 2 * max(best, 0.0)
        off_scale = [m for m in references if m in cells and all(cell.mean > most for cell in cells[m].values())]
        for method in off_scale:
            not_drawn.setdefault(titles[method], []).append(column.title)
        drawn = {m: by_x for m, by_x in cells.items() if m not in off_scale}
        drawn_cells = [cell for by_x in drawn.values() for cell in by_x.values()]
        top = ceiling(max((cell.mean if cell.high is None else cell.high for cell in drawn_cells), default=1.0))
        has_negative = has_negative or any(cell.mean < 0 for cell in drawn_cells)
        series = []
        for method, by_x in drawn.items():
            group = trained if method in trained else references
            runs = [list(run) for is_drawn, run in itertools.groupby(positions, by_x.__contains__) if is_drawn]
            lines = tuple(tuple(Point(x, *_summary_heights(by_x[x], top)) for x in run) for run in runs)
            series.append(_make_series(titles[method], group.index(method), method in references, lines))
            legend.setdefault(method, series[-1])
        ticks = tuple(Tick(_height(top * k / 4, top), f"{top * k / 4:.3g}") for k in range(5))
        panels.append(Panel(column.title, column.summary, ticks, tuple(series)))
    caption += " What is below 0 is drawn at 0." if has_negative else ""
    off_scale_texts = [f"{title} ({', '.join(scores)})" for title, scores in sorted(not_drawn.items())]
    caption += f" Above the scale and not drawn: {'; '.join(off_scale_texts)}." if off_scale_texts else ""
    return Plot(
        title=f"{name}: score against {parameter}",
        axis=parameter,
        caption=caption,
        x_ticks=tuple(Tick(position, f"{value:g}") for position, (value, _) in zip(positions, steps, strict=True)),
        panels=tuple(panels),
        legend=tuple(legend[method] for method in (*trained, *references) if method in legend),
    )


DRAWN = 12
"""The most methods in a plot, those with the best means; more lines could not be distinguished."""


def _make_series(title: str, index: int, reference: bool, lines: tuple[tuple[Point, ...], ...]) -> Series:
    colour = "--reference" if reference else f"--c{index % COLOURS}"
    shape, hollow = index % (DASHES if reference else COLOURS), index // COLOURS % 2 == 1
    return Series(title, colour, shape, hollow, reference, lines)


def _summary_heights(cell: Summary, top: float) -> tuple[float, float | None, float | None]:
    low, high = (None if end is None else _height(end, top) for end in (cell.low, cell.high))
    return _height(cell.mean, top), low, high


def _height(value: float, top: float) -> float:
    """Return the position of a value on an axis from 0 to ``top``, clipped to its ends."""
    return round(Plot.bottom - (min(max(value, 0.0), top) / top) * (Plot.bottom - Plot.top), 1)


def ceiling(value: float) -> float:
    """Return the upper end of an axis for a score: a round number slightly above it.

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
