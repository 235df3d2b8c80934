"""How much of the images do decoders draw that were trained in bfloat16, and in float32? The same ten seeds in both.

    python benchmarks/precision.py runs/precision

The sweep ``desk_controls`` trains the runs, one folder for each precision, and says which commands score them into
``leaderboard/published/precision``. This adds the share of the pixels' variance that reconstructions explain,
over the first 256 rows of the dataset's quick digest (`baselines.run.Run.explained`). `make pages` compares
the two precisions in ``docs/performance.md``.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

from baselines.run import Run

RECORD = Path(__file__).parents[1] / "leaderboard" / "published" / "precision" / "explained.csv"


def main() -> None:
    """Measure every run and write a line for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", type=Path, help="the folder with a folder of runs for each precision")
    folders = sorted(path.parent for path in parser.parse_args().runs.rglob("codes.npz"))
    lines = []
    for run in map(Run.open, folders):
        share = run.explained()
        lines.append((run.config.precision, run.config.seed, round(share, 4)))
    with RECORD.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerows([("precision", "seed", "explained"), *sorted(lines)])
    print(RECORD)


if __name__ == "__main__":
    main()
