"""The transfer matrix as it is shown: encoders against targets and their labels, its caption, and its CSV."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from typing import TypeAlias

from benchmark_data import files
from leaderboard import protocol
from leaderboard.properties import Column
from leaderboard.store import verdicts
from leaderboard.store.budgets import spent
from leaderboard.store.transfers import NO_SOURCE, Transfer

Cell: TypeAlias = tuple[float, tuple[float, float] | None]
"""An accuracy, the mean over seeds, and its 95% interval, which few seeds do not have."""

BETWEEN = Column("accuracy", "Accuracy", "The share of labels that are predicted.")


@dataclasses.dataclass(frozen=True)
class Encoder:
    """One encoder in the matrix: source, method, and its accuracies in the order of the columns."""

    source: str
    method: str
    title: str
    seeds: int
    cells: tuple[Cell | None, ...]


@dataclasses.dataclass(frozen=True)
class Matrix:
    """Accuracies of a classifier: an encoder in a row, a label of a target in a column.

    Attributes:
        classifier: such as ``"gbt"``.
        title: the same in words.
        targets: (target, its columns), in order: its labels, and the average before them where there are several.
        lines: the encoders; the most frequent class comes last.
    """

    classifier: str
    title: str
    targets: tuple[tuple[str, tuple[str, ...]], ...]
    lines: tuple[Encoder, ...]


def matrices(found: Sequence[Transfer]) -> list[Matrix]:
    """Lay the transfer matrix out: for each classifier, sources against targets and their labels.

    Args:
        found: as from ``read_all``.

    Returns:
        One matrix for each classifier that was used.
    """
    from leaderboard.analyses import transfer_accuracy  # loads pandas, which most boards do without

    labels: dict[str, dict[str, None]] = {}
    for one in found:
        labels.setdefault(one.target, {}).update(dict.fromkeys(a.label for a in one.runs[0].accuracies))
    targets = tuple((target, (*(["average"] if len(of) > 1 else []), *of)) for target, of in labels.items())
    titles = {one.method: one.title for one in found if one.title}  # codes that came without a run have none
    encoders = {(one.source, one.method): titles.get(one.method, one.method) for one in found}
    order = sorted(encoders, key=lambda key: (key[0] == NO_SOURCE, protocol.natural(key[0]), key[1]))
    used = {a.classifier for one in found for a in one.runs[0].accuracies}
    made = []
    for classifier in [c for c in transfer_accuracy.CLASSIFIERS if c in used]:
        lines = []
        for source, method in order:
            here = {one.target: one for one in found if (one.source, one.method) == (source, method)}
            cells = [_cells(here.get(target), classifier, of) for target, of in labels.items()]
            seeds = max(len(one.runs) for one in here.values())
            lines.append(Encoder(source, method, encoders[source, method], seeds, tuple(c for of in cells for c in of)))
        floor = [
            _cells(next(one for one in found if one.target == target), "constant", of) for target, of in labels.items()
        ]
        lines.append(Encoder("", "", transfer_accuracy.MAJORITY, 0, tuple(c for of in floor for c in of)))
        made.append(Matrix(classifier, transfer_accuracy.TITLES[classifier].capitalize(), targets, tuple(lines)))
    return made


def _cells(found: Transfer | None, classifier: str, labels: Collection[str]) -> list[Cell | None]:
    """Return the accuracy on each label, and the average before them where there are several."""
    seeds = [
        {a.label: a.test for a in run.accuracies if a.classifier == classifier} for run in (found.runs if found else ())
    ]
    each = [[of[label] for of in seeds if label in of] for label in labels]
    average = [[sum(of.values()) / len(of) for of in seeds if of]] if len(labels) > 1 else []
    return [_cell(values) for values in (*average, *each)]


def _cell(values: Sequence[float]) -> Cell | None:
    return (sum(values) / len(values), BETWEEN.within(verdicts.mean_interval(values))) if values else None


def caption(found: Sequence[Transfer]) -> str:
    """Describe on how many rows accuracies were measured and what training cost.

    Args:
        found: as from ``read_all``.

    Returns:
        One or two sentences.
    """
    sizes = sorted({f"{one.target} {one.train:,} and {one.test:,}" for one in found})
    budgets = [run.budget for one in found for run in one.runs if run.budget]
    cost = f" Training: {spent(budgets)}." if budgets else " Nothing is known of what training cost."
    return f"Rows to fit to and held out: {'; '.join(sizes)}.{cost}"


def comma_separated(found: Sequence[Transfer]) -> str:
    """Render accuracies as CSV, one to a line.

    Args:
        found: as from ``read_all``.

    Returns:
        CSV with a header.
    """
    rows = (
        (one.target, one.source, one.method, run.seed, a.classifier, a.label, a.train, a.test)
        for one in found
        for run in one.runs
        for a in run.accuracies
    )
    return files.comma_separated(("target", "source", "method", "seed", "classifier", "label", "train", "test"), rows)
