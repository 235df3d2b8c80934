"""CelebA, from text files and a zip of JPEG files as published, with fewer faces."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest
from PIL import Image, ImageOps

from benchmark_data.archives.checks import PublishedStatistics
from benchmark_data.datasets.celeba import ATTRIBUTES, DATASET
from benchmark_data.errors import DamagedFile

ROWS = 12
SPLITS = {"train": range(7), "validation": range(7, 9), "test": range(9, 12)}
ARCHIVE = {"rows": ROWS, "splits": SPLITS}


def jpeg(row, size=(178, 218)):
    width, height = size
    ramp = np.linspace(0, 255, height)[:, None, None] * np.array([1, 0.5, 0.2]) + row
    stream = io.BytesIO()
    pixels = np.broadcast_to(ramp.clip(0, 255).astype(np.uint8), (height, width, 3))
    Image.fromarray(np.ascontiguousarray(pixels)).save(stream, "JPEG")
    return stream.getvalue()


def signs():
    return np.random.default_rng(0).choice([-1, 1], (ROWS, 40))


def files():
    """The text files: one of them has a count and a header; columns are padded with blanks."""
    names = [f"{row + 1:06}.jpg" for row in range(ROWS)]
    attributes = [f"{name} {' '.join(f'{s:>2}' for s in row)}" for name, row in zip(names, signs(), strict=True)]
    partition = [f"{names[row]} {i}" for i, rows in enumerate(SPLITS.values()) for row in rows]
    return {
        "list_attr_celeba.txt": "\n".join([str(ROWS), " ".join(ATTRIBUTES) + " ", *attributes, ""]),
        "list_eval_partition.txt": "\n".join([*partition, ""]),
    }


def write(folder, texts=None, images=None):
    for name, text in (texts or files()).items():
        (folder / name).write_text(text)
    with zipfile.ZipFile(folder / "img_align_celeba.zip", "w") as archive:
        archive.writestr("img_align_celeba/", "")
        for name, content in (images or {f"{row + 1:06}": jpeg(row) for row in reversed(range(ROWS))}).items():
            archive.writestr(f"img_align_celeba/{name}.jpg", content)


@pytest.fixture
def small(shrink):
    return shrink(DATASET.configs["native"], splits=SPLITS, archive=ARCHIVE)


def test_faces_and_attributes(small, tmp_path):
    write(tmp_path)
    small.prepare(manual_dir=tmp_path)
    assert small.images([0]).shape == (1, 218, 178, 3)
    for row in (0, 5, 11):
        with Image.open(io.BytesIO(jpeg(row))) as image:
            assert np.array_equal(small.images([row])[0], np.asarray(image))
    assert np.array_equal(small.labels(range(ROWS)), (signs() + 1) // 2)
    assert small.space.names[20] == "Male"


def test_the_files_are_kept_as_they_came(small, tmp_path):
    write(tmp_path)
    small.prepare(manual_dir=tmp_path)
    assert (small.source.folder / "files.bin").stat().st_size == sum(len(jpeg(row)) for row in range(ROWS))


def test_the_padded_set_is_bonhemes(shrink, tmp_path):
    small = shrink(DATASET.configs["64_bicubic_padded"], splits=SPLITS, archive=ARCHIVE)
    write(tmp_path)
    small.prepare(manual_dir=tmp_path)
    # Their code: thumbnail to (64, 64) with Pillow's defaults, then ImageOps.pad.
    face = Image.fromarray(small.source.base.images([4])[0])
    face.thumbnail((64, 64))
    assert face.size == (52, 64)
    assert np.array_equal(small.images([4])[0], np.asarray(ImageOps.pad(face, (64, 64))))
    assert np.array_equal(small.labels(range(ROWS)), (signs() + 1) // 2)


def test_the_declaration():
    native = DATASET.configs["native"]
    assert len(native) == 202_599
    assert {name: len(rows) for name, rows in native.splits.items()} == {
        "train": 162_770,
        "validation": 19_867,
        "test": 19_962,
    }
    assert len(native.space.factors) == 40
    assert not native.redistributable


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("list_attr_celeba.txt", "12\n", "13\n", "expected 12 rows of 5_o_Clock_Shadow .*, received 13 rows of 5_o"),
        (
            "list_attr_celeba.txt",
            "Bald Bangs",
            "Bangs Bald",
            "expected 12 rows of .*Bald Bangs.*, received .*Bangs Bald",
        ),
        ("list_attr_celeba.txt", "jpg -1", "jpg  0", "expected attributes of -1 and 1, received others"),
        (
            "list_attr_celeba.txt",
            "000004.jpg",
            "000005.jpg",
            "expected 000004.jpg of 12 and 40 numbers, received 000005",
        ),
        (
            "list_eval_partition.txt",
            "000008.jpg 1",
            "000008.jpg 0",
            "expected 7 for train, then 2 for validation, then",
        ),
        ("list_eval_partition.txt", "000012.jpg 2\n", "", "expected 12 rows, received 11 rows"),
        (
            "list_eval_partition.txt",
            "000012.jpg 2",
            "000012.jpg two",
            "a readable archive, received ValueError",
        ),
    ],
)
def test_tables_that_are_others_are_refused(small, tmp_path, name, old, new, message):
    texts = files()
    assert old in texts[name]
    write(tmp_path, {**texts, name: texts[name].replace(old, new)})
    with pytest.raises(DamagedFile, match=message):
        small.prepare(manual_dir=tmp_path)
    assert not small.prepared


def faces(**changes):
    return {f"{row + 1:06}": jpeg(row) for row in range(ROWS)} | changes


@pytest.mark.parametrize(
    ("images", "message"),
    [
        (faces(**{"000003": jpeg(3, (100, 218))}), "expected 178 x 218 pixels, received 100 x 218 in row 2"),
        (
            faces(**{"000003": b"no image"}),
            r"images of celeba/native, row 2: expected a PNG or JPEG file, received cannot identify image file\.$",
        ),
        (faces(**{"000013": jpeg(0)}), r"expected rows in \[0, 11\], received rows in \[12, 12\]"),
        ({k: v for k, v in faces().items() if k != "000009"}, "received 11; the first missing row is 8"),
    ],
)
def test_photographs_that_are_others_are_refused(small, tmp_path, images, message):
    write(tmp_path, images=images)
    with pytest.raises(DamagedFile, match=message):
        small.prepare(manual_dir=tmp_path)


def test_the_means_are_taken_of_a_sample(shrink, tmp_path):
    statistics = PublishedStatistics(means=(0.51, 0.26, 0.11), tolerance=0.02, rows=range(0, ROWS, 4), source="by hand")
    small = shrink(DATASET.configs["native"], splits=SPLITS, archive=ARCHIVE, statistics=statistics)
    write(tmp_path)
    small.prepare(manual_dir=tmp_path)
    sample = small.images([0, 4, 8]) / 255
    assert small.source.store().meta["measured"]["means"] == pytest.approx(sample.mean(axis=(0, 1, 2)).tolist())
