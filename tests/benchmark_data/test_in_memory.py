from __future__ import annotations

import numpy as np
import PIL.Image
import pytest

from benchmark_data import DamagedFile, InvalidInput, from_images

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


@pytest.mark.parametrize("images", [PIXELS.transpose(0, 3, 1, 2), list(PIXELS.transpose(0, 3, 1, 2))])
def test_channels_first_are_recognised(images):
    with pytest.raises(InvalidInput, match=r"received uint8 of shape \(5, 3, 8, 12\). It looks like NCHW: pass .*perm"):
        from_images("chw", images)


def test_texts_are_no_pixels(tmp_path):
    with pytest.raises(InvalidInput, match=r"received <U\d+ of shape .*Give pixels, or the path of a folder of PNG"):
        from_images("a", np.full((2, 2, 2), "pixel"))
    with pytest.raises(InvalidInput, match=r"images in photos: expected a folder of PNG .*, received no such"):
        from_images("a", "photos")
    with pytest.raises(InvalidInput, match=r"expected files that end in .png, .jpg or .jpeg, received none"):
        from_images("a", tmp_path)


@pytest.fixture
def photos(tmp_path):
    """A folder of pictures in two folders, one of them a JPEG."""
    for i, name in enumerate(["b.png", "a/c.PNG", "a/.hidden/x.txt", "a/d.jpeg"]):
        (tmp_path / "photos" / name).parent.mkdir(parents=True, exist_ok=True)
        if not name.endswith("txt"):
            PIL.Image.fromarray(PIXELS[i]).save(tmp_path / "photos" / name)
    return tmp_path / "photos"


def test_a_folder_of_pictures(photos, monkeypatch):
    monkeypatch.chdir(photos.parent)
    data = from_images("a", "photos", {"animal": ["cow", "dog", "cat"]})
    assert (len(data), data.image_shape) == (3, (8, 12, 3))
    np.testing.assert_array_equal(data.images([0, 2]), PIXELS[[1, 0]])
    assert data.labels(range(3)).tolist() == [[1], [2], [0]]


def test_grey_pictures_have_one_channel(tmp_path):
    PIL.Image.fromarray(PIXELS[0, ..., 0]).save(tmp_path / "a.png")
    assert from_images("a", tmp_path).image_shape == (8, 12, 1)
    PIL.Image.fromarray(np.dstack([PIXELS[1], PIXELS[1, ..., :1]]), "RGBA").save(tmp_path / "b.png")
    np.testing.assert_array_equal(from_images("a", tmp_path).images([1])[0], PIXELS[1])


def test_folders_that_cannot_be_used(photos):
    PIL.Image.fromarray(PIXELS[0, :4]).save(photos / "z.png")
    with pytest.raises(InvalidInput, match=r"one size, 12 x 8 pixels as in a/c.PNG, received 12 x 4 pixels in z.png"):
        from_images("a", photos)
    (photos / "b.png").write_bytes(b"no picture")
    with pytest.raises(DamagedFile, match=r"b.png: expected a PNG or JPEG image"):
        from_images("a", photos)
