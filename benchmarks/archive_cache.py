"""What it costs to prepare an archive and to read from it: peak memory, time to open, images per second.

A file in MPI3D's format is made with random pixels, of any number of rows, and goes through the whole loader. The real
files have 1,036,800 rows (12.7 GB, and as much again for the prepared form).

    python benchmarks/archive_cache.py --rows 100000
    python benchmarks/archive_cache.py --rows 1036800 --folder /some/large/disk
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import numpy as np


def write_npz(path: Path, rows: int) -> None:
    """Write ``images`` as the authors do: stored, row by row."""
    block = np.random.default_rng(0).integers(0, 256, (4096, 64, 64, 3), dtype=np.uint8)
    with (
        zipfile.ZipFile(path, "w", allowZip64=True) as archive,
        archive.open("images.npy", "w", force_zip64=True) as out,
    ):
        header = {"descr": "|u1", "fortran_order": False, "shape": (rows, 64, 64, 3)}
        np.lib.format.write_array_header_1_0(out, header)
        for start in range(0, rows, len(block)):
            out.write(block[: rows - start].tobytes())


def archive(rows: int):
    """Return MPI3D's declaration for so many rows and no published figures."""
    from benchmark_data.archives.checks import PublishedStatistics
    from benchmark_data.datasets.mpi3d import DATASET
    from benchmark_data.factors import Factor

    source = DATASET.configs["toy"].source
    space = (Factor("hundred", range(rows // 100)), Factor("one", range(100)))
    return dataclasses.replace(
        source, factors=space, rows=rows, statistics=PublishedStatistics(means=(0.5,) * 3, tolerance=1.0)
    )


def prepare(folder: Path, rows: int) -> dict[str, float]:
    """Prepare, in a process of its own, and say what it took."""
    start = time.perf_counter()
    archive(rows).prepare(manual_dir=folder)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": time.perf_counter() - start, "peak_mib": peak}


def read(folder: Path, rows: int) -> dict[str, float]:
    """Open and read at random, in a process of its own."""
    source = archive(rows)
    start, processor = time.perf_counter(), time.process_time()
    source.store()
    opened, opened_cpu = time.perf_counter() - start, time.process_time() - processor
    warm = min(rows, 100_000)
    for row in range(0, warm, 4096):
        source.images(np.arange(row, min(row + 4096, warm)), np.empty(0))
    rng = np.random.default_rng(0)
    rates = []
    for _ in range(9):
        batches = rng.integers(0, warm, (40, 256))
        wall, cpu = time.perf_counter(), time.process_time()
        for batch in batches:
            source.images(batch, np.empty(0))
        rates.append((batches.size / (time.perf_counter() - wall), batches.size / (time.process_time() - cpu)))
    wall_rate, cpu_rate = (statistics.median(column) for column in zip(*rates, strict=True))
    opening = {"open_ms": opened * 1e3, "open_cpu_ms": opened_cpu * 1e3}
    return {**opening, "images_per_second": wall_rate, "images_per_core_second": cpu_rate}


def main() -> None:
    """Run both steps, each in a process of its own, and print their figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000, help="a multiple of 100")
    parser.add_argument(
        "--folder", type=Path, help="where the files are made and removed; a temporary folder if not given"
    )
    parser.add_argument("--step", choices=["prepare", "read"], help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.step:
        print(json.dumps({"prepare": prepare, "read": read}[arguments.step](arguments.folder, arguments.rows)))
        return
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        write_npz(Path(folder) / "mpi3d_toy.npz", arguments.rows)
        for step in ("prepare", "read"):
            command = [sys.executable, __file__, "--rows", str(arguments.rows), "--folder", folder, "--step", step]
            environment = {**os.environ, "OFFAXIS_CACHE": f"{folder}/cache"}
            result = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True, text=True)
            for quantity, value in json.loads(result.stdout).items():
                print(f"{step}: {quantity} {value:,.1f}")


if __name__ == "__main__":
    main()
