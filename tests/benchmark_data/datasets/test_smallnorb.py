"""SmallNORB, from binary matrices as published, with fewer views."""

from __future__ import annotations

import gzip
import itertools
import shutil
import struct
import zipfile

import numpy as np
import pytest
from PIL import Image

from benchmark_data.datasets.smallnorb import DATASET, INSTANCES, STEMS
from benchmark_data.errors import DamagedFile

SIZES = (2, 10, 2, 3, 2, 2)
CHANGES = {"rows": 480, "splits": {"train": range(240), "test": range(240, 480)}}
LEFT_SPLITS = {"train": range(120), "test": range(120, 240)}


def matrix(array, magic):
    """A binary matrix: magic number, number of axes, at least three lengths, data; all little-endian."""
    lengths = [*array.shape, 1, 1][: max(3, array.ndim)]
    header = struct.pack(f"<{2 + len(lengths)}i", magic, array.ndim, *lengths)
    return header + array.astype({0x1E3D4C54: "<i4", 0x1E3D4C55: "u1"}[magic]).tobytes()


def pixels(category, instance, elevation, azimuth, lighting):
    """The pair of one view; bright, so that signed bytes would show."""
    seed = [category, instance, elevation, azimuth, lighting]
    return np.random.default_rng(seed).integers(100, 256, (2, 96, 96), dtype=np.uint8)


def contents(split, change=lambda table: None):
    """The three matrices of a split; rows are shuffled, as in the source, and azimuths doubled."""
    ranges = (range(n) for n in (2, 2, 3, 2))
    first, *rest = ranges
    views = list(itertools.product(first, INSTANCES[split], *rest))
    table = np.array(views)[np.random.default_rng(7).permutation(len(views))]
    images = np.stack([pixels(*view) for view in table.tolist()])
    table = table * [1, 1, 1, 2, 1]
    change(table)
    return {
        "cat": matrix(table[:, 0], 0x1E3D4C54),
        "info": matrix(table[:, 1:], 0x1E3D4C54),
        "dat": matrix(images, 0x1E3D4C55),
    }


def write_gz(folder, **changes):
    for split, stem in STEMS.items():
        for kind, content in contents(split, **changes).items():
            (folder / f"{stem}-{kind}.mat.gz").write_bytes(gzip.compress(content, 1))


