"""How far datasets give their factors away: what `benchmark_data.inspect.audit` found of each, kept beside results.

``<root>/giveaways.json`` has one entry for each dataset, with the dataset's version. An audit looks at thousands of
images, so a board reads this file instead. Nothing is typed in: ``benchmarks/giveaways.py`` writes it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from benchmark_data.dataset import Dataset
from benchmark_data.files import write_json
from benchmark_data.inspect import audit
from leaderboard import schema
from leaderboard.schema import Field, Line, Model
from leaderboard.store import results_tree

FILE = "giveaways.json"

Share = Annotated[float, Field(ge=0, le=1)]


class Giveaway(Model):
    """How far a dataset gives its factors away.

    Attributes:
        dataset: its full name.
        version: its version.
        giveaway: in [0, 1]; None where no factor has an order.
        low: lower end of the 95% interval.
        high: upper end.
        order: groups of factors, those in front that a VAE is expected to learn first.
        importance: factor -> mean perceived distance of images that differ in it alone.
        seed: of all that was drawn.
        traversals: of each factor, at most.
        pairs: of random images.
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
    """All of them, by name."""

    datasets: tuple[Giveaway, ...] = ()


def read(root: str | os.PathLike[str]) -> dict[str, Giveaway]:
    """Read what is known of datasets.

    Args:
        root: the results tree.

    Returns:
        Full name -> what was found; nothing where there is no file.

    Raises:
        DamagedFile: the file holds something else.
    """
    file = Path(root) / FILE
    if not file.exists():
        return {}
    found = schema.validated(Giveaways, schema.content(file), str(file))
    return {one.dataset: one for one in found.datasets}


def audited(dataset: Dataset, *, traversals: int = 200, pairs: int = 5_000, seed: int = 0) -> Giveaway:
    """Audit a dataset.

    Args:
        dataset: the dataset; its images must be on this machine.
        traversals: as in ``benchmark_data.inspect.audit.audit``.
        pairs: likewise.
        seed: likewise.

    Returns:
        What was found, in six decimals.

    Raises:
        InvalidInput: as ``benchmark_data.inspect.audit.audit``.
        Unavailable: the images are not on this machine.
    """
    found = audit.audit(dataset, traversals=traversals, pairs=pairs, seed=seed)
    told = found.giveaway.value == found.giveaway.value
    value, low, high = (round(end, 6) if told else None for end in found.giveaway)
    return Giveaway(
        dataset=found.dataset,
        version=found.version,
        giveaway=value,
        low=low,
        high=high,
        order=tuple(map(tuple, found.order())),
        importance={one.factor.name: round(one.importance.value, 6) for one in found.factors if one.traversals},
        seed=seed,
        traversals=traversals,
        pairs=pairs,
    )


def write(root: str | os.PathLike[str], found: Iterable[Giveaway]) -> Path:
    """Add what was found to a results tree, in place of what was there of the same datasets.

    Args:
        root: the results tree.
        found: of each dataset.

    Returns:
        The file.

    Raises:
        DamagedFile: the file that is there holds something else.
        InvalidInput: the folder cannot be written.
    """
    root = Path(root)
    with results_tree.locked(root):
        known = read(root) | {one.dataset: one for one in found}
        listed = Giveaways(datasets=tuple(known[name] for name in sorted(known)))
        write_json(root / FILE, listed.model_dump(mode="json"))
    return root / FILE
