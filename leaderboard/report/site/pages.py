"""The static site: an overview, a page for each task and a page for each method, made of tables and pictures.

Style and script are inside every page and pictures lie beside them, so that the site works from a disk; its content
security policy forbids requests to anything else. All text goes through Jinja's escaping, since anyone may have written
it.
"""

from __future__ import annotations

import csv
import dataclasses
import functools
import hashlib
import importlib.resources
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from benchmark_data.dataset import Dataset
from benchmark_data.errors import DamagedFile, MissingExtra
from benchmark_data.factors import FactorSpace
from leaderboard import protocol
from leaderboard.properties import Column
from leaderboard.report import families, formats, paper_claims, ranking, transfer_page
from leaderboard.report.ranking import Row, Table
from leaderboard.report.site import plots
from leaderboard.store import results, verdicts
from leaderboard.store.reported import Paper
from leaderboard.store.results import About, Digests, Result
from leaderboard.store.transfers import Transfer

if TYPE_CHECKING:
    import jinja2

INLINE = 4
"""A board of up to this many tasks shows all of them on its first page."""

PICTURES = {".png": "PNG", ".gif": "GIF", ".webp": "WEBP"}
LARGEST = 4 * 2**20
"""Bytes of a picture that is shown."""

CAPTIONS = {
    "traversals.gif": "Latent traversals, moving: each tile moves one latent and holds the others",
    "traversals": "Latent traversals: each row moves one latent and holds the others",
    "reconstruction": "Images and their reconstructions",
    "cka": "Linear CKA between layers: lighter is more alike",
}
"""What pictures show, by the beginning of ``<what>.<suffix>``, in the order they are shown."""


@dataclasses.dataclass(frozen=True)
class Picture:
    """A picture on a page.

    Attributes:
        file: its path within the site; empty for a heatmap that is drawn from its numbers.
        width: in pixels.
        height: in pixels.
        alt: what it shows, for those who do not see it.
        caption: what it shows, in general.
        of: the dataset, for pictures of a method.
        still: the path of an animation's first frame, for readers who prefer no motion; empty for a still.
        small: whether to enlarge it without smoothing.
        heatmap: the numbers of a heatmap, to be drawn in the picture's place.
    """

    file: str
    width: int
    height: int
    alt: str
    caption: str
    of: str = ""
    still: str = ""
    small: bool = False
    heatmap: Heatmap | None = None


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

    @property
    def summary(self) -> str:
        """How many methods there are."""
        methods = {row.result.method for table in self.tables for row in table.rows}
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

    @property
    def ranked(self) -> bool:
        """Whether it has a rank anywhere."""
        return any(row.rank for rows in self.by_tier.values() for _, row in rows)

    @property
    def tasks(self) -> set[str]:
        """The tasks it was scored on."""
        return {result.task for result in self.results}


