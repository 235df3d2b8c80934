"""The static site: an overview, a page for each task and a page for each method, made of tables and pictures.

Style and script are inside every page and pictures lie beside them, so that the site works from a disk; its content
security policy forbids requests to anything else. All text goes through Jinja's escaping, since anyone may have written
it.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib.resources
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmark_data.dataset import Dataset
from benchmark_data.errors import MissingExtra
from benchmark_data.factors import FactorSpace
from benchmark_data.sources import Derived
from leaderboard import protocol
from leaderboard.analyses import metric_agreement
from leaderboard.properties import Column
from leaderboard.report import (
    families,
    formats,
    generalisation,
    hardness,
    ledger,
    overall,
    pairwise,
    paper_claims,
    ranking,
    transfer_page,
    weights,
)
from leaderboard.report.ranking import Row, Table
from leaderboard.report.site import extras, pictures, plots
from leaderboard.report.site.kept import Kept
from leaderboard.report.site.pictures import Picture
from leaderboard.report.site.plots import Plot
from leaderboard.store import giveaways, results, statistics, verdicts
from leaderboard.store.reported import Paper
from leaderboard.store.results import About, Digests, Result
from leaderboard.store.transfers import Transfer

if TYPE_CHECKING:
    import jinja2

INLINE = 4
"""A board of up to this many tasks shows all of them on its first page."""


@dataclasses.dataclass(frozen=True)
class TaskPage:
    """What is shown of a task."""

    id: str
    name: str
    superseded_by: str
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
    galleries: dict[str, tuple[Picture, ...]]
    weights: tuple[weights.Weights, ...]

    @property
    def ranked(self) -> bool:
        """Whether it has a rank anywhere."""
        return any(row.rank for rows in self.by_tier.values() for _, row in rows)

    def tasks(self, tier: str) -> int:
        """Return on how many tasks of a tier it was scored; those that were replaced do not count."""
        return sum(not ranking.superseded(board.task) for board, _ in self.by_tier[tier])


def render(
    root: Path,
    found: Sequence[Result],
    papers: Sequence[Paper] = (),
    transferred: Sequence[Transfer] = (),
    *,
    boards: Sequence[Table] | None = None,
    claims: Sequence[paper_claims.Direction] | None = None,
    kept: Kept | None = None,
    address: str = "",
) -> Iterator[tuple[str, bytes]]:
    """Render the site, one page after another.

    Args:
        root: the results tree, for the pictures that lie beside the results, and its ledger.
        found: its results.
        papers: what papers report.
        transferred: its transfer matrix.
        boards: the results' tables; None makes them.
        claims: what the tables say of papers' claims; None works it out.
        kept: an earlier board, whose pages of tasks and methods are taken over where nothing of them has changed.
        address: where the board will be, ending in a slash; empty if that is not known.

    Yields:
        Path within the site, and content: the pages, then what they show.

    Raises:
        MissingExtra: Jinja is not installed.
        DamagedFile: a picture or the ledger cannot be read.
    """
    env = _environment()
    album: dict[str, bytes] = {}
    everything = ranking.tables(found) if boards is None else boards
    boards = [board for board in everything if not ranking.superseded(board.task)] or everything
    claims = paper_claims.find(boards) if claims is None else claims
    beside = pictures.beside(root, found)
    by_method: dict[str, list[Result]] = {}
    for result in found:
        by_method.setdefault(result.method, []).append(result)
    rows: dict[str, list[tuple[Table, Row]]] = {}
    for board in everything:
        for row in board.rows:
            rows.setdefault(row.result.method, []).append((board, row))
    tasks = [_task(root, name, everything, found, album) for name in _in_order(board.task for board in everything)]
    published = weights.read_all(root)
    methods = [
        _method(
            name,
            by_method[name],
            rows[name],
            [pictures.of_method(one, beside, album) for one in by_method[name]],
            [one for one in published if one.method == name],
        )
        for name in sorted(by_method)
    ]
    by_tier = {
        tier: [board for board in boards if board.tier == tier]
        for tier in sorted({board.tier for board in boards}, key=ranking.tier_order)
    }
    known = giveaways.read(root)
    tiers = [
        _tier(tier, of_tier, [claim for claim in claims if claim.tier == tier], place == 0, known, found)
        for place, (tier, of_tier) in enumerate(by_tier.items())
    ]
    dates = sorted({run.date.isoformat() for result in found for run in result.runs})
    events = ledger.read(root)
    thumbs = [extras.thumbnails(album, [task.thumb.file]) for task in tasks if task.thumb]
    picture = extras.link_picture([content for of_task in thumbs for content in of_task]) if thumbs else b""
    shared = {
        "version": protocol.VERSION,
        "many_tiers": len(tiers) > 1,
        "tiers": tiers,
        "columns": [c for key, c in protocol.COLUMNS.items() if any(c in board.columns for board in boards)],
        "papers": papers,
        "transferred": bool(transferred),
        "compared": any(tier.pairs for tier in tiers),
        "overall": any(tier.overall for tier in tiers),
        "hardness": any(tier.hardness for tier in tiers),
        "studied": any(tier.studies for tier in tiers),
        "address": address,
        "link_picture": bool(picture),
        "structured": extras.structured(address, ["tables/all.csv", "tables/all.json"], dates),
        "description": extras.DESCRIPTION,
        "citation": extras.BIBTEX,
        "seeds_needed": protocol.SEEDS,
        "least_seeds": verdicts.SEEDS,
        "floor": verdicts.FLOOR,
        "newest": dates[-1] if dates else "",
    }
    kept = kept or Kept()
    common = (
        [
            (
                *(tier.name, tier.first, [c.key for c in tier.columns]),
                *(bool(tier.overall), bool(tier.pairs), bool(tier.hardness), bool(tier.studies)),
            )
            for tier in tiers
        ],
        kept.reported(),
        (bool(transferred), address, bool(picture), shared["newest"]),
    )

    def written(name: str, template: str, content: dict[str, object]) -> str:
        up = "../" * name.count("/")
        return env.get_template(template).render(shared, up=up, here=name, **content)

    def page(name: str, template: str, **content: object) -> tuple[str, bytes]:
        return name, written(name, template, content).encode()

    def page_of(name: str, template: str, made_of: object, **content: object) -> tuple[str, bytes]:
        return name, kept.text(name, (common, made_of), lambda: written(name, template, content))

    for tier in tiers:
        current = [task for task in tasks if not task.superseded_by and tier.name in task.tiers]
        there = [method for method in methods if tier.name in method.by_tier]
        yield page(
            tier.page(),
            "index.html",
            tier=tier,
            column=tier.columns[0],
            tasks=current,
            superseded=[task for task in tasks if task.superseded_by],
            methods=sorted(there, key=lambda m: (list(ranking.CATEGORIES).index(m.category), m.title.lower())),
            runs=sum(len(result.of(tier.name)) for result in found),
            inline=len(current) <= INLINE,
        )
        for column in tier.columns[1:]:
            yield page(tier.page(column), "score.html", tier=tier, column=column)
        if tier.overall:
            yield page(f"overall.{tier.name}.html", "overall.html", tier=tier, overall=tier.overall)
        if tier.hardness:
            yield page(f"datasets.{tier.name}.html", "datasets.html", tier=tier)
            yield f"tables/datasets.{tier.name}.csv", hardness.comma_separated(tier.hardness).encode()
        if tier.studies:
            yield page(f"splits.{tier.name}.html", "splits.html", tier=tier)
            yield f"tables/splits.{tier.name}.csv", generalisation.comma_separated(tier.studies).encode()
        if tier.agreement:
            yield page(f"agreement.{tier.name}.html", "agreement.html", tier=tier)
        if tier.pairs:
            yield page(f"compare.{tier.name}.html", "compare.html", tier=tier)
            for name, title in tier.paired:
                against = [pair for pair in tier.pairs if pair.first[0] == name]
                yield page(f"compare/{name}.{tier.name}.html", "pairs.html", tier=tier, title=title, pairs=against)
    yield page("submit.html", "submit.html")
    yield page("ledger.html", "ledger.html", events=tuple(reversed(events)), pending=ledger.pending(events, found))
    if papers:
        yield page("reported.html", "reported.html")
    if transferred:
        yield page(
            "transfer.html",
            "transfer.html",
            matrices=transfer_page.matrices(transferred),
            caption=transfer_page.caption(transferred),
        )
    for task in tasks:
        yield page_of(f"tasks/{ranking.slug(task.id)}.html", "task.html", kept.of_task(task.id), task=task)
    for method in methods:
        places = [
            (board.task, board.tier, row.rank, row.place, row.note)
            for of_tier in method.by_tier.values()
            for board, row in of_tier
        ]
        files = [kept.of_method(result.task, method.name) for result in method.results]
        paired = [tier.name for tier in tiers if (method.name, method.title) in tier.paired]
        encoders = [(one.task, one.tier, one.seed, list(one.files.items())) for one in method.weights]
        made_of = (places, files, paired, encoders)
        yield page_of(f"methods/{method.name}.html", "method.html", made_of, method=method)
    for one in published:
        album |= {one.name(file): (one.folder / file).read_bytes() for file in one.files}
    if picture:
        album["pictures/link.png"] = picture
    yield from (album | _badges(tiers)).items()


def _badges(tiers: Sequence[TierPage]) -> dict[str, bytes]:
    """Draw a badge of the board, and one of each method that is ranked on all tasks of a tier."""
    made = {"badges/offaxis.svg": extras.badge("Offaxis", f"{len(tiers[0].tables)} tasks" if tiers else "no results")}
    for tier in reversed(tiers):
        for standing in tier.overall.standings if tier.overall else ():
            of = len(tier.overall.groups[standing.category]) if tier.overall else 0
            said = f"rank {standing.place.low} of {of}"
            if standing.place.high != standing.place.low:
                said = f"rank {standing.place.low} to {standing.place.high} of {of}"
            made[f"badges/{standing.method}.svg"] = extras.badge(f"Offaxis {tier.name}", said)
    return made


@functools.cache
def _environment() -> jinja2.Environment:
    try:
        import jinja2
        import markupsafe
    except ImportError as error:
        raise MissingExtra("building pages", "jinja2", "board") from error
    env = jinja2.Environment(
        loader=jinja2.PackageLoader("leaderboard.report.site"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for name, file in (("style", "style.css"), ("script", "board.js")):
        source = (importlib.resources.files("leaderboard.report.site") / "templates" / file).read_text("utf-8")
        env.globals[name] = markupsafe.Markup(source)
    env.globals.update(
        slug=ranking.slug,
        number=formats.number,
        CATEGORIES=ranking.CATEGORIES,
        NOTE=formats.NOTE.replace("In brackets", "In small print"),
        span=formats.span,
        signed=formats.signed,
        breakable=lambda name: markupsafe.Markup(re.sub(r"([/_])", r"\1<wbr>", str(markupsafe.escape(name)))),
        family=family,
        across=pairwise.ACROSS,
        command=_command,
        statuses=_statuses,
        vouched=_vouched,
        tiers_of=lambda result: sorted(result.tiers, key=ranking.tier_order),
        SCALE=[pictures.colour(k / 10) for k in range(11)],
    )
    return env


def _statuses(shown: Table | TierPage) -> list[str]:
    """Return who vouches for the scores of a table, in order."""
    tables = shown.tables if isinstance(shown, TierPage) else (shown,)
    return sorted({who for table in tables for row in table.rows for who in _vouched(row)})


def _vouched(row: Row) -> list[str]:
    """Return who vouches for the scores of a row: how they came about, and whether they are verified."""
    return sorted({run.status for run in row.runs}) + (["verified"] if row.trust == "verified" else [])


def _command(result: Result, tier: str) -> str:
    """Return the command that trains a row's first run again; empty for what was not trained by this project."""
    run = result.of(tier)[0]
    if run.status == "recomputed" or "offaxis" not in run.trained_with or run.supervision == "reference":
        return ""
    settings = [
        f"--set {name}={str(value).lower() if isinstance(value, bool) else value}"
        for name, value in run.hyperparameters.items()
        if isinstance(value, bool | int | float | str)
    ]
    words = [
        f"offaxis-train run --dataset {result.dataset} --objective {result.method}",
        f"--steps {run.budget.steps} --seed {run.seed}",
        *settings,
    ]
    return " ".join(words) if _harmless(words) else ""


