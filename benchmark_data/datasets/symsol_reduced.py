"""Symsol_reduced: the five solids of SYMSOL without marks, small, grey and without duplicates.

Bonheme and Grześ, "How good are variational autoencoders at transfer learning?", arXiv 2304.10767. ``published`` is
their archive; its filter and its definition of duplicates are not known.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from benchmark_data.archives.archive import Archive, Distribution
from benchmark_data.archives.containers import damage, damaged_file_on_error, zip_members
from benchmark_data.archives.downloads import Download
from benchmark_data.archives.store import Writer, image_pixels, open_image
from benchmark_data.dataset import Family
from benchmark_data.datasets import symsol
from benchmark_data.factors import Factor
from benchmark_data.variants import pairs

PUBLISHED_ROWS = 112_791
SHAPES = ("tet", "cube", "icosa", "cone", "cyl")
FACTOR = Factor("shape", range(5), "categorical", labels=SHAPES)

ZIP = Download(
    name="symsol_reduced.zip",
    urls=("https://data.kent.ac.uk/436/1/symsol_reduced.zip",),
    note="Record 436 of the Kent Data Repository. No hash is published; the one found is recorded.",
)


def read(archive: Archive, files: Mapping[str, Path], writer: Writer) -> None:
    """Read a flat folder of PNG files. Rows are sorted by solid, then by the numbers in the name, then by the name."""
    (path,) = files.values()
    shapes = archive.factors[0].labels
    height, width, _ = archive.image_shape

    def is_image(name: str) -> bool:
        return name.endswith(".png") and "__MACOSX" not in name

    entries: list[tuple[int, list[int], str]] = []
    with damaged_file_on_error(path), zipfile.ZipFile(path) as zip_file:
        names = [info.filename for info in zip_file.infolist() if is_image(info.filename)]
    for name in names:
        file = name.rpartition("/")[2]
        # The authors search the whole path for the solid's name.
        label = next((i for text in (file, name) for i, shape in enumerate(shapes) if shape in text), None)
        if label is None:
            raise damage(path, f"files named after {', '.join(shapes)}", name)
        entries.append((label, [int(number) for number in re.findall(r"\d+", file)], name))
    if len(entries) != archive.rows:
        raise damage(path, f"{archive.rows:,} images", f"{len(entries):,}")
    rows = {name: row for row, (_, _, name) in enumerate(sorted(entries))}
    writer.labels(np.arange(len(entries)), np.array([label for label, *_ in sorted(entries)])[:, None])
    for name, content in zip_members(path, is_image):
        with open_image(content, f"{path}, {name}") as image:
            if image.size != (width, height):
                raise damage(path, f"images of {width} x {height}", f"{name} of {image.size[0]} x {image.size[1]}")
            writer.images(np.array([rows[name]]), image_pixels(image, 1)[None])
    counts = np.bincount([label for label, *_ in entries], minlength=len(shapes))
    writer.notes["images of each shape"] = dict(zip(shapes, counts.tolist(), strict=True))


ARCHIVE = Archive(
    id="symsol_reduced/published",
    version="1.0.0",
    image_shape=(64, 64, 1),
    factors=(FACTOR,),
    rows=PUBLISHED_ROWS,
    grid=False,
    distributions=(Distribution((ZIP,), read),),
)

DATASET = Family(
    ARCHIVE.dataset(
        parameters={"origin": "published"},
        description="Tetrahedra, cubes, icosahedra, cones and cylinders at random rotations, grey. "
        f"{PUBLISHED_ROWS:,} images: SYMSOL's plain solids without duplicates, as its authors reduced them.",
        citation=f"{pairs.CITATION}\n\n{symsol.NATIVE.citation}",
        license="unstated",
        redistributable=False,
        homepage="https://data.kent.ac.uk/436/",
        defects=(
            "How images were reduced and which counted as duplicates is not published.",
            "The authors' code takes files in the order of the file system; here rows are sorted.",
        ),
    ),
    default="published",
)
