"""A dataset of one's own images: from arrays, from anything that yields images, or from a folder with a CSV file."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
import mmap
import os
import re
import struct
import warnings
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmark_data import discovery
from benchmark_data.dataset import Dataset
from benchmark_data.errors import DamagedFile, InvalidInput, OffaxisError, OffaxisWarning, needs
from benchmark_data.factors import Factor, FactorTable, Indices, with_values
from benchmark_data.files import read_json
from benchmark_data.types import Images, Source

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["OddFolder", "from_folder", "from_images"]


@dataclasses.dataclass(frozen=True)
class InMemory(Source):
    """Pixels that the user holds: an array, which may be a memory-mapped file.

    A pickle holds the pixels of an array, and of a file that is mapped whole or from some place on, where it lies:
    whoever unpickles it maps it again, read-only.

    Args:
        pixels: uint8, shape (n, H, W, C).
    """

    pixels: Images

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle where a mapped file lies; its pixels, where they are no whole rows of it."""
        place = _place_in_file(self.pixels)
        return (InMemory, (self.pixels,)) if place is None else (_mapped, place)

    def images(self, indices: Indices, labels: Indices) -> Images:
        """Copy images."""
        return np.asarray(self.pixels[indices])


@dataclasses.dataclass(frozen=True)
class PictureFiles(Source):
    """Picture files of one size, which are read when they are asked for.

    Args:
        paths: a file for each row.
        shape: (height, width, channels); one channel is grey, three are colours.
    """

    paths: tuple[Path, ...]
    shape: tuple[int, int, int]

    def images(self, indices: Indices, labels: Indices) -> Images:
        """Read pictures."""
        pixels = np.empty((len(indices), *self.shape), np.uint8)
        for place, row in enumerate(indices):
            pixels[place] = _read(self.paths[row], self.shape)
        return pixels


def _place_in_file(pixels: Images) -> tuple[str, int, tuple[int, ...]] | None:
    """Return file, first byte and shape of pixels that are mapped from a file and follow one another in it.

    Nothing for other arrays, and for those mapped for changes that the file does not get.
    """
    mapped: Any = pixels
    while isinstance(mapped.base, np.memmap):  # a view's offset is not its own but that of what it is a view of
        mapped = mapped.base
    of_file = isinstance(mapped, np.memmap) and isinstance(mapped.base, mmap.mmap) and mapped.filename is not None
    if not of_file or mapped.mode == "c" or not pixels.flags.c_contiguous:
        return None
    start = pixels.__array_interface__["data"][0] - mapped.__array_interface__["data"][0]
    return os.fspath(mapped.filename), mapped.offset + start, pixels.shape


def _mapped(file: str, offset: int, shape: tuple[int, ...]) -> InMemory:
    """Map pixels of a file, as `_place_in_file` says where they lie."""
    return InMemory(np.memmap(file, np.uint8, "r", offset, shape))


SUFFIXES = (".png", ".jpg", ".jpeg")
"""Of the files that are read from a folder, in either case."""

HELD = 2**30
"""Bytes of pixels up to which pictures of a folder are decoded once and held; more are read when they are asked for."""


class OddFolder(OffaxisWarning):
    """A folder of pictures is read whose table says less, or more, of them than one would expect."""


MANY = 100
"""Rows from which on a column with a different value in each is taken for something else than a factor."""


