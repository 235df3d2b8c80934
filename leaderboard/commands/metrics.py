"""``offaxis board score --metric``: any metric on any codes, with doubts about the scores."""

from __future__ import annotations

import contextlib
import functools
import json
import math
import shlex
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import rich.text

import benchmark_data
from benchmark_data import console, draws
from benchmark_data.errors import InvalidInput, OffaxisWarning, Unavailable, printable
from leaderboard import properties, protocol
from leaderboard.commands.arguments import run_record
from leaderboard.doubts import warn_if_continuous, warn_if_same
from leaderboard.reading import representations, units
from leaderboard.scoring import measure
from leaderboard.store import intervals

if TYPE_CHECKING:
    import pandas as pd

LEAST = 20
"""The fewest rows of a part of a sample that are scored."""

TOLERANCE = 0.02
"""The largest difference of a score between half of a sample and the whole without a doubt."""

DEVIATIONS = 6
"""Difference of a factor's means in training and held-out rows, in standard errors, that indicates sorted rows."""


def compute(
    paths: Sequence[Path],
    *,
    dataset: str = "",
    names: list[str] | None = None,
    array: str = "",
    to: Path | None = None,
) -> None:
    """Compute any metric on any codes, and print the scores with doubts about them.

    Args:
        paths: run folders, files of arrays, or encoders in ONNX; for several, means by dataset are shown.
        dataset: the dataset that was encoded, or a folder of images with one CSV file of labels; not needed for runs,
            which record it, and files with factors.
        names: metrics, or ``["all"]``; mig and dci if None.
        array: the array or output that holds the codes; codes or mean if empty.
        to: a CSV file to write the scores to: a line for each file and score, with fields of the run's record.
    """
    paths = list(dict.fromkeys(paths))
    modules = measure.metrics_by_name(names)
    source = benchmark_data.named_or_folder(dataset) if dataset else None
    samples = []
    for path in paths:  # all of them are read before any is scored
        with console.err.status(rich.text.Text(printable(f"reading {path}"))):
            loaded = representations.codes(path, dataset=source, array=array or None)
        if loaded.factors is None:
            raise InvalidInput(
                f"{path} contains codes but no factors. Pass --dataset, or add class ids (n, F) to the file, as an "
                "array `factors`."
            )
        _check_data(path, recorded := run_record(path), loaded.dataset)
        warn_if_same(loaded.codes, str(path))
        warn_if_continuous(loaded.factors, loaded.names, str(path))
        trained_on = loaded.dataset or recorded.get("dataset", "")  # for user images only the record has the name
        settings = json.dumps(recorded.get("hyperparameters", {}), sort_keys=True)
        row = {"file": printable(str(path)), "dataset": str(trained_on), "method": str(recorded.get("method", ""))}
        row |= {"seed": recorded.get("seed", ""), "hyperparameters": settings}
        held_out = _read_held_out(path, dataset, array)
        train_factors = loaded.factors if held_out else loaded.factors[: _train_count(loaded)]
        measure.warn_if_left_out(train_factors, loaded.names, str(path))
        samples.append((path, loaded, held_out, row))
    records: list[dict[str, Any]] = []
    doubts: list[tuple[Path, str]] = []
    with console.progress() as progress:
        progress_task = progress.add_task("scoring", total=len(modules) * len(paths))
        for path, loaded, held_out, row in samples:
            doubts += [(path, sentence) for sentence in _sample_doubts(path, loaded, held_out)]
            for name, module in modules.items():
                progress.update(progress_task, description=name)
                try:
                    scores, metric_doubts = _score(name, module, loaded, held_out)
                except InvalidInput as error:
                    if not measure.is_every(names):
                        raise
                    doubts.append((path, f"{name} is left out: {error}"))
                else:
                    records += [{**row, "metric": name, "score": score, "value": scores[score]} for score in scores]
                    doubts += [(path, sentence) for sentence in metric_doubts]
                progress.advance(progress_task)
    if not records:
        raise InvalidInput(f"{', '.join(map(str, paths))}: no metric can score these codes. {doubts[-1][1]}")
    _report_scores(records, to)
    models = {(row["method"], row["hyperparameters"]) for *_, row in samples}
    if len(models) > 1:
        console.warn("mean and sd are over runs of different methods or settings: score each setting separately")
    elif len(paths) > 1 and ("", "{}") in models:
        console.tell(
            "mean and sd assume that the files are seeds of one encoder; --to FILE.csv writes the scores of each file"
        )
    for path, sentence in doubts:
        console.warn(f"{path}: {sentence}" if len(paths) > 1 else sentence)


