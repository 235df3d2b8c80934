"""Writes what pages list from the files that they list: `make pages`, or `python docs/pages.py`.

A part of a page between ``<!-- table: NAME -->`` and ``<!-- end -->`` is replaced by what a function below makes of the
datasets' and metrics' own files, and of committed records. The tests of the pages compare, and name this command.
"""

from __future__ import annotations

import collections
import csv
import dataclasses
import functools
import itertools
import re
import statistics
import urllib.parse
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import benchmark_data
from baselines import demo
from baselines.record import about
from baselines.reproduction import pages, records
from baselines.sweeps import (
    _michlo2023,
    beyond_pixels,
    beyond_pixels_conv,
    beyond_pixels_slow_vae,
    desk,
    michlo2023_reduced,
)
from benchmark_data import discovery
from benchmark_data.archives.archive import Archive
from benchmark_data.commands.descriptions import stores
from benchmark_data.dataset import Dataset
from benchmark_data.variants.pairs import Paired
from leaderboard import properties, record
from leaderboard.report import formats, hardness, ranking
from leaderboard.store import giveaways, results_tree, verdicts

DOCS = Path(__file__).parent
RESULTS = DOCS.parent / "leaderboard" / "published"
PRECISION = RESULTS / "precision" / "bfloat16"
LEAST_SEEDS = 5
LEAST_DATASETS = 5
"""With fewer, the interval of a correlation leaves nearly everything open."""
MANY_DIGITS = 30
"""From here on an effect is written without decimals."""
MANY = 4
"""Configs from which on a table names the first and the last."""
CONTROLS = ("noisy", "squeezed")
"""The controls of a perturbed dataset."""
COMMAND = "make pages"
DATASETS = {
    name: [benchmark_data.load(config) for config in benchmark_data.configs(name)] for name in benchmark_data.names()
}
PAIRS = {name for name, datasets in DATASETS.items() if isinstance(datasets[0].source, Paired)}


def archives(datasets: Iterable[Dataset]) -> Iterable[Archive]:
    """Return the archives that datasets are made from, each once."""
    return {id(store): store for data in datasets for store in stores(data) if isinstance(store, Archive)}.values()


def row(*cells: str) -> str:
    """Write one row of a table."""
    return f"| {' | '.join(cells)} |"


def table_of_datasets() -> list[str]:
    """Write a row for each dataset; the controls of a perturbed one stand in its row."""
    lines = [row("dataset", "configs", "images", "shape", "factors", "source", "licence"), row(*["---"] * 7)]
    for name, datasets in DATASETS.items():
        base, _, form = name.rpartition("_")
        if form in CONTROLS and f"{base}_perturbed" in DATASETS:
            continue
        controls = [f"`{base}_{control}`" for control in CONTROLS] if form == "perturbed" else []
        note = " (others: `eps05` … `eps20`)" if controls else ""
        configs = [f"`{dataset.config}`" for dataset in datasets if dataset.config and len(datasets) > 1]
        lines.append(
            row(
                ", ".join([f"`{name}`", *controls]),
                ", ".join(configs) if len(configs) < MANY else f"{configs[0]} … {configs[-1]}{note}",
                " or ".join(dict.fromkeys(f"{len(dataset):,}" for dataset in datasets if len(dataset))),
                " or ".join(dict.fromkeys("x".join(map(str, dataset.image_shape)) for dataset in datasets)),
                " or ".join(dict.fromkeys(str(len(dataset.space.factors)) for dataset in datasets)),
                "files" if archives(datasets) else "rendered",
                ("those of both" if name in PAIRS else datasets[0].license)
                + ("" if datasets[0].redistributable else "; not to be published"),
            )
        )
    return lines


