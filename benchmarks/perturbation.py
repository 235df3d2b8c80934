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

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

import benchmark_data
from benchmark_data import draws
from benchmark_data.variants import perturbation
from leaderboard.analyses import expansiveness

EPSILONS = (0.0, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2)
BINS = 20


def measure(base: benchmark_data.Dataset, images: int, rows_per_std: float) -> pd.DataFrame:
    """Measure at every strength: columns factor, quantity, value, epsilon."""
    rows = draws.permutation(4, len(base))[:images]
    s = (draws.uniform(5, np.arange(images), 1)[:, 0] - 0.5) * np.sqrt(12)
    labels = base.labels(rows)
    bins = np.floor((s / np.sqrt(12) + 0.5) * BINS).astype(np.int64)
    steps = {name: expansiveness.neighbours(base, rows, name) for name in base.space.names}
    step = min(size for _, size in steps.values())
    height, width, _ = base.image_shape
    shown = perturbation.pattern(s, height, width, rows_per_std=rows_per_std)
    moved = [perturbation.pattern(s + way, height, width, rows_per_std=rows_per_std) for way in (step, -step)]
    plain = base.images(rows)
    tables = []
    for epsilon in EPSILONS:

        def change(pixels: np.ndarray, pattern: np.ndarray, epsilon: float = epsilon) -> np.ndarray:
            return perturbation.blend(pixels, pattern, epsilon=epsilon) if epsilon else pixels

        neighbours = {
            name: (np.stack([change(others[:, k], shown) for k in range(2)], axis=1), size)
            for name, (others, size) in steps.items()
        }
        neighbours["s"] = np.stack([change(plain, pattern) for pattern in moved], axis=1), step
        table = expansiveness.measure(
            change(plain, shown),
            np.concatenate([labels, bins[:, None]], axis=1),
            [*base.space.names, "s"],
            moved=neighbours,
            debiased=True,
        )
        tables.append(table.assign(epsilon=epsilon, seed=0))
    return pd.concat(tables, ignore_index=True)


def main() -> None:
    """Print a table for each base and quantity."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bases", nargs="*", default=["sprites2d", "room3d"])
    parser.add_argument("--images", type=int, default=1000)
    parser.add_argument("--rows-per-std", type=float, default=perturbation.ROWS_PER_STD)
    parser.add_argument("--figure", type=Path, help="draw the last base's figure")
    arguments = parser.parse_args()
    for name in arguments.bases:
        measured = measure(benchmark_data.load(name), arguments.images, arguments.rows_per_std)
        for quantity, meaning in list(expansiveness.QUANTITIES.items())[:2]:
            wide = measured[measured.quantity == quantity].pivot(index="epsilon", columns="factor", values="value")
            table = Table(title=f"{name}: {meaning}, {arguments.rows_per_std:g} rows for a standard deviation of s")
            for heading in ("epsilon", *wide.columns):
                table.add_column(heading, justify="right")
            for epsilon, row in wide.iterrows():
                table.add_row(f"{epsilon:g}", *(f"{value:.2f}" for value in row))
            Console().print(table)
        if arguments.figure:
            expansiveness.draw(measured, arguments.figure)


if __name__ == "__main__":
    main()
