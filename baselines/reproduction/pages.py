"""The page of all figures and tables, ``docs/reproduction.md``, and the table of main results."""

from __future__ import annotations

import collections
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from baselines.reproduction import catalogue, records
from baselines.reproduction.entries import Entry
from leaderboard.store import intervals, verdicts

MAIN = (
    ("2202.13341/fig8", False),
    ("2202.13341/fig9", False),
    ("2202.13341/fig11", False),
    ("2202.13341/fig6", False),
    ("2102.06822/table1", False),
    ("2102.06822/table1", True),
    ("2205.08399/fig4", False),
    ("2304.10767/table1", False),
)
"""The sentences of the main table: id of an entry, and whether it is the one with the added control."""

NAMES = {"xysquares": "XYSquares", "dsprites": "dSprites", "plane": "points"}
"""Family of datasets -> its name in a table."""

PAPERS = {
    "2102.06822": "Zietlow 2021",
    "2202.13341": "Michlo 2023",
    "2205.08399": "Bonheme 2022",
    "2304.10767": "Bonheme 2023",
}
"""Number on arXiv -> first author and year."""

HEAD = ("claim", "data", "model, steps (share of the paper's images)", "n", "effect (95% CI)", "verdict")


def report(folder: Path) -> str:
    """Make the page of all figures and tables from the entries' folders.

    Args:
        folder: the folder of all entries, in the same folder as the page.

    Returns:
        Markdown, with a row for each sentence of each figure and table of the papers.

    Raises:
        DamagedFile: a folder's files do not match its record.
    """
    found = {id_: records.read(folder / id_) for id_ in shown()}
    done = {id_: record for id_, record in found.items() if record}
    kept = significant(done.values())
    rows = [
        *("# Reproduction", ""),
        "The figures and tables of four papers, and questions that we added, with a verdict on each claim. The eight",
        "main claims are in [README](../README.md#which-claims-of-the-papers-replicate), their discussion is in",
        "[findings](findings.md).",
        "The page is made from the records in `docs/reproduction`; `offaxis study run ID` makes a record again.",
        *("", *counts(folder), ""),
        *("## How to read the tables", "", *LEGEND),
    ]
    for name in catalogue.papers():
        entries = [entry for entry in catalogue.of_paper(name) if entry.id in found]
        rows += ["", f"## {catalogue.module(name).__doc__.splitlines()[0]}", ""]
        usual = collections.Counter(_setting(found[entry.id]) for entry in entries).most_common(1)[0][0]
        rows += [f"Unless stated: {usual[0].replace(' (', ' steps (')}, n = {usual[1]}.", ""] if all(usual) else []
        rows += _table(("figure", *HEAD))
        for entry in entries:
            if record := found[entry.id]:
                figure = _more(entry)
                for one in record["judged"]:
                    claim, data, *setting, effect, verdict = _cells(entry, record, one, kept)
                    setting = ["" if all(usual) and cell in usual else cell for cell in setting]
                    rows.append(_row(figure, claim, data, *setting, effect, verdict))
                    figure = entry.id.partition("/")[2]
            else:
                rows.append(_row(entry.id.partition("/")[2], _claim(entry, entry.claim), "", "", "", "", "not run"))
        again = [f"{each.id.partition('/')[2]} ({each.same_as})" for each in catalogue.of_paper(name) if each.same_as]
        if again:
            rows += ["", f"Repeats, tested in the other paper's row: {', '.join(again)}."]
    return "\n".join(rows) + "\n"


LEGEND = (
    "- **Verdict.** On a paper's own data, marked *(own)*, a claim is *replicated* or *contradicted*; on other data it",
    "  is *replicated on a stand-in* or *not replicated on a stand-in*. *Not testable*: scores are below baseline, or",
    "  leave no room for the claimed difference. *Illustration*: nothing is tested. **Bold**: p ≤ 0.05 after Holm over",
    "  all claims, tested or untestable ([statistics](statistics.md)).",
    "- **Effect.** The difference that decides the claim, positive in the claim's direction. Of several parts, the",
    "  one with the largest p is shown or, if any oppose the claim, the strongest of those. *From the bound*: of a",
    '  claim with a bound (such as "less than 0.05"), how far the score is inside it, or, if negative, outside. *n*',
    "  counts seeds.",
    "- **Our control**: the claim measured from a control that we added. *Added*: a question that is not in the paper,",
    "  *supported* or *opposed*. *Post hoc*: asked, or its measurement refined, after results were seen.",
    "- **Share.** Training images of a run as a share of the paper's; *unknown* where the paper does not state them.",
    "  Rows of one paper often share runs and are not independent.",
)


def shown() -> dict[str, Entry]:
    """Return the entries that have a row: all but those that show another one again."""
    return {id_: entry for id_, entry in catalogue.entries().items() if not entry.same_as}


