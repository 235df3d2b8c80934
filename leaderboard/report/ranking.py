"""The table of a task: order, ranks, their intervals and bands. `report.overall` compares methods across tasks.

Order and ranks are decided in `table` and nowhere else. Everything here is a pure function of result files.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence

import benchmark_data
from benchmark_data.dataset import Dataset
from benchmark_data.errors import UnknownName
from leaderboard import protocol
from leaderboard.properties import Column
from leaderboard.scoring import verification
from leaderboard.store import intervals, rank_intervals
from leaderboard.store.results import Result, Scored, Trust
from leaderboard.store.statistics import Summary

DIGITS = 3
"""The number of printed decimals. Methods with equal printed means share a rank."""

CATEGORIES = {
    "unsupervised": "Unsupervised",
    "weakly_supervised": "Weakly supervised",
    "supervised": "Supervised",
    "pretrained": "Pretrained networks, and the same with random weights",
    "reference": "References",
}
"""Category -> its printed name, in the order of a table's groups. Methods are ranked within a category."""


OTHER_DATA = "of the dataset's version "
"""Start of the note on a result whose dataset has changed."""


@dataclasses.dataclass(frozen=True)
class Row:
    """One method in the table of a task.

    Attributes:
        result: the method's result on the task.
        runs: its runs in the table's tier, by seed.
        rank: within its category; None if it is not ranked.
        place: 95% interval of its rank, and its band (`rank_intervals.rank_intervals`), among the ranked methods of
            its category; None if it is not ranked.
        note: why it is not ranked; empty if it is.
        cells: score -> summary, with Student's interval of the mean.
    """

    result: Result
    runs: tuple[Scored, ...]
    rank: int | None
    note: str
    cells: dict[str, Summary]
    place: rank_intervals.RankInterval | None = None

    @property
    def category(self) -> str:
        """The category, by the method's supervision."""
        return self.runs[0].supervision

    @property
    def trust(self) -> Trust:
        """``verified`` if every run is, else ``recomputed``."""
        return self.result.trust(self.runs[0].tier)

    @property
    def trained_here(self) -> bool:
        """Whether every run was trained here, not only scored."""
        return self.result.trained_here(self.runs[0].tier)

    @property
    def warning(self) -> bool:
        """Whether the note is a warning: the result is marked, in quarantine or of another dataset version."""
        is_of_other_data = self.note.startswith(OTHER_DATA)
        return bool(self.result.quarantine or is_of_other_data or any(run.marks for run in self.runs))

    @property
    def selected(self) -> bool:
        """Whether its settings were selected, as its authors state."""
        return any(run.selection.strip().lower() != "none" for run in self.runs)

    @property
    def seeds(self) -> int:
        """The number of seeds."""
        return len(self.runs)

    @property
    def cost(self) -> str:
        """The training budget, in short: ``3,000 steps, 61 s``."""
        return budget(self.runs, full=False)

    def values(self, key: str) -> list[float]:
        """Return the score of every seed."""
        return [run.scores[key] for run in self.runs if key in run.scores]


