"""Symsol_reduced: the five plain solids of SYMSOL, small, grey and without duplicates.

Bonheme and Grzes, "How good are variational autoencoders at transfer learning?", arXiv 2304.10767. ``published`` is
their archive. ``rederived`` is made from SYMSOL by a recipe given here, because theirs is not published: which filter
reduced the images, and what counted as a duplicate, is not known. It is another set unless it happens to hold as many
images, and even then that is no proof; what was found is recorded when it is prepared.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import re
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmark_data import console, effects
from benchmark_data.archives.archive import Archive, Cached, Distribution
from benchmark_data.archives.containers import damaged, reading, zip_members
from benchmark_data.archives.downloads import Download
from benchmark_data.archives.store import Writer, decoded, pixels
from benchmark_data.dataset import Dataset, Family
from benchmark_data.datasets import symsol
from benchmark_data.factors import Factor, FactorTable, Indices
from benchmark_data.sources import Images

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

    def wanted(name: str) -> bool:
        return name.endswith(".png") and "__MACOSX" not in name

    order: list[tuple[int, list[int], str]] = []
    with reading(path), zipfile.ZipFile(path) as packed:
        names = [info.filename for info in packed.infolist() if wanted(info.filename)]
    for name in names:
        file = name.rpartition("/")[2]
        # The authors look for the solid in the whole path.
        label = next((i for text in (file, name) for i, shape in enumerate(shapes) if shape in text), None)
        if label is None:
            raise damaged(path, f"files named after {', '.join(shapes)}", name)
        order.append((label, [int(number) for number in re.findall(r"\d+", file)], name))
    if len(order) != archive.rows:
        raise damaged(path, f"{archive.rows:,} images", f"{len(order):,}")
    rows = {name: row for row, (_, _, name) in enumerate(sorted(order))}
    writer.labels(np.arange(len(order)), np.array([label for label, *_ in sorted(order)])[:, None])
    for name, content in zip_members(path, wanted, limit=2**24):
        with reading(path), decoded(content) as image:
            if image.size != (width, height):
                raise damaged(path, f"images of {width} x {height}", f"{name} of {image.size[0]} x {image.size[1]}")
            writer.images(np.array([rows[name]]), pixels(image, 1)[None])
    counts = np.bincount([label for label, *_ in order], minlength=len(shapes))
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


@dataclasses.dataclass(frozen=True, kw_only=True)
class Rederived(Cached):
    """SYMSOL's plain solids, grey, 64 x 64, each image once. How many there are is found when it is prepared.

    The recipe: go through the rows of SYMSOL in order, training split first, leaving out marked solids; turn to grey by
    Pillow's ``convert("L")``; reduce by Pillow's Lanczos filter; drop every image that equals an earlier one in all
    pixels, of whatever solid.

    Args:
        base: SYMSOL.
    """

    base: Dataset

    @functools.cached_property
    def space(self) -> FactorTable:
        """The solid, for as many rows as were found."""
        return _Found(self)

    def _prepare_base(self, **options: Any) -> None:
        self.base.prepare(**options)

    def _build(self, manual_dir: Path | None, timeout: float, keep_downloads: bool) -> None:
        plain = np.flatnonzero(self.base.labels(range(len(self.base)))[:, 0] < len(SHAPES))
        seen: set[bytes] = set()
        kept: list[int] = []
        # All of them at most: 1 GB, of which only the pages that are written take memory.
        images = np.empty((len(plain), *self.image_shape), np.uint8)
        with console.progress() as progress:
            task = progress.add_task(f"{self.id}: looking for duplicates", total=len(plain))
            for rows, batch in _reduced(self.base, plain):
                for row, image in zip(rows.tolist(), batch, strict=True):
                    digest = hashlib.sha256(image.tobytes()).digest()
                    if digest not in seen:
                        seen.add(digest)
                        images[len(kept)] = image
                        kept.append(row)
                progress.advance(task, len(rows))

        def fill(writer: Writer) -> None:
            for start in range(0, len(kept), 4096):
                rows = np.arange(start, min(start + 4096, len(kept)))
                writer.images(rows, images[rows])
                writer.labels(rows, self.base.labels(np.array(kept)[rows]))
            writer.notes["as many images as the published set"] = len(kept) == PUBLISHED_ROWS
            writer.notes["rows of symsol before duplicates were dropped"] = len(plain)

        self._write(fill, [{"dataset": self.base.id, "version": self.base.version}], rows=len(kept))


class _Found(FactorTable):
    """A table as long as the prepared form; empty until there is one."""

    def __init__(self, source: Cached) -> None:
        super().__init__(FACTOR, rows=0, read=source.label_table)
        self._source = source

    def __len__(self) -> int:
        return self._source.store().rows if self._source.ready else 0


class _Everything(Mapping[str, range]):
    """One split ``train`` of all rows, however many there turn out to be."""

    def __init__(self, space: FactorTable) -> None:
        self._space = space

    def __getitem__(self, name: str) -> range:
        return {"train": range(len(self._space))}[name]

    def __iter__(self) -> Iterator[str]:
        return iter(("train",))

    def __len__(self) -> int:
        return 1


def _reduced(base: Dataset, rows: Indices) -> Iterator[tuple[Indices, Images]]:
    """Go through rows of SYMSOL, grey and 64 x 64."""
    import PIL.Image

    for batch, images in base.batches(rows):
        out = np.empty((len(batch), 64, 64, 1), np.uint8)
        for i, image in enumerate(images):
            grey = PIL.Image.fromarray(image).convert("L")
            out[i, :, :, 0] = np.asarray(grey.resize((64, 64), PIL.Image.Resampling.LANCZOS))
        yield batch, out


def _dataset(source: Archive | Rederived, description: str, *defects: str) -> Dataset:
    config = source.id.partition("/")[2]
    return Dataset(
        name="symsol_reduced",
        config=config,
        parameters={"origin": config},
        version=source.version,
        space=source.space,
        source=source,
        image_shape=source.image_shape,
        splits=_Everything(source.space) if isinstance(source, Rederived) else {},
        description=f"Tetrahedra, cubes, icosahedra, cones and cylinders at random rotations, grey. {description}",
        citation=f"""@article{{bonheme2023transfer,
  title = {{How good are variational autoencoders at transfer learning?}},
  author = {{Bonheme, Lisa and Grzes, Marek}},
  year = {{2023}},
  eprint = {{2304.10767}},
  archivePrefix = {{arXiv}}
}}

{symsol.NATIVE.citation}""",
        license="unstated",
        people=False,
        photographs=False,
        redistributable=False,
        homepage="https://data.kent.ac.uk/436/",
        effects=effects.as_published(source.space.names),
        defects=defects,
    )


DATASET = Family(
    _dataset(
        ARCHIVE,
        f"{PUBLISHED_ROWS:,} images: SYMSOL's plain solids without duplicates, as its authors reduced them.",
        "How images were reduced and which counted as duplicates is not published.",
        "The authors' code takes files in the order of the file system; here rows are sorted.",
    ),
    _dataset(
        Rederived(id="symsol_reduced/rederived", version="1.0.0", image_shape=(64, 64, 1), base=symsol.NATIVE),
        "Made from SYMSOL by a recipe of our own: grey, Lanczos to 64 x 64, exact duplicates dropped.",
        "This is not the published set, whose recipe is unknown. Whether it has as many images, "
        f"{PUBLISHED_ROWS:,}, is recorded when it is prepared; before that it is empty.",
    ),
    default="published",
)
