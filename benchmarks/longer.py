"""Train three methods of the board at spacing 8 of XYSquares for five times its steps: does training longer help?

    python benchmarks/longer.py RUNS

Prints a row for each run, and writes benchmarks/longer.csv. Seed 7, which is not among the board's first five; the
runs take about ten minutes of a core. Finished runs in the folder RUNS are not trained again.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import baselines
from baselines.sweeps import desk
from leaderboard import protocol
from leaderboard.metrics import mig

DATASET = "xysquares/spacing_8"
OBJECTIVES = ("beta_tc_vae", "dip_vae_i", "ada_gvae")
STEPS = 15_000
SEED = 7


def main(folder: Path) -> None:
    """Train, score and write the record."""
    rows = []
    for objective in OBJECTIVES:
        run = baselines.train(desk.run(DATASET, objective, SEED, steps=STEPS), folder / objective)
        train = protocol.task(DATASET).train
        score = mig.score(run.encode_rows(train), run.dataset.labels(train))["mig"]
        rows.append((DATASET, objective, SEED, STEPS, f"{score:.4f}", f"{run.explained():.4f}"))
        print(*rows[-1], flush=True)
    with (Path(__file__).parent / "longer.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("dataset", "objective", "seed", "steps", "mig", "explained"), *rows])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
