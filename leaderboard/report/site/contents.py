"""What pages show, made of results: what of each task, of each method and of each tier.

Internal.
"""

from __future__ import annotations

import collections
import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmark_data.dataset import Dataset
from benchmark_data.factors import FactorSpace
from benchmark_data.sources import Derived
from leaderboard import protocol
from leaderboard.properties import Column
from leaderboard.record import About, Digests
from leaderboard.report import (
    families,
    generalisation,
    hardness,
    overall,
    pairwise,
    ranking,
    weights,
)
from leaderboard.report.ranking import Row, Table
from leaderboard.report.site import gallery, plots
from leaderboard.report.site.gallery import Picture
from leaderboard.report.site.plots import Plot
from leaderboard.store import giveaways, results_tree
from leaderboard.store.results import Result


@dataclasses.dataclass(frozen=True)
class TaskPage:
    """What is shown of a task."""

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
    distances: plots.Plot | None

    @property
    def tiers(self) -> set[str]:
        """The tiers that it has results in."""
        return {table.tier for table in self.tables}

    @property
    def grid(self) -> bool:
        """Whether the factors span a full grid."""
        return self.dataset is not None and isinstance(self.dataset.space, FactorSpace)

    @property
    def by_factor(self) -> list[tuple[str, list[tuple[str, str, list[float]]]]]:
        """For each tier: method, title and its MIG of each factor, the mean over seeds; where that is known."""
        shown = []
        for table in self.tables:
            rows = []
            for row in table.rows:
                gaps = [run.parts["mig"]["gaps"] for run in row.runs if "gaps" in run.parts.get("mig", {})]
                if gaps and {len(of) for of in gaps} == {len(self.scored)}:
                    rows.append((row.result.method, row.result.title, np.mean(gaps, axis=0).tolist()))
            if rows:
                shown.append((table.tier, rows))
        return shown

    def summary(self, tier: str) -> str:
        """Say how many methods a tier has."""
        methods = {row.result.method for table in self.tables if table.tier == tier for row in table.rows}
        return f"{len(methods)} method{'' if len(methods) == 1 else 's'}"


SHARED = (
    *("architecture", "batch_size", "beta_1", "beta_2", "epsilon", "latents", "learning_rate", "precision"),
    *("reconstruction", "reconstruction_weight", "reduction", "train_share", "width"),
)
"""Settings that all methods have; the others are a method's own, such as the beta of a beta-VAE."""


@dataclasses.dataclass(frozen=True)
class MethodPage:
    """What is shown of a method."""

    name: str
    title: str
    about: About
    category: str
    columns: tuple[Column, ...]
    results: tuple[Result, ...]
    by_tier: dict[str, list[tuple[Table, Row]]]
    galleries: dict[str, dict[str, list[Picture]]]
    weights: tuple[weights.Weights, ...]

    def columns_of(self, tier: str) -> list[Column]:
        """Return the scores that any of its rows in a tier has."""
        return [column for column in self.columns if any(column.key in row.cells for _, row in self.by_tier[tier])]

    @property
    def settings(self) -> dict[str, list[tuple[str, list[str]]]]:
        """For each tier: model, steps and the method's own strengths, and the datasets that were trained so."""
        found: dict[str, dict[str, list[str]]] = {}
        for tier, rows in self.by_tier.items():
            for table, row in rows:
                run = row.runs[0]
                own = [f"{key} {value}" for key, value in run.hyperparameters.items() if key not in SHARED]
                said = "; ".join([*ranking.models(row.runs), f"{run.budget.steps:,} steps", *own])
                if row.category != "reference":
                    found.setdefault(tier, {}).setdefault(said, []).append(table.dataset)
        return {tier: list(said.items()) for tier, said in found.items()}

    def tasks(self, tier: str) -> int:
        """Return on how many tasks of a tier it was scored."""
        return len(self.by_tier[tier])


