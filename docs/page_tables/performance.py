"""Tables of docs/performance.md, from the records of `benchmarks/`: medians over the rounds of one run."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from leaderboard.store import results_tree, verdicts
from page_tables.common import RESULTS, record_of, row

PRECISION = RESULTS / "precision" / "bfloat16"

Rounds = Mapping[str, Sequence[float]]
"""Contender -> a value for each round."""

READERS = {
    "numpy: images and labels": ("numpy: `images` and `labels`", None),
    "TFDS: tfds.load, array_record": ("`tfds.load` of built files", None),
    "TFDS: as_dataset, shuffled": ("`benchmark_data.tfds.as_dataset`, shuffled", "TFDS: tfds.load, array_record"),
    "HF: load_dataset, streaming": ("`load_dataset` of published files, streaming", None),
    "HF: as_dataset, shuffled": ("`benchmark_data.hf.as_dataset`, shuffled", "HF: load_dataset, streaming"),
    "PyTorch: plain DataLoader": ("PyTorch: `DataLoader`", None),
    "PyTorch: loader": ("`benchmark_data.torch.loader`", "PyTorch: plain DataLoader"),
    "PyTorch: loader, 2 workers": ("`benchmark_data.torch.loader`, 2 workers", "PyTorch: plain DataLoader"),
}
"""Contender of benchmarks/reading.py -> its title, and the contender that it replaces."""

BUILDERS = {
    "TFDS: plain builder, tfrecord": ("TFDS: plain `GeneratorBasedBuilder`", None),
    "TFDS: ours, one process": ("TFDS: `offaxis data build`, one process", "TFDS: plain builder, tfrecord"),
    "HF: plain builder, Pillow": ("HF: plain `GeneratorBasedBuilder` over Pillow images", None),
    "HF: load_dataset of the published folder": (
        "HF: `load_dataset` of a finished folder",
        "HF: plain builder, Pillow",
    ),
    "HF: publish, with digest and card": (
        "HF: `offaxis data publish`, with digest and card",
        "HF: plain builder, Pillow",
    ),
}
"""Contender of benchmarks/building.py -> its title, and the contender that it replaces."""

BACKENDS = {
    "offaxis": "Offaxis, TensorFlow",
    "torch": "Offaxis, PyTorch",
    "jax": "Offaxis, jax",
    "pytorch": "plain PyTorch",
    "disent": "disent, its own conv64",
}
"""Contender of benchmarks/training.py -> the title of its column."""

PEERS = {
    "offaxis loop": "Offaxis, TensorFlow, by `baselines.train`",
    "keras fit": "the same networks in a Keras `fit`",
    "pytorch": "the same layers in plain PyTorch",
    "disent": "disent's step, its own conv64 model",
}
"""Contender of benchmarks/training.py -> the title of its row."""

RENDERED = (
    "xysquares/spacing_8",
    "dsprites",
    "xyobject/plain",
    "solids",
    "room3d",
    "dsprites_perturbed/pca32_eps10",
    "room3d_perturbed/pca32_eps10",
)

PRECISION_SCORES = {
    "mig": "MIG",
    "dci.disentanglement": "DCI disentanglement",
    "dci.informativeness_test": "DCI informativeness",
}


def rounds_of(record: str, column: str, *keys: str) -> dict[tuple[str, ...], dict[str, list[float]]]:
    """Return a column of a record: values of the key columns -> contender -> a value for each round."""
    rounds: dict[tuple[str, ...], dict[str, list[float]]] = {}
    for line in record_of(record):
        of_contender = rounds.setdefault(tuple(line[key] for key in keys), {})
        of_contender.setdefault(line["contender"], []).append(float(line[column]))
    return rounds


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Return the median over the rounds of a ratio."""
    return statistics.median(a / b for a, b in zip(ours, theirs, strict=True))


def table_of_rendering() -> list[str]:
    """Write the images per second of rendering."""
    lines = [row("", "images/s"), row("---", "---:")]
    for (name,), rates in rounds_of("rendering.csv", "images_per_second", "dataset").items():
        if name in RENDERED:
            lines.append(row(f"`{name}`", f"{statistics.median(rates['alone']):,.0f}"))
    race = rounds_of("rendering.csv", "images_per_processor_second", "dataset")[RENDERED[0],]
    times = ratio(race["offaxis"], race["disent, stacked"])
    return [*lines, "", f"Squares: {times:.1f} times disent 0.8.0's rate (the same pixels, stacked with numpy)."]


def table_of_reading() -> list[str]:
    """Write the images per processor second of readers, with the ratio to the reader that each replaces."""
    by_dataset = rounds_of("reading.csv", "images_per_processor_second", "dataset")
    titles = [title for (name,) in by_dataset for title in (f"`{name}`", "ratio")]
    lines = [row("", *titles), row("---", *["---:"] * len(titles))]
    for name, (title, replaced) in READERS.items():
        cells = [cell for rounds in by_dataset.values() for cell in rate_and_times(rounds, name, replaced)]
        lines.append(row(title, *cells))
    return lines


