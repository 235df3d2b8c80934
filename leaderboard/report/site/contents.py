"""Contents of the pages of tasks, methods and tiers, from results. Internal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmark_data.dataset import Dataset
from benchmark_data.factors import FactorSpace
from leaderboard import protocol
from leaderboard.properties import Column
from leaderboard.record import About, Digests
from leaderboard.report import ranking
from leaderboard.report.ranking import Row, Table
from leaderboard.report.site import gallery, tiers
from leaderboard.report.site.gallery import Picture
from leaderboard.store import results_tree
from leaderboard.store.results import Result


class TaskPage(NamedTuple):
    """Contents of a task's page."""

    id: str
    name: str
    rows: str
    left_out: tuple[str, ...]
    scored: tuple[str, ...]
    rows_digest: str
    digest: Digests
    dataset: Dataset | None
    tables: tuple[Table, ...]
    sheet: Picture | None
    thumb: Picture | None
    factors: Picture | None

    @property
    def tiers(self) -> set[str]:
        """The tiers with results."""
        return {table.tier for table in self.tables}

    @property
    def grid(self) -> bool:
        """Whether the factors span a full grid."""
        return self.dataset is not None and isinstance(self.dataset.space, FactorSpace)

    @property
    def by_factor(self) -> list[tuple[str, list[tuple[str, str, list[float]]]]]:
        """For each tier: method, title and MIG of each factor, the mean over seeds, if known."""
        by_tier = []
        for table in self.tables:
            rows = []
            for row in (row for row in table.rows if not row.warning):
                gaps = [run.parts["mig"]["gaps"] for run in row.runs if "gaps" in run.parts.get("mig", {})]
                if gaps and {len(factor_gaps) for factor_gaps in gaps} == {len(self.scored)}:
                    rows.append((row.result.method, row.result.title, np.mean(gaps, axis=0).tolist()))
            if rows:
                by_tier.append((table.tier, rows))
        return by_tier

    def summary(self, tier: str) -> str:
        """Return the number of methods in a tier, in words."""
        methods = {row.result.method for table in self.tables if table.tier == tier for row in table.rows}
        return f"{len(methods)} method{'' if len(methods) == 1 else 's'}"


SHARED = (
    *("architecture", "batch_size", "beta_1", "beta_2", "epsilon", "latents", "learning_rate", "precision"),
    *("reconstruction", "reconstruction_weight", "reduction", "train_share", "width"),
)
"""Settings of all methods; others are specific to a method, such as β of a β-VAE."""


class MethodPage(NamedTuple):
    """Contents of a method's page."""

    name: str
    title: str
    about: About
    category: str
    columns: tuple[Column, ...]
    results: tuple[Result, ...]
    by_tier: dict[str, list[tuple[Table, Row]]]

    def columns_of(self, tier: str) -> list[Column]:
        """Return the scores that any of its rows in a tier has."""
        return [column for column in self.columns if any(column.key in row.cells for _, row in self.by_tier[tier])]

    @property
    def settings(self) -> dict[str, list[tuple[str, list[str]]]]:
        """For each tier: model, steps and the method's own settings, with the datasets trained on with them."""
        datasets_by_tier: dict[str, dict[str, list[str]]] = {}
        for tier, rows in self.by_tier.items():
            for table, row in rows:
                run = row.runs[0]
                own_settings = [f"{key} {value}" for key, value in run.hyperparameters.items() if key not in SHARED]
                training = [*ranking.models(row.runs), f"{run.budget.steps:,} steps"]
                setting = "; ".join([*(training if run.budget.steps else [f"{run.latents} latents"]), *own_settings])
                if row.category != "reference":
                    datasets_by_tier.setdefault(tier, {}).setdefault(setting, []).append(table.dataset)
        return {tier: list(datasets_by_setting.items()) for tier, datasets_by_setting in datasets_by_tier.items()}


