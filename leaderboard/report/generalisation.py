"""Scores on held-out combinations of factors, by split rule.

Each rule is compared with its reference, which holds out no combination: the splits of Schott et al. with ``random``, a
correlated sample with ``holdout``. R² here is in units of a factor's variance over the whole dataset, as in Schott et
al., so that errors are comparable between rules; the metric's own unit is the variance on the held-out rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

import benchmark_data
from benchmark_data.variants import splitting
from leaderboard import protocol
from leaderboard.properties import Column
from leaderboard.report import ranking
from leaderboard.report.ranking import Row, Table
from leaderboard.store import intervals, verdicts
from leaderboard.store.results import Scored

Mean: TypeAlias = tuple[float, tuple[float, float] | None]
"""A mean over seeds and its interval; None with too few seeds."""

WHOLE = Column(
    "r_squared_whole",
    "R² (whole)",
    "How much of the factors' variance over the whole dataset a readout explains on held-out rows.",
    low=-math.inf,
)

COLUMNS = (WHOLE, protocol.COLUMNS["mig"], protocol.COLUMNS["dci.disentanglement"])
"""The scores that are compared, in the order of a table's columns."""


class Change(NamedTuple):
    """The difference of a score from that on the reference.

    Attributes:
        comparison: Welch's, of the score minus that on the reference.
        answer: the verdict on a decrease, after Holm over all rules and scores of a dataset and method.
    """

    comparison: verdicts.Comparison
    answer: verdicts.Answer


class RuleLine(NamedTuple):
    """One method on one divided dataset.

    Attributes:
        rule: the split's name, such as ``composition``.
        reference: the rule to compare with; empty for a reference.
        table: the task's table.
        row: the method's row.
        scores: score -> its value for every seed; ``WHOLE`` instead of the metric's own R².
        factors: factor -> R², the mean over seeds with Student's interval.
        changes: score -> its change; empty for or without a reference, and without MIG and DCI if other factors
            vary in the held-out rows.
    """

    rule: str
    reference: str
    table: Table
    row: Row
    scores: dict[str, list[float]]
    factors: dict[str, Mean]
    changes: dict[str, Change]

    def mean(self, column: Column) -> Mean | None:
        """Return the mean over seeds of a score, with Student's interval; None if there is no such score."""
        values = self.scores.get(column.key)
        return _mean_with_interval(values, column) if values else None


class Study(NamedTuple):
    """One method on all rules of one dataset.

    Attributes:
        dataset: the dataset that is divided.
        method: the method's name.
        title: as printed.
        columns: the scores.
        factors: names.
        lines: one for each rule, references first.
    """

    dataset: str
    method: str
    title: str
    columns: tuple[Column, ...]
    factors: tuple[str, ...]
    lines: tuple[RuleLine, ...]


def reference(rule: str) -> str:
    """Return the rule with which a rule is compared; empty if it is a reference itself.

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
    rows_by_rule: dict[tuple[str, str], dict[str, tuple[Table, Row]]] = {}
    for board in boards:
        base, rule = splitting.parse_divided_name(board.dataset)
        if rule and ranking.known_dataset(board.dataset) is not None:
            for row in board.rows:
                if not row.warning:
                    rows_by_rule.setdefault((base, row.result.method), {})[rule] = board, row
    return tuple(
        _study(base, method, rules)
        for (base, method), rules in sorted(rows_by_rule.items())
        if any(reference(rule) in rules for rule in rules)
    )


def _study(base: str, method: str, rules: dict[str, tuple[Table, Row]]) -> Study:
    r_squared = {rule: _factor_r_squared(board, row.runs) for rule, (board, row) in rules.items()}
    scores = {rule: _scores_by_seed(row, r_squared[rule]) for rule, (_, row) in rules.items()}
    varies = {
        rule: np.greater(row.runs[0].parts.get("r_squared", {}).get("variances", ()), 0).tolist()
        for rule, (_, row) in rules.items()
    }
    columns = tuple(column for column in COLUMNS if any(column.key in rule_scores for rule_scores in scores.values()))
    comparisons = [
        (rule, column.key, verdicts.welch([scores[reference(rule)][column.key]], [rule_scores[column.key]]))
        for rule, rule_scores in scores.items()
        for column in columns
        if column.key in rule_scores and column.key in scores.get(reference(rule), ())
        # MIG and DCI are means over the factors that vary in the held-out rows.
        if column is WHOLE or varies[rule] == varies[reference(rule)]
    ]
    answers = verdicts.judge([comparison for *_, comparison in comparisons])
    changes: dict[str, dict[str, Change]] = {}
    for (rule, key, comparison), (answer, _) in zip(comparisons, answers, strict=True):
        changes.setdefault(rule, {})[key] = Change(comparison.turned(), answer)
    lines = [
        RuleLine(
            rule,
            reference(rule),
            board,
            row,
            scores[rule],
            {name: _mean_with_interval(values, WHOLE) for name, values in r_squared[rule].items()},
            changes.get(rule, {}),
        )
        for rule, (board, row) in rules.items()
    ]
    lines.sort(key=lambda line: (line.reference or line.rule, bool(line.reference), protocol.natural_key(line.rule)))
    factor_names = dict.fromkeys(name for line in lines for name in line.factors)
    return Study(base, method, lines[0].row.result.title, columns, tuple(factor_names), tuple(lines))


def _scores_by_seed(row: Row, r_squared: dict[str, list[float]]) -> dict[str, list[float]]:
    """Return the compared scores of every seed."""
    scores = {column.key: row.values(column.key) for column in COLUMNS}
    scores[WHOLE.key] = np.mean(list(r_squared.values()), axis=0).tolist() if r_squared else []
    return {key: values for key, values in scores.items() if values}


def _factor_r_squared(board: Table, runs: Sequence[Scored]) -> dict[str, list[float]]:
    """Compute the R² of each factor for every seed from the score's parts; empty unless the dataset is a full grid."""
    parts = [run.parts.get("r_squared", {}) for run in runs]
    source = benchmark_data.load(board.dataset).source
    names = protocol.task(board.task).scored
    is_known = all(len(part.get("errors", ())) == len(names) for part in parts)
    if not is_known or not isinstance(source, splitting.Divided) or not source.base.space.full:
        return {}
    space = source.base.space
    r_squared = {}
    errors = np.array([part["errors"] for part in parts]).T
    for name, factor_errors in zip(names, errors, strict=True):
        # In a full grid class ids 0 to n - 1 are equally frequent.
        grid_variance = (space.sizes[space.column(name)] ** 2 - 1) / 12
        r_squared[name] = (1 - factor_errors / grid_variance).tolist()
    return r_squared


def _mean_with_interval(values: Sequence[float], column: Column) -> Mean:
    return float(np.mean(values)), column.within(intervals.mean_interval(values))
