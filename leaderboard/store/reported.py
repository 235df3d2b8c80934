"""Numbers that papers have published: dated, cited, shown next to ours and never ranked.

They were measured by other code on other samples, often of other data, and cannot be scored again. They are stored in
``<root>/reported/<key>.json``, one file for each paper.
"""

from __future__ import annotations

import datetime
import os
from pathlib import Path
from typing import Annotated, Literal

from benchmark_data.errors import DamagedFile
from leaderboard import schema
from leaderboard.schema import Bibtex, Field, Line, Link, Model, Name, Text


class Reported(Model):
    """One number.

    Attributes:
        dataset: the dataset here that comes nearest, without its configuration.
        setting: what the paper did to it, in a few words.
        method: as the paper calls it.
        score: as the paper calls it.
        mean: as printed.
        spread: what follows the paper's ±; None where there is none.
        seeds: how many, where the paper says so.
        place: where in the paper.
        evaluator: whose code measured it, or from where the paper quotes it; empty where nobody looked.
        digits: after the point, as printed.
    """

    dataset: Name
    setting: Line
    method: Line
    score: Line
    mean: float
    spread: float | None
    seeds: Annotated[int, Field(gt=0)] | None
    place: Line
    evaluator: Line = ""
    digits: int = Field(default=2, ge=0, le=6)

    @property
    def printed(self) -> str:
        """The number as the paper prints it: ``0.23 ± 0.08``."""
        spread = "" if self.spread is None else f" ± {self.spread:.{self.digits}f}"
        return f"{self.mean:.{self.digits}f}{spread}"


class Paper(Model):
    """What one paper reports.

    Attributes:
        schema_version: of this layout; written as ``schema``.
        key: the file's name.
        authors: of the paper.
        title: of the paper.
        year: of publication.
        link: to the paper.
        read: when the numbers were taken from it.
        notes: what must be known to read them, and which copy of the paper they were read in.
        differs: what differs from the protocol here; empty where nobody looked.
        bibtex: how to cite it.
        rows: the numbers.
    """

    schema_version: Literal[1] = Field(default=1, alias="schema")
    key: Name
    authors: Line
    title: Line
    year: int = Field(ge=1990, le=2100)
    link: Link
    read: datetime.date
    notes: Text
    differs: Text = ""
    bibtex: Bibtex
    rows: tuple[Reported, ...] = Field(min_length=1)


def read_all(root: str | os.PathLike[str]) -> list[Paper]:
    """Read what papers report.

    Args:
        root: the results tree.

    Returns:
        Papers by year and key; none where the tree has none.

    Raises:
        DamagedFile: a file breaks the schema, or bears another name than its key.
    """
    papers = []
    for file in sorted(Path(root, "reported").glob("*.json")):
        paper = schema.parse_or_raise(Paper, schema.read_bytes(file), str(file))
        if paper.key != file.stem:
            raise DamagedFile(f"{file}: expected the name {paper.key}.json, as its key says, received {file.name}.")
        papers.append(paper)
    return sorted(papers, key=lambda paper: (paper.year, paper.key))