def from_images(
    name: str,
    images: ArrayLike | Iterable[ArrayLike] | os.PathLike[str],
    labels: Mapping[str, ArrayLike] | Any = None,
) -> Dataset:
    """Make a dataset of one's own images, for ``baselines.train`` and everything else that takes a `Dataset`.

    Training draws rows in random order, and a run that was stopped draws the same ones again, so that images must be
    where any of them can be read at once. An array is kept as it is: one that ``numpy.load(path, mmap_mode="r")`` gave
    stays on disk. A stream, such as a ``tf.data.Dataset`` of images or a Hugging Face dataset, is read to its end and
    held in memory: take as many images as fit, 12 kB each for 64 x 64 pixels in three colours.

    Args:
        name: what runs call it: lower-case letters, digits and underscores.
        images: uint8, shape (n, H, W, C) or (n, H, W); or an iterable of images of one size, each uint8 (H, W, C) or
            (H, W), a Pillow image, a tensor, or a record that has one of them as ``image``; or the path of a folder of
            PNG and JPEG files of one size, which are read in the order of their names, those in folders within it as
            well. Pillow images are read as files are: all are grey if every one is, else all are colours, and
            photographs are turned as their EXIF data say.
        labels: what is known of the images, if anything: name -> n numbers or texts, one for each image, as a
            dictionary or a table with named columns, such as a ``pandas.DataFrame``. Each becomes a factor whose
            classes are the different values in order.

    Returns:
        The dataset. Its digest tells whether a run goes on with the images that it began with.

    Raises:
        InvalidInput: the name is taken or not such a name, there are no images, they differ in size, have their
            channels first, are not uint8 or have more than 8 bits a channel; or the labels are not as many, or have no
            names.
        DamagedFile: a file of the folder is no image.

    Example:
        >>> pixels = np.zeros((6, 32, 32, 3), np.uint8)
        >>> mine = from_images("mine", pixels, {"animal": ["cat", "dog", "cat", "cat", "cow", "dog"]})
        >>> mine
        <Dataset mine 1.0.0: 6 images (32, 32, 3), FactorTable(animal, rows=6)>
        >>> mine.labels([0, 1, 4]).tolist()
        [[0], [2], [1]]
    """
    _check_name(name)
    what = f"images of {name}"
    columns = _columns(f"labels of {name}", labels)
    if isinstance(images, str | os.PathLike):
        return _of_files(name, _listed(Path(images)), columns)
    pixels = images if isinstance(images, np.ndarray) else _collected(what, images)
    _check_layout(what, pixels)
    if pixels.ndim == 3:
        pixels = pixels[..., None]
    if pixels.dtype != np.uint8 or pixels.ndim != 4 or not pixels.size:
        raise InvalidInput(
            what,
            expected="uint8 of shape (n, H, W, C) with n at least 1",
            received=f"{pixels.dtype} of shape {pixels.shape}",
            remedy="Scale pixels to 0 ... 255 and cast them to uint8."
            if pixels.dtype.kind in "biufc"
            else "Give pixels, or the path of a folder of PNG or JPEG files.",
        )
    return _dataset(name, InMemory(pixels), pixels.shape[1:], len(pixels), columns)


def from_folder(folder: str | os.PathLike[str], name: str = "") -> Dataset:
    r"""Make a dataset of a folder of pictures and, if there is one, the CSV file that says what is known of them.

    Pictures are PNG or JPEG files of one size. All are grey if every one is, else all are colours; transparency is left
    out, and photographs are turned as their EXIF data say. Up to 1 GiB of pixels are held in memory, more are read when
    they are asked for.

    With a CSV file in the folder, its rows are the pictures, in its order. The column ``file_name``, or the first one
    where there is none, names the files, relative to the folder. Every other column becomes a factor whose classes are
    its different values in order: ordinal where all are numbers, categorical where they are texts. Of a table that
    ``offaxis data get`` wrote, with ``index`` and two columns for each factor, ``label_<factor>`` and
    ``value_<factor>``, each factor is taken once, with its values, and with the kind, the unit and the names of values
    that the ``offaxis.json`` beside it says. There is a warning for pictures that the table does
    not name, which are left out, and for a column with a different value in every row, which is hardly a factor. Hidden
    files are left out.

    Without a CSV file, the pictures of the folder and of the folders within it are taken in the order of their names,
    and there are no factors.

    Args:
        folder: the folder.
        name: what to call the dataset; by default the folder's name, in lower-case letters, digits and underscores.

    Returns:
        The dataset.

    Raises:
        InvalidInput: there is no such folder, no picture in it, or more than one CSV file; the CSV file cannot be read,
            has no rows, does not name files, or a value is missing; pictures differ in size or have more than 8 bits
            a channel; or the name is taken.
        DamagedFile: a picture is not there or cannot be read, or ``offaxis.json`` does not hold what it should.

    Example:
        >>> import tempfile
        >>> import PIL.Image
        >>> folder = Path(tempfile.mkdtemp())
        >>> for level in (0, 90, 180):
        ...     PIL.Image.new("L", (8, 8), level).save(folder / f"{level}.png")
        >>> from_folder(folder, "greys")
        <Dataset greys 1.0.0: 3 images (8, 8, 1), FactorTable(, rows=3)>
        >>> _ = (folder / "labels.csv").write_text("file_name,level\n0.png,0\n90.png,90\n180.png,180\n")
        >>> from_folder(folder, "greys")
        <Dataset greys 1.0.0: 3 images (8, 8, 1), FactorTable(level, rows=3)>
    """
    folder = Path(folder)
    if name:
        _check_name(name)
    else:
        name = re.sub(r"[^a-z0-9_]+", "_", folder.resolve().name.lower())
        _check_name(
            name, f"Rename the folder, to my_{name} say, or in Python: from_folder({str(folder)!r}, 'my_{name}')"
        )
    tables = sorted(
        path for path in folder.glob("*") if path.suffix.lower() == ".csv" and path.name[0] != "." and path.is_file()
    )
    if len(tables) > 1:
        raise InvalidInput(
            str(folder),
            expected="pictures and at most one CSV file of labels",
            received=", ".join(table.name for table in tables),
        )
    if not tables:
        return from_images(name, folder)
    paths, labels, known = _labelled(tables[0])
    unnamed = sorted(set(_listed(folder)) - set(paths))
    if unnamed:
        warnings.warn(
            f"{len(unnamed):,} of the pictures in {folder} have no row in {tables[0].name} and are left out: "
            f"{unnamed[0].relative_to(folder)}{', ...' if len(unnamed) > 1 else ''}",
            OddFolder,
            stacklevel=2,
        )
    return _of_files(name, paths, labels, known)


