"""``offaxis board similarity``: all layers of two models compared."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

import typer

from benchmark_data import console, files
from benchmark_data.console import say
from benchmark_data.errors import InvalidInput, printable
from leaderboard.commands.arguments import run_record


def similarity(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="X... Y...",
            help="Run folders with activations.npz, or files of named arrays, for the same images: the seeds of one "
            "model, then those of another in the same order.",
        ),
    ],
    to: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help="Write the heatmap to this PNG file, and the numbers to a CSV file of the same name. "
            "With four or more seeds, both include the half-width of 95% intervals.",
        ),
    ],
    measure: Annotated[
        Literal["cka", "cka_debiased", "procrustes", "smaller"],
        typer.Option(help="smaller: the smaller of cka and procrustes for each pair of layers."),
    ] = "cka",
) -> None:
    """Compare every layer of one model with every layer of another, averaged over seeds."""
    from leaderboard import figures
    from leaderboard.comparisons import heatmap
    from leaderboard.reading import representations

    if len(runs) % 2:
        raise InvalidInput(f"Pass equally many files of both models, an even number in total; received {len(runs)}.")
    files.check_ending(to, ".png")
    half = len(runs) // 2
    sides = runs[:half], runs[half:]
    for side in sides:
        keys = ("dataset", "method", "hyperparameters")
        settings = [{key: known.get(key) for key in keys} for known in map(run_record, side)]
        if other := next((number for number, known in enumerate(settings) if known != settings[0]), 0):
            raise InvalidInput(
                f"Pass all seeds of one model, then those of the other. Among the {half} files of one side, {side[0]} "
                f"has {settings[0]}, but {side[other]} has {settings[other]}."
            )
    for pair in zip(*sides, strict=True):
        for file in representations.check_same_rows(pair):
            console.warn(
                f"{file}: cannot check that its rows are those of the other file. Add its row indices, as an "
                "array `indices`."
            )
    pairs = ((representations.activations(x), representations.activations(y)) for x, y in zip(*sides, strict=True))
    with console.err.status("comparing"):
        table, interval = heatmap.compare_runs(pairs, similarity=measure)
    ends = [Path(os.path.abspath(path.with_suffix("") if path.is_file() else path)) for path in (runs[0], runs[half])]
    shared = os.path.commonpath([end.parent for end in ends])
    names = [printable(end.relative_to(shared).as_posix()) for end in ends]
    x_name, y_name = (name + f" and {half - 1} more" * (half > 1) for name in names)
    heatmap.draw(table, to, half_width=interval, x_name=x_name, y_name=y_name)
    numbers = table.join(interval.add_suffix(" half width").dropna(axis=1))
    figures.write_csv(numbers.rename_axis("layer").reset_index(), to.with_suffix(".csv"))
    for path in (to, to.with_suffix(".csv")):
        say(path)
