"""A dataset of one's own images: from arrays, from anything that yields images, or from a folder with a CSV file."""

from __future__ import annotations

import dataclasses
import functools
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmark_data import discovery
from benchmark_data.dataset import Dataset
from benchmark_data.errors import DamagedFile, InvalidInput, needs
from benchmark_data.factors import Factor, FactorTable, Indices
from benchmark_data.types import Images, Source

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclasses.dataclass(frozen=True)
class InMemory(Source):
    """Pixels that the user holds: an array, which may be a memory-mapped file.

    Args:
        pixels: uint8, shape (n, H, W, C).
    """

    pixels: Images

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
            with _opened(self.paths[row]) as picture:
                if (picture.height, picture.width) != self.shape[:2]:
                    raise InvalidInput(
                        str(self.paths[row]),
                        expected=f"{self.shape[1]} x {self.shape[0]} pixels, as the first image has",
                        received=f"{picture.width} x {picture.height}",
                        remedy="Resize them first.",
                    )
                pixels[place] = np.asarray(picture.convert(_MODES[self.shape[2]])).reshape(self.shape)
        return pixels


_MODES = {1: "L", 3: "RGB"}


def from_images(
    name: str,
    images: ArrayLike | Iterable[ArrayLike] | os.PathLike[str],
    labels: Mapping[str, ArrayLike] | None = None,
) -> Dataset:
    """Make a dataset of one's own images, for ``baselines.train`` and everything else that takes a `Dataset`.

    Training draws rows in random order, and a run that was stopped draws the same ones again, so that images must be
    where any of them can be read at once. An array is kept as it is: one that ``numpy.load(path, mmap_mode="r")`` gave
    stays on disk. A stream, such as a ``tf.data.Dataset`` of images or a Hugging Face dataset, is read to its end and
    held in memory: take as many images as fit, 12 kB each for 64 x 64 pixels in three colours.

    Args:
        name: what runs call it: lower-case letters, digits and underscores.
        images: uint8, shape (n, H, W, C) or (n, H, W); or an iterable of images of one size, each uint8 (H, W, C) or
            (H, W), a Pillow image or a tensor; or the path of a folder of PNG and JPEG files of one size, which are
            read in the order of their names, those in folders within it as well.
        labels: what is known of the images, if anything: name -> n numbers or texts, one for each image. Each becomes a
            factor whose classes are the different values in order.

    Returns:
        The dataset. Its digest tells whether a run goes on with the images that it began with.

    Raises:
        InvalidInput: the name is taken or not such a name, there are no images, they differ in size, have their
            channels first or are not uint8, or the labels are not as many.
        DamagedFile: a file of the folder is no image.

    Example:
        >>> pixels = np.zeros((6, 32, 32, 3), np.uint8)
        >>> mine = from_images("mine", pixels, {"animal": ["cat", "dog", "cat", "cat", "cow", "dog"]})
        >>> mine
        <Dataset mine 1.0.0: 6 images (32, 32, 3), FactorTable(animal, rows=6)>
        >>> mine.labels([0, 1, 4]).tolist()
        [[0], [2], [1]]
    """
    what = f"images of {name}"
    _check_name(name)
    if isinstance(images, str | os.PathLike):
        images = _folder_pixels(Path(images))
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
    return _dataset(name, InMemory(pixels), pixels.shape[1:], len(pixels), labels or {})


