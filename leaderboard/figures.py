"""Parts of all figures: colours that colour-blind readers can distinguish, lines with bands, atomic files.

Nothing here touches matplotlib's global state, and importing this module does not load matplotlib.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmark_data.errors import InvalidInput, needs
from benchmark_data.files import written_atomically

if TYPE_CHECKING:
    import pandas as pd

needs("drawing", "metrics", "pandas")

__all__ = ["COLOURS", "curve", "panels", "save", "write_csv"]

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#000000", "#999999")
"""Okabe and Ito, "Color universal design" (2008), without the yellow, which is too light for a line."""

_MARKERS = "os^Dv<>P"


def panels(rows: int, columns: int, *, width: float = 3.2, height: float = 2.6, **options: Any) -> tuple[Any, Any]:
    """Make a figure with a grid of panels.

    Args:
        rows: how many down.
        columns: how many across.
        width: of one panel, in inches.
        height: of one panel, in inches.
        **options: for matplotlib's ``Figure.subplots``, such as ``sharey=True``.

    Returns:
        The figure, and its axes as an object array of shape (rows, columns).

    Raises:
        MissingExtra: matplotlib is not installed.

    Example:
        >>> figure, axes = panels(1, 2)
        >>> axes.shape
        (1, 2)
    """
    needs("drawing", "board", "matplotlib")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(columns * width + 0.4, rows * height + 0.2), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def save(figure: Any, path: str | os.PathLike[str]) -> None:
    """Write a figure as PNG, whole or not at all.

    Args:
        figure: a matplotlib figure.
        path: the file to write.

    Raises:
        InvalidInput: the file cannot be written.
    """
    with written_atomically(Path(path)) as temporary:
        figure.savefig(temporary, format="png", dpi=120)


def curve(axes: Any, frame: pd.DataFrame, x: str, y: str, *, style: int, label: str = "") -> None:
    """Draw the mean of ``y`` at each ``x``, with a band of one standard deviation where there are several values.

    Args:
        axes: matplotlib's axes to draw on.
        frame: one row per value.
        x: name of the column on the horizontal axis.
        y: name of the column on the vertical axis.
        style: number of the colour and marker, from 0; they repeat after 8.
        label: the entry in the legend.
    """
    grouped = frame.groupby(x, sort=True)[y]
    mean, deviation = grouped.mean(), grouped.std().fillna(0.0)
    positions, colour = mean.index.to_numpy(), COLOURS[style % len(COLOURS)]
    axes.plot(positions, mean, color=colour, marker=_MARKERS[style % len(_MARKERS)], markersize=4, label=label)
    if deviation.max() > 0:
        axes.fill_between(positions, mean - deviation, mean + deviation, color=colour, alpha=0.2, linewidth=0)


def check_columns(frame: pd.DataFrame, columns: Sequence[str]) -> None:
    """Refuse a table that lacks a column, has no rows, or holds NaN or infinity.

    Args:
        frame: the table that is to be drawn.
        columns: the columns that it must have.

    Raises:
        InvalidInput: it does.

    Example:
        >>> import pandas as pd
        >>> check_columns(pd.DataFrame({"a": [1.0]}), ["b"])
        Traceback (most recent call last):
        ...
        benchmark_data.errors.InvalidInput: table: expected the columns b, received a.
    """
    if missing := [name for name in columns if name not in frame]:
        raise InvalidInput(f"table: expected the columns {', '.join(missing)}, received {', '.join(frame.columns)}.")
    if frame.empty:
        raise InvalidInput("table: expected at least one row, received none.")
    numbers = frame[list(columns)].select_dtypes("number")
    bad = ~np.isfinite(numbers.to_numpy(dtype=float))
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise InvalidInput(
            f"column {numbers.columns[column]!r} of the table: expected finite numbers, received one in row {row}."
        )


def write_csv(frame: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write a table as CSV, whole or not at all, with numbers to the last digit.

    Args:
        frame: the table; its index is left out.
        path: the file to write.

    Raises:
        InvalidInput: the file cannot be written.
    """
    with written_atomically(Path(path)) as temporary:
        frame.to_csv(temporary, index=False)
