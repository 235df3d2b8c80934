"""Noisy dSprites, on a small dSprites."""

from __future__ import annotations

import numpy as np

from benchmark_data.datasets.noisy_dsprites import DATASET, add_noise


def test_noise_lies_behind_white_sprites(inside, on_sprites):
    images = on_sprites(DATASET).images(range(48))
    assert (images[inside] == 255).all()
    noise = images[~inside]
    counts = np.bincount(noise.ravel(), minlength=256)
    # Uniform: each of 256 levels is expected equally often; 6 standard deviations.
    assert np.abs(counts - noise.size / 256).max() < 6 * np.sqrt(noise.size / 256)
    assert abs(np.corrcoef(noise[:, 0], noise[:, 1])[0, 1]) < 0.01


def test_a_row_is_the_same_in_any_order(on_sprites):
    small = on_sprites(DATASET)
    assert np.array_equal(small.images([7, 3, 7]), small.images(range(48))[[7, 3, 7]])


def test_pixels_that_were_published():
    # The first pixels of row 5 under version 2.0.0; a change here is a change of the version.
    black = np.zeros((1, 64, 64, 1), np.uint8)
    assert add_noise(black, np.array([5]), None)[0, 0, :2].tolist() == [[249, 147, 26], [91, 76, 101]]
