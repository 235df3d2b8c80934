"""The page on datasets lists what there is, and its examples run."""

from __future__ import annotations

import re
import urllib.parse
from pathlib import Path

import benchmark_data
from benchmark_data.archives.archive import Archive
from benchmark_data.cli import stores
from benchmark_data.variants.pairs import Paired

PAGE = Path(__file__).parents[2] / "docs" / "datasets.md"
DATASETS = {
    name: [benchmark_data.load(config) for config in benchmark_data.configs(name)] for name in benchmark_data.names()
}
PAIRS = {name for name, datasets in DATASETS.items() if isinstance(datasets[0].source, Paired)}


def archives(datasets):
    return {id(kept): kept for one in datasets for kept in stores(one) if isinstance(kept, Archive)}.values()


def row(*cells):
    return f"| {' | '.join(cells)} |"


def table_of_datasets():
    lines = [row("dataset", "configs", "images", "shape", "factors", "made from", "licence"), row(*["---"] * 7)]
    for name, datasets in DATASETS.items():
        alone = len(datasets) == 1
        lines.append(
            row(
                f"`{name}`",
                "" if alone else ", ".join(f"`{one.config}`" for one in datasets),
                " or ".join(dict.fromkeys(f"{len(one):,}" for one in datasets if len(one))),
                " or ".join(dict.fromkeys("x".join(map(str, one.image_shape)) for one in datasets)),
                " or ".join(dict.fromkeys(str(len(one.space.factors)) for one in datasets)),
                "files" if archives(datasets) else "nothing: rendered",
                datasets[0].licence + ("" if datasets[0].redistributable else "; not to be published"),
            )
        )
    return lines


def table_of_files():
    lines = [row("file", "for", "hosts", "known by", "health"), row(*["---"] * 5)]
    users: dict = {}
    for name, datasets in DATASETS.items():
        for kept in archives(datasets):
            for download in (download for form in kept.forms for download in form.files):
                users.setdefault(download, {})[kept.id.partition("/")[0]] = name
    for download, names in users.items():
        hosts = dict.fromkeys(urllib.parse.urlsplit(url).netloc for url in download.urls)
        hashed = "SHA-256" if download.sha256 else "MD5" if download.md5 else ""
        known = f"{hashed}{'' if download.binding else ' of an earlier upload, and its pixels'}"
        known += f", {download.size:,} bytes" if download.size else ""
        lines.append(
            row(
                f"`{download.name}`",
                ", ".join(f"`{name}`" for name in names),
                ", ".join(hosts),
                known or "its contents",
                download.note,
            )
        )
    return lines


def list_of_defects():
    """Name each defect once, at the dataset that others have it from; pairs repeat those of their sides."""
    lines: dict = {}
    for name in sorted(set(DATASETS) - PAIRS, key=len):
        for defect in dict.fromkeys(defect for one in DATASETS[name] for defect in one.defects):
            having = [one for one in DATASETS[name] if defect in one.defects]
            title = name if having == DATASETS[name] else ", ".join(one.id for one in having)
            lines.setdefault(defect, f"- `{title}`: {defect}")
    return sorted(lines.values())


def test_the_tables_are_those_of_the_code(request):
    made = {"datasets": table_of_datasets(), "files": table_of_files(), "defects": list_of_defects()}
    text = PAGE.read_text("utf-8")

    def filled(mark):
        return "\n".join([f"<!-- table: {mark[1]} -->", *made.pop(mark[1]), "<!-- end -->"])

    expected = re.sub(r"<!-- table: (\w+) -->\n.*?<!-- end -->", filled, text, flags=re.DOTALL)
    assert made == {}
    if request.config.getoption("--update-golden"):
        PAGE.write_text(expected, "utf-8")
        return
    assert text == expected
    assert all(f"| `{name}` |" in text for name in benchmark_data.names())


def test_the_examples_run():
    names: dict = {}
    for example in re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL):
        exec(example, names)
    assert names["images"].shape == (2, 64, 64, 3)
    assert (names["labels"] == 0).all()
    assert len(names["rows"]) == 10
    assert names["s"].shape == (2,)
    assert names["sizes"]["target_test"] == 73_728
    assert names["target"].dataset.id == "sprites2d"
    assert names["quick"] == names["room"].digest()
