"""List the figures and tables of all papers, and choose them by name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from baselines.reproduction.entries import Entry
from benchmark_data import discovery
from benchmark_data.errors import InvalidInput, UnknownName


def papers() -> tuple[str, ...]:
    """List the papers, one for each file in ``baselines/reproduction/papers``.

    Example:
        >>> papers()
        ('bonheme2022', 'bonheme2023', 'michlo2023', 'zietlow2021')
    """
    return discovery.names("baselines.reproduction.papers")


def entries() -> dict[str, Entry]:
    """Return every figure and table of the papers by id: paper after paper, figures before tables.

    Example:
        >>> list(entries())[:3]
        ['2205.08399/fig1', '2205.08399/fig3', '2205.08399/fig3_architectures']
        >>> entries()["2205.08399/fig1"].desk.runs
        ()
    """
    return {entry.id: entry for name in papers() for entry in of_paper(name)}


def of_paper(name: str) -> list[Entry]:
    """Return a paper's entries: figures before tables, by number."""
    return sorted(paper_module(name).ENTRIES, key=lambda entry: _order_in_paper(entry.id))


def paper_module(name: str) -> Any:
    """Return a paper's module."""
    return discovery.find("baselines.reproduction.papers", name, kind="paper")


def _order_in_paper(id_: str) -> tuple[bool, int, str]:
    """Return the sorting key within a paper: figures before tables, by number; additional entries come after theirs."""
    label, _, suffix = id_.partition("/")[2].partition("_")
    return label.startswith("table"), int(label.lstrip("figtable")), suffix


def find(names: Iterable[str]) -> tuple[Entry, ...]:
    """Choose entries.

    Args:
        names: ids, a paper's arXiv number for all of its entries, or ``"all"``.

    Returns:
        The entries, each once; an entry that repeats another is replaced by it.

    Raises:
        UnknownName: there is no such figure or table; the message suggests the nearest name.
        InvalidInput: the paper is missing; the message names papers with such a figure.

    Example:
        >>> [entry.id for entry in find(["2102.06822/fig3"])]
        ['2102.06822/fig3']
    """
    by_id = entries()
    arxiv_ids = dict.fromkeys(id_.partition("/")[0] for id_ in by_id)
    chosen: dict[str, Entry] = {}
    for name in names:
        ids = [entry.same_as or id_ for id_, entry in by_id.items() if name in (id_, id_.partition("/")[0], "all")]
        if not ids:
            similar = [id_ for id_ in by_id if id_.partition("/")[2] == name.casefold()]
            if similar:
                raise InvalidInput(
                    f"figure or table: expected its paper too, as in {' or '.join(similar)}, received {name!r}. "
                    "To list all: offaxis study list"
                )
            raise UnknownName("figure or table", name, [*by_id, *arxiv_ids, "all"])
        chosen |= {id_: by_id[id_] for id_ in ids}
    return tuple(chosen.values())