def _labelled(table: Path) -> tuple[tuple[Path, ...], dict[str, NDArray[Any]], dict[str, Factor]]:
    """Read a CSV file of labels: the files that it names, the columns that are factors, and the factors that are known.

    A column whose factor is known holds class ids.
    """
    needs("reading a table of labels", "metrics", "pandas")
    import pandas as pd

    try:
        read = pd.read_csv(table, keep_default_na=False, na_values=[""])
    except ValueError as error:
        raise InvalidInput(str(table), expected="a table in UTF-8 with a header", received=str(error)) from error
    files = "file_name" if "file_name" in read else next(iter(read), "")
    if len(read) == 0 or len(read.columns) < 2:
        raise InvalidInput(
            str(table),
            expected="a column that names files, one or more factors, and a row for each picture",
            received=f"{len(read.columns)} columns and {len(read)} rows",
        )
    if read[files].dtype.kind not in "OUT":
        raise InvalidInput(
            f"column {files!r} of {table}",
            expected="names of picture files",
            received=repr(read[files].iloc[0].item()),
            remedy="Call the column that names the files file_name.",
        )
    for column in read:
        missing = np.flatnonzero(read[column].isna())
        if len(missing):
            raise InvalidInput(
                f"column {column!r} of {table}",
                expected="a value in every row",
                received=f"none in line {missing[0] + 2}",
            )
    paths = tuple(table.parent / str(file) for file in read[files])
    for line, path in enumerate(paths, 2):
        if not path.is_file():
            raise DamagedFile(
                f"{table}, line {line}",
                expected="a picture in the folder",
                received=f"{read[files].iloc[line - 2]!r}, which is not there",
                remedy="Correct the name, or take the line out.",
            )
    twice = np.flatnonzero(read[files].duplicated())
    if len(twice):
        raise InvalidInput(
            f"{table}, line {twice[0] + 2}",
            expected="each picture once",
            received=f"{read[files].iloc[twice[0]]!r} again",
        )
    read = read.drop(columns=files)
    names = [str(column).removeprefix("label_") for column in read if str(column).startswith("label_")]
    twins = [name for name in names if f"value_{name}" in read]
    known = {}
    if twins:  # as `offaxis data get` writes it
        known = {name: factor for name, factor in _declared(table.parent / ABOUT).items() if name in twins}
        _check_ids(table, read, known)
        taken = {("label_" if name in known else "value_") + name: name for name in twins}
        left = {f"{kind}_{name}" for kind in ("label", "value") for name in twins} - set(taken)
        read = read.drop(columns=["index", *left], errors="ignore").rename(columns=taken)
    labels = {
        str(column): values.to_numpy() if values.dtype.kind in "biuf" else values.to_numpy(str)
        for column, values in read.items()
    }
    for column, values in labels.items():
        if word := _word_among_numbers(values):
            warnings.warn(
                f"column {column!r} of {table} has numbers and {word!r}: it is read as texts, in the order of letters",
                OddFolder,
                stacklevel=3,
            )
        if len(values) > MANY and len(np.unique(values)) == len(values):
            warnings.warn(
                f"column {column!r} of {table} has a different value in every row: it is hardly a factor",
                OddFolder,
                stacklevel=3,
            )
    return paths, labels, known


