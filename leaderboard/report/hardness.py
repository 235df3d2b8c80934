"""Datasets from easiest to hardest: the scores of models on each, and how much its pixels reveal about the factors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from benchmark_data.types import Estimate
from benchmark_data.variants.splitting import Divided
from leaderboard import protocol
from leaderboard.properties import Column
from leaderboard.report import ranking
from leaderboard.report.ranking import Row, Table
from leaderboard.store import intervals, statistics
from leaderboard.store.giveaways import Giveaway


class DatasetLine(NamedTuple):
    """One dataset.

    Attributes:
        table: its scores in the tier.
        giveaway: how much its pixels reveal about its factors; None if not measured, or if no factor has an order.
        order: groups of factors, sorted from those that a VAE is expected to learn first; empty if not measured.
        rows: method -> its row, for the methods that are compared.
        mean: the mean score over the methods that all datasets have; None if there are none.
        interval: its 95% interval over seeds; None with too few, or if the methods' seeds differ.
    """

    table: Table
    giveaway: Estimate | None
    order: tuple[tuple[str, ...], ...]
    rows: dict[str, Row]
    mean: float | None
    interval: tuple[float, float] | None

    @property
    def dataset(self) -> str:
        """Its full name."""
        return self.table.dataset


class Prediction(NamedTuple):
    """Correlation of the giveaway of datasets with the scores of a method.

    Attributes:
        title: the title of the method.
        method: its name.
        datasets: the number of datasets that have both.
        correlation: Spearman's, over these datasets; None if undefined or too few.
        shared: the number of datasets with a giveaway that at least half of the methods have.
        on_shared: Spearman's over these, which is comparable between methods; None if the method lacks any of them, or
            as above.
    """

    title: str
    method: str
    datasets: int
    correlation: Estimate | None
    shared: int
    on_shared: Estimate | None


class Hardness(NamedTuple):
    """The datasets of a tier.

    Attributes:
        column: the score.
        methods: names and titles of the trained methods, by title.
        common: titles of those that all datasets have, with enough seeds for an interval; they determine the order.
        lines: the datasets, easiest first: by the mean over ``common``, or by giveaway if there are none.
        predictions: one for each method.
    """

    column: Column
    methods: tuple[tuple[str, str], ...]
    common: tuple[str, ...]
    lines: tuple[DatasetLine, ...]
    predictions: tuple[Prediction, ...]


def hardness(boards: Sequence[Table], giveaways: Mapping[str, Giveaway]) -> Hardness | None:
    """Order the datasets of a tier, and compare their giveaway with the scores.

    Datasets that a split rule divides are left out, since they are scored on other rows than were trained on. If models
    were trained here on two or more of the others, only these datasets are listed, and only these models count in
    means, so that a submission does not change the order.

    Args:
        boards: the tables of one tier.
        giveaways: full name -> giveaway of the dataset; that of another version is ignored.

    Returns:
        The datasets; None if fewer than two have scores of trained methods, none has a giveaway, or they have no score
        in common.
    """
    entries = []
    for board in boards:
        dataset = ranking.known_dataset(board.dataset)
        trained = [row for row in board.rows if row.category not in ("reference", "pretrained")]
        rows = {row.result.method: row for row in trained if not row.warning}
        if dataset is None or isinstance(dataset.source, Divided) or not rows or not board.columns:
            continue
        giveaway = giveaways.get(board.dataset)
        entries.append((board, rows, giveaway if giveaway and giveaway.version == dataset.version else None))
    trained_entries = [entry for entry in entries if any(row.trained_here for row in entry[1].values())]
    entries = trained_entries if len(trained_entries) > 1 else entries
    if len(entries) < 2 or not any(giveaway for _, _, giveaway in entries):
        return None
    column = next((c for c in protocol.COLUMNS.values() if all(c in board.columns for board, _, _ in entries)), None)
    if column is None:
        return None
    titles = {name: row.result.title for _, rows, _ in entries for name, row in rows.items()}
    ordered = sorted(titles.items(), key=lambda item: item[1].lower())
    common = [
        name
        for name, _ in ordered
        if all(name in rows and len(rows[name].values(column.key)) >= intervals.SEEDS for _, rows, _ in entries)
        and (len(trained_entries) < 2 or all(rows[name].trained_here for _, rows, _ in entries))
    ]
    scores = {board.dataset: [rows[name].values(column.key) for name in common] for board, rows, _ in entries}
    means = {name: sum(sum(runs) / len(runs) for runs in task) / len(common) for name, task in scores.items() if common}
    lines = [
        DatasetLine(
            table=board,
            giveaway=_giveaway_estimate(giveaway),
            order=giveaway.order if giveaway else (),
            rows=rows,
            mean=means.get(board.dataset),
            interval=column.within(intervals.interval_over_tasks(scores[board.dataset]))
            if ranking.seeds_agree([rows[name] for name in common])
            else None,
        )
        for board, rows, giveaway in entries
    ]
    lines.sort(key=_sort_key)
    shared = [line for line in lines if line.giveaway and 2 * len(line.rows) >= len(ordered)]
    return Hardness(
        column=column,
        methods=tuple(ordered),
        common=tuple(titles[name] for name in common),
        lines=tuple(lines),
        predictions=tuple(_prediction(name, title, lines, shared, column) for name, title in ordered),
    )


def _giveaway_estimate(giveaway: Giveaway | None) -> Estimate | None:
    if giveaway is None or giveaway.giveaway is None or giveaway.low is None or giveaway.high is None:
        return None
    return Estimate(giveaway.giveaway, giveaway.low, giveaway.high)


def _sort_key(line: DatasetLine) -> tuple[float, float, tuple[tuple[int, int | str], ...]]:
    """Return the key that sorts datasets: easiest first, unmeasured ones last."""
    mean = float("-inf") if line.mean is None else round(line.mean, ranking.DIGITS)
    giveaway = line.giveaway.value if line.giveaway else float("-inf")
    return -mean, -giveaway, protocol.natural_key(line.dataset)


def _prediction(
    method: str, title: str, lines: Sequence[DatasetLine], shared: Sequence[DatasetLine], column: Column
) -> Prediction:
    def pairs_on(subset: Sequence[DatasetLine]) -> list[tuple[float, float]]:
        return [
            (line.giveaway.value, line.rows[method].cells[column.key].mean)
            for line in subset
            if line.giveaway and method in line.rows and column.key in line.rows[method].cells
        ]

    def correlation(pairs: Sequence[tuple[float, float]]) -> Estimate | None:
        return statistics.rank_correlation(*zip(*pairs, strict=True)) if pairs else None

    all_pairs, shared_pairs = pairs_on(lines), pairs_on(shared)
    on_shared = correlation(shared_pairs) if len(shared_pairs) == len(shared) else None
    return Prediction(title, method, len(all_pairs), correlation(all_pairs), len(shared), on_shared)
