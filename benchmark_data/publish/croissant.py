"""Croissant 1.1 of a published folder, with the responsible-AI vocabulary 1.0: what machines read of it.

Croissant is a JSON-LD format of MLCommons for datasets (https://docs.mlcommons.org/croissant/); ``mlcroissant validate
--jsonld croissant.json`` checks it. The description is a pure function of the records beside the configs' files, as the
card is. Files are named relative to the folder, which so reads the same wherever it lies.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from benchmark_data.publish import card, datasheet
from benchmark_data.publish.card import Record

CONFORMS_TO = ["http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0"]

CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "dct": "http://purl.org/dc/terms/",
    "prov": "http://www.w3.org/ns/prov#",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "sc": "https://schema.org/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "description": {"@container": "@language"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "name": {"@container": "@language"},
    **{
        term: f"cr:{term}"
        for term in (
            *("arrayShape", "citeAs", "column", "containedIn", "equivalentProperty", "extract", "field", "fileObject"),
            *("fileProperty", "fileSet", "format", "includes", "isArray", "isLiveDataset", "jsonPath", "key", "md5"),
            *("parentField", "path", "recordSet", "references", "regex", "repeated", "replace", "samplingRate"),
            *("separator", "source", "subField", "transform"),
        )
    },
}
"""The terms of Croissant 1.1, as its specification defines them."""

SPLITS = "splits"
"""Name of the record set of splits."""

TYPES = {".parquet": "application/x-parquet", ".png": "image/png", ".json": "application/json"}
"""Media types of the files of a published folder."""


def document(records: Sequence[Record]) -> dict[str, Any]:
    """Describe a folder.

    Args:
        records: the records of its configs, at least one, all of one dataset.

    Returns:
        The content of ``croissant.json``.
    """
    records = sorted(records, key=lambda r: card.natural(r["config"]))
    main = next((r for r in records if r["default"]), records[0])
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": CONFORMS_TO,
        "name": main["name"],
        "description": main["description"],
        "license": [_license(r) for r in _first_of(records, "license")],
        "url": main["homepage"],
        "version": main["version"],
        **({"datePublished": max(days)} if (days := [r["published"] for r in records if r.get("published")]) else {}),
        "creator": _creators(main),
        "citeAs": "\n\n".join(r["citation"] for r in _first_of(records, "citation")),
        "isLiveDataset": False,
        "inLanguage": "en",
        "keywords": card.TAGS,
        "distribution": list(_distribution(records)),
        "recordSet": [_splits(records), *map(_record_set, records)],
        **_responsible(records),
    }


def _first_of(records: Sequence[Record], key: str) -> list[Record]:
    """Return the first record of each value of a key."""
    return list({r[key]: r for r in reversed(records)}.values())[::-1]


def _license(r: Record) -> str:
    known = r["license"].lower() in card.HUB_LICENSES
    return f"https://spdx.org/licenses/{r['license']}" if known else r["homepage"]


def _creators(r: Record) -> list[dict[str, str]]:
    """Name who made the files: this package for what it renders, the authors too for what others published."""
    package = {"@type": "sc:Organization", "name": "The Offaxis developers"}
    people = [{"@type": "sc:Person", "name": name} for name in datasheet.authors(r["citation"])]
    if r.get("made") == "rendered" and r["license"] == "MIT":  # the licence of what is designed here
        return [package]
    return people if r.get("archives") == [r["name"]] and people else [*people, package]


def _distribution(records: Sequence[Record]) -> Iterator[dict[str, Any]]:
    for r in records:
        for file in r["files"]:
            name = file["path"]
            yield {
                "@type": "cr:FileObject",
                "@id": name,
                "name": name,
                "contentUrl": name,
                "contentSize": f"{file['bytes']} B",
                "encodingFormat": TYPES[name[name.rindex(".") :]],
                "sha256": file["sha256"],
            }
        yield {
            "@type": "cr:FileSet",
            "@id": f"{r['config']}-parquet",
            "name": f"{r['config']}-parquet",
            "description": f"The records of {r['config']}.",
            "encodingFormat": TYPES[".parquet"],
            "includes": [split["files"] for split in r["splits"]],
        }


def _splits(records: Sequence[Record]) -> dict[str, Any]:
    names = list(dict.fromkeys(split["name"] for r in records for split in r["splits"]))
    field = f"{SPLITS}/name"
    return {
        "@type": "cr:RecordSet",
        "@id": SPLITS,
        "name": SPLITS,
        "description": "The splits, by name.",
        "dataType": "cr:Split",
        "key": {"@id": field},
        "field": [{"@type": "cr:Field", "@id": field, "name": "name", "dataType": "sc:Text"}],
        "data": [{field: name} for name in names],
    }


def _record_set(r: Record) -> dict[str, Any]:
    config = r["config"]
    return {
        "@type": "cr:RecordSet",
        "@id": config,
        "name": config,
        "description": r["description"],
        "key": {"@id": f"{config}/index"},
        "field": list(_fields(r)),
    }


def _fields(r: Record) -> Iterator[dict[str, Any]]:
    """Describe the columns.

    The split is read off the file's name. It does not refer to the record set of splits: readers take such a reference
    for a join, for which they load every file before they give a record.
    """
    files = {"fileSet": {"@id": f"{r['config']}-parquet"}}
    path = {"extract": {"fileProperty": "fullpath"}, "transform": {"regex": r".*?([^/]+)-\d+-of-\d+\.parquet$"}}
    yield _field(r, "split", "sc:Text", "Name of the split.", {**files, **path})

    def column(name: str, kind: str, description: str, **more: Any) -> dict[str, Any]:
        source: dict[str, Any] = {**files, "extract": {"column": name}}
        if name == "image":
            source["transform"] = {"jsonPath": "bytes"}
        return _field(r, name, kind, description, source) | more

    height, width, channels = r["image_shape"]
    yield column("image", "sc:ImageObject", f"PNG, {height} x {width} pixels, {channels} channels.")
    yield column("index", "cr:Int64", "Row of the dataset.")
    for name, extra in r["extras"].items():
        shape = ",".join(map(str, extra["shape"]))
        array = {"isArray": True, "arrayShape": shape} if shape else {}
        yield column(f"extra_{name}", f"cr:{extra['dtype'].capitalize()}", f"{extra['meaning']}.", **array)
    for factor in r["factors"]:
        names = ", ".join(factor["labels"] if len(factor["labels"]) <= 8 else [*factor["labels"][:3], "..."])
        yield column(f"label_{factor['name']}", "cr:Int64", f"Class id of {factor['name']}: {names}.")
    for factor in r["factors"]:
        unit = f", {factor['unit']}" if factor["unit"] else ""
        yield column(f"value_{factor['name']}", "cr:Float32", f"Value of {factor['name']}{unit}.")


def _field(r: Record, name: str, kind: str, description: str, source: dict[str, Any]) -> dict[str, Any]:
    return {
        "@type": "cr:Field",
        "@id": f"{r['config']}/{name}",
        "name": name,
        "description": description,
        "dataType": kind,
        "source": source,
    }


def _responsible(records: Sequence[Record]) -> dict[str, Any]:
    """Return the responsible-AI fields: each sentence once, from the configs' datasheets."""
    sheets = [datasheet.datasheet(r) for r in records]

    def said(field: str) -> list[str]:
        return list(dict.fromkeys(sentence for sheet in sheets for sentence in sheet[field]))

    synthetic = [not r["photographs"] for r in records if r.get("photographs") is not None]
    main = next((r for r in records if r["default"]), records[0])
    return {
        "rai:dataLimitations": said("limits"),
        "rai:dataBiases": said("biases"),
        "rai:personalSensitiveInformation": said("people"),
        "rai:dataUseCases": said("uses"),
        "rai:dataSocialImpact": " ".join(said("impact")),
        **({"rai:hasSyntheticData": any(synthetic)} if synthetic else {}),
        "prov:wasDerivedFrom": {
            **({"@id": main["homepage"]} if main["homepage"] else {}),
            "prov:label": ", ".join(main.get("archives", [])) or "the definition of the dataset",
        },
        "prov:wasGeneratedBy": {
            "@type": "prov:Activity",
            "prov:label": "offaxis data publish",
            "description": " ".join(said("collection")),
        },
    }
