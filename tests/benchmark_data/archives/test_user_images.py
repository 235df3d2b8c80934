from __future__ import annotations

import pickle
import re
import struct
import tracemalloc
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
import PIL.ExifTags
import PIL.Image
import pytest

import benchmark_data
from benchmark_data import DamagedFile, InvalidInput, UnknownName, from_folder, from_images
from benchmark_data.errors import OffaxisWarning

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


@pytest.mark.parametrize(
    ("view", "small"),
    [
        (lambda mapped: mapped, True),
        (lambda mapped: mapped[7:], False),
        (lambda mapped: mapped[::2], False),
        (lambda mapped: mapped[:, :8], False),
        (lambda mapped: mapped[..., ::-1], False),
        (np.array, False),
    ],
)
def test_a_memory_mapped_file_is_pickled_by_its_place(view, small, tmp_path):
    """So do worker processes and the fingerprint of `hf.as_dataset` get it; other views of it travel as pixels."""
    np.save(tmp_path / "pixels.npy", np.random.default_rng(0).integers(0, 256, (100, 16, 16, 3), np.uint8))
    held = view(np.load(tmp_path / "pixels.npy", mmap_mode="r"))
    sent = pickle.dumps(from_images("mine", held).source)
    assert (len(sent) < 1000) == small
    np.testing.assert_array_equal(pickle.loads(sent).pixels, held)  # noqa: S301


def test_changes_of_a_mapped_file_that_it_does_not_get_are_pickled(tmp_path):
    np.save(tmp_path / "pixels.npy", PIXELS)
    changed = np.load(tmp_path / "pixels.npy", mmap_mode="c")
    changed[2] = 7
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(from_images("mine", changed).source)).pixels, changed)  # noqa: S301


def test_grey_images_of_a_memory_mapped_file_are_pickled_by_their_place(tmp_path):
    np.save(tmp_path / "pixels.npy", np.random.default_rng(0).integers(0, 256, (100, 16, 16), np.uint8))
    source = from_images("mine", np.load(tmp_path / "pixels.npy", mmap_mode="r")).source
    sent = pickle.dumps(source)
    assert len(sent) < 1000
    np.testing.assert_array_equal(pickle.loads(sent).pixels, source.pixels)  # noqa: S301


def test_a_stream_is_collected():
    grey = [PIL.Image.fromarray(image[..., 0]) for image in PIXELS]
    data = from_images("mine", iter(grey))
    assert data.image_shape == (8, 12, 1)
    np.testing.assert_array_equal(data.images(range(5)), PIXELS[..., :1])
    np.testing.assert_array_equal(from_images("mine", list(PIXELS)).images([1]), PIXELS[1:2])


PICTURE = PIL.Image.fromarray(PIXELS[0])


@pytest.mark.parametrize(
    ("picture", "expected"),
    [
        (PICTURE.quantize(16), PICTURE.quantize(16).convert("RGB")),  # numbers of colours, not colours
        (PICTURE.convert("CMYK"), PICTURE.convert("CMYK").convert("RGB")),
        (PIL.Image.fromarray(np.dstack([PIXELS[0], PIXELS[1, ..., :1]]), "RGBA"), PICTURE),
        (PIL.Image.fromarray(PIXELS[0, ..., 0] > 99), PIL.Image.fromarray((PIXELS[0, ..., 0] > 99) * np.uint8(255))),
    ],
    ids=["P", "CMYK", "RGBA", "1"],
)
def test_pillow_images_are_read_as_files_are(picture, expected, tmp_path):
    data = from_images("mine", [picture, picture])
    expected = np.asarray(expected).reshape(data.image_shape)
    np.testing.assert_array_equal(data.images([0, 1]), np.stack([expected] * 2))
    if picture.mode != "CMYK":  # which PNG has not
        picture.save(tmp_path / "a.png")
        np.testing.assert_array_equal(from_images("mine", tmp_path).images([0])[0], expected)


