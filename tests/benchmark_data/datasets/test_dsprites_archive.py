"""The published files of dSprites, in their two forms, on a smaller grid."""

from __future__ import annotations

import h5py
import numpy as np
import pytest

from benchmark_data.archives.checks import PublishedStatistics
from benchmark_data.datasets import dsprites
from benchmark_data.datasets.dsprites_archive import DATASET, HDF5, NPZ
from benchmark_data.errors import DamagedFile

SIZES = (3, 2, 4, 3, 2)


class Trap:
    """Tells when it is unpickled."""

    def __reduce__(self):
        return exec, ("raise SystemExit('unpickled')",)


def arrays():
    """The arrays of the published files: colour, then the grid with posY fastest; pixels of 0 and 1."""
    classes = np.stack(np.unravel_index(np.arange(np.prod(SIZES)), SIZES), axis=1)
    values = np.stack([np.array(f.values)[classes[:, i]] for i, f in enumerate(DATASET.space.factors)], axis=1)
    images = np.random.default_rng(0).integers(0, 2, (len(classes), 64, 64), dtype=np.uint8)
    first = np.zeros((len(classes), 1))
    return images, np.hstack([first, classes]).astype(np.int64), np.hstack([first + 1, values])


def write_hdf5(folder, images, classes, values):
    with h5py.File(folder / HDF5.name, "w") as file:
        # As published: chunks many images deep and few pixels wide, deflated.
        file.create_dataset("imgs", data=images, chunks=(len(images) // 2, 2, 4), compression="gzip")
        file["latents/classes"], file["latents/values"] = classes, values


def write_npz(folder, images, classes, values):
    metadata = np.array({"trap": Trap()}, dtype=object)
    np.savez_compressed(
        folder / NPZ.name, metadata=metadata, imgs=images, latents_classes=classes, latents_values=values
    )


@pytest.mark.parametrize("write", [write_hdf5, write_npz])
def test_both_forms_give_the_same_dataset(shrink, tmp_path, write, monkeypatch):
    monkeypatch.setattr("benchmark_data.datasets.dsprites_archive.BLOCK", 50)
    small = shrink(DATASET, SIZES)
    images, classes, _ = arrays()
    write(tmp_path, *arrays())
    small.prepare(manual_dir=tmp_path)
    assert np.array_equal(small.images(range(len(small))), images[..., None] * 255)
    assert np.array_equal(small.labels(range(len(small))), classes[:, 1:])
    assert small.labels([1]).tolist() == [[0, 0, 0, 0, 1]]
    assert small.values([0, 143])[1].tolist() == pytest.approx([3, 0.6, 3 * 2 * np.pi / 39, 2 / 31, 1 / 31])


def test_preparing_counts_what_differs_from_the_drawn_images(shrink, tmp_path):
    small = shrink(DATASET, SIZES)
    _, *grid = arrays()
    images = dsprites.render(small.labels(range(len(small))))[..., 0] // 255
    images[5, 0, :3] = images[9, 63, 63] = 1
    write_npz(tmp_path, images, *grid)
    small.prepare(manual_dir=tmp_path)
    notes = small.source.store().meta["notes"]
    assert notes == {"images that differ from dsprites": 2, "pixels that differ from dsprites": 4}


def test_pixels_are_kept_as_bits(shrink, tmp_path):
    small = shrink(DATASET, SIZES)
    write_npz(tmp_path, *arrays())
    small.prepare(manual_dir=tmp_path)
    assert (small.source.folder / "bits.npy").stat().st_size == 128 + len(small) * 512


def test_the_declaration():
    assert len(DATASET) == 737_280
    assert DATASET.space.sizes == (3, 6, 40, 32, 32)
    assert DATASET.values([0, 737_279])[1].tolist() == pytest.approx([3, 1, 2 * np.pi, 1, 1])


def broken(change):
    images, classes, values = arrays()
    return change(images, classes, values) or (images, classes, values)


def swapped(images, classes, values):
    classes[[0, 1]] = classes[[1, 0]]


def shifted(images, classes, values):
    values[5, 2] += 0.01


def grey(images, classes, values):
    images[3, 4, 5] = 7


def short(images, classes, values):
    return images[:-1], classes, values


@pytest.mark.parametrize("write", [write_hdf5, write_npz])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (swapped, "expected classes that count through the grid, posY fastest, received others"),
        (shifted, "expected the published values of the factors, received others"),
        (grey, "expected pixels of 0 and 1, received pixels up to 7"),
        (short, r"expected imgs of shape \(144, 64, 64\) and kind u, received uint8 of shape \(143, 64, 64\)"),
    ],
)
def test_a_file_that_is_another_is_refused(shrink, tmp_path, write, change, message):
    small = shrink(DATASET, SIZES)
    write(tmp_path, *broken(change))
    with pytest.raises(DamagedFile, match=message):
        small.prepare(manual_dir=tmp_path)
    assert not small.prepared
    assert not small.source.folder.exists()


def test_another_share_of_white_is_refused(shrink, tmp_path):
    small = shrink(DATASET, SIZES, statistics=PublishedStatistics(means=DATASET.source.statistics.means))
    write_npz(tmp_path, *arrays())
    with pytest.raises(
        DamagedFile, match=r"channel means of 0.0424944 within 0.0001 \(disent 0.8.0; .*\), received 0.498"
    ):
        small.prepare(manual_dir=tmp_path)
