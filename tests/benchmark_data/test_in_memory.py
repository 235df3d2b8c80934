from __future__ import annotations

import numpy as np
import PIL.Image
import pytest

from benchmark_data import InvalidInput, from_images

PIXELS = np.random.default_rng(0).integers(0, 256, (5, 8, 12, 3), np.uint8)


def test_an_array_is_kept_as_it_is():
    data = from_images("mine", PIXELS)
    assert (data.id, len(data), data.image_shape, data.splits) == ("mine", 5, (8, 12, 3), {"train": range(5)})
    found = data.images([3, 0, 3])
    np.testing.assert_array_equal(found, PIXELS[[3, 0, 3]])
    found[:] = 0
    assert PIXELS[3].any(), "a batch is a copy"
    assert data.space.sizes == ()
    assert data.labels([1, 2]).shape == data.values([1, 2]).shape == (2, 0)
    assert data.digest() == from_images("mine", PIXELS.copy()).digest()
    assert data.digest().pixels != from_images("mine", PIXELS[::-1]).digest().pixels


def test_a_memory_mapped_file_stays_on_disk(tmp_path):
    np.save(tmp_path / "pixels.npy", PIXELS)
    mapped = np.load(tmp_path / "pixels.npy", mmap_mode="r")
    data = from_images("mine", mapped)
    assert data.source.pixels is mapped
    assert type(data.images([4])) is np.ndarray
    np.testing.assert_array_equal(data.images([4]), PIXELS[4:])


def test_a_stream_is_collected():
    grey = [PIL.Image.fromarray(image[..., 0]) for image in PIXELS]
    data = from_images("mine", iter(grey))
    assert data.image_shape == (8, 12, 1)
    np.testing.assert_array_equal(data.images(range(5)), PIXELS[..., :1])
    np.testing.assert_array_equal(from_images("mine", list(PIXELS)).images([1]), PIXELS[1:2])


def test_labels_become_factors():
    labels = {"animal": ["cat", "dog", "cat", "cow", "dog"], "size": [0.5, 2.0, 0.5, 0.5, 1.0], "wild": [True] * 5}
    data = from_images("mine", PIXELS, labels)
    assert data.space.names == ("animal", "size", "wild")
    assert data.space.sizes == (3, 3, 1)
    assert data.labels(range(5)).tolist() == [[0, 0, 0], [2, 2, 0], [0, 0, 0], [1, 0, 0], [2, 1, 0]]
    assert data.values([1]).tolist() == [[2.0, 2.0, 1.0]]
    assert [factor.labels for factor in data.space.factors] == [("cat", "cow", "dog"), ("0.5", "1.0", "2.0"), ("True",)]
    assert [factor.kind for factor in data.space.factors] == ["categorical", "ordinal", "ordinal"]


@pytest.mark.parametrize(
    ("name", "images", "message"),
    [
        ("My Data", PIXELS, "name of a dataset: expected lower-case letters, .*, received 'My Data'"),
        ("xysquares", PIXELS, "name of a dataset: expected .* no published dataset's name, received 'xysquares'"),
        ("mine", PIXELS / 255, r"images of mine: expected uint8 .*, received float64 of shape \(5, 8, 12, 3\). Scale"),
        ("mine", PIXELS[0, 0], r"images of mine: expected uint8 .*, received uint8 of shape \(12, 3\)"),
        ("mine", PIXELS[:0], r"with n at least 1, received uint8 of shape \(0, 8, 12, 3\)"),
        ("mine", [], "images of mine: expected one or more images of one size, received none."),
        ("mine", [PIXELS[0], PIXELS[0, :4]], r"received uint8 \(4, 12, 3\), uint8 \(8, 12, 3\). Resize them first."),
    ],
)
def test_wrong_images_are_refused(name, images, message):
    with pytest.raises(InvalidInput, match=message):
        from_images(name, images)


@pytest.mark.parametrize("values", [[1, 2], [[1]] * 5, [1.0, np.nan, 0, 0, 0], [None] * 5])
def test_wrong_labels_are_refused(values):
    with pytest.raises(InvalidInput, match="labels 'x': expected 5 numbers or texts, one for each image, received"):
        from_images("mine", PIXELS, {"x": values})
