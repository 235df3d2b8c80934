"""The page of all figures and tables, ``docs/reproduction.md``."""

from __future__ import annotations

import collections
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from baselines.reproduction import catalogue, records
from baselines.reproduction.entries import Entry
from leaderboard.store import intervals, verdicts

NAMES = {"xysquares": "XYSquares", "dsprites": "dSprites", "plane": "points"}
"""Family of datasets -> its name in a table."""

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
    records_by_id = read_records(folder)
    decided = significant_claims(records_by_id.values())
    rows = [
        *("# Reproduction", ""),
        "Figures and tables of four papers, and questions that we added, with a verdict on each claim. Eight",
        "are in [README](../README.md#which-claims-of-the-papers-replicate); [findings](findings.md) discusses most.",
        "This page is made from the records in `docs/reproduction`; `offaxis study run 2205.08399/fig4` makes a",
        "record again.",
        *("", *count_verdicts(records_by_id, decided), ""),
        *("## How to read the tables", "", *LEGEND),
    ]
    for paper in catalogue.papers():
        entries = [entry for entry in catalogue.of_paper(paper) if not entry.same_as]
        rows += ["", f"## {catalogue.paper_module(paper).__doc__.splitlines()[0]}", ""]
        settings = collections.Counter(_format_setting(records_by_id.get(entry.id)) for entry in entries)
        usual = settings.most_common(1)[0][0]
        rows += [f"Unless stated: {usual[0].replace(' (', ' steps (')}, n = {usual[1]}.", ""] if all(usual) else []
        rows += _header_rows(("figure", *HEAD))
        for entry in entries:
            if record := records_by_id.get(entry.id):
                figure = _format_links(entry)
                for sentence in record["judged"]:
                    claim, data, *setting, effect, verdict = format_cells(entry, record, sentence, decided)
                    setting = ["" if all(usual) and cell in usual else cell for cell in setting]
                    rows.append(_row(figure, claim, data, *setting, effect, verdict))
                    figure = entry.id.partition("/")[2]
            else:
                rows.append(_row(entry.id.partition("/")[2], _add_flags(entry, entry.claim), "", "", "", "", "not run"))
        copies = [f"{copy.id.partition('/')[2]} ({copy.same_as})" for copy in catalogue.of_paper(paper) if copy.same_as]
        if copies:
            rows += ["", f"Repeats, tested in the other paper's row: {', '.join(copies)}."]
    return "\n".join(rows) + "\n"


LEGEND = (
    "- **Verdict.** On a paper's own data, marked *(own)*, a claim is *replicated* or *contradicted*; on other data it",
    "  is *replicated on a stand-in* or *not replicated on a stand-in*. *Not testable*: scores are below baseline, or",
    "  leave no room for the claimed difference. *Illustration*: nothing is tested. **Bold**: p ≤ 0.05 after Holm over",
    "  all claims, tested or untestable ([statistics](statistics.md)).",
    "- **Effect.** The difference that decides the claim, positive in the claim's direction. Of several parts, the",
    "  one with the largest p is shown or, if any oppose the claim, the strongest of those. *From the bound*: if a",
    '  claim has a bound (such as "less than 0.05"), how far the score is inside it or, if negative, outside. *n*',
    "  counts seeds.",
    "- **Our control**: the claim measured from a control that we added. *Added*: a question that is not in the paper,",
    "  *supported* or *opposed*. *Post hoc*: asked, or its measurement refined, after results were seen.",
    "- **Share.** Training images of a run as a share of the paper's; *unknown* where the paper does not state them.",
    "  Rows of one paper often share runs and are not independent; some runs were [trained again](training.md).",
    "- **Figures.** Bands and whiskers are one standard deviation.",
)


def entries_with_row() -> dict[str, Entry]:
    """Return the entries that have a row: all but those that show another one again."""
    return {id_: entry for id_, entry in catalogue.entries().items() if not entry.same_as}