def test_grey_pillow_images_among_colours_are_colours():
    data = from_images("mine", [PICTURE.convert("L"), PICTURE])
    np.testing.assert_array_equal(data.images([0])[0], np.asarray(PICTURE.convert("L").convert("RGB")))
    np.testing.assert_array_equal(data.images([1])[0], PIXELS[0])


def test_grey_pictures_with_transparency_are_grey():
    data = from_images("mine", [PICTURE.convert("L"), PICTURE.convert("LA")])
    assert data.image_shape == (8, 12, 1)


def test_colours_of_sixteen_bits_are_refused(tmp_path):
    """Pillow opens them as eight bits, and keeps the high byte alone."""
    row = b"\0" + 4 * 3 * b"\1\x2c"
    parts = [(b"IHDR", struct.pack(">IIBBBBB", 4, 1, 16, 2, 0, 0, 0)), (b"IDAT", zlib.compress(row)), (b"IEND", b"")]
    chunks = [struct.pack(">I", len(d)) + k + d + struct.pack(">I", zlib.crc32(k + d)) for k, d in parts]
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(chunks))
    with pytest.raises(InvalidInput, match=r"a\.png: expected 8 bits per channel"):
        from_images("mine", tmp_path)


@pytest.mark.parametrize("mode", ["I;16", "I", "F"])
def test_pillow_images_of_more_than_eight_bits_are_refused(mode):
    """As bytes, or clipped by Pillow, they would be other images."""
    deep = PIL.Image.new(mode, (12, 8), 300)
    with pytest.raises(
        InvalidInput, match=rf"images of mine: expected 8 bits .* mode {mode}\. Scale pixels .* first\."
    ):
        from_images("mine", [deep])


def test_a_hugging_face_dataset_is_a_stream():
    datasets = pytest.importorskip("datasets")
    features = datasets.Features({"image": datasets.Image(), "animal": datasets.Value("string")})
    rows = datasets.Dataset.from_dict({"image": list(PIXELS), "animal": list("abcab")}, features)
    data = from_images("mine", rows, {"animal": rows["animal"]})
    np.testing.assert_array_equal(data.images(range(5)), PIXELS)
    np.testing.assert_array_equal(from_images("mine", rows["image"]).images(range(5)), PIXELS)
    assert data.labels(range(5)).ravel().tolist() == [0, 1, 2, 0, 1]
    np.testing.assert_array_equal(from_images("mine", rows, rows.select_columns(["animal"])).labels([2]), [[2]])


def test_a_table_with_named_columns_labels_images():
    by_name = {"x": [3, 1, 1, 2, 3], "y": list("abcab")}
    data = from_images("mine", PIXELS, pd.DataFrame(by_name))
    assert data.space.names == ("x", "y")
    assert data.labels(range(5)).tolist() == from_images("mine", PIXELS, by_name).labels(range(5)).tolist()
    assert from_images("mine", PIXELS, {}).space.names == from_images("mine", PIXELS, pd.DataFrame()).space.names == ()


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (
            [1, 2, 3, 4, 5],
            r"labels of mine: expected a dictionary of .*, received list without names\. Name them",
        ),
        (np.arange(5), r"received ndarray without names"),
        (pd.Series(range(5), name="kind"), r"received Series without names"),
        ({0: range(5)}, r"name of a factor among labels of mine: expected a string, received 0\. Name the columns"),
        ({"": range(5)}, r"name of a factor among labels of mine: expected a string, received ''\. Name the columns"),
        (
            pd.DataFrame([[1, 2]] * 5, columns=["x", "x"]),
            r"labels of mine: expected columns of different names, received 'x' twice\. Rename one",
        ),
        (pd.DataFrame(np.zeros((5, 2))), r"expected a string, received 0\."),
    ],
)
def test_labels_without_names_are_refused(labels, message):
    with pytest.raises(InvalidInput, match=message):
        from_images("mine", PIXELS, labels)