@dataclasses.dataclass(frozen=True)
class TierPage:
    """What is shown of a tier: all methods on all of its tasks, and what they come to.

    Attributes:
        name: the tier's name.
        first: whether it is the one that the board shows first.
        summary: what it is for; empty for a tier that the protocol no longer has.
        tables: one for each task: first those that are averaged over, then the others, each in order.
        averaged: how many are averaged over (`overall.shared`).
        columns: the scores.
        groups: category -> methods, best mean first, those that lack a task last.
        training: models and budgets.
        samples: sample sizes.
        leaders: who is first in each category, and how sure that is.
        overall: the standings across tasks; None where there are none.
        pairs: every two methods compared, in both orders; none where there are too many.
        plots: what scores depend on.
        hardness: its datasets by how hard they are; None where no giveaway was measured.
        studies: methods on held-out and correlated rows, beside what they are compared with.
        runs: how many runs have scores in it.
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
    leaders: tuple[overall.Leader, ...]
    overall: overall.Overall | None
    pairs: tuple[pairwise.Pair, ...]
    plots: tuple[Plot, ...]
    hardness: hardness.Hardness | None
    studies: tuple[generalisation.Study, ...]
    runs: int

    def page(self, column: Column | None = None) -> str:
        """Return the name of the page that shows the tier by a score; by the first one if None."""
        if column is None or column == self.columns[0]:
            return "index.html" if self.first else f"tier.{self.name}.html"
        return f"tier.{self.name}.{column.key}.html"

    def ordered(self, column: Column) -> dict[str, tuple[MatrixRow, ...]]:
        """Return the groups with their rows in the order of a score; of the first one, in that of the standings."""
        if column == self.columns[0]:
            return self.groups
        return {
            category: tuple(sorted(rows, key=lambda row: (*row.order(column.key), row.title.lower())))
            for category, rows in self.groups.items()
        }

    @property
    def verified(self) -> tuple[int, int]:
        """How many rows of trained methods are verified, and how many there are."""
        trusts = [row.trust for table in self.tables for row in table.rows if row.category != "reference"]
        return trusts.count("verified"), len(trusts)

    @property
    def seeds(self) -> str:
        """How many seeds the means are over, such as ``2 seeds`` or ``4 to 5 seeds``; references have one."""
        counts = {row.seeds for table in self.tables for row in table.rows if row.category != "reference"} or {1}
        least, most = min(counts), max(counts)
        return f"{f'{least} to ' if least != most else ''}{most} seed{'s' if most != 1 else ''}"

    @property
    def incomplete(self) -> list[str]:
        """Titles of the methods that lack a task that is averaged over, and so a mean."""
        key = self.columns[0].key
        return [row.title for rows in self.groups.values() for row in rows if key not in row.means]

    @property
    def struck(self) -> bool:
        """Whether any score is shown that nothing is compared with."""
        return any(note for rows in self.groups.values() for row in rows for note in row.notes)

    @property
    def selected(self) -> bool:
        """Whether settings of any method were chosen among others."""
        return any(row.selected for rows in self.groups.values() for row in rows)

    @property
    def mixture(self) -> tuple[tuple[str, int], ...]:
        """The families of the tasks that are averaged over, and how many there are of each, most first."""
        counts = collections.Counter(family(table.dataset) for table in self.tables[: self.averaged])
        return tuple(counts.most_common())

    @property
    def families(self) -> tuple[str, ...]:
        """The families of its datasets, such as ``sprites2d`` with its perturbed and noisy forms."""
        return tuple(dict.fromkeys(family(table.dataset) for table in self.tables))

    @property
    def paired(self) -> tuple[tuple[str, str], ...]:
        """Names and titles of the methods that are compared."""
        return tuple(dict.fromkeys(pair.first for pair in self.pairs))

    @property
    def told(self) -> dict[tuple[str, str], str]:
        """Two methods' names -> on how many tasks the first is told to be higher, and lower, by the first score."""
        found = {}
        for pair in self.pairs:
            of = [one for one in pair.differences if one.column == self.columns[0] and one.task != pairwise.ACROSS]
            answers = [one.answer for one in of]
            judged = any(one.p is not None for one in of)
            words = f"{answers.count('supported')} : {answers.count('opposed')}" if judged else "few seeds"
            found[pair.first[0], pair.second[0]] = words
        return found


