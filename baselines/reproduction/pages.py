"""The page of all figures and tables, ``docs/reproduction.md``, from the records of the entries."""

from __future__ import annotations

import collections
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from baselines.reproduction import catalogue, records
from baselines.reproduction.entries import ANSWERS, COUNTED, Entry, hours
from leaderboard.store import verdicts


def report(folder: Path) -> str:
    """Make the page of all figures and tables from the entries' folders.

    Args:
        folder: the folder of all entries, beside the page.

    Returns:
        Markdown, with a row for each figure and table of the papers.

    Raises:
        DamagedFile: a folder's files are not what its record says.
    """
    groups = _groups({id_: records.read(folder / id_) for id_ in catalogue.entries()})
    done = [group.record for group in groups if group.record is not None]
    tested_ = [record for record in done if record["p"] is not None]
    corrected = dict(
        zip(
            (record["id"] for record in tested_),
            verdicts.holm([record["p"] for record in tested_]).tolist(),
            strict=True,
        )
    )
    kept = sum(p <= verdicts.ERROR for p in corrected.values())
    counts = collections.Counter(record["verdict"] for record in done)
    told = ", ".join(f"{counts[answer]} {COUNTED.get(answer, answer)}" for answer in ANSWERS if counts[answer])
    facts = sum(record["p"] is None and record["verdict"] in ("holds", "contradicted") for record in done)
    lines = [
        "# Reproduction",
        "",
        "Every figure and table of the four papers: what the paper found, what we found, and the command.",
        "`offaxis study report` writes this page from the folders in `reproduction`, each with the numbers, the",
        "picture and what was spent. Tier `desk` has rendered stand-ins, what two cores train in a day, and seeds",
        "enough for a verdict; tier `smoke` has less of either. A claim that does not hold there may hold at the",
        "papers' budgets, and the other way round.",
        "",
        f"{len(done)} of {len(groups)} computations were run: {told or 'none'}.",
        f"They took {records.spent(done)}.",
        "",
        "A verdict is drawn from one value per seed ([statistics.md](statistics.md)), at an error of 5% for each row.",
        "*Floor*: the models know too little to test the claim. *Illustration*: nothing that could fail. *Not judged*:",
        f"the numbers lack what a verdict takes. Of {len(tested_)} tested claims, {kept} have a p-value of at most",
        f"{verdicts.ERROR} after Holm over this page, too. {facts} verdicts without one are on what no seed decides.",
    ]
    for name in catalogue.papers():
        own = [group for group in groups if group.entry in catalogue.of_paper(name)]
        lines += ["", f"## {catalogue.module(name).__doc__.splitlines()[0]}", ""]
        lines += ["| | the claim | verdict | our numbers | made by |"]
        lines += ["|---|---|---|---|---|"]
        lines += [_row(group, corrected) for group in own]
        elsewhere = [
            f"{entry.id} is {group.entry.id}"
            for entry in catalogue.of_paper(name)
            for group in groups
            if group not in own and entry.id in group.also
        ]
        if elsewhere:
            lines += ["", f"The same computation as in another paper's table: {'; '.join(elsewhere)}."]
    return "\n".join(lines) + "\n"


def _staleness(record: Mapping[str, Any] | None) -> int:
    """Put what was run and judged before what is not judged, and that before what was not run."""
    return 2 if record is None else int(records.old(record))


class _Group(NamedTuple):
    """Entries that are one computation: the first that was run, or the first, and the ids of the others."""

    entry: Entry
    record: dict[str, Any] | None
    also: tuple[str, ...]


def _groups(held: Mapping[str, dict[str, Any] | None]) -> list[_Group]:
    """Put entries that compute and judge the same together.

    One that was run counts at the tier that it was run at. One that was not joins such an entry if it is the same at
    any tier, and else counts at smoke tier.
    """
    run_as = {
        id_: catalogue.computation(entry, record["tier"])
        for id_, entry in catalogue.entries().items()
        if (record := held[id_]) is not None and not records.old(record)
    }
    together: dict[str, list[Entry]] = {}
    for id_, entry in catalogue.entries().items():
        ways = [run_as[id_]] if id_ in run_as else [catalogue.computation(entry, tier) for tier in entry.tiers]
        name = next((way for way in ways if way in run_as.values()), ways[0])
        together.setdefault(name, []).append(entry)
    made = []
    for same in together.values():
        best = min(same, key=lambda entry: _staleness(held[entry.id]))
        also = tuple(entry.id for entry in same if entry is not best)
        made.append(_Group(best, held[best.id], also))
    return made


def _needs(entry: Entry) -> str:
    """Say what an entry that was not run takes to run."""
    plan = entry.desk or entry.smoke
    return f"{len(plan.configs)} runs, {hours([plan]):.1f} hours of two cores" if plan.configs else "no training"


SHOWN = 4
"""How many of an entry's numbers the page shows; ``verdict.json`` has all of them."""


def _row(group: _Group, corrected: Mapping[str, float]) -> str:
    """Return a computation's row on the page."""
    entry, record = group.entry, group.record
    others = f". The same: {', '.join(group.also)}" if group.also else ""
    others += f". Beside: {', '.join(catalogue.beside(entry.id))}" if catalogue.beside(entry.id) else ""
    if record is None:
        return (
            f"| {entry.id}: {entry.title}{others} | {entry.claim} (The paper: {entry.paper}.) | not run | | "
            f"`offaxis study run {entry.id} --tier {'desk' if entry.desk else 'smoke'}`, {_needs(entry)} |"
        )
    folder, budget = f"reproduction/{entry.id}", record["budget"]
    claim = entry.claim if records.old(record) else record["claim"]
    runs = f"{budget['runs']} runs on {', '.join(budget['datasets'])}" if budget["runs"] else "no training"
    over_page = f", {corrected[entry.id]:.3f} after Holm" if entry.id in corrected else ""
    return (
        f"| [{entry.id}]({folder}/figure.png): {record['title']}{others} | {claim} (The paper: {entry.paper}.) | "
        f"**{record['verdict']}**{records.answer(record).removeprefix(record['verdict'])}{over_page} | "
        f"{records.numbers(record, most=SHOWN)} ([all]({folder}/verdict.json), [table]({folder}/table.csv)) | "
        f"`{record['command']}`, {runs} |"
    )