def table_of_building() -> list[str]:
    """Write the examples per second of builders, with the ratio to the plain builder, and the bytes of an image."""
    ((dataset, rates),) = rounds_of("building.csv", "examples_per_second", "dataset").items()
    sizes = rounds_of("building.csv", "bytes_per_image", "dataset")[dataset]
    lines = [row("", "examples/s", "ratio", "bytes per image"), row("---", *["---:"] * 3)]
    for name, (title, replaced) in BUILDERS.items():
        lines.append(row(title, *rate_and_times(rates, name, replaced), f"{statistics.median(sizes[name]):,.0f}"))
    return lines


def rate_and_times(rounds: Rounds, name: str, replaced: str | None) -> tuple[str, str]:
    """Write a median rate, and how many times that of another contender it is."""
    rate = f"{statistics.median(rounds[name]):,.0f}"
    return rate, f"**{ratio(rounds[name], rounds[replaced]):.3g}**" if replaced else "1" if replaced_by(name) else ""


def replaced_by(name: str) -> bool:
    """Return whether a contender is one that others are compared with."""
    return any(name == other for _, other in (*READERS.values(), *BUILDERS.values()))


def table_of_metric_speed() -> list[str]:
    """Write the processor seconds of MIG and DCI, and of disentanglement_lib's formula; the first may skip rounds."""
    titles = ("disentanglement_lib, s", "Offaxis, s", "ratio", "largest difference")
    lines = [row("", *titles), row("---", *["---:"] * len(titles))]
    differences = rounds_of("metrics.csv", "greatest_difference", "metric", "grid")
    for (metric, grid), seconds in rounds_of("metrics.csv", "processor_s", "metric", "grid").items():
        ours = "ours" if metric == "mig" else "ours, one thread"
        theirs, own = (statistics.median(seconds[name]) for name in ("scikit-learn", ours))
        cells = (f"{theirs:.3g}", f"{own:.3g}", f"**{theirs / own:.0f}**", f"{differences[metric, grid][ours][0]:.1g}")
        lines.append(row(f"{metric.upper()}, {GRIDS[grid]} grid", *cells))
    return lines


GRIDS = {"dsprites": "dSprites'", "shapes3d": "Shapes3D's"}


def table_of_similarity() -> list[str]:
    """Write the processor seconds of comparing 16 x 16 layers, all pairs at once and each pair directly."""
    by_similarity: dict[str, list[dict[str, str]]] = {}
    for line in record_of("similarity.csv"):
        by_similarity.setdefault({"cka": "CKA", "procrustes": "Procrustes"}[line["similarity"]], []).append(line)
    lines = [row("", "s", "ratio to all pairs at once", "largest difference"), row("---", *["---:"] * 3)]
    for title, (at_once, *direct) in by_similarity.items():
        seconds, peak = float(at_once["processor_s"]), float(at_once["peak_gib"])
        lines.append(row(f"{title}, all pairs at once ({peak:.1f} GiB)", f"{seconds:.2g}", "1", ""))
        for line in direct:
            others, difference = float(line["processor_s"]), float(line["greatest_difference"])
            cells = (f"{others:,.0f}", f"**{others / seconds:.0f}**", f"{difference:.0e}")
            lines.append(row(f"{title}, {line['contender']}", *cells))
    return lines


def table_of_peers() -> list[str]:
    """Write the images per second of training steps, and how many times faster Offaxis is."""
    ((_, rates),) = rounds_of("training_peers.csv", "images_per_second", "layers", "threads").items()
    lines = [row("", "images/s", "Offaxis is faster:"), row("---", "---:", "---:")]
    ours, *_ = PEERS
    for name, title in PEERS.items():
        times = "" if name == ours else f"**{ratio(rates[ours], rates[name]):.2f} times**"
        lines.append(row(title, f"{statistics.median(rates[name]):,.0f}", times))
    return lines


def table_of_backends() -> list[str]:
    """Write images per second of the backends, plain PyTorch and disent: medians over the rounds of one run."""
    lines = [row("layers", "threads", *BACKENDS.values()), row("---", *["---:"] * (1 + len(BACKENDS)))]
    for (layers, threads), rates in rounds_of("training.csv", "images_per_second", "layers", "threads").items():
        cells = (rate_and_ratio(rates[name], rates["pytorch"]) if name in rates else "–" for name in BACKENDS)
        lines.append(row(f"`{layers}`", threads, *cells))
    return lines


def rate_and_ratio(values: Sequence[float], plain: Sequence[float]) -> str:
    """Write the median over the rounds, and the median ratio to other values of the same rounds."""
    return f"{statistics.median(values):,.0f} ({ratio(values, plain):.2f})"


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


TABLES = {
    "rendering": table_of_rendering,
    "reading": table_of_reading,
    "building": table_of_building,
    "metrics": table_of_metric_speed,
    "similarity": table_of_similarity,
    "peers": table_of_peers,
    "backends": table_of_backends,
    "precision": table_of_precision,
}
