"""What the commands on analyses share: where the picture goes, and tables, printed and written beside it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from benchmark_data.console import out, say

if TYPE_CHECKING:
    import pandas as pd

To = Annotated[Path, typer.Option(help="The picture to write, .png; the numbers go beside it as .csv.")]

Runs = Annotated[
    list[Path], typer.Argument(metavar="RUN...", help="Run folders with activations.npz, or files of named arrays.")
]


def write(table: pd.DataFrame, path: Path, *, shown: pd.DataFrame | None = None) -> None:
    """Write a table beside the picture; print one, and the paths."""
    from leaderboard import figures

    numbers = path if path.suffix == ".csv" else path.with_suffix(".csv")
    figures.write_csv(table, numbers)
    if shown is not None:
        show(shown)
    if path != numbers:
        say(path)
    say(numbers)


def show(table: pd.DataFrame, title: str = "") -> None:
    """Print a table: numbers with three digits."""
    import rich.table
    import rich.text

    headers = (rich.text.Text(str(name).replace("_", " ")) for name in table.columns)
    columns = (rich.table.Column(header, overflow="fold") for header in headers)
    printed = rich.table.Table(*columns, box=None, pad_edge=False, title=title or None)
    for row in table.itertuples(index=False):
        cells = (f"{value:.3f}" if isinstance(value, float) else str(value) for value in row)
        printed.add_row(*map(rich.text.Text, cells))
    out.print(printed, highlight=False)
