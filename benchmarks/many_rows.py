"""What metrics cost on a million rows: time and memory of each, in a process of its own.

python benchmarks/many_rows.py --rows 1000000
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import time
from collections.abc import Callable

import numpy as np
import rich.console
import rich.table

from leaderboard.comparisons import cka
from leaderboard.metrics import irs, mig, modularity_explicitness, sap, unsupervised

SIZES = (3, 6, 40, 32, 32)
LATENTS = 10


def run_mig(z: np.ndarray, v: np.ndarray) -> object:
    """MIG."""
    return mig.score(z, v)


def run_sap(z: np.ndarray, v: np.ndarray) -> object:
    """SAP, half as many rows held out."""
    half = len(z) // 2
    return sap.score(z, v, codes_test=z[:half], factors_test=v[:half])


def run_modularity(z: np.ndarray, v: np.ndarray) -> object:
    """Modularity."""
    return modularity_explicitness.modularity(z, v)


def run_irs(z: np.ndarray, v: np.ndarray) -> object:
    """IRS."""
    return irs.score(z, v)


def run_unsupervised(z: np.ndarray, v: np.ndarray) -> object:
    """The unsupervised scores."""
    return unsupervised.score(z)


def run_cka(z: np.ndarray, v: np.ndarray) -> object:
    """CKA of the codes and the factors."""
    return cka.compare(z, v)


def run_nothing(z: np.ndarray, v: np.ndarray) -> object:
    """The arrays alone."""
    return None


TASKS: tuple[Callable[[np.ndarray, np.ndarray], object], ...] = (
    run_nothing, run_mig, run_sap, run_modularity, run_irs, run_unsupervised, run_cka,
)  # fmt: skip


def measure(task: Callable[[np.ndarray, np.ndarray], object], rows: int) -> tuple[float, float, float]:
    """Return wall-clock and processor seconds, and the peak memory of this process in GiB."""
    rng = np.random.default_rng(0)
    factors = np.stack([rng.integers(0, size, rows) for size in SIZES], axis=1)
    codes = (factors @ rng.normal(size=(len(SIZES), LATENTS)) / 20).astype(np.float32)
    codes += 0.1 * rng.standard_normal(codes.shape, np.float32)
    begin, begin_processor = time.perf_counter(), time.process_time()
    task(codes, factors)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return time.perf_counter() - begin, time.process_time() - begin_processor, peak


def main() -> None:
    """Run the tasks and print what they took."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    options = parser.parse_args()
    out = rich.console.Console(width=120, highlight=False)
    out.print(f"{options.rows:,} rows, {LATENTS} latents, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    table = rich.table.Table("", "wall s", "processor s", "peak memory GiB")
    context = multiprocessing.get_context("spawn")
    for task in TASKS:
        with context.Pool(1) as pool:
            measured = pool.apply(measure, (task, options.rows))
        table.add_row((task.__doc__ or "").rstrip("."), *(f"{value:.3g}" for value in measured))
    out.print(table)


if __name__ == "__main__":
    main()
