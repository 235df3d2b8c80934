"""Tables made from published results and from the records of reproductions."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from baselines.reproduction import pages, records
from baselines.sweeps import beyond_pixels_conv, desk
from leaderboard import record
from leaderboard.report import formats, hardness, ranking
from leaderboard.store import giveaways, results_tree
from page_tables import markdown
from page_tables.common import DOCS, LEAST_SEEDS, RESULTS, explained_shares, row, span

LEAST_DATASETS = 5
"""With fewer, the interval of a correlation leaves nearly everything open."""
MANY_DIGITS = 30
"""From here on an effect is written without decimals."""


@functools.cache
def desk_boards() -> tuple[ranking.Table, ...]:
    """Return the tables of the tier desk, XYSquares first."""
    return tuple(board for board in ranking.tables(results_tree.read_all(RESULTS)) if board.tier == "desk")


def ranked_tables() -> list[str]:
    """Write the desk's tables of the main tasks, the mean MIG of pretrained networks there, and of other tasks."""
    main = [board for board in desk_boards() if board.dataset in MAIN]
    others = [board for board in desk_boards() if board.dataset not in {b.dataset for b in main} | SHOWN_ELSEWHERE]
    main_tables = (markdown.table(without_pretrained(board, columns=2)) for board in main)
    titles = {row.result.method: row.result.title for board in (*main, *others) for row in board.rows}
    by_dataset = {board.dataset: {row.result.method: row for row in board.rows} for board in others}
    eligible = {name for rows in by_dataset.values() for name, entry in rows.items() if entry.category != "pretrained"}
    methods = [name for name in titles if name in eligible - TRIVIAL]
    lines = [row("mean MIG", *(titles[name] for name in methods)), row("---", *["---:"] * len(methods))]
    for dataset, rows in by_dataset.items():
        means = (f"{rows[name].cells['mig'].mean:.2f}" if name in rows else "–" for name in methods)
        lines.append(row(f"`{dataset}`", *means))
    tables = "\n".join(main_tables).rstrip().split("\n")
    title = f"## {ranking.CATEGORIES['pretrained']}, tier desk"
    return [
        *(formats.NOTE, "", *tables, "", title, "", *pretrained(main)),
        *("", "## Further tasks, tier desk", "", *FURTHER, "", *lines),
    ]


def without_pretrained(board: ranking.Table, columns: int) -> ranking.Table:
    """Return a table's first columns, without pretrained networks."""
    groups = {category: rows for category, rows in board.groups.items() if category != "pretrained"}
    return dataclasses.replace(board, columns=board.columns[:columns], groups=groups)


def pretrained(boards: Sequence[ranking.Table]) -> list[str]:
    """Write the mean MIG of pretrained networks, by task."""
    by_board = [{row.result.title: row.cells["mig"].mean for row in board.groups["pretrained"]} for board in boards]
    lines = [row("mean MIG", *(f"`{board.dataset}`" for board in boards)), row("---", *["---:"] * len(boards))]
    titles = sorted({title for means in by_board for title in means})
    return lines + [
        row(title, *(f"{means[title]:.3f}" if title in means else "–" for means in by_board)) for title in titles
    ]


def table_of_means(columns: Mapping[str, str], *, explained: str = "") -> list[str]:
    """Write the mean MIG of the desk's methods on several datasets, sorted by the first.

    Args:
        columns: dataset -> the title of its column; a method needs a row on the first and the last.
        explained: a dataset whose explained variance gets a column of its own; none if empty.

    Returns:
        A table; cells hold the mean, its 95% interval and, where it is not the column's, the number of seeds.
    """
    shares = explained_shares(explained)
    boards = {board.dataset: {row.result.method: row for row in board.rows} for board in desk_boards()}
    first, *_, last = (boards.get(name, {}) for name in columns)
    hidden = TRIVIAL | set(beyond_pixels_conv.VIEWS)  # those are in pixel_loss.md
    methods = {name for name in first.keys() & last.keys() - hidden if first[name].category != "pretrained"}
    rows = {name: [boards[name][method] for method in methods if method in boards.get(name, {})] for name in columns}
    seeds = {name: statistics.mode(row.seeds for row in entries if row.seeds > 1) for name, entries in rows.items()}
    titles = [f"{title}, n={seeds[name]}" for name, title in columns.items()]
    titles += ["explained variance, spacing 8"] if explained else []
    lines = [row("mean MIG", *titles), row("---", *["---:"] * len(titles))]
    for method in sorted(methods, key=lambda name: -first[name].cells["mig"].mean):
        cells = [cell_of(boards.get(name, {}).get(method), seeds[name]) for name in columns]
        if explained:
            cells.append(span(min(shares[method]), max(shares[method]), "z.0%") if method in shares else "–")
        lines.append(row(first[method].result.title, *cells))
    return lines


