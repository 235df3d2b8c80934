"""Sprites2D against real images of dSprites and against what is published about all of them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import benchmark_data
from benchmark_data import draws
from benchmark_data.datasets.sprites2d import SPACE, outlines, render

DSPRITES = Path(__file__).parents[2] / "fixtures" / "dsprites"
SQUARE, ELLIPSE, HEART = range(3)


def frames():
    """Forty-eight images of dSprites and their class ids; fixtures/dsprites/README.md says where they are from."""
    labels = np.array(json.loads((DSPRITES / "labels.json").read_text()))
    with Image.open(DSPRITES / "frames.png") as picture:
        images = np.asarray(picture).reshape(3, 64, 16, 64).swapaxes(1, 2).reshape(48, 64, 64)
    return labels, images


def test_equals_dsprites_in_every_pixel():
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
    dataset = benchmark_data.load("sprites2d")
    images = dataset.images(draws.permutation(5, len(dataset))[:4096])
    assert images.dtype == np.uint8
    assert np.unique(images).tolist() == [0, 255]
    assert not images[:, :2].any()
    assert not images[:, -2:].any()
    assert not images[:, :, :2].any()
    assert not images[:, :, -2:].any()
    golden_sheet(dataset, "sprites2d")


def test_white_fraction_is_that_of_dsprites():
    """Every shape, scale and orientation at every eighth position; dSprites' mean is published with disent."""
    labels = np.stack(np.meshgrid(*(np.arange(n) for n in (3, 6, 40, 8, 8)), indexing="ij"), axis=-1).reshape(-1, 5)
    labels[:, 3:] = 4 * labels[:, 3:] + np.arange(len(labels))[:, None] % 4
    fraction = sum(np.count_nonzero(render(batch)) for batch in np.split(labels, 45)) / (len(labels) * 64 * 64)
    assert fraction == pytest.approx(0.042494423521889584, rel=2e-4)


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


def test_outlines_at_scale_1():
    square, ellipse, heart = outlines()
    assert np.ptp(square, axis=0) == pytest.approx([19.2, 19.2])
    assert np.ptp(ellipse, axis=0) == pytest.approx([2 * 12.768, 2 * 9.6 / 1.33])
    assert np.ptp(heart[:, 0]) == pytest.approx(19.2, abs=0.05)
    assert [len(outline) for outline in (square, ellipse, heart)] == [4, 100, 150]


def test_batches_of_one_kind_and_mixed_batches_agree():
    labels = np.random.default_rng(1).integers(0, SPACE.sizes, (60, len(SPACE.sizes)))
    one_by_one = np.concatenate([render(label[None]) for label in labels])
    assert np.array_equal(render(labels), one_by_one)
