"""Does training in bfloat16 cost anything but time? Scores of the same ten seeds in both precisions.

    python benchmarks/precision.py runs/precision

The sweep ``desk_precision`` trains the runs, one folder for each precision, and says which commands score them into
``benchmarks/precision``. What is printed is a table: the mean of each precision, their difference over pairs of one
seed (the same first weights, rows and noise) with its 95% interval, and the p-value of Student's t for pairs. Without
the folder of runs the line of reconstructions is left out: the share of the pixels' variance that they explain, over
the first 256 rows of the dataset's quick digest (`baselines.run.Run.explained`).
"""

from __future__ import annotations

import argparse
from pathlib import Path

from baselines.run import Run
from leaderboard.store import results, verdicts

TREES = Path(__file__).with_suffix("")
PRECISIONS = ("bfloat16", "float32")
SCORES = {"mig": "MIG", "dci.disentanglement": "DCI disentanglement", "dci.informativeness_test": "DCI informativeness"}
IMAGES = 256


def scores(precision: str, metric: str) -> dict[int, float]:
    """Return seed -> score of the runs in a precision."""
    return {run.seed: run.scores[metric] for result in results.read_all(TREES / precision) for run in result.runs}


def explained(runs: Path, precision: str) -> dict[int, float]:
    """Return seed -> share of the variance that the reconstructions of a run explain."""
    found = {}
    for path in sorted((runs / precision).rglob("codes.npz")):
        run = Run.open(path.parent)
        found[run.config.seed] = run.explained(run.dataset.images(run.dataset.quick_rows()[:IMAGES]))
    return found


def line(title: str, half: dict[int, float], full: dict[int, float]) -> str:
    """Return a line of the table."""
    seeds = sorted(half.keys() & full.keys())
    ours, theirs = ([values[seed] for seed in seeds] for values in (half, full))
    found = verdicts.compare([ours], [theirs], paired=True)
    means = " | ".join(f"{sum(values) / len(values):.3f}" for values in (ours, theirs))
    interval = f"{found.difference:+.3f} ({found.low:+.3f} to {found.high:+.3f})"
    return f"| {title} | {len(seeds)} | {means} | {interval} | {found.p:.2f} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", type=Path, nargs="?", help="the folder with a folder of runs for each precision")
    options = parser.parse_args()
    print("| | seeds | bfloat16 | float32 | difference (95%) | p |\n| --- | ---: | ---: | ---: | ---: | ---: |")
    for metric, title in SCORES.items():
        print(line(title, *(scores(precision, metric) for precision in PRECISIONS)))
    if options.runs:
        print(line("variance explained", *(explained(options.runs, precision) for precision in PRECISIONS)))


if __name__ == "__main__":
    main()