def test_labels_become_factors():
    labels = {"animal": ["cat", "dog", "cat", "cow", "dog"], "size": [0.5, 2.0, 0.5, 0.5, 1.0], "wild": [True] * 5}
    data = from_images("mine", PIXELS, labels)
    assert data.space.names == ("animal", "size", "wild")
    assert data.space.sizes == (3, 3, 1)
    assert data.labels(range(5)).tolist() == [[0, 0, 0], [2, 2, 0], [0, 0, 0], [1, 0, 0], [2, 1, 0]]
    assert data.values([1]).tolist() == [[2.0, 2.0, 1.0]]
    assert [factor.labels for factor in data.space.factors] == [("cat", "cow", "dog"), ("0.5", "1.0", "2.0"), ("True",)]
    assert [factor.kind for factor in data.space.factors] == ["categorical", "ordinal", "ordinal"]
    of_pandas = from_images("mine", PIXELS, {"animal": np.array(labels["animal"], object)})
    assert of_pandas.space.factors[0] == data.space.factors[0]
    np.testing.assert_array_equal(of_pandas.labels(range(5))[:, 0], data.labels(range(5))[:, 0])


@pytest.mark.parametrize(
    ("kind", "end"),
    [
        (
            ["cat", "dog", np.nan, "cat", None],
            r"received NoneType, float, str of dtype object, not a string in row 2\.",
        ),
        (np.array([1, 2, 3, 4, 5], object), r"received int of dtype object\."),
    ],
)
def test_gaps_among_texts_and_numbers_in_an_array_of_objects_are_refused(kind, end):
    with pytest.raises(InvalidInput, match=rf"labels 'kind': expected 5 finite numbers or strings, .*, {end}"):
        from_images("mine", PIXELS, {"kind": kind})


@pytest.mark.parametrize(
    ("name", "images", "message"),
    [
        ("My Data", PIXELS, "name of your dataset: expected lower-case letters, .*, received 'My Data'"),
        (
            "xysquares",
            PIXELS,
            "name of your dataset: expected .* not the name of a published dataset, received 'xysquares'",
        ),
        ("mine", PIXELS / 255, r"images of mine: expected uint8 .*, received float64 of shape \(5, 8, 12, 3\). Scale"),
        ("mine", PIXELS[0, 0], r"images of mine: expected uint8 .*, received uint8 of shape \(12, 3\)\. Reshape"),
        ("mine", PIXELS[:0], r"with n at least 1, received uint8 of shape \(0, 8, 12, 3\)"),
        ("mine", PIXELS[0], r"received uint8 of shape \(8, 12, 3\). For one image, pass images\[None\]"),
        ("mine", PIXELS[0, ..., :1], r"received uint8 of shape \(8, 12, 1\). For one image, pass images\[N"),
        ("mine", PIXELS[..., :2], r"images of mine: expected 1, 3 or 4 channels, received 2\. Select: images\[..., :3"),
        ("mine", [(PIXELS[0], 3)], r"expected uint8 arrays, received tuple: .* Pass the images only: \(x for x, _ in"),
        ("mine", [(PICTURE, 3)], r"expected uint8 arrays, received tuple: .* Pass the images only: \(x for x, _ in"),
        ("mine", None, "images of mine: expected an array .*, received None"),
        (PIXELS, "mine", "name of your dataset: expected lower-case letters, .*, received ndarray"),
        ("mine", [], "images of mine: expected one or more images of one size, received none."),
        ("mine", [PIXELS[0], PIXELS[0, :4]], r"received uint8 \(4, 12, 3\), uint8 \(8, 12, 3\). Resize them first."),
    ],
)
def test_wrong_images_are_refused(name, images, message):
    with pytest.raises(InvalidInput, match=message):
        from_images(name, images)


