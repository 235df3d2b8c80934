"""Color dSprites, on a small dSprites."""

from __future__ import annotations

import numpy as np

from benchmark_data.datasets.color_dsprites import DATASET, colour_sprites


def test_colours_are_bright_and_differ(inside, on_sprites):
    images = on_sprites(DATASET).images(range(48))
    assert not images[~inside].any()
    colours = images[inside].reshape(48, -1, 3)
    assert (colours == colours[:, :1]).all()
    assert colours.min() >= 128
    assert len(np.unique(colours[:, 0], axis=0)) == 48


def test_a_row_is_the_same_in_any_order(on_sprites):
    small = on_sprites(DATASET)
    assert np.array_equal(small.images([7, 3, 7]), small.images(range(48))[[7, 3, 7]])


def test_pixels_that_were_published():
    # The colour of row 5 under version 2.0.0; a change here is a change of the version.
    white = np.full((1, 64, 64, 1), 255, np.uint8)
    assert colour_sprites(white, np.array([5]), None)[0, 0, 0].tolist() == [211, 179, 153]
