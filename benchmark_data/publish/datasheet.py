"""What a dataset states of itself, as sentences: the datasheet of a card.

The headings are those of Gebru et al., "Datasheets for Datasets" (arXiv 1803.09010). Every sentence follows from a
config's record, which holds what the dataset's file states; what it leaves open is said to be open.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import benchmark_data
from benchmark_data.archives.archive import Archive
from benchmark_data.dataset import Dataset
from benchmark_data.errors import UnknownName
from benchmark_data.sources import Rendered, chain

NOT_STATED = "The dataset's file does not say."


def datasheet(record: Mapping[str, Any]) -> dict[str, list[str]]:
    """Describe what is known of a config, in words.

    Args:
        record: its record, as `benchmark_data.publish.card.record` gives.

    Returns:
        Sentences by heading; no list is empty.
    """
    height, width, channels = record["image_shape"]
    rows = ", ".join(f"{s['rows']:,} in {s['name']}" for s in record["splits"])
    factors = ", ".join(f["name"] for f in record["factors"]) or "none"
    people = {
        None: NOT_STATED,
        True: "Images or labels show people.",
        False: "None: no image and no label shows or describes a person.",
    }[record.get("people")]
    return {
        "motivation": ["Research on disentangled representations: the factors behind every image are known."],
        "composition": [
            record["description"],
            f"Images of {height} x {width} x {channels}: {rows}.",
            f"Factors: {factors}.",
            _presence(record),
        ],
        "collection": [_origin(record)],
        "uses": [
            "Training encoders and measuring how their codes relate to the factors; comparing such measures.",
            "Not for claims about other images: a score holds for this dataset alone.",
        ],
        "limits": list(record["defects"]) or ["No defects are known."],
        "people": [people],
    }


def _presence(record: Mapping[str, Any]) -> str:
    if record.get("grid"):
        return (
            "Every combination of factor values is there once: the factors are independent and evenly spread, "
            "as they seldom are in the world."
        )
    return "The rows are a list, not a full grid: factors need be neither independent nor evenly spread."


def _origin(record: Mapping[str, Any]) -> str:
    made = {
        "rendered": "The images are computed from the factors by this package; the labels are what was drawn.",
        "archive": "Images and labels are those of the published source, or are computed from them by this package.",
    }.get(record.get("made", ""), NOT_STATED)
    if record.get("photographs") is None:
        return made
    return f"{made} {'A camera took them.' if record['photographs'] else 'All of them were drawn by computer.'}"


def made(dataset: Dataset) -> str:
    """Describe where a dataset's pixels come from.

    Args:
        dataset: the dataset.

    Returns:
        ``rendered``, ``archive`` or, for arrays of a user's own, ``given``.

    Example:
        >>> made(benchmark_data.load("dsprites_noisy")), made(benchmark_data.load("shapes3d_noisy"))
        ('rendered', 'archive')
    """
    sources = chain(dataset)
    if any(isinstance(source, Archive) for source in sources):
        return "archive"
    return "rendered" if any(isinstance(source, Rendered) for source in sources) or _is_ours(dataset) else "given"


def _is_ours(dataset: Dataset) -> bool:
    try:
        return benchmark_data.load(dataset.id) is dataset
    except UnknownName:
        return False


def papers(citation: str) -> list[str]:
    """Return the arXiv numbers in BibTeX, each once, in order.

    Example:
        >>> papers("eprint = {2202.13341}, archivePrefix = {arXiv}")
        ['2202.13341']
    """
    return list(dict.fromkeys(re.findall(r"eprint\s*=\s*[{\"](\d{4}\.\d{4,5})", citation)))
