"""The published files of dSprites. `dsprites` needs no download; preparing this one compares both in every pixel.

The file is read as HDF5, or as npz without its pickled metadata, whose contents are known. The factor colour is left
out, since it has one value.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from benchmark_data.archives.archive import Archive, Distribution
from benchmark_data.archives.checks import PublishedStatistics
from benchmark_data.archives.containers import Slabs, damage, hdf5_slabs, npz_slabs
from benchmark_data.archives.downloads import Download
from benchmark_data.archives.store import Writer
from benchmark_data.datasets import dsprites
from benchmark_data.inspect.published import PUBLISHED, PUBLISHED_MEANS

HDF5 = Download(
    name="dsprites_ndarray_co1sh3sc6or40x32y32_64x64.hdf5",
    urls=(
        "https://raw.githubusercontent.com/google-deepmind/dsprites-dataset/"
        "fa310c66517cfc1939d77fe17c725154efc97127/dsprites_ndarray_co1sh3sc6or40x32y32_64x64.hdf5",
        "https://github.com/deepmind/dsprites-dataset/raw/master/dsprites_ndarray_co1sh3sc6or40x32y32_64x64.hdf5",
    ),
    size=28_024_106,
    sha256="729fa22e884c9c500e1f17415d580746b4c5894fbbb780a1319bbcfa39a745bb",
    md5="b331c4447a651c44bf5e8ae09022e230",
    note="GitHub, pinned to the last commit (2017); in good health.",
)
NPZ = Download(
    name="dsprites_ndarray_co1sh3sc6or40x32y32_64x64.npz",
    urls=tuple(url.replace(".hdf5", ".npz") for url in HDF5.urls),
    md5="7da33b31b13a06f4b04a70402ce90c2e",
    note="GitHub, pinned to the last commit (2017); in good health. No SHA-256 is published.",
)
BLOCK = 4096
"""Images compared with drawn ones at a time."""


def read_hdf5(archive: Archive, files: Mapping[str, Path], writer: Writer) -> None:
    """Read the HDF5 form."""
    (path,) = files.values()
    # Only slabs of whole chunks are fast: a chunk is 23,040 images deep and 2 x 4 pixels wide.
    _read(archive, path, writer, *(hdf5_slabs(path, name) for name in ("imgs", "latents/classes", "latents/values")))


def read_npz(archive: Archive, files: Mapping[str, Path], writer: Writer) -> None:
    """Read the npz form. Its member ``metadata`` is a pickle and is not read."""
    (path,) = files.values()
    _read(archive, path, writer, *(npz_slabs(path, name) for name in ("imgs", "latents_classes", "latents_values")))


def _read(archive: Archive, path: Path, writer: Writer, images: Slabs, classes: Slabs, values: Slabs) -> None:
    space, rows = archive.space, archive.rows
    height, width, _ = archive.image_shape
    images.check(path, "imgs", (rows, height, width), "u")
    classes.check(path, "latents_classes", (rows, 1 + len(space.factors)), "iu")
    values.check(path, "latents_values", (rows, 1 + len(space.factors)), "f")
    for start, slab in classes.slabs:
        if slab[:, 0].any() or not np.array_equal(slab[:, 1:], space.labels(start + np.arange(len(slab)))):
            raise damage(path, "classes that count through the grid, posY fastest", f"others in or after row {start}")
    for start, slab in values.slabs:
        if not np.allclose(slab[:, 1:], space.values(space.labels(start + np.arange(len(slab)))), rtol=0, atol=1e-5):
            raise damage(path, "the published values of the factors", f"others in or after row {start}")
    differences = []
    for start, slab in images.slabs:
        if slab.max() > 1:
            raise damage(path, "pixels of 0 and 1", f"pixels up to {slab.max()}")
        for i in range(0, len(slab), BLOCK):
            block = slab[i : i + BLOCK, ..., None] * np.uint8(255)
            block_rows = start + i + np.arange(len(block))
            writer.images(block_rows, block)
            differences.append(np.count_nonzero(block != dsprites.render(space.labels(block_rows)), axis=(1, 2, 3)))
    differing_pixels = np.concatenate(differences)
    writer.notes["images that differ from dsprites"] = int(np.count_nonzero(differing_pixels))
    writer.notes["pixels that differ from dsprites"] = int(differing_pixels.sum())


ARCHIVE = Archive(
    id="dsprites_archive",
    version="1.0.0",
    image_shape=dsprites.DATASET.image_shape,
    encoding="bits",
    factors=dsprites.SPACE.factors,
    rows=737_280,
    distributions=(Distribution((HDF5,), read_hdf5), Distribution((NPZ,), read_npz)),
    statistics=PublishedStatistics(means=PUBLISHED_MEANS["dsprites"], tolerance=1e-7, distances=PUBLISHED["dsprites"]),
)

DATASET = dataclasses.replace(
    dsprites.DATASET,
    name="dsprites_archive",
    source=ARCHIVE,
    description=(
        "dSprites from its published files. Preparing it counts the pixels that differ from `dsprites`, which is drawn "
        "on this machine; `offaxis data prepare dsprites_archive` prints the count."
    ),
    defects=dsprites.DATASET.defects[:-1],  # the last is about images that were not compared
)
