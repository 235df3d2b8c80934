"""Checks of a results tree for CI: is every file valid, and did a published score change?"""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmark_data import discovery
from benchmark_data.dataset import Dataset
from benchmark_data.errors import DamagedFile, InvalidInput, OffaxisError, UnknownName
from benchmark_data.files import is_left_behind
from benchmark_data.sources import OfBase, Rendered, chain
from leaderboard import protocol
from leaderboard.report import ranking
from leaderboard.scoring import candidates, verification
from leaderboard.store import giveaways, reported, results, results_tree
from leaderboard.store.results import Result, Sample, Scored

PICTURES = ("sheet.png", "factors.png")
"""Pictures of a dataset in the folder of its results (`leaderboard.report.media`)."""

OTHER_FILES = ("reported", giveaways.FILE)
"""Other files and folders that a results tree may hold."""


def check(root: str | os.PathLike[str]) -> list[OffaxisError]:
    """Check every file of a results tree.

    Args:
        root: the results tree.

    Returns:
        All errors, file by file; empty if there are none. A folder without results is an error.

    Raises:
        DamagedFile: there is no such folder.
    """
    errors: list[OffaxisError] = []
    readable: list[Result] = []
    for file in results_tree.files(root):
        result, file_errors = _check_file(file)
        readable += [result] if result else []
        errors += file_errors
    if not readable and not errors and not any((Path(root) / name).exists() for name in OTHER_FILES):
        errors.append(DamagedFile(f"{root} holds no results, {protocol.VERSION}/<dataset>/<method>.json."))
    return [*errors, *_find_collisions(readable), *_find_strays(Path(root)), *_check_other_files(Path(root))]


def _check_file(file: Path) -> tuple[Result | None, list[OffaxisError]]:
    """Check a result file; return the result, None if it cannot be read, and its errors."""
    try:
        result = results_tree.read(file)
    except OffaxisError as error:
        return None, results_tree.problems(file, error)
    try:
        return result, list(_check_against_task(file, result))
    except OffaxisError as error:
        return result, [error]


def _check_against_task(file: Path, result: Result) -> Iterator[OffaxisError]:
    """Compare the recorded task and dataset of a result with those here."""
    if result.task.partition("@")[2] != protocol.VERSION:
        return  # another protocol version: readable, and not in tables with this one
    try:
        task = protocol.task(result.task)
        dataset = task.load()
    except UnknownName as error:
        yield error
        return
    local_digest = candidates.dataset_digest(task)[1] if needs_no_download(dataset) else None
    for run in result.runs:
        where = f"{file}: seed {run.seed}"
        if run.tier not in protocol.TIERS:
            yield UnknownName(f"{where}: tier", run.tier, protocol.TIERS)
        if run.rows_digest != task.digest:
            yield InvalidInput(f"{where}: rows_digest: expected {task.digest}, received {run.rows_digest}.")
        if run.dataset_version != dataset.version:
            yield InvalidInput(f"{where}: dataset_version: expected {dataset.version}, received {run.dataset_version}.")
        if local_digest and run.dataset_digest != local_digest:
            yield InvalidInput(f"{where}: dataset_digest: expected {local_digest}, received {run.dataset_digest}.")
        try:
            candidates.check_part(task, run.tier, run.hyperparameters, where)
        except InvalidInput as error:
            yield error
        yield from _check_samples(where, run, task)
        yield from _check_verification(where, run, task)


def _check_samples(where: str, run: Scored, task: protocol.Task) -> Iterator[OffaxisError]:
    """Compare the samples of metrics with those of the tier, and the shapes of parts with the task's factors."""
    tier = protocol.TIERS.get(run.tier)
    for measurement in tier.measurements if tier else ():
        expected, received = candidates.sample(measurement, task), run.samples.get(measurement.metric)
        if received != expected:
            yield InvalidInput(
                f"{where}: samples of {measurement.metric}: expected {_format_sample(expected)}, received "
                f"{_format_sample(received)}."
            )
        metric = discovery.find("leaderboard.metrics", measurement.metric, kind="metric")
        widths = {len(row) for part in run.parts.get(measurement.metric, {}).values() for row in _part_rows(part)}
        factors = len(task.scored)
        if not measurement.train:  # those that vary in the held-out rows
            factors = int((np.ptp(task.labels()[len(task.train) :], axis=0) > 0).sum())
        if hasattr(metric, "combine") and widths != {factors}:
            yield InvalidInput(
                f"{where}: parts of {measurement.metric}: expected arrays with a number for each of {factors} "
                f"factors, received {f'numbers for {sorted(widths)}' if widths else 'nothing'}."
            )


def _part_rows(part: tuple[Any, ...]) -> tuple[tuple[float, ...], ...]:
    """Return a part of a score as rows with a number for each factor: one row, or one for each latent."""
    return part if part and isinstance(part[0], tuple) else (part,)