def _harmless(words: Sequence[str]) -> bool:
    """Return whether a command holds nothing but names, numbers and signs that no shell reads."""
    return re.fullmatch(r"[\w .,=/+-]*", " ".join(words), re.ASCII) is not None


def _in_order(names: Iterable[str]) -> list[str]:
    return sorted(set(names), key=protocol.natural)


def _task(
    root: Path, task_id: str, boards: Sequence[Table], found: Sequence[Result], album: dict[str, bytes]
) -> TaskPage:
    here = [result for result in found if result.task == task_id]
    run, name = here[0].runs[0], here[0].dataset
    folder = results.path(root, task_id, here[0].method).parent
    dataset = families.dataset(name)
    task = protocol.task(task_id) if dataset and task_id.partition("@")[2] in protocol.versions(name) else None
    return TaskPage(
        id=task_id,
        name=name,
        superseded_by=protocol.SUPERSEDED.get(task_id, ""),
        rows=f"{len(task.train):,} train and {len(task.test):,} test, fixed by the protocol"
        if task
        else "fixed by the protocol",
        left_out=task.left_out if task else (),
        scored=task.scored if task else (),
        rows_digest=run.rows_digest,
        digest=run.dataset_digest,
        dataset=dataset,
        tables=tuple(board for board in boards if board.task == task_id),
        sheet=pictures.picture(
            folder / "sheet.png", album, alt=f"Contact sheet of {name}", caption="Images drawn at random"
        ),
        thumb=pictures.thumb(folder / "sheet.png", album),
        factors=pictures.picture(
            folder / "factors.png",
            album,
            alt=f"Each factor of {name} varied alone, one factor in a row",
            caption="Each factor varied alone, the others held",
        ),
        distances=plots.perceived(folder / "distances.csv"),
    )


