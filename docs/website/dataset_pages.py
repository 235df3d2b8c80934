"""A page for each dataset, made from the dataset's own file: what it shows, how to read it, what is wrong with it."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

import benchmark_data
from benchmark_data.commands.descriptions import source_kind, stores, value_range
from benchmark_data.dataset import Dataset
from benchmark_data.expected_effects import Effect
from benchmark_data.inspect import contact_sheets
from website import markup

DISTANCES = Path(__file__).parents[1] / "distances.csv"


def pages() -> dict[str, str | bytes]:
    """Make the page of each dataset, and the contact sheet of each that can be drawn here.

    Returns:
        Address on the site -> Markdown or PNG.
    """
    files: dict[str, str | bytes] = {}
    for name in benchmark_data.names():
        picture = sheet(default(name))
        files[f"datasets/{name}.md"] = page(name, drawn=picture is not None)
        if picture is not None:
            files[f"datasets/{name}.sheet.png"] = picture
    return files


def default(name: str) -> Dataset:
    """Return the configuration that stands for a dataset: the default, or the first that can be drawn here."""
    dataset = benchmark_data.load(name)
    if drawable(dataset):
        return dataset
    return next((other for other in map(benchmark_data.load, benchmark_data.configs(name)) if drawable(other)), dataset)


def drawable(dataset: Dataset) -> bool:
    """Say whether a dataset's images can be had on this machine without a download."""
    return source_kind(dataset) in ("rendered", "on disk")


def sheet(dataset: Dataset) -> bytes | None:
    """Draw random images and a traversal of each factor, as PNG; None of what would have to be downloaded."""
    if not drawable(dataset):
        return None
    content = io.BytesIO()
    contact_sheets.sheet(dataset).save(content, format="PNG")
    return content.getvalue()


def page(name: str, *, drawn: bool) -> str:
    """Write a dataset's page.

    Args:
        name: the dataset's name.
        drawn: whether its contact sheet is beside the page.

    Returns:
        Markdown.
    """
    configs = [benchmark_data.load(config) for config in benchmark_data.configs(name)]
    dataset = default(name)
    parts = [f"# {name}", dataset.description, facts(configs, dataset)]
    if drawn:
        parts += [
            "## What it looks like",
            f"![Random images of {dataset.id}, and a traversal of each factor]({name}.sheet.png)",
            f"`{dataset.id}`: random images, then a row for each factor that moves through its values while the others "
            "stay. A factor of many values is shown at some of them.",
        ]
    parts += ["## Load it", *loading(dataset)]
    parts += ["## Factors", factors(dataset)]
    if len(configs) > 1:
        parts += ["## Configurations", configurations(configs, benchmark_data.load(name))]
    parts += ["## How far apart images are", distances(name, dataset)]
    parts += ["## Known defects", defects(configs)]
    parts += ["## Licence and citation", license_terms(dataset), markup.code(dataset.citation, "bibtex")]
    return "\n\n".join(parts) + "\n"


def facts(configs: Sequence[Dataset], dataset: Dataset) -> str:
    """Write what one wants to know first."""
    origins = {
        "rendered": "nothing: the images are drawn when they are asked for",
        "on disk": "downloaded files, which this machine has",
        "download": f"downloaded files: `offaxis data prepare {dataset.name}` fetches and checks them",
        "derive": "values of a latent, to be computed by `baselines.outputs.hidden_variable`",
    }
    if not stores(dataset) and source_kind(dataset) == "on disk":
        origins["on disk"] = origins["rendered"]
    rows = [
        ("images", f"{len(dataset):,}" if len(dataset) else "known once it is prepared"),
        ("shape", f"{' x '.join(map(str, dataset.image_shape))}, uint8"),
        ("factors", ", ".join(f"`{name}`" for name in dataset.space.names)),
        ("splits", ", ".join(f"`{split}`: {len(rows):,}" for split, rows in dataset.splits.items())),
        ("made from", origins[source_kind(dataset)]),
        ("version", dataset.version),
        ("license", dataset.license),
    ]
    if len(configs) > 1:
        rows.insert(0, ("configurations", f"{len(configs)}; `load({dataset.name!r})` gives `{full_id(dataset.name)}`"))
    return markup.table(["", ""], rows)


def full_id(name: str) -> str:
    """Return the full name of the configuration that a dataset's bare name stands for."""
    return benchmark_data.load(name).id


def loading(dataset: Dataset) -> list[str]:
    """Write how to read a dataset: what to fetch first, if anything, and a block for each reader."""
    before = []
    if source_kind(dataset) == "download":
        command = f"offaxis data prepare {dataset.id}"
        before = ["Fetch and check the files once:", markup.code(command, "sh")]
    return [*before, markup.tabs((title, markup.code(text)) for title, text in examples(dataset).items())]


