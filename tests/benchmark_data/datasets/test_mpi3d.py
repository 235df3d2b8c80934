"""MPI3D, from npz files as published, on a smaller grid."""

from __future__ import annotations

import zipfile

import numpy as np
import pytest

from benchmark_data.datasets.mpi3d import DATASET
from benchmark_data.errors import DamagedFile

SIZES = (2, 2, 2, 1, 3, 2, 4)
IMAGES = np.random.default_rng(0).integers(0, 256, (192, 64, 64, 3), dtype=np.uint8)


@pytest.mark.parametrize("config", list(DATASET.configs))
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_rows_follow_the_grid(shrink, tmp_path, config, save):
    small = shrink(DATASET.configs[config], SIZES)
    save(tmp_path / f"{'mpi3d_real_complex' if config == 'complex' else f'mpi3d_{config}'}.npz", images=IMAGES)
    small.prepare(manual_dir=tmp_path)
    assert np.array_equal(small.images(range(192)), IMAGES)
    assert np.array_equal(small.images([191, 0, 5, 5]), IMAGES[[191, 0, 5, 5]])
    labels = small.labels(range(192))
    assert np.array_equal(IMAGES.reshape(*SIZES, 64, 64, 3)[tuple(labels[100])], small.images([100])[0])


def test_the_name_that_the_drive_gives_will_do(shrink, tmp_path):
    small = shrink(DATASET.configs["complex"], SIZES)
    np.savez(tmp_path / "real3d_complicated_shapes_ordered.npz", images=IMAGES)
    small.prepare(manual_dir=tmp_path)
    assert small.prepared


def test_the_declaration():
    assert [len(d) for d in DATASET.configs.values()] == [1_036_800] * 3 + [460_800]
    real = DATASET.configs["real"]
    assert np.array_equal(real.labels([172_800 + 28_800 + 14_400 + 4_800 + 1_600 + 40 + 1]), np.ones((1, 7)))


def whole():
    return {"images": IMAGES}


def fewer():
    return {"images": IMAGES[:-1]}


def floats():
    return {"images": IMAGES.astype(np.float32)}


def objects():
    return {"images": np.array([{"a": 1}], dtype=object)}


def other_name():
    return {"data": IMAGES}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (fewer, r"expected images of shape \(192, 64, 64, 3\) and kind u, received uint8 of shape \(191"),
        (floats, r"received float32 of shape \(192, 64, 64, 3\)"),
        (objects, "expected numbers in images, in C order, received Python objects"),
        (other_name, "received KeyError: .*images.npy"),
    ],
)
def test_another_array_is_refused(shrink, tmp_path, content, message):
    small = shrink(DATASET.configs["toy"], SIZES)
    np.savez(tmp_path / "mpi3d_toy.npz", **content())
    with pytest.raises(DamagedFile, match=message):
        small.prepare(manual_dir=tmp_path)
    assert not small.source.folder.exists()


def test_a_changed_byte_is_found_by_the_checksum(shrink, tmp_path):
    small = shrink(DATASET.configs["toy"], SIZES)
    path = tmp_path / "mpi3d_toy.npz"
    np.savez(path, images=IMAGES)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(DamagedFile, match=r"received BadZipFile: Bad CRC-32 for file 'images.npy'"):
        small.prepare(manual_dir=tmp_path)


@pytest.mark.parametrize(
    ("change", "found"), [(-1, "data that end in or after row 0"), (1, "more bytes than its header states")]
)
def test_an_array_of_another_length_than_it_says_is_refused(shrink, tmp_path, change, found):
    small = shrink(DATASET.configs["toy"], SIZES)
    np.savez(tmp_path / "whole.npz", images=IMAGES)
    with zipfile.ZipFile(tmp_path / "whole.npz") as whole, zipfile.ZipFile(tmp_path / "mpi3d_toy.npz", "w") as other:
        content = whole.read("images.npy")
        other.writestr("images.npy", content[:-1] if change < 0 else content + b"?")
    with pytest.raises(DamagedFile, match=f"expected 192 rows in images, received {found}"):
        small.prepare(manual_dir=tmp_path)


def test_a_column_major_array_is_refused(shrink, tmp_path):
    small = shrink(DATASET.configs["toy"], SIZES)
    np.savez(tmp_path / "mpi3d_toy.npz", images=np.asfortranarray(IMAGES))
    with pytest.raises(DamagedFile, match=r"expected numbers in images, in C order, received .*in Fortran order"):
        small.prepare(manual_dir=tmp_path)
