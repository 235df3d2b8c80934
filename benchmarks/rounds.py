"""Records of what benchmarks measured: one line per contender and round, from which docs/performance.md has tables."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path


def append(record: Path | None, columns: Sequence[str], rounds: Iterable[Sequence[object]]) -> None:
    """Add lines to a record, if one is wanted; a new one begins with the columns' names."""
    if record is None:
        return
    new = not record.exists()
    with record.open("a", encoding="utf-8", newline="") as stream:
        lines = csv.writer(stream, lineterminator="\n")
        if new:
            lines.writerow(columns)
        lines.writerows(rounds)
