"""What the demo's model scores over seeds, threads and machines: a line of demo_seeds.csv for each run.

    python benchmarks/demo_seeds.py --seeds 0 1 2 3 4 5 6 7 8 9
    OMP_NUM_THREADS=1 TF_NUM_INTRAOP_THREADS=1 python benchmarks/demo_seeds.py --seeds 0 1 2
    TF_ENABLE_ONEDNN_OPTS=0 python benchmarks/demo_seeds.py --seeds 0 1 2
    pytest tests/baselines/test_demo.py --update-golden

Run it on another machine, which adds its lines. README and the tutorial quote the ranges over all of them: the last
command writes them there, and without its option it is the test that holds the pages to the record.
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
from typing import Any

from numpy.typing import NDArray

import baselines
import benchmark_data
from baselines import demo, untrained
from baselines.nets import backend
from baselines.training import sweep
from leaderboard import protocol
from leaderboard.metrics import mig

RECORD = Path(__file__).with_suffix(".csv")

FIELDS = (
    *("method", "dataset", "seed", "steps", "mig", "explained", "config", "cpu_seconds", "seconds", "load"),
    *("machine", "cores", "threads", "onednn", "python", "keras", "tensorflow", "numpy"),
)
"""``config`` is how the digest of a run's config begins; ``load`` is the machine's as the run ends."""


def processor() -> str:
    """Return the processor's name."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def train_and_score(config: baselines.RunConfig, into: Path) -> dict[str, object]:
    """Train a run and score it as the board does."""
    run = baselines.train(config, into / sweep.run_path(config))
    codes = run.encode_rows(protocol.task(config.dataset).train)
    return {
        **{"method": config.objective, "steps": config.steps, "config": config.digest[:8]},
        **{"mig": score(config.dataset, codes), "explained": f"{demo.explained_share(run):.4f}"},
    }


def reference(name: str, dataset: str, seed: int) -> dict[str, object]:
    """Score what is not trained."""
    codes = untrained.find(name).codes(benchmark_data.load(dataset), protocol.task(dataset).train, seed=seed)
    return {"method": name, "steps": 0, "mig": score(dataset, codes)}


def score(dataset: str, codes: NDArray[Any]) -> str:
    """Print the MIG of codes of the board's rows."""
    labels = benchmark_data.load(dataset).labels(protocol.task(dataset).train)
    return f"{mig.score(codes, labels)['mig']:.4f}"


def circumstances(wall: float, cpu: float) -> dict[str, object]:
    """Describe where and how something ran that began at these times."""
    versions = backend.versions("keras", "tensorflow", "numpy")
    del versions["offaxis"]  # the config says what was run
    return {
        **{"seconds": f"{time.perf_counter() - wall:.0f}", "cpu_seconds": f"{time.process_time() - cpu:.0f}"},
        **{"load": f"{os.getloadavg()[0]:.1f}", "machine": processor(), "cores": os.cpu_count(), **versions},
        **{"threads": os.environ.get("TF_NUM_INTRAOP_THREADS", "all")},
        **{"onednn": os.environ.get("TF_ENABLE_ONEDNN_OPTS", "default")},
    }


def main() -> None:
    """Train and write a line for each run, as soon as it is there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=list(range(10)))
    parser.add_argument("--datasets", nargs="+", default=list(demo.DATASETS))
    parser.add_argument("--methods", nargs="+", default=[demo.SETTINGS["objective"]], help="or what is not trained")
    parser.add_argument("--to", type=Path, help="keep the runs here, where the demo would; else in no place")
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        into = options.to or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for seed in options.seeds:
            for dataset in options.datasets:
                for name in options.methods:
                    add(name, dataset, seed, into)


def add(method: str, dataset: str, seed: int, into: Path) -> None:
    """Measure a method and add its line to the record."""
    wall, cpu = time.perf_counter(), time.process_time()
    if method in demo.UNTRAINED:
        scores = reference(method, dataset, seed)
    else:
        scores = train_and_score(demo.configs(dataset, seeds=[seed])[0], into)
    new = not RECORD.exists()
    with RECORD.open("a", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, FIELDS, lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerow({"dataset": dataset, "seed": seed, **scores, **circumstances(wall, cpu)})
    print(method, dataset, seed, scores["mig"], scores.get("explained", ""))


if __name__ == "__main__":
    main()
