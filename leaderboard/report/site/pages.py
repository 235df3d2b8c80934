"""The static site: an overview, a page for each task and a page for each method, made of tables and pictures.

Style and script are inside every page and pictures lie beside them, so that the site works from a disk; its content
security policy forbids requests to anything else.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from leaderboard.report import formats, generalisation, hardness, paper_claims, ranking, transfer_page
from leaderboard.report.ranking import Table
from leaderboard.report.site import contents, extras
from leaderboard.report.site.contents import Contents, MethodPage, TierPage
from leaderboard.report.site.environment import environment
from leaderboard.report.site.kept import Kept
from leaderboard.store.reported import Paper
from leaderboard.store.results import Result
from leaderboard.store.transfers import Transfer

INLINE = 4
"""A board of up to this many tasks shows all of them on its first page."""

File: TypeAlias = tuple[str, bytes]
"""Path within the site, and content."""


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
) -> Iterator[File]:
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
    environment()  # before all else, if it is missing
    shown = contents.collect(root, found, ranking.tables(found) if boards is None else boards, claims)
    picture = _link_picture(shown)
    frame = _frame(shown, papers, transferred, address, bool(picture))
    yield from _tiers(frame, shown, papers)
    yield from _others(frame, shown, papers, transferred)
    yield from _kept(frame, shown, papers, kept or Kept())
    files = dict(shown.files)
    for one in shown.weights:
        files |= {one.name(file): (one.folder / file).read_bytes() for file in one.files}
    if picture:
        files["pictures/link.png"] = picture
    yield from (files | _badges(shown.tiers)).items()


@dataclasses.dataclass(frozen=True)
class Frame:
    """What every page has around its content, as plain values: pages differ where these do.

    Attributes:
        address: where the board will be; empty if that is not known.
        link_picture: whether there is a picture for links.
        links: the pages at the head of each page, and what they are called.
        newest: the date of the newest evaluation.
        many_tiers: whether the board has several tiers.
    """

    address: str
    link_picture: bool
    links: tuple[tuple[str, str], ...]
    newest: str
    many_tiers: bool

    def text(self, name: str, template: str, content: Mapping[str, Any]) -> str:
        """Render a page.

        Args:
            name: its path within the site.
            template: its template.
            content: what this page shows, by the template's names for it.
        """
        around = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return environment().get_template(template).render(around, up="../" * name.count("/"), here=name, **content)

    def page(self, name: str, template: str, content: Mapping[str, Any]) -> File:
        """Render a page, as a file of the site."""
        return name, self.text(name, template, content).encode()


def _frame(
    shown: Contents, papers: Sequence[Paper], transferred: Sequence[Transfer], address: str, picture: bool
) -> Frame:
    tiers = shown.tiers
    by_tier = [
        ("overall", "Across tasks", [tier for tier in tiers if tier.overall]),
        ("datasets", "Datasets", [tier for tier in tiers if tier.hardness]),
        ("splits", "Held out", [tier for tier in tiers if tier.studies]),
        ("compare", "Compare two", [tier for tier in tiers if tier.pairs]),
    ]
    links = [("index.html#tasks", "Tasks")]
    links += [(f"{page}.{having[0].name}.html", title) for page, title, having in by_tier if having]
    links += [("transfer.html", "Transfer")] if transferred else []
    links += [("reported.html", "Reported by papers")] if papers else []
    return Frame(
        address=address,
        link_picture=picture,
        links=(*links, ("submit.html", "Submit, questions")),
        newest=shown.dates[-1] if shown.dates else "",
        many_tiers=len(tiers) > 1,
    )


def _tiers(frame: Frame, shown: Contents, papers: Sequence[Paper]) -> Iterator[File]:
    """Render the pages and tables of each tier."""
    for tier in shown.tiers:
        yield _overview(frame, shown, tier, papers)
        both = {"tier": tier, "tiers": shown.tiers}
        across = list(tier.records())
        yield f"tables/across.{tier.name}.csv", formats.separated(contents.ACROSS, across).encode()
        yield f"tables/across.{tier.name}.json", formats.listed(across).encode()
        for column in tier.columns[1:]:
            yield frame.page(tier.page(column), "score.html", both | {"column": column})
        if tier.overall:
            yield frame.page(f"overall.{tier.name}.html", "overall.html", both | {"overall": tier.overall})
        if tier.hardness:
            yield frame.page(f"datasets.{tier.name}.html", "datasets.html", both)
            yield f"tables/datasets.{tier.name}.csv", hardness.comma_separated(tier.hardness).encode()
        if tier.studies:
            yield frame.page(f"splits.{tier.name}.html", "splits.html", both)
            yield f"tables/splits.{tier.name}.csv", generalisation.comma_separated(tier.studies).encode()
        if tier.agreement:
            yield frame.page(f"agreement.{tier.name}.html", "agreement.html", both)
        if tier.pairs:
            yield frame.page(f"compare.{tier.name}.html", "compare.html", both)
            for name, title in tier.paired:
                against = [pair for pair in tier.pairs if pair.first[0] == name]
                content = both | {"title": title, "pairs": against}
                yield frame.page(f"compare/{name}.{tier.name}.html", "pairs.html", content)


def _overview(frame: Frame, shown: Contents, tier: TierPage, papers: Sequence[Paper]) -> File:
    """Render the first page of a tier: all methods on all of its tasks."""
    current = [task for task in shown.tasks if tier.name in task.tiers]
    there = [method for method in shown.methods if tier.name in method.by_tier]
    content = {
        "tier": tier,
        "tiers": shown.tiers,
        "column": tier.columns[0],
        "columns": shown.columns,
        "tasks": current,
        "methods": sorted(there, key=lambda m: (list(ranking.CATEGORIES).index(m.category), m.title.lower())),
        "runs": tier.runs,
        "inline": len(current) <= INLINE,
        "papers": papers,
        "structured": extras.structured(frame.address, ["tables/all.csv", "tables/all.json"], shown.dates),
    }
    return frame.page(tier.page(), "index.html", content)


def _others(frame: Frame, shown: Contents, papers: Sequence[Paper], transferred: Sequence[Transfer]) -> Iterator[File]:
    """Render the pages of the board that there is one of."""
    yield frame.page("submit.html", "submit.html", {"tiers": shown.tiers, "papers": papers})
    ledger = {"events": tuple(reversed(shown.events)), "pending": shown.pending}
    yield frame.page("ledger.html", "ledger.html", ledger)
    if papers:
        yield frame.page("reported.html", "reported.html", {"papers": papers})
    if transferred:
        matrices, caption = transfer_page.matrices(transferred), transfer_page.caption(transferred)
        yield frame.page("transfer.html", "transfer.html", {"matrices": matrices, "caption": caption})


def _kept(frame: Frame, shown: Contents, papers: Sequence[Paper], kept: Kept) -> Iterator[File]:
    """Render the pages of tasks and methods, or take them over where nothing that they are made of has changed."""
    for task in shown.tasks:
        name = f"tasks/{ranking.slug(task.id)}.html"
        content: dict[str, Any] = {"task": task, "papers": papers}
        made_of = (frame, kept.reported(), kept.of_task(task.id))
        yield name, kept.text(name, made_of, functools.partial(frame.text, name, "task.html", content))
    for method in shown.methods:
        name = f"methods/{method.name}.html"
        compared = [tier.name for tier in shown.tiers if (method.name, method.title) in tier.paired]
        content = {"method": method, "compared": compared}
        own = _own(method, kept)
        yield name, kept.text(name, (frame, compared, own), functools.partial(frame.text, name, "method.html", content))


def _own(method: MethodPage, kept: Kept) -> tuple[object, ...]:
    """Return what a method's page is made of: its results' files and weights, and what the results of others decide."""
    files = [kept.of_method(result.task, method.name) for result in method.results]
    encoders = [(one.task, one.tier, one.seed, list(one.files.items())) for one in method.weights]
    rows = (row for of_tier in method.by_tier.values() for row in of_tier)
    return files, encoders, [(table.task, table.tier, row.rank, row.place, row.note) for table, row in rows]


def _link_picture(shown: Contents) -> bytes:
    """Draw the picture for links, of images of every task; nothing where no task has any."""
    thumbs = [extras.thumbnails(shown.files, [task.thumb.file]) for task in shown.tasks if task.thumb]
    return extras.link_picture([content for of_task in thumbs for content in of_task]) if thumbs else b""


def _badges(tiers: Sequence[TierPage]) -> dict[str, bytes]:
    """Draw a badge of the board, and one of each method with a place across a tier's tasks."""
    made = {"badges/offaxis.svg": extras.badge("Offaxis", f"{len(tiers[0].tables)} tasks" if tiers else "no results")}
    for tier in reversed(tiers):
        for standing in tier.overall.standings if tier.overall else ():
            of = len(tier.overall.groups[standing.category]) if tier.overall else 0
            said = f"rank {standing.place.low} of {of}"
            if standing.place.high != standing.place.low:
                said = f"rank {standing.place.low} to {standing.place.high} of {of}"
            made[f"badges/{standing.method}.svg"] = extras.badge(f"Offaxis {tier.name}", said)
    return made
