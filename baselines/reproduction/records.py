"""What an entry leaves behind: read, checked and put into words.

That is a folder, ``<into>/<id>``::

    table.csv       the numbers
    figure.png      the picture, in the paper's layout
    verdict.json    the claim, our numbers, the verdict with its p-value, and what was spent

``verdict.json``, the record, is written last and names the hashes of the others, so that a folder is either finished or
not. The table and the picture are left alone as long as what they are made of is the same: runs, datasets and settings.
The verdict is drawn from the table, and is drawn again where the claim, or how it is judged, has changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from baselines.reproduction.entries import NOT_JUDGED, TIERS
from benchmark_data import files
from benchmark_data.errors import DamagedFile


def read(folder: Path) -> dict[str, Any] | None:
    """Read an entry's record, and check the files that it names.

    Args:
        folder: the entry's own.

    Returns:
        The content of ``verdict.json``; None if it is not there.

    Raises:
        DamagedFile: it is no record, or a file that it names is missing or another one.
    """
    path = folder / "verdict.json"
    if not path.exists():
        return None
    held: Any = files.read_json(path)
    known = {*RECORDED, "schema"} - ({"verdict", "p", "note"} if old(held) else set())
    if (
        not (isinstance(held, dict) and known <= set(held) and isinstance(held["files"], dict))
        or held["tier"] not in TIERS
    ):
        raise DamagedFile(
            str(path), expected=f"a record with {', '.join(RECORDED)}", received="another file", remedy=_MEND
        )
    record: dict[str, Any] = held | ({"verdict": NOT_JUDGED, "p": None, "note": OLD} if old(held) else {})
    for name, digest in held["files"].items():
        if not (folder / name).is_file() or files.hash_of(folder / name) != digest:
            raise DamagedFile(
                str(folder / name), expected=f"the file with SHA-256 {digest[:16]}", received="another", remedy=_MEND
            )
    return record


def table(folder: Path) -> pd.DataFrame:
    """Read the table that an entry left behind.

    Args:
        folder: the entry's own.

    Returns:
        The numbers, with pandas 3 to the last digit; names that are empty stay so.
    """
    return pd.read_csv(folder / "table.csv", keep_default_na=False)


SCHEMA = 2
"""Of ``verdict.json``. A record of schema 1 has no verdict of seeds; its numbers stay until it is run again."""

OLD = "recorded before claims were tested over seeds: run it again"


def old(held: object) -> bool:
    """Return whether a record is one of schema 1."""
    return isinstance(held, dict) and held.get("schema") == 1


RECORDED = (
    *("id", "tier", "title", "paper", "claim", "verdict", "p", "note", "numbers"),
    *("budget", "trained", "command", "inputs", "files"),
)
"""What ``verdict.json`` holds; ``trained`` is the seconds that each run's training took, by folder."""

_MEND = "Remove the folder's verdict.json and run the study again."


def line(record: Mapping[str, Any]) -> str:
    """Return the verdict in one line.

    Args:
        record: the content of ``verdict.json``.

    Example:
        >>> record = {"id": "a/fig1", "claim": "Up.", "verdict": "holds", "p": 0.0079, "note": "", "tier": "smoke"}
        >>> line(record | {"numbers": {"slope": 0.5}})
        'a/fig1 (smoke): HOLDS (p = 0.008). Up. Ours: slope 0.5.'
    """
    return f"{record['id']} ({record['tier']}): {_loud(answer(record))}. {record['claim']} Ours: {numbers(record)}."


def _loud(told: str) -> str:
    """Put what comes before the bracket into capitals."""
    verdict, bracket, rest = told.partition(" (")
    return verdict.upper() + bracket + rest


def answer(record: Mapping[str, Any]) -> str:
    """Return a record's verdict with its p-value or its note.

    Args:
        record: the content of ``verdict.json``.

    Example:
        >>> answer({"verdict": "floor", "p": None, "note": "MIG below 0.1"})
        'floor (MIG below 0.1)'
    """
    told = "" if record["p"] is None else "p < 0.001" if record["p"] < 0.001 else f"p = {record['p']:.3f}"
    remarks = "; ".join(filter(None, (told, record["note"])))
    return str(record["verdict"]) + (f" ({remarks})" if remarks else "")


def numbers(record: Mapping[str, Any], *, most: int | None = None) -> str:
    """Return a record's numbers in one line, three digits each.

    Args:
        record: the content of ``verdict.json``.
        most: how many to give; all if None.

    Example:
        >>> numbers({"numbers": {"a": 1.0, "b": 0.25, "c": 2.0}}, most=2)
        'a 1; b 0.25; and 1 more'
    """
    told = [f"{name} {number:.3g}" for name, number in record["numbers"].items()]
    rest = [] if most is None or len(told) <= most else [f"and {len(told) - most} more"]
    return "; ".join([*told[:most], *rest])


def spent(records: Iterable[Mapping[str, Any]]) -> str:
    """Describe in one line what entries took, runs that they share counted once.

    Args:
        records: the contents of their ``verdict.json``.

    Example:
        >>> one = {"budget": {"compute_seconds": 1800.0}, "trained": {"a": 3600.0, "b": 7200.0}}
        >>> spent([one, one])
        '2 runs, trained in 3.00 hours of a worker, and 1.00 hours of computing'
    """
    records = list(records)
    runs: dict[str, float] = {}
    for record in records:
        runs |= record["trained"]
    computing = sum(record["budget"]["compute_seconds"] for record in records)
    return (
        f"{len(runs)} runs, trained in {sum(runs.values()) / 3_600:.2f} hours of a worker, and {computing / 3_600:.2f} "
        "hours of computing"
    )
