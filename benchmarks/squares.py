"""Measure whether latents encode one square of XYSquares, and one of its two positions.

    offaxis train sweep desk_since2020 --to runs/since2020 --only dataset=xysquares/spacing_2 --only objective=qlae
    python benchmarks/squares.py runs/since2020/xysquares/*/*/seed_*

A latent's information about a factor is measured as in MIG (20 bins), on the rows of the task. Of a run's latents
together, ``one_square`` is the share of the information that is about the square of which a latent encodes most, and
``one_position`` the share of the latter that is about that square's x or y, whichever is larger. By chance they would
be a third and a half, or somewhat more.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from leaderboard.information import pairwise
from leaderboard.reading import representations

TABLE = Path(__file__).with_suffix(".csv")


def shares(run: Path) -> tuple[float, float]:
    """Return the two shares of a run."""
    labelled = representations.codes(run)
    if labelled.factors is None or labelled.names != ("x_R", "y_R", "x_G", "y_G", "x_B", "y_B"):
        raise SystemExit(f"{run}: expected a run on XYSquares, received factors {labelled.names}.")
    by_square = pairwise(labelled.codes, labelled.factors).information.reshape(-1, 3, 2)
    main_squares = by_square[np.arange(len(by_square)), by_square.sum(axis=2).argmax(axis=1)]
    return main_squares.sum() / by_square.sum(), main_squares.max(axis=1).sum() / main_squares.sum()


def main() -> None:
    """Measure runs, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path, nargs="+")
    rows = []
    for run in parser.parse_args().runs:
        spacing, objective, seed = run.parts[-3:]
        one_square, one_position = shares(run)
        rows.append((objective, spacing, int(seed.split("_")[1]), round(one_square, 4), round(one_position, 4)))
    table = pd.DataFrame(rows, columns=["objective", "config", "seed", "one_square", "one_position"])
    table.to_csv(TABLE, index=False)
    print(table.groupby(["objective", "config"])[["one_square", "one_position"]].agg(["mean", "min", "max"]).round(3))


if __name__ == "__main__":
    main()
