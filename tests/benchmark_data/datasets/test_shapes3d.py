"""Shapes3D, from files in the published form on a smaller grid."""

from __future__ import annotations

import h5py
import numpy as np
import pytest

from benchmark_data.archives import containers
from benchmark_data.archives.checks import PublishedStatistics
from benchmark_data.archives.containers import hdf5_slabs
from benchmark_data.datasets.shapes3d import DATASET, HDF5, NPZ
from benchmark_data.errors import DamagedFile
from benchmark_data.inspect.published import RANDOM_PAIR

SIZES = (2, 3, 2, 2, 4, 3)


def arrays():
    """The arrays of the published file: pixels, and labels that hold values, not classes; orientation fastest."""
    classes = np.stack(np.unravel_index(np.arange(np.prod(SIZES)), SIZES), axis=1)
    labels = np.stack([np.array(f.values)[classes[:, i]] for i, f in enumerate(DATASET.space.factors)], axis=1)
    return np.random.default_rng(0).integers(0, 256, (len(classes), 64, 64, 3), dtype=np.uint8), labels


def write_hdf5(folder, images, labels):
    with h5py.File(folder / HDF5.name, "w") as file:
        file.create_dataset("images", data=images, chunks=(50, 16, 16, 1), compression="gzip")
        file["labels"] = labels


def write_npz(folder, images, labels):
    np.savez(folder / NPZ.name, images=images, labels=labels)


@pytest.mark.parametrize("write", [write_hdf5, write_npz])
def test_both_forms_give_the_same_dataset(shrink, tmp_path, monkeypatch, write):
    monkeypatch.setattr(containers, "SLAB", 100 * 6 * 8)  # several slabs of labels, and of images
    small = shrink(DATASET, SIZES)
    images, labels = arrays()
    write(tmp_path, images, labels)
    small.prepare(manual_dir=tmp_path)
    assert np.array_equal(small.images(range(len(small))), images)
    assert np.allclose(small.values(range(len(small))), labels)


def test_the_declaration():
    assert len(DATASET) == 480_000
    # The last value of each factor, as loaders that name the file's contents give it.
    assert DATASET.values([479_999])[0].tolist() == pytest.approx([0.9, 0.9, 0.9, 1.25, 3, 30])
    assert DATASET.space.factors[3].values[1] == pytest.approx(0.82142857)


def test_labels_in_another_order_are_refused(shrink, tmp_path):
    small = shrink(DATASET, SIZES)
    images, labels = arrays()
    write_hdf5(tmp_path, images, labels[::-1])
    with pytest.raises(DamagedFile, match="labels that count through the grid's values, orientation fastest"):
        small.prepare(manual_dir=tmp_path)


def test_an_hdf5_file_that_points_to_another_file_is_refused(shrink, tmp_path):
    small = shrink(DATASET, SIZES)
    images, labels = arrays()
    with h5py.File(tmp_path / "elsewhere.h5", "w") as file:
        file["images"] = images
    with h5py.File(tmp_path / HDF5.name, "w") as file:
        file["labels"], file["images"] = labels, h5py.ExternalLink("elsewhere.h5", "/images")
        file["group"] = h5py.ExternalLink("elsewhere.h5", "/")
    with pytest.raises(DamagedFile, match=r"expected an array images stored in this file, received .*ExternalLink"):
        small.prepare(manual_dir=tmp_path)
    with pytest.raises(DamagedFile, match="expected an array group/images stored in this file"):
        hdf5_slabs(tmp_path / HDF5.name, "group/images")


def test_pixels_at_other_distances_are_refused(shrink, tmp_path):
    # Independent noise: any two images lie 2 * variance of the uniform distribution on 0 .. 255 apart.
    apart = 2 * (256**2 - 1) / 12 / 255**2
    small = shrink(DATASET, SIZES, statistics=PublishedStatistics(distances={"wall_hue": apart, RANDOM_PAIR: apart}))
    write_hdf5(tmp_path, *arrays())
    small.prepare(manual_dir=tmp_path)
    measured = small.source.store().meta["measured"]["distances"]
    assert measured == {"wall_hue": pytest.approx(apart, rel=0.01), RANDOM_PAIR: pytest.approx(apart, rel=0.01)}
    other = shrink(
        DATASET, SIZES, statistics=PublishedStatistics(distances={"scale": 0.1}), archive={"version": "2.0.0"}
    )
    message = (
        r"mean squared error of 0.1 between images that differ in scale \(disent 0.8.0; .* table A1\), received 0.16"
    )
    with pytest.raises(DamagedFile, match=message):
        other.prepare(manual_dir=tmp_path)