def table_of_files() -> list[str]:
    """Write a row for each dataset that is downloaded: how many files, from where, and how they are recognised."""
    lines = [row("dataset", "files", "hosts", "recognised by"), row(*["---"] * 4)]
    for name in sorted(set(DATASETS) - PAIRS):
        own = [archive for archive in archives(DATASETS[name]) if archive.id.partition("/")[0] == name]
        files = list(dict.fromkeys(file for archive in own for part in archive.distributions for file in part.files))
        if files:
            hosts = dict.fromkeys(urllib.parse.urlsplit(url).netloc for file in files for url in file.urls)
            checks = dict.fromkeys("SHA-256" if file.sha256 else "MD5" if file.md5 else "contents" for file in files)
            lines.append(row(f"`{name}`", str(len(files)), ", ".join(hosts), " or ".join(checks)))
    return lines


def table_of_metrics() -> list[str]:
    """Write a row for each metric, and for UDR, which compares runs without labels."""
    lines = [row("metric", "question", "range, ideal", "random codes", "source"), row(*["---"] * 5)]
    metrics = [(f"`{name}`", properties.find(name)) for name in discovery.names("leaderboard.metrics")]
    metrics.append(("`udr` (`leaderboard.comparisons`)", properties.find("udr", "leaderboard.comparisons")))
    for name, metric in metrics:
        ideal = metric.ideal if isinstance(metric.ideal, str) else f"{metric.ideal:g}"
        lines.append(row(name, metric.asks, f"{metric.interval}, {ideal}", metric.chance, metric.source))
    return lines


def table_over_seeds(tutorial: str, columns: Mapping[str, str], row_names: Sequence[str], title: str) -> list[str]:
    """Write how far the quantities of a tutorial range over seeds, as benchmarks/tutorial_seeds.py has measured them.

    Args:
        tutorial: the page's name.
        columns: quantity -> the title of its column.
        row_names: what the quantities are of, in the order of the rows.
        title: the title of the first column.

    Returns:
        A table, or a sentence where fewer than five seeds were measured.
    """
    rows = [line for line in record_of("tutorial_seeds.csv") if line["tutorial"] == tutorial]
    seeds = {line["seed"] for line in rows}
    if len(seeds) < LEAST_SEEDS:
        command = f"`python benchmarks/tutorial_seeds.py --tutorials {tutorial}`"
        return [f"*Not measured over {LEAST_SEEDS} seeds yet.* {command} does so, and `{COMMAND}` puts them here."]
    values: dict[tuple[str, str], list[float]] = {}
    for line in rows:
        values.setdefault((line["quantity"], line["of"]), []).append(float(line["value"]))
    lines = [row(title, *columns.values()), row(*["---"] * (1 + len(columns)))]
    for name in row_names:
        groups = (values[quantity, name] for quantity in columns)
        lines.append(row(f"`{name}`", *(span(min(group), max(group)) for group in groups)))
    return [*lines, "", f"Lowest to highest of {len(seeds)} seeds ([record](../../benchmarks/tutorial_seeds.csv))."]


@functools.cache
def record_of(name: str) -> list[dict[str, str]]:
    """Return the lines of a record in benchmarks/."""
    with (DOCS.parent / "benchmarks" / name).open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def demo_range(method: str, dataset: str, form: str = ".3f", column: str = "mig") -> str:
    """Write how far a method ranges over the seeds of the demo's record."""
    lines = (line for line in record_of("demo_seeds.csv") if (line["method"], line["dataset"]) == (method, dataset))
    return demo.between([float(line[column]) for line in lines], form)


