"""Contents of a tier's pages: all methods on all of its tasks, and their means over tasks. Internal."""

from __future__ import annotations

import collections
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmark_data.sources import Derived
from leaderboard import protocol
from leaderboard.properties import Column
from leaderboard.report import generalisation, hardness, overall, ranking
from leaderboard.report.ranking import Row, Table
from leaderboard.report.site import plots
from leaderboard.report.site.plots import Plot
from leaderboard.store import giveaways
from leaderboard.store.results import Result


class TierPage(NamedTuple):
    """Contents of a tier's pages: all methods on all of its tasks, and their means over tasks.

    Attributes:
        name: the tier's name.
        first: whether it is on the board's first page.
        summary: what it is for; empty for a tier that the protocol no longer has.
        tables: one for each task: first those that are averaged over, then the others, each in order.
        averaged: the number of tasks that are averaged over (`overall.shared`).
        columns: the scores.
        groups: category -> methods, best mean first, those that lack a task last.
        training: models and budgets.
        samples: sample sizes.
        overall: the standings across tasks; None if there are none.
        plots: scores against parameters of datasets.
        hardness: its datasets, easiest first; None if no giveaway was measured.
        studies: methods on held-out and correlated rows, with their references.
        runs: the number of runs with scores.
    """

    name: str
    first: bool
    summary: str
    tables: tuple[Table, ...]
    averaged: int
    columns: tuple[Column, ...]
    groups: dict[str, tuple[MatrixRow, ...]]
    training: str
    samples: str
    overall: overall.Overall | None
    plots: tuple[Plot, ...]
    hardness: hardness.Hardness | None
    studies: tuple[generalisation.Study, ...]
    runs: int

    def page(self, column: Column | None = None) -> str:
        """Return the name of the tier's page sorted by a score; by the first one if None."""
        if column is None or column == self.columns[0]:
            return "index.html" if self.first else f"tier.{self.name}.html"
        return f"tier.{self.name}.{column.key}.html"

    def ordered(self, column: Column) -> dict[str, tuple[MatrixRow, ...]]:
        """Return the groups with their rows sorted by a score; for the first score, in the order of the standings."""
        if column == self.columns[0]:
            return self.groups
        return {
            category: tuple(sorted(rows, key=lambda row: (*row.order(column.key), row.title.lower())))
            for category, rows in self.groups.items()
        }

    @property
    def verified(self) -> tuple[int, int]:
        """The number of verified rows of trained methods, and the number of all."""
        trusts = [row.trust for table in self.tables for row in table.rows if row.category != "reference"]
        return trusts.count("verified"), len(trusts)

    @property
    def seeds(self) -> str:
        """The number of seeds of the means, such as ``2 seeds`` or ``4 to 5 seeds``; untrained baselines have one."""
        counts = {row.seeds for table in self.tables for row in table.rows if row.category != "reference"} or {1}
        least, most = min(counts), max(counts)
        return f"{f'{least} to ' if least != most else ''}{most} seed{'s' if most != 1 else ''}"

    @property
    def incomplete(self) -> list[str]:
        """Titles of the methods without a mean, since they lack a task that is averaged over."""
        key = self.columns[0].key
        return [row.title for rows in self.groups.values() for row in rows if key not in row.means]

    @property
    def unplaced(self) -> list[str]:
        """Titles of the methods with a mean but no rank, since they have none on some task."""
        if self.overall is None:
            return []
        trained = [row for category, rows in self.groups.items() if category != "reference" for row in rows]
        already_named = {*self.incomplete, *self.overall.left_out}
        return [row.title for row in trained if row.standing is None and row.title not in already_named]

    @property
    def has_excluded_scores(self) -> bool:
        """Whether any score is shown that is left out of comparisons."""
        return any(note for rows in self.groups.values() for row in rows for note in row.notes)

    @property
    def selected(self) -> bool:
        """Whether settings of any method were selected."""
        return any(row.selected for rows in self.groups.values() for row in rows)

    @property
    def mixture(self) -> tuple[tuple[str, int], ...]:
        """The families of the tasks that are averaged over, with their numbers of tasks, most first."""
        counts = collections.Counter(family(table.dataset) for table in self.tables[: self.averaged])
        return tuple(counts.most_common())

    @property
    def families(self) -> tuple[str, ...]:
        """The families of its datasets, such as ``dsprites`` with its perturbed and noisy forms."""
        return tuple(dict.fromkeys(family(table.dataset) for table in self.tables))