def render(
    root: Path, found: Sequence[Result], papers: Sequence[Paper] = (), transferred: Sequence[Transfer] = ()
) -> dict[str, bytes]:
    """Render the site.

    Args:
        root: the results tree, for the pictures that lie beside the results.
        found: its results.
        papers: what papers report.
        transferred: its transfer matrix.

    Returns:
        Path within the site -> content: pages and the pictures on them.

    Raises:
        MissingExtra: Jinja is not installed.
        DamagedFile: a picture cannot be read.
    """
    env = _environment()
    album: dict[str, bytes] = {}
    everything = ranking.tables(found)
    boards = [board for board in everything if not ranking.superseded(board.task)]
    pictures = {(result.task, result.method): _pictures(root, result, album) for result in found}
    tasks = [_task(root, name, everything, found, album) for name in _in_order(board.task for board in everything)]
    current = [task for task in tasks if not task.superseded_by]
    methods = [_method(name, everything, found, pictures) for name in sorted({result.method for result in found})]
    tiers = sorted({board.tier for board in boards})
    columns = [c for key, c in protocol.COLUMNS.items() if any(c in board.columns for board in boards)]
    shared = {
        "version": protocol.VERSION,
        "many_tiers": len(tiers) > 1,
        "columns": columns,
        "papers": papers,
        "transferred": bool(transferred),
    }
    compared = paper_claims.find(boards)
    made = {
        "index.html": env.get_template("index.html").render(
            shared,
            up="",
            tasks=current,
            superseded=[task for task in tasks if task.superseded_by],
            methods=sorted(methods, key=lambda m: (list(ranking.CATEGORIES).index(m.category), m.title.lower())),
            tiers=tiers,
            tier_notes=[protocol.TIERS[tier] for tier in tiers if tier in protocol.TIERS],
            runs=sum(len(result.runs) for result in found),
            plots=[*plots.scores_vs_parameter(boards), *plots.pairs(boards)],
            paper_claims=compared,
            verdicts=paper_claims.counted(compared),
            floor=verdicts.FLOOR,
            least_seeds=verdicts.SEEDS,
            matrices=[_matrix(tier, [board for board in boards if board.tier == tier]) for tier in tiers],
            standings=[
                (tier, standings)
                for tier in tiers
                if (standings := ranking.standings([board for board in boards if board.tier == tier]))
            ],
            inline=len(current) <= INLINE,
            seeds_needed=protocol.SEEDS,
        )
    }
    if papers:
        made["reported.html"] = env.get_template("reported.html").render(shared, up="")
    if transferred:
        made["transfer.html"] = env.get_template("transfer.html").render(
            shared, up="", matrices=transfer_page.matrices(transferred), caption=transfer_page.caption(transferred)
        )
    for task in tasks:
        made[f"tasks/{ranking.slug(task.id)}.html"] = env.get_template("task.html").render(shared, up="../", task=task)
    for method in methods:
        made[f"methods/{method.name}.html"] = env.get_template("method.html").render(shared, up="../", method=method)
    return album | {name: text.encode() for name, text in made.items()}


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
        NOTE=formats.NOTE,
        TIED=ranking.TIED,
        SCALE=[_colour(k / 10) for k in range(11)],
    )
    return env


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
        sheet=_picture(folder / "sheet.png", album, alt=f"Contact sheet of {name}", caption="Images drawn at random"),
        thumb=_thumb(folder / "sheet.png", album),
        factors=_picture(
            folder / "factors.png",
            album,
            alt=f"Each factor of {name} varied alone, one factor in a row",
            caption="Each factor varied alone, the others held",
        ),
        distances=plots.perceived(folder / "distances.csv"),
    )


def _method(
    name: str, boards: Sequence[Table], found: Sequence[Result], pictures: dict[tuple[str, str], tuple[Picture, ...]]
) -> MethodPage:
    mine = sorted((result for result in found if result.method == name), key=lambda r: protocol.natural(r.task))
    by_tier: dict[str, list[tuple[Table, Row]]] = {}
    for board in boards:
        for row in board.rows:
            if row.result.method == name:
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
        by_tier=by_tier,
        galleries=_galleries([pictures[result.task, result.method] for result in mine]),
    )


def _galleries(of_tasks: Sequence[tuple[Picture, ...]]) -> dict[str, tuple[Picture, ...]]:
    """Put pictures of the same kind from several tasks side by side."""
    kinds = dict.fromkeys(picture.caption for pictures in of_tasks for picture in pictures)
    return {kind: tuple(p for pictures in of_tasks for p in pictures if p.caption == kind) for kind in kinds}


def _pictures(root: Path, result: Result, album: dict[str, bytes]) -> tuple[Picture, ...]:
    """Find pictures ``<method>.<what>.<suffix>`` beside a result, and the numbers of heatmaps in ``.csv``."""
    folder = results.path(root, result.task, result.method).parent
    known = list(CAPTIONS)
    found = {}
    for file in sorted(folder.glob(f"{result.method}.*")):
        what = file.name.removeprefix(f"{result.method}.")
        if file.suffix not in PICTURES and not what.startswith("cka.csv"):
            continue
        key = next((key for key in known if what.startswith(key)), "")
        says = CAPTIONS.get(key, Path(what).stem.replace("_", " ").capitalize())
        alt = f"{says}: {result.title} on {result.dataset}."
        heatmap = _heatmap(file.with_suffix(".csv"))
        if heatmap:
            picture: Picture | None = Picture("", 0, 0, alt, says, result.dataset, heatmap=heatmap)
        elif file.suffix == ".csv":
            continue
        else:
            picture = _picture(file, album, alt=alt, caption=says, of=result.dataset)
        found[known.index(key) if key else len(known), file.stem] = picture
    return tuple(picture for _, picture in sorted(found.items(), key=lambda item: item[0]) if picture)


@dataclasses.dataclass(frozen=True)
class Heatmap:
    """Similarities of layers, to be drawn with a value under every cell.

    Attributes:
        rows: names, from top to bottom.
        columns: names, from left to right.
        cells: for each row, for each column: value and colour.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[tuple[float, str], ...], ...]


LAYERS = 64
"""The most rows or columns of a heatmap that is drawn in the page."""

_MAGMA = ((0, 0, 4), (59, 15, 112), (140, 41, 129), (222, 73, 104), (254, 159, 109), (252, 253, 191))
"""Six evenly spaced colours of matplotlib's map magma, which the pictures use, too."""