def table_of_the_demo() -> list[str]:
    """Write the scores of the demo's models and of the references over seeds, and where they were measured."""
    model = demo.SETTINGS["objective"]
    lines = [line for line in record_of("demo_seeds.csv") if line["method"] == model]
    machines = sorted({line["machine"] for line in lines})
    (seeds,) = {len({line["seed"] for line in lines if line["dataset"] == name}) for name in demo.DATASETS}
    seconds = demo.between([float(line["cpu_seconds"]) for line in lines], ".0f")
    titles = {
        "ground_truth": "MIG of the factors themselves",
        "pca": "MIG of PCA",
        "random_encoder": "MIG of an untrained encoder",
    }
    explained = "pixel variance explained by the β-TCVAE"
    return [
        row("lowest to highest seed", "squares overlap (`spacing_1`)", "equal change at every move (`spacing_8`)"),
        row(*["---"] * 3),
        row("**MIG of the β-TCVAE**", *(f"**{demo_range(model, dataset)}**" for dataset in demo.DATASETS)),
        *(row(titles[name], *(demo_range(name, dataset) for dataset in demo.DATASETS)) for name in titles),
        row(explained, *(demo_range(model, dataset, "z.0%", "explained") for dataset in demo.DATASETS)),
        "",
        f"{seeds} seeds per spacing, {seconds} s of processor time each "
        f"({' and '.join(machines)}; [record](benchmarks/demo_seeds.csv)).",
    ]


def text_on_longer_training() -> list[str]:
    """Write what the paper's own convolution comes to: the sweep's runs so far, and the pilot's of its strengths."""
    groups = collections.defaultdict(list)
    for line in (*record_of("michlo2023_pilot.csv"), *record_of("michlo2023_reduced_fig9.csv")):
        spacing = line["dataset"][-1]
        beta = michlo2023_reduced.BETAS[line["objective"]][int(spacing)]
        converted = f"beta={_michlo2023.beta(line['dataset'], beta):g}"
        if line.get("strengths", converted) == converted:
            groups[spacing, line["objective"]].append(line)
    at_8 = [line for (spacing, _), lines in groups.items() if spacing == "8" for line in lines]
    collapsed = [line for line in at_8 if float(line["explained"]) < 0.05]
    drawing = [line for line in at_8 if 0.3 < float(line["explained"]) < 0.7]
    if len(collapsed) + len(drawing) < len(at_8) or any(float(line["mig"]) >= 0.1 for line in at_8):
        raise ValueError("the first sentence says that models at spacing 8 draw one or two squares, or none, and fail")

    def cell(lines: list[dict[str, str]]) -> str:
        mig, explained = (
            demo.between([float(line[column]) for line in lines], form).replace(" to ", "–")
            for column, form in (("mig", ".3f"), ("explained", "z.0%"))
        )
        return f"{mig} ({explained}; {len(lines)})"

    return [
        "**Undertrained?** With 5% of Michlo et al.'s images, their loss and nearly their network, models at spacing 8 "
        f"draw one or two of the three squares ({len(collapsed)} of {len(at_8)}: none) and disentangle none. MIG "
        "(pixel variance explained; seeds; [pilot](benchmarks/michlo2023_pilot.csv), "
        "[sweep](benchmarks/michlo2023_reduced_fig9.csv)):",
        "",
        row("spacing", *(about(name)["title"] for name in michlo2023_reduced.BETAS)),
        row(*["---"] * 3),
        *(
            row(spacing, *(cell(groups[spacing, name]) for name in michlo2023_reduced.BETAS))
            for spacing in sorted({spacing for spacing, _ in groups})
        ),
        "",
        "β is the paper's, except 0.1 for β-VAE at spacings 1 and 2 (chosen by one seed's MIG) and 0.0001 for Ada-GVAE "
        "at 8 (with the paper's, one of two collapsed).",
    ]


def printed_by_the_demo() -> list[str]:
    """Write what the tutorial's last step prints of the demo's models: the ranges of the record."""
    ranges = (demo_range(demo.SETTINGS["objective"], dataset) for dataset in demo.DATASETS)
    return ["```", *(f"{name}: MIG {migs}" for name, migs in zip(("near", "far"), ranges, strict=True)), "```"]


@functools.cache
def desk_boards() -> tuple[ranking.Table, ...]:
    """Return the tables of the tier desk, XYSquares first."""
    return tuple(board for board in ranking.tables(results_tree.read_all(RESULTS)) if board.tier == "desk")


