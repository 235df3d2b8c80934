"""How fast batches reach users of tf.data, TFDS, Hugging Face and PyTorch, beside numpy and beside reading files.

Each contender is a process of its own with one thread. In each round every contender in turn reads the same number of
images while the others wait, and the median over the rounds of its ratio within a round counts, so that a busy machine
is busy for all. Time is that of the processor, workers included; wall time is given too.

    python benchmarks/reading.py --dataset xysquares/spacing_2 --torch PYTHON     # a Python with PyTorch; optional
    python benchmarks/reading.py --dataset room3d --stored                        # kept pixels instead of drawn ones
    python benchmarks/reading.py --dataset room3d --to reading.csv                # append every round to a record

Rows come from the first ``--rows`` of the dataset, of which the files for ``tfds.load`` and ``load_dataset`` are built.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from rounds import append

import benchmark_data
from benchmark_data import Dataset, FactorTable, reading
from benchmark_data.archives.archive import Precomputed

BATCH = 256
COLUMNS = ("dataset", "contender", "round", "images_per_processor_second", "images_per_second")

Ways = Mapping[str, Callable[[int], Iterable[Any]]]
"""Name of a contender -> gives batches (or records, for those whose name ends in "one by one") of a pass."""


def first_rows(name: str, rows: int, stored: bool) -> Dataset:
    """Return the first rows of a dataset as one split, drawn or kept as pixels."""
    dataset = benchmark_data.load(name)
    labels = dataset.labels(range(rows))
    space = FactorTable(*dataset.space.factors, rows=rows, read=lambda: labels)
    part = dataclasses.replace(dataset, name=f"first_{dataset.name}", config="", space=space, splits={})
    if not stored:
        return part
    pixels = Precomputed(
        id=f"stored_{dataset.name}",
        version=dataset.version,
        image_shape=dataset.image_shape,
        base=part,
        change=lambda images, indices, labels: images,
    )
    return dataclasses.replace(part, name=f"stored_{dataset.name}", source=pixels)


def numpy_ways(dataset: Dataset, folder: Path) -> Ways:
    """Return numpy batches of drawn rows."""

    def batches(turn: int) -> Iterable[Any]:
        order = reading.order(range(len(dataset)), seed=turn)
        return (
            (dataset.images(order[start : start + BATCH]), dataset.labels(order[start : start + BATCH]))
            for start in range(0, len(order), BATCH)
        )

    return {"numpy: images and labels": batches}


def tfds_ways(dataset: Dataset, folder: Path) -> Ways:
    """Return what TFDS reads from files, and what needs none."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf
    import tensorflow_datasets as tfds

    from benchmark_data import tfds as provider

    tf.config.threading.set_inter_op_parallelism_threads(1)
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tfds.disable_progress_bar()
    builder_class = provider.builder_class(dataset)
    builder = builder_class(data_dir=folder / "tfds")
    builder.download_and_prepare()
    tfrecord_builder = builder_class(data_dir=folder / "tfrecord", file_format="tfrecord")
    tfrecord_builder.download_and_prepare()
    source = builder.as_data_source(split="train")
    direct = provider.as_dataset(dataset, batch_size=BATCH, shuffle_seed=0)
    return {
        "TFDS: tfds.load, array_record": lambda turn: builder.as_dataset(split="train", batch_size=BATCH),
        "TFDS: tfds.load, tfrecord": lambda turn: tfrecord_builder.as_dataset(split="train", batch_size=BATCH),
        "TFDS: tfds.data_source": lambda turn: (
            source.__getitems__(range(i, min(i + BATCH, len(dataset)))) for i in range(0, len(dataset), BATCH)
        ),
        "TFDS: as_dataset, shuffled": lambda turn: direct,
        "TFDS: tfds.load, one by one": lambda turn: builder.as_dataset(split="train"),
        "TFDS: as_dataset, one by one": lambda turn: provider.as_dataset(dataset),
    }


