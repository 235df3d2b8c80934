"""``offaxis board similarity``: all layers of two models compared."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from benchmark_data import console, files
from benchmark_data.console import say
from benchmark_data.errors import InvalidInput


def similarity(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="X... Y...",
            help="Run folders with activations.npz, or files of named arrays, of the same images: the seeds of one "
            "model, then those of another in the same order.",
        ),
    ],
    to: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help="The picture, .png; numbers go to .csv. From four seeds on, cells show hundredths with "
            "half the width of the 95% interval, which goes to _half.csv.",
        ),
    ],
    measure: Annotated[
        Literal["cka", "cka_debiased", "procrustes", "smaller"],
        typer.Option(help="smaller: of cka and procrustes, for each pair of layers."),
    ] = "cka",
) -> None:
    """Compare every layer of one model with every layer of another, averaged over seeds."""
    from leaderboard import figures
    from leaderboard.comparisons import heatmap
    from leaderboard.reading import representations

    if len(runs) % 2:
        raise InvalidInput(f"Give as many files of one model as of the other, not {len(runs)} in all.")
    files.check_ending("--to", to, ".png")
    half = len(runs) // 2
    sides = runs[:half], runs[half:]
    for pair in zip(*sides, strict=True):
        representations.check_same_rows(pair)
    pairs = ((representations.activations(x), representations.activations(y)) for x, y in zip(*sides, strict=True))
    with console.err.status("comparing"):
        table, interval = heatmap.compare_runs(pairs, similarity=measure)
    x, y = (side[0].stem if half == 1 else f"{side[0].parent.name}, mean of {half} runs" for side in sides)
    heatmap.draw(table, to, half=interval, x_name=x, y_name=y)
    to.with_name(f"{to.stem}_half.csv").unlink(missing_ok=True)  # of an earlier call with more seeds
    widths = [(interval, to.with_name(f"{to.stem}_half.csv"))] if half >= heatmap.SEEDS else []
    numbers = [(table, to.with_suffix(".csv")), *widths]
    for frame, path in numbers:
        figures.write_csv(frame.rename_axis("layer").reset_index(), path)
    for path in (to, *(path for _, path in numbers)):
        say(path)