def ranked_tables() -> list[str]:
    """Write the desk's tables of the main tasks, the mean MIG of pretrained networks there, and of other tasks."""
    main = [board for board in desk_boards() if board.dataset in MAIN]
    others = [board for board in desk_boards() if board.dataset not in {b.dataset for b in main} | SHOWN_ELSEWHERE]
    main_tables = (formats.markdown(without_pretrained(board, columns=2)) for board in main)
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
    shares: dict[str, list[float]] = {}
    for line in record_of("explained.csv"):
        if line["dataset"] == explained:
            shares.setdefault(line["objective"], []).append(float(line["explained"]))
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


def table_of_bounds() -> list[str]:
    """Write how many verdicts change where one of our bounds is moved down or up."""
    lines = record_of("bounds.csv")
    rows = []
    for down, up in zip(lines[::2], lines[1::2], strict=True):
        changes = (f"{line['changed']} ({float(line['other']):g})" for line in (down, up))
        rows.append(row(down["bound"], f"{float(down['value']):g}", *changes))
    head = row("bound", "value", f"of {lines[0]['verdicts']} verdicts, a lower bound changes", "a higher bound")
    return [head, row("---", "---:", "---:", "---:"), *rows]


def table_of_precision() -> list[str]:
    """Compare models that were trained in bfloat16 with the board's, of the same seeds in float32."""
    (half,) = results_tree.read_all(PRECISION)
    (full,) = (r for r in results_tree.read_all(RESULTS) if (r.dataset, r.method) == (half.dataset, half.method))
    scores = {
        title: {
            precision: {run.seed: run.scores[key] for run in result.runs if key in run.scores}
            for precision, result in (("bfloat16", half), ("float32", full))
        }
        for key, title in PRECISION_SCORES.items()
    }
    head = ("mean over seeds", "seeds", "bfloat16", "float32", "difference (95%)", "p")
    lines = [row(*head), row("---", *["---:"] * 5)]
    for title, by_precision in scores.items():
        seeds = sorted(by_precision["bfloat16"].keys() & by_precision["float32"].keys())
        pair = [[by_precision[precision][seed] for seed in seeds] for precision in ("bfloat16", "float32")]
        compared = verdicts.compare([pair[0]], [pair[1]], paired=True)
        means = (f"{statistics.mean(values):.3f}" for values in pair)
        interval = f"{compared.difference:+.3f} ({compared.low:+.3f} to {compared.high:+.3f})"
        lines.append(row(title, str(len(seeds)), *means, interval, f"{compared.p:.2g}"))
    return lines


def table_of_backends() -> list[str]:
    """Write images per second of the backends, plain PyTorch and disent: medians over the rounds of one run."""
    rates: dict[tuple[str, str], dict[str, list[float]]] = {}
    for line in record_of("training.csv"):
        by_name = rates.setdefault((line["layers"], line["threads"]), {})
        by_name.setdefault(line["contender"], []).append(float(line["images_per_second"]))
    lines = [row("layers", "threads", *BACKENDS.values()), row("---", *["---:"] * (1 + len(BACKENDS)))]
    for (layers, threads), by_name in rates.items():
        cells = (rate_and_ratio(by_name[name], by_name["pytorch"]) if name in by_name else "–" for name in BACKENDS)
        lines.append(row(f"`{layers}`", threads, *cells))
    return lines


def span(low: float, high: float, form: str = ".2f") -> str:
    """Write a range with a dash, or with a word if a sign stands before a number."""
    return f"{low:{form}}{'–' if low >= 0 else ' to '}{high:{form}}"


def rate_and_ratio(values: Sequence[float], plain: Sequence[float]) -> str:
    """Write the median over the rounds, and the median ratio to other values of the same rounds."""
    ratio = statistics.median(a / b for a, b in zip(values, plain, strict=True))
    return f"{statistics.median(values):,.0f} ({ratio:.2f})"