def hf_ways(dataset: Dataset, folder: Path) -> Ways:
    """Return what ``datasets`` reads from files or encodes, and what needs neither."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    import datasets

    from benchmark_data import hf

    datasets.disable_progress_bars()
    hf.publish(dataclasses.replace(dataset, redistributable=True), folder / "hf")
    options = {"split": "train", "cache_dir": str(folder / "cache")}
    cached = datasets.load_dataset(str(folder / "hf"), **options).with_format("numpy")
    streamed = datasets.load_dataset(str(folder / "hf"), streaming=True, **options)
    return {
        "HF: load_dataset, streaming": lambda turn: streamed.iter(batch_size=64),
        "HF: load_dataset, from its cache": lambda turn: cached.iter(batch_size=BATCH),
        "HF: as_dataset, shuffled": lambda turn: hf.as_dataset(dataset, shuffle_seed=turn).iter(batch_size=BATCH),
        "HF: load_dataset, streaming, one by one": lambda turn: streamed,
        "HF: as_dataset, one by one": lambda turn: hf.as_dataset(dataset),
    }


def torch_ways(dataset: Dataset, folder: Path) -> Ways:
    """Return PyTorch's loaders."""
    import torch
    from torch.utils.data import DataLoader

    from benchmark_data import torch as provider

    torch.set_num_threads(1)
    data = provider.Images(dataset)
    numpy_batches = numpy_ways(dataset, folder)["numpy: images and labels"]
    persistent = provider.loader(data, BATCH, shuffle_seed=0, num_workers=2, persistent_workers=True)
    return {
        "numpy: images and labels, beside PyTorch": numpy_batches,
        "PyTorch: loader": lambda turn: provider.loader(data, BATCH, shuffle_seed=turn),
        "PyTorch: plain DataLoader": lambda turn: DataLoader(data, BATCH, shuffle=True),
        "PyTorch: loader, 2 workers": lambda turn: persistent,
    }


GROUPS = {"numpy": numpy_ways, "tfds": tfds_ways, "hf": hf_ways, "torch": torch_ways}


def serve(group: str, dataset: Dataset, folder: Path) -> None:
    """Print the contenders' names; then for every "turn name" on standard input read a pass, and print what it took."""
    answers, sys.stdout = sys.stdout, sys.stderr  # some libraries print
    ways = GROUPS[group](dataset, folder)
    print("\t".join(ways), file=answers, flush=True)
    for line in sys.stdin:
        turn, name = line.rstrip("\n").split("\t")
        before, wall = _processor(), time.perf_counter()
        count = 0
        single = name.endswith("one by one")
        for batch in ways[name](int(turn)):
            count += 1 if single else len(_images(batch))
            if single and count == 2048:  # what takes long need not take long here
                break
        print(count, time.perf_counter() - wall, _processor() - before, file=answers, flush=True)


def _images(batch: Any) -> Any:
    if isinstance(batch, dict):
        return batch["image"]
    return batch[0] if isinstance(batch, tuple | list) else batch


def _processor() -> float:
    """Return the processor seconds of this process and of its children, live ones too."""
    import psutil

    seconds = sum(resource.getrusage(resource.RUSAGE_SELF)[:2]) + sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    for child in psutil.Process().children(recursive=True):
        try:
            seconds += sum(child.cpu_times()[:2])
        except psutil.NoSuchProcess:
            continue
    return seconds