class Contents(NamedTuple):
    """Contents of all pages.

    Attributes:
        tasks: in order.
        methods: by name.
        tiers: the one on the first page in front.
        columns: the scores of any task.
        dates: of the evaluations, in order.
        files: pictures that pages show: path within the board -> content.
    """

    tasks: tuple[TaskPage, ...]
    methods: tuple[MethodPage, ...]
    tiers: tuple[tiers.TierPage, ...]
    columns: tuple[Column, ...]
    dates: tuple[str, ...]
    files: dict[str, bytes]


def collect(root: Path, results: Sequence[Result], tables: Sequence[Table]) -> Contents:
    """Collect the contents of all pages.

    Args:
        root: the results tree, for pictures and giveaways of datasets.
        results: its results.
        tables: their tables.

    Raises:
        DamagedFile: a picture cannot be read.
    """
    files: dict[str, bytes] = {}
    names = sorted({table.task for table in tables}, key=ranking.task_order)
    return Contents(
        tasks=tuple(_task_page(root, name, tables, results, files) for name in names),
        methods=_method_pages(results, tables),
        tiers=tiers.pages_of(root, results, tables),
        columns=tuple(c for key, c in protocol.COLUMNS.items() if any(c in table.columns for table in tables)),
        dates=tuple(sorted({run.date.isoformat() for result in results for run in result.runs})),
        files=files,
    )


def _task_page(
    root: Path, task_id: str, tables: Sequence[Table], results: Sequence[Result], files: dict[str, bytes]
) -> TaskPage:
    """Collect the contents of a task's page; its pictures are added to ``files``."""
    task_results = [result for result in results if result.task == task_id]
    run, name = task_results[0].runs[0], task_results[0].dataset
    folder = results_tree.path(root, task_id, task_results[0].method).parent
    dataset = ranking.known_dataset(name)
    task = protocol.task(task_id) if dataset else None
    return TaskPage(
        id=task_id,
        name=name,
        rows=f"{len(task.train):,} train and {len(task.test):,} test, fixed by the protocol"
        if task
        else "fixed by the protocol",
        left_out=task.left_out if task else (),
        scored=task.scored if task else (),
        rows_digest=run.rows_digest,
        digest=run.dataset_digest,
        dataset=dataset,
        tables=tuple(table for table in tables if table.task == task_id),
        sheet=gallery.picture(
            folder / "sheet.png", files, alt=f"Contact sheet of {name}", caption="Images drawn at random"
        ),
        thumb=gallery.thumbnail(folder / "sheet.png", files),
        factors=gallery.picture(
            folder / "factors.png",
            files,
            alt=f"Each factor of {name} varied alone, one factor in a row",
            caption="One factor varied in each row",
        ),
    )


def _method_pages(results: Sequence[Result], tables: Sequence[Table]) -> tuple[MethodPage, ...]:
    """Collect the contents of every method's page."""
    results_of: dict[str, list[Result]] = {}
    for result in results:
        results_of.setdefault(result.method, []).append(result)
    rows_of: dict[str, list[tuple[Table, Row]]] = {}
    for table in tables:
        for row in table.rows:
            rows_of.setdefault(row.result.method, []).append((table, row))
    return tuple(_method_page(group, rows_of[name]) for name, group in sorted(results_of.items()) if name in rows_of)


def _method_page(results: Sequence[Result], rows: Sequence[tuple[Table, Row]]) -> MethodPage:
    """Collect the contents of a method's page: its results and its rows of tables."""
    ordered = sorted(results, key=lambda result: ranking.task_order(result.task))
    first = ordered[0]
    by_tier: dict[str, list[tuple[Table, Row]]] = {}
    for table, row in rows:
        by_tier.setdefault(table.tier, []).append((table, row))
    score_keys = {key for _, row in rows for key in row.cells}
    return MethodPage(
        name=first.method,
        title=first.title,
        about=first.about,
        category=first.runs[0].supervision,
        columns=tuple(column for key, column in protocol.COLUMNS.items() if key in score_keys),
        results=tuple(ordered),
        by_tier={tier: by_tier[tier] for tier in sorted(by_tier, key=ranking.tier_order)},
    )
