"""dSprites as it is drawn, against real images and against what is published about all of them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import benchmark_data
from benchmark_data import draws
from benchmark_data.datasets import dsprites
from benchmark_data.datasets.dsprites import SPACE, render

DSPRITES = Path(__file__).parents[2] / "fixtures" / "dsprites"
SQUARE, ELLIPSE, HEART = range(3)

GRID = np.ravel_multi_index(np.ix_(*map(range, (0,) * 5, SPACE.sizes, (1, 1, 4, 2, 2))), SPACE.sizes).ravel()
"""Rows of real images: every fourth orientation, and every second position in x and y."""

NEAR_TIES = sorted(
    {
        *(111508, 127956, 151882, 159073, 258370, 456189, 475532, 650103, 717724),
        *(31645, 55100, 78156, 94091, 135176, 135190, 135424, 135872, 143390, 144320, 144353, 175223, 185387, 192796),
        *(217488, 217936, 249874, 271068, 282605, 320220, 355870, 414476, 426644, 443294, 462976, 464580, 480128),
        *(484306, 485261, 536860, 547139, 578050, 594512, 594516, 617792, 617950, 642905, 643742, 667866, 668974),
        *(680450, 688322, 725836, 730181, 733722),
    }
)
"""Rows of real images in which a corner lies within 0.002 subpixels of a tie, and a pixel shows how it was rounded."""


def bits(rows):
    """Images as in the file of real ones: uint8, shape (n, 512)."""
    return np.packbits(render(SPACE.labels(rows)).reshape(len(rows), -1) > 0, axis=1)


@pytest.mark.parametrize(
    ("rows", "digest"),
    [
        (GRID, "947ae0da6d4f1efbd1ca92164b83de66014f7ab1e232efdf3b6fba53a84082d0"),
        (NEAR_TIES, "4814e18506f490d5750535747a09e0e2d2acc11e6d142ab249447c01631ad473"),
    ],
    ids=["grid", "near ties"],
)
def test_digests_are_those_of_real_images(rows, digest):
    """Of 46,080 real images and of 54 others."""
    assert hashlib.sha256(bits(rows).tobytes()).hexdigest() == digest


def test_every_real_image_is_equal_in_every_pixel(real):
    found = np.load(real / "dsprites_64834.npz")
    rows, images = found["rows"], found["images"]
    assert len(rows) == 64_834
    assert np.array_equal(bits(rows), images)


def frames():
    """Forty-eight images of dSprites and their class ids; fixtures/dsprites/README.md says where they are from."""
    labels = np.array(json.loads((DSPRITES / "labels.json").read_text()))
    with Image.open(DSPRITES / "frames.png") as picture:
        images = np.asarray(picture).reshape(3, 64, 16, 64).swapaxes(1, 2).reshape(48, 64, 64)
    return labels, images


def test_equals_the_published_animation_in_every_pixel():
    labels, real = frames()
    assert len(np.unique(real, axis=0)) == 45  # orientations 0 and 39 are the same, once for each shape
    for shape in (SQUARE, ELLIPSE, HEART):
        chosen = labels[:, 0] == shape
        ours = render(labels[chosen])[..., 0] == 255
        assert chosen.sum() == 16
        assert np.array_equal(ours, real[chosen])


def test_the_comparison_can_fail():
    labels, real = frames()
    turned_the_other_way = labels.copy()
    turned_the_other_way[:, 2] = 39 - labels[:, 2]
    assert (render(turned_the_other_way)[..., 0] != real * np.uint8(255)).any()


def test_grid():
    assert SPACE.names == ("shape", "scale", "orientation", "posX", "posY")
    assert SPACE.sizes == (3, 6, 40, 32, 32)
    assert [f.kind for f in SPACE.factors] == ["categorical", "ordinal", "cyclic", "ordinal", "ordinal"]
    assert len(SPACE) == 737_280
    assert SPACE.labels([1, 32, 1024]).tolist() == [[0, 0, 0, 0, 1], [0, 0, 0, 1, 0], [0, 0, 1, 0, 0]]
    last = [[3, 1, 2 * np.pi, 1, 1]]
    assert SPACE.values([[2, 5, 39, 31, 31]]) == pytest.approx(np.array(last))


def test_binary_and_away_from_the_border(golden_sheet):
    dataset = dsprites.DATASET
    images = dataset.images(draws.permutation(5, len(dataset))[:4096])
    assert images.dtype == np.uint8
    assert np.unique(images).tolist() == [0, 255]
    assert not images[:, :2].any()
    assert not images[:, -2:].any()
    assert not images[:, :, :2].any()
    assert not images[:, :, -2:].any()
    golden_sheet(dataset, dataset.name)


def test_orientations_0_and_39_are_one_image():
    labels = np.random.default_rng(0).integers(0, SPACE.sizes, (200, len(SPACE.sizes)))
    labels[:100, 2], labels[100:, 2] = 0, 39
    labels[100:, [0, 1, 3, 4]] = labels[:100, [0, 1, 3, 4]]
    images = render(labels)
    assert np.array_equal(images[:100], images[100:])


def test_position_moves_right_and_down_by_a_pixel_or_so():
    def centre(x, y):
        rows, columns = np.nonzero(render(np.array([[SQUARE, 5, 0, x, y]]))[0, ..., 0])
        return columns.mean() + 0.5, rows.mean() + 0.5

    assert centre(0, 0) == (16, 16)
    assert centre(31, 0) == (48, 16)
    assert centre(0, 31) == (16, 48)
    assert centre(1, 0)[0] == pytest.approx(16 + 32 / 31, abs=0.5)


def test_orientation_turns_anticlockwise():
    """The heart's tip points down at first; a fortieth of a turn later it has moved to the right."""
    tip = [np.argwhere(render(np.array([[HEART, 5, turn, 16, 16]]))[0, ..., 0])[-1] for turn in (0, 5)]
    assert tip[1][1] > tip[0][1]


def test_batches_of_one_kind_and_mixed_batches_agree():
    labels = np.random.default_rng(1).integers(0, SPACE.sizes, (60, len(SPACE.sizes)))
    one_by_one = np.concatenate([render(label[None]) for label in labels])
    assert np.array_equal(render(labels), one_by_one)


def test_needs_no_download():
    assert benchmark_data.load("dsprites").prepared
