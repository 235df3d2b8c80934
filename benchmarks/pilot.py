"""Score the finished runs of a pilot: MIG on its task, explained variance, and where the terms of the loss ended.

Run: python benchmarks/pilot.py RUNS --to benchmarks/desk_pilot.csv

RUNS is the folder of a sweep such as ``offaxis train sweep desk_pilot``. Rows that the file holds and RUNS does not are
kept, so that a pilot may be trained on several machines.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd

from baselines.run import Run
from leaderboard import protocol
from leaderboard.metrics import mig
from leaderboard.scoring import candidates

KEY = ["dataset", "architecture", "objective", "strengths", "weight", "seed", "steps"]
SHOWN = ("beta", "gamma", "c_max", "lambda_od", "lambda_d")


def row(folder: Path) -> dict[str, object]:
    """Return what the table holds of a run."""
    run = Run.open(folder)
    config, last = run.config, run.history[-1]
    task = protocol.task(config.dataset)
    train = len(task.train)
    codes = candidates.read_codes(folder / "codes.npz", task)[0][:train]
    strengths = {name: value for name, value in config.hyperparameters.items() if name in SHOWN}
    return {
        "dataset": config.dataset,
        "architecture": config.architecture,
        "objective": config.objective,
        "strengths": " ".join(f"{name}={value:g}" for name, value in strengths.items()),
        "weight": config.reconstruction_weight,
        "seed": config.seed,
        "steps": config.steps,
        "mig": round(mig.score(codes, task.labels()[:train])["mig"], 4),
        "reconstruction": float(f"{last['reconstruction']:.6g}"),
        "kl": round(last.get("kl", 0.0), 2),
        "explained": round(run.explained(), 4),
    }


def main() -> None:
    """Write the table and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path)
    parser.add_argument("--to", type=Path, required=True)
    arguments = parser.parse_args()
    table = pd.DataFrame([row(file.parent) for file in sorted(arguments.runs.rglob("codes.npz"))])
    if arguments.to.exists():
        table = pd.concat([pd.read_csv(arguments.to), table])
    table = table.drop_duplicates(KEY, keep="last").sort_values(KEY)
    table.to_csv(arguments.to, index=False)
    print(table.to_string(index=False))


if __name__ == "__main__":
    main()
