"""Build the board from a results tree: an overview, a page for each task and for each method, and tables.

A pure function of the files, independent of clock, network and machine, so that building twice writes the same bytes.
Every page contains its style and script, and pictures are files of the site, so that it works from a disk; its content
security policy forbids requests to anything else.
"""

from __future__ import annotations

import functools
import importlib.resources
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from benchmark_data.errors import DamagedFile, InvalidInput, needs
from benchmark_data.files import is_left_behind, written_atomically
from leaderboard import protocol
from leaderboard.report import formats, ranking
from leaderboard.report.site import contents, tiers
from leaderboard.report.site.contents import Contents
from leaderboard.report.site.tiers import TierPage
from leaderboard.store import intervals, reported, results_tree
from leaderboard.store.reported import Paper
from leaderboard.store.results import Result

if TYPE_CHECKING:
    import jinja2

MANIFEST = ".offaxis board"
"""The list of a built board's files, so that a later build can check that it replaces nothing else."""

INLINE = 4
"""The most tasks that a board shows in full on its first page."""

File: TypeAlias = tuple[str, bytes]
"""Path within the board's folder, and content."""


def build(root: str | os.PathLike[str], site: str | os.PathLike[str]) -> Path:
    """Build the board: pages and tables, from the results alone.

    Files are written to a new folder, which then replaces an earlier board: a build that fails leaves that unchanged.

    Args:
        root: the results tree.
        site: the folder to write to: a new or empty one, or a board that was built before, which is replaced.

    Returns:
        The first page, to open in a browser.

    Raises:
        InvalidInput: the folder holds something else, or cannot be written.
        DamagedFile: the tree is missing or empty, or a file of it is damaged.
        MissingExtra: Jinja is not installed.
    """
    site = Path(site)
    _check_replaceable(site)
    with written_atomically(site.resolve(), replace=True) as temporary:
        names = [MANIFEST]
        for name, content in files(root):
            (temporary / name).parent.mkdir(parents=True, exist_ok=True)
            (temporary / name).write_bytes(content)
            names.append(name)
        (temporary / MANIFEST).write_text("\n".join(sorted(names)) + "\n", "utf-8")
    return site / "index.html"


def _check_replaceable(site: Path) -> None:
    """Refuse a folder that holds anything but a board."""
    present = {p.relative_to(site).as_posix() for p in site.rglob("*") if not (p.is_dir() or is_left_behind(p))}
    manifest = set((site / MANIFEST).read_text("utf-8").splitlines()) if (site / MANIFEST).is_file() else set()
    if site.is_file() or not present <= manifest:
        received = "a file" if site.is_file() else f"a folder with {min(present - manifest)}"
        raise InvalidInput(
            f"{site}: expected a new or empty folder, or one that was built before, received {received}. Choose "
            "another folder, or remove the file."
        )


def files(root: str | os.PathLike[str]) -> Iterator[File]:
    """Yield all files of a board, one after another, so that a large board need not fit in memory.

    Args:
        root: the results tree.

    Yields:
        Path within the board's folder, and content; each path once.

    Raises:
        DamagedFile: the tree is missing or empty, or a file of it is damaged.
        MissingExtra: Jinja is not installed.
    """
    root = Path(root)
    results = [result for result in results_tree.read_all(root) if result.task.endswith(f"@{protocol.VERSION}")]
    if not results:
        raise DamagedFile(f"{root}: expected {protocol.VERSION} results, received none. Make some: offaxis board score")
    boards = ranking.tables(results)
    if not boards:
        raise DamagedFile(
            f"{root}: expected a result with one of the scores {', '.join(protocol.COLUMNS)}, received none of these."
        )
    papers = reported.read_all(root)
    yield "tables/all.csv", formats.comma_separated(boards).encode()
    environment()  # raises MissingExtra before pages are computed
    site = contents.collect(root, results, boards)
    frame = _frame_variables(site, papers)
    yield from _render_tiers(frame, site)
    yield from _render_others(frame, site)
    yield from site.files.items()


def _frame_variables(site: Contents, papers: Sequence[Paper]) -> dict[str, Any]:
    """Return the template variables of the frame that all pages share."""
    tier_pages = site.tiers
    optional_pages = [
        ("datasets", "Datasets", [tier for tier in tier_pages if tier.hardness]),
        ("splits", "Held out", [tier for tier in tier_pages if tier.studies]),
    ]
    links = [("index.html#tasks", "Tasks")]
    links += [(f"{page}.{tiers[0].name}.html", title) for page, title, tiers in optional_pages if tiers]
    links += [("reported.html", "Reported by papers")] if papers else []
    return {
        "links": (*links, ("submit.html", "Submit, questions")),
        "newest": site.dates[-1] if site.dates else "",
        "many_tiers": len(tier_pages) > 1,
        "tiers": tier_pages,
        "papers": papers,
    }


