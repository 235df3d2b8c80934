"""How much of the images do the decoders of the board's runs draw? A low score says more where something is drawn.

    python benchmarks/explained.py desk=runs/desk desk_since2020=runs/since2020 --csv benchmarks/explained.csv

Of each finished run of the sweeps that is there: the share of the pixels' variance that its reconstructions explain
(`baselines.run.Run.explained`), over the first 256 rows of the dataset's quick digest. 0, or less, is a decoder that
draws one picture, whatever the image. What the file holds already is kept; begin another one to measure all again.
"""

from __future__ import annotations

import argparse
import collections
import csv
from pathlib import Path

from baselines.run import Run
from baselines.training import sweep


def main() -> None:
    """Measure every run that the file lacks, write a line for each, and print lowest and highest of each method."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="+", metavar="SWEEP=FOLDER", help="a sweep and the folder of its runs")
    parser.add_argument("--csv", type=Path, required=True)
    options = parser.parse_args()
    shares: dict[tuple[str, str, int], float] = {}
    if options.csv.exists():
        with options.csv.open(encoding="utf-8", newline="") as stream:
            for line in csv.DictReader(stream):
                shares[line["dataset"], line["objective"], int(line["seed"])] = float(line["explained"])
    for name, _, folder in (argument.partition("=") for argument in options.runs):
        for config in sweep.find(name):
            key, path = (config.dataset, config.objective, config.seed), Path(folder) / sweep.run_path(config)
            if key not in shares and (path / "codes.npz").exists():
                shares[key] = round(Run.open(path).explained(), 4)
    with options.csv.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerows([("dataset", "objective", "seed", "explained"), *((*key, v) for key, v in shares.items())])
    methods = collections.defaultdict(list)
    for (dataset, objective, _), share in shares.items():
        methods[dataset, objective].append(share)
    for (dataset, objective), values in methods.items():
        print(f"{dataset:34} {objective:14} {min(values):6.1%} to {max(values):6.1%}, {len(values)} seeds")


if __name__ == "__main__":
    main()
