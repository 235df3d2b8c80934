"""How much datasets reveal about their factors, as measured by `benchmark_data.inspect.audit`; stored with the results.

``<root>/giveaways.json`` has one entry for each dataset, with the dataset's version. An audit reads thousands of
images, so a board reads this file instead. No entry is written by hand: ``benchmarks/giveaways.py`` writes the file.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from leaderboard import schema
from leaderboard.schema import Field, Line, Model

FILE = "giveaways.json"

Share = Annotated[float, Field(ge=0, le=1)]


class Giveaway(Model):
    """How much a dataset's pixels reveal about its factors.

    Attributes:
        dataset: its full name.
        version: its version.
        giveaway: in [0, 1]; None if no factor has an order.
        low: lower end of the 95% interval.
        high: upper end.
        order: groups of factors, sorted from those that a VAE is expected to learn first.
        importance: factor -> mean perceived distance of images that differ in it alone.
        seed: seed of the random samples.
        traversals: the largest number per factor.
        pairs: the number of pairs of random images.
    """

    dataset: Annotated[str, Field(pattern=schema.DATASET + "$")]
    version: Line
    giveaway: Share | None
    low: Share | None
    high: Share | None
    order: tuple[tuple[Line, ...], ...]
    importance: dict[Line, float]
    seed: int
    traversals: int
    pairs: int


class Giveaways(Model):
    """The entries of all datasets, sorted by name."""

    datasets: tuple[Giveaway, ...] = ()


def read(root: str | os.PathLike[str]) -> dict[str, Giveaway]:
    """Read the entries of all datasets.

    Args:
        root: the results tree.

    Returns:
        Full name of the dataset -> entry; empty if there is no file.

    Raises:
        DamagedFile: the file breaks the schema.
    """
    file = Path(root) / FILE
    if not file.exists():
        return {}
    stored = schema.parse_or_raise(Giveaways, schema.read_bytes(file), str(file))
    return {giveaway.dataset: giveaway for giveaway in stored.datasets}
