"""What the demo's model scores over seeds, threads and machines: a line of demo_seeds.csv for each run.

    python benchmarks/demo_seeds.py --seeds 0 1 2 3 4 5 6 7 8 9
    OMP_NUM_THREADS=1 TF_NUM_INTRAOP_THREADS=1 python benchmarks/demo_seeds.py --seeds 0 1 2
    TF_ENABLE_ONEDNN_OPTS=0 python benchmarks/demo_seeds.py --seeds 0 1 2

Run it on another machine, which adds its lines: README and the tutorial quote the range over all of them, and a test
holds them to it.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import os
import platform
import tempfile
import time
from pathlib import Path

import baselines
from baselines import demo
from baselines.nets import backend
from baselines.training import sweep
from leaderboard import protocol
from leaderboard.metrics import mig

RECORD = Path(__file__).with_suffix(".csv")

FIELDS = (
    *("dataset", "seed", "steps", "mig", "explained", "config", "cpu_seconds", "seconds", "load"),
    *("machine", "cores", "threads", "onednn", "python", "keras", "tensorflow", "numpy"),
)
"""``config`` is how the digest of the run's config begins; ``load`` is the machine's as the run ends."""


def processor() -> str:
    """Give the processor's name."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def measured(config: baselines.RunConfig, into: Path) -> dict[str, object]:
    """Train a run and score it as the board does."""
    wall, cpu = time.perf_counter(), time.process_time()
    run = baselines.train(config, into / sweep.place(config))
    took = time.perf_counter() - wall, time.process_time() - cpu
    rows = protocol.task(config.dataset).train
    score = mig.score(run.encode_rows(rows), run.dataset.labels(rows))["mig"]
    share = demo.explained(run)
    versions = backend.versions("keras", "tensorflow", "numpy")
    del versions["offaxis"]  # the config says what was run
    return {
        **{"dataset": config.dataset, "seed": config.seed, "steps": config.steps, "config": config.digest[:8]},
        **{"mig": f"{score:.4f}", "explained": f"{share:.4f}"},
        **{"seconds": f"{took[0]:.0f}", "cpu_seconds": f"{took[1]:.0f}", "load": f"{os.getloadavg()[0]:.1f}"},
        **{"machine": processor(), "cores": os.cpu_count(), **versions},
        **{"threads": os.environ.get("TF_NUM_INTRAOP_THREADS", "all")},
        **{"onednn": os.environ.get("TF_ENABLE_ONEDNN_OPTS", "default")},
    }


def main() -> None:
    """Train and write a line for each run, as soon as it is there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=list(range(10)))
    parser.add_argument("--datasets", nargs="+", default=list(demo.DATASETS))
    parser.add_argument("--into", type=Path, help="keep the runs here, where the demo would; else in no place")
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        into = options.into or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for seed in options.seeds:
            for dataset in options.datasets:
                add(demo.configs(dataset, seeds=[seed])[0], into)


def add(config: baselines.RunConfig, into: Path) -> None:
    """Measure a run and add its line to the record."""
    row = measured(config, into)
    new = not RECORD.exists()
    with RECORD.open("a", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, FIELDS, lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerow(row)
    print(config.dataset, config.seed, row["mig"], row["explained"])


if __name__ == "__main__":
    main()