def _method(
    name: str,
    found: Sequence[Result],
    rows: Sequence[tuple[Table, Row]],
    shown: Sequence[tuple[Picture, ...]],
    published: Sequence[weights.Weights],
) -> MethodPage:
    in_order = sorted(zip(found, shown, strict=True), key=lambda one: protocol.natural(one[0].task))
    mine = [result for result, _ in in_order]
    by_tier: dict[str, list[tuple[Table, Row]]] = {}
    for board, row in rows:
        by_tier.setdefault(board.tier, []).append((board, row))
    return MethodPage(
        name=name,
        title=mine[0].title,
        about=mine[0].about,
        category=mine[0].runs[0].supervision,
        columns=tuple(
            column
            for key, column in protocol.COLUMNS.items()
            if any(key in row.cells for rows in by_tier.values() for _, row in rows)
        ),
        results=tuple(mine),
        by_tier={tier: by_tier[tier] for tier in sorted(by_tier, key=ranking.tier_order)},
        galleries=pictures.galleries([of_task for _, of_task in in_order]),
        weights=tuple(published),
    )


@dataclasses.dataclass(frozen=True)
class Agreement:
    """How metrics agree on which runs are better.

    Attributes:
        titles: the scores' keys and what they are called.
        cells: (score, other score) -> Spearman's correlation within tasks, averaged over tasks, with its interval.
        runs: how many there are.
        tasks: on how many tasks.
    """

    titles: tuple[tuple[str, str], ...]
    cells: dict[tuple[str, str], statistics.Estimate]
    runs: int
    tasks: int