class MatrixRow(NamedTuple):
    """One method on all tasks of a tier.

    Attributes:
        method: its name.
        title: as printed.
        statuses: how its scores were computed and verified, by task.
        scores: for each task, score -> mean; empty if it was not scored.
        notes: for each task why its score is left out of comparisons, a mark or a quarantine; else empty.
        means: score -> mean over the tasks that are averaged over, for methods with that score on all of them.
        standing: its standing across these tasks; None if it is not ranked on all of them.
        verified: whether its scores on the tasks that are averaged over are all verified; on all tasks, if it has
            scores on none of these.
        selected: whether its settings were selected on any task, as its authors state.
    """

    method: str
    title: str
    statuses: tuple[str, ...]
    scores: tuple[dict[str, float], ...]
    notes: tuple[str, ...]
    means: dict[str, float]
    standing: overall.Standing | None
    verified: bool
    selected: bool

    def order(self, key: str) -> tuple[bool, float]:
        """Return a key that sorts by a mean, highest first, rows without one last."""
        return key not in self.means, -self.means.get(key, 0.0)


def statuses(tables: Sequence[Table]) -> list[str]:
    """Return the statuses of all rows of tables, in order."""
    return sorted({status for table in tables for row in table.rows for status in row_statuses(row)})


def row_statuses(row: Row) -> list[str]:
    """Return how a row's scores were computed, and whether they are verified."""
    return sorted({run.status for run in row.runs}) + (["verified"] if row.trust == "verified" else [])


def family(dataset: str) -> str:
    """Return the family of a dataset: the name of the dataset that it is a changed form of, or its own.

    Args:
        dataset: full name.

    Returns:
        The name.

    Example:
        >>> family("dsprites_perturbed/pca32_eps10"), family("xysquares/spacing_1")
        ('dsprites', 'xysquares')
    """
    loaded = ranking.known_dataset(dataset)
    name = dataset.partition("/")[0]
    while loaded is not None and isinstance(loaded.source, Derived):
        loaded = loaded.source.base
        name = loaded.name
    return name


def pages_of(root: Path, results: Sequence[Result], tables: Sequence[Table]) -> tuple[TierPage, ...]:
    """Collect the contents of each tier's pages, the tier on the first page in front."""
    known_giveaways = giveaways.read(root)
    names = sorted({table.tier for table in tables}, key=ranking.tier_order)
    return tuple(
        _tier_page(name, [table for table in tables if table.tier == name], index == 0, known_giveaways, results)
        for index, name in enumerate(names)
    )


def _tier_page(
    tier: str,
    boards: Sequence[Table],
    first: bool,
    known_giveaways: Mapping[str, giveaways.Giveaway],
    results: Sequence[Result],
) -> TierPage:
    averaged = overall.shared(boards)
    averaged_tasks = {board.task for board in averaged}
    ordered = (*averaged, *(board for board in boards if board.task not in averaged_tasks))
    standings, rows = overall.overall(boards), [row for board in boards for row in board.rows]
    return TierPage(
        name=tier,
        first=first,
        summary=protocol.TIERS[tier].summary if tier in protocol.TIERS else "",
        tables=ordered,
        averaged=len(averaged),
        columns=tuple(c for c in protocol.COLUMNS.values() if any(c in board.columns for board in boards)),
        groups=_matrix_groups(ordered, len(averaged), standings),
        training=ranking.training(rows),
        samples=ranking.samples(tier, rows),
        overall=standings,
        plots=tuple(plots.scores_vs_parameter(boards)),
        hardness=hardness.hardness(boards, known_giveaways),
        studies=generalisation.studies(boards),
        runs=sum(len(result.runs_in(tier)) for result in results),
    )


def _matrix_groups(
    boards: Sequence[Table], averaged: int, standings: overall.Overall | None
) -> dict[str, tuple[MatrixRow, ...]]:
    standing_of = {standing.method: standing for standing in standings.standings} if standings else {}
    groups: dict[str, tuple[MatrixRow, ...]] = {}
    for category in ranking.CATEGORIES:
        rows_by_board = [{row.result.method: row for row in board.groups.get(category, ())} for board in boards]
        matrix_rows = []
        for method in sorted(set().union(*rows_by_board)):
            rows = [board_rows.get(method) for board_rows in rows_by_board]
            scored_rows = [row for row in rows if row]
            scores = tuple({key: round(cell.mean, 6) for key, cell in row.cells.items()} if row else {} for row in rows)
            notes = tuple(row.note if row and row.warning else "" for row in rows)
            averaged_scores = [{} if note else by_key for by_key, note in zip(scores[:averaged], notes, strict=False)]
            shared_keys = set.intersection(*(set(by_key) for by_key in averaged_scores))
            matrix_rows.append(
                MatrixRow(
                    method,
                    scored_rows[0].result.title,
                    tuple(sorted({status for row in scored_rows for status in row_statuses(row)})),
                    scores,
                    notes,
                    {key: sum(by_key[key] for by_key in averaged_scores) / len(averaged_scores) for key in shared_keys},
                    standing_of.get(method),
                    all(row.trust == "verified" for row in (list(filter(None, rows[:averaged])) or scored_rows)),
                    any(row.selected for row in scored_rows),
                )
            )
        if matrix_rows:
            main_key = next(iter(boards[0].columns)).key if boards[0].columns else ""
            matrix_rows.sort(key=lambda row: (row.standing is None, *row.order(main_key), row.title.lower()))
            groups[category] = tuple(matrix_rows)
    return groups