def _check_verification(where: str, run: Scored, task: protocol.Task) -> Iterator[OffaxisError]:
    """Compare the record of a verification with the rows that its seed draws, and with the run's scores."""
    if (record := run.verification) is None:
        return
    try:
        rows, digest = verification.fresh_rows_digest(task, record.seed)
    except OffaxisError as error:
        yield InvalidInput(f"{where}: verification: {error}")
        return
    if record.deviation > verification.DEVIATION or record.date > datetime.datetime.now(datetime.UTC).date():
        yield InvalidInput(
            f"{where}: verification: expected a deviation of at most {verification.DEVIATION:g} and a past date, "
            f"received {record.deviation:g} and {record.date}."
        )
    for name, expected, received in (("rows", rows, record.rows), ("rows_digest", digest, record.rows_digest)):
        if expected != received:
            yield InvalidInput(
                f"{where}: verification.{name}: expected {expected}, as drawn with seed {record.seed!r}, received "
                f"{received}."
            )
    if rows * verification.SHARE < verification.BLOCKS * len(task.indices):
        return  # with few unused rows, blocks are smaller than a tenth, and their scores differ more
    for key, compared in record.scores.items():
        column = protocol.COLUMNS.get(key)
        if column and abs(run.scores[key] - compared.codes) > column.tenth:
            yield InvalidInput(
                f"{where}: scores.{key}: expected {compared.codes:.4f} within {column.tenth:g}, as verified on tenths "
                f"of the rows, received {run.scores[key]:.4f}."
            )


def _format_sample(sample: Sample | None) -> str:
    return f"{sample.train} train and {sample.test} test rows, {dict(sample.arguments)}" if sample else "none"


def needs_no_download(dataset: Dataset) -> bool:
    """Return whether a dataset's pixels are computed without original files, so that its digest is available.

    Args:
        dataset: the dataset.

    Returns:
        True for rendered datasets, and for those derived from them: changed, subsets of rows or values, divided.
    """
    return all(isinstance(source, Rendered | OfBase) for source in chain(dataset))


def _check_other_files(root: Path) -> Iterator[OffaxisError]:
    """Read the other files: numbers reported in papers, giveaways of datasets."""
    try:
        reported.read_all(root)
    except OffaxisError as error:
        yield error
    try:
        yield from _find_outdated_giveaways(root)
    except OffaxisError as error:
        yield error


def _find_outdated_giveaways(root: Path) -> Iterator[OffaxisError]:
    """Find giveaways of another version of a dataset than is here."""
    for name, giveaway in giveaways.read(root).items():
        dataset = ranking.known_dataset(name)
        if dataset is not None and dataset.version != giveaway.version:
            yield InvalidInput(
                f"{root / giveaways.FILE}: {name}: expected version {dataset.version}, received {giveaway.version}. "
                "Measure it again: python benchmarks/giveaways.py RESULTS"
            )


def _find_collisions(checked: list[Result]) -> Iterator[OffaxisError]:
    """Find methods on one task whose names differ only in underscores."""
    seen: dict[tuple[str, str], str] = {}
    for result in checked:
        bare_name = result.method.replace("_", "")
        other = seen.setdefault((result.task, bare_name), result.method)
        if other != result.method:
            yield InvalidInput(
                f"method {result.method!r} on {result.task}: expected a name that differs from {other!r} by more than "
                "underscores, received one that does not. Rename one of them."
            )


def _find_strays(root: Path) -> Iterator[OffaxisError]:
    """Find files that do not belong in the tree, and links."""
    result_files = set(results_tree.files(root))
    for folder in sorted(root.glob("v*")):
        for path in sorted(folder.rglob("*")):
            belongs = path in result_files or path.name in PICTURES or is_left_behind(path)
            if path.is_symlink() or (path.is_file() and not belongs):
                received = "a link" if path.is_symlink() else "another file"
                expected = "<method>.json or a picture of the dataset"
                yield InvalidInput(f"{path}: expected {expected}, received {received}. Remove it.")


def score_changes(root: str | os.PathLike[str], before: str | os.PathLike[str]) -> list[OffaxisError]:
    """Compare the scores of a tree with those of an earlier state of it.

    Args:
        root: the results tree.
        before: an earlier copy of the tree.

    Returns:
        One error for each score that changed by more than ``results.DRIFT`` and each run that was removed, under the
        same protocol version. To retract a result, put it in quarantine.

    Raises:
        DamagedFile: the earlier state cannot be read.
        InvalidInput: it is no folder, or holds no results.
    """
    if not Path(before).is_dir() or not (old := results_tree.read_all(before)):
        raise InvalidInput(f"--against: expected an earlier copy of {root}, with results, received {before}.")
    new = {(result.task, result.method): result for result in results_tree.read_all(root)}
    problems: list[OffaxisError] = []
    for result in old:
        what = f"{result.method} on {result.task}"
        new_result = new.get((result.task, result.method))
        runs = {(run.tier, run.seed): run for run in new_result.runs} if new_result else {}
        for run in result.runs:
            new_run = runs.get((run.tier, run.seed))
            if new_run is None:
                problems.append(
                    InvalidInput(
                        f"{what}: tier {run.tier}, seed {run.seed}: expected a run that was published, received "
                        "nothing. Restore it; if it cannot be trusted, set `quarantine` to the reason."
                    )
                )
                continue
            problems += [
                InvalidInput(
                    f"{what}: {key}, tier {run.tier}, seed {run.seed}: expected {prior:.4f} within {results.DRIFT:g}, "
                    f"as published, received {value:.4f}. A changed evaluation requires a new protocol version."
                )
                for key, prior, value in results_tree.score_drifts(run, new_run)
            ]
    return problems
