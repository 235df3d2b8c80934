"""How fast datasets are built for TFDS and Hugging Face, beside the plain way of each library.

The contestants of a race take turns, and the median of several rounds counts, so that a busy machine slows all alike.
The plain ways are what the libraries' guides show: a ``GeneratorBasedBuilder`` that yields one numpy or Pillow image
after another. All write the same records to the same disk.

    python benchmarks/building.py --dataset xysquares/spacing_4 --examples 32768 --rounds 3 --to building.csv
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import psutil
import rich.console
import rich.table
from PIL import Image
from rounds import append

import benchmark_data
from benchmark_data import Dataset, FactorTable

COLUMNS = ("dataset", "contender", "round", "examples_per_second", "bytes_per_image")

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ["HF_HUB_OFFLINE"] = "1"


def main() -> None:
    """Run the races and print what they gave."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dataset", action="append", help="full name; may be given several times")
    parser.add_argument("--examples", type=int, default=32_768, help="rows to build in each round")
    parser.add_argument("--rounds", type=int, default=3, help="rounds, of which the median counts")
    parser.add_argument(
        "--no-memory", action="store_true", help="leave out the full builds that peak memory is taken of"
    )
    parser.add_argument("--to", type=Path, metavar="CSV", help="a record to which every round is appended")
    options = parser.parse_args()
    out = rich.console.Console(width=120, highlight=False)
    out.print(f"{joblib.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start")
    for name in options.dataset or ["xysquares/spacing_4"]:
        dataset = benchmark_data.load(name)
        dataset.prepare()
        out.print(
            f"\n[bold]{name}[/bold]: images {dataset.image_shape}, {options.examples:,} rows, {options.rounds} rounds"
        )
        out.print(f"rendering, batches of 256, one core: {rendering_rate(dataset, options.rounds):,.0f} images/s")
        with tempfile.TemporaryDirectory() as folder:
            race(dataset, options.examples, options.rounds, Path(folder), out, options.to)
            if not options.no_memory:
                memory(dataset, Path(folder), out)


def rendering_rate(dataset: Dataset, rounds: int) -> float:
    """Return the images per second of one core, as the median over rounds of about a second each."""
    rows = np.random.default_rng(0).integers(0, len(dataset), (64, 256))
    rates = []
    for _ in range(rounds):
        images, start = 0, time.perf_counter()
        while time.perf_counter() < start + 1:
            for batch in rows:
                images += len(dataset.images(batch))
        rates.append(images / (time.perf_counter() - start))
    return statistics.median(rates)


def race(
    dataset: Dataset, examples: int, rounds: int, folder: Path, out: rich.console.Console, record: Path | None
) -> None:
    """Build the first rows of a dataset in every way, in turns, and print rates, ratios and sizes."""
    part = first_rows(dataset, min(examples, len(dataset)))
    ways = {**tfds_ways(part), **hf_ways(part)}
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    sizes = {}
    for _ in range(rounds):
        for way, build in ways.items():
            target = folder / "race" / way.replace(" ", "_")
            shutil.rmtree(target, ignore_errors=True)
            start = time.perf_counter()
            with contextlib.redirect_stdout(None):
                build(target)
            seconds[way].append(time.perf_counter() - start)
            sizes[way] = sum(path.stat().st_size for path in target.rglob("*") if path.is_file()) / len(part)
    for way, times in seconds.items():
        rounds_of_way = ((dataset.id, way, i, f"{len(part) / t:.0f}", f"{sizes[way]:.0f}") for i, t in enumerate(times))
        append(record, COLUMNS, rounds_of_way)
    median = {way: statistics.median(times) for way, times in seconds.items()}
    table = rich.table.Table("way", "examples/s", "range", "times the plain way", "bytes per image", box=None)
    for way, times in seconds.items():
        low, high = (f"{len(part) / t:,.0f}" for t in (max(times), min(times)))
        plain = median["TFDS: plain builder, tfrecord" if way.startswith("TFDS") else "HF: plain builder, Pillow"]
        ratio = f"{plain / median[way]:.1f}"
        table.add_row(way, f"{len(part) / median[way]:,.0f}", f"{low} - {high}", ratio, f"{sizes[way]:,.0f}")
    out.print(table)


def first_rows(dataset: Dataset, n: int) -> Dataset:
    """Return the first rows of a dataset as one split."""
    labels = dataset.labels(range(n))
    space = FactorTable(*dataset.space.factors, rows=n, read=lambda: labels)
    return dataclasses.replace(dataset, name=f"first_{dataset.name}", config="", space=space, splits={})