def computed(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the records of the entries that have a row and were computed, by id."""
    return {id_: record for id_ in shown() if (record := records.read(folder / id_))}


def significant(done: Iterable[Mapping[str, Any]]) -> set[tuple[str, str]]:
    """Return id and claim of each sentence that is decided after Holm over all of them."""
    tested = [(record["id"], one) for record in done for one in record["judged"] if _is_test(one)]
    adjusted = verdicts.holm([1.0 if one["p"] is None else one["p"] for _, one in tested])
    return {(id_, one["claim"]) for (id_, one), p in zip(tested, adjusted, strict=True) if p <= intervals.ERROR}


def _is_test(one: Mapping[str, Any]) -> bool:
    """Say whether a sentence counts for Holm: one that is not testable does, since that was seen from its scores."""
    return one["p"] is not None or "not testable" in one["verdict"]


def main_results(folder: Path) -> list[str]:
    """Return README's table of main results, and how many of its tests remain significant after Holm's correction.

    Args:
        folder: the folder of all entries.
    """
    known = catalogue.entries()
    held = computed(folder)
    kept = significant(held.values())
    main = [
        (id_, one) for id_, control in MAIN if id_ in held for one in held[id_]["judged"] if one["control"] is control
    ]
    lines = _table(("paper", *HEAD))
    for id_, one in main:
        number = id_.partition("/")[0]
        paper = f"[{PAPERS[number]}](https://arxiv.org/abs/{number})"
        lines.append(_row(paper, *_cells(known[id_], held[id_], one, kept)))
    above = [(id_, one["claim"]) in kept for id_, one in main if one["p"] is not None]
    tests = sum(_is_test(one) for record in held.values() for one in record["judged"])
    return [
        *lines,
        "",
        f"Verdicts use single claims' p-values. After Holm's correction over {tests} claims in "
        f"[reproduction](docs/reproduction.md), untestable ones included, {sum(above) or 'none'} of the {len(above)} "
        f"p-values above (verdict in bold) and {len(kept) - sum(above)} others stay significant.",
    ]


def counts(folder: Path) -> list[str]:
    """Return how many sentences have which verdict: the papers' own, and those that were added.

    Args:
        folder: the folder of all entries.
    """
    entries, done = shown(), computed(folder)
    kept = significant(done.values())
    added = sum(entries[id_].added for id_ in done)
    lines = [
        f"{len(done)} of {len(entries)} entries were computed ({added} of them added by us): "
        f"{records.spent(done.values())}.",
        "",
        *_table(("", "claims", "significant after Holm", "verdicts")),
    ]
    for title, ours in (("of the papers", False), ("controls and added questions", True)):
        judged = [
            (id_, one)
            for id_, record in done.items()
            for one in record["judged"]
            if (one["control"] or entries[id_].added) is ours
        ]
        told = collections.Counter(one["verdict"] for _, one in judged).most_common()
        decided = sum((id_, one["claim"]) in kept for id_, one in judged)
        words = ", ".join(f"{count} {verdict}" for verdict, count in told)
        lines.append(_row(title, str(len(judged)), str(decided), words))
    return lines


def _table(head: Iterable[str]) -> list[str]:
    head = tuple(head)
    return [_row(*head), "|" + "---|" * len(head)]


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _claim(entry: Entry, claim: str, *, control: bool = False) -> str:
    marked = (("our control", control), ("added", entry.added), ("post hoc", entry.post_hoc))
    marks = [word for word, said in marked if said]
    return f"{claim.removesuffix('.')} ({', '.join(marks)})." if marks else claim


def _cells(
    entry: Entry, record: Mapping[str, Any], one: Mapping[str, Any], kept: set[tuple[str, str]]
) -> tuple[str, ...]:
    budget = record["budget"]
    verdict = f"**{one['verdict']}**" if (record["id"], one["claim"]) in kept else one["verdict"]
    seeds = str(budget["seeds"]) if budget["runs"] else "–"
    return (
        _claim(entry, one["claim"], control=one["control"]),
        _data(budget),
        _model(budget),
        seeds,
        _effect(one),
        verdict,
    )


def _data(budget: Mapping[str, Any]) -> str:
    """Name the families of datasets, and which are the paper's own."""
    if not budget["datasets"]:
        return "random matrices"
    families: dict[str, list[str]] = {}
    for name in budget["datasets"]:
        families.setdefault(name.partition("/")[0].partition("_")[0], []).append(name)
    return ", ".join(
        NAMES.get(family, family) + " (own)" * verdicts.own_data(names) for family, names in families.items()
    )


def _model(budget: Mapping[str, Any]) -> str:
    """Name the architectures, the steps of a run and the share of the paper's images that it sees."""
    if not budget["runs"]:
        return "no training"
    share = "unknown" if budget["share"] is None else f"{100 * budget['share']:.2g}%"
    share += " on average" * (len(budget["steps"]) > 1)
    steps = " or ".join(f"{each:,}" for each in budget["steps"])
    return f"{', '.join(budget['architectures'])}, {steps} ({share})"


def _effect(one: Mapping[str, Any]) -> str:
    """Return the effect with its interval and p-value."""
    if one["effect"] is None:
        return "–"
    value, low, high = (f"{end:+.2g}" for end in one["effect"])
    return f"{value} {one['measure']} ({low} to {high}), {records.p_value(one['p'])}"


def _setting(record: Mapping[str, Any] | None) -> tuple[str, str]:
    """Return the cells of model and seeds; empty ones where nothing was trained."""
    if record is None or not record["budget"]["runs"]:
        return "", ""
    return _model(record["budget"]), str(record["budget"]["seeds"])


def _more(entry: Entry) -> str:
    """Link the picture and the numbers."""
    what = entry.id.partition("/")[2]
    folder = f"reproduction/{entry.id}"
    return f"[{what}]({folder}/{records.PICTURE}), [numbers]({folder}/{records.RECORD})"