BACKENDS = {
    "offaxis": "Offaxis, TensorFlow",
    "torch": "Offaxis, PyTorch",
    "jax": "Offaxis, jax",
    "pytorch": "plain PyTorch",
    "disent": "disent, its own conv64",
}
"""Contender of benchmarks/training.py -> the title of its column."""


PRECISION_SCORES = {
    "mig": "MIG",
    "dci.disentanglement": "DCI disentanglement",
    "dci.informativeness_test": "DCI informativeness",
}


def pixel_loss_record(architecture: str = "fc") -> dict[tuple[str, str, str], list[float]]:
    """Read both scores of runs with and without a pixel loss: (task, method, score) -> one value for each seed.

    Args:
        architecture: of runs on XYSquares; other datasets have one only.
    """
    scores: dict[tuple[str, str, str], list[float]] = {}
    for line in record_of("pixel_loss.csv"):
        if line["task"].startswith("xysquares/") and line["architecture"] not in (architecture, ""):
            continue
        for score in ("mig", "r_squared"):
            scores.setdefault((line["task"], line["method"], score), []).append(float(line[score]))
    return scores


def table_of_pixel_loss(
    tasks: Mapping[str, str], architecture: str = "fc", methods: Container[str] | None = None
) -> list[str]:
    """Write the range over seeds of both scores of methods, or of all, on some tasks: task -> what it is called."""
    scores = pixel_loss_record(architecture)
    lines = [row("", *(f"{score}, {title}" for score in ("MIG", "R²") for title in tasks.values()))]
    lines.append(row("---", *["---:"] * (2 * len(tasks))))
    for method, title in PIXEL_LOSS_METHODS.items():
        if methods is not None and method not in methods:
            continue
        groups = [scores.get((task, method, score), []) for score in ("mig", "r_squared") for task in tasks]
        cells = [span(min(group), max(group)) if len(group) >= LEAST_SEEDS else "–" for group in groups]
        if set(cells) != {"–"}:
            lines.append(row(title, *cells))
    return lines


PIXEL_LOSS_METHODS = {
    "infonce_pairs": "InfoNCE on pairs",
    "simclr": "SimCLR, views",
    "vicreg": "VICReg, views",
    "lejepa": "LeJEPA, views",
    "slow_vae": "SlowVAE: pairs, pixel loss",
    "ada_gvae": "Ada-GVAE: pairs, pixel loss",
    "ada_ml_vae": "Ada-ML-VAE: pairs, pixel loss",
    "beta_tc_vae": "β-TCVAE: pixel loss",
    "beta_vae": "β-VAE: pixel loss",
    "factor_vae": "FactorVAE: pixel loss",
    "dip_vae_i": "DIP-VAE-I: pixel loss",
    "dip_vae_ii": "DIP-VAE-II: pixel loss",
    "annealed_vae": "AnnealedVAE: pixel loss",
    "ae": "autoencoder: pixel loss",
    "regression": "regression of the factors",
    "ica": "ICA of the pixels",
    "random_encoder": "the encoder before training",
}


SHOWN_ON_DSPRITES = {
    *beyond_pixels.OBJECTIVES,
    *("slow_vae", "ada_gvae", "beta_tc_vae", "regression", "ica", "random_encoder"),
}

DSPRITES_FORMS = {
    "dsprites": "dSprites",
    "dsprites_squeezed/eps10": "contrast-matched",
    "dsprites_perturbed/pca32_eps10": "perturbed",
}


def table_of_pixel_loss_claims() -> list[str]:
    """Judge the claims of `baselines.sweeps.beyond_pixels`: a fall from spacing 1 to 8."""
    scores, (far, near) = pixel_loss_record(), beyond_pixels.TASKS[:2]
    claims = [("infonce_pairs", "mig"), *((method, "r_squared") for method in beyond_pixels.OBJECTIVES)]
    compared = {
        f"{'MIG' if score == 'mig' else 'R²'} of {PIXEL_LOSS_METHODS[method]}": verdicts.compare(
            [scores[near, method, score]],
            [scores[far, method, score]],
            floors=[statistics.mean(scores[near, "random_encoder", score]) + beyond_pixels.GATE],
        )
        for method, score in claims
    }
    return _claim_rows(compared, "lower at spacing 8 than at 1?", "decrease (95%)", "no, higher")


