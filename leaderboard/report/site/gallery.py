"""What lies beside results to look at, as a page shows it."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from PIL import Image

from benchmark_data.errors import DamagedFile
from leaderboard import schema
from leaderboard.report import ranking
from leaderboard.store import results_tree
from leaderboard.store.results import Result

LARGEST = 4 * 2**20
"""Bytes of a picture that is shown."""

CAPTIONS = {
    "traversals.webp": "Latent traversals: each row moves one latent and holds the others",
    "reconstructions.webp": "Images and their reconstructions",
}
"""What pictures of runs show, by the end of their names, in the order they are shown."""

OF_RUNS = re.compile(
    r"(?P<method>[a-z0-9_]+)\.(?P<tier>[a-z0-9_]+)\.seed_(?P<seed>\d+)\."
    rf"(?P<what>{'|'.join(map(re.escape, CAPTIONS))})"
)
"""The name of a picture of runs (`media.place`)."""


@dataclasses.dataclass(frozen=True)
class Picture:
    """A picture on a page.

    Attributes:
        file: its path within the site.
        width: in pixels.
        height: in pixels.
        alt: what it shows, for those who do not see it.
        caption: what it shows, in general.
        of: dataset, tier, seeds and model, for pictures of a method.
        small: whether to enlarge it without smoothing.
    """

    file: str
    width: int
    height: int
    alt: str
    caption: str
    of: str = ""
    small: bool = False


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
    """Return whether a picture is of a run that a result has, in the tier that its name says."""
    return int(said["seed"]) in {run.seed for run in result.of(said["tier"])}


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
        of = f"{result.dataset}, tier {said['tier']}, seed {said['seed']} ({'; '.join(ranking.models(runs))})"
        caption = CAPTIONS[said["what"]]
        alt = f"{caption}: {result.title} on {of}."
        if shown := picture(file, album, alt=alt, caption=caption, of=of):
            yield said["tier"], shown


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
