"""The static site: an overview, a page for each task and a page for each method, made of tables and pictures.

Every page stands alone: style, script and pictures are inside it, and its content security policy forbids any request.
All text goes through Jinja's escaping, since anyone may have written it.
"""

from __future__ import annotations

import base64
import csv
import dataclasses
import functools
import importlib.resources
import io
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

import benchmark_data
from benchmark_data.dataset import Dataset
from benchmark_data.errors import DamagedFile, MissingExtra, UnknownName
from benchmark_data.factors import FactorSpace
from leaderboard import protocol, results, tables
from leaderboard.protocol import Column
from leaderboard.reported import Paper
from leaderboard.results import About, Digests, Result, Summary
from leaderboard.tables import Row, Table

if TYPE_CHECKING:
    import jinja2

INLINE = 4
"""A board of up to this many tasks shows all of them on its first page."""

PICTURES = {".png": ("PNG", "image/png"), ".gif": ("GIF", "image/gif")}
LARGEST = 4 * 2**20
"""Bytes of a picture that is shown."""

CAPTIONS = {
    "traversals.gif": "Latent traversals, moving: each tile moves one latent and holds the others",
    "traversals.png": "Latent traversals: each row moves one latent and holds the others",
    "reconstruction": "Images and their reconstructions",
    "cka": "Linear CKA between layers: lighter is more alike",
}
"""What pictures show, by the beginning of ``<what>.<suffix>``, in the order they are shown."""

COLOURS = 6
DASHES = 3


@dataclasses.dataclass(frozen=True)
class Picture:
    """A picture inside a page.

    Attributes:
        uri: the file as a data URI.
        width: in pixels.
        height: in pixels.
        alt: what it shows, for those who do not see it.
        caption: what it shows, in general.
        of: the dataset, for pictures of a method.
        still: the first frame of an animation as a data URI, for readers who prefer no motion; empty for a still.
        small: whether to enlarge it without smoothing.
        heatmap: the numbers of a heatmap, to be drawn in the picture's place.
    """

    uri: str
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

    name: str
    rows: str
    left_out: tuple[str, ...]
    rows_digest: str
    digest: Digests
    dataset: Dataset | None
    tables: tuple[Table, ...]
    pictures: tuple[Picture, ...]
    sheet: Picture | None
    thumb: Picture | None
    factors: Picture | None

    @property
    def grid(self) -> bool:
        """Whether the factors span a full grid."""
        return self.dataset is not None and isinstance(self.dataset.space, FactorSpace)

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


def render(root: Path, found: Sequence[Result], papers: Sequence[Paper] = ()) -> dict[str, str]:
    """Render the site.

    Args:
        root: the results tree, for the pictures that lie beside the results.
        found: its results.
        papers: what papers report.

    Returns:
        Path within the site -> HTML.

    Raises:
        MissingExtra: Jinja is not installed.
        DamagedFile: a picture cannot be read.
    """
    env = _environment()
    boards = tables.tables(found)
    pictures = {(result.task, result.method): _pictures(root, result) for result in found}
    tasks = [_task(root, name, boards, found, pictures) for name in _in_order(board.dataset for board in boards)]
    methods = [_method(name, boards, found, pictures) for name in sorted({result.method for result in found})]
    tiers = sorted({board.tier for board in boards})
    columns = [c for key, c in protocol.COLUMNS.items() if any(c in board.columns for board in boards)]
    shared = {"version": protocol.VERSION, "many_tiers": len(tiers) > 1, "columns": columns, "papers": papers}
    pages = {
        "index.html": env.get_template("index.html").render(
            shared,
            up="",
            tasks=tasks,
            methods=sorted(methods, key=lambda m: (list(tables.CATEGORIES).index(m.category), m.title.lower())),
            tiers=tiers,
            tier_notes=[protocol.TIERS[tier] for tier in tiers if tier in protocol.TIERS],
            runs=sum(len(result.runs) for result in found),
            ladders=_ladders(boards),
            matrices=[_matrix(tier, [board for board in boards if board.tier == tier]) for tier in tiers],
            standings=[
                (tier, made)
                for tier in tiers
                if (made := tables.standings([board for board in boards if board.tier == tier]))
            ],
            inline=len(tasks) <= INLINE,
            seeds_needed=protocol.SEEDS,
        )
    }
    if papers:
        pages["reported.html"] = env.get_template("reported.html").render(shared, up="")
    for task in tasks:
        pages[f"tasks/{tables.slug(task.name)}.html"] = env.get_template("task.html").render(
            shared, up="../", task=task
        )
    for method in methods:
        pages[f"methods/{method.name}.html"] = env.get_template("method.html").render(shared, up="../", method=method)
    return pages