@pytest.mark.parametrize(
    ("values", "received"),
    [
        ([1, 2], r"an array of shape \(2,\)"),
        ([[1]] * 5, r"an array of shape \(5, 1\)"),
        ([1.0, np.nan, 0, 0, 0], "nan in row 1"),
        ([0, 0, 0, 0, -np.inf], "-inf in row 4"),
        ([None] * 5, "NoneType"),
        (["a", None, "a", "a", 1], "NoneType, int, str"),
    ],
)
def test_wrong_labels_are_refused(values, received):
    message = f"labels 'x': expected 5 finite numbers or strings, one for each image, received {received}"
    with pytest.raises(InvalidInput, match=message):
        from_images("mine", PIXELS, {"x": values})


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_labels_that_differ_by_rounding_alone_are_warned_of(dtype):
    third = dtype(1) / dtype(3)
    values = np.array([0, third, np.nextafter(third, dtype(1)), 0, 1, 0, 1, 1], dtype)
    pixels = np.zeros((8, 4, 6, 1), np.uint8)
    with pytest.warns(
        OffaxisWarning, match=r"^labels 'x': 0\.333\S+ and 0\.333\S+ differ only by rounding but become two"
    ):
        from_images("mine", pixels, {"x": values})
    from_images("mine", pixels, {"x": values.round(3)})  # warnings are errors here
    from_images("mine", pixels, {"x": np.arange(8).astype(dtype) * np.finfo(dtype).eps})  # each has its own


def test_numbers_of_which_one_is_none_are_warned_of():
    pixels = np.zeros((5, 4, 6, 1), np.uint8)
    with pytest.warns(OffaxisWarning, match=r"^labels 'x': 'O\.2' is no number, so the factor is categorical"):
        from_images("mine", pixels, {"x": ["0.1", "0.3", "O.2", "0.3", "1e3"]})
    from_images("mine", pixels, {"x": ["1", "2", "a", "b", "a"]})
    from_images("mine", pixels, {"x": ["1", "2", "10", "2", "1"]})  # numbers that are names


@pytest.fixture
def folder(tmp_path):
    """Four grey pictures of 6 x 4 pixels whose level is 10 times their number, and a CSV file in another order."""
    folder = tmp_path / "My pictures"
    folder.mkdir()
    for number in range(4):
        PIL.Image.new("L", (6, 4), 10 * number).save(folder / f"{number}.png")
    table = "level,file_name,what\n2.5,3.png,cat\n0,0.png,dog\n1,1.png,cat\n1,2.png,None\n"
    (folder / "labels.csv").write_text(table, "utf-8")
    return folder


def test_a_folder(folder):
    data = from_folder(folder)
    assert (data.id, len(data), data.image_shape, data.space.names) == ("my_pictures", 4, (4, 6, 1), ("level", "what"))
    assert data.images([0, 2])[:, 0, 0, 0].tolist() == [30, 10]
    assert data.images([0]).shape == (1, 4, 6, 1)
    assert data.values([0, 1, 2, 3], ["level"]).ravel().tolist() == [2.5, 0, 1, 1]
    assert [factor.kind for factor in data.space.factors] == ["ordinal", "categorical"]
    assert data.space.factors[1].labels == ("None", "cat", "dog")
    assert from_folder(folder, "other").digest() == data.digest()
    same = from_images("my_pictures", str(folder))
    assert (same.id, same.space.names, same.digest()) == (data.id, data.space.names, data.digest())
    relabelled = from_images("my_pictures", folder, {"level": [0, 1, 2, 3]})
    assert relabelled.images(range(4))[:, 0, 0, 0].tolist() == [0, 10, 20, 30], "by name, not as the table has them"
    assert relabelled.space.names == ("level",)


@pytest.mark.parametrize("size", [(1, 4), (12, 4), (6, 8)])
def test_a_picture_that_has_another_size_by_now_is_refused(folder, size, monkeypatch):
    """Where pictures are read on access; one of a single column would fit into the row without a word."""
    monkeypatch.setattr("benchmark_data.archives.user_images.MAX_BYTES_IN_MEMORY", 0)
    data = from_folder(folder)
    PIL.Image.new("L", size, 10).save(folder / "1.png")
    with pytest.raises(DamagedFile, match=r"1\.png: its size has changed\. Restore it"):
        data.images([2])
    assert data.images([0]).shape == (1, 4, 6, 1)


