"""Scores published in papers: dated, cited, shown next to ours and never ranked.

They were measured by other code on other samples, often of other data, and cannot be recomputed. They are stored in
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
        dataset: the most similar dataset here, without its configuration.
        setting: the paper's changes to it, in a few words.
        method: as the paper calls it.
        score: as the paper calls it.
        mean: as printed.
        spread: the number after the paper's ±; None if there is none.
        seeds: the number of seeds; None if the paper does not state it.
        place: table or figure of the paper.
        evaluator: whose code measured it, or the source that the paper quotes; empty if not checked.
        digits: decimals, as printed.
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
    """The numbers that one paper reports.

    Attributes:
        schema_version: of this layout; written as ``schema``.
        key: the file's name.
        authors: of the paper.
        title: of the paper.
        year: of publication.
        link: to the paper.
        read: the date on which the numbers were copied.
        notes: what must be known to read them, and the copy of the paper that they are from.
        differs: differences from the protocol here; empty if not checked.
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
    """Read the reported numbers of all papers.

    Args:
        root: the results tree.

    Returns:
        Papers, sorted by year and key.

    Raises:
        DamagedFile: a file breaks the schema, or its name is not its key.
    """
    papers = []
    for file in sorted(Path(root, "reported").glob("*.json")):
        paper = schema.parse_or_raise(Paper, schema.read_bytes(file), str(file))
        if paper.key != file.stem:
            raise DamagedFile(f"{file}: expected the name {paper.key}.json, as its key says, received {file.name}.")
        papers.append(paper)
    return sorted(papers, key=lambda paper: (paper.year, paper.key))