def race(options: argparse.Namespace) -> None:
    """Run the contenders in turn, and print a table."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        environment["OFFAXIS_CACHE"] = folder
        if options.stored:
            first_rows(options.dataset, options.rows, stored=True).prepare()
        contenders: dict[str, subprocess.Popen[str]] = {}
        running = []
        for group in GROUPS:
            if (group == "torch" and not options.torch) or (options.only and group not in options.only):
                continue
            python = options.torch if group == "torch" else sys.executable
            command = [python, __file__, "--serve", group, "--dataset", options.dataset, "--rows", str(options.rows)]
            process = subprocess.Popen(
                [*command, "--folder", folder, *(["--stored"] if options.stored else [])],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=None if options.verbose else subprocess.DEVNULL,
                text=True,
                env=environment,
            )
            running.append(process)
            names = _answer(process).split("\t")
            contenders |= dict.fromkeys(names, process)
        rates: dict[str, list[tuple[float, float]]] = {name: [] for name in contenders}
        for turn in range(-1, options.rounds):  # the first round warms up
            for name, process in contenders.items():
                assert process.stdin is not None
                process.stdin.write(f"{max(turn, 0)}\t{name}\n")
                process.stdin.flush()
                images, wall, processor = map(float, _answer(process).split())
                if turn >= 0:
                    rates[name].append((images / processor, images / wall))
        for process in running:
            assert process.stdin is not None
            process.stdin.close()
            process.wait()
    for name, measured in rates.items():
        rounds = ((options.dataset, name, i, f"{work:.0f}", f"{wall:.0f}") for i, (work, wall) in enumerate(measured))
        append(options.to, COLUMNS, rounds)
    print(
        f"{options.dataset}{', kept pixels' if options.stored else ''}: {options.rows:,} rows, {options.rounds} rounds"
    )
    print(
        "| | images per processor second | of numpy's rate | of the slow way's | images/s, wall | of the slow way's |"
    )
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for name, measured in rates.items():
        slow = SLOW_WAYS.get(name, name)
        fast = "numpy: images and labels" + (", beside PyTorch" if name.startswith("PyTorch") else "")
        fast = fast if fast in rates else name
        cells = [
            statistics.median(processor for processor, _ in measured),
            _ratio(measured, rates[fast], 0),
            _ratio(measured, rates[slow], 0),
            statistics.median(wall for _, wall in measured),
            _ratio(measured, rates[slow], 1),
        ]
        print(f"| {name} | {cells[0]:,.0f} | {cells[1]:.3f} | {cells[2]:.2f} | {cells[3]:,.0f} | {cells[4]:.2f} |")


SLOW_WAYS = {
    "TFDS: tfds.load, tfrecord": "TFDS: tfds.load, array_record",
    "TFDS: tfds.data_source": "TFDS: tfds.load, array_record",
    "TFDS: as_dataset, shuffled": "TFDS: tfds.load, array_record",
    "TFDS: as_dataset, one by one": "TFDS: tfds.load, one by one",
    "HF: load_dataset, from its cache": "HF: load_dataset, streaming",
    "HF: as_dataset, shuffled": "HF: load_dataset, streaming",
    "HF: as_dataset, one by one": "HF: load_dataset, streaming, one by one",
    "PyTorch: plain DataLoader": "PyTorch: loader",
    "PyTorch: loader, 2 workers": "PyTorch: loader",
}
"""The slow way that a contender is compared with."""


def _ratio(measured: list[tuple[float, float]], other: list[tuple[float, float]], column: int) -> float:
    return statistics.median(a[column] / b[column] for a, b in zip(measured, other, strict=True))


def _answer(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    line = process.stdout.readline().rstrip("\n")
    if not line:
        raise SystemExit("a contender did not start; --verbose says why")
    return line


def main() -> None:
    """Run the race, or one of its contenders."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--dataset", default="xysquares/spacing_2", help="full name")
    parser.add_argument("--rows", type=int, default=16_384, help="how many of its rows are read")
    parser.add_argument("--rounds", type=int, default=5, help="rounds, of which the median counts")
    parser.add_argument(
        "--stored", action="store_true", help="keep the pixels as an archive's, instead of drawing them"
    )
    parser.add_argument("--torch", metavar="PYTHON", help="a Python with PyTorch and this package's dependencies")
    parser.add_argument("--only", choices=GROUPS, nargs="+", help="these contenders alone")
    parser.add_argument("--to", type=Path, metavar="CSV", help="a record to which every round is appended")
    parser.add_argument("--verbose", action="store_true", help="show what contenders complain of")
    parser.add_argument("--serve", choices=GROUPS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, first_rows(options.dataset, options.rows, options.stored), options.folder)
    else:
        race(options)


if __name__ == "__main__":
    main()
