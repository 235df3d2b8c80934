"""Render tables of `report.ranking` as CSV and for the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from benchmark_data import files
from leaderboard import protocol
from leaderboard.report.ranking import CATEGORIES, DIGITS, Row, Table, tables
from leaderboard.store import intervals, rank_intervals
from leaderboard.store.results import Result

if TYPE_CHECKING:
    import rich.console


def number(value: float | None) -> str:
    """Format a score with three decimals; None as a dash.

    Args:
        value: the score.

    Returns:
        Text; zero, as rounded, has no sign.

    Example:
        >>> number(0.25), number(-0.0001), number(None)
        ('0.250', '0.000', '–')
    """
    return "–" if value is None else f"{round(value, DIGITS) + 0.0:.{DIGITS}f}"


def signed(value: float) -> str:
    """Format a difference with its sign; zero, as rounded, has none.

    Args:
        value: the difference.

    Returns:
        Three decimals.

    Example:
        >>> signed(0.25), signed(-0.5), signed(-0.0001)
        ('+0.250', '-0.500', '0.000')
    """
    return f"{value:+.{DIGITS}f}" if round(value, DIGITS) else f"{0:.{DIGITS}f}"


def cell(row: Row, key: str, form: str = "{mean} [{low}, {high}]") -> str:
    """Format a score with its interval, if it has enough seeds for one.

    Args:
        row: the method.
        key: the score.
        form: format of the three numbers.

    Returns:
        Such as ``0.123 [0.110, 0.140]``; a dash if there is no score.
    """
    summary = row.cells.get(key)
    if summary is None:
        return "–"
    if summary.low is None:
        return number(summary.mean)
    return form.format(mean=number(summary.mean), low=number(summary.low), high=number(summary.high))


def format_rank(row: Row) -> str:
    """Format a rank, with its interval if that has more than one rank; None as a dash."""
    return f"{row.rank}{f' ({span(row.place)})' if span(row.place) else ''}" if row.rank else "–"


def span(place: rank_intervals.RankInterval | None) -> str:
    """Format an interval of ranks.

    Args:
        place: the interval.

    Returns:
        Such as ``1–4``; empty if it is a single rank.

    Example:
        >>> span(rank_intervals.RankInterval(1, 4, 1)), span(rank_intervals.RankInterval(2, 2, 2))
        ('1–4', '')
    """
    return f"{place.low}–{place.high}" if place and place.low != place.high else ""


NOTE = (
    f"Mean over seeds and its 95% interval (Student's t, from {intervals.SEEDS} seeds on). Methods "
    f"with {protocol.SEEDS} seeds or more are ranked within their group by the first score, except references. "
    "Parentheses hold the ranks that tests cannot exclude (Welch's test, Holm within the group)."
)


FIELDS = (
    *("task", "tier", "category", "rank", "rank_low", "rank_high", "band", "method", "title", "seeds", "score"),
    *("mean", "iqm", "low", "high", "note", "steps", "images", "seconds", "device", "supervision", "selection"),
    *("status", "trust", "dataset_version", "date", "ranked_by"),
)
"""The fields of a record; ``docs/publishing.md`` describes them."""


def records(boards: Iterable[Table]) -> Iterator[dict[str, object]]:
    """Convert tables to tidy records.

    Args:
        boards: the tables.

    Yields:
        One record for each score of each method, with the keys ``FIELDS``; None for missing values.
    """
    for board in boards:
        for row in board.rows:
            run = row.runs[0]
            for key, summary in row.cells.items():
                statistics = {"mean": summary.mean, "iqm": summary.iqm, "low": summary.low, "high": summary.high}
                yield {
                    "task": board.task,
                    "tier": board.tier,
                    "category": row.category,
                    "rank": row.rank,
                    **dict(zip(("rank_low", "rank_high", "band"), row.place or (None, None, None), strict=True)),
                    "method": row.result.method,
                    "title": row.result.title,
                    "seeds": row.seeds,
                    "score": key,
                    **{name: None if value is None else round(value, 6) for name, value in statistics.items()},
                    "note": row.note,
                    "steps": max(r.budget.steps for r in row.runs),
                    "images": max(r.budget.images for r in row.runs),
                    "seconds": round(sum(r.budget.seconds for r in row.runs) / row.seeds, 1),
                    "device": run.budget.device,
                    "supervision": run.supervision,
                    "selection": run.selection,
                    "status": run.status,
                    "trust": row.trust,
                    "dataset_version": run.dataset_version,
                    "date": max(r.date for r in row.runs).isoformat(),
                    "ranked_by": board.columns[0].key if row.rank else None,
                }


def comma_separated(boards: Iterable[Table]) -> str:
    """Render tables as tidy CSV: one line for each score of each method.

    Args:
        boards: the tables.

    Returns:
        CSV with the header ``FIELDS``. Text that a spreadsheet would read as a formula is prefixed with an apostrophe.
    """

    def csv_value(name: str, value: object) -> object:
        if name == "seconds":
            return f"{value:.1f}"
        return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t") else value

    return files.comma_separated(FIELDS, ([csv_value(name, row[name]) for name in FIELDS] for row in records(boards)))


def terminal(results: Iterable[Result], tier: str = "") -> rich.console.Group:
    """Make tables to print in a terminal.

    Args:
        results: of any tasks and tiers.
        tier: only the tables of this tier; all of them if empty.

    Returns:
        For ``rich.print``: one table for each task and tier.
    """
    import rich.box
    import rich.console
    import rich.table
    import rich.text

    parts: list[rich.console.RenderableType] = []
    for board in (board for board in tables(results) if tier in ("", board.tier)):
        rich_table = rich.table.Table(
            box=rich.box.HORIZONTALS,  # no lines between columns: of 80, four intervals leave 14 for a name
            padding=(0, 1, 0, 0),
            pad_edge=False,
            show_edge=False,
        )
        if board.ranked:
            rich_table.add_column("#", justify="right", min_width=5)
        rich_table.add_column("Method", min_width=10)
        for column in board.columns:
            rich_table.add_column(column.title, justify="right", no_wrap=True)
        rich_table.add_column("Seeds", justify="right", no_wrap=True)
        for category, rows in board.groups.items():
            rich_table.add_section()
            rich_table.add_row(*([""] if board.ranked else []), rich.text.Text(CATEGORIES[category], style="bold"))
            for row in rows:
                cells = [
                    rich.text.Text.from_ansi(cell(row, column.key, "{mean}\n\x1b[2m{low}–{high}\x1b[0m"))
                    for column in board.columns
                ]
                rich_table.add_row(
                    *([format_rank(row).replace(" ", "\n")] if board.ranked else []),
                    rich.text.Text(row.result.title),
                    *cells,
                    str(row.seeds),
                    style="italic" if category == "reference" else "",
                )
        ranks = ""
        if board.ranked_by:
            ranks = f" Ranked by {board.ranked_by.title} within a group; in parentheses the ranks that remain possible."
        title = rich.text.Text(f"{board.task}, tier {board.tier}", style="table.title")
        caption = rich.text.Text("\n".join([board.caption + ranks, *board.notes]), style="table.caption")
        parts += [title, caption, rich_table, ""]
    return rich.console.Group(*parts)