@functools.cache
def _environment() -> jinja2.Environment:
    try:
        import jinja2
        import markupsafe
    except ImportError as error:
        raise MissingExtra("building pages", "jinja2", "board") from error
    env = jinja2.Environment(
        loader=jinja2.PackageLoader("leaderboard", "site"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for name, file in (("style", "style.css"), ("script", "board.js")):
        source = (importlib.resources.files("leaderboard") / "site" / file).read_text("utf-8")
        env.globals[name] = markupsafe.Markup(source)
    env.globals.update(
        slug=tables.slug,
        number=tables.number,
        CATEGORIES=tables.CATEGORIES,
        NOTE=tables.NOTE,
        LEVEL=tables.LEVEL,
        SCALE=[_colour(k / 10) for k in range(11)],
    )
    return env


def _in_order(names: Iterable[str]) -> list[str]:
    return sorted(set(names), key=tables.natural)


def _dataset(name: str) -> Dataset | None:
    try:
        return benchmark_data.load(name)
    except UnknownName:
        return None


def _task(
    root: Path,
    name: str,
    boards: Sequence[Table],
    found: Sequence[Result],
    pictures: dict[tuple[str, str], tuple[Picture, ...]],
) -> TaskPage:
    dataset = _dataset(name)
    here = [result for result in found if result.dataset == name]
    run = here[0].runs[0]
    folder = results.path(root, here[0].task, here[0].method).parent
    if dataset:
        task = protocol.task(name)
        rows = f"{len(task.train):,} train and {len(task.test):,} test, fixed by the protocol"
    return TaskPage(
        name=name,
        rows=rows if dataset else "fixed by the protocol",
        left_out=task.left_out if dataset else (),
        rows_digest=run.rows_digest,
        digest=run.dataset_digest,
        dataset=dataset,
        tables=tuple(board for board in boards if board.dataset == name),
        pictures=tuple(picture for result in here for picture in pictures[result.task, result.method]),
        sheet=_picture(folder / "sheet.png", alt=f"Contact sheet of {name}", caption="Images drawn at random"),
        thumb=_thumb(folder / "sheet.png"),
        factors=_picture(
            folder / "factors.png",
            alt=f"Each factor of {name} varied alone, one factor in a row",
            caption="Each factor varied alone, the others held",
        ),
    )


def _method(
    name: str, boards: Sequence[Table], found: Sequence[Result], pictures: dict[tuple[str, str], tuple[Picture, ...]]
) -> MethodPage:
    mine = sorted((result for result in found if result.method == name), key=lambda r: tables.natural(r.task))
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


def _pictures(root: Path, result: Result) -> tuple[Picture, ...]:
    """Find ``<method>.<what>.png`` and ``.gif`` beside a result, and the numbers of heatmaps in ``.csv``."""
    folder = results.path(root, result.task, result.method).parent
    known = list(CAPTIONS)
    made = []
    for file in folder.glob(f"{result.method}.*"):
        if file.suffix in PICTURES:
            what = file.name.removeprefix(f"{result.method}.")
            key = next((key for key in known if what.startswith(key)), "")
            says = CAPTIONS.get(key, Path(what).stem.replace("_", " ").capitalize())
            picture = _picture(
                file, alt=f"{says}: {result.title} on {result.dataset}.", caption=says, of=result.dataset
            )
            place = known.index(key) if key else len(known)
            made.append((place, file.name, picture))
    return tuple(picture for *_, picture in sorted(made, key=lambda item: item[:2]) if picture)


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


def _picture(file: Path, *, alt: str, caption: str, of: str = "") -> Picture | None:
    """Read a picture; None where there is none."""
    if not file.exists():
        return None
    kind, mime = PICTURES[file.suffix]
    content = results.content(file, LARGEST)
    try:
        with Image.open(io.BytesIO(content), formats=[kind]) as image:
            width, height = image.size
            still = ""
            if getattr(image, "is_animated", False):
                stream = io.BytesIO()
                image.convert("RGB").save(stream, "PNG")
                still = _uri(stream.getvalue(), "image/png")
    except (OSError, ValueError, Image.DecompressionBombError) as error:
        raise DamagedFile(
            str(file), expected=f"a {kind} picture", received=str(error), remedy="Remove it or make it again."
        ) from error
    return Picture(
        _uri(content, mime), width, height, alt, caption, of, still, width < 500, _heatmap(file.with_suffix(".csv"))
    )


def _thumb(file: Path) -> Picture | None:
    """Cut the first row, of four, from a contact sheet."""
    if not file.exists():
        return None
    with Image.open(io.BytesIO(results.content(file, LARGEST)), formats=["PNG"]) as image:
        row = image.crop((0, 0, image.width, image.height // 4))
        stream = io.BytesIO()
        row.save(stream, "PNG", optimize=True)
    return Picture(_uri(stream.getvalue(), "image/png"), row.width, row.height, "", "")


def _uri(content: bytes, mime: str) -> str:
    return f"data:{mime};base64,{base64.b64encode(content).decode()}"


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
    for category in tables.CATEGORIES:
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
    caption = tables.caption(tier, [row for board in boards for row in board.rows])
    return Matrix(tier, tuple(boards), columns, groups, caption)


@dataclasses.dataclass(frozen=True)
class Tick:
    """A place on an axis."""

    at: float
    label: str


@dataclasses.dataclass(frozen=True)
class Point:
    """A score in a plot, in the plot's coordinates, with the ends of its interval."""

    x: float
    y: float
    low: float | None
    high: float | None


@dataclasses.dataclass(frozen=True)
class Series:
    """One method in a plot."""

    title: str
    colour: str
    shape: int
    reference: bool
    points: tuple[Point, ...]


@dataclasses.dataclass(frozen=True)
class Panel:
    """One score in a ladder."""

    column: Column
    y_ticks: tuple[Tick, ...]
    series: tuple[Series, ...]


@dataclasses.dataclass(frozen=True)
class Ladder:
    """Scores against the one number that tells the configurations of a dataset apart."""

    name: str
    parameter: str
    tier: str
    caption: str
    x_ticks: tuple[Tick, ...]
    panels: tuple[Panel, ...]
    legend: tuple[Series, ...]
    width: int = 250
    height: int = 200
    left: int = 40
    right: int = 246
    top: int = 10
    bottom: int = 162


def _ladders(boards: Sequence[Table]) -> list[Ladder]:
    """Find configurations that differ in one number only; the dataset that was changed stands at ``epsilon`` 0."""
    at = {(board.dataset, board.tier): board for board in boards}
    steps: dict[tuple[str, tuple[str, ...], str, str], dict[float, Table]] = {}
    for board in boards:
        dataset = _dataset(board.dataset)
        if dataset is None:
            continue
        for parameter, value in dataset.parameters.items():
            if isinstance(value, bool) or not isinstance(value, int | float):
                continue
            fixed = tuple(str(v) for k, v in sorted(dataset.parameters.items()) if k != parameter)
            found = steps.setdefault((dataset.name, fixed, parameter, board.tier), {})
            found[float(value)] = board
            base = getattr(dataset.source, "base", None)
            if parameter == "epsilon" and base is not None and (base.id, board.tier) in at:
                found[0.0] = at[base.id, board.tier]
    return [
        _ladder(" ".join([name, *filter(str.isalpha, fixed)]), parameter, tier, sorted(found.items()))
        for (name, fixed, parameter, tier), found in sorted(steps.items())
        if len(found) > 1
    ]


def _ladder(name: str, parameter: str, tier: str, steps: Sequence[tuple[float, Table]]) -> Ladder:
    values = [value for value, _ in steps]
    size = Ladder(name, parameter, tier, "", (), (), ())

    def across(value: float) -> float:
        inset = 16
        share = (value - values[0]) / (values[-1] - values[0])
        return round(size.left + inset + share * (size.right - size.left - 2 * inset), 1)

    rows: dict[str, dict[float, Row]] = {}
    for value, board in steps:
        for row in board.rows:
            rows.setdefault(row.result.method, {})[value] = row
    several = {method: of for method, of in rows.items() if len(of) > 1}
    trained = [m for m in sorted(several) if next(iter(several[m].values())).category != "reference"]
    references = [m for m in sorted(several) if m not in trained]
    panels: list[Panel] = []
    legend: dict[str, Series] = {}
    absent: set[str] = set()
    for column in protocol.COLUMNS.values():
        cells = {
            method: {value: row.cells[column.key] for value, row in of.items() if column.key in row.cells}
            for method, of in several.items()
        }
        if not any(cells.values()):
            continue
        best = max((cell.mean for m in trained for cell in cells[m].values()), default=1.0)
        beyond = {m for m in references if all(cell.mean > 2 * best for cell in cells[m].values())}
        shown = [cell for m in [*trained, *references] if m not in beyond for cell in cells[m].values()]
        top = _ceiling(max(cell.mean if cell.high is None else cell.high for cell in shown))

        def up(score: float, top: float = top) -> float:
            return round(size.bottom - (min(score, top) / top) * (size.bottom - size.top), 1)

        series = []
        for method in [*references, *trained]:
            if not cells[method]:
                continue
            if method in beyond:
                absent.add(rows[method][next(iter(cells[method]))].result.title)
                continue
            place = (trained if method in trained else references).index(method)
            one = Series(
                title=next(iter(rows[method].values())).result.title,
                colour=f"--c{place % COLOURS}" if method in trained else "--reference",
                shape=place % (COLOURS if method in trained else DASHES),
                reference=method in references,
                points=tuple(_point(across(value), cell, up) for value, cell in sorted(cells[method].items())),
            )
            series.append(one)
            legend.setdefault(method, one)
        ticks = tuple(Tick(up(top * k / 4), f"{top * k / 4:.3g}") for k in range(5))
        panels.append(Panel(column, ticks, tuple(series)))
    caption = tables.caption(tier, [row for _, board in steps for row in board.rows])
    if parameter == "epsilon" and values[0] == 0:
        caption += f" At 0: {steps[0][1].dataset}, unchanged."
    if absent:
        caption += f" Beyond the axis: {', '.join(sorted(absent))}."
    return dataclasses.replace(
        size,
        caption=caption,
        x_ticks=tuple(Tick(across(value), f"{value:g}") for value in values),
        panels=tuple(panels),
        legend=tuple(legend[method] for method in [*trained, *references] if method in legend),
    )


def _point(x: float, cell: Summary, up: Any) -> Point:
    return Point(
        x,
        up(cell.mean),
        None if cell.low is None else up(cell.low),
        None if cell.high is None else up(cell.high),
    )


def _ceiling(value: float) -> float:
    """Give the end of an axis that holds a score: a round number not far above it."""
    value = min(max(value, 0.01), 1.0)
    scale = 10 ** math.floor(math.log10(value))
    return float(
        min(1.0, next(step * scale for step in (1, 1.2, 1.6, 2, 2.4, 3.2, 4, 6, 8, 10) if step * scale >= value))
    )
