"""SYMSOL (symmetric solids): eight solids at random rotations, five without and three with a mark.

Murphy, Esteves, Jampani, Ramalingam and Makadia, "Implicit-PDF: Non-Parametric Representation of Probability
Distributions on the Rotation Manifold", ICML 2021 (arXiv 2106.05965). Rows are sorted by split, solid and number. Only
the rendered rotation is kept; the equivalent ones, up to 720 per image, follow from it and the symmetry of the solid.
"""

from __future__ import annotations

import re
import shutil
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from benchmark_data.archives.archive import Archive, Cached, Distribution, reduced_archive
from benchmark_data.archives.containers import damage, damaged_file_on_error, npz_slabs, zip_members
from benchmark_data.archives.downloads import Download
from benchmark_data.archives.store import Writer, require_space
from benchmark_data.dataset import Dataset, Family
from benchmark_data.factors import Factor
from benchmark_data.files import unwritable
from benchmark_data.types import Extra

ZIP = Download(
    name="symsol_dataset.zip",
    urls=("https://storage.googleapis.com/gresearch/implicit-pdf/symsol_dataset.zip",),
    size=3_328_555_013,
    sha256="d47c397d9a7091bff186aa47aef56ac0ae0136f1693a05797173b4c556a37f03",
    note="Google's bucket; in good health.",
)
ROTATIONS_LIMIT = 2**34
"""Unpacked bytes of the rotations of a split, at most."""


def read(archive: Archive, files: Mapping[str, Path], writer: Writer) -> None:
    """Read the rotations, which determine the number of images of each solid, and copy the images."""
    (path,) = files.values()
    shapes = archive.factors[0].labels
    first_rows: dict[tuple[str, str], int] = {}
    for split, rows in archive.splits.items():
        row = rows.start
        npz_path = writer.folder / "rotations.npz"
        _unpack(path, f"{split}/rotations.npz", npz_path)
        for label, shape in enumerate(shapes):
            first_rows[split, shape] = row
            row = _write_rotations(path, npz_path, shape, label, row, rows.stop, writer)
        npz_path.unlink()
        if row != rows.stop:
            raise damage(path, f"{len(rows)} rotations in {split}", f"{row - rows.start}")
    pattern = re.compile(r"(?:.*/)?(\w+)/images/([A-Za-z]+)_(\d+)\.png")
    for name, content in zip_members(path, lambda name: pattern.fullmatch(name) is not None):
        split, shape, number = pattern.fullmatch(name).groups()  # type: ignore[union-attr]  # it was asked already
        if (split, shape) not in first_rows:
            raise damage(path, f"images of {', '.join(shapes)} in {', '.join(archive.splits)}", name)
        with damaged_file_on_error(path):
            writer.file(first_rows[split, shape] + int(number), content)


def _unpack(path: Path, member: str, target: Path) -> None:
    """Copy a member to a file with a safe name, since it is itself an archive, too large for memory."""
    with damaged_file_on_error(path), zipfile.ZipFile(path) as archive:
        info = archive.getinfo(member)
        if info.file_size > ROTATIONS_LIMIT:
            raise damage(path, f"members of at most {ROTATIONS_LIMIT:,} bytes", f"{member} of {info.file_size:,}")
        require_space(target, info.file_size)
        try:
            with archive.open(info) as stream, target.open("wb") as file:
                shutil.copyfileobj(stream, file, 2**20)
        except OSError as error:  # such as a full disk; damaged bytes raise other errors
            raise unwritable(target, error) from error


def _write_rotations(path: Path, npz_path: Path, shape: str, label: int, row: int, stop: int, writer: Writer) -> int:
    """Write labels and rotations of one solid, and return the row after its last."""
    array = npz_slabs(npz_path, shape)
    if len(array.shape) != 4 or array.shape[2:] != (3, 3) or array.dtype.kind != "f" or row + array.shape[0] > stop:
        raise damage(path, f"rotations of {shape}, each with its equivalents", f"shape {array.shape}")
    for start, slab in array.slabs:
        rotations = slab[:, 0].astype(np.float32)
        if not np.allclose(rotations @ rotations.transpose(0, 2, 1), np.eye(3), atol=1e-3):
            raise damage(path, f"rotations of {shape}", "matrices that are none")
        rows = row + start + np.arange(len(slab))
        writer.labels(rows, np.full((len(slab), 1), label))
        writer.extra("rotation", rows, rotations)
    return row + array.shape[0]


ARCHIVE = Archive(
    id="symsol/native",
    version="1.0.0",
    image_shape=(224, 224, 3),
    encoding="files",
    factors=(
        Factor(
            "shape",
            range(8),
            "categorical",
            labels=("tet", "cube", "icosa", "cone", "cyl", "tetX", "cylO", "sphereX"),
        ),
    ),
    rows=400_000,
    grid=False,
    splits={"train": range(360_000), "test": range(360_000, 400_000)},
    arrays={"rotation": Extra((3, 3), "float32", "rotation matrix that was rendered")},
    distributions=(Distribution((ZIP,), read),),
)


def _dataset(source: Cached, method: str, description: str) -> Dataset:
    return source.dataset(
        parameters={"image_size": source.image_shape[0], "filter": method},
        description=(
            "Tetrahedron, cube, icosahedron, cone and cylinder without marks, and a tetrahedron, a cylinder and a "
            f"sphere with one, 50,000 images each at uniformly random rotations, which are given. {description}"
        ),
        citation="""@inproceedings{murphy2021implicit,
  title = {Implicit-{PDF}: Non-Parametric Representation of Probability Distributions on the Rotation Manifold},
  author = {Murphy, Kieran A. and Esteves, Carlos and Jampani, Varun and Ramalingam, Srikumar and Makadia, Ameesh},
  booktitle = {Proceedings of the 38th International Conference on Machine Learning},
  year = {2021},
  eprint = {2106.05965},
  archivePrefix = {arXiv}
}""",
        license="unstated",
        redistributable=False,
        homepage="https://implicit-pdf.github.io",
        defects=(
            "Many images of the plain solids are equal or nearly so, since their symmetries leave few different views.",
            "The source gives the code's licence (Apache-2.0) and none for the data.",
            "Of the equivalent rotations in the source only the rendered one is kept.",
        ),
    )


NATIVE = _dataset(ARCHIVE, "none", "224 x 224, as published.")

DATASET = Family(
    NATIVE,
    _dataset(
        reduced_archive(NATIVE, "symsol/64_lanczos", "lanczos"),
        "lanczos",
        "Reduced to 64 x 64 by Pillow's Lanczos filter.",
    ),
    default="native",
)
