"""What the modules of tables share."""

from __future__ import annotations

import csv
import functools
from pathlib import Path

DOCS = Path(__file__).parents[1]
RESULTS = DOCS.parent / "leaderboard" / "published"
LEAST_SEEDS = 5


def row(*cells: str) -> str:
    """Write one row of a table."""
    return f"| {' | '.join(cells)} |"


def span(low: float, high: float, form: str = ".2f") -> str:
    """Write a range with a dash, or with a word if a sign stands before a number."""
    return f"{low:{form}}{'–' if low >= 0 else ' to '}{high:{form}}"


def explained_shares(dataset: str) -> dict[str, list[float]]:
    """Read how much of a dataset's pixel variance reconstructions explain: objective -> one share for each seed."""
    shares: dict[str, list[float]] = {}
    for line in record_of("explained.csv"):
        if line["dataset"] == dataset:
            shares.setdefault(line["objective"], []).append(float(line["explained"]))
    return shares


@functools.cache
def record_of(name: str) -> list[dict[str, str]]:
    """Return the lines of a record in benchmarks/."""
    with (DOCS.parent / "benchmarks" / name).open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))