def examples(dataset: Dataset) -> dict[str, str]:
    """Return the code that reads a dataset, by reader."""
    split = next(iter(dataset.splits))
    height, width, channels = dataset.image_shape
    columns = len(dataset.space.factors)
    first = dataset.space.names[0]
    return {
        "numpy": f"""
import benchmark_data

data = benchmark_data.load("{dataset.id}")
images = data.images([0, 1])  # uint8 (2, {height}, {width}, {channels})
labels = data.labels([0, 1])  # class ids, int64 (2, {columns})
values = data.values([0, 1])  # in the factors' units, float64 (2, {columns})
""",
        "TensorFlow Datasets": f"""
import benchmark_data.tfds

data = benchmark_data.tfds.as_dataset("{dataset.id}", split="{split}", batch_size=64, shuffle_seed=0)
batch = next(iter(data))  # image uint8 (64, {height}, {width}, {channels}), index, label_{first}, value_{first}, ...
""",
        "Hugging Face": f"""
import benchmark_data.hf

data = benchmark_data.hf.as_dataset("{dataset.id}", split="{split}", shuffle_seed=0)
batch = next(data.iter(batch_size=64))  # image, index, label_{first}, value_{first}, ...
""",
        "PyTorch": f"""
import benchmark_data.torch

data = benchmark_data.torch.Images("{dataset.id}", split="{split}", dtype="float32")
for images, labels in benchmark_data.torch.loader(data, batch_size=64, shuffle_seed=0):
    break  # float32 (64, {channels}, {height}, {width}), int64 (64, {columns})
""",
    }


def factors(dataset: Dataset) -> str:
    """Write a row for each factor: its values, and what one sees when it rises."""

    def effect_of(name: str) -> str:
        effect = dataset.effects.get(name, "")
        return effect.summary if isinstance(effect, Effect) else effect

    return markup.table(
        ["factor", "kind", "values", "", "unit", "as its class id rises"],
        (
            (f"`{factor.name}`", factor.kind, factor.size, value_range(factor), factor.unit, effect_of(factor.name))
            for factor in dataset.space.factors
        ),
    )


def configurations(configs: Sequence[Dataset], default_config: Dataset) -> str:
    """Write a row for each configuration, with what tells it from the others."""
    keys = list(dict.fromkeys(key for config in configs for key in config.parameters))
    return markup.table(
        ["configuration", *keys, "images", "shape"],
        (
            (
                f"`{config.id}`" + (" (default)" if config.id == default_config.id else ""),
                *(config.parameters.get(key, "") for key in keys),
                f"{len(config):,}" if len(config) else "",
                "x".join(map(str, config.image_shape)),
            )
            for config in configs
        ),
    )


def distances(name: str, dataset: Dataset) -> str:
    """Write what docs/distances.csv holds of a dataset, or how to measure it."""
    measure = f"`offaxis data audit {dataset.id}` measures them"
    with DISTANCES.open(encoding="utf-8", newline="") as stream:
        lines = [row for row in csv.DictReader(stream) if row["dataset"].partition("/")[0] == name]
    if not lines:
        return f"Not measured here yet; {measure}, and [the audit](../audit.md) says how much they give away."

    def number(text: str, digits: int) -> str:
        return f"{float(text):.{digits}f}" if text and text != "nan" else ""

    header = ["configuration", "factor", "distance", "standard error", "published", "Spearman"]
    rows = [
        (
            f"`{row['dataset']}`",
            f"`{row['factor']}`",
            number(row["mean_distance"], 5),
            number(row["standard_error"], 5),
            number(row["published_distance"], 4),
            number(row["spearman"], 3),
        )
        for row in lines
    ]
    return "\n\n".join(
        [
            "Mean squared error of pixels in [0, 1], over random pairs of images that differ in one factor; the last "
            "row of a configuration is for pairs that may differ in all. *Published* is the paper's figure, of the "
            "dataset that this one stands in for. *Spearman* is the rank correlation of that error with the distance "
            "of class ids: near 1, pixels put the factor's values in order; empty, all values are equally far apart.",
            markup.table(header, rows),
            f"{measure.capitalize() if not measure.startswith('`') else measure} again, with seeds and pairs of your "
            "choice. [How much does a dataset give away?](../audit.md) explains what follows from them.",
        ]
    )


def defects(configs: Sequence[Dataset]) -> str:
    """List the known defects, with the configurations that have them where not all do."""
    lines = []
    for defect in dict.fromkeys(defect for config in configs for defect in config.defects):
        having = [config.id for config in configs if defect in config.defects]
        lines.append(f"- {defect}" + ("" if len(having) == len(configs) else f" (`{'`, `'.join(having)}`)"))
    return "\n".join(lines) or "None is known."


def license_terms(dataset: Dataset) -> str:
    """Write under which licence a dataset is, and whether copies of it may be published."""
    copies = "" if dataset.redistributable else " Copies may not be published, and `offaxis data publish` refuses to."
    return f"{dataset.license}.{copies} Source: <{dataset.homepage}>"
