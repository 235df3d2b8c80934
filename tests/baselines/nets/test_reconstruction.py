from __future__ import annotations

import numpy as np
import pytest
from scipy import signal

from baselines.nets import reconstruction
from benchmark_data import UnknownName


@pytest.fixture
def pair():
    rng = np.random.default_rng(0)
    return rng.random((3, 64, 64, 2)).astype(np.float32), rng.normal(size=(3, 64, 64, 2)).astype(np.float32)


def test_bernoulli_by_hand_and_for_huge_logits():
    # -log sigmoid(0) = log 2 for either target; a confident right answer costs nothing, a wrong one its logit
    images = np.array([0.0, 1.0, 1.0, 0.0, 0.5], np.float32).reshape(5, 1, 1, 1)
    logits = np.array([0.0, 0.0, 1000.0, 1000.0, 0.0], np.float32).reshape(5, 1, 1, 1)
    found = np.asarray(reconstruction.bernoulli(images, logits))
    np.testing.assert_allclose(found, [np.log(2), np.log(2), 0.0, 1000.0, np.log(2)], rtol=1e-6)


def test_bernoulli_against_numpy(pair):
    images, logits = pair
    p = 1 / (1 + np.exp(-logits.astype(float)))
    expected = -(images * np.log(p) + (1 - images) * np.log(1 - p)).sum((1, 2, 3))
    np.testing.assert_allclose(np.asarray(reconstruction.bernoulli(*pair)), expected, rtol=1e-5)


def test_mse_sums_over_pixels(pair):
    np.testing.assert_allclose(
        np.asarray(reconstruction.mse(*pair)), ((pair[0] - pair[1]) ** 2).sum((1, 2, 3)), rtol=1e-5
    )


def test_blur_of_a_square():
    # an 8 x 8 square in the corner of a 64 x 64 image: the 63 x 63 box around (32, 32) begins at row 1
    image = np.zeros((1, 64, 64, 1), np.float32)
    image[0, :8, :8] = 1
    blurred = np.asarray(reconstruction.blur(image))[0, :, :, 0]
    assert blurred[0, 0] == pytest.approx(64 / 3969, rel=1e-6)
    assert blurred[31, 31] == pytest.approx(64 / 3969, rel=1e-6)
    assert blurred[32, 32] == pytest.approx(49 / 3969, rel=1e-6)
    assert blurred[40, 40] == 0


def test_blur_is_the_papers_fft_convolution(pair):
    kernel = np.full((1, 63, 63, 1), 1 / 3969)
    expected = signal.fftconvolve(pair[1], kernel, mode="same", axes=(1, 2))
    np.testing.assert_allclose(np.asarray(reconstruction.blur(pair[1])), expected, atol=1e-6)


def test_box_blur_adds_the_blurred_error_3969_times(pair):
    kernel = np.full((1, 63, 63, 1), 1 / 3969)
    error = (pair[0] - pair[1]).astype(float)
    blurred = signal.fftconvolve(error, kernel, mode="same", axes=(1, 2))
    expected = (error**2).sum((1, 2, 3)) + 3969 * (blurred**2).sum((1, 2, 3))
    np.testing.assert_allclose(np.asarray(reconstruction.box_blur(*pair)), expected, rtol=1e-5)


def test_what_the_output_stands_for():
    output = np.array([-1.0, 0.0, 2.0], np.float32)
    assert np.asarray(reconstruction.find("bernoulli").image(output)) == pytest.approx([0.2689, 0.5, 0.8808], abs=1e-4)
    assert np.asarray(reconstruction.find("mse").image(output)).tolist() == [0.0, 0.0, 1.0]


def test_an_unknown_one():
    with pytest.raises(UnknownName, match=r"reconstruction: expected one of .* Did you mean 'box_blur'\?"):
        reconstruction.find("box-blur")
