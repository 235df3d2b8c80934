"""Tables of commands: printed, and written as CSV."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from benchmark_data import console

if TYPE_CHECKING:
    import pandas as pd


def write(table: pd.DataFrame, path: Path) -> None:
    """Write a table as CSV; print the path."""
    from leaderboard import figures

    figures.write_csv(table, path)
    console.say(path)


def show(table: pd.DataFrame, title: str = "") -> None:
    """Print a table: numbers with three digits."""
    cells = ((f"{v:.3f}" if isinstance(v, float) else v for v in row) for row in table.itertuples(index=False))
    console.table([tuple(row) for row in cells], *(str(name).replace("_", " ") for name in table.columns), title=title)