@functools.lru_cache(maxsize=1)  # the seeds of one dataset mostly follow each other
def _local_data(name: str) -> dict[str, Any]:
    """Return the fields of a run's record that describe its dataset, as of the dataset here."""
    dataset = benchmark_data.load(name)
    local: dict[str, Any] = {"dataset_version": dataset.version}
    with contextlib.suppress(Unavailable):  # codes can be scored without the pixels
        local["dataset_digest"] = dataset.digest()._asdict()
    return local


def _check_data(path: Path, recorded: Mapping[str, Any], dataset: str) -> None:
    """Refuse codes of a run whose record has another version or digest of the dataset than is here."""
    if not recorded or dataset.partition("/")[0] not in benchmark_data.names():
        return
    for field, expected in _local_data(dataset).items():
        if recorded.get(field, expected) != expected:
            raise InvalidInput(
                f"{path}: {field}: expected {expected}, as in the installed {dataset}, received {recorded[field]}. The "
                "codes were made from other data. Train or encode again with this version of the dataset."
            )


def _read_held_out(path: Path, dataset: str, array: str) -> tuple[Any, Any] | None:
    """Read the held-out rows of a file of arrays, ``codes_test`` and ``factors_test``; None if it has none."""
    if path.is_dir() or path.suffix not in (".npz", ".safetensors"):
        return None
    arrays = representations.arrays(path)
    present = [name for name in measure.TEST_NAMES if name in arrays]
    if not present:
        return None
    if len(present) == 1 or dataset:
        raise InvalidInput(
            f"{path}: {present[0]}: expected codes_test and factors_test next to codes and factors, received "
            f"{' and '.join(present)}{(f' with --dataset {dataset}' if dataset else ' only')}. Without these two "
            "arrays, the last third of the rows is held out."
        )
    fit = arrays[representations.codes_name(path, arrays, array or None)]
    return units.reduce(arrays[measure.TEST_NAMES[0]], measure.TEST_NAMES[0], fit=fit), arrays[measure.TEST_NAMES[1]]


def _score(name: str, module: Any, loaded: Any, held_out: tuple[Any, Any] | None) -> tuple[dict[str, Any], list[str]]:
    """Score codes by one metric; return the scores, and doubts about them."""
    trained_on = _is_of_task(loaded) and protocol.task(loaded.dataset).is_divided
    sample, options = measure.split_rows(
        module, loaded.codes, loaded.factors, held_out, train=_train_count(loaded), trained_on=trained_on
    )
    scores = dict(measure.compute_metric(name, module.score, *sample, **options))
    if name == "downstream" or _is_of_task(loaded):  # a curve over sample sizes by itself, or the board's own rows
        return scores, []
    return scores, _sample_size_doubts(name, module, sample, options, scores)


def _report_scores(records: list[dict[str, Any]], to: Path | None) -> None:
    """Print scores, for several files as means by dataset with 95% intervals, and write them to ``to`` if given."""
    import pandas as pd

    from leaderboard import figures

    table = pd.DataFrame(records)
    file_count = table["file"].nunique()
    keys = [*(["dataset"] if table["dataset"].nunique() > 1 else []), "metric", "score"]
    summary = table[[*keys, "value"]]
    if file_count > 1:
        values = table.groupby(keys, sort=False)["value"]
        summary = values.agg(sd="std").reset_index()
        ranges = [
            properties.score_range(protocol.key(*row)) for row in summary[["metric", "score"]].itertuples(index=False)
        ]
        means = [intervals.format_mean(list(group), ends) for (_, group), ends in zip(values, ranges, strict=True)]
        summary.insert(len(keys), "mean", means)
    show(summary, f"{file_count} files" if file_count > 1 else "")
    if to is not None:
        figures.write_csv(table, to)
        console.say(to)


