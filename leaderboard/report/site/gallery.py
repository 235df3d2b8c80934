"""What lies beside results to look at, as a page shows it: pictures, and heatmaps drawn from their numbers."""

from __future__ import annotations

import csv
import dataclasses
import hashlib
import io
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from PIL import Image

from benchmark_data.errors import DamagedFile
from leaderboard import schema
from leaderboard.report import media, ranking
from leaderboard.store import results_tree
from leaderboard.store.results import Result

LARGEST = 4 * 2**20
"""Bytes of a picture that is shown."""

CAPTIONS = {
    "traversals.webp": "Latent traversals: each row moves one latent and holds the others",
    "reconstructions.webp": "Images and their reconstructions",
    f"{media.CKA}.csv": "Linear CKA between the layers of two seeds: lighter is more alike",
}
"""What pictures of runs show, by the end of their names, in the order they are shown."""

OF_RUNS = re.compile(
    r"(?P<method>[a-z0-9_]+)\.(?P<tier>[a-z0-9_]+)\.seed_(?P<seeds>\d+(_\d+)?)\."
    rf"(?P<what>{'|'.join(map(re.escape, CAPTIONS))})"
)
"""The name of a picture of runs (`media.place`)."""


@dataclasses.dataclass(frozen=True)
class Picture:
    """A picture on a page.

    Attributes:
        file: its path within the site; empty for a heatmap that is drawn from its numbers.
        width: in pixels.
        height: in pixels.
        alt: what it shows, for those who do not see it.
        caption: what it shows, in general.
        of: dataset, tier, seeds and model, for pictures of a method.
        small: whether to enlarge it without smoothing.
        heatmap: the numbers of a heatmap, to be drawn in the picture's place.
    """

    file: str
    width: int
    height: int
    alt: str
    caption: str
    of: str = ""
    small: bool = False
    heatmap: Heatmap | None = None


def galleries(shown: Iterable[tuple[str, Picture]]) -> dict[str, dict[str, list[Picture]]]:
    """Put pictures of the same kind, from several tasks, next to each other.

    Args:
        shown: tier and picture.

    Returns:
        Tier -> caption -> pictures.
    """
    found: dict[str, dict[str, list[Picture]]] = {}
    for tier, picture in shown:
        found.setdefault(tier, {}).setdefault(picture.caption, []).append(picture)
    return {tier: found[tier] for tier in sorted(found, key=ranking.tier_order)}


def beside(root: Path, found: Iterable[Result]) -> dict[tuple[str, str], list[tuple[Path, re.Match[str]]]]:
    """List the pictures of runs that lie beside results, each folder once.

    Args:
        root: the results tree.
        found: its results.

    Returns:
        (task, method) -> files with what their names say, in the order of `CAPTIONS`.
    """
    folders = {result.task: results_tree.path(root, result.task, result.method).parent for result in found}
    listed: dict[tuple[str, str], list[tuple[Path, re.Match[str]]]] = {}
    for task, folder in folders.items():
        for file in sorted(folder.glob("*.seed_*")):
            if said := OF_RUNS.fullmatch(file.name):
                listed.setdefault((task, said["method"]), []).append((file, said))
    order = list(CAPTIONS)
    return {key: sorted(of, key=lambda one: order.index(one[1]["what"])) for key, of in listed.items()}


def is_of(result: Result, said: re.Match[str]) -> bool:
    """Return whether a picture is of runs that a result has, in the tier that its name says."""
    seeds = {run.seed for run in result.of(said["tier"])}
    return {int(seed) for seed in said["seeds"].split("_")} <= seeds


def of_method(
    result: Result, files: Iterable[tuple[Path, re.Match[str]]], album: dict[str, bytes]
) -> Iterator[tuple[str, Picture]]:
    """Read the pictures of a result's runs. One of a run that the result does not have is not shown.

    Args:
        result: the result.
        files: those of ``beside`` that are of its task and method.
        album: where the pictures are put: path within the site -> content.

    Yields:
        The tier of the run, and the picture, in the order of `CAPTIONS`.

    Raises:
        DamagedFile: a picture or a table cannot be read.
    """
    for file, said in files:
        if not is_of(result, said):
            continue
        runs = result.of(said["tier"])
        seeds = said["seeds"].replace("_", " and ")
        of = f"{result.dataset}, tier {said['tier']}, seed {seeds} ({'; '.join(ranking.models(runs))})"
        caption = CAPTIONS[said["what"]]
        alt = f"{caption}: {result.title} on {of}."
        if file.suffix == ".csv":
            heatmap = _heatmap(file)
            shown = Picture("", 0, 0, alt, caption, of, heatmap=heatmap) if heatmap else None
        else:
            shown = picture(file, album, alt=alt, caption=caption, of=of)
        if shown:
            yield said["tier"], shown


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
        raise DamagedFile(f"{file}: expected a table of similarities, received {error}. Make it again.") from error
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
        file: the picture, PNG or WebP.
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
    kind = file.suffix[1:].upper()
    content = schema.content(file, LARGEST)
    try:
        with Image.open(io.BytesIO(content), formats=[kind]) as image:
            width, height = image.size
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise DamagedFile(
            f"{file}: expected a {kind} picture, received {error}. Remove it or make it again."
        ) from error
    return Picture(kept(content, file.suffix, album), width, height, alt, caption, of, width < 500)


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
