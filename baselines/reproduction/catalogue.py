"""The figures and tables of all papers: listed, chosen by name, and known by what they compute."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from baselines.reproduction.entries import Entry, digest
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
        ['2205.08399/fig1', '2205.08399/fig3', '2205.08399/fig3_smaller']
        >>> entries()["2205.08399/fig1"].smoke.runs
        ()
    """
    return {entry.id: entry for name in papers() for entry in of_paper(name)}


def of_paper(name: str) -> list[Entry]:
    """Return a paper's entries: figures before tables, by number."""
    return sorted(module(name).ENTRIES, key=lambda entry: _place(entry.id))


def beside(id_: str) -> tuple[str, ...]:
    """Name entries that judge the same runs in the same way, in part or by another measure: no evidence of their own.

    Args:
        id_: of an entry.

    Returns:
        The ids of the others in a group of its paper's ``BESIDE``; none for most entries.

    Example:
        >>> beside("2205.08399/fig11")
        ('2205.08399/fig6',)
    """
    groups = (group for name in papers() for group in getattr(module(name), "BESIDE", ()))
    return tuple(dict.fromkeys(other for group in groups if id_ in group for other in group if other != id_))


def module(name: str) -> Any:
    """Return a paper's file, a module."""
    return discovery.find("baselines.reproduction.papers", name, kind="paper")


def _place(id_: str) -> tuple[bool, int, str]:
    """Return the place in a paper: figures before tables, by number; what else is seen in a figure comes after it."""
    what, _, more = id_.partition("/")[2].partition("_")
    return what.startswith("table"), int(what.lstrip("figtable")), more


def computation(entry: Entry, tier: str) -> str:
    """Name what is computed and judged, whatever figure it is: entries with the same name have one row on the page.

    Args:
        entry: the entry.
        tier: the tier.

    Returns:
        SHA-256, in hexadecimal, of the runs, datasets, settings, computation and judge.

    Raises:
        UnknownName: there is no such tier.
        InvalidInput: the entry has none.
    """
    plan = entry.plan(tier)
    made_of = {
        "runs": sorted(plan.configs),
        "datasets": plan.all_datasets,
        "settings": dict(plan.settings),
        "compute": f"{entry.compute.__module__}.{entry.compute.__qualname__}",
        "judge": f"{entry.judge.__module__}.{entry.judge.__qualname__}",
    }
    return digest(made_of)


def find(names: Iterable[str]) -> tuple[Entry, ...]:
    """Choose entries.

    Args:
        names: ids, a paper's arXiv number for all of its entries, or ``"all"``.

    Returns:
        The entries, each once.

    Raises:
        UnknownName: there is no such figure or table; the message gives the near match.
        InvalidInput: the paper is missing; the message names those that have such a figure.

    Example:
        >>> [entry.id for entry in find(["2102.06822/fig3"])]
        ['2102.06822/fig3']
    """
    known = entries()
    whole = dict.fromkeys(id_.partition("/")[0] for id_ in known)
    chosen: dict[str, Entry] = {}
    for name in names:
        part = {id_: entry for id_, entry in known.items() if name in (id_, id_.partition("/")[0], "all")}
        if not part:
            same = [id_ for id_ in known if id_.partition("/")[2] == name.casefold()]
            if same:
                raise InvalidInput(
                    "figure or table",
                    expected=f"its paper as well, as in {' or '.join(same)}",
                    received=repr(name),
                    remedy="offaxis study list shows them all.",
                )
            raise UnknownName("figure or table", name, [*known, *whole, "all"])
        chosen |= part
    return tuple(chosen.values())
