"""Scores from disentanglement_lib's files, as reported numbers: dated, cited and never ranked.

``dlib_aggregate_results`` writes what pandas' ``DataFrame.to_json`` gives: column -> {row -> value}, a row for each
evaluation of each model; an evaluation's own ``aggregate/evaluation.json`` is one such row. Columns are
``train_config.<gin binding>``, ``postprocess_config.…``, ``evaluation_config.…`` and ``evaluation_results.<score>``;
values of bindings are gin's text, such as ``"'dsprites_full'"`` or ``"@mean_representation"``. No pickle is involved.
"""

from __future__ import annotations

import datetime
import json
import math
import os
import re
import statistics
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmark_data.errors import DamagedFile
from leaderboard.store import schema
from leaderboard.store.reported import Paper

LARGEST = 2**30
"""Bytes of a file that is read: 10,800 models with a dozen evaluations each are some 300 MB."""

DATASETS = {"dsprites_full": "dsprites", "mpi3d_real": "mpi3d", "mpi3d_realistic": "mpi3d", "mpi3d_toy": "mpi3d"}
"""Names of disentanglement_lib that differ from those here."""

SCORES = {
    ("mig", "discrete_mig"): "MIG",
    ("dci", "disentanglement"): "DCI Disentanglement",
    ("dci", "completeness"): "DCI Completeness",
    ("dci", "informativeness_test"): "DCI Informativeness",
    ("sap_score", "SAP_score"): "SAP",
    ("factor_vae_score", "eval_accuracy"): "FactorVAE score",
    ("beta_vae_sklearn", "eval_accuracy"): "BetaVAE score",
    ("modularity_explicitness", "modularity_score"): "Modularity",
    ("irs", "IRS"): "IRS",
}
"""(metric, score) -> what it is called; others keep both names."""

IGNORED = ("elapsed_time", "num_active_dims", "uuid")


def read(
    file: str | os.PathLike[str],
    *,
    key: str,
    authors: str,
    title: str,
    year: int,
    link: str = "",
    today: datetime.date | None = None,
) -> Paper:
    """Read aggregated evaluations.

    Args:
        file: the JSON file.
        key: a short name for the source; it becomes a file's name.
        authors: whose numbers these are.
        title: of the paper or the collection.
        year: of publication.
        link: to the paper or the file.
        today: when the numbers were read; today if None.

    Returns:
        One number for each dataset, method with its hyperparameters, representation and score: the mean over seeds,
        with their standard deviation where there are two or more.

    Raises:
        DamagedFile: too large, no JSON, or without evaluations of this form.
        InvalidInput: a malformed key, year or link.
    """
    file = Path(file)
    groups: dict[tuple[str, str, str, str], list[float]] = {}
    for record in _records(file):
        for group, value in _scores(record):
            groups.setdefault(group, []).append(value)
    if not groups:
        raise DamagedFile(
            str(file),
            expected="columns train_config.dataset.name, train_config.model.name and evaluation_results.<score>",
            received="no score with a dataset and a model",
            remedy="Give the output of dlib_aggregate_results, or a model's aggregate/evaluation.json.",
        )
    rows = [
        {
            "dataset": dataset,
            "setting": setting,
            "method": method,
            "score": score,
            "mean": statistics.fmean(values),
            "spread": statistics.stdev(values) if len(values) > 1 else None,
            "seeds": len(values),
            "place": file.name,
            "evaluator": "disentanglement_lib",
        }
        for (dataset, method, setting, score), values in sorted(groups.items())
    ]
    content = {
        "schema": 1,
        "key": key,
        "authors": authors,
        "title": title,
        "year": year,
        "link": link,
        "read": (today or datetime.datetime.now(datetime.UTC).date()).isoformat(),
        "notes": "Imported from disentanglement_lib's aggregated evaluations: means over seeds with their standard "
        "deviation.",
        "differs": "disentanglement_lib's datasets, samples and versions of packages are not those of this board.",
        "bibtex": "",
        "rows": rows,
    }
    return schema.validated(Paper, json.dumps(content), f"numbers of {file.name}")


def _records(file: Path) -> Iterator[Mapping[str, Any]]:
    """Return the evaluations of a file, one at a time."""
    try:
        content = json.loads(schema.content(file, LARGEST))
    except (ValueError, RecursionError) as error:
        raise DamagedFile(str(file), expected="valid JSON", received=str(error)) from error
    if not isinstance(content, dict) or not content:
        raise DamagedFile(str(file), expected="a JSON object of columns", received=type(content).__name__)
    if not all(isinstance(column, dict) for column in content.values()):
        yield content
        return
    for name in dict.fromkeys(name for column in content.values() for name in column):
        yield {key: column[name] for key, column in content.items() if column.get(name) is not None}


def _scores(record: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str, str, str], float]]:
    """Return ((dataset, method, setting, score), value) of an evaluation."""
    dataset, method = (_plain(record.get(f"train_config.{name}")) for name in ("dataset.name", "model.name"))
    if not dataset or not method:
        return
    here = DATASETS.get(dataset, dataset)
    parameters = [
        f"{key.rpartition('.')[2]} = {_plain(value)}"
        for key, value in sorted(record.items())
        if re.fullmatch(r"train_config\.\w*vae\w*\.\w+", key) and "@" not in str(value)
    ]
    representation = _plain(record.get("postprocess_config.postprocess.postprocess_fn")).replace("_", " ")
    setting = "; ".join(filter(None, [", ".join(parameters), representation, dataset if dataset != here else ""]))
    metric = _plain(record.get("evaluation_config.evaluation.evaluation_fn"))
    for key, value in record.items():
        name = key.removeprefix("evaluation_results.")
        if name == key or name in IGNORED or isinstance(value, bool) or not isinstance(value, int | float):
            continue
        if math.isfinite(value):
            yield (here, method, setting, SCORES.get((metric, name), f"{metric}: {name}")), float(value)


def _plain(value: object) -> str:
    """Take gin's quotes and signs off a value: ``"'dsprites_full'"``, ``"@mig"``, ``"@vae()"``."""
    return "" if value is None else str(value).strip("'\"@").removesuffix("()")
