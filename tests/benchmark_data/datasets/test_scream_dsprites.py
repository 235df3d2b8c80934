"""Scream dSprites, on a small dSprites and a painting made up."""

from __future__ import annotations

import dataclasses
import io
import re

import numpy as np
import pytest
from PIL import Image

from benchmark_data.archives.archive import Distribution
from benchmark_data.datasets import dsprites
from benchmark_data.datasets.scream_dsprites import DATASET, PAINTING, OnPainting, put_on_painting
from benchmark_data.errors import DamagedFile, Unavailable
from benchmark_data.publish.verify import verify


def painting(width, height):
    ramp = np.add.outer(np.arange(height) * 150 / height, np.arange(width) * 100 / width)
    stream = io.BytesIO()
    Image.fromarray(np.repeat(ramp[:, :, None], 3, axis=2).astype(np.uint8)).save(stream, "JPEG", quality=95)
    return stream.getvalue()


@pytest.fixture
def scream(sprites):
    distributions = tuple(
        Distribution(tuple(dataclasses.replace(d, urls=()) for d in f.files), f.read) for f in PAINTING.distributions
    )
    source = OnPainting(sprites, dataclasses.replace(PAINTING, distributions=distributions))
    return dataclasses.replace(DATASET, source=source, space=sprites.space, splits={})


def test_sprites_are_negatives_on_the_painting(inside, scream, tmp_path):
    (tmp_path / "The_Scream.jpg").write_bytes(painting(810, 1000))
    assert not scream.prepared
    scream.prepare(manual_dir=tmp_path)
    assert scream.prepared
    images = scream.images(range(48))
    canvas = scream.source.painting.store().images(np.array([0]))[0]
    assert canvas.shape == (274, 208, 3)
    ground = put_on_painting(np.zeros((48, 64, 64, 1), np.uint8), np.arange(48), canvas)
    assert np.array_equal(images[~inside], ground[~inside])
    assert np.array_equal(images[inside], 255 - ground[inside])
    assert np.array_equal(scream.images([9, 2]), images[[9, 2]])


def test_the_ground_is_the_mean_of_crop_and_tint():
    grey = np.full((70, 70, 3), 100, np.uint8)
    ground = put_on_painting(np.zeros((2000, 64, 64, 1), np.uint8), np.arange(2000), grey)
    assert (ground == ground[:, :1, :1]).all()
    tints = ground[:, 0, 0].astype(int) * 2 - 100
    # Uniform on 0 .. 255: mean 127.5 and standard deviation 73.6; 6 standard errors.
    assert np.abs(tints.mean(axis=0) - 127.5).max() < 6 * 73.6 / np.sqrt(2000)
    assert tints.std(axis=0) == pytest.approx([73.6] * 3, rel=0.06)


def test_the_painting_is_reduced_and_its_middle_kept(scream, tmp_path):
    (tmp_path / "The_Scream.jpg").write_bytes(painting(810, 1000))
    scream.prepare(manual_dir=tmp_path)
    canvas = scream.source.painting.store().images(np.array([0]))[0, :, :, 0].astype(float)
    # The ramp made above: 150 from top to bottom, and 100 from left to right of the 222 columns that it is reduced to.
    expected = np.add.outer((np.arange(274) + 0.5) * 150 / 274, (np.arange(208) + 7.5) * 100 / 222)
    assert np.abs(canvas - expected)[5:-5, 5:-5].max() < 3


def test_crops_differ():
    canvas = np.arange(80 * 90).reshape(80, 90) % 251
    ground = put_on_painting(
        np.zeros((200, 64, 64, 1), np.uint8), np.arange(200), np.repeat(canvas[:, :, None], 3, axis=2).astype(np.uint8)
    )
    assert len({image.tobytes() for image in ground}) == 200


@pytest.mark.parametrize(("width", "height"), [(300, 200), (100, 130), (700, 1000)])
def test_a_scan_of_another_shape_is_refused(scream, tmp_path, width, height):
    (tmp_path / "The_Scream.jpg").write_bytes(painting(width, height))
    with pytest.raises(DamagedFile, match=r"expected an upright scan, at least 208 x 274 pixels, received \d+ x"):
        scream.prepare(manual_dir=tmp_path)


def test_what_is_wrong_with_the_painting_names_a_file_and_a_command_that_works(scream, tmp_path):
    assert DATASET.source.base is dsprites.DATASET
    with pytest.raises(Unavailable, match=r"offaxis data prepare scream_dsprites \("):
        DATASET.images([0])
    (tmp_path / "The_Scream.jpg").write_bytes(painting(810, 1000)[:2000])
    with pytest.raises(
        DamagedFile, match=r"The_Scream\.jpg: expected a PNG or JPEG file, received image file is trunc"
    ):
        scream.prepare(manual_dir=tmp_path)


@pytest.mark.parametrize("full", [False, True])
def test_what_a_dataset_rests_on_is_compared_with_what_was_prepared(scream, tmp_path, full):
    (tmp_path / "The_Scream.jpg").write_bytes(painting(810, 1000))
    scream.prepare(manual_dir=tmp_path)
    assert [found.problem for found in verify(scream, full=full)] == [""]
    folder = scream.source.painting.folder
    (pixels,) = (file for file in folder.iterdir() if file.suffix == ".npy" and file.stat().st_size > 274 * 208 * 3)
    content = bytearray(pixels.read_bytes())
    content[-1] ^= 1
    pixels.write_bytes(content)
    (found,) = verify(scream, full=full)
    assert re.match(rf"it was prepared with the quick digest .*: remove {re.escape(str(folder))} and", found.problem)
