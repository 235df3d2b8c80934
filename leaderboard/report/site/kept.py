"""What of an earlier board is as it would be made again, so that it need not be.

A page is a function of some files of the results tree, of what their methods' ranks have become, and of the programs. A
build notes a digest of these for each page; the next one takes a page over whose digest is the same. Internal.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path

from leaderboard.store import results_tree


@dataclasses.dataclass
class Kept:
    """An earlier board, and notes on the one that is being made.

    Attributes:
        content: the results tree as it is now: path within it -> SHA-256.
        programs: digest of the programs as they are now.
        site: the earlier board's folder.
        written: path -> SHA-256 of what was written there.
        pages: path -> digest of what it was made of, by the same programs; empty if there is no such board.
        made_of: the same of the board that is being made, filled while it is.
    """

    content: Mapping[str, str] = dataclasses.field(default_factory=dict)
    programs: str = ""
    site: Path = Path()
    written: Mapping[str, str] = dataclasses.field(default_factory=dict)
    pages: Mapping[str, str] = dataclasses.field(default_factory=dict)
    made_of: dict[str, str] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        self._in: dict[str, list[tuple[str, str]]] = {}
        self._of: dict[tuple[str, str], list[tuple[str, str]]] = {}
        for path, digest in sorted(self.content.items()):
            folder, _, name = path.rpartition("/")
            self._in.setdefault(folder, []).append((name, digest))
            self._of.setdefault((folder, name.partition(".")[0]), []).append((name, digest))

    def reported(self) -> list[tuple[str, str]]:
        """Return the files with what papers report, and their digests."""
        return self._in.get("reported", [])

    def of_task(self, task: str) -> list[tuple[str, str]]:
        """Return the files of a task, and their digests."""
        return self._in.get(_folder(task), [])

    def of_method(self, task: str, method: str) -> list[tuple[str, str]]:
        """Return the files of a method on a task, and their digests."""
        return self._of.get((_folder(task), method), [])

    def text(self, name: str, made_of: object, make: Callable[[], str]) -> bytes:
        """Return a page or table, taken over or made.

        Args:
            name: path within the board.
            made_of: all that it depends on besides the programs, made of text, numbers, tuples and lists.
            make: makes it.

        Returns:
            Its bytes.
        """
        if not self.content:
            return make().encode()
        digest = hashlib.sha256(repr((self.programs, made_of)).encode()).hexdigest()
        self.made_of[name] = digest
        if self.pages.get(name) == digest and (self.site / name).is_file():
            there = (self.site / name).read_bytes()
            if hashlib.sha256(there).hexdigest() == self.written.get(name):
                return there
        return make().encode()


def _folder(task: str) -> str:
    return results_tree.path("", task, "x").parent.as_posix()
