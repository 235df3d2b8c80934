"""The dataset card of a published folder, in Markdown with a YAML head for the Hub.

The card is a pure function of the records that `benchmark_data.hf.publish` writes to each config's folder, so that
configs can be published in any order, and repeatedly.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

import benchmark_data
from benchmark_data.dataset import Dataset
from benchmark_data.errors import UnknownName
from benchmark_data.publish import records as encoding

RECORD = "offaxis.json"
"""Name of a config's record."""

SHEET = "contact_sheet.png"
"""Name of a config's contact sheet."""

HUB_LICENSES = frozenset(
    (
        *("apache-2.0", "bsd-2-clause", "bsd-3-clause", "gpl-3.0", "lgpl-3.0", "mit", "odbl", "unlicense", "cc0-1.0"),
        *("cc-by-3.0", "cc-by-4.0", "cc-by-sa-3.0", "cc-by-sa-4.0", "cc-by-nd-4.0"),
        *("cc-by-nc-4.0", "cc-by-nc-sa-4.0", "cc-by-nc-nd-4.0"),
    )
)
"""Licences by their names on the Hub; any other is ``other`` there, with its name in a second field."""

TAGS = ["disentanglement", "representation-learning", "factors-of-variation", "benchmark"]
"""Tags of a published dataset."""

Record: TypeAlias = dict[str, Any]


def config_name(dataset: Dataset) -> str:
    """Return the name of a dataset's config on the Hub, which is also its folder: ``default`` if it has none."""
    return dataset.config or "default"


def record(
    dataset: Dataset,
    *,
    splits: Sequence[Mapping[str, Any]],
    digests: Any,
) -> Record:
    """Describe a config.

    Args:
        dataset: the dataset.
        splits: for each split ``name``, ``rows`` and ``files`` (pattern).
        digests: the ``quick`` and the ``full`` digest, each of ``pixels`` and ``factors``, of the rows in order.

    Returns:
        The content of the file `RECORD`.
    """
    return {
        "schema": 1,
        "name": dataset.name,
        "config": config_name(dataset),
        "default": is_default(dataset),
        "version": dataset.version,
        "description": dataset.description,
        "license": dataset.license,
        "homepage": dataset.homepage,
        "citation": dataset.citation,
        "defects": list(dataset.defects),
        "image_shape": list(dataset.image_shape),
        "factors": [factor.as_json() for factor in dataset.space.factors],
        "extras": {
            name: {
                "shape": list(extra.shape),
                "dtype": np.dtype(encoding.extra_dtype(extra)).name,
                "meaning": extra.meaning,
            }
            for name, extra in dataset.extras.items()
        },
        "splits": list(splits),
        "digests": digests,
    }


def is_default(dataset: Dataset) -> bool:
    """Return whether a dataset is the default config of its name."""
    try:
        return benchmark_data.load(dataset.name).config == dataset.config
    except UnknownName:
        return not dataset.config


def readme(records: Sequence[Record]) -> str:
    """Write the card of a folder.

    Args:
        records: the records of its configs, at least one, all of one dataset.

    Returns:
        Markdown with a YAML head: the content of ``README.md``.
    """
    import yaml  # comes with datasets

    records = sorted(records, key=lambda r: natural(r["config"]))
    main_record = next((r for r in records if r["default"]), records[0])
    yaml_head = yaml.safe_dump(front_matter(records), sort_keys=False, allow_unicode=True, width=1_000)
    lines = [
        *_format_opening(main_record, several=len(records) > 1),
        *("## Configs", "", *_format_configs(records)),
        *("## Records", "", *_format_columns(records), ""),
        *("## Factors", "", *_format_factors(records)),
        *("## Known defects", "", *_format_defects(records)),
        *("## Digests", "", *_format_digests(records)),
        *("## Licence", "", *sorted({r["license"] for r in records}), ""),
        *(["## Citation", "", *_format_citations(records)] if any(r["citation"] for r in records) else []),
    ]
    return f"---\n{yaml_head}---\n\n" + "\n".join(lines).rstrip() + "\n"


def _format_opening(main_record: Record, *, several: bool) -> list[str]:
    """Describe the dataset, and how to load its main config."""
    load_arguments = f'"PATH-OR-HUB-ID", "{main_record["config"]}", split="{main_record["splits"][0]["name"]}"'
    labels = [f"label_{factor['name']}" for factor in main_record["factors"][:1]]
    return [
        f"# {main_record['name']}",
        "",
        *([] if several else [main_record["description"], ""]),
        "Images with known factors of variation, for research on disentangled representations."
        + (f" Homepage: <{main_record['homepage']}>." if main_record["homepage"] else ""),
        "",
        "```python",
        "import datasets",
        "",
        f"data = datasets.load_dataset({load_arguments})  # or streaming=True",
        ", ".join(f'data[0]["{column}"]' for column in ("image", "index", *labels)),
        "```",
        "",
    ]


def _format_configs(records: Sequence[Record]) -> list[str]:
    """Describe each config, with its sheet of images."""
    lines = []
    for r in records:
        height, width, channels = r["image_shape"]
        rows = ", ".join(f"{s['name']} {s['rows']:,}" for s in r["splits"])
        lines += [f"### {r['config']}", ""]
        lines += [r["description"], ""] if len(records) > 1 else []
        lines += [
            f"Version {r['version']}; images of {height} x {width} x {channels}; rows: {rows}.",
            "",
            f"![Images of {r['config']}]({r['config']}/{SHEET})",
            "",
        ]
    return lines


