"""Symsol_reduced: the published archive with fewer images, and what is derived from SYMSOL."""

from __future__ import annotations

import dataclasses
import io
import zipfile

import numpy as np
import pytest
from PIL import Image

from benchmark_data import reading, split
from benchmark_data.datasets import symsol, symsol_reduced
from benchmark_data.datasets.symsol_reduced import DATASET
from benchmark_data.errors import DamagedFile, Unavailable

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


@pytest.fixture
def rederived(shrink, tmp_path, png_bytes):
    """Make a SYMSOL of five plain and one marked solid, two images each, in which three images are equal."""
    splits = {"train": range(12), "test": range(0)}
    base = shrink(symsol.NATIVE, (6,), splits={"train": range(12)}, archive={"rows": 12, "splits": splits})
    with zipfile.ZipFile(tmp_path / "symsol_dataset.zip", "w") as archive:
        for split, count in (("train", 2), ("test", 0)):
            stream = io.BytesIO()
            np.savez(stream, **{shape: np.tile(np.eye(3), (count, 1, 1, 1)) for shape in base.space.factors[0].labels})
            archive.writestr(f"{split}/rotations.npz", stream.getvalue())
        for row in range(12):
            shape = base.space.factors[0].labels[row // 2]
            grey = picture("same" if row in (1, 4, 9) else str(row), 224)
            archive.writestr(f"train/images/{shape}_{row % 2}.png", png_bytes(np.repeat(grey[:, :, None], 3, axis=2)))
    dataset = DATASET.configs["rederived"]
    source = dataclasses.replace(dataset.source, base=base)
    splits = symsol_reduced._Everything(source.space)
    return dataclasses.replace(dataset, source=source, space=source.space, splits=splits)


def test_the_recipe(rederived, tmp_path):
    rederived.prepare(manual_dir=tmp_path)
    # Rows 4 and 9 equal row 1; rows 10 and 11 are marked.
    kept = [0, 1, 2, 3, 5, 6, 7, 8]
    assert len(rederived) == 8
    assert rederived.splits["train"] == range(8)
    assert rederived.labels(range(8))[:, 0].tolist() == [row // 2 for row in kept]
    for new, old in enumerate(kept):
        grey = Image.fromarray(rederived.source.base.images([old])[0]).convert("L")
        expected = np.asarray(grey.resize((64, 64), Image.Resampling.LANCZOS))
        assert np.array_equal(rederived.images([new])[0, :, :, 0], expected)


def test_it_says_that_it_is_not_the_published_set(rederived, tmp_path):
    rederived.prepare(manual_dir=tmp_path)
    notes = rederived.source.store().meta["notes"]
    assert notes == {"as many images as the published set": False, "rows of symsol before duplicates were dropped": 10}
    assert "not the published set" in " ".join(rederived.defects)


def test_before_it_is_prepared_it_is_empty_and_says_what_to_do(rederived):
    assert len(rederived) == 0
    assert rederived.splits["train"] == range(0)
    with pytest.raises(
        Unavailable, match=r"expected a prepared dataset, .* Run: offaxis data prepare symsol_reduced/red"
    ):
        rederived.images([0])
    for asked in (rederived.digest, lambda: split(rederived), lambda: reading.Images(rederived)):
        with pytest.raises(
            Unavailable, match=r"received one whose length is not known yet\. Run: offaxis data prepare"
        ):
            asked()


def test_the_declaration():
    assert len(DATASET.configs["published"]) == 112_791
    assert DATASET.configs["published"].space.factors[0].labels == ("tet", "cube", "icosa", "cone", "cyl")