@dataclasses.dataclass(frozen=True)
class TierPage:
    """What is shown of a tier: all methods on all of its tasks, and what they come to.

    Attributes:
        name: the tier's name.
        first: whether it is the one that the board shows first.
        summary: what it is for; empty for a tier that the protocol no longer has.
        tables: one for each task, in order.
        columns: the scores.
        groups: category -> methods, best mean first, those that lack a task last.
        caption: sample sizes and budgets.
        leaders: who is first in each category, and how sure that is.
        overall: the standings across tasks; None where there are none.
        pairs: every two methods compared, in both orders; none where there are too many.
        plots: what scores depend on.
        scatters: cost against score, and one score against another.
        directions: what papers report, and what is seen here.
        hardness: its datasets by how hard they are; None where no giveaway was measured.
        giveaways: the giveaway of datasets against scores on them; None where there is nothing to draw.
        agreement: how metrics agree on which runs are better; None where that is not known.
        studies: methods on held-out and correlated rows, beside what they are compared with.
    """

    name: str
    first: bool
    summary: str
    tables: tuple[Table, ...]
    columns: tuple[Column, ...]
    groups: dict[str, tuple[MatrixRow, ...]]
    caption: str
    leaders: tuple[overall.Leader, ...]
    overall: overall.Overall | None
    pairs: tuple[pairwise.Pair, ...]
    plots: tuple[Plot, ...]
    scatters: tuple[Plot, ...]
    directions: tuple[paper_claims.Direction, ...]
    hardness: hardness.Hardness | None
    giveaways: Plot | None
    agreement: Agreement | None
    studies: tuple[generalisation.Study, ...]

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
            category: tuple(sorted(rows, key=lambda row: (-row.means.get(column.key, -1.0), row.title.lower())))
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
    def incomplete(self) -> bool:
        """Whether a method lacks a task, and so a mean."""
        return any(self.columns[0].key not in row.means for rows in self.groups.values() for row in rows)

    @property
    def families(self) -> tuple[str, ...]:
        """The families of its datasets, such as ``sprites2d`` with its perturbed and noisy forms."""
        return tuple(dict.fromkeys(family(table.dataset) for table in self.tables))

    @property
    def verdicts(self) -> dict[str, int]:
        """How many directions come out how."""
        return paper_claims.counted(self.directions)

    @property
    def paired(self) -> tuple[tuple[str, str], ...]:
        """Names and titles of the methods that are compared."""
        return tuple(dict.fromkeys(pair.first for pair in self.pairs))


