"""``offaxis data selftest``: whether published files are what this package takes them for, on a machine with internet.

No archive could be fetched where this package was written: its readers were tested on small archives of the same form.
What a run on the real files found good is kept in ``archives/verified.json``, which later runs are compared with.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import json
import platform
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmark_data import console
from benchmark_data.archives import archive
from benchmark_data.archives.archive import Cached
from benchmark_data.commands import doctor
from benchmark_data.dataset import Dataset, Digest
from benchmark_data.errors import DamagedFile, InvalidInput, MissingExtra, OffaxisError
from benchmark_data.files import read_json
from benchmark_data.inspect.distances import published
from benchmark_data.publish import verify

VERIFIED = Path(archive.__file__).with_name("verified.json")
"""Full name of a dataset -> ``version``, ``date`` and the full ``digest`` of what was read from the real files."""

PACKAGES = ("offaxis", "numpy", "pillow", "scipy", "h5py", "tensorflow-datasets", "datasets", "pyarrow")
"""Whose versions stand in a report."""


@dataclasses.dataclass(frozen=True)
class Step:
    """What one step of a self-test came to."""

    name: str
    state: str
    """``ok``, ``FAILED`` or ``not run``."""

    found: str
    """What was found, or what went wrong, in a line."""

    seconds: float = 0.0

    @property
    def failed(self) -> bool:
        """Whether the dataset is not what it should be."""
        return self.state == "FAILED"


@dataclasses.dataclass(frozen=True)
class Report:
    """What the self-test of one dataset came to."""

    dataset: Dataset
    steps: tuple[Step, ...]
    digest: Digest | None
    """The full digest, if it was computed."""


def known() -> Mapping[str, Mapping[str, Any]]:
    """Return what was found good on real files: full name of a dataset -> ``version``, ``date`` and ``digest``."""
    found: Mapping[str, Mapping[str, Any]] = read_json(VERIFIED)
    return found


def run(dataset: Dataset, *, manual_dir: Path | None = None, full: bool = True, folder: Path | None = None) -> Report:
    """Fetch, prepare and check a dataset, build both kinds of copy, and compare them.

    Args:
        dataset: the dataset.
        manual_dir: a folder with the user's own copies of source files.
        full: compare every row of copies instead of 1,024.
        folder: where copies are built, in a folder that is removed at the end; the system's temporary one if None.

    Returns:
        What each step came to. A failure is a step, not an exception; the steps after it that need it are not run.

    Raises:
        InvalidInput: ``folder`` is no folder.
    """
    if folder is not None and not folder.is_dir():
        raise InvalidInput("--work", expected="an existing folder", received=repr(str(folder)))
    digests: list[Digest] = []

    def compare_digest() -> str:
        with _counted(dataset, "rows hashed", len(dataset)) as advance:
            digests.append(verify.digest(dataset, full=True, progress=advance))
        return _compared(dataset, digests[0])

    steps = [_step("fetch and prepare", lambda: _prepared(dataset, manual_dir))]
    with tempfile.TemporaryDirectory(prefix="offaxis-selftest-", dir=folder) as made:
        later: dict[str, Callable[[], str]] = {
            "counts": lambda: _counts(dataset),
            "means and distances": lambda: _figures(dataset),
            "digest": compare_digest,
            "TensorFlow Datasets": lambda: _tfds(dataset, Path(made) / "tfds", full),
            "Hugging Face": lambda: _hugging_face(dataset, Path(made) / "hf", full),
        }
        for name, check in later.items():
            steps.append(Step(name, "not run", "nothing is prepared") if steps[0].failed else _step(name, check))
    return Report(dataset, tuple(steps), digests[0] if digests else None)


def report(reports: Sequence[Report]) -> str:
    """Write reports as Markdown, to paste into an issue.

    Args:
        reports: of one or more datasets.

    Returns:
        A table for each dataset, the entries that a good run adds to ``verified.json``, and the versions of packages.
    """
    lines: list[str] = []
    entries = []
    for each in reports:
        dataset = each.dataset
        lines += [f"### {dataset.id} {dataset.version}", "", "| step | result | seconds | found |", "|---|---|---|---|"]
        lines += [f"| {s.name} | {s.state} | {s.seconds:.0f} | {_cell(s.found)} |" for s in each.steps]
        lines.append("")
        if each.digest is not None and all(step.state == "ok" for step in each.steps):
            today = datetime.datetime.now(datetime.UTC).date().isoformat()
            entry = {"version": dataset.version, "date": today, "digest": each.digest._asdict()}
            entries.append(f"{json.dumps(dataset.id)}: {json.dumps(entry)}")
    if entries:
        lines += ["For `benchmark_data/archives/verified.json`:", "", "```json", ",\n".join(entries), "```", ""]
    versions = ", ".join(f"{name} {version}" for name in PACKAGES if (version := doctor.version(name)))
    lines.append(f"Python {platform.python_version()} on {platform.platform()}; {versions}")
    return "\n".join(lines)


def _step(name: str, check: Callable[[], str]) -> Step:
    """Run one check. What the user can cause, or the file, is a failure; a missing package is not."""
    start = time.perf_counter()
    try:
        state, found = "ok", check()
    except MissingExtra as error:
        state, found = "not run", str(error)
    except OffaxisError as error:
        state, found = "FAILED", str(error)
    except Exception as error:  # a stranger's file may break any library; the report shall say so
        state, found = "FAILED", f"{type(error).__name__}: {error}"
    return Step(name, state, found, time.perf_counter() - start)


def _prepared(dataset: Dataset, manual_dir: Path | None) -> str:
    dataset.prepare(manual_dir=manual_dir)
    if not isinstance(dataset.source, Cached):
        return "rendered: there is nothing to fetch"
    sources = dataset.source.store().meta["sources"]
    texts = []
    for source in sources:
        if "sha256" in source:
            differs = f", {source['difference']}" if source["difference"] else ""
            texts.append(f"{source['name']}: {source['size']:,} bytes, {source['sha256']}, {source['origin']}{differs}")
        else:
            texts.append(f"made from {source['dataset']} {source['version']}")
    return "; ".join(texts)


def _counts(dataset: Dataset) -> str:
    """Compare the number and the shape of images, and look whether every class of every factor occurs."""
    last = dataset.images([len(dataset) - 1])
    if last.shape[1:] != dataset.image_shape:
        raise DamagedFile(
            dataset.id, expected=f"images of shape {dataset.image_shape}", received=f"images of shape {last.shape[1:]}"
        )
    labels = dataset.labels(range(len(dataset)))
    for factor, column in zip(dataset.space.factors, labels.T, strict=True):
        classes = len(np.unique(column))
        if classes != factor.size:
            raise DamagedFile(
                f"{factor.name} of {dataset.id}", expected=f"{factor.size} classes", received=f"{classes} that occur"
            )
    sizes = ", ".join(f"{factor.name} {factor.size}" for factor in dataset.space.factors)
    return f"{len(dataset):,} images of shape {dataset.image_shape}; {sizes}"


def _figures(dataset: Dataset) -> str:
    """Say what was measured when the pixels were prepared, which fails where published figures differ."""
    if not isinstance(dataset.source, Cached):
        return "rendered: nothing is published of its pixels"
    measured = dataset.source.store().meta["measured"]
    texts = []
    if "means" in measured:
        wanted = ", ".join(f"{mean:.6f}" for mean in dataset.source.statistics.means)
        texts.append(f"means {', '.join(f'{mean:.6f}' for mean in measured['means'])} (published: {wanted})")
    known_distances = published(dataset.id)[1]
    for factor, distance in measured.get("distances", {}).items():
        texts.append(f"{factor} {distance:.4f} (published: {known_distances.get(factor, float('nan')):.4f})")
    return "; ".join(texts) or "nothing is published of its pixels"


def _compared(dataset: Dataset, digest: Digest) -> str:
    """Compare a full digest with the one that was found good."""
    text = f"pixels {digest.pixels}, factors {digest.factors}"
    entry = known().get(dataset.id)
    if entry is None or entry["version"] != dataset.version:
        return f"{text}; no digest of the real file is known yet"
    if Digest(**entry["digest"]) != digest:
        raise DamagedFile(
            dataset.id,
            expected=f"the digest of {entry['date']}, pixels {entry['digest']['pixels']}, factors "
            f"{entry['digest']['factors']}",
            received=text,
        )
    return f"{text}; as on {entry['date']}"


def _tfds(dataset: Dataset, folder: Path, full: bool) -> str:
    from benchmark_data import tfds

    tfds.build(dataset, folder)
    return _same(dataset, "tfds", folder, full)


def _hugging_face(dataset: Dataset, folder: Path, full: bool) -> str:
    from benchmark_data import hf

    if dataset.redistributable:
        hf.publish(dataset, folder)
        return _same(dataset, "hf", folder, full)
    # The licence forbids a folder to pass on; what `datasets` caches for oneself is compared instead.
    loaded = hf.load_dataset(dataset, cache_dir=folder)
    for split, rows in dataset.splits.items():
        wanted = range(0, len(rows), max(1, len(rows) // 1024))
        for start in range(0, len(wanted), 64):
            places = wanted[start : start + 64]
            found = loaded[split].select(places)
            images = np.stack([np.asarray(image) for image in found["image"]]).reshape(-1, *dataset.image_shape)
            of_dataset = np.asarray(rows)[list(places)]
            labels = np.stack([found[f"label_{name}"] for name in dataset.space.names], axis=1)
            if not (
                np.array_equal(np.asarray(found["index"]), of_dataset)
                and np.array_equal(images, dataset.images(of_dataset))
                and np.array_equal(labels, dataset.labels(of_dataset))
            ):
                raise DamagedFile(
                    f"{split} of {dataset.id} in the cache of datasets",
                    expected="the dataset's own images and labels",
                    received=f"others among rows {of_dataset[0]} to {of_dataset[-1]}",
                )
    return "the licence forbids a copy to publish; some 1,024 rows of each split of load_dataset are the dataset's"


def _same(dataset: Dataset, kind: verify.Kind, folder: Path, full: bool) -> str:
    """Compare a copy with the dataset."""
    copies = [(kind, folder)]
    with _counted(dataset, f"rows of {kind} compared", verify.work(dataset, copies, full=full)) as advance:
        findings = verify.verify(dataset, copies, full=full, progress=advance)
    wrong = [f"{finding.copy}: {finding.problem}" for finding in findings if finding.problem]
    if wrong:
        raise DamagedFile(dataset.id, expected="a copy that is equal", received="; ".join(wrong))
    rows = len(dataset) if full else len(dataset.quick_rows())
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    return f"{rows:,} rows are equal; {size:,} bytes"


@contextlib.contextmanager
def _counted(dataset: Dataset, what: str, total: int) -> Iterator[Callable[[int], None]]:
    with console.progress() as bars:
        bar = bars.add_task(f"{dataset.id}: {what}", total=total)
        yield lambda rows: bars.advance(bar, rows)


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
