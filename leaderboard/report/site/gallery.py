"""What lies beside results to look at, as a page shows it: pictures, moving ones, heatmaps drawn from their numbers."""

from __future__ import annotations

import csv
import dataclasses
import hashlib
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from benchmark_data.errors import DamagedFile
from leaderboard import schema
from leaderboard.report import families
from leaderboard.store import results_tree
from leaderboard.store.results import Result

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
        strip: where the columns of a traversal lie, so that a slider can show one of them.
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
    strip: Strip | None = None


def galleries(of_tasks: Sequence[tuple[Picture, ...]]) -> dict[str, tuple[Picture, ...]]:
    """Put pictures of the same kind from several tasks side by side.

    Args:
        of_tasks: the pictures of each task.

    Returns:
        Caption -> pictures.
    """
    kinds = dict.fromkeys(picture.caption for pictures in of_tasks for picture in pictures)
    return {kind: tuple(p for pictures in of_tasks for p in pictures if p.caption == kind) for kind in kinds}


def beside(root: Path, found: Iterable[Result]) -> dict[tuple[str, str], list[Path]]:
    """List what lies beside results, each folder once.

    Args:
        root: the results tree.
        found: its results.

    Returns:
        (task, method) -> files ``<method>.<what>.<suffix>``, sorted.
    """
    folders = {result.task: results_tree.path(root, result.task, result.method).parent for result in found}
    listed: dict[tuple[str, str], list[Path]] = {}
    for task, folder in folders.items():
        for file in sorted(folder.glob("*.*")):
            listed.setdefault((task, file.name.partition(".")[0]), []).append(file)
    return listed


def of_method(
    result: Result, files: Mapping[tuple[str, str], Sequence[Path]], album: dict[str, bytes]
) -> tuple[Picture, ...]:
    """Find pictures ``<method>.<what>.<suffix>`` beside a result, and the numbers of heatmaps in ``.csv``.

    Args:
        result: the result.
        files: as from ``beside``.
        album: where the pictures are put: path within the site -> content.

    Returns:
        The pictures, in the order of `CAPTIONS`.

    Raises:
        DamagedFile: a picture or a table cannot be read.
    """
    known = list(CAPTIONS)
    found = {}
    for file in files.get((result.task, result.method), ()):
        what = file.name.removeprefix(f"{result.method}.")
        if file.suffix not in PICTURES and not what.startswith("cka.csv"):
            continue
        key = next((key for key in known if what.startswith(key)), "")
        says = CAPTIONS.get(key, Path(what).stem.replace("_", " ").capitalize())
        alt = f"{says}: {result.title} on {result.dataset}."
        heatmap = _heatmap(file.with_suffix(".csv"))
        if heatmap:
            shown: Picture | None = Picture("", 0, 0, alt, says, result.dataset, heatmap=heatmap)
        elif file.suffix == ".csv":
            continue
        else:
            shown = picture(file, album, alt=alt, caption=says, of=result.dataset)
            if shown and key == "traversals":
                shown = dataclasses.replace(shown, strip=_strip(shown, result.dataset))
        found[known.index(key) if key else len(known), file.stem] = shown
    return tuple(shown for _, shown in sorted(found.items(), key=lambda item: item[0]) if shown)


@dataclasses.dataclass(frozen=True)
class Strip:
    """Where the columns of a traversal lie, as shares of the picture's width: names of latents, then columns of tiles.

    Attributes:
        left: the width of the names.
        step: from one column to the next.
        tile: the width of a column.
        count: how many columns.
    """

    left: float
    step: float
    tile: float
    count: int


LABELS, GAP, VALUES = 72, 2, 9
"""Traversals as ``offaxis train traverse`` draws them: pixels for names and between tiles, and how many columns."""


def _strip(shown: Picture, dataset: str) -> Strip | None:
    """Find the columns of a traversal; None where it was drawn in another way."""
    found = families.dataset(dataset)
    if found is None:
        return None
    height, width = found.image_shape[:2]
    whole = LABELS + VALUES * (width + GAP) - GAP
    scale = shown.width / whole
    rows = (shown.height / scale + GAP) / (height + GAP)
    if scale > 1 or abs(rows - round(rows)) * (height + GAP) * scale > 1:
        return None
    return Strip(LABELS / whole, (width + GAP) / whole, width / whole, VALUES)


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
        head, *body = csv.reader(io.StringIO(schema.content(file, LARGEST).decode()))
        names, values = [line[0] for line in body], [[float(value) for value in line[1:]] for line in body]
        if any(len(line) != len(head) - 1 or not np.isfinite(line).all() for line in values):
            raise ValueError("lines of different lengths, or a value that is not finite")
    except ValueError as error:
        raise DamagedFile(
            str(file), expected="a table of similarities", received=str(error), remedy="Make it again."
        ) from error
    if not 0 < max(len(names), len(head) - 1) <= LAYERS:
        return None
    return Heatmap(tuple(names), tuple(head[1:]), tuple(tuple((v, colour(v)) for v in line) for line in values))


def colour(value: float) -> str:
    """Return the colour of a similarity on the map magma.

    Args:
        value: the similarity; what is outside [0, 1] has the colour of the nearer end.

    Returns:
        Such as ``#000004``.
    """
    place = min(max(value, 0.0), 1.0) * (len(_MAGMA) - 1)
    low = min(int(place), len(_MAGMA) - 2)
    share = place - low
    return "#" + "".join(f"{round(a + share * (b - a)):02x}" for a, b in zip(_MAGMA[low], _MAGMA[low + 1], strict=True))


def picture(file: Path, album: dict[str, bytes], *, alt: str, caption: str, of: str = "") -> Picture | None:
    """Read a picture and put it into the album.

    Args:
        file: the picture.
        album: path within the site -> content.
        alt: what it shows, for those who do not see it.
        caption: what it shows, in general.
        of: the dataset, for pictures of a method.

    Returns:
        The picture; None where there is none.

    Raises:
        DamagedFile: it cannot be read.
    """
    if not file.exists():
        return None
    kind = PICTURES[file.suffix]
    content = schema.content(file, LARGEST)
    try:
        with Image.open(io.BytesIO(content), formats=[kind]) as image:
            width, height = image.size
            still = ""
            if getattr(image, "is_animated", False):
                stream = io.BytesIO()
                image.convert("RGB").save(stream, "PNG")
                still = kept(stream.getvalue(), ".png", album)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise DamagedFile(
            str(file), expected=f"a {kind} picture", received=str(error), remedy="Remove it or make it again."
        ) from error
    return Picture(kept(content, file.suffix, album), width, height, alt, caption, of, still, width < 500)


def thumb(file: Path, album: dict[str, bytes]) -> Picture | None:
    """Cut the first row, of four, from a contact sheet.

    Args:
        file: the contact sheet.
        album: path within the site -> content.

    Returns:
        The row; None where there is no sheet.
    """
    if not file.exists():
        return None
    with Image.open(io.BytesIO(schema.content(file, LARGEST)), formats=["PNG"]) as image:
        row = image.crop((0, 0, image.width, image.height // 4))
        stream = io.BytesIO()
        row.save(stream, "PNG")
    return Picture(kept(stream.getvalue(), ".png", album), row.width, row.height, "", "")


def kept(content: bytes, suffix: str, album: dict[str, bytes]) -> str:
    """Put a picture into the album, under a name that its content decides; give its path within the site."""
    name = f"pictures/{hashlib.sha256(content).hexdigest()[:16]}{suffix}"
    album[name] = content
    return name
