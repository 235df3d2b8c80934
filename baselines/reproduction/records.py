"""What an entry leaves behind: read, checked and put into words.

That is a folder, ``<into>/<id>``::

    table.csv.gz    the numbers
    figure.png      the picture, in the paper's layout
    verdict.json    the claims, our numbers, the verdicts with effect and p-value, and what was spent

``verdict.json``, the record, is written last and names the hashes of the others, so that a folder is either finished or
not. The table and the picture are left alone as long as what they are made of is the same: runs, datasets and settings.
Verdicts are drawn from the table, and are drawn again where a claim, or how it is judged, has changed.
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
"""Of ``verdict.json``."""

RECORDED = (
    *("schema", "id", "tier", "paper", "judged"),
    *("budget", "trained", "command", "inputs", "files"),
)
"""What ``verdict.json`` holds; ``judged`` has the verdict of each sentence, the paper's own first, and ``trained`` the
seconds that each run's training took, by folder."""


def read_record(folder: Path) -> dict[str, Any] | None:
    """Read an entry's record, and check the files that it names.

    Args:
        folder: the entry's own.

    Returns:
        The content of ``verdict.json``; None if it is not there.

    Raises:
        DamagedFile: it is no record, or a file that it names is missing or another one.
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
        raise DamagedFile(f"{path} is no record of schema {SCHEMA}. {_REMEDY}")
    record: dict[str, Any] = content
    for name, digest in record["files"].items():
        if not (folder / name).is_file() or files.hash_of(folder / name) != digest:
            raise DamagedFile(f"{folder / name} is not the file that {RECORD} names. {_REMEDY}")
    return record


_REMEDY = f"Remove the folder's {RECORD} and run the study again."


def write_table(frame: pd.DataFrame, folder: Path) -> None:
    """Write an entry's table, the same bytes for the same numbers."""
    with files.written_atomically(folder / TABLE) as temporary:
        temporary.write_bytes(gzip.compress(frame.to_csv(index=False).encode(), mtime=0))


def read_table(folder: Path) -> pd.DataFrame:
    """Read the table that an entry left behind: numbers to the last digit; names that are empty stay so."""
    return pd.read_csv(folder / TABLE, keep_default_na=False)


def reduce_colours(path: Path) -> None:
    """Write a PNG again with at most 256 colours: a third of its size."""
    with PIL.Image.open(path) as picture:
        reduced = picture.convert("RGB").quantize(256)
    with files.written_atomically(path) as temporary:
        reduced.save(temporary, "PNG", optimize=True)


def format_record(record: Mapping[str, Any]) -> str:
    """Return each verdict of a record in a line.

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
    """Return a verdict's p-value and note in brackets.

    Example:
        >>> format_remarks({"p": None, "note": "MIG below 0.1"})
        ' (MIG below 0.1)'
    """
    text = "; ".join(filter(None, (p_value(sentence["p"]), sentence["note"])))
    return f" ({text})" if text else ""


def p_value(p: float | None) -> str:
    """Return a p-value as it is printed; nothing where there is none."""
    return "" if p is None else "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def format_numbers(sentence: Mapping[str, Any]) -> str:
    """Return a verdict's numbers in one line, three digits each.

    Example:
        >>> format_numbers({"numbers": {"a": 1.0, "b": 0.25}})
        'a 1; b 0.25'
    """
    return "; ".join(f"{name} {number:.3g}" for name, number in sentence["numbers"].items())


def format_cost(records: Iterable[Mapping[str, Any]]) -> str:
    """Describe in one line what entries took, runs that they share counted once.

    Args:
        records: the contents of their ``verdict.json``.

    Example:
        >>> record = {"budget": {"compute_seconds": 1800.0}, "trained": {"a": 3600.0, "b": 7200.0}}
        >>> format_cost([record, record])
        '2 runs, trained in 3.0 worker hours, and 1.0 hours of computing'
    """
    records = list(records)
    seconds: dict[str, float] = {}
    for record in records:
        seconds |= record["trained"]
    compute_hours = sum(record["budget"]["compute_seconds"] for record in records) / 3_600
    train_hours = sum(seconds.values()) / 3_600
    return f"{len(seconds)} runs, trained in {train_hours:.1f} worker hours, and {compute_hours:.1f} hours of computing"
