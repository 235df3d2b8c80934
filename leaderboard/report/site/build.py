"""The board, made of a results tree: pages and tables, written to a folder.

A pure function of the files: nothing here looks at the clock, the network or the machine, so that building twice gives
the same bytes.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import os
import re
import sys
from pathlib import Path

import benchmark_data
import leaderboard
from benchmark_data.errors import DamagedFile, InvalidInput
from benchmark_data.files import read_json, write_json, written_atomically
from leaderboard.report import formats, paper_claims, ranking, transfer_page
from leaderboard.report.site import extras, pages
from leaderboard.store import reported, results, transfers


def files(root: str | os.PathLike[str], *, address: str = "", space: bool = False) -> dict[str, bytes]:
    """Make everything that a board consists of, in memory.

    Args:
        root: the results tree.
        address: where the board will be, such as ``https://example.org/board/``; empty if that is not known.
        space: add the card that makes the folder a static Space of the Hugging Face Hub.

    Returns:
        Path within the board's folder -> content, in the order of the paths.

    Raises:
        DamagedFile: the tree is missing or empty, or a file of it is damaged.
        MissingExtra: Jinja is not installed.
    """
    root = Path(root)
    found = results.read_all(root)
    if not found:
        raise DamagedFile(
            str(root), expected="at least one result", received="none", remedy="Add some: `offaxis-board evaluate`."
        )
    boards = ranking.tables(found)
    papers, transferred = reported.read_all(root), transfers.read_all(root)
    current = [board for board in boards if not ranking.superseded(board.task)]
    made = {
        "tables/all.csv": formats.comma_separated(boards),
        "tables/all.json": formats.as_json(boards),
        "tables/all.md": "\n".join(formats.markdown(board) for board in boards),
        "tables/all.tex": "\n".join(formats.latex(board) for board in boards),
        "tables/methods.bib": formats.bibtex(found),
        "tables/reported.csv": reported.comma_separated(papers),
        "tables/transfer.csv": transfer_page.comma_separated(transferred),
        "tables/paper_claims.csv": paper_claims.comma_separated(paper_claims.find(current)),
    }
    for board in boards:
        name = f"tables/{ranking.slug(board.task)}.{board.tier}"
        made |= {
            f"{name}.md": formats.markdown(board),
            f"{name}.csv": formats.comma_separated([board]),
            f"{name}.json": formats.as_json([board]),
            f"{name}.tex": formats.latex(board),
        }
    rendered = pages.render(root, found, papers, transferred, address=address)
    if space:
        made["README.md"] = extras.SPACE
    everything = {name: text.encode() for name, text in made.items()} | rendered
    return {name: everything[name] for name in sorted(everything)}


def build(
    root: str | os.PathLike[str], site: str | os.PathLike[str], *, address: str = "", space: bool = False
) -> Path:
    """Build the board: pages and tables, from the results alone. Where nothing has changed, nothing is done.

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
    before = built(site)
    inputs = _inputs(Path(root), address, space)
    if before and _up_to_date(site, before, inputs):
        return site / "index.html"
    made = files(root, address=address, space=space)
    for name, content in made.items():
        if not (site / name).is_file() or (site / name).read_bytes() != content:
            with written_atomically(site / name) as temporary:
                temporary.write_bytes(content)
    for name in before.keys() - made.keys():
        (site / name).unlink(missing_ok=True)
    write_json(site / MANIFEST, {name: hashlib.sha256(content).hexdigest() for name, content in made.items()})
    write_json(site / INPUTS, {"inputs": inputs})
    return site / "index.html"


MANIFEST = "manifest.json"
"""Lists the files of a built board with their SHA-256, so that a later build knows what it may replace."""

INPUTS = ".offaxis-build.json"
"""Holds a digest of what a board was built from: results, programs and settings. It is no part of the board."""


def _up_to_date(site: Path, before: dict[str, str], inputs: str) -> bool:
    """Return whether a board was built from the same, and all of its files are as they were written."""
    record = site / INPUTS
    if not record.is_file() or read_json(record) != {"inputs": inputs}:
        return False
    return all(
        (site / name).is_file() and hashlib.sha256((site / name).read_bytes()).hexdigest() == digest
        for name, digest in before.items()
    )


def _inputs(root: Path, address: str, space: bool) -> str:
    """Hash everything that decides what a board is."""
    found = hashlib.sha256(repr((address, space, sys.version)).encode())
    for package in ("jinja2", "numpy", "pillow", "pydantic", "scipy"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found.update(f"{package} {importlib.metadata.version(package)}".encode())
    packages = [Path(module.__file__).parent for module in (leaderboard, benchmark_data) if module.__file__]
    for folder in (root, *packages):
        listed = sorted(path for path in folder.rglob("*") if path.suffix != ".pyc" and path.is_file())
        for path in listed:
            if folder != root and path.is_relative_to(packages[0] / "published"):
                continue
            found.update(f"{path.relative_to(folder).as_posix()} {path.stat().st_size} ".encode())
            found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()


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
    elif not site.exists() or (site.is_dir() and not any(site.iterdir())):
        return {}
    raise InvalidInput(
        str(site),
        expected="a new or empty folder, or one that was built before",
        received="a file" if site.is_file() else "a folder with other files",
        remedy="Choose another folder.",
    )
