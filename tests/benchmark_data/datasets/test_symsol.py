"""SYMSOL, from a zip of PNG files and rotations as published, with fewer views."""

from __future__ import annotations

import functools
import io
import zipfile

import numpy as np
import pytest
import scipy.spatial.transform
from PIL import Image

from benchmark_data.datasets.symsol import DATASET
from benchmark_data.errors import DamagedFile, InvalidInput
from benchmark_data.publish.verify import verify

SHAPES = ("tet", "cube", "icosa", "cone", "cyl", "tetX", "cylO", "sphereX")
EQUIVALENT = {"tet": 12, "cube": 24, "icosa": 60, "cone": 360, "cyl": 720}
COUNTS = {"train": 3, "test": 2}
SPLITS = {"train": range(24), "test": range(24, 40)}
ARCHIVE = {"rows": 40, "splits": SPLITS}


def picture(split, shape, number):
    rng = np.random.default_rng([len(split), SHAPES.index(shape), number])
    return np.repeat(rng.integers(0, 256, (224, 224, 1), dtype=np.uint8), 3, axis=2)


@functools.cache
def encoded(png, split, shape, number):
    return png(picture(split, shape, number))


def rotations(split, shape):
    number, equivalent = COUNTS[split], EQUIVALENT.get(shape, 1)
    rng = np.random.default_rng([len(split), SHAPES.index(shape)])
    matrices = scipy.spatial.transform.Rotation.from_quat(rng.standard_normal((number * equivalent, 4))).as_matrix()
    return matrices.reshape(number, equivalent, 3, 3)


def write(folder, png, skip=(), add=(), **changed):
    with zipfile.ZipFile(folder / "symsol_dataset.zip", "w") as archive:
        for split, count in COUNTS.items():
            stream = io.BytesIO()
            np.savez(stream, **{shape: changed.get(shape, rotations(split, shape)) for shape in SHAPES})
            archive.writestr(f"{split}/rotations.npz", stream.getvalue())
            for shape in reversed(SHAPES):
                for number in range(count):
                    name = f"{split}/images/{shape}_{number:05}.png"
                    if name not in skip:
                        archive.writestr(name, encoded(png, split, shape, number))
        for name in add:
            archive.writestr(name, encoded(png, "train", "tet", 0))


def test_rows_are_sorted_by_split_solid_and_number(shrink, tmp_path, png_bytes):
    small = shrink(DATASET.configs["native"], splits=SPLITS, archive=ARCHIVE)
    write(tmp_path, png_bytes)
    small.prepare(manual_dir=tmp_path)
    row = 0
    for split, count in COUNTS.items():
        for label, shape in enumerate(SHAPES):
            for number in range(count):
                assert np.array_equal(small.images([row])[0], picture(split, shape, number))
                assert small.labels([row]).tolist() == [[label]]
                assert np.allclose(small.extra("rotation", [row])[0], rotations(split, shape)[number, 0])
                row += 1
    assert row == 40
    assert small.extra("rotation", [0]).dtype == np.float32


def test_the_reduced_set_is_pillows(shrink, tmp_path, png_bytes):
    small = shrink(DATASET.configs["64_lanczos"], splits=SPLITS, archive=ARCHIVE)
    write(tmp_path, png_bytes)
    small.prepare(manual_dir=tmp_path)
    expected = Image.fromarray(picture("train", "cube", 1)).resize((64, 64), Image.Resampling.LANCZOS)
    assert np.array_equal(small.images([4])[0], np.asarray(expected))
    assert np.allclose(small.extra("rotation", [4])[0], rotations("train", "cube")[1, 0])


def test_the_declaration():
    native = DATASET.configs["native"]
    assert len(native) == 400_000
    assert {name: len(rows) for name, rows in native.splits.items()} == {"train": 360_000, "test": 40_000}
    assert native.space.factors[0].labels == SHAPES


def test_an_image_that_is_missing(shrink, tmp_path, png_bytes):
    small = shrink(DATASET.configs["native"], splits=SPLITS, archive=ARCHIVE)
    write(tmp_path, png_bytes, skip=["train/images/icosa_00001.png"])
    with pytest.raises(DamagedFile, match="expected 40 images with labels, received 39; the first missing row is 7"):
        small.prepare(manual_dir=tmp_path)
    assert not small.source.folder.exists()


@pytest.mark.parametrize("name", ["train/images/torus_00000.png", "validation/images/tet_00000.png"])
def test_an_image_of_something_else(shrink, tmp_path, png_bytes, name):
    small = shrink(DATASET.configs["native"], splits=SPLITS, archive=ARCHIVE)
    write(tmp_path, png_bytes, add=[name])
    with pytest.raises(DamagedFile, match=f"expected images of tet, .* in train, test, received {name}"):
        small.prepare(manual_dir=tmp_path)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (np.ones((3, 12, 3, 3)), "expected rotations of tet, received matrices that are none"),
        (np.ones((3, 3, 3)), r"expected rotations of tet, each with its equivalents, received shape \(3, 3, 3\)"),
        (np.tile(np.eye(3), (30, 1, 1, 1)), r"received shape \(30, 1, 3, 3\)"),
        (np.tile(np.eye(3), (2, 1, 1, 1)), "expected 24 rotations in train, received 23"),
    ],
)
def test_rotations_that_are_others(shrink, tmp_path, png_bytes, changed, message):
    small = shrink(DATASET.configs["native"], splits=SPLITS, archive=ARCHIVE)
    write(tmp_path, png_bytes, tet=changed)
    with pytest.raises(DamagedFile, match=message):
        small.prepare(manual_dir=tmp_path)


def test_a_full_disk_is_not_taken_for_a_damaged_archive(shrink, tmp_path, png_bytes, disk_full):
    small = shrink(DATASET.configs["native"], splits=SPLITS, archive=ARCHIVE)
    write(tmp_path, png_bytes)
    with pytest.raises(InvalidInput, match=r"rotations\.npz: expected a writable path"), disk_full(1000):
        small.prepare(manual_dir=tmp_path)
    assert not small.source.folder.exists()
    small.prepare(manual_dir=tmp_path)


def test_a_full_verification_finds_changed_rotations(shrink, tmp_path, png_bytes):
    small = shrink(DATASET.configs["native"], splits=SPLITS, archive=ARCHIVE)
    write(tmp_path, png_bytes)
    small.prepare(manual_dir=tmp_path)
    assert verify(small, full=True)[0].problem == ""
    path = small.source.folder / "extra_rotation.npy"
    content = bytearray(path.read_bytes())
    content[-1] ^= 0x80
    path.write_bytes(content)
    problem = verify(small, full=True)[0].problem
    assert problem.startswith("extra_rotation.npy was changed since it was prepared: remove ")


@pytest.mark.parametrize("labels", [np.full((40, 1), 8), np.zeros((40, 2), int), np.zeros((40, 1))])
def test_labels_of_a_prepared_form_that_are_none(shrink, tmp_path, png_bytes, labels):
    small = shrink(DATASET.configs["native"], splits=SPLITS, archive=ARCHIVE)
    write(tmp_path, png_bytes)
    small.prepare(manual_dir=tmp_path)
    np.save(small.source.folder / "labels.npy", labels)
    with pytest.raises(DamagedFile, match=r"labels\.npy: factor.* Remove the folder and prepare the dataset again"):
        small.labels([0])
