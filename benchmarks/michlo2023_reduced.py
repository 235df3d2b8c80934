"""Keep what figures 9 to 11 of arXiv 2202.13341 take from each finished run of the sweep michlo2023_reduced.

    offaxis train sweep michlo2023_reduced --to runs/michlo2023_reduced --only seed=0
    python benchmarks/michlo2023_reduced.py runs/michlo2023_reduced

The sweep takes 14 hours of two cores, and its weights are too large to publish. So each run's part of the tables is
written to ``michlo2023_reduced_<figure>.csv`` in this folder, and the runs may be trained on several machines. Once a
figure's runs are all there, its record in docs/reproduction is written from the parts: the table that
``offaxis study run 2202.13341/fig9 --tier reduced`` computes from the same runs in one place.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import pandas as pd

from baselines.reproduction import entries, records, runner
from baselines.reproduction.papers.michlo2023 import ENTRIES
from baselines.training import sweep
from benchmark_data.errors import InvalidInput

HERE = Path(__file__).parent
TIER = "reduced"
FIGURES = {entry.id.rpartition("/")[2]: entry for entry in ENTRIES if entry.reduced and len(entry.reduced.runs) > 1}


def add_finished(figure: str, root: Path) -> pd.DataFrame:
    """Add the rows of each finished run to a figure's file, and return them in the order of its plan."""
    path, entry = HERE / f"michlo2023_{TIER}_{figure}.csv", FIGURES[figure]
    plan = entry.plan(TIER)
    parts = dict(list(pd.read_csv(path).groupby("run"))) if path.exists() else {}
    for config in plan.runs:
        status = sweep.run_status(config, root)
        if status.state == "done" and status.run not in parts:
            part = entry.compute({**plan.settings, "runs": (config,)}, entries.Runs(root), TIER).table
            parts[status.run] = part.assign(run=status.run, seconds=round(status.seconds, 1))
    finished = [parts[name] for name in map(sweep.run_path, plan.runs) if name in parts]
    if not finished:
        raise InvalidInput(f"{root}: expected finished runs of {entry.id}, received none. Train some: see --help.")
    rows = pd.concat(finished, ignore_index=True)
    rows.to_csv(path, index=False)
    return rows


def main() -> None:
    """Add what is finished, and say of each figure how many runs it has, or its verdict."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path)
    parser.add_argument("--to", type=Path, default=HERE.parent / "docs" / "reproduction")
    arguments = parser.parse_args()
    for figure, entry in FIGURES.items():
        start = time.perf_counter()
        rows, wanted = add_finished(figure, arguments.runs), len(entry.plan(TIER).runs)
        trained = dict(zip(rows["run"], rows.pop("seconds"), strict=True))
        if len(trained) < wanted:
            print(f"{figure}: {len(trained)} of {wanted} runs")
            continue
        result = entries.Outcome(rows.drop(columns="run"))
        record = runner.write_record(entry, TIER, arguments.to / entry.id, result, trained, start)
        print(records.format_record(record))


if __name__ == "__main__":
    main()