def table_of_convolutions() -> list[str]:
    """Judge the claims of `baselines.sweeps.beyond_pixels_conv`: views above two controls at spacing 8."""
    scores, task = pixel_loss_record("conv_small"), beyond_pixels_conv.TASK
    compared = {
        f"{PIXEL_LOSS_METHODS[method]} vs {PIXEL_LOSS_METHODS[other]}": verdicts.compare(
            [scores[task, method, "r_squared"]], [scores[task, other, "r_squared"]]
        )
        for other in ("random_encoder", "beta_tc_vae")
        for method in beyond_pixels_conv.VIEWS
    }
    return _claim_rows(compared, "Is the first R² higher?", "difference (95%)", "no, lower")


def table_of_contrast() -> list[str]:
    """Judge what InfoNCE on pairs loses by reduced contrast, and by a pattern on top of it."""
    scores, (original, matched, perturbed) = pixel_loss_record(), DSPRITES_FORMS
    compared = {
        f"{title}: {DSPRITES_FORMS[after]} vs {DSPRITES_FORMS[before]}": verdicts.compare(
            [scores[before, "infonce_pairs", score]], [scores[after, "infonce_pairs", score]]
        )
        for score, title in (("mig", "MIG"), ("r_squared", "R²"))
        for before, after in ((original, matched), (matched, perturbed))
    }
    return _claim_rows(compared, "InfoNCE on pairs: is the first lower?", "decrease (95%)", "no, higher")


def slow_vae_record() -> dict[tuple[str, float, float, int], dict[str, list[float]]]:
    """Read `baselines.sweeps.beyond_pixels_slow_vae`: (dataset, β, γ, steps) -> score -> one value for each seed."""
    groups: dict[tuple[str, float, float, int], dict[str, list[float]]] = {}
    for line in record_of("slow_vae.csv"):
        is_pilot = int(line["seed"]) >= 100
        strengths = float(line["beta"]), float(line["gamma"])
        if not is_pilot or strengths == AUTOENCODER:
            scores = groups.setdefault((line["dataset"], *strengths, int(line["steps"])), {})
            for score in ("mig", "r_squared", "explained"):
                scores.setdefault(score, []).append(float(line[score]))
    return groups


AUTOENCODER = beyond_pixels_slow_vae.COARSE[2]
"""Strengths of the pilot with which SlowVAE's pair term hardly counts."""


def table_of_slow_vae() -> list[str]:
    """Write both scores, and what is reconstructed, of SlowVAE with its paper's strengths and with others."""
    scores, runs, far = pixel_loss_record(), slow_vae_record(), beyond_pixels_slow_vae.TASK
    near = far.replace("_8", "_1")
    explained = [
        float(line["explained"])
        for line in record_of("explained.csv")
        if (line["dataset"], line["objective"]) == (far, "slow_vae")
    ]
    infonce, paper = ({score: scores[far, name, score] for score in ("mig", "r_squared")} for name in PAIRED)
    beta, gamma = beyond_pixels_slow_vae.SELECTED
    lines = [row("at spacing 8", "seeds", "MIG", "R²", "variance explained"), row("---", *["---:"] * 4)]
    for title, group in (
        ("InfoNCE on pairs", infonce),
        ("SlowVAE, β = 1, γ = 10 (paper)", paper | {"explained": explained}),
        (f"SlowVAE, β = {beta:g}, γ = {gamma:g}", runs[far, beta, gamma, 3_000]),
        ("the same, 12,000 steps", runs[far, beta, gamma, 12_000]),
        ("the same, 3,000 steps at spacing 1", runs[near, beta, gamma, 3_000]),
        ("SlowVAE, β = 1, γ = 0.04", runs[far, *AUTOENCODER, 3_000]),
    ):
        cells = [_range(group.get(score, []), form) for score, form in SHOWN_OF_SLOW_VAE.items()]
        lines.append(row(title, str(len(group["mig"])), *cells))
    return lines


