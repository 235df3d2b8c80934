"""The board, made of a results tree: pages and tables, written to a folder.

A pure function of the files: nothing here looks at the clock, the network or the machine, so that building twice gives
the same bytes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from benchmark_data.errors import DamagedFile, InvalidInput
from benchmark_data.files import is_left_behind, written_atomically
from leaderboard import protocol
from leaderboard.report import formats, ranking
from leaderboard.report.site import pages
from leaderboard.store import reported, results_tree

MANIFEST = ".offaxis board"
"""Lists the files of a built board, so that a later build knows that it replaces nothing else."""


def files(root: str | os.PathLike[str]) -> Iterator[tuple[str, bytes]]:
    """Make everything that a board consists of, one file after another, so that a large one need not fit in memory.

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
    yield from pages.render(root, results, papers, boards)


def build(root: str | os.PathLike[str], site: str | os.PathLike[str]) -> Path:
    """Build the board: pages and tables, from the results alone.

    All files are made in a new folder, which then takes the place of an earlier board: a build that fails leaves that
    as it was.

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