def records(dataset: Dataset) -> Iterator[tuple[int, np.ndarray[Any, Any], dict[str, Any]]]:
    """Return (row, image, the record's other fields), one after another, from batches: rendering is no bottleneck."""
    names = dataset.space.names
    for rows, images in dataset.batches():
        labels, values = dataset.labels(rows), dataset.values(rows).astype(np.float32)
        for row, image, label, value in zip(rows.tolist(), images, labels, values, strict=True):
            fields = {f"label_{name}": label[i] for i, name in enumerate(names)}
            fields |= {f"value_{name}": value[i] for i, name in enumerate(names)}
            yield row, image, {"index": row, **fields}


def tfds_ways(dataset: Dataset) -> Mapping[str, Callable[[Path], None]]:
    """Return the ways to build for TFDS."""
    import tensorflow_datasets as tfds

    from benchmark_data import tfds as provider

    tfds.disable_progress_bar()
    builder_class = provider.builder_class(dataset)

    class PlainBuilder(tfds.core.GeneratorBasedBuilder, skip_registration=True):
        VERSION = tfds.core.Version("1.0.0")

        def _info(self) -> Any:
            return tfds.core.DatasetInfo(builder=self, features=provider.features(dataset), disable_shuffling=True)

        def _split_generators(self, dl_manager: Any) -> dict[str, Any]:
            return {"train": self._generate_examples()}

        def _generate_examples(self) -> Iterator[tuple[int, dict[str, Any]]]:
            for row, image, fields in records(dataset):
                yield row, {"image": image, "factors": dataset.labels([row])[0], **fields}

    def ours(jobs: int) -> Callable[[Path], None]:
        def build(folder: Path) -> None:
            cores, joblib.cpu_count = joblib.cpu_count, lambda: jobs
            try:
                builder_class(data_dir=folder).download_and_prepare()
            finally:
                joblib.cpu_count = cores

        return build

    return {
        "TFDS: plain builder, tfrecord": lambda folder: PlainBuilder(data_dir=folder).download_and_prepare(),
        "TFDS: ours, one process": ours(1),
        "TFDS: ours, all cores": ours(joblib.cpu_count()),
    }


def hf_ways(dataset: Dataset) -> Mapping[str, Callable[[Path], None]]:
    """Return the ways to have a Hugging Face dataset, and the rate of publishing one."""
    import datasets

    from benchmark_data import hf

    datasets.disable_progress_bars()
    published = Path(tempfile.mkdtemp())
    hf.publish(dataset, published)

    class PlainBuilder(datasets.GeneratorBasedBuilder):
        VERSION = datasets.Version("1.0.0")

        def _info(self) -> Any:
            return datasets.DatasetInfo(features=hf.features(dataset))

        def _split_generators(self, dl_manager: Any) -> list[Any]:
            return [datasets.SplitGenerator("train")]

        def _generate_examples(self) -> Iterator[tuple[int, dict[str, Any]]]:
            for row, image, fields in records(dataset):
                yield row, {"image": Image.fromarray(image.squeeze()), **fields}

    def plain(folder: Path) -> None:
        builder = PlainBuilder(cache_dir=str(folder))
        builder.download_and_prepare()
        check(builder.as_dataset("train"))

    def load_published(folder: Path) -> None:
        check(datasets.load_dataset(str(published), split="train", cache_dir=str(folder)))

    def check(loaded: Any) -> None:
        last = loaded[len(dataset) - 1]
        pixels = np.asarray(last["image"]).reshape(dataset.image_shape)
        if len(loaded) != len(dataset) or (pixels != dataset.images([len(dataset) - 1])[0]).any():
            raise SystemExit("the copy is wrong")

    return {
        "HF: plain builder, Pillow": plain,
        "HF: load_dataset of the published folder": load_published,
        "HF: publish, with digest and card": lambda folder: hf.publish(dataset, folder),
    }


def memory(dataset: Dataset, folder: Path, out: rich.console.Console) -> None:
    """Print the peak memory of building the whole dataset, sampled from outside, all processes together."""
    for command in ("build", "publish"):
        arguments = [
            sys.executable,
            "-m",
            "baselines.program",
            "data",
            command,
            dataset.id,
            "--to",
            str(folder / command),
        ]
        start = time.perf_counter()
        process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        peak = 0
        while process.poll() is None:
            peak = max(peak, resident(process.pid))
            time.sleep(0.05)
        if process.returncode:
            raise SystemExit(f"{' '.join(arguments)} failed")
        took = time.perf_counter() - start
        size = sum(path.stat().st_size for path in (folder / command).rglob("*") if path.is_file())
        out.print(
            f"offaxis data {command}, all {len(dataset):,} rows: {took:.1f} s with start-up, {size / 2**20:.1f} MiB, "
            f"peak memory {peak / 2**20:,.0f} MiB (resident, all processes)"
        )


def resident(pid: int) -> int:
    """Return the resident bytes of a process and its descendants; pages that they share count several times."""
    total = 0
    try:
        process = psutil.Process(pid)
        for member in (process, *process.children(recursive=True)):
            total += member.memory_info().rss
    except psutil.NoSuchProcess:
        pass
    return total


if __name__ == "__main__":
    main()
