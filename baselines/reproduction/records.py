"""Read, check and format the results of entries.

An entry's folder, ``<into>/<id>``, holds::

    table.csv.gz    the numbers
    figure.png      the picture, in the paper's layout
    verdict.json    the claims, our numbers, the verdicts with effect and p-value, and the budget

``verdict.json``, the record, is written last and holds the hashes of the others, so that its presence marks a finished
folder. The table and the picture are kept while their inputs (runs, datasets and settings) are the same. Verdicts are
computed from the table, and again when a claim, or how it is judged, has changed.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import PIL.Image

from baselines.reproduction.entries import TIERS
from benchmark_data import files
from benchmark_data.errors import DamagedFile

TABLE, PICTURE, RECORD = "table.csv.gz", "figure.png", "verdict.json"

SCHEMA = 3
"""Schema version of ``verdict.json``."""

RECORDED = (
    *("schema", "id", "tier", "paper", "judged"),
    *("budget", "trained", "command", "inputs", "files"),
)
"""Keys of ``verdict.json``; ``judged`` has the verdict of each sentence, the paper's own first, and ``trained`` the
seconds of each run's training, by folder."""


def read_record(folder: Path) -> dict[str, Any] | None:
    """Read an entry's record, and check the files that it names.

    Args:
        folder: the entry's folder.

    Returns:
        The content of ``verdict.json``; None if there is none.

    Raises:
        DamagedFile: it is not a record, or a file that it names is missing or has another hash.
    """
    path = folder / RECORD
    if not path.exists():
        return None
    content: Any = files.read_json(path)
    is_record = isinstance(content, dict) and set(content) == set(RECORDED)
    has_parts = is_record and all(isinstance(content[key], dict) for key in ("budget", "files"))
    is_whole = (
        has_parts
        and content["files"].keys() == {TABLE, PICTURE}
        and isinstance(content["budget"].get("compute_seconds"), int | float)
    )
    if not (is_whole and content["schema"] == SCHEMA and content["tier"] in TIERS):
        raise DamagedFile(f"{path} is not a complete record of schema {SCHEMA}. {_REMEDY}")
    record: dict[str, Any] = content
    for name, digest in record["files"].items():
        if not (folder / name).is_file() or files.hash_of(folder / name) != digest:
            raise DamagedFile(f"{folder / name} is missing or differs from its hash in {RECORD}. {_REMEDY}")
    return record


_REMEDY = f"Remove the folder's {RECORD} and run the study again."


def write_table(frame: pd.DataFrame, folder: Path) -> None:
    """Write an entry's table; the same numbers give the same bytes."""
    with files.written_atomically(folder / TABLE) as temporary:
        temporary.write_bytes(gzip.compress(frame.to_csv(index=False).encode(), mtime=0))


def read_table(folder: Path) -> pd.DataFrame:
    """Read an entry's table, with exact numbers, and empty names as empty strings."""
    return pd.read_csv(folder / TABLE, keep_default_na=False)


def reduce_colours(path: Path) -> None:
    """Rewrite a PNG with at most 256 colours, at a third of its size."""
    with PIL.Image.open(path) as picture:
        reduced = picture.convert("RGB").quantize(256)
    with files.written_atomically(path) as temporary:
        reduced.save(temporary, "PNG", optimize=True)


def format_record(record: Mapping[str, Any]) -> str:
    """Format a record, one verdict per line.

    Args:
        record: the content of ``verdict.json``.

    Example:
        >>> sentence = {"claim": "Up.", "verdict": "replicated", "p": 0.0079, "note": "", "numbers": {"slope": 0.5}}
        >>> format_record({"id": "a/fig1", "tier": "desk", "judged": [sentence]})
        'a/fig1 (desk): REPLICATED (p = 0.008). Up. Ours: slope 0.5.'
    """
    prefix = f"{record['id']} ({record['tier']})"
    return "\n".join(
        f"{prefix}: {claim['verdict'].upper()}{format_remarks(claim)}. {claim['claim']} Ours: {format_numbers(claim)}."
        for claim in record["judged"]
    )


def format_remarks(sentence: Mapping[str, Any]) -> str:
    """Format a verdict's p-value and note, in brackets.

    Example:
        >>> format_remarks({"p": None, "note": "MIG below 0.1"})
        ' (MIG below 0.1)'
    """
    text = "; ".join(filter(None, (p_value(sentence["p"]), sentence["note"])))
    return f" ({text})" if text else ""


def p_value(p: float | None) -> str:
    """Format a p-value; None as an empty string."""
    return "" if p is None else "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def format_numbers(sentence: Mapping[str, Any]) -> str:
    """Format a verdict's numbers in one line, with three digits each.

    Example:
        >>> format_numbers({"numbers": {"a": 1.0, "b": 0.25}})
        'a 1; b 0.25'
    """
    return "; ".join(f"{name} {number:.3g}" for name, number in sentence["numbers"].items())


def format_cost(records: Iterable[Mapping[str, Any]]) -> str:
    """Format the total cost of entries in one line, with a training that several share counted once.

    Args:
        records: the contents of their ``verdict.json``.

    Example:
        >>> record = {"budget": {"compute_seconds": 1800.0}, "trained": {"a": 3600.0, "b": 7200.0}}
        >>> format_cost([record, record, record | {"trained": {"a": 1800.0}}])
        '2 runs in 3 trainings of 3.5 worker hours, and 1.5 hours of computing'
    """
    records = list(records)
    trainings = {training for record in records for training in record["trained"].items()}
    runs = {run for run, _ in trainings}
    compute_hours = sum(record["budget"]["compute_seconds"] for record in records) / 3_600
    train_hours = sum(seconds for _, seconds in trainings) / 3_600
    return (
        f"{len(runs)} runs in {len(trainings)} trainings of {train_hours:.1f} worker hours, and {compute_hours:.1f} "
        "hours of computing"
    )