@dataclasses.dataclass(frozen=True)
class MatrixRow:
    """One method on all tasks of a tier.

    Attributes:
        method: its name.
        title: as it is printed.
        statuses: who vouches for its scores, by task.
        scores: for each task, score -> mean; empty where it was not scored.
        means: score -> mean over tasks, for methods with that score on all of them.
        standing: its place across tasks; None where it is not ranked on all of them.
        verified: whether all of its scores are.
    """

    method: str
    title: str
    statuses: tuple[str, ...]
    scores: tuple[dict[str, float], ...]
    means: dict[str, float]
    standing: overall.Standing | None
    verified: bool


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


def _tier(
    tier: str,
    boards: Sequence[Table],
    claims: Sequence[paper_claims.Direction],
    first: bool,
    known: Mapping[str, giveaways.Giveaway],
    found: Sequence[Result],
) -> TierPage:
    standings, hard = overall.overall(boards), hardness.hardness(boards, known)
    return TierPage(
        name=tier,
        first=first,
        summary=protocol.TIERS[tier].summary if tier in protocol.TIERS else "",
        tables=tuple(boards),
        columns=tuple(c for c in protocol.COLUMNS.values() if any(c in board.columns for board in boards)),
        groups=_groups(boards, standings),
        caption=ranking.caption(tier, [row for board in boards for row in board.rows]),
        overall=standings,
        leaders=overall.leaders(boards, standings),
        pairs=_pairs(boards),
        plots=(*plots.scores_vs_parameter(boards), *plots.pairs(boards)),
        scatters=tuple(plots.scatters(boards)),
        directions=tuple(claims),
        hardness=hard,
        giveaways=plots.giveaways(hard) if hard else None,
        agreement=_agreement(tier, [result for result in found if not ranking.superseded(result.task)]),
        studies=generalisation.studies(boards),
    )


