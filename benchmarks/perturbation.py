"""Where a perturbation begins to lead locally: figure 4 (a) and (b) of Zietlow, Rolinek and Martius 2021, in numbers.

Run: python benchmarks/perturbation.py [BASE ...] [--images N] [--figure figure.png]

For each generating factor: how fast images change when it moves by one of its steps (local expansiveness, equation 7)
and how much variance it explains (equation 9). For the hidden variable s, as in the paper, the same with s drawn apart
from the factors, uniform with mean 0 and variance 1, and moved by the smallest of the factors' steps. All of it on
images that made room for the pattern, x -> epsilon + (1 - 2 epsilon) x, so that both sides bear the cost.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd
from rich.console import Console
from rich.table import Table

import benchmark_data
from leaderboard.analyses import expansiveness

EPSILONS = (0.0, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2)


def measure(base: benchmark_data.Dataset, images: int) -> pd.DataFrame:
    """Measure every factor, also those without an order, at every strength."""
    return expansiveness.measure_hidden(base, epsilons=EPSILONS, factors=base.space.names, samples=images)


def main() -> None:
    """Print a table for each base and quantity."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bases", nargs="*", default=["dsprites", "room3d"])
    parser.add_argument("--images", type=int, default=1000)
    parser.add_argument("--figure", type=Path, help="draw the last base's figure")
    arguments = parser.parse_args()
    for name in arguments.bases:
        measured = measure(benchmark_data.load(name), arguments.images)
        for quantity, meaning in list(expansiveness.QUANTITIES.items())[:2]:
            wide = measured[measured.quantity == quantity].pivot(index="epsilon", columns="factor", values="value")
            table = Table(title=f"{name}: {meaning}")
            for heading in ("epsilon", *wide.columns):
                table.add_column(heading, justify="right")
            for epsilon, row in wide.iterrows():
                table.add_row(f"{epsilon:g}", *(f"{value:.2f}" for value in row))
            Console().print(table)
        if arguments.figure:
            expansiveness.draw(measured, arguments.figure)


if __name__ == "__main__":
    main()