def _heatmap(file: Path) -> Heatmap | None:
    """Read the numbers of a heatmap; None where there are none, or too many to draw."""
    if not file.exists():
        return None
    try:
        head, *body = csv.reader(io.StringIO(results.content(file, LARGEST).decode()))
        names, values = [line[0] for line in body], [[float(value) for value in line[1:]] for line in body]
        if any(len(line) != len(head) - 1 or not np.isfinite(line).all() for line in values):
            raise ValueError("lines of different lengths, or a value that is not finite")
    except ValueError as error:
        raise DamagedFile(
            str(file), expected="a table of similarities", received=str(error), remedy="Make it again."
        ) from error
    if not 0 < max(len(names), len(head) - 1) <= LAYERS:
        return None
    return Heatmap(tuple(names), tuple(head[1:]), tuple(tuple((v, _colour(v)) for v in line) for line in values))


def _colour(value: float) -> str:
    place = min(max(value, 0.0), 1.0) * (len(_MAGMA) - 1)
    low = min(int(place), len(_MAGMA) - 2)
    share = place - low
    return "#" + "".join(f"{round(a + share * (b - a)):02x}" for a, b in zip(_MAGMA[low], _MAGMA[low + 1], strict=True))


def _picture(file: Path, album: dict[str, bytes], *, alt: str, caption: str, of: str = "") -> Picture | None:
    """Read a picture and put it into the album; None where there is none."""
    if not file.exists():
        return None
    kind = PICTURES[file.suffix]
    content = results.content(file, LARGEST)
    try:
        with Image.open(io.BytesIO(content), formats=[kind]) as image:
            width, height = image.size
            still = ""
            if getattr(image, "is_animated", False):
                stream = io.BytesIO()
                image.convert("RGB").save(stream, "PNG")
                still = _kept(stream.getvalue(), ".png", album)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise DamagedFile(
            str(file), expected=f"a {kind} picture", received=str(error), remedy="Remove it or make it again."
        ) from error
    return Picture(_kept(content, file.suffix, album), width, height, alt, caption, of, still, width < 500)


def _thumb(file: Path, album: dict[str, bytes]) -> Picture | None:
    """Cut the first row, of four, from a contact sheet."""
    if not file.exists():
        return None
    with Image.open(io.BytesIO(results.content(file, LARGEST)), formats=["PNG"]) as image:
        row = image.crop((0, 0, image.width, image.height // 4))
        stream = io.BytesIO()
        row.save(stream, "PNG", optimize=True)
    return Picture(_kept(stream.getvalue(), ".png", album), row.width, row.height, "", "")


def _kept(content: bytes, suffix: str, album: dict[str, bytes]) -> str:
    """Put a picture into the album, under a name that its content decides; give its path within the site."""
    name = f"pictures/{hashlib.sha256(content).hexdigest()[:16]}{suffix}"
    album[name] = content
    return name


@dataclasses.dataclass(frozen=True)
class Matrix:
    """All methods on all tasks of a tier."""

    tier: str
    tables: tuple[Table, ...]
    columns: tuple[Column, ...]
    groups: dict[str, list[MatrixRow]]
    caption: str


@dataclasses.dataclass(frozen=True)
class MatrixRow:
    """One method on all tasks: score -> mean, for each task; empty where it was not scored."""

    method: str
    title: str
    cells: tuple[dict[str, float], ...]


def _matrix(tier: str, boards: Sequence[Table]) -> Matrix:
    groups: dict[str, list[MatrixRow]] = {}
    for category in ranking.CATEGORIES:
        titles = {row.result.method: row.result.title for board in boards for row in board.groups.get(category, ())}
        for method in sorted(titles):
            cells = tuple(
                next(
                    (
                        {key: round(cell.mean, 6) for key, cell in row.cells.items()}
                        for row in board.groups.get(category, ())
                        if row.result.method == method
                    ),
                    {},
                )
                for board in boards
            )
            groups.setdefault(category, []).append(MatrixRow(method, titles[method], cells))
    columns = tuple(c for c in protocol.COLUMNS.values() if any(c in board.columns for board in boards))
    caption = ranking.caption(tier, [row for board in boards for row in board.rows])
    return Matrix(tier, tuple(boards), columns, groups, caption)
