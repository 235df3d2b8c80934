"""README's table of main results, made from the records of reproductions."""

from __future__ import annotations

from pathlib import Path

from baselines.reproduction import catalogue, pages
from page_tables.common import DOCS, row

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


def table_of_main_results(folder: Path = DOCS / "reproduction") -> list[str]:
    """Return README's table of main results, and how many of its tests remain significant after Holm's correction.

    Args:
        folder: the folder of all entries.
    """
    entries = catalogue.entries()
    records_by_id = pages.read_records(folder)
    decided = pages.significant_claims(records_by_id.values())
    main_sentences = [
        (id_, sentence)
        for id_, control in MAIN
        if id_ in records_by_id
        for sentence in records_by_id[id_]["judged"]
        if sentence["control"] is control
    ]
    titles = ("paper", *pages.HEAD)
    lines = [row(*titles), "|" + "---|" * len(titles)]
    papers = {catalogue.paper_module(name).PAPER: f"{name[:-4].title()} {name[-4:]}" for name in catalogue.papers()}
    for id_, sentence in main_sentences:
        arxiv_id = id_.partition("/")[0]
        paper = f"[{papers[arxiv_id]}](https://arxiv.org/abs/{arxiv_id})"
        lines.append(row(paper, *pages.format_cells(entries[id_], records_by_id[id_], sentence, decided)))
    tests = [(id_, sentence["claim"]) in decided for id_, sentence in main_sentences if sentence["p"] is not None]
    n_claims = sum(pages.is_test(sentence) for record in records_by_id.values() for sentence in record["judged"])
    return [
        *lines,
        "",
        f"Verdicts use p-values of single claims. After Holm's correction over {n_claims} claims in "
        f"[reproduction](docs/reproduction.md), {sum(tests) or 'none'} of {len(tests)} (in bold) and "
        f"{len(decided) - sum(tests)} others stay significant; single-method permutation tests with five seeds cannot.",
    ]
