"""Cars3D, from a tar file of MATLAB 5 files as published, with fewer cars and views."""

from __future__ import annotations

import io
import tarfile

import numpy as np
import pytest
import scipy.io
from PIL import Image

from benchmark_data.datasets.cars3d import DATASET, TAR
from benchmark_data.errors import DamagedFile

SIZES = (2, 3, 4)
NAMES = ["car_010_mesh", "car_002_mesh", "car_199_mesh", "car_001_mesh"]


def pixels(car):
    """The array ``im`` of one car: height, width, channel, azimuth, elevation."""
    return np.random.default_rng(car).integers(0, 256, (128, 128, 3, 3, 2), dtype=np.uint8)


def matlab(content):
    stream = io.BytesIO()
    scipy.io.savemat(stream, {"im": content, "mask": content[:, :, 0]}, format="5", do_compression=True)
    return stream.getvalue()


def write(folder, members, links=()):
    with tarfile.open(folder / TAR.name, "w:gz") as archive:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        for name, goal in links:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.SYMTYPE, goal
            archive.addfile(info)


def members(names=NAMES):
    """The members as published: other data sets beside the cars, and the list somewhere among them."""
    cars = [(f"data/cars/{name}.mat", matlab(pixels(NAMES.index(name)))) for name in sorted(names)]
    listing = ("data/cars/list.txt", "".join(f"{name}\n" for name in names).encode())
    return [("data/shapes48.mat", b"other data"), *cars[:2], listing, *cars[2:], ("data/sprites/1.mat", b"more")]


def test_cars_follow_the_list_and_views_the_grid(shrink, tmp_path):
    small = shrink(DATASET.configs["native"], SIZES)
    write(tmp_path, members())
    small.prepare(manual_dir=tmp_path)
    for row, (elevation, azimuth, car) in enumerate(small.labels(range(24))):
        assert np.array_equal(small.images([row])[0], pixels(car)[:, :, :, azimuth, elevation])
    assert small.labels([1]).tolist() == [[0, 0, 1]]
    assert small.source.store().meta["notes"] == {"list.txt is sorted": False}


@pytest.mark.parametrize("method", ["lanczos", "bilinear"])
def test_the_reduced_sets_are_pillows(shrink, tmp_path, method):
    small = shrink(DATASET.configs[f"64_{method}"], SIZES)
    write(tmp_path, members())
    small.prepare(manual_dir=tmp_path)
    base = Image.fromarray(small.source.base.images([5])[0])
    expected = base.resize((64, 64), Image.Resampling[method.upper()])
    assert np.array_equal(small.images([5])[0], np.asarray(expected))
    assert small.labels([5]).tolist() == [[0, 1, 1]]


def test_disentanglement_libs_thumbnail_is_the_lanczos_set(shrink, tmp_path):
    # disentanglement_lib calls thumbnail((64, 64), ANTIALIAS), which later Pillows name LANCZOS.
    small = shrink(DATASET.configs["64_lanczos"], SIZES)
    write(tmp_path, members())
    small.prepare(manual_dir=tmp_path)
    thumbnail = Image.fromarray(small.source.base.images([7])[0])
    thumbnail.thumbnail((64, 64), Image.Resampling.LANCZOS)
    assert np.array_equal(small.images([7])[0], np.asarray(thumbnail))


def test_the_declaration():
    assert [len(d) for d in DATASET.configs.values()] == [17_568] * 3
    native = DATASET.configs["native"]
    assert native.space.sizes == (4, 24, 183)
    assert native.values([24 * 183 + 183 + 1]).tolist() == [[1, 15, 1]]
    assert DATASET.find({"image_size": 64, "filter": "lanczos"}).id == "cars3d/64_lanczos"


def without_a_car():
    return [m for m in members() if m[0] != "data/cars/car_199_mesh.mat"], ()


def with_a_car_twice():
    return [*members(), members()[1]], ()


def without_a_list():
    return [m for m in members() if m[0] != "data/cars/list.txt"], ()


def with_a_longer_list():
    return members([*NAMES, "car_010_mesh"]), ()


def with_another_shape():
    return [*without_a_car()[0], ("data/cars/car_199_mesh.mat", matlab(pixels(0)[:64]))], ()


def with_floats():
    return [*without_a_car()[0], ("data/cars/car_199_mesh.mat", matlab(pixels(0) / 255.0))], ()


def with_rubbish():
    return [*without_a_car()[0], ("data/cars/car_199_mesh.mat", b"rubbish" * 100)], ()


def with_a_link():
    return without_a_car()[0], [("data/cars/car_199_mesh.mat", "/etc/passwd")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (without_a_car, "expected 24 images with labels, received 18; the first missing row is 2"),
        (with_a_car_twice, "expected each row once, received the same row twice"),
        (without_a_list, "expected 4 different names in data/cars/list.txt, received 0, 0 different"),
        (with_a_longer_list, "expected 4 different names in data/cars/list.txt, received 5, 4 different"),
        (with_another_shape, r"uint8 of shape \(128, 128, 3, 3, 2\) in .*199.*, received uint8 of shape \(64, 128"),
        (with_floats, r"expected uint8 of shape .*, received float64"),
        (with_rubbish, "expected a readable archive"),
        (with_a_link, "expected data/cars/car_199_mesh.mat to be a file, received a link"),
    ],
)
def test_a_file_that_is_another_is_refused(shrink, tmp_path, content, message):
    small = shrink(DATASET.configs["native"], SIZES)
    write(tmp_path, *content())
    with pytest.raises(DamagedFile, match=message):
        small.prepare(manual_dir=tmp_path)
    assert not small.source.folder.exists()


def test_a_tar_file_that_was_cut_off_is_refused(shrink, tmp_path):
    small = shrink(DATASET.configs["native"], SIZES)
    write(tmp_path, members())
    (tmp_path / TAR.name).write_bytes((tmp_path / TAR.name).read_bytes()[:100_000])
    with pytest.raises(DamagedFile, match="expected a readable archive, received ReadError"):
        small.prepare(manual_dir=tmp_path)