def _render_page(frame: Mapping[str, Any], name: str, template: str, **content: Any) -> File:
    """Render a page: ``name`` is its path within the site, ``content`` the template's variables."""
    text = environment().get_template(template).render(frame, up="../" * name.count("/"), here=name, **content)
    return name, text.encode()


def _render_tiers(frame: Mapping[str, Any], site: Contents) -> Iterator[File]:
    """Render the pages and tables of each tier."""
    for tier in site.tiers:
        yield _render_overview(frame, site, tier)
        for column in tier.columns[1:]:
            yield _render_page(frame, tier.page(column), "score.html", tier=tier, column=column)
        if tier.hardness:
            yield _render_page(frame, f"datasets.{tier.name}.html", "datasets.html", tier=tier)
        if tier.studies:
            yield _render_page(frame, f"splits.{tier.name}.html", "splits.html", tier=tier)


def _render_overview(frame: Mapping[str, Any], site: Contents, tier: TierPage) -> File:
    """Render the first page of a tier: all methods on all of its tasks."""
    tier_tasks = [task for task in site.tasks if tier.name in task.tiers]
    tier_methods = [method for method in site.methods if tier.name in method.by_tier]
    return _render_page(
        frame,
        tier.page(),
        "index.html",
        tier=tier,
        column=tier.columns[0],
        columns=site.columns,
        tasks=tier_tasks,
        methods=sorted(tier_methods, key=lambda m: (list(ranking.CATEGORIES).index(m.category), m.title.lower())),
        inline=len(tier_tasks) <= INLINE,
    )


def _render_others(frame: Mapping[str, Any], site: Contents) -> Iterator[File]:
    """Render the pages of tasks and methods, and single pages."""
    yield _render_page(frame, "submit.html", "submit.html")
    if frame["papers"]:
        yield _render_page(frame, "reported.html", "reported.html")
    for task in site.tasks:
        yield _render_page(frame, f"tasks/{ranking.slug(task.id)}.html", "task.html", task=task)
    for method in site.methods:
        yield _render_page(frame, f"methods/{method.name}.html", "method.html", method=method)


DESCRIPTION = (
    "How well methods find the factors that images were made from, scored from codes, with intervals and budgets."
)
BIBTEX = """@misc{offaxis,
  title = {Offaxis: a disentanglement benchmark whose datasets do not hand the answer to a VAE},
  author = {{The Offaxis developers}},
  year = {2026},
  note = {Version 0.1.0}
}"""
"""How to cite the benchmark; a test compares it with ``CITATION.cff``."""


@functools.cache
def environment() -> jinja2.Environment:
    """Return the environment of the templates, with their functions. All text is escaped.

    Raises:
        MissingExtra: Jinja is not installed.
    """
    needs("building pages", "board", "jinja2")
    import jinja2
    import markupsafe

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
        NOTE=formats.NOTE.replace("Parentheses hold", "The small print holds"),
        span=formats.span,
        signed=formats.signed,
        breakable=lambda name: markupsafe.Markup(re.sub(r"([/_.])(?=\w{3})", r"\1<wbr>", str(markupsafe.escape(name)))),
        family=tiers.family,
        statuses=tiers.statuses,
        row_statuses=tiers.row_statuses,
        command=_training_command,
        tiers_of=lambda result: sorted(result.tiers, key=ranking.tier_order),
        version=protocol.VERSION,
        description=DESCRIPTION,
        citation=BIBTEX,
        seeds_needed=protocol.SEEDS,
        least_seeds=intervals.SEEDS,
    )
    return env


def _training_command(result: Result, tier: str) -> str:
    """Return the command that trains a row's first run again; empty for runs that this project did not train."""
    run = result.runs_in(tier)[0]
    if run.status == "recomputed" or "offaxis" not in run.versions or run.supervision == "reference":
        return ""
    words = ["offaxis", "train", "run", "--dataset", result.dataset, "--objective", result.method]
    words += ["--steps", str(run.budget.steps), "--seed", str(run.seed)]
    for name, value in run.hyperparameters.items():
        if isinstance(value, bool | int | float | str):
            words += ["--set", f"{name}={str(value).lower() if isinstance(value, bool) else value}"]
    is_plain = all(re.fullmatch(r"[\w.,=/+-]+", word, re.ASCII) for word in words)  # nothing special to a shell
    return " ".join(words) if is_plain else ""