@dataclasses.dataclass(frozen=True)
class MatrixRow:
    """One method on all tasks of a tier.

    Attributes:
        method: its name.
        title: as it is printed.
        statuses: who vouches for its scores, by task.
        scores: for each task, score -> mean; empty where it was not scored.
        notes: for each task why nothing is compared with its score there: a mark, or a quarantine; else empty.
        means: score -> mean over the tasks that are averaged over, for methods with that score on all of them.
        standing: its place across these tasks; None where it is not ranked on all of them.
        verified: whether all of its scores are on the tasks that are averaged over; on all tasks, if it is on none of
            these.
        selected: whether its settings were chosen among others on any task, as its authors say.
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
        """Return a key that sorts by a mean, highest first, and those without one last."""
        return key not in self.means, -self.means.get(key, 0.0)


def statuses(shown: Table | TierPage) -> list[str]:
    """Return who vouches for the scores of a table, in order."""
    tables = shown.tables if isinstance(shown, TierPage) else (shown,)
    return sorted({who for table in tables for row in table.rows for who in vouched(row)})


def vouched(row: Row) -> list[str]:
    """Return who vouches for the scores of a row: how they came about, and whether they are verified."""
    return sorted({run.status for run in row.runs}) + (["verified"] if row.trust == "verified" else [])


def family(dataset: str) -> str:
    """Return the family of a dataset: its name without what was done to it.

    Args:
        dataset: full name.

    Returns:
        The name of the dataset that it was made of, or its own.

    Example:
        >>> family("sprites2d_perturbed/pca_eps10"), family("xysquares/spacing_1")
        ('sprites2d', 'xysquares')
    """
    found = families.dataset(dataset)
    name = dataset.partition("/")[0]
    while found is not None and isinstance(found.source, Derived):
        found = found.source.base
        name = found.name
    return name


@dataclasses.dataclass(frozen=True)
class Contents:
    """What is shown of a results tree.

    Attributes:
        tasks: in order.
        methods: by name.
        tiers: the one that the board shows first, first.
        columns: the scores of any task.
        dates: of the evaluations, in order.
        weights: the encoders to fetch.
        files: pictures that pages show: path within the board -> content.
    """

    tasks: tuple[TaskPage, ...]
    methods: tuple[MethodPage, ...]
    tiers: tuple[TierPage, ...]
    columns: tuple[Column, ...]
    dates: tuple[str, ...]
    weights: tuple[weights.Weights, ...]
    files: dict[str, bytes]


def collect(root: Path, found: Sequence[Result], tables: Sequence[Table]) -> Contents:
    """Collect what is shown of a results tree.

    Args:
        root: the tree, for the pictures that lie beside the results, its audits and its weights.
        found: its results.
        tables: their tables.

    Raises:
        DamagedFile: a picture cannot be read.
    """
    files: dict[str, bytes] = {}
    published = weights.read_all(root, found)
    names = sorted({table.task for table in tables}, key=ranking.task_order)
    return Contents(
        tasks=tuple(_task(root, name, tables, found, files) for name in names),
        methods=_methods(root, found, tables, published, files),
        tiers=_tiers(root, found, tables),
        columns=tuple(c for key, c in protocol.COLUMNS.items() if any(c in table.columns for table in tables)),
        dates=tuple(sorted({run.date.isoformat() for result in found for run in result.runs})),
        weights=tuple(published),
        files=files,
    )


def _task(
    root: Path, task_id: str, tables: Sequence[Table], found: Sequence[Result], files: dict[str, bytes]
) -> TaskPage:
    """Collect what is shown of a task; its pictures go among the files."""
    here = [result for result in found if result.task == task_id]
    run, name = here[0].runs[0], here[0].dataset
    folder = results_tree.path(root, task_id, here[0].method).parent
    dataset = families.dataset(name)
    task = protocol.task(task_id) if dataset and task_id.partition("@")[2] == protocol.VERSION else None
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
        thumb=gallery.thumb(folder / "sheet.png", files),
        factors=gallery.picture(
            folder / "factors.png",
            files,
            alt=f"Each factor of {name} varied alone, one factor in a row",
            caption="Each factor varied alone, the others held",
        ),
        distances=plots.perceived(folder / "distances.csv"),
    )


def _methods(
    root: Path,
    found: Sequence[Result],
    tables: Sequence[Table],
    published: Sequence[weights.Weights],
    files: dict[str, bytes],
) -> tuple[MethodPage, ...]:
    """Collect what is shown of every method; their pictures go among the files."""
    beside = gallery.beside(root, found)
    results_of: dict[str, list[Result]] = {}
    for result in found:
        results_of.setdefault(result.method, []).append(result)
    rows_of: dict[str, list[tuple[Table, Row]]] = {}
    for table in tables:
        for row in table.rows:
            rows_of.setdefault(row.result.method, []).append((table, row))
    made = []
    for name, mine in sorted(results_of.items()):
        of_tasks = sorted(mine, key=lambda result: ranking.task_order(result.task))
        shown = [
            one for result in of_tasks for one in gallery.of_method(result, beside.get((result.task, name), ()), files)
        ]
        made.append(_method(mine, rows_of[name], shown, [one for one in published if one.method == name]))
    return tuple(made)


def _method(
    found: Sequence[Result],
    rows: Sequence[tuple[Table, Row]],
    shown: Sequence[tuple[str, Picture]],
    published: Sequence[weights.Weights],
) -> MethodPage:
    """Collect what is shown of a method: its results, its rows of tables, its pictures by task and its weights."""
    in_order = sorted(found, key=lambda result: ranking.task_order(result.task))
    first = in_order[0]
    by_tier: dict[str, list[tuple[Table, Row]]] = {}
    for table, row in rows:
        by_tier.setdefault(table.tier, []).append((table, row))
    there = {key for _, row in rows for key in row.cells}
    return MethodPage(
        name=first.method,
        title=first.title,
        about=first.about,
        category=first.runs[0].supervision,
        columns=tuple(column for key, column in protocol.COLUMNS.items() if key in there),
        results=tuple(in_order),
        by_tier={tier: by_tier[tier] for tier in sorted(by_tier, key=ranking.tier_order)},
        galleries=gallery.galleries(shown),
        weights=tuple(published),
    )


def _tiers(root: Path, found: Sequence[Result], tables: Sequence[Table]) -> tuple[TierPage, ...]:
    known = giveaways.read(root)
    names = sorted({table.tier for table in tables}, key=ranking.tier_order)
    return tuple(
        _tier(
            name,
            [table for table in tables if table.tier == name],
            place == 0,
            known,
            found,
        )
        for place, name in enumerate(names)
    )


def _tier(
    tier: str,
    boards: Sequence[Table],
    first: bool,
    known: Mapping[str, giveaways.Giveaway],
    found: Sequence[Result],
) -> TierPage:
    averaged = overall.shared(boards)
    counted = {board.task for board in averaged}
    ordered = (*averaged, *(board for board in boards if board.task not in counted))
    standings, rows = overall.overall(boards), [row for board in boards for row in board.rows]
    return TierPage(
        name=tier,
        first=first,
        summary=protocol.TIERS[tier].summary if tier in protocol.TIERS else "",
        tables=ordered,
        averaged=len(averaged),
        columns=tuple(c for c in protocol.COLUMNS.values() if any(c in board.columns for board in boards)),
        groups=_groups(ordered, len(averaged), standings),
        training=ranking.training(rows),
        samples=ranking.samples(tier, rows),
        overall=standings,
        leaders=overall.leaders(boards, standings),
        pairs=_pairs(boards),
        plots=(*plots.scores_vs_parameter(boards), *plots.pairs(boards)),
        hardness=hardness.hardness(boards, known),
        studies=generalisation.studies(boards),
        runs=sum(len(result.of(tier)) for result in found),
    )


def _groups(
    boards: Sequence[Table], averaged: int, standings: overall.Overall | None
) -> dict[str, tuple[MatrixRow, ...]]:
    placed = {standing.method: standing for standing in standings.standings} if standings else {}
    groups: dict[str, tuple[MatrixRow, ...]] = {}
    for category in ranking.CATEGORIES:
        there = [{row.result.method: row for row in board.groups.get(category, ())} for board in boards]
        made = []
        for method in sorted(set().union(*there)):
            rows = [rows.get(method) for rows in there]
            some = [row for row in rows if row]
            scores = tuple({key: round(cell.mean, 6) for key, cell in row.cells.items()} if row else {} for row in rows)
            notes = tuple(row.note if row and row.warning else "" for row in rows)
            counted = [{} if note else of for of, note in zip(scores[:averaged], notes, strict=False)]
            whole = set.intersection(*(set(of) for of in counted))
            made.append(
                MatrixRow(
                    method,
                    some[0].result.title,
                    tuple(sorted({who for row in some for who in vouched(row)})),
                    scores,
                    notes,
                    {key: sum(of[key] for of in counted) / len(counted) for key in whole},
                    placed.get(method),
                    all(row.trust == "verified" for row in (list(filter(None, rows[:averaged])) or some)),
                    any(row.selected for row in some),
                )
            )
        if made:
            main = next(iter(boards[0].columns)).key if boards[0].columns else ""
            made.sort(key=lambda row: (row.standing is None, *row.order(main), row.title.lower()))
            groups[category] = tuple(made)
    return groups


def _pairs(boards: Sequence[Table]) -> tuple[pairwise.Pair, ...]:
    """Compare every two trained methods that share a task, in both orders."""
    there: dict[str, set[str]] = {}
    for board in boards:
        for row in board.rows:
            if row.category != "reference" and not row.warning:
                there.setdefault(row.result.method, set()).add(board.task)
    if not 2 <= len(there) <= overall.MOST:
        return ()
    made = {
        (a, b): pairwise.compare(boards, a, b)
        for a, b in itertools.combinations(sorted(there), 2)
        if there[a] & there[b]
    }
    both = made | {(b, a): pairwise.mirrored(pair) for (a, b), pair in made.items()}
    return tuple(both[names] for names in sorted(both))
