"""XYSquares against its definition and what follows from it."""

from __future__ import annotations

import numpy as np
import pytest

import benchmark_data
from benchmark_data.datasets.xysquares import SPACE, offset, render

OFFSETS = {1: 24, 2: 21, 3: 17, 4: 14, 5: 10, 6: 7, 7: 3, 8: 0}  # disent's rule on a fixed 8 x 8 grid


def plainly(label, spacing):
    """Draw one image the slow way."""
    image = np.zeros((64, 64, 3), np.uint8)
    for channel in range(3):
        x, y = (OFFSETS[spacing] + spacing * place for place in label[2 * channel : 2 * channel + 2])
        image[y : y + 8, x : x + 8, channel] = 255
    return image


def test_grid():
    assert SPACE.names == ("x_R", "y_R", "x_G", "y_G", "x_B", "y_B")
    assert SPACE.sizes == (8,) * 6
    assert len(SPACE) == 262_144
    assert {factor.kind for factor in SPACE.factors} == {"ordinal"}


def test_the_description_says_whether_places_overlap():
    texts = {spacing: benchmark_data.load("xysquares", spacing=spacing).description for spacing in OFFSETS}
    assert [spacing for spacing, text in texts.items() if "No two places overlap" in text] == [8]
    assert "share 5 of 8 columns or rows" in texts[3]


@pytest.mark.parametrize(("spacing", "first"), OFFSETS.items())
def test_places_are_centred(spacing, first):
    assert offset(spacing) == first
    corner, opposite = render(np.array([[0] * 6, [7] * 6]), spacing=spacing)
    assert np.argwhere(corner[..., 0])[0].tolist() == [first, first]
    last = first + 7 * spacing + 8
    assert np.argwhere(opposite[..., 0])[-1].tolist() == [last - 1, last - 1]
    assert abs((64 - last) - first) <= 1


@pytest.mark.parametrize("spacing", range(1, 9))
def test_equals_the_slow_way(spacing):
    labels = np.random.default_rng(spacing).integers(0, SPACE.sizes, (40, len(SPACE.sizes)))
    assert np.array_equal(render(labels, spacing=spacing), np.stack([plainly(label, spacing) for label in labels]))


@pytest.mark.parametrize("spacing", range(1, 9))
def test_every_channel_has_64_lit_pixels(spacing):
    images = benchmark_data.load("xysquares", spacing=spacing).images(range(0, 262_144, 4001))
    assert np.unique(images).tolist() == [0, 255]
    assert ((images == 255).sum(axis=(1, 2)) == 64).all()


def test_squares_of_three_colours_on_one_place_are_white():
    image = render(np.array([[3, 5] * 3]), spacing=8)[0]
    assert (image[40:48, 24:32] == 255).all()
    assert image.sum() == 64 * 3 * 255


def test_on_spacing_8_all_places_are_equally_far_apart():
    """128 of 12,288 pixels differ, whatever the move: no variance over values."""
    dataset = benchmark_data.load("xysquares/spacing_8")
    for name in SPACE.names:
        images = dataset.images(SPACE.traverse(98_765, name)) / 255
        squares = ((images[:, None] - images[None]) ** 2).mean(axis=(2, 3, 4))
        assert np.array_equal(squares, (1 - np.eye(8)) * 128 / 12288)


def test_on_spacing_1_the_distance_grows_with_the_move():
    dataset = benchmark_data.load("xysquares/spacing_1")
    images = dataset.images(SPACE.traverse(0, "x_G")) / 255
    assert ((images - images[:1]) ** 2).sum(axis=(1, 2, 3)).tolist() == [16 * move for move in range(8)]


def test_x_moves_right_and_y_down():
    images = render(np.array([[1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0]]), spacing=8)[..., 0]
    assert np.argwhere(images[0])[0].tolist() == [0, 8]
    assert np.argwhere(images[1])[0].tolist() == [8, 0]
