from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import benchmark_data
from baselines.objectives.simclr import OBJECTIVE, nt_xent
from benchmark_data import InvalidInput

CASE = json.loads((Path(__file__).parents[2] / "fixtures" / "beyond_pixels.json").read_text())["simclr"]
SPACE = benchmark_data.load("xysquares/spacing_8").space


def test_loss_and_gradients_are_half_of_those_of_the_authors_code(check_reference):
    """There the losses of first and second views are added up, each a mean over n views."""
    views = CASE["first"], CASE["second"]
    check_reference(lambda x, y: nt_xent(x, y, CASE["temperature"]), CASE, *views, scale=0.5)


def inputs(objective, n=8):
    return objective.inputs(np.arange(n), SPACE, 6, np.random.default_rng(0))


def test_both_views_are_of_one_image_and_changed_differently():
    objective = OBJECTIVE()
    first, second = objective.rows(np.arange(100, 200), SPACE, 50, np.random.default_rng(0))
    np.testing.assert_array_equal(first, second)
    images = np.ones((8, 16, 16, 3), np.float32)
    seen = np.asarray(objective.views(images, inputs(objective)))
    for image, brightness in zip(seen, inputs(objective)["brightness"], strict=True):
        black = (image == 0).all(axis=2)
        assert 4 <= black.sum() <= 16  # 4 x 4 pixels of 16 x 16, or what of them lies inside
        np.testing.assert_allclose(image[~black], np.broadcast_to(brightness[0, 0], image[~black].shape), rtol=1e-6)
        assert (brightness >= 0.5).all()
    assert len({image.tobytes() for image in seen}) == 8


def test_without_augmentation_images_stay_as_they_are():
    objective = OBJECTIVE(darkened=0.0, erased=0.0)
    images = np.random.default_rng(0).random((4, 8, 8, 1), np.float32)
    np.testing.assert_array_equal(np.asarray(objective.views(images, inputs(objective, 4))), images)


def test_settings_that_make_no_sense_are_refused():
    with pytest.raises(InvalidInput, match="'erased': expected at most 1, received 2"):
        OBJECTIVE(erased=2.0)
    with pytest.raises(InvalidInput, match="'temperature': expected a positive number"):
        OBJECTIVE(temperature=0.0)
    with pytest.raises(InvalidInput, match="'units'"):
        OBJECTIVE(units=0)