def _format_factors(records: Sequence[Record]) -> list[str]:
    """Tabulate the factors, once for all configs that share them."""
    lines = []
    for factors, config_names in _group_configs((r["config"], r["factors"]) for r in records):
        lines += [] if len(config_names) == len(records) else [f"In {', '.join(config_names)}:", ""]
        lines += _format_table(
            ("factor", "kind", "size", "values", "unit"),
            ((f["name"], f["kind"], len(f["values"]), _format_values(f), f["unit"]) for f in factors),
        )
    return lines


def _format_defects(records: Sequence[Record]) -> list[str]:
    """List the known defects of the data."""
    lines = []
    for defects, config_names in _group_configs((r["config"], r["defects"]) for r in records if r["defects"]):
        prefix = "" if len(config_names) == len(records) else f"In {', '.join(config_names)}: "
        lines += [f"{prefix}{' '.join(defects)}", ""]
    return lines or ["None are known.", ""]


def _format_digests(records: Sequence[Record]) -> list[str]:
    """Tabulate the digests of all rows."""
    return [
        "SHA-256 of the decoded pixels and of the class ids of all rows; `offaxis data verify --full` recomputes them.",
        "",
        *_format_table(
            ("config", "pixels", "factors"),
            ((r["config"], *(f"`{r['digests']['full'][k]}`" for k in ("pixels", "factors"))) for r in records),
        ),
    ]


def _format_citations(records: Sequence[Record]) -> list[str]:
    """List the citations, and the addresses of the papers."""
    lines = []
    for citation, _ in _group_configs((r["config"], r["citation"]) for r in records if r["citation"]):
        lines += ["```bibtex", citation, "```", ""]
    numbers = re.findall(r"eprint\s*=\s*[{\"](\d{4}\.\d{4,5})", "\n".join(r["citation"] for r in records))
    return [*lines, *(f"- <https://arxiv.org/abs/{number}>" for number in dict.fromkeys(numbers))]


def front_matter(records: Sequence[Record]) -> dict[str, Any]:
    """Return the YAML head of a card: configs with their files, and the licence.

    Args:
        records: the records, in the order in which configs are listed.

    Returns:
        The keys that the Hub and ``datasets.load_dataset`` read.
    """
    licenses = sorted({r["license"] for r in records})
    license_id = licenses[0].lower()
    is_known = len(licenses) == 1 and license_id in HUB_LICENSES
    license_link = {"license_link": records[0]["homepage"]} if records[0]["homepage"] else {}
    other_license = {"license": "other", "license_name": " and ".join(licenses), **license_link}
    configs = [
        {
            "config_name": r["config"],
            # `datasets` caches a folder by its name and this text, so that it must differ for different data.
            "description": "SHA-256 of pixels {pixels}, of factors {factors}".format_map(r["digests"]["full"]),
            "data_files": [{"split": s["name"], "path": s["files"]} for s in r["splits"]],
            **({"default": True} if r["default"] else {}),
        }
        for r in records
    ]
    return {
        "pretty_name": records[0]["name"],
        "language": ["en"],
        **({"license": license_id} if is_known else other_license),
        "task_categories": ["image-feature-extraction"],
        "tags": TAGS,
        "configs": configs,
    }


def natural(name: str) -> list[tuple[int, str]]:
    """Return a sorting key that puts ``spacing_10`` after ``spacing_9``, and ``native`` before ``64_lanczos``.

    Published folders list their configs in this order. The key of the board's tables,
    ``leaderboard.protocol.natural_key``, would change it: numbers come before words there.

    Example:
        >>> sorted(["64_lanczos", "spacing_10", "spacing_9", "native"], key=natural)
        ['native', 'spacing_9', 'spacing_10', '64_lanczos']
    """
    return [(int(part), "") if part.isdigit() else (0, part) for part in name.replace("_", " _ ").split()]


def _format_columns(records: Sequence[Record]) -> list[str]:
    """Describe the columns, with those that only some configs have."""
    lines = [
        "- `image`: PNG.",
        "- `index`: row of the dataset; records stand in this order.",
        "- `factors`: all class ids, int64. `label_<factor>`: class id with names.",
        "- `value_<factor>`: value in the factor's unit, float32.",
    ]
    extras = [f"- `extra_{name}`: {extra['meaning']}" for r in records for name, extra in r["extras"].items()]
    return [*lines, *dict.fromkeys(extras)]


def _group_configs(pairs: Iterable[tuple[str, Any]]) -> list[tuple[Any, list[str]]]:
    """Group the configs with equal values, in order of first appearance."""
    groups: dict[str, tuple[Any, list[str]]] = {}
    for config, content in pairs:
        groups.setdefault(json.dumps(content), (content, []))[1].append(config)
    return list(groups.values())


def _format_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    cells = [header, ["---"] * len(header), *rows]
    return [f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in row)} |" for row in cells] + [""]


def _format_values(factor: Mapping[str, Any]) -> str:
    labels = factor["labels"]
    return ", ".join(labels if len(labels) <= 8 else [*labels[:3], "...", labels[-1]])