def cell_of(entry: ranking.Row | None, usual_seeds: int) -> str:
    """Write the MIG of a row of the board: mean, interval and, unless it is the usual one, the number of seeds."""
    if entry is None:
        return "–"
    mig = entry.cells["mig"]
    interval = f" ({mig.low:.2f}–{mig.high:.2f})" if mig.low is not None else ""
    return f"{mig.mean:.2f}{interval}" + ("" if entry.seeds in (1, usual_seeds) else f", n={entry.seeds}")


@functools.cache
def computed_entries() -> dict[str, dict[str, Any]]:
    """Return the records in docs/reproduction, which several tables are made from."""
    return pages.read_records(DOCS / "reproduction")


def table_of_tests(paper: str, rows: Sequence[str]) -> list[str]:
    """Write effect, p-value and verdict of some tests of reproduction.md.

    Args:
        paper: its number on arXiv.
        rows: such as ``"fig3"`` or, of another paper, ``"2304.10767/fig3"``: the paper's own claim; and
            ``"fig3, control"``: the one that we added.
    """
    entries = computed_entries()
    significant = pages.significant_claims(entries.values())
    lines = [row("test", "effect (95% CI)", "p", "verdict"), row("---", "---:", "---:", "---")]
    for name, _, control in (label.partition(", ") for label in rows):
        id_ = name if "/" in name else f"{paper}/{name}"
        (test,) = (test for test in entries[id_]["judged"] if test["control"] is bool(control))
        mean, low, high = (f"{x:+,.0f}" if abs(x) > MANY_DIGITS else f"{x:+.2g}" for x in test["effect"])
        measure = test["measure"].replace(" from the bound", "†")
        seeds = entries[id_]["budget"]["seeds"]
        lines.append(
            row(
                f"`{name}`" + f", {control}" * bool(control) + f", n = {seeds}" * (seeds != LEAST_SEEDS),
                f"{mean} {measure} ({low} to {high})",
                records.p_value(test["p"]).removeprefix("p ").removeprefix("= "),
                f"**{test['verdict']}**" if (id_, test["claim"]) in significant else test["verdict"],
            )
        )
    return lines


def table_of_giveaways() -> list[str]:
    """Write how far giveaway and MIG go together over the datasets of the tier desk, method by method."""
    analysis = hardness.hardness(desk_boards(), giveaways.read(RESULTS))
    lines = [row("method", "datasets", "correlation (95%)", "over shared datasets"), row("---", *["---:"] * 3)]
    for prediction in analysis.predictions if analysis else ():
        if prediction.correlation and prediction.datasets >= LEAST_DATASETS:
            shared = prediction.on_shared if prediction.on_shared != prediction.correlation else None
            pair = (prediction.correlation, shared)
            cells = (f"{corr.value:.2f} ({span(corr.low, corr.high)})" if corr else "" for corr in pair)
            lines.append(row(prediction.title, str(prediction.datasets), *cells))
    return lines