@dataclasses.dataclass(frozen=True)
class Table:
    """The methods on one task, in one tier.

    Attributes:
        task: the task's name.
        tier: the tier's name.
        columns: the scores that any row has, in the protocol's order.
        groups: category -> rows in the order they are printed. Categories without rows are left out.
        elsewhere: tier -> titles of the methods that were scored on the task in that tier, and not in this one.
    """

    task: str
    tier: str
    columns: tuple[Column, ...]
    groups: dict[str, tuple[Row, ...]]
    elsewhere: dict[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)

    @property
    def dataset(self) -> str:
        """The dataset's full name."""
        return self.task.partition("@")[0]

    @property
    def rows(self) -> tuple[Row, ...]:
        """All rows, group by group."""
        return tuple(row for rows in self.groups.values() for row in rows)

    @property
    def ranked(self) -> bool:
        """Whether any row has a rank."""
        return any(row.rank for row in self.rows)

    @property
    def ranked_by(self) -> Column | None:
        """The score that ranks its rows, the first of the columns; None if no row has a rank."""
        return self.columns[0] if self.ranked else None

    @property
    def caption(self) -> str:
        """Model, budget and sample sizes, without which these scores cannot be compared with others."""
        return caption(self.tier, self.rows)

    @property
    def training(self) -> str:
        """Model and budget."""
        return training(self.rows)

    @property
    def samples(self) -> str:
        """Sample sizes."""
        return samples(self.tier, self.rows)

    @property
    def notes(self) -> list[str]:
        """A sentence or two for each reason why methods have no rank or no row here, with the remedy."""
        by_note: dict[str, list[str]] = {}
        is_smoke = self.tier == "smoke"
        for row in self.rows:
            if row.note and row.category != "reference" and not is_smoke:
                by_note.setdefault(row.note, []).append(row.result.title)
        sentences = [f"Not ranked ({note}): {_join(titles)}. {self._remedy(note)}" for note, titles in by_note.items()]
        others = [f"Scored in tier {tier}, not here: {_join(titles)}." for tier, titles in self.elsewhere.items()]
        if is_smoke:
            sentences.append(" ".join([*others, "Tier smoke is for a quick look. For a rank, score in tier desk."]))
        elif others:
            sentences.append(f"{' '.join(others)} To be ranked here, a method needs runs of tier {self.tier}.")
        return sentences

    def _remedy(self, note: str) -> str:
        """Say what to do about a row that has no rank."""
        if note.startswith(OTHER_DATA):
            return "Train or encode again with the current version of the dataset, and score again."
        if note.startswith("in quarantine"):
            return "The board's maintainers can lift it."
        if note.startswith(("flagged", "recomputed")):
            with contextlib.suppress(UnknownName):  # of an old result
                if not verification.may_be_verified(protocol.task(self.dataset)):
                    return "Too few rows are left to verify an encoder on: only methods trained here are ranked."
            consequence = "" if note.startswith("recomputed") else ", which removes the flag"
            return f"Add its encoder in ONNX next to the codes, and run `offaxis board verify`{consequence}."
        if note.startswith("no "):
            return "Score its runs again in this tier."
        return f"A rank requires {protocol.SEEDS} seeds."


def _join(titles: Sequence[str]) -> str:
    """Name eight methods, and count the others."""
    return "; ".join(titles[:8]) + (f" and {len(titles) - 8} more" if len(titles) > 8 else "")


def caption(tier: str, rows: Sequence[Row]) -> str:
    """Describe the models and budgets of methods, and the number of images that they were scored on.

    Args:
        tier: the tier's name.
        rows: methods, on one or several tasks.

    Returns:
        Such as ``Training: fc, 6 latents; 3,000 steps, 192,000 images, 61 s (median) on 2 cores; 1.0% of the images of
        a run of Locatello et al. (2019). Tier smoke: MIG on 10,000 images.``
    """
    return f"{training(rows)} {samples(tier, rows)}".strip()


def training(rows: Sequence[Row]) -> str:
    """Describe the models and budgets of methods; empty if none was trained."""
    trained = [run for row in rows if row.category not in ("reference", "pretrained") for run in row.runs]
    if not trained:
        return ""
    return f"Training: {'; '.join(filter(None, [*models(trained), budget(trained), _paper_share(trained)]))}."


def samples(tier: str, rows: Sequence[Row]) -> str:
    """Describe the number of images that each metric was computed on; datasets are named for sizes of few tasks."""
    sizes: dict[str, list[str]] = {}
    tasks: dict[str, set[str]] = {}
    order = [key.partition(".")[0] for key in protocol.COLUMNS]
    for row in rows:
        for metric, sample in sorted(row.runs[0].samples.items(), key=lambda item: _listed_order(item[0], order)):
            train_count = f"{sample.train:,}{' training' if sample.test else ''}" if sample.train else ""
            counts = (train_count, f"{sample.test:,} held-out" if sample.test else "")
            size = f"on {' and '.join(filter(None, counts))} images"
            title = protocol.COLUMNS[metric].title if metric in protocol.COLUMNS else metric.upper()
            sizes.setdefault(size, []).append(title)
            tasks.setdefault(size, set()).add(row.result.dataset)
    half = len({row.result.dataset for row in rows}) / 2
    parts = [f"{', '.join(dict.fromkeys(metrics))} {size}" for size, metrics in sizes.items()]
    for index, names in enumerate(tasks.values()):
        if len(names) < half:
            parts[index] += f" of {' and '.join(sorted({name.partition('/')[0] for name in names}))}"
    return f"Tier {tier}: {'; '.join(parts)}."


def models(runs: Sequence[Scored]) -> list[str]:
    """Name the models of runs: architecture and number of latents."""
    latents: dict[str, set[int]] = {}
    for run in runs:
        latents.setdefault(str(run.hyperparameters.get("architecture") or "model not stated"), set()).add(run.latents)
    return [f"{name}, {' or '.join(map(str, sorted(counts)))} latents" for name, counts in sorted(latents.items())]


