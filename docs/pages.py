"""Writes what pages list from the files that they list: `make pages`, or `python docs/pages.py`.

A part of a page between ``<!-- table: NAME -->`` and ``<!-- end -->`` is replaced by what a function here, or in
``page_tables``, makes of the datasets' and metrics' own files, and of committed records. The tests of the pages
compare, and name this command.
"""

from __future__ import annotations

import collections
import functools
import re
import statistics
import urllib.parse
from collections.abc import Iterable, Mapping, Sequence

from page_tables import board, claims, performance, pixel_loss
from page_tables.common import DOCS, LEAST_SEEDS, record_of, row, span

import benchmark_data
from baselines import demo
from baselines.record import about
from baselines.sweeps import _michlo2023, michlo2023_reduced
from benchmark_data import discovery
from benchmark_data.archives.archive import Archive
from benchmark_data.commands.descriptions import stores
from benchmark_data.dataset import Dataset
from benchmark_data.variants.pairs import Paired
from leaderboard import properties

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
    *first, last = (name for name, metric in metrics if metric.scale_dependent or metric.scale_matters)
    return [*lines, "", f"Multiplying all codes by a number changes scores of {', '.join(first)} and {last}."]


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
        f"{seeds} seeds with the demo's, {seconds} s of processor time each "
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


def table_of_bounds() -> list[str]:
    """Write how many verdicts change where one of our bounds is moved down or up."""
    lines = record_of("bounds.csv")
    rows = []
    for down, up in zip(lines[::2], lines[1::2], strict=True):
        changes = (f"{line['changed']} ({float(line['other']):g})" for line in (down, up))
        rows.append(row(down["bound"], f"{float(down['value']):g}", *changes))
    head = row("bound", "value", f"of {lines[0]['verdicts']} verdicts, a lower bound changes", "a higher bound")
    return [head, row("---", "---:", "---:", "---:"), *rows]


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


PAGES = {
    "audit.md": {"giveaways": board.table_of_giveaways},
    "findings.md": board.FINDINGS,
    "leaderboard.md": {"desk": board.ranked_tables},
    "datasets.md": {"datasets": table_of_datasets, "files": table_of_files},
    "metrics.md": {"metrics": table_of_metrics},
    "performance.md": performance.TABLES,
    "pixel_loss.md": pixel_loss.TABLES,
    "statistics.md": {"bounds": table_of_bounds, "shared_seeds": board.table_of_shared_seeds},
    "../README.md": {
        "demo": table_of_the_demo,
        "longer": text_on_longer_training,
        "verdicts": claims.table_of_main_results,
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