def table_of_shared_seeds() -> list[str]:
    """Write how far scores of one seed go together: the correlation over seeds of pairs of rows of the tier desk."""
    rows: dict[tuple[str, str], NDArray[np.float64]] = {}
    for result in results_tree.read_all(RESULTS):
        trained = [run for run in result.runs if run.supervision != "pretrained"]
        scores = {run.seed: run.scores["mig"] for run in trained if run.tier == "desk"}
        dataset = result.task.partition("@")[0]
        if result.method not in record.REFERENCES and set(SHARED) <= scores.keys() and desk.family(dataset) in FAMILIES:
            values = np.array([scores[seed] for seed in SHARED])
            rows[dataset, result.method] = (values - values.mean()) / values.std()
    lines = [row("MIG, seeds 0 to 4", *KINDS), row("---", *["---:"] * len(KINDS))]
    for family, title in FAMILIES.items():
        in_family = {key: values for key, values in rows.items() if desk.family(key[0]) == family}
        cells = []
        for matches in KINDS.values():
            pairs = [(a, b) for a, b in itertools.combinations(sorted(in_family), 2) if matches(a, b)]
            correlation = np.mean([in_family[a] @ in_family[b] for a, b in pairs]) / len(SHARED)
            cells.append(f"{correlation:.2f} ({len(pairs)} pairs)")
        lines.append(row(title, *cells))
    return lines


SHARED = range(5)
FAMILIES = {
    "xysquares": "spacings of XYSquares",
    "dsprites": "dSprites and its forms",
    "room3d": "room3d and its forms",
}
ALIKE = ("ada_gvae", "ada_ml_vae")
KINDS: dict[str, Callable[[tuple[str, str], tuple[str, str]], bool]] = {
    "one method, two forms": lambda a, b: a[1] == b[1],
    "two methods, one form": lambda a, b: a[0] == b[0] and (a[1], b[1]) != ALIKE,
    "Ada-GVAE and Ada-ML-VAE, one form": lambda a, b: a[0] == b[0] and (a[1], b[1]) == ALIKE,
}
"""Title of a column of the table of shared seeds -> which pairs of (dataset, method) it has."""


MAIN = {"xysquares/spacing_1", "xysquares/spacing_8", "dsprites", "room3d"}
SHOWN_ELSEWHERE = {"xysquares/spacing_2", "xysquares/spacing_4"}
"""Tasks of findings.md's table of spacings."""
FURTHER = (
    "5 or 10 seeds; a dash: not run. `perturbed` images have a faint added pattern, whose place depends on",
    "a principal component (`pca32`) or a VAE's latent (`conv32`); `noisy` images have noise. In both,",
    "contrast is reduced; in `squeezed` that is all. `eps10`: amplitude 0.1 ([datasets](datasets.md)).",
)
TRIVIAL = {"ground_truth", "random_encoder"}
"""References whose scores are near 1 and near 0 everywhere."""

MEANS = {
    "spacings": ({f"xysquares/spacing_{n}": f"spacing {n}" for n in (1, 2, 4, 8)}, "xysquares/spacing_8"),
    "dsprites": (
        {
            "dsprites": "original",
            "dsprites_squeezed/eps10": "contrast-matched",
            "dsprites_noisy/eps10": "noisy",
            "dsprites_perturbed/pca32_eps10": "perturbed (PCA)",
        },
        "",
    ),
}
"""Part of findings.md -> its columns, and the dataset whose explained variance is shown."""


TESTS = {
    "michlo": ("2202.13341", ("fig9", "fig11", "fig10", "fig3_importance")),
    "zietlow": (
        "2102.06822",
        (
            *("table1", "table2", "table1_pairs", "table2_pairs", "table1_longer"),
            *("table1_rooms", "table2_rooms", "fig1_linear", "fig1"),
        ),
    ),
    "layers": (
        "2205.08399",
        (
            *("fig3_architectures", "fig3_architectures, control", "fig4", "fig4_collapsed", "2304.10767/fig3"),
            *("fig7", "fig7_architectures", "fig14", "fig16"),
        ),
    ),
    "transfer": ("2304.10767", ("fig5", "table1", "fig8")),
}
"""Part of findings.md -> a paper and its rows."""


FINDINGS = {
    part: functools.partial(table_of_means, columns, explained=explained)
    for part, (columns, explained) in MEANS.items()
} | {part: functools.partial(table_of_tests, *rows) for part, rows in TESTS.items()}
"""Part of findings.md -> its table."""