ABOUT = "offaxis.json"
"""Says which images a folder of `offaxis data get` holds, or will hold, and what its factors are."""


def _declared(path: Path) -> dict[str, Factor]:
    """Read the factors that a folder's record declares: none where there is no record, or one of an earlier version."""
    record = read_json(path) if path.is_file() else {}
    declared = record.get("factors", {}) if isinstance(record, dict) else None
    try:
        return {
            name: Factor(
                name,
                [math.nan if value is None else value for value in said["values"]],
                said["kind"],
                said["unit"],
                said["labels"],
            )
            for name, said in declared.items()  # type: ignore[union-attr]  # told below
        }
    except (AttributeError, KeyError, TypeError, ValueError, OffaxisError) as error:
        raise DamagedFile(
            f"factors of {path}",
            expected="kind, unit, values and labels of each, as offaxis data get writes them",
            received=str(error) if isinstance(error, OffaxisError) else "something else",
            remedy="Write the folder again. Without the file every factor of numbers is ordinal.",
        ) from error


def _check_ids(table: Path, read: Any, known: Mapping[str, Factor]) -> None:
    """Refuse class ids that a folder's record does not know."""
    for name, factor in known.items():
        ids = read[f"label_{name}"]
        wrong = ids if ids.dtype.kind not in "iu" else ids[(ids < 0) | (ids >= factor.size)]
        if len(wrong):
            raise InvalidInput(
                f"column 'label_{name}' of {table}",
                expected=f"class ids from 0 to {factor.size - 1}, as {ABOUT} says",
                received=str(wrong.iloc[0]),
            )


def _word_among_numbers(values: NDArray[Any]) -> str:
    """Return the first text that is no number where most of a column's texts are numbers; nothing elsewhere."""
    if values.dtype.kind != "U":
        return ""
    words = [str(value) for value in values if not _NUMBER.fullmatch(str(value).strip())]
    return words[0] if 0 < 2 * len(words) < len(values) else ""


_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def _listed(folder: Path) -> tuple[Path, ...]:
    """List the pictures of a folder and of the folders within it, in the order of their names; no hidden ones."""
    if not folder.is_dir():
        raise InvalidInput(
            f"images in {folder}",
            expected="a folder of PNG or JPEG files",
            received="a file" if folder.exists() else "no such folder",
        )
    found = [path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES and path.is_file()]
    inside = [path.relative_to(folder) for path in found]
    names = sorted(path.as_posix() for path in inside if not any(part.startswith(".") for part in path.parts))
    if not names:
        raise InvalidInput(f"images in {folder}", expected="files that end in .png, .jpg or .jpeg", received="none")
    return tuple(folder / name for name in names)


def _of_files(
    name: str, paths: tuple[Path, ...], labels: Mapping[str, ArrayLike], known: Mapping[str, Factor] | None = None
) -> Dataset:
    """Make a dataset of picture files, after a look at the head of each: one size, all grey or all colours."""
    heads = [_head(path) for path in paths]
    (height, width), _ = heads[0]
    for path, ((high, wide), _) in zip(paths, heads, strict=True):
        if (high, wide) != (height, width):
            raise InvalidInput(
                str(path),
                expected=f"{width} x {height} pixels, as {paths[0].name} has",
                received=f"{wide} x {high}",
                remedy="Resize them first.",
            )
    shape = (height, width, 1 if all(grey for _, grey in heads) else 3)
    source: Source = PictureFiles(paths, shape)
    if len(paths) * height * width * shape[2] <= HELD:
        rows = np.arange(len(paths))
        source = InMemory(source.images(rows, rows[:, None]))
    return _dataset(name, source, shape, len(paths), labels, known)


