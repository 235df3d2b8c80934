"""Images per second of rendering on one core: every dataset that needs no file, and XYSquares beside disent's.

    python benchmarks/rendering.py                            # every rendered dataset
    python benchmarks/rendering.py --disent /path/to/python   # and XYSquares beside disent, where that Python has it
    python benchmarks/rendering.py --to rendering.csv         # append every round to a record

What is asked for is what a training loop asks for: uint8 batches of 256 images whose rows are drawn at random. In the
race, each contender is a process of its own with one thread. In each round every contender in turn renders the same
rows while the others wait, so that a noisy machine is noisy for all; the median over the rounds counts. disent gives
one image at a time: ``disent, stacked`` puts 256 together with numpy, ``disent, DataLoader`` lets PyTorch collate them.
Before the race, all contenders must have made the same pixels.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rounds import append

BATCH = 256
LENGTH = 8**6
"""The number of images of XYSquares."""

COLUMNS = ("dataset", "contender", "round", "images_per_second", "images_per_processor_second")


def offaxis(spacing: int) -> Callable[[list[int]], Iterator[Any]]:
    """Render batches at once."""
    import benchmark_data

    dataset = benchmark_data.load("xysquares", spacing=spacing)

    def batches(rows: list[int]) -> Iterator[Any]:
        for start in range(0, len(rows), BATCH):
            yield dataset.images(rows[start : start + BATCH])

    return batches


def disent_stacked(spacing: int) -> Callable[[list[int]], Iterator[Any]]:
    """Render one image after another and stack them."""
    data = _disent(spacing)

    def batches(rows: list[int]) -> Iterator[Any]:
        for start in range(0, len(rows), BATCH):
            yield np.stack([data[row] for row in rows[start : start + BATCH]])

    return batches


def disent_loader(spacing: int) -> Callable[[list[int]], Iterator[Any]]:
    """Render one image after another in PyTorch's loader, in this process."""
    from torch.utils.data import DataLoader

    data = _disent(spacing)

    def batches(rows: list[int]) -> Iterator[Any]:
        return iter(DataLoader(data, batch_size=BATCH, sampler=rows))

    return batches


def _disent(spacing: int) -> Any:
    from disent.dataset.data import XYSquaresData

    return XYSquaresData(grid_size=8, grid_spacing=spacing, no_warnings=True)


CONTENDERS = {"offaxis": offaxis, "disent, stacked": disent_stacked, "disent, DataLoader": disent_loader}


def serve(name: str, spacing: int) -> None:
    """Print a hash of some images; then for every "seed images" on standard input render, and print the seconds."""
    batches = CONTENDERS[name](spacing)

    def rows(seed: int, count: int) -> list[int]:
        drawn: list[int] = np.random.default_rng(seed).integers(0, LENGTH, count).tolist()
        return drawn

    digest = hashlib.sha256()
    for batch in batches(rows(0, 4 * BATCH)):
        assert batch.shape == (BATCH, 64, 64, 3)
        digest.update(np.ascontiguousarray(batch).tobytes())
    print(digest.hexdigest(), flush=True)
    for line in sys.stdin:
        drawn = rows(*map(int, line.split()))
        wall, processor = time.perf_counter(), time.process_time()
        for batch in batches(drawn):
            assert len(batch) == BATCH
        print(time.perf_counter() - wall, time.process_time() - processor, flush=True)


def race(disent: str, spacing: int, rounds: int, images: int, record: Path | None) -> None:
    """Run the race and print a table."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    running = {}
    hashes = set()
    for name in CONTENDERS:
        python = disent if name.startswith("disent") else sys.executable
        running[name] = process = subprocess.Popen(
            [python, __file__, "--serve", name, "--spacing", str(spacing)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        assert process.stdout is not None
        hashes.add(process.stdout.readline())
    if len(hashes) != 1:
        raise SystemExit("the contenders' images differ, or one of them did not start")
    rates: dict[str, list[float]] = {name: [] for name in running}
    work: dict[str, list[float]] = {name: [] for name in running}
    for turn in range(rounds):
        for name, process in running.items():
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(f"{turn} {images}\n")
            process.stdin.flush()
            wall, processor = map(float, process.stdout.readline().split())
            rates[name].append(images / wall)
            work[name].append(images / processor)
    for process in running.values():
        process.communicate()
    for name in running:
        append(record, COLUMNS, lines(f"xysquares/spacing_{spacing}", name, rates[name], work[name]))
    print(
        f"\nXYSquares, spacing {spacing}: uint8 batches of {BATCH}, {rounds} rounds of {images:,} images, same pixels"
    )
    print(f"{'':20}{'images/s':>10}{'range':>24}{'offaxis is':>14}{'images/CPU s':>14}{'offaxis is':>14}")
    for name in running:
        span = f"{min(rates[name]):,.0f} to {max(rates[name]):,.0f}"
        wall, processor = (
            statistics.median(ours / theirs for ours, theirs in zip(rate["offaxis"], rate[name], strict=True))
            for rate in (rates, work)
        )
        print(f"{name:20}{statistics.median(rates[name]):10,.0f}{span:>24}{wall:12.2f} x", end="")
        print(f"{statistics.median(work[name]):14,.0f}{processor:12.2f} x")


def lines(dataset: str, contender: str, rates: Sequence[float], work: Sequence[float]) -> Iterator[Sequence[object]]:
    """Return one contender's lines of a record."""
    for turn, (wall, processor) in enumerate(zip(rates, work, strict=True)):
        yield dataset, contender, turn, f"{wall:.0f}", f"{processor:.0f}"


def every_dataset(rounds: int, record: Path | None) -> None:
    """Print the rate of the default config of every rendered dataset."""
    import threadpoolctl

    import benchmark_data
    from benchmark_data.commands.descriptions import source_kind

    print(f"{'':32}{'images/s':>10}{'images/CPU s':>14}")
    for name in benchmark_data.names():
        dataset = benchmark_data.load(name)
        if source_kind(dataset) != "rendered":
            continue
        rates, work = [], []
        with threadpoolctl.threadpool_limits(1):
            for turn in range(rounds + 1):
                rows = np.random.default_rng(turn).integers(0, len(dataset), (8, BATCH))
                images, wall, processor = 0, time.perf_counter(), time.process_time()
                while time.perf_counter() < wall + 0.5:
                    for batch in rows:
                        images += len(dataset.images(batch))
                if turn:  # the first one fills tables
                    rates.append(images / (time.perf_counter() - wall))
                    work.append(images / (time.process_time() - processor))
        append(record, COLUMNS, lines(dataset.id, "alone", rates, work))
        print(f"{dataset.id:32}{statistics.median(rates):10,.0f}{statistics.median(work):14,.0f}")


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--disent", metavar="PYTHON", help="a Python with disent (and torch, torchvision)")
    parser.add_argument("--spacing", type=int, default=8, help="spacing of XYSquares in the race")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument(
        "--images", type=int, default=64 * BATCH, help="images per round and contender; a multiple of 256"
    )
    parser.add_argument("--to", type=Path, metavar="CSV", help="a record to which every round is appended")
    parser.add_argument("--serve", metavar="NAME", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, options.spacing)
        return
    print(f"{os.cpu_count()} cores, one thread each, load {os.getloadavg()[0]:.1f}; median of {options.rounds} rounds")
    every_dataset(options.rounds, options.to)
    if options.disent:
        race(options.disent, options.spacing, options.rounds, options.images, options.to)


if __name__ == "__main__":
    main()
