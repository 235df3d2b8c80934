"""Shapes3D (3dshapes): one coloured object in a room, seen from the front.

Burgess and Kim, "3D Shapes Dataset", 2018; first used in Kim and Mnih, "Disentangling by Factorising", ICML 2018. The
values are those in the file; its README is wrong that hues reach 1 and that scale ranges from 0 to 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from benchmark_data.archives.archive import Archive, Distribution
from benchmark_data.archives.checks import PublishedStatistics
from benchmark_data.archives.containers import Slabs, damage, hdf5_slabs, npz_slabs
from benchmark_data.archives.downloads import Download
from benchmark_data.archives.store import Writer
from benchmark_data.dataset import CHUNK
from benchmark_data.factors import Factor
from benchmark_data.inspect.published import PUBLISHED, PUBLISHED_MEANS

HDF5 = Download(
    name="3dshapes.h5",
    urls=("https://storage.googleapis.com/3d-shapes/3dshapes.h5",),
    size=267_573_662,
    sha256="0a0f6ed98baff276a50f3a081a7434d788da63cb135a98189b2a5b5769be1785",
    md5="099a2078d58cec4daad0702c55d06868",
    note="DeepMind's bucket; in good health.",
)
NPZ = Download(
    name="shapes3d.npz",
    urls=("https://huggingface.co/datasets/randall-lab/shapes3d/resolve/main/shapes3d.npz",),
    note="A re-packed copy by others, without a published hash; known by its arrays alone.",
)


def read_hdf5(archive: Archive, files: Mapping[str, Path], writer: Writer) -> None:
    """Read the HDF5 form."""
    (path,) = files.values()
    _read(archive, path, writer, hdf5_slabs(path, "images"), hdf5_slabs(path, "labels"))


def read_npz(archive: Archive, files: Mapping[str, Path], writer: Writer) -> None:
    """Read the npz form."""
    (path,) = files.values()
    _read(archive, path, writer, npz_slabs(path, "images"), npz_slabs(path, "labels"))


def _read(archive: Archive, path: Path, writer: Writer, images: Slabs, labels: Slabs) -> None:
    space, rows = archive.space, archive.rows
    images.check(path, "images", (rows, *archive.image_shape), "u")
    labels.check(path, "labels", (rows, len(space.factors)), "fiu")
    for start, slab in labels.slabs:
        expected = space.values(space.labels(start + np.arange(len(slab))))
        if not np.allclose(slab, expected, rtol=0, atol=1e-5):
            raise damage(
                path, "labels that count through the grid's values, orientation fastest", f"others after row {start}"
            )
    for start, slab in images.slabs:
        for i in range(0, len(slab), CHUNK):
            block = slab[i : i + CHUNK]
            writer.images(start + i + np.arange(len(block)), block)


def _hue_factor(name: str) -> Factor:
    return Factor(name, (np.arange(10) / 10).tolist(), "cyclic", unit="turn")


ARCHIVE = Archive(
    id="shapes3d",
    version="1.0.0",
    image_shape=(64, 64, 3),
    factors=(
        _hue_factor("floor_hue"),
        _hue_factor("wall_hue"),
        _hue_factor("object_hue"),
        Factor("scale", np.linspace(0.75, 1.25, 8).tolist(), "ordinal"),
        Factor("shape", range(4), "categorical", labels=("cube", "cylinder", "sphere", "capsule")),
        Factor("orientation", np.linspace(-30, 30, 15).tolist(), "ordinal", unit="deg"),
    ),
    rows=480_000,
    distributions=(Distribution((HDF5,), read_hdf5), Distribution((NPZ,), read_npz)),
    statistics=PublishedStatistics(means=PUBLISHED_MEANS["shapes3d"], distances=PUBLISHED["shapes3d"]),
)

DATASET = ARCHIVE.dataset(
    description=(
        "A room with a cube, cylinder, sphere or capsule in 8 sizes, seen from 15 angles; floor, walls and object each "
        "in 10 hues. Every combination once."
    ),
    citation="""@misc{3dshapes18,
  title = {3D Shapes Dataset},
  author = {Burgess, Chris and Kim, Hyunjik},
  howpublished = {https://github.com/deepmind/3dshapes-dataset/},
  year = {2018}
}""",
    license="Apache-2.0",
    homepage="https://github.com/google-deepmind/3d-shapes",
    defects=(
        "The source's README gives hues and scale as spanning [0, 1]; the file holds hues 0 to 0.9 "
        "and scales 0.75 to 1.25.",
    ),
)
