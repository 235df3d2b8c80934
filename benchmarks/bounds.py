"""How many verdicts of docs/reproduction depend on bounds that the papers do not give?

    python benchmarks/bounds.py

Judges the committed tables with every bound moved down and up, one at a time, and writes to ``bounds.csv`` how many
verdicts change, and of which entries (``.0`` is the paper's own sentence, ``.1`` another one). Takes half a minute.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from baselines.reproduction import pages, records, runner
from baselines.reproduction.papers import _accuracy, _changed, _heatmaps, _layers, _perceived, bonheme2023
from leaderboard.store import verdicts

HERE = Path(__file__).parent
TABLES = HERE.parent / "docs" / "reproduction"


class Bound(NamedTuple):
    """A bound: what it is of, the modules that have it, its name there, and other values of it."""

    title: str
    modules: tuple[Any, ...]
    name: str
    others: tuple[float, float]


BOUNDS = (
    Bound("least MIG for a test", (verdicts,), "FLOOR", (0.05, 0.2)),
    Bound("CKA of similar layers", (_heatmaps,), "ALIKE", (0.7, 0.9)),
    Bound("change since initialisation", (_heatmaps,), "LEFT", (0.025, 0.1)),
    Bound("equal similarities differ by less than", (_layers, bonheme2023), "SAME", (0.05, 0.2)),
    Bound("correlation of distances that agree", (_perceived,), "AGREES", (0.3, 0.7)),
    Bound("correlation of shared properties", (bonheme2023,), "SHARED", (0.3, 0.7)),
    Bound("noise lowers MIG by less than", (_changed,), "SAME", (0.025, 0.1)),
    Bound("accuracies on par differ by less than", (_accuracy,), "NEAR", (0.05, 0.2)),
)


def judge_all() -> dict[str, str]:
    """Judge every committed table: entry and number of the sentence -> verdict."""
    answers: dict[str, str] = {}
    for id_, entry in pages.entries_with_row().items():
        record = records.read_record(TABLES / id_) or {}
        judged = runner.judge(entry, record["tier"], records.read_table(TABLES / id_))["judged"]
        answers |= {f"{id_}.{number}": sentence["verdict"] for number, sentence in enumerate(judged)}
    return answers


def _set(bound: Bound, value: float) -> None:
    for module in bound.modules:
        setattr(module, bound.name, value)


def main() -> None:
    """Move each bound, print what changes, and write how much."""
    published = judge_all()
    rows = []
    for bound in BOUNDS:
        value = getattr(bound.modules[0], bound.name)
        for other in bound.others:
            _set(bound, other)
            answers = judge_all()
            changed = [name for name, verdict in published.items() if answers[name] != verdict]
            rows.append((bound.title, value, other, len(published), len(changed), " ".join(changed)))
            print(
                bound.title, other, *(f"{name}: {published[name]} -> {answers[name]}" for name in changed), sep="\n  "
            )
        _set(bound, value)
    table = pd.DataFrame(rows, columns=["bound", "value", "other", "verdicts", "changed", "which"])
    table.to_csv(HERE / "bounds.csv", index=False)


if __name__ == "__main__":
    main()