def test_hidden_tables_are_left_alone_and_capitals_are_read(folder):
    """macOS puts ``._labels.csv`` beside a file on disks of others; some programs write ``labels.CSV``."""
    expected = from_folder(folder).digest()
    (folder / "._labels.csv").write_bytes(b"\x00\x05\x16\x07")
    (folder / "labels.csv").rename(folder / "Labels.CSV")
    data = from_folder(folder)
    assert data.space.names == ("level", "what")
    assert data.digest() == expected


def test_a_folder_with_a_published_name_is_told_what_works(folder):
    taken = folder.rename(folder.with_name("dsprites"))
    with pytest.raises(
        InvalidInput, match=r"not the name of a published dataset, received 'dsprites'\. Rename the f"
    ) as raised:
        from_folder(taken)
    assert eval(str(raised.value).partition("pass a name: ")[2], {"from_folder": from_folder}).id == "my_dsprites"
    assert from_folder(taken.rename(taken.with_name("my_dsprites"))).id == "my_dsprites"


def test_a_folder_of_colours(folder):
    """One picture in colour makes all of them so; without ``file_name`` the first column names the files."""
    PIL.Image.new("RGB", (6, 4), (1, 2, 3)).save(folder / "3.png")
    (folder / "labels.csv").write_text("picture,level\n3.png,0\n1.png,1\n", "utf-8")
    with pytest.warns(OffaxisWarning, match=r"^2 of the pictures in .* have no row in labels\.csv and .*: 0\.png, "):
        data = from_folder(folder)
    assert data.images([1, 0])[:, 0, 0].tolist() == [[10, 10, 10], [1, 2, 3]]


def test_folders_that_will_not_do(folder):
    labels = folder / "labels.csv"
    (folder / "more.csv").write_text("a", "utf-8")
    with pytest.raises(InvalidInput, match=r"at most one CSV file of labels, received labels\.csv, more\.csv"):
        from_folder(folder)
    (folder / "more.csv").unlink()
    for text, problem in {
        "": r"a table in UTF-8 with a header, received No columns",
        "file_name\n0.png\n": r"one or more factors, and a row for each picture, received 1 columns and 1 rows",
        "file_name,x\n": r"received 2 columns and 0 rows",
        "file_name,x\n0.png,1\n1.png,\n": r"column 'x' of .*labels\.csv: expected a value in every row, .* in line 3",
        "file_name,x\n0.png,1\n1.png,NA\n": r"column 'x' of .*: expected a value in every row, received none in line 3",
        "file_name,x\n0.png, nan\n1.png,0.5\n": r"column 'x' of .*: expected a value in every row, .* in line 2",
        ",file_name,x\n0,0.png,1\n": r"factor among .*labels\.csv: expected a string, received ''.* with index=False",
        "0.png,1,1\n1.png,2,2\n": r"labels\.csv: expected column names in line 1, received the picture .0\.png",
    }.items():
        labels.write_text(text, "utf-8")
        with pytest.raises(InvalidInput, match=problem):
            from_folder(folder)
    labels.write_text("file_name,x\n7.png,1\n", "utf-8")
    with pytest.raises(DamagedFile, match=r"labels\.csv, line 2: expected a picture in the f.*, received '7\.png'"):
        from_folder(folder)
    labels.write_text("file_name;x\n0.png;1\n", "utf-8")
    with pytest.raises(InvalidInput, match=r"received 1 columns and 1 rows\. Separate columns by commas"):
        from_folder(folder)
    labels.write_text("file_name,x\n0.png,1,\n1.png,2,\n", "utf-8")
    with pytest.raises(InvalidInput, match="received rows with more cells than the header; a trailing comma"):
        from_folder(folder)
    labels.write_text("idx,file\n0,0.png\n", "utf-8")
    with pytest.raises(InvalidInput, match=r"column 'idx' of .*: expected names of picture files, .* file_name\."):
        from_folder(folder)
    labels.write_text("file_name,x\nlabels.csv,1\n0.png,1\n1.png,1\n2.png,1\n3.png,1\n", "utf-8")
    with pytest.raises(DamagedFile, match=r"labels\.csv: expected a PNG or JPEG file, received cannot identify"):
        from_folder(folder)
    with pytest.raises(InvalidInput, match="not the name of a published dataset"):
        from_folder(folder, "dsprites")