def seeds_agree(rows: Sequence[Row]) -> bool:
    """Return whether a task with more seeds begins with those of the others, so that tasks can be averaged.

    `leaderboard.store.intervals.squared_error` pairs seeds by their order.
    """
    seeds = sorted({tuple(run.seed for run in row.runs) for row in rows}, key=len)
    return all(more[: len(fewer)] == fewer for fewer, more in itertools.pairwise(seeds))


def budget(runs: Sequence[Scored], *, full: bool = True) -> str:
    """Describe the training budget, with ranges of steps and images and the median time if runs differ.

    Args:
        runs: the runs.
        full: include the number of images and the device.

    Returns:
        Such as ``3,000 steps, 192,000 images, 61 s (median) on 2 cores``; ``none`` if nothing was trained.
    """
    budgets = [run.budget for run in runs]
    if not any(b.steps or b.images for b in budgets):
        return "none"
    counted = [b.images for b in budgets if b.images]
    seconds = [b.seconds for b in budgets if b.seconds]
    devices = ", ".join(sorted({b.device for b in budgets if b.device}))
    parts = [
        f"{intervals.format_range([b.steps for b in budgets])} steps",
        f"{intervals.format_range(counted)} images" if full and counted else "",
        f"{statistics.median(seconds):,.0f} s{' (median)' * (len(set(seconds)) > 1)}" if seconds else "",
    ]
    return ", ".join(filter(None, parts)) + (f" on {devices}" if devices and full else "")


PAPER_IMAGES = 300_000 * 64
"""Training images of a run of Locatello et al. (2019, arXiv 1811.12359), with which budgets are compared."""


def _paper_share(runs: Sequence[Scored]) -> str:
    """Return the training images of runs as a share of `PAPER_IMAGES`, in words."""
    images = [run.budget.images for run in runs if run.budget.images]
    if not images:
        return ""
    shares = (100 * number / PAPER_IMAGES for number in (min(images), max(images)))
    low, high = (f"{share:.2g}%" if share < 99.5 else f"{share:,.0f}%" for share in shares)
    return f"{low if low == high else f'{low} to {high}'} of the images of a run of Locatello et al. (2019)"


def task_order(task: str) -> tuple[object, ...]:
    """Return a key that sorts tasks: XYSquares, the dataset of the main claim, before all others.

    Example:
        >>> sorted(["dsprites@v1", "xysquares/spacing_8@v1", "room3d@v1"], key=task_order)
        ['xysquares/spacing_8@v1', 'dsprites@v1', 'room3d@v1']
    """
    return not task.startswith("xysquares/"), protocol.natural_key(task)


def tables(results: Iterable[Result]) -> list[Table]:
    """Make the tables of all tasks and tiers.

    Args:
        results: of any tasks and tiers.

    Returns:
        Tables in the order of task (`task_order`) and tier. Results of another protocol version, or without a score
        that tables show, are ignored.
    """
    by_task: dict[str, list[Result]] = {}
    for result in results:
        if result.task.endswith(f"@{protocol.VERSION}"):
            by_task.setdefault(result.task, []).append(result)
    boards = []
    for task in sorted(by_task, key=task_order):
        tiers = sorted({tier for result in by_task[task] for tier in result.tiers}, key=tier_order)
        for tier in tiers:
            present = [result for result in by_task[task] if tier in result.tiers]
            absent = [result for result in by_task[task] if tier not in result.tiers]
            others = {other: tuple(r.title for r in absent if other in r.tiers) for other in tiers}
            elsewhere = {other: titles for other, titles in others.items() if titles}
            boards.append(dataclasses.replace(table(task, tier, present), elsewhere=elsewhere))
    return [board for board in boards if board.columns]


