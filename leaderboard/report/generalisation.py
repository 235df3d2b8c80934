"""What a model that was trained on some combinations of factors makes of others: held-out rows by split rule.

Each rule is compared with its reference, which leaves no combination out: the splits of Schott et al. with ``random``,
a correlated sample with ``holdout``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from benchmark_data import files
from benchmark_data.variants import splitting
from leaderboard import protocol
from leaderboard.properties import Column
from leaderboard.report import families
from leaderboard.report.ranking import Row, Table
from leaderboard.store import verdicts
from leaderboard.store.results import Run, Summary


@dataclasses.dataclass(frozen=True)
class Fall:
    """The difference of a score from that on the reference.

    Attributes:
        comparison: Welch's, of the score less that on the reference.
        answer: ``holds`` where it is lower than the reference's, over all rules and scores of a dataset and method.
    """

    comparison: verdicts.Comparison
    answer: verdicts.Answer


@dataclasses.dataclass(frozen=True)
class Line:
    """One method on one divided dataset.

    Attributes:
        rule: the split's name, such as ``composition``.
        reference: the rule that it is compared with; empty for a reference.
        table: the task's table.
        row: the method's row.
        factors: factor -> R², the mean over seeds with Student's interval; those that do not vary are left out.
        falls: score -> its difference; none for a reference, and where there is none.
    """

    rule: str
    reference: str
    table: Table
    row: Row
    factors: dict[str, tuple[float, tuple[float, float] | None]]
    falls: dict[str, Fall]


@dataclasses.dataclass(frozen=True)
class Study:
    """One method on all rules of one dataset.

    Attributes:
        dataset: that is divided.
        method: the method's name.
        title: as it is printed.
        columns: the scores.
        factors: names.
        lines: one for each rule, references first.
    """

    dataset: str
    method: str
    title: str
    columns: tuple[Column, ...]
    factors: tuple[str, ...]
    lines: tuple[Line, ...]


SHOWN = ("r_squared", "mig", "dci.disentanglement")
"""The scores that are compared, in the order of a table's columns."""


def reference(rule: str) -> str:
    """Return the rule that another one is compared with; empty for those that others are compared with.

    Example:
        >>> [reference(rule) for rule in ("composition", "correlated.posx-posy-0.1", "random")]
        ['random', 'holdout', '']
    """
    if rule.partition(".")[0] in ("random", "holdout"):
        return ""
    return "holdout" if rule.startswith("correlated.") else "random"


def studies(boards: Iterable[Table]) -> tuple[Study, ...]:
    """Find the methods with scores on a divided dataset and on its reference.

    Args:
        boards: the tables of one tier.

    Returns:
        One for each dataset and method, in this order.
    """
    there: dict[tuple[str, str], dict[str, tuple[Table, Row]]] = {}
    for board in boards:
        base, rule = splitting.named(board.dataset)
        if rule and families.dataset(board.dataset) is not None:
            for row in board.rows:
                if not row.warning:
                    there.setdefault((base, row.result.method), {})[rule] = board, row
    return tuple(
        _study(base, method, rules)
        for (base, method), rules in sorted(there.items())
        if any(reference(rule) in rules for rule in rules)
    )


def _study(base: str, method: str, rules: dict[str, tuple[Table, Row]]) -> Study:
    columns = tuple(protocol.COLUMNS[key] for key in SHOWN if any(key in row.cells for _, row in rules.values()))
    pairs = [
        (rule, column.key, verdicts.welch([other.values(column.key)], [row.values(column.key)]))
        for rule, (_, row) in rules.items()
        if reference(rule) in rules
        for other in [rules[reference(rule)][1]]
        for column in columns
        if row.values(column.key) and other.values(column.key)
    ]
    answers = verdicts.judge([found for *_, found in pairs])
    falls: dict[str, dict[str, Fall]] = {}
    for (rule, key, found), (answer, _) in zip(pairs, answers, strict=True):
        down = found._replace(difference=-found.difference, low=-found.high, high=-found.low)
        falls.setdefault(rule, {})[key] = Fall(down, answer)
    lines = [
        Line(rule, reference(rule), board, row, _factors(board, row.runs), falls.get(rule, {}))
        for rule, (board, row) in rules.items()
    ]
    lines.sort(key=lambda line: (line.reference or line.rule, bool(line.reference), protocol.natural(line.rule)))
    names = dict.fromkeys(name for line in lines for name in line.factors)
    return Study(base, method, lines[0].row.result.title, columns, tuple(names), tuple(lines))


def _factors(board: Table, runs: Sequence[Run]) -> dict[str, tuple[float, tuple[float, float] | None]]:
    """Work out R² of each factor from what it is made of."""
    parts = [run.parts.get("r_squared", {}) for run in runs]
    if not all("errors" in of and "variances" in of for of in parts):
        return {}
    errors, variances = (np.array([of[name] for of in parts]) for name in ("errors", "variances"))
    found = {}
    for place, name in enumerate(protocol.task(board.task).scored):
        if variances[:, place].all():
            values = 1 - errors[:, place] / variances[:, place]
            found[name] = float(values.mean()), protocol.COLUMNS["r_squared"].within(verdicts.mean_interval(values))
    return found


def comma_separated(found: Iterable[Study]) -> str:
    """Write studies as CSV.

    Args:
        found: as from ``studies``.

    Returns:
        A line for each score, and for R² of each factor (``r_squared:<factor>``), of each rule, dataset and method.
    """
    head = ("dataset", "method", "rule", "reference", "seeds", "score", "mean", "low", "high")
    return files.comma_separated((*head, "difference", "difference_low", "difference_high", "verdict"), _cells(found))


def _cells(found: Iterable[Study]) -> Iterator[tuple[object, ...]]:
    """Yield the rows of the CSV."""
    for study in found:
        for line in study.lines:
            first = (study.dataset, study.method, line.rule, line.reference, line.row.seeds)
            for column in study.columns:
                cell: Summary | None = line.row.cells.get(column.key)
                if cell is None:
                    continue
                fall = line.falls.get(column.key)
                difference = fall.comparison[:3] if fall else (None,) * 3
                answer = {"holds": "lower", "contradicted": "higher"}.get(fall.answer, fall.answer) if fall else ""
                yield (*first, column.key, cell.mean, cell.low, cell.high, *difference, answer)
            for name, (mean, ends) in line.factors.items():
                yield (*first, f"r_squared:{name}", mean, *(ends or (None, None)), *(None,) * 4)