def read_records(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the records of the entries that have a row and were computed, by id."""
    return {id_: record for id_ in entries_with_row() if (record := records.read_record(folder / id_))}


def significant_claims(finished: Iterable[Mapping[str, Any]]) -> set[tuple[str, str]]:
    """Return id and claim of each sentence that is decided after Holm over all of them."""
    tested = [(record["id"], sentence) for record in finished for sentence in record["judged"] if is_test(sentence)]
    adjusted = verdicts.holm([1.0 if sentence["p"] is None else sentence["p"] for _, sentence in tested])
    return {(id_, claim["claim"]) for (id_, claim), p in zip(tested, adjusted, strict=True) if p <= intervals.ERROR}


def is_test(sentence: Mapping[str, Any]) -> bool:
    """Say whether a sentence counts for Holm: one that is not testable does, since that was seen from its scores."""
    return sentence["p"] is not None or "not testable" in sentence["verdict"]


def count_verdicts(records_by_id: Mapping[str, Mapping[str, Any]], decided: set[tuple[str, str]]) -> list[str]:
    """Return a table, line by line: how many sentences have which verdict, of the papers and added.

    Args:
        records_by_id: as from `read_records`.
        decided: as from `significant_claims`.
    """
    entries = entries_with_row()
    n_added = sum(entries[id_].added for id_ in records_by_id)
    lines = [
        f"{len(records_by_id)} of {len(entries)} entries were computed ({n_added} of them added by us): "
        f"{records.format_cost(records_by_id.values())}.",
        "",
        *_header_rows(("", "claims", "significant after Holm", "verdicts")),
    ]
    for title, is_ours in (("of the papers", False), ("controls and added questions", True)):
        sentences = [
            (id_, sentence)
            for id_, record in records_by_id.items()
            for sentence in record["judged"]
            if (sentence["control"] or entries[id_].added) is is_ours
        ]
        verdict_counts = collections.Counter(sentence["verdict"] for _, sentence in sentences).most_common()
        n_significant = sum((id_, sentence["claim"]) in decided for id_, sentence in sentences)
        verdict_text = ", ".join(f"{count} {verdict}" for verdict, count in verdict_counts)
        lines.append(_row(title, str(len(sentences)), str(n_significant), verdict_text))
    return lines


def _header_rows(head: Iterable[str]) -> list[str]:
    head = tuple(head)
    return [_row(*head), "|" + "---|" * len(head)]


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _add_flags(entry: Entry, claim: str, *, control: bool = False) -> str:
    flags = (("our control", control), ("added", entry.added), ("post hoc", entry.post_hoc))
    labels = [label for label, applies in flags if applies]
    return f"{claim.removesuffix('.')} ({', '.join(labels)})." if labels else claim


def format_cells(
    entry: Entry, record: Mapping[str, Any], sentence: Mapping[str, Any], decided: set[tuple[str, str]]
) -> tuple[str, ...]:
    """Return the cells of a sentence's row, under the titles of `HEAD`."""
    budget = record["budget"]
    verdict = f"**{sentence['verdict']}**" if (record["id"], sentence["claim"]) in decided else sentence["verdict"]
    seeds = str(budget["seeds"]) if budget["runs"] else "–"
    return (
        _add_flags(entry, sentence["claim"], control=sentence["control"]),
        _format_data(budget),
        _format_model(budget),
        seeds,
        _format_effect(sentence),
        verdict,
    )


def _format_data(budget: Mapping[str, Any]) -> str:
    """Name the families of datasets, and which are the paper's own."""
    if not budget["datasets"]:
        return "random matrices"
    families: dict[str, list[str]] = {}
    for name in budget["datasets"]:
        families.setdefault(name.partition("/")[0].partition("_")[0], []).append(name)
    return ", ".join(
        NAMES.get(family, family) + " (own)" * verdicts.is_own_data(names) for family, names in families.items()
    )


def _format_model(budget: Mapping[str, Any]) -> str:
    """Name the architectures, the steps of a run and the share of the paper's images that it sees."""
    if not budget["runs"]:
        return "no training"
    share = "unknown" if budget["share"] is None else f"{100 * budget['share']:.2g}%"
    share += " on average" * (len(budget["steps"]) > 1)
    steps = " or ".join(f"{n_steps:,}" for n_steps in budget["steps"])
    return f"{', '.join(budget['architectures'])}, {steps} ({share})"


def _format_effect(sentence: Mapping[str, Any]) -> str:
    """Return the effect with its interval and p-value."""
    if sentence["effect"] is None:
        return "–"
    value, low, high = (f"{number:+.2g}" for number in sentence["effect"])
    return f"{value} {sentence['measure']} ({low} to {high}), {records.p_value(sentence['p'])}"


def _format_setting(record: Mapping[str, Any] | None) -> tuple[str, str]:
    """Return the cells of model and seeds; empty ones where nothing was trained."""
    if record is None or not record["budget"]["runs"]:
        return "", ""
    return _format_model(record["budget"]), str(record["budget"]["seeds"])


def _format_links(entry: Entry) -> str:
    """Link the picture and the numbers."""
    label = entry.id.partition("/")[2]
    folder = f"reproduction/{entry.id}"
    return f"[{label}]({folder}/{records.PICTURE}), [numbers]({folder}/{records.RECORD})"