def test_blanks_around_texts_and_texts_that_look_like_no_value(folder):
    lines = ("file_name, x, y, z, w", "0.png, 1, NA, None, NA", "1.png, 2, cat, None , NA", "2.png, 2,cat ,None,NA")
    (folder / "labels.csv").write_text("\n".join(lines), "utf-8")
    with pytest.warns(OffaxisWarning, match="1 of the pictures"):
        data = from_folder(folder)
    assert data.space.names == ("x", "y", "z", "w")
    assert [factor.labels for factor in data.space.factors] == [("1", "2"), ("NA", "cat"), ("None",), ("NA",)]


def test_a_label_is_the_same_text_in_all_rows_of_a_long_table(tmp_path):
    """pandas would take the first 2,048 rows of 400 columns for numbers: 042, in both halves, for two labels."""
    codes = [f"{i // 60:03d}" for i in range(2499)] + ["x01"]
    lines = [f"{i:04d}.png,{code}" + ",1" * 400 for i, code in enumerate(codes)]
    (tmp_path / "labels.csv").write_text("\n".join(["file_name,code," + ",".join(f"a{j}" for j in range(400)), *lines]))
    PIL.Image.new("L", (2, 2)).save(tmp_path / "0000.png")
    for i in range(1, len(codes)):
        (tmp_path / f"{i:04d}.png").hardlink_to(tmp_path / "0000.png")
    with pytest.warns(OffaxisWarning, match="'x01' is no number"):
        assert set(from_folder(tmp_path).space.factors[0].labels) == set(codes)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_tensors_that_are_no_arrays_are_refused(dtype):
    torch = pytest.importorskip("torch")
    tensors = torch.zeros((2, 8, 12, 3), dtype=getattr(torch, dtype), requires_grad=True)
    for images in (tensors, list(tensors), [(tensors[0], 3)], tensors.detach().bfloat16()):
        with pytest.raises(
            InvalidInput, match=r"mine: expected uint8 arrays, .*Pass the images.* cast .* torch\.uint8"
        ):
            from_images("mine", images)


def test_a_name_or_a_folder(folder):
    assert benchmark_data.named_or_folder(str(folder)).id == "my_pictures"
    with pytest.raises(UnknownName, match=r"^dataset or existing folder: expected one of .*'nofolder'"):
        benchmark_data.named_or_folder("nofolder")
    with pytest.raises(UnknownName, match=r"labels\.csv'\. This is a file: pass a folder, or arrays to bench"):
        benchmark_data.named_or_folder(str(folder / "labels.csv"))


def test_no_name_is_not_the_current_folder(folder, monkeypatch):
    monkeypatch.chdir(folder)
    with pytest.raises(UnknownName, match=r"^dataset or existing folder: expected one of .*received ''"):
        benchmark_data.named_or_folder("")


def test_a_picture_has_one_row(tmp_path):
    PIL.Image.fromarray(np.zeros((4, 4), np.uint8)).save(tmp_path / "a.png")
    (tmp_path / "labels.csv").write_text("file_name,kind,size\na.png,1,2\na.png,2,2\n", "utf-8")
    with pytest.raises(InvalidInput, match=r"labels\.csv, line 3: expected each picture once, received 'a\.png' again"):
        from_folder(tmp_path, "mine")


def test_pictures_of_a_folder_have_one_size(folder):
    PIL.Image.new("L", (5, 4)).save(folder / "2.png")
    with pytest.raises(InvalidInput, match=r"2\.png: expected 6 x 4 pixels, as 3\.png has, received 5 x 4. Resize"):
        from_folder(folder)