def _sample_size_doubts(
    name: str, module: Any, sample: tuple[Any, Any], options: dict[str, Any], full_scores: dict[str, Any]
) -> list[str]:
    """Compare a metric's first score on the whole sample with that on random parts of it, with all held-out rows."""
    n = len(sample[0])
    order = draws.permutation(0, n)
    curve = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OffaxisWarning)  # already raised for the whole sample
        for size in (size for size in (n // 8, n // 4, n // 2) if size >= LEAST):
            part = (array[order[:size]] for array in sample)
            try:
                scores = measure.compute_metric(name, module.score, *part, **options)
            except InvalidInput as error:
                return [f"{name}: smaller samples cannot be scored, so the effect of sample size is unknown: {error}"]
            curve.append((size, next(iter(scores.values()))))
    curve.append((n, next(iter(full_scores.values()))))
    if len(curve) > 1 and not abs(curve[-1][1] - curve[-2][1]) > TOLERANCE:
        return []
    text = ", ".join(f"{value:.3f} with {size:,}" for size, value in curve)
    return [f"{name}: {text} samples: use more before comparing the score with others."]


def _sample_doubts(path: Path, loaded: Any, held_out: tuple[Any, Any] | None) -> list[str]:
    """Return doubts about all scores of codes, because of their rows or factors."""
    doubts = []
    if loaded.assumption:
        doubts.append(f"no array `indices`: the {len(loaded.codes):,} rows are assumed to be {loaded.assumption}.")
    if held_out is None:
        doubts += _repeated_row_doubts(loaded.indices)
    if held_out is None and not _is_of_task(loaded):
        if (path / "config.json").is_file():
            remedy = f"offaxis train encode {shlex.quote(str(path))}"
        else:
            remedy = f"shuffle codes and {'factors' if loaded.indices is None else 'indices'} with one permutation"
        doubts += [f"{sentence}: {remedy}." for sentence in _ordered_factor_doubts(loaded.factors, loaded.names)]
    return doubts


def _is_of_task(loaded: Any) -> bool:
    """Return whether codes are of the rows of a task, in its order: shuffled, held-out rows last."""
    is_known = loaded.dataset.partition("/")[0] in benchmark_data.names()
    return is_known and np.array_equal(loaded.indices, protocol.task(loaded.dataset).indices)


def _train_count(loaded: Any) -> int:
    """Return the number of training rows: a task's train rows, or else two thirds."""
    return len(protocol.task(loaded.dataset).train) if _is_of_task(loaded) else measure.train_count(len(loaded.codes))


def _repeated_row_doubts(rows: Any) -> list[str]:
    """Return a doubt that states how many held-out rows, of the last third, are also training rows."""
    if rows is None:
        return []
    train_rows, held_out = np.split(rows, [measure.train_count(len(rows))])
    twice = int(np.isin(held_out, train_rows).sum())
    return [f"{twice:,} of {len(held_out):,} held-out rows are training rows, too: pass each once."] if twice else []


def _ordered_factor_doubts(factors: Any, names: Sequence[str]) -> list[str]:
    """Return a doubt about factors whose values differ between training rows and the last third, as if sorted."""
    train_factors, test_factors = np.split(factors, [measure.train_count(len(factors))])
    if not len(train_factors):
        return []
    difference = np.abs(train_factors.mean(axis=0) - test_factors.mean(axis=0))
    standard_error = factors.std(axis=0) * np.sqrt(1 / len(train_factors) + 1 / len(test_factors))
    ordered = [name for name, differs in zip(names, difference > DEVIATIONS * standard_error, strict=True) if differs]
    return [f"rows are sorted by {', '.join(ordered)}, and the last third is held out"] if ordered else []


def show(table: pd.DataFrame, title: str = "") -> None:
    """Print a table, numbers with three digits and a dash for NaN, as of the deviation of one run."""

    def cell(value: Any) -> Any:
        if not isinstance(value, float):
            return value
        return "–" if math.isnan(value) else f"{value:.3f}"

    rows = [tuple(map(cell, row)) for row in table.itertuples(index=False)]
    console.table(rows, *(str(name).replace("_", " ") for name in table.columns), title=title)