def _head(path: Path) -> tuple[tuple[int, int], bool]:
    """Return a picture's (height, width), and whether it is grey; its pixels are not read."""
    with _opened(path) as picture:
        size = picture.size if _orientation(picture) in LYING else (picture.height, picture.width)
        return size, _is_grey(str(path), picture, "and save it again")


def _is_grey(what: str, picture: Image, then: str) -> bool:
    """Tell grey pictures from colours, and refuse those of more bits than Pillow converts without clipping them."""
    if picture.mode.startswith(("I", "F")):
        raise InvalidInput(
            what,
            expected="8 bits for each channel",
            received=f"Pillow's mode {picture.mode}",
            remedy=f"Scale pixels to 0 ... 255 {then}.",
        )
    return picture.mode in ("1", "L")


def _read(path: Path, shape: tuple[int, int, int]) -> Images:
    """Read a picture that has this shape."""
    with _opened(path) as picture:
        return np.asarray(_upright(picture).convert("L" if shape[2] == 1 else "RGB")).reshape(shape)


LYING = (5, 6, 7, 8)
"""Orientations of EXIF that swap width and height."""


def _orientation(picture: Image) -> int:
    """Return how EXIF says that a picture is to be turned, 1 to 8; 1 is as it is, also where EXIF cannot be read.

    Of a PNG file, EXIF that stands behind the pixels does not count: sizes are read without decoding them.
    """
    import PIL.ExifTags

    if picture.format == "PNG" and "exif" not in picture.info:
        return 1
    try:
        return int(picture.getexif().get(PIL.ExifTags.Base.Orientation, 1))
    except (SyntaxError, ValueError, TypeError, struct.error):
        return 1


def _upright(picture: Image) -> Image:
    """Turn a picture as EXIF says: cameras store photographs as the sensor saw them."""
    import PIL.ImageOps

    return picture if _orientation(picture) == 1 else PIL.ImageOps.exif_transpose(picture)


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[Image]:
    """Open a picture file; what goes wrong while it is read is told of that file."""
    import PIL.Image  # where it is used: who judges codes draws and reads no pictures

    try:
        with PIL.Image.open(path) as picture:
            yield picture
    except (OSError, PIL.Image.DecompressionBombError) as error:  # of which Pillow's own errors are kinds
        raise DamagedFile(
            str(path),
            expected="a PNG or JPEG picture",
            received=(isinstance(error, OSError) and error.strerror) or str(error),
            remedy="Remove it or save it again.",
        ) from error


def _check_name(name: str, remedy: str = "") -> None:
    """Refuse a name that no dataset of one's own may have."""
    text = isinstance(name, str)
    if not text or not re.fullmatch(r"[a-z0-9_]+", name) or name in discovery.names("benchmark_data.datasets"):
        raise InvalidInput(
            "name of a dataset",
            expected="lower-case letters, digits and underscores, and no published dataset's name",
            received=repr(name) if text else type(name).__name__,
            remedy=remedy,
        )


def _dataset(
    name: str,
    source: Source,
    shape: tuple[int, int, int],
    count: int,
    labels: Mapping[str, ArrayLike],
    known: Mapping[str, Factor] | None = None,
) -> Dataset:
    """Declare a dataset of the user's own images. Labels are class ids where the factor is known."""
    known = known or {}
    columns = [
        _occurring(known[column], values) if column in known else _column(column, values, count)
        for column, values in labels.items()
    ]
    table = np.stack([ids for _, ids in columns], axis=1) if columns else np.empty((count, 0), np.int64)
    return Dataset(
        name=name,
        version="1.0.0",
        space=FactorTable(*(factor for factor, _ in columns), rows=count, read=functools.partial(np.asarray, table)),
        source=source,
        image_shape=shape,
        description="The user's own images.",
        citation="",
        license="unknown",
        homepage="",
        redistributable=False,
    )


def _check_layout(what: str, pixels: NDArray[Any]) -> None:
    """Refuse images whose channels come first, (n, C, H, W), and one image alone, (H, W, C): channels are few."""
    if pixels.ndim == 3 and pixels.shape[2] in (3, 4):
        raise InvalidInput(
            what,
            expected="uint8 of shape (n, H, W) or (n, H, W, C)",
            received=f"{pixels.dtype} of shape {pixels.shape}",
            remedy="It looks like one image: pass images[None]. Grey images so narrow: images[..., None].",
        )
    if pixels.ndim == 4 and pixels.shape[1] in (1, 3, 4) and pixels.shape[3] > 4:
        raise InvalidInput(
            what,
            expected="uint8 of shape (n, H, W, C)",
            received=f"{pixels.dtype} of shape {pixels.shape}",
            remedy="It looks like NCHW: pass images.transpose(0, 2, 3, 1), or of a tensor images.permute(0, 2, 3, 1).",
        )


