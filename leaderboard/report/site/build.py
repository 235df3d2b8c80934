"""The board, made of a results tree: pages and tables, written to a folder.

A pure function of the files: nothing here looks at the clock, the network or the machine, so that building twice gives
the same bytes.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.metadata
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import benchmark_data
import leaderboard
from benchmark_data.errors import DamagedFile, InvalidInput
from benchmark_data.files import hash_of, read_json, write_json, written_atomically
from leaderboard import protocol
from leaderboard.report import formats, paper_claims, ranking, transfer_page
from leaderboard.report.ranking import Table
from leaderboard.report.site import extras, pages
from leaderboard.report.site.kept import Kept
from leaderboard.store import reported, results_tree, transfers


def files(
    root: str | os.PathLike[str],
    *,
    address: str = "",
    space: bool = False,
    kept: Kept | None = None,
) -> Iterator[tuple[str, bytes]]:
    """Make everything that a board consists of, one file after another, so that a large one need not fit in memory.

    Args:
        root: the results tree.
        address: where the board will be, such as ``https://example.org/board/``; empty if that is not known.
        space: add the card that makes the folder a static Space of the Hugging Face Hub.
        kept: the board of that build, of which is taken over what has not changed.

    Yields:
        Path within the board's folder, and content; each path once.

    Raises:
        DamagedFile: the tree is missing or empty, or a file of it is damaged.
        MissingExtra: Jinja is not installed.
    """
    root, kept = Path(root), kept or Kept()
    found = results_tree.read_all(root)
    if not found:
        raise DamagedFile(
            str(root), expected="at least one result", received="none", remedy="Add some: `offaxis board evaluate`."
        )
    boards = ranking.tables(found)
    if not boards:
        raise DamagedFile(
            str(root),
            expected=f"a result with one of the scores {', '.join(protocol.COLUMNS)}",
            received="none of these",
        )
    papers, transferred = reported.read_all(root), transfers.read_all(root)
    claims = paper_claims.find(boards)
    for kind, (written, together) in FORMATS.items():
        parts = []
        for board in boards:
            name = f"tables/{ranking.slug(board.task)}.{board.tier}.{kind}"
            parts.append(kept.text(name, kept.of_task(board.task), functools.partial(written, board)))
            yield name, parts[-1]
        yield f"tables/all.{kind}", together(parts)
        del parts
    made = {
        "tables/methods.bib": formats.bibtex(found),
        "tables/reported.csv": reported.comma_separated(papers),
        "tables/transfer.csv": transfer_page.comma_separated(transferred),
        "tables/paper_claims.csv": paper_claims.comma_separated(claims),
    }
    if space:
        made["README.md"] = extras.SPACE
    yield from ((name, text.encode()) for name, text in made.items())
    yield from pages.render(root, found, papers, transferred, boards=boards, claims=claims, kept=kept, address=address)


FORMATS: Mapping[str, tuple[Callable[[Table], str], Callable[[Sequence[bytes]], bytes]]] = {
    "md": (formats.markdown, b"\n".join),
    "csv": (lambda board: formats.comma_separated([board]), formats.joined_csv),
    "json": (lambda board: formats.as_json([board]), formats.joined_json),
    "tex": (formats.latex, b"\n".join),
}
"""The kinds of tables: how one is written, and how several are put together."""


def build(
    root: str | os.PathLike[str], site: str | os.PathLike[str], *, address: str = "", space: bool = False
) -> Path:
    """Build the board: pages and tables, from the results alone. Where nothing has changed, nothing is done.

    Builds into one folder take turns by a lock on it. All files are made before the first one of the board is replaced.

    Args:
        root: the results tree.
        site: the folder to write to: a new or empty one, or one built before, whose files are replaced.
        address: where the board will be; see ``files``.
        space: make the folder a static Space of the Hugging Face Hub.

    Returns:
        The first page, to open in a browser.

    Raises:
        InvalidInput: the folder holds something else, or cannot be written; or the address is none.
        DamagedFile: the tree is missing or empty, or a file of it is damaged.
        MissingExtra: Jinja is not installed.
    """
    site = Path(site)
    if address and not re.fullmatch(r"https?://[^\s\"'<>\\]+/", address):
        raise InvalidInput("address", expected="one that begins with https:// and ends with /", received=repr(address))
    built(site)  # before a lock is put there
    with results_tree.locked(site):
        return _build(Path(root), site, address, space)


def _build(root: Path, site: Path, address: str, space: bool) -> Path:
    """Build the board in a folder that is locked."""
    before, earlier = built(site), _record(site)
    programs, read = _programs(), _content(root)
    inputs = hashlib.sha256(repr((address, space, programs, sorted(read.items()))).encode()).hexdigest()
    if before and earlier.get("inputs") == inputs and _untouched(site, before):
        return site / "index.html"
    same = earlier.get("programs") == programs
    kept = Kept(read, programs, site, before, earlier["pages"] if same else {})
    listed: dict[str, str] = {}
    changed: list[str] = []
    shutil.rmtree(site / WORK, ignore_errors=True)  # of a build that was killed
    for name, content in files(root, address=address, space=space, kept=kept):
        listed[name] = hashlib.sha256(content).hexdigest()
        if not (site / name).is_file() or hash_of(site / name) != listed[name]:
            changed.append(name)
            with written_atomically(site / WORK / name) as temporary:
                temporary.write_bytes(content)
    write_json(site / MANIFEST, before | listed)  # so that a build that is broken off here can be done again
    for name in changed:
        with written_atomically(site / name) as temporary:
            os.replace(site / WORK / name, temporary)
    shutil.rmtree(site / WORK, ignore_errors=True)
    for name in before.keys() - listed.keys():
        (site / name).unlink(missing_ok=True)
    write_json(site / MANIFEST, listed)
    record = {"inputs": inputs, "programs": programs, "results": sorted(set(read.values())), "pages": kept.made_of}
    write_json(site / INPUTS, record)
    return site / "index.html"


MANIFEST = "manifest.json"
"""Lists the files of a built board with their SHA-256, so that a later build knows what it may replace."""

WORK = ".building"
"""Where files are while a board is built, within its folder."""

INPUTS = ".offaxis-build.json"
"""Holds what a board was built from, and is no part of it: a digest of everything, one of the programs, the SHA-256 of
each file of the results tree, and a digest of what each page was made of. The results among the files were found sound,
so the next build need not check them, and it takes pages over that would be made of the same."""


def _record(site: Path) -> dict[str, Any]:
    """Return what a board was built from; nothing where that is not known."""
    try:
        found = read_json(site / INPUTS)
    except DamagedFile:
        return {}
    return found if isinstance(found, dict) and found.keys() == {"inputs", "programs", "results", "pages"} else {}


def _untouched(site: Path, before: dict[str, str]) -> bool:
    """Return whether all files of a board are as they were written."""
    return all((site / name).is_file() and hash_of(site / name) == digest for name, digest in before.items())


def _programs() -> str:
    """Hash the programs that make a board."""
    found = hashlib.sha256(sys.version.encode())
    for package in ("jinja2", "numpy", "pillow", "pydantic", "scipy"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found.update(f"{package} {importlib.metadata.version(package)}".encode())
    for module in (leaderboard, benchmark_data):
        folder = Path(module.__file__ or "").parent
        for name, digest in sorted(_content(folder).items()):
            found.update(f"{name} {digest} ".encode())
    return found.hexdigest()


def _content(folder: Path) -> dict[str, str]:
    """Hash the files of a folder: path within it -> SHA-256. The published results are no part of the program."""
    found = {}
    for at, folders, names in os.walk(folder):
        within = Path(at).relative_to(folder).as_posix()
        if within == "." and "__init__.py" in names:
            folders[:] = [name for name in folders if name != "published"]
        for name in names:
            path = os.path.join(at, name)
            if not name.endswith(".pyc") and os.path.isfile(path):
                found[name if within == "." else f"{within}/{name}"] = hash_of(path)
    return found


def settings(site: Path) -> tuple[str, bool]:
    """Return the address that a built board was given, and whether it is a Space.

    Args:
        site: the folder.

    Returns:
        The address, empty if it has none; and whether the card of a Space is there.
    """
    page = site / "index.html"
    found = (
        re.search(r'<link rel="canonical" href="([^"]*)index\.html">', page.read_text("utf-8"))
        if page.is_file()
        else None
    )
    return found[1] if found else "", (site / "README.md").is_file() and "README.md" in built(site)


def built(site: Path) -> dict[str, str]:
    """Describe what an earlier build wrote to a folder.

    Args:
        site: the folder.

    Returns:
        Path -> SHA-256; nothing for a new or empty folder.

    Raises:
        InvalidInput: the folder holds something else.
    """
    manifest = site / MANIFEST
    if manifest.is_file():
        listed = read_json(manifest)
        if isinstance(listed, dict) and all(
            re.fullmatch(r"((tables|tasks|methods|pictures|compare|badges|weights)/)?[\w.-]+", name) for name in listed
        ):
            return listed
    elif not site.exists() or (site.is_dir() and {file.name for file in site.iterdir()} <= {WORK, ".lock"}):
        return {}
    raise InvalidInput(
        str(site),
        expected="a new or empty folder, or one that was built before",
        received="a file" if site.is_file() else "a folder with other files",
        remedy="Choose another folder.",
    )