PAIRED = ("infonce_pairs", "slow_vae")

SHOWN_OF_SLOW_VAE = {"mig": ".2f", "r_squared": ".2f", "explained": ".0%"}


def _range(values: Sequence[float], form: str) -> str:
    """Write the range of values, a single one alone, or a dash for none."""
    ends = list(dict.fromkeys(f"{value:{form}}" for value in (min(values), max(values)))) if values else ["–"]
    return (" to " if ends[0].startswith("-") else "–").join(ends).replace("-0%", "0%")


def table_of_slow_vae_claims() -> list[str]:
    """Judge the claims of `baselines.sweeps.beyond_pixels_slow_vae`."""
    scores, far = pixel_loss_record(), beyond_pixels_slow_vae.TASK
    tuned = slow_vae_record()[far, *beyond_pixels_slow_vae.SELECTED, 3_000]
    compared = {}
    for score, title in (("mig", "MIG"), ("r_squared", "R²")):
        infonce, paper = ([scores[far, name, score]] for name in PAIRED)
        compared[f"{title}: tuned vs paper's strengths"] = verdicts.compare([tuned[score]], paper)
        compared[f"{title}: InfoNCE vs tuned SlowVAE"] = verdicts.compare(infonce, [tuned[score]])
    return _claim_rows(compared, "Is the first higher?", "difference (95%)", "no, lower")


def _claim_rows(compared: Mapping[str, verdicts.Comparison], question: str, difference: str, opposed: str) -> list[str]:
    """Write what became of claims that are corrected together: what is compared -> the comparison."""
    lines = [row(question, difference, "p after Holm", "answer"), row("---", "---:", "---:", "---")]
    for (name, effect), (answer, p) in zip(compared.items(), verdicts.judge(list(compared.values())), strict=True):
        answer = {"supported": "yes", "opposed": opposed}.get(answer, answer)
        measured = f"{effect.difference:.3f} ({effect.low:.3f} to {effect.high:.3f})"
        lines.append(row(name, measured, "–" if p is None else f"{p:.2g}", answer))
    return lines


def table_of_frozen_encoders() -> list[str]:
    """Write linear R² of a pretrained encoder and of the same with random weights, and the highest MIG of both."""
    scores: dict[tuple[str, str, str], list[float]] = {}
    highest: dict[str, float] = {}
    for line in record_of("frozen_encoders.csv"):
        task, name = line["task"], line["encoder"]
        scores.setdefault((task, name, line["codes"]), []).append(float(line["r_squared"]))
        highest[task] = max(highest.get(task, 0.0), float(line["mig"]))
    encoders = sorted({name for _, name, _ in scores})
    codes = {"raw": "raw (1,280)", "pca": "PCA (5 or 6)", "l1": "L1 (64)", "topk": "TopK (64)"}
    lines = [row("task", *codes.values(), "highest MIG"), row("---", *["---:"] * (1 + len(codes)))]
    bases = [
        task for task in highest if not set(task.partition("/")[0].split("_")) & {"noisy", "perturbed", "squeezed"}
    ]
    for task in bases:
        cells = (" / ".join(f"{statistics.mean(scores[task, name, kind]):.2f}" for name in encoders) for kind in codes)
        lines.append(row(f"`{task}`", *cells, f"{highest[task]:.2f}"))
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


LAYERS = ("encoder_2", "encoder_3", "mean", "variance", "sampled", "decoder_1", "decoder_2", "decoder_3", "output")
STEPS = {f"step {step}": f"step {step}" for step in (0, 62, 250, 625, 1250)}
FORMS = ("plain", "noisy", "perturbed")