MANY = 2_000
"""Runs beyond which intervals of agreement are of fewer resamples."""


def _agreement(tier: str, found: Sequence[Result]) -> Agreement | None:
    """Correlate the scores of all runs of a tier."""
    many = sum(len(result.of(tier)) for result in found) > MANY
    shown = metric_agreement.over_tasks(found, tier=tier, resamples=100 if many else 1_000)
    if shown is None:
        return None
    names = [name for name in protocol.COLUMNS if name in shown.names]
    names += sorted(set(shown.names) - set(names))
    numbers = np.stack([shown.correlations, shown.low, shown.high], axis=-1).tolist()
    return Agreement(
        titles=tuple((name, protocol.COLUMNS[name].title if name in protocol.COLUMNS else name) for name in names),
        cells={
            (one, other): statistics.Estimate(*numbers[i][j])
            for i, one in enumerate(shown.names)
            for j, other in enumerate(shown.names)
            if i != j
        },
        runs=shown.runs,
        tasks=shown.tasks,
    )


def _groups(boards: Sequence[Table], standings: overall.Overall | None) -> dict[str, tuple[MatrixRow, ...]]:
    placed = {standing.method: standing for standing in standings.standings} if standings else {}
    groups: dict[str, tuple[MatrixRow, ...]] = {}
    for category in ranking.CATEGORIES:
        there = [{row.result.method: row for row in board.groups.get(category, ())} for board in boards]
        made = []
        for method in sorted(set().union(*there)):
            rows = [rows.get(method) for rows in there]
            some = [row for row in rows if row]
            scores = tuple({key: round(cell.mean, 6) for key, cell in row.cells.items()} if row else {} for row in rows)
            whole = set.intersection(*(set(of) for of in scores))
            made.append(
                MatrixRow(
                    method,
                    some[0].result.title,
                    tuple(sorted({who for row in some for who in _vouched(row)})),
                    scores,
                    {key: sum(of[key] for of in scores) / len(scores) for key in whole},
                    placed.get(method),
                    all(row.trust == "verified" for row in some),
                )
            )
        if made:
            main = next(iter(boards[0].columns)).key if boards[0].columns else ""
            made.sort(key=lambda row: (row.standing is None, -row.means.get(main, -1.0), row.title.lower()))
            groups[category] = tuple(made)
    return groups


def _pairs(boards: Sequence[Table]) -> tuple[pairwise.Pair, ...]:
    """Compare every two trained methods that share a task, in both orders."""
    tasks: dict[str, set[str]] = {}
    for board in boards:
        for row in board.rows:
            tasks.setdefault(row.result.method, set()).add(board.task)
    there = {
        row.result.method: tasks[row.result.method]
        for board in boards
        for row in board.rows
        if row.category != "reference" and not row.warning
    }
    if not 2 <= len(there) <= overall.MOST:
        return ()
    made = {
        (a, b): pairwise.compare(boards, a, b)
        for a, b in itertools.combinations(sorted(there), 2)
        if there[a] & there[b]
    }
    both = made | {(b, a): pairwise.mirrored(pair) for (a, b), pair in made.items()}
    return tuple(both[names] for names in sorted(both))