def write_zip(folder, **changes):
    for split, stem in STEMS.items():
        with zipfile.ZipFile(folder / f"smallnorb-{split}.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            for kind, content in contents(split, **changes).items():
                archive.writestr(f"smallnorb-{split}/{stem}-{kind}.mat", content)


@pytest.mark.parametrize("write", [write_gz, write_zip])
def test_rows_are_sorted_and_both_cameras_kept(shrink, tmp_path, write):
    small = shrink(DATASET.configs["stereo"], SIZES, CHANGES["splits"], archive=CHANGES)
    write(tmp_path)
    small.prepare(manual_dir=tmp_path)
    labels = small.labels(range(480))
    assert labels[0].tolist() == [0, 4, 0, 0, 0, 0]
    assert labels[1].tolist() == [0, 4, 0, 0, 0, 1]
    assert labels[240].tolist() == [0, 0, 0, 0, 0, 0]
    for split, rows in small.splits.items():
        part = labels[rows.start : rows.stop]
        assert np.array_equal(part, part[np.lexsort(part.T[::-1])])
        assert set(part[:, 1]) == set(INSTANCES[split])
    for row in (0, 1, 77, 300, 479):
        *view, camera = labels[row].tolist()
        assert np.array_equal(small.images([row])[0, :, :, 0], pixels(*view)[camera])
    assert small.values([479])[0].tolist() == [1, 5, 35, 40, 1, 1]


def test_the_left_camera_and_the_merged_view(shrink, tmp_path):
    write_gz(tmp_path)
    stereo = shrink(DATASET.configs["stereo"], SIZES, CHANGES["splits"], archive=CHANGES)
    left = shrink(DATASET.configs["left"], SIZES, LEFT_SPLITS, selected=range(0, 480, 2), archive=CHANGES)
    merged = shrink(DATASET.configs["merged"], SIZES, selected=[range(240), range(0, 480, 2)], archive=CHANGES)
    for small in (stereo, left, merged):
        small.prepare(manual_dir=tmp_path)
    assert len(left) == len(merged) == 240
    assert np.array_equal(left.images([7, 130]), stereo.images([14, 260]))
    assert np.array_equal(merged.images([7, 130]), stereo.images([14, 260]))
    assert np.array_equal(left.labels(range(240)), stereo.labels(range(480))[::2, :5])
    assert np.array_equal(merged.labels(range(240)), stereo.labels(range(480))[::2][:, [0, 2, 3, 4]])
    assert merged.space.names == ("category", "elevation", "azimuth", "lighting")


@pytest.mark.parametrize("method", ["lanczos", "bilinear"])
def test_the_reduced_sets_are_pillows(shrink, tmp_path, method):
    write_gz(tmp_path)
    small = shrink(DATASET.configs[f"left_64_{method}"], SIZES, LEFT_SPLITS, selected=range(0, 480, 2), archive=CHANGES)
    small.prepare(manual_dir=tmp_path)
    base = Image.fromarray(small.source.base.images([9])[0, :, :, 0])
    assert np.array_equal(
        small.images([9])[0, :, :, 0], np.asarray(base.resize((64, 64), Image.Resampling[method.upper()]))
    )
    assert np.array_equal(small.labels(range(240)), small.source.base.labels(range(240)))


def test_the_reduced_sets_need_no_larger_ones_once_prepared(shrink, tmp_path, cache_folder):
    write_gz(tmp_path)
    config = DATASET.configs["left_64_lanczos"]
    first, again = (shrink(config, SIZES, LEFT_SPLITS, selected=range(0, 480, 2), archive=CHANGES) for _ in range(2))
    first.prepare(manual_dir=tmp_path)
    images, labels = first.images([9, 130]), first.source.base.labels([9, 130])
    shutil.rmtree(cache_folder / "datasets" / "smallnorb" / "stereo")
    assert again.prepared
    assert np.array_equal(again.images([9, 130]), images)
    assert np.array_equal(again.labels([9, 130]), labels)


def test_the_declaration():
    assert {name: len(d) for name, d in DATASET.configs.items()} == {
        "stereo": 97_200,
        "left": 48_600,
        "merged": 48_600,
        "left_64_lanczos": 48_600,
        "left_64_bilinear": 48_600,
        "merged_64_lanczos": 48_600,
    }
    assert DATASET.configs["left"].splits == {"train": range(24_300), "test": range(24_300, 48_600)}
    assert DATASET.configs["merged"].space.sizes == (5, 9, 18, 6)
    assert DATASET.configs["left_64_bilinear"].source.statistics.grid.sizes == (5, 5, 9, 18, 6)
    assert not any(d.redistributable for d in DATASET.configs.values())


def odd_azimuth(table):
    table[3, 3] += 1


def view_twice(table):
    table[3] = table[4]


def toys_swapped(table):
    table[:, 1] = {4: 0, 6: 1, 7: 2, 8: 3, 9: 5, 0: 4, 1: 6, 2: 7, 3: 8, 5: 9}[table[0, 1]]


def sixth_category(table):
    table[3, 0] = 5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (odd_azimuth, "expected even azimuths, received odd ones"),
        (view_twice, "expected 120 different views of toys .*, received 119 different views"),
        (toys_swapped, r"different views of toys \(4, 6, 7, 8, 9\), received .* of toys \(\d,\)"),
        (sixth_category, r"factor 'category': expected class ids in \[0, 1\], received ids in \[0, 5\]"),
    ],
)
def test_labels_that_are_others_are_refused(shrink, tmp_path, change, message):
    small = shrink(DATASET.configs["stereo"], SIZES, CHANGES["splits"], archive=CHANGES)
    write_gz(tmp_path, change=change)
    with pytest.raises(DamagedFile, match=message):
        small.prepare(manual_dir=tmp_path)
    assert not small.prepared


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda content: b"\x00" + content[1:],
            "expected a binary matrix, received magic number 0x1e3d4c00 and 4 axes",
        ),
        (lambda content: content[:-1], "expected 120 rows in a matrix, received data that end in or after row 0"),
        (lambda content: content + b"?", "expected 120 rows in a matrix, received more bytes than its header states"),
        (lambda content: b"\x54" + content[1:], "and kind u, received int32 of shape"),
        (lambda content: content[:6], "expected a readable archive"),
    ],
)
def test_pixels_that_are_others_are_refused(shrink, tmp_path, change, message):
    small = shrink(DATASET.configs["stereo"], SIZES, CHANGES["splits"], archive=CHANGES)
    write_gz(tmp_path)
    path = tmp_path / f"{STEMS['train']}-dat.mat.gz"
    path.write_bytes(gzip.compress(change(gzip.decompress(path.read_bytes())), 1))
    with pytest.raises(DamagedFile, match=message):
        small.prepare(manual_dir=tmp_path)


def test_a_copy_without_a_file_is_refused(shrink, tmp_path):
    small = shrink(DATASET.configs["stereo"], SIZES, CHANGES["splits"], archive=CHANGES)
    for split in STEMS:
        with zipfile.ZipFile(tmp_path / f"smallnorb-{split}.zip", "w") as archive:
            archive.writestr("README", "nothing here")
    with pytest.raises(DamagedFile, match=r"expected one file smallnorb-.*-training-cat.mat in it, received 0"):
        small.prepare(manual_dir=tmp_path)