def from_folder(folder: str | os.PathLike[str], name: str = "") -> Dataset:
    r"""Make a dataset of a folder of pictures and one CSV file that says what is known of them.

    The column ``file_name`` of the CSV, or its first one where there is none, names the picture files, relative to the
    folder. Every other column becomes a factor whose classes are its different values in order: ordinal where all are
    numbers, categorical where they are texts. Pictures are read when they are asked for.

    Args:
        folder: the folder. Pictures have one size and are all grey or all colours, as the first one is.
        name: what to call the dataset; by default the folder's name, in lower-case letters, digits and underscores.

    Returns:
        The dataset, in the order of the CSV file.

    Raises:
        InvalidInput: there is not one CSV file, it cannot be read, it has no factors or no rows, a value is missing, or
            the name is taken.
        DamagedFile: a picture is not there or cannot be read.

    Example:
        >>> import tempfile
        >>> import PIL.Image
        >>> folder = Path(tempfile.mkdtemp())
        >>> for level in (0, 90, 180):
        ...     PIL.Image.new("L", (8, 8), level).save(folder / f"{level}.png")
        >>> _ = (folder / "labels.csv").write_text("file_name,level\n0.png,0\n90.png,90\n180.png,180\n")
        >>> from_folder(folder, "greys")
        <Dataset greys 1.0.0: 3 images (8, 8, 1), FactorTable(level, rows=3)>
    """
    needs("reading a table of labels", "metrics", "pandas")
    import pandas as pd

    folder = Path(folder)
    name = name or re.sub(r"[^a-z0-9_]+", "_", folder.resolve().name.lower())
    _check_name(name)
    tables = sorted(folder.glob("*.csv"))
    if len(tables) != 1:
        raise InvalidInput(
            str(folder),
            expected="a folder with pictures and one CSV file of labels",
            received=", ".join(table.name for table in tables) or "no CSV file",
        )
    try:
        table = pd.read_csv(tables[0], keep_default_na=False, na_values=[""])
    except ValueError as error:
        raise InvalidInput(str(tables[0]), expected="a table in UTF-8 with a header", received=str(error)) from error
    files = "file_name" if "file_name" in table else next(iter(table), "")
    if len(table) == 0 or len(table.columns) < 2:
        raise InvalidInput(
            str(tables[0]),
            expected="a column that names files, one or more factors, and a row for each picture",
            received=f"{len(table.columns)} columns and {len(table)} rows",
        )
    for column in table:
        missing = np.flatnonzero(table[column].isna())
        if len(missing):
            raise InvalidInput(
                f"column {column!r} of {tables[0]}",
                expected="a value in every row",
                received=f"none in line {missing[0] + 2}",
            )
    paths = tuple(folder / str(file) for file in table[files])
    with _opened(paths[0]) as first:
        shape = (first.height, first.width, 1 if first.mode in ("1", "L") else 3)
    labels = {
        str(column): values.to_numpy() if values.dtype.kind in "biuf" else values.to_numpy(str)
        for column, values in table.drop(columns=files).items()
    }
    return _dataset(name, PictureFiles(paths, shape), shape, len(paths), labels)


def _opened(path: Path) -> Image:
    """Open a picture file."""
    import PIL.Image  # where it is used: who judges codes draws and reads no pictures

    try:
        return PIL.Image.open(path)
    except OSError as error:  # of which Pillow's own errors are kinds
        raise DamagedFile(str(path), expected="a picture", received=error.strerror or str(error)) from error


def _check_name(name: str) -> None:
    """Refuse a name that no dataset of one's own may have."""
    if not re.fullmatch(r"[a-z0-9_]+", name) or name in discovery.names("benchmark_data.datasets"):
        raise InvalidInput(
            "name of a dataset",
            expected="lower-case letters, digits and underscores, and no published dataset's name",
            received=repr(name),
        )


def _dataset(
    name: str, source: Source, shape: tuple[int, int, int], count: int, labels: Mapping[str, ArrayLike]
) -> Dataset:
    """Declare a dataset of the user's own images."""
    columns = [_column(column, values, count) for column, values in labels.items()]
    table = np.stack([ids for _, ids in columns], axis=1) if columns else np.empty((count, 0), np.int64)
    return Dataset(
        name=name,
        version="1.0.0",
        space=FactorTable(*(factor for factor, _ in columns), rows=count, read=functools.partial(np.asarray, table)),
        source=source,
        image_shape=shape,
        description="The user's own images.",
        citation="",
        licence="unknown",
        homepage="",
        redistributable=False,
    )


