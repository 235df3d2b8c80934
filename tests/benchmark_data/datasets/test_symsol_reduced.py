"""Symsol_reduced: the published archive with fewer images, and what is derived from SYMSOL."""

from __future__ import annotations

import zipfile

import numpy as np
import pytest

from benchmark_data.datasets.symsol_reduced import DATASET
from benchmark_data.errors import DamagedFile

NAMES = ["tet_2", "tet_10", "cube_00003", "icosa_7", "cone_1", "cone_0", "cyl_12"]
SORTED = ["tet_2", "tet_10", "cube_00003", "icosa_7", "cone_0", "cone_1", "cyl_12"]


def picture(name, size=64):
    return np.random.default_rng(list(name.encode())).integers(0, 256, (size, size), dtype=np.uint8)


def write(folder, png, names=NAMES, **changed):
    with zipfile.ZipFile(folder / "symsol_reduced.zip", "w") as archive:
        archive.writestr("__MACOSX/symsol_reduced/._tet_2.png", b"what a Mac leaves")
        for name in names:
            archive.writestr(f"symsol_reduced/{name}.png", changed.get(name, png(picture(name))))


@pytest.fixture
def small(shrink):
    return shrink(DATASET.configs["published"], archive={"rows": 7})


def test_rows_are_sorted_by_solid_and_number(small, tmp_path, png_bytes):
    write(tmp_path, png_bytes)
    small.prepare(manual_dir=tmp_path)
    assert np.array_equal(small.images(range(7))[..., 0], [picture(name) for name in SORTED])
    assert small.labels(range(7))[:, 0].tolist() == [0, 0, 1, 2, 3, 3, 4]
    counts = small.source.store().meta["notes"]["images of each shape"]
    assert counts == {"tet": 2, "cube": 1, "icosa": 1, "cone": 2, "cyl": 1}


def test_grey_images_stored_as_colour_are_the_same(small, tmp_path, png_bytes):
    colour = np.repeat(picture("tet_2")[:, :, None], 3, axis=2)
    write(tmp_path, png_bytes, tet_2=png_bytes(colour))
    small.prepare(manual_dir=tmp_path)
    assert np.array_equal(small.images([0])[0, :, :, 0], picture("tet_2"))


@pytest.mark.parametrize(
    ("names", "changed", "message"),
    [
        (NAMES[:-1], {}, "expected 7 images, received 6"),
        ([*NAMES[:-1], "torus_1"], {}, "expected files named after tet, .*, received symsol_reduced/torus_1.png"),
        (NAMES, {"tet_2": 63}, "expected images of 64 x 64, received symsol_reduced/tet_2.png of 63 x 63"),
    ],
)
def test_archives_that_are_others_are_refused(small, tmp_path, png_bytes, names, changed, message):
    write(tmp_path, png_bytes, names, **{name: png_bytes(picture(name, size)) for name, size in changed.items()})
    with pytest.raises(DamagedFile, match=message):
        small.prepare(manual_dir=tmp_path)