def _collected(what: str, images: Any) -> Images:
    """Stack images one after another; Pillow's as grey ones if all of them are grey, else as colours, as files are."""
    import PIL.Image  # where it is used: who judges codes draws and reads no pictures

    if not isinstance(images, Iterable):
        raise InvalidInput(
            what, expected="an array (n, H, W, C), images one after another, or a folder", received=repr(images)
        )
    found: list[NDArray[Any]] = []
    greys: list[int] = []
    colours = False
    for image in images:
        if isinstance(image, Mapping) and "image" in image:  # a record of `datasets` or of TFDS
            image = image["image"]
        if isinstance(image, PIL.Image.Image):
            grey = _is_grey(what, image, "first")
            image = _upright(image).convert("L" if grey else "RGB")
            colours = colours or not grey
            greys += [len(found)] * grey
        found.append(np.asarray(image))
    for place in greys if colours else ():
        found[place] = np.repeat(found[place][..., None], 3, axis=2)
    if len({(image.shape, image.dtype) for image in found}) != 1:
        kinds = sorted({f"{image.dtype} {image.shape}" for image in found})
        raise InvalidInput(
            what,
            expected="one or more images of one size",
            received=", ".join(kinds[:3]) if kinds else "none",
            remedy="Resize them first." if kinds else "",
        )
    return np.stack(found)


def _columns(what: str, labels: Any) -> Mapping[str, ArrayLike]:
    """Return the columns of a dictionary or of a table, by name."""
    if labels is None:
        return {}
    names = getattr(getattr(labels, "dtype", None), "names", None)  # of a structured array
    if hasattr(labels, "items"):
        columns = dict(labels.items())
    elif names := names or getattr(labels, "column_names", None) or getattr(labels, "columns", None):
        columns = {name: labels[name] for name in names}
    else:
        raise InvalidInput(
            what,
            expected="a dictionary of columns by name, or a table with named columns",
            received=f"{type(labels).__name__} without names",
            remedy="Give them a name, as in labels={'kind': labels}.",
        )
    for name in columns:
        if not isinstance(name, str):
            raise InvalidInput(
                f"name of a factor among {what}",
                expected="a text",
                received=repr(name),
                remedy="Name the columns, such as 'kind'.",
            )
    return columns


def _occurring(factor: Factor, ids: ArrayLike) -> tuple[Factor, NDArray[np.int64]]:
    """Return a known factor with those of its values that occur, and the class ids among them."""
    classes, places = np.unique(np.asarray(ids), return_inverse=True)
    return with_values(factor, classes.tolist()), places.astype(np.int64)


def _column(name: str, values: ArrayLike, count: int) -> tuple[Factor, NDArray[np.int64]]:
    """Make a factor of what is known of each image, and the class ids."""
    array = np.asarray(values)
    if array.dtype == object and all(isinstance(value, str) for value in array.flat):  # as pandas keeps texts
        array = array.astype(str)
    received = ""
    if array.shape != (count,):
        received = f"an array of shape {array.shape}"
    elif array.dtype.kind not in "biufU":
        received = ", ".join(sorted({type(value).__name__ for value in array.tolist()}))
    elif array.dtype.kind == "f" and len(odd := np.flatnonzero(~np.isfinite(array))):
        received = f"{array[odd[0]]} in row {odd[0]}"
    if received:
        raise InvalidInput(
            f"labels {name!r}",
            expected=f"{count} finite numbers or texts, one for each image",
            received=received,
        )
    classes, ids = np.unique(array, return_inverse=True)
    if array.dtype.kind == "U":
        factor = Factor(name, range(len(classes)), "categorical", labels=classes.tolist())
    else:
        factor = Factor(name, classes.tolist(), "ordinal", labels=[str(value) for value in classes.tolist()])
    return factor, ids.astype(np.int64)