TABLES_OVER_SEEDS = {
    "which_layers_learn_first": {
        "layers": (STEPS | {"beta 1 and 8": "final, β = 1 with β = 8"}, LAYERS, "CKA with the final state"),
    },
    "where_does_a_perturbation_hide": {
        "information": (
            {form: f"`{form}`" for form in FORMS},
            ("shape", "scale", "orientation", "posX", "posY", "s"),
            "information of the best latent (nats)",
        ),
        "mig": ({"mig": "MIG"}, FORMS, "form"),
    },
    "will_my_encoder_transfer": {
        "similarity": ({"similarity": "CKA"}, LAYERS, "layer"),
        "accuracy": ({"accuracy": "accuracy"}, ("dsprites", "solids", "untrained", "most frequent class"), "encoder"),
    },
}
"""Tutorial -> part of the page -> columns, rows and first title of its table."""


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


PAGES = {
    "audit.md": {"giveaways": table_of_giveaways},
    "findings.md": {
        part: functools.partial(table_of_means, columns, explained=explained)
        for part, (columns, explained) in MEANS.items()
    }
    | {part: functools.partial(table_of_tests, *rows) for part, rows in TESTS.items()},
    "leaderboard.md": {"desk": ranked_tables},
    "datasets.md": {"datasets": table_of_datasets, "files": table_of_files},
    "metrics.md": {"metrics": table_of_metrics},
    "performance.md": {"backends": table_of_backends, "precision": table_of_precision},
    "pixel_loss.md": {
        "spacing": functools.partial(table_of_pixel_loss, {f"xysquares/spacing_{n}": str(n) for n in (1, 2, 4, 8)}),
        "dsprites": functools.partial(table_of_pixel_loss, DSPRITES_FORMS, methods=SHOWN_ON_DSPRITES),
        "slow_vae": table_of_slow_vae,
        "slow_vae_claims": table_of_slow_vae_claims,
        "contrast": table_of_contrast,
        "claims": table_of_pixel_loss_claims,
        "network": functools.partial(table_of_pixel_loss, {"xysquares/spacing_8": "convolutions"}, "conv_small"),
        "convolutions": table_of_convolutions,
    },
    "statistics.md": {"bounds": table_of_bounds, "shared_seeds": table_of_shared_seeds},
    "../README.md": {
        "demo": table_of_the_demo,
        "longer": text_on_longer_training,
        "verdicts": functools.partial(pages.main_results, DOCS / "reproduction"),
    },
    "your_encoder.md": {"frozen": table_of_frozen_encoders},
    "tutorials/see_a_vae_fail.md": {"demo": printed_by_the_demo},
    **{
        f"tutorials/{tutorial}.md": {
            part: functools.partial(table_over_seeds, tutorial, columns, row_names, title)
            for part, (columns, row_names, title) in parts.items()
        }
        for tutorial, parts in TABLES_OVER_SEEDS.items()
    },
}
"""Page -> the parts that are made, by name."""


def page_text(page: str) -> str:
    """Return the text of a page as it should be.

    Args:
        page: its file name in ``docs``.

    Raises:
        ValueError: the page lacks one of its parts, or has one more.
    """
    text, parts = (DOCS / page).read_text("utf-8"), PAGES[page]
    marks = re.findall(r"<!-- table: (\w+) -->\n.*?<!-- end -->", text, re.DOTALL)
    if sorted(marks) != sorted(parts):
        raise ValueError(f"docs/{page}: expected the parts {sorted(parts)}, received {sorted(marks)}")

    def filled(mark: re.Match[str]) -> str:
        return "\n".join([f"<!-- table: {mark[1]} -->", *parts[mark[1]](), "<!-- end -->"])

    return re.sub(r"<!-- table: (\w+) -->\n.*?<!-- end -->", filled, text, flags=re.DOTALL)


if __name__ == "__main__":
    for page in PAGES:
        text = page_text(page)
        if text != (DOCS / page).read_text("utf-8"):
            (DOCS / page).write_text(text, "utf-8")
            print(f"docs/{page}: written")