def table(task: str, tier: str, results: Iterable[Result]) -> Table:
    """Make the table of one task in one tier. Order, ranks and ties are decided here.

    Within a category, ranked rows come first, then the others; both by the mean of the first column, highest first, and
    by name if that is equal to ``DIGITS`` decimals. Such rows share a rank, and the next rank counts them: 1, 2, 2, 4.
    A row is ranked if it is no untrained baseline, has the first score and the protocol's number of seeds, no mark, is
    not in quarantine, has the dataset's version here if rows have several, and was trained here (``reproduced``) or
    verified on fresh rows.

    Args:
        task: the task's name.
        tier: the tier's name.
        results: the results of that task that have runs in that tier.

    Returns:
        The table.
    """
    results, today = list(results), ""
    if len({run.dataset_version for result in results for run in result.runs_in(tier)}) > 1:
        dataset = known_dataset(task.partition("@")[0])
        today = dataset.version if dataset else ""
    rows = [_make_row(result, tier, today) for result in results]
    columns = tuple(c for key, c in protocol.COLUMNS.items() if any(key in row.cells for row in rows))
    key, title = (columns[0].key, columns[0].title) if columns else ("", "score of the table")
    rows = [row if key in row.cells else dataclasses.replace(row, note=row.note or f"no {title}") for row in rows]

    def order(row: Row) -> tuple[bool, float, str]:
        summary = row.cells.get(key)
        return bool(row.note), -round(summary.mean, DIGITS) if summary else math.inf, row.result.method

    groups = {}
    for category in CATEGORIES:
        ordered = sorted((row for row in rows if row.category == category), key=order)
        ranked = [row for row in ordered if not row.note]
        negated = [order(row)[1] for row in ranked]
        places = rank_intervals.rank_intervals(
            {row.result.method: [row.values(key)] for row in ranked},
            printed={row.result.method: -value for row, value in zip(ranked, negated, strict=True)},
        )
        if ordered:
            groups[category] = tuple(
                row
                if row.note
                else dataclasses.replace(row, rank=1 + negated.index(order(row)[1]), place=places[row.result.method])
                for row in ordered
            )
    return Table(task, tier, columns, groups)


def _make_row(result: Result, tier: str, today: str) -> Row:
    """Make a row, not yet ranked; ``today`` is the dataset's version here, empty if all rows have one version."""
    runs = result.runs_in(tier)
    if result.quarantine:
        note = f"in quarantine: {result.quarantine}"
    elif today and (version := runs[0].dataset_version) != today:
        note = f"{OTHER_DATA}{version}, not {today}"
    elif marks := sorted({mark for run in runs for mark in run.marks}):
        note = f"flagged: {', '.join(marks)}"
    elif runs[0].supervision == "reference":
        note = "a reference"
    elif not (result.trained_here(tier) or result.trust(tier) == "verified"):  # listed, but without a rank
        note = "recomputed from codes, not verified"
    elif len(runs) < protocol.SEEDS:
        note = f"{len(runs)} of {protocol.SEEDS} seeds"
    else:
        note = ""
    return Row(result, runs, None, note, _with_intervals(result.summary[tier], runs))


def _with_intervals(summaries: Mapping[str, Summary], runs: Sequence[Scored]) -> dict[str, Summary]:
    """Add to summaries the intervals shown, clipped to the scores' ranges; none for scores without a known range."""
    cells = {}
    for key, summary in summaries.items():
        column = protocol.COLUMNS.get(key)
        interval = column.within(intervals.mean_interval([run.scores[key] for run in runs])) if column else None
        low, high = interval or (None, None)
        cells[key] = summary._replace(low=low, high=high)
    return cells


def _listed_order(name: str, order: Sequence[str]) -> tuple[int, str]:
    return (order.index(name) if name in order else len(order)), name


def known_dataset(name: str) -> Dataset | None:
    """Return a dataset; None if it is unknown here, as for some old results."""
    try:
        return benchmark_data.load(name)
    except UnknownName:
        return None


def slug(task: str) -> str:
    """Return the file name of a task's page, without its suffix.

    Args:
        task: the task's name.

    Returns:
        The dataset's name.

    Example:
        >>> slug("xysquares/spacing_4@v1")
        'xysquares.spacing_4'
    """
    return task.partition("@")[0].replace("/", ".")


def select_tasks(tasks: Iterable[str], wanted: str) -> set[str]:
    """Return the tasks that ``--task`` selects: of one config or of all of a dataset, of one version or of all.

    Args:
        tasks: those with results, such as ``"xysquares/spacing_8@v1"``.
        wanted: such as ``"xysquares"``, ``"xysquares/spacing_8"`` or ``"xysquares/spacing_8@v1"``; all if empty.

    Raises:
        UnknownName: there are no such results.
    """
    name, _, version = wanted.partition("@")
    split_tasks = [task.partition("@") for task in sorted(tasks)]
    matching = [parts for parts in split_tasks if not name or f"{parts[0]}/".startswith(f"{name}/")]
    if not matching:
        raise UnknownName("task with results", name, {parts[0] for parts in split_tasks})
    selected = {"".join(parts) for parts in matching if version in ("", parts[2])}
    if not selected:
        raise UnknownName(f"version of {name} with results", version, {parts[2] for parts in matching})
    return selected


def tier_order(tier: str) -> tuple[int, str]:
    """Return a key that sorts tiers in the protocol's order, unknown ones last.

    Args:
        tier: its name.

    Returns:
        The key.

    Example:
        >>> sorted(["smoke", "desk"], key=tier_order)
        ['desk', 'smoke']
    """
    return _listed_order(tier, list(protocol.TIERS))