def _check_layout(what: str, pixels: NDArray[Any]) -> None:
    """Refuse images whose channels come first: (n, C, H, W) with few channels and a width that is no number of them."""
    if pixels.ndim == 4 and pixels.shape[1] in (1, 3, 4) and pixels.shape[3] > 4:
        raise InvalidInput(
            what,
            expected="uint8 of shape (n, H, W, C)",
            received=f"{pixels.dtype} of shape {pixels.shape}",
            remedy="It looks like NCHW: pass images.transpose(0, 2, 3, 1), or of a tensor images.permute(0, 2, 3, 1).",
        )


SUFFIXES = (".png", ".jpg", ".jpeg")
"""Of the files that are read from a folder, in either case."""


def _folder_pixels(root: Path) -> Images:
    """Read all images of a folder and of the folders within it, in the order of their names.

    Args:
        root: the folder. Names that begin with a dot are left out.

    Returns:
        uint8 (n, H, W, C), where C is 1 if all are grey and else 3, without transparency.

    Raises:
        InvalidInput: there is no such folder, it holds no such file, or the images differ in size.
        DamagedFile: a file is no image.
    """
    if not root.is_dir():
        raise InvalidInput(
            f"images in {root}",
            expected="a folder of PNG or JPEG files",
            received="a file" if root.exists() else "no such folder",
        )
    found = [path for path in root.rglob("*") if path.suffix.lower() in SUFFIXES and path.is_file()]
    names = sorted(name for path in found if not (name := path.relative_to(root).as_posix()).startswith("."))
    if not names:
        raise InvalidInput(f"images in {root}", expected="files that end in .png, .jpg or .jpeg", received="none")
    images = [_picture(root / name) for name in names]
    for name, image in zip(names, images, strict=True):
        if image.size != images[0].size:
            raise InvalidInput(
                f"images in {root}",
                expected=f"one size, {_size(images[0])} as in {names[0]}",
                received=f"{_size(image)} in {name}",
                remedy="Resize them first.",
            )
    mode = "L" if all(image.mode == "L" for image in images) else "RGB"
    pixels = np.stack([np.asarray(image.convert(mode)) for image in images])
    return pixels.reshape(*pixels.shape[:3], -1)


def _picture(path: Path) -> Image:
    import PIL.Image

    try:
        with PIL.Image.open(path) as image:
            return image.convert("L" if image.mode in ("1", "L") else "RGB")
    except (OSError, PIL.Image.DecompressionBombError) as error:
        raise DamagedFile(
            str(path), expected="a PNG or JPEG image", received=str(error), remedy="Remove it or save it again."
        ) from error


def _size(image: Image) -> str:
    return f"{image.width} x {image.height} pixels"


def _collected(what: str, images: Any) -> Images:
    """Stack images one after another."""
    found = [np.asarray(image) for image in images]
    if len({(image.shape, image.dtype) for image in found}) != 1:
        kinds = sorted({f"{image.dtype} {image.shape}" for image in found})
        raise InvalidInput(
            what,
            expected="one or more images of one size",
            received=", ".join(kinds[:3]) if kinds else "none",
            remedy="Resize them first." if kinds else "",
        )
    return np.stack(found)


def _column(name: str, values: ArrayLike, count: int) -> tuple[Factor, NDArray[np.int64]]:
    """Make a factor of what is known of each image, and the class ids."""
    array = np.asarray(values)
    if (
        array.shape != (count,)
        or array.dtype.kind not in "biufU"
        or (array.dtype.kind == "f" and np.isnan(array).any())
    ):
        raise InvalidInput(
            f"labels {name!r}",
            expected=f"{count} numbers or texts, one for each image",
            received=f"{array.dtype} of shape {array.shape}",
        )
    classes, ids = np.unique(array, return_inverse=True)
    if array.dtype.kind == "U":
        factor = Factor(name, range(len(classes)), "categorical", labels=classes.tolist())
    else:
        factor = Factor(name, classes.tolist(), "ordinal", labels=[str(value) for value in classes.tolist()])
    return factor, ids.astype(np.int64)