def turned(orientation):
    """Return a picture whose upper left quarter is white, and the EXIF data that say how it is to be turned."""
    exif = PIL.Image.Exif()
    exif[PIL.ExifTags.Base.Orientation] = orientation
    size = (16, 32) if orientation in (5, 6, 7, 8) else (32, 16)
    picture = PIL.Image.new("L", size)
    picture.paste(255, (0, 0, size[0] // 2, size[1] // 2))
    return picture, exif


@pytest.mark.parametrize("ending", ["jpg", "png"])
@pytest.mark.parametrize(
    ("orientation", "corner"),
    [(1, (0, 0)), (2, (0, 1)), (3, (1, 1)), (4, (1, 0)), (5, (0, 0)), (6, (0, 1)), (7, (1, 1)), (8, (1, 0))],
)
def test_photographs_are_upright(orientation, corner, ending, tmp_path):
    """A camera that is held on its side writes what the sensor saw, and in EXIF how to turn it."""
    PIL.Image.new("L", (32, 16)).save(tmp_path / f"0.{ending}")
    picture, exif = turned(orientation)
    picture.save(tmp_path / f"1.{ending}", exif=exif)
    data = from_images("mine", tmp_path)
    assert data.image_shape == (16, 32, 1)
    bright = data.images([1])[0, 4::8, 8::16, 0] > 128
    assert np.argwhere(bright).tolist() == [list(corner)]
    with PIL.Image.open(tmp_path / f"1.{ending}") as opened:
        np.testing.assert_array_equal(from_images("mine", [opened]).images([0]), data.images([1]))


def test_a_photograph_whose_exif_cannot_be_read_is_taken_as_it_is(tmp_path):
    turned(1)[0].save(tmp_path / "0.jpg", exif=b"Exif\0\0no such data")
    assert from_images("mine", tmp_path).images([0])[0, 4, 8, 0] > 128


def test_pictures_of_more_than_eight_bits_are_refused(folder):
    """Pillow would clip them: everything above 255 of 65,535 would be white."""
    PIL.Image.fromarray(np.full((4, 6), 1000, np.uint16)).save(folder / "2.png")
    with pytest.raises(InvalidInput, match=r"2\.png: expected 8 bits per channel, received .* mode I.*Scale"):
        from_folder(folder)


def test_a_folder_without_labels_is_read_in_the_order_of_names(folder):
    (folder / "labels.csv").unlink()
    data = from_folder(folder)
    assert (data.id, data.space.names) == ("my_pictures", ())
    assert data.images(range(4))[:, 0, 0, 0].tolist() == [0, 10, 20, 30]


def test_many_pictures_are_read_when_they_are_asked_for(folder, monkeypatch):
    held = from_folder(folder)
    monkeypatch.setattr("benchmark_data.archives.user_images.MAX_BYTES_IN_MEMORY", 4 * 6 * 4 - 1)
    data = from_folder(folder)
    assert (type(held.source).__name__, type(data.source).__name__) == ("InMemory", "PictureFiles")
    assert data.digest() == held.digest()
    (folder / "2.png").write_bytes((folder / "2.png").read_bytes()[:45])
    with pytest.raises(DamagedFile, match=r"2\.png: expected a PNG or JPEG file, received .*Remove it or save it"):
        data.images([3])


@pytest.mark.parametrize("images", [PIXELS.transpose(0, 3, 1, 2), list(PIXELS.transpose(0, 3, 1, 2))])
def test_channels_first_are_recognised(images):
    with pytest.raises(InvalidInput, match=r"received uint8 of shape \(5, 3, 8, 12\). It looks like NCHW: pass .*perm"):
        from_images("chw", images)


def test_texts_are_no_pixels(tmp_path):
    with pytest.raises(
        InvalidInput, match=r"received <U\d+ of shape .*Pass an array of pixels, or the path of a folder"
    ):
        from_images("a", np.full((2, 2, 2), "pixel"))
    photos = re.escape(str(Path.cwd() / "photos"))
    array = tmp_path / "photos.npy"
    np.save(array, PIXELS)
    with pytest.raises(
        InvalidInput, match=rf"received a file\. Pass the array: numpy\.load\('{array}', mmap_mode='r'\)"
    ):
        from_images("mine", array, {"kind": range(5)})
    with pytest.raises(InvalidInput, match=rf"images in {photos}: expected a folder of PNG .*, received no such"):
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
    (photos / "a" / "._d.jpeg").write_bytes(b"what macOS leaves beside a file")
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
    with pytest.raises(InvalidInput, match=r"z.png: expected 12 x 8 pixels, as c.PNG has, received 12 x 4. Resize"):
        from_images("a", photos)
    (photos / "b.png").write_bytes(b"no picture")
    with pytest.raises(DamagedFile, match=r"b.png: expected a PNG or JPEG file"):
        from_images("a", photos)


def test_a_column_has_a_name_of_its_own(folder):
    (folder / "labels.csv").write_text("file_name,x,x\n0.png,1,2\n1.png,2,2\n", "utf-8")
    with pytest.raises(InvalidInput, match=r"labels\.csv: expected columns of different names, received 'x' twice\."):
        from_folder(folder)


@pytest.mark.parametrize("name", ["../outside.png", "{folder}/../outside.png"])
def test_a_table_names_pictures_of_its_folder_alone(name, folder):
    PIL.Image.new("L", (6, 4)).save(folder.parent / "outside.png")
    (folder / "labels.csv").write_text(f"file_name,x\n{name.format(folder=folder)},1\n", "utf-8")
    with pytest.raises(InvalidInput, match=r"labels\.csv, line 2: expected a picture in the folder, received '.*out"):
        from_folder(folder)


def test_a_name_that_no_file_system_takes(folder):
    (folder / "labels.csv").write_text(f"file_name,x\n{'x' * 300}.png,1\n", "utf-8")
    with pytest.raises(DamagedFile, match=r"labels\.csv, line 2: expected a picture in the folder, received 'xxx"):
        from_folder(folder)


def test_files_are_sized_before_they_are_decoded(folder, monkeypatch):
    monkeypatch.setenv("OFFAXIS_MAX_PIXELS", "23")
    with pytest.raises(DamagedFile, match=r"png has 6 x 4 pixels, more than 23\. Reduce it, or set OFFAXIS_MAX_PIX"):
        from_folder(folder)
    monkeypatch.setenv("OFFAXIS_MAX_PIXELS", "24")
    assert len(from_folder(folder)) == 4
    monkeypatch.setenv("OFFAXIS_MAX_TABLE", "10")
    with pytest.raises(InvalidInput, match=r"labels\.csv has 72 bytes, more than 10\. Set OFFAXIS_MAX_TABLE to a lar"):
        from_folder(folder)
    monkeypatch.setenv("OFFAXIS_MAX_TABLE", "ten")
    with pytest.raises(InvalidInput, match=r"OFFAXIS_MAX_TABLE must be a whole number above 0, not 'ten'\."):
        from_folder(folder)


def test_a_generator_may_use_one_buffer_for_all():
    def frames():
        buffer = np.zeros((8, 8, 1), np.uint8)
        for level in range(3):
            buffer[:] = level
            yield buffer

    assert from_images("film", frames()).images([0, 1, 2])[:, 0, 0, 0].tolist() == [0, 1, 2]


def test_a_folder_is_found_from_every_working_folder(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("benchmark_data.archives.user_images.MAX_BYTES_IN_MEMORY", 0)
    monkeypatch.setenv("HOME", str(folder.parent))
    monkeypatch.setenv("USERPROFILE", str(folder.parent))
    monkeypatch.chdir(folder.parent)
    data = from_folder(folder.name, "mine")
    monkeypatch.chdir(folder)
    assert np.array_equal(data.images([0]), from_folder(f"~/{folder.name}", "mine").images([0]))


def test_one_long_text_takes_no_more_memory_than_its_letters():
    texts = ["x" * 200_000, *(f"text {i % 7}" for i in range(3999))]
    tracemalloc.start()
    data = from_images("mine", np.zeros((4000, 4, 4, 1), np.uint8), {"caption": texts})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert data.space.sizes == (8,)
    assert peak < 2**24
