"""Keep what an entry of the papers takes from each finished run at tier reduced, and write its record from the parts.

    offaxis train sweep michlo2023_reduced --to runs/reduced --only seed=0
    python benchmarks/reduced.py runs/reduced
    python benchmarks/reduced.py runs/reduced --train table1 table2 --jobs 2

The runs take many hours (those of 2202.13341 14 of two cores), and their weights are too large to publish. So each
run's part of the tables is written to ``<paper>_reduced_<figure>.csv`` in this folder, and the runs may be trained on
several machines. Once all runs of an entry are there, its record in docs/reproduction is written from the parts: the
table that ``offaxis study run ID --tier reduced`` computes from the same runs in one place.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import pandas as pd

from baselines.reproduction import entries, records, runner
from baselines.reproduction.papers import michlo2023, zietlow2021
from baselines.training import sweep

HERE = Path(__file__).parent
TIER = "reduced"
FIGURES = {
    entry.id.rpartition("/")[2]: (paper.__name__.rpartition(".")[2], entry)
    for paper in (michlo2023, zietlow2021)
    for entry in paper.ENTRIES
    if entry.reduced and len(entry.reduced.runs) > 1
}


def add_finished(figure: str, root: Path) -> pd.DataFrame:
    """Add the rows of each finished run to a figure's file, and return them in the order of its plan."""
    paper, entry = FIGURES[figure]
    path, plan = HERE / f"{paper}_{TIER}_{figure}.csv", entry.plan(TIER)
    parts = dict(list(pd.read_csv(path).groupby("run"))) if path.exists() else {}
    for config in plan.runs:
        status = sweep.run_status(config, root)
        if status.state == "done" and status.run not in parts:
            single_run = {"runs": (config,), "strengths": ((1.0, (config,)),)}
            part = entry.compute({**plan.settings, **single_run}, entries.Runs(root), TIER).table
            parts[status.run] = part.assign(run=status.run, seconds=round(status.seconds, 1))
    done = [parts[name] for name in map(sweep.run_path, plan.runs) if name in parts]
    if not done:
        return pd.DataFrame(columns=["run", "seconds"])
    rows = pd.concat(done, ignore_index=True)
    rows.to_csv(path, index=False)
    return rows


def main() -> None:
    """Add what is finished, and say of each figure how many runs it has, or its verdict."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path)
    parser.add_argument("--train", nargs="+", choices=FIGURES, default=(), help="first train the runs of these")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--to", type=Path, default=HERE.parent / "docs" / "reproduction")
    arguments = parser.parse_args()
    configs = {config.digest: config for name in arguments.train for config in FIGURES[name][1].plan(TIER).runs}
    if configs:
        by_seed = sorted(configs.values(), key=lambda config: config.seed)  # whole seeds first
        sweep.run(by_seed, arguments.runs, jobs=arguments.jobs, threads=1)
    for figure, (_, entry) in FIGURES.items():
        start = time.perf_counter()
        rows, wanted = add_finished(figure, arguments.runs), len(entry.plan(TIER).runs)
        trained = dict(zip(rows["run"], rows.pop("seconds"), strict=True))
        if len(trained) < wanted:
            print(f"{figure}: {len(trained)} of {wanted} runs")
            continue
        if runner.state(entry, TIER, arguments.to, arguments.runs) == "done":
            print(f"{figure}: recorded")
            continue
        result = entries.Outcome(rows.drop(columns="run"))
        record = runner.write_record(entry, TIER, arguments.to / entry.id, result, trained, start)
        print(records.format_record(record))


if __name__ == "__main__":
    main()
