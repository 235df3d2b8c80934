"""How much of the images do the decoders of the board's runs draw? A low score says more where something is drawn.

    python benchmarks/explained.py runs/desk --csv benchmarks/explained.csv

Of each finished run of the sweep ``desk`` that is there: the share of the pixels' variance that its reconstructions
explain (`baselines.run.Run.explained`), over the first 256 rows of the dataset's quick digest. 0, or less, is a decoder
that draws one picture, whatever the image.
"""

from __future__ import annotations

import argparse
import collections
import csv
from pathlib import Path

from baselines.run import Run
from baselines.training import sweep


def main() -> None:
    """Measure every run, write a line for each, and print lowest and highest of each method on each dataset."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", type=Path, help="the folder of the sweep")
    parser.add_argument("--csv", type=Path, required=True)
    options = parser.parse_args()
    lines = []
    for config in sweep.find("desk"):
        folder = options.runs / sweep.run_path(config)
        if (folder / "codes.npz").exists():
            run = Run.open(folder)
            share = run.explained()
            lines.append((config.dataset, config.objective, config.seed, round(share, 4)))
    with options.csv.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerows([("dataset", "objective", "seed", "explained"), *lines])
    shares = collections.defaultdict(list)
    for dataset, objective, _, share in lines:
        shares[dataset, objective].append(share)
    for (dataset, objective), of in shares.items():
        print(f"{dataset:34} {objective:14} {min(of):6.1%} to {max(of):6.1%}, {len(of)} seeds")


if __name__ == "__main__":
    main()
