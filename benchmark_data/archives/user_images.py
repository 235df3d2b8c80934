"""Datasets of a user's own images: from arrays, iterables of images, or a folder with a CSV file."""

from __future__ import annotations

import dataclasses
import functools
import math
import mmap
import os
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmark_data import discovery
from benchmark_data.archives import picture_files
from benchmark_data.archives.picture_files import PictureFiles
from benchmark_data.dataset import Dataset
from benchmark_data.errors import DamagedFile, InvalidInput, OffaxisWarning, needs
from benchmark_data.factors import Factor, FactorTable, Indices
from benchmark_data.files import limit, user_path
from benchmark_data.types import Pixels, Source

__all__ = ["from_folder", "from_images"]

MAX_BYTES_IN_MEMORY = 2**30
"""Up to this many bytes of pixels, a folder's pictures are kept in memory; otherwise they are read on access."""

MAX_TABLE_BYTES = 2**26
"""The maximum size of a table of labels in bytes, unless ``OFFAXIS_MAX_TABLE`` sets another."""


@dataclasses.dataclass(frozen=True, eq=False)
class InMemory(Source):
    """Pixels of a user's array, which may be a memory-mapped file. A file mapped whole is pickled by name.

    Args:
        pixels: uint8, shape (n, H, W, C) or (n, H, W).
    """

    pixels: Pixels

    def __reduce__(self) -> tuple[Any, ...]:
        pixels: Any = self.pixels
        base: Any = pixels.base
        if (
            isinstance(pixels, np.memmap)
            and isinstance(base, mmap.mmap)
            and pixels.flags.c_contiguous
            and pixels.mode != "c"
            and pixels.filename
        ):
            return _map_file, (str(pixels.filename), pixels.offset, pixels.shape)
        return InMemory, (pixels,)

    def images(self, indices: Indices, labels: Indices) -> Pixels:
        """Copy images."""
        batch = np.asarray(self.pixels[indices])
        return batch if batch.ndim == 4 else batch[..., None]


def _map_file(file: str, offset: int, shape: tuple[int, ...]) -> InMemory:
    """Map pixels of a file."""
    return InMemory(np.memmap(file, np.uint8, "r", offset, shape))


def from_images(
    name: str,
    images: ArrayLike | Iterable[ArrayLike] | os.PathLike[str],
    labels: Mapping[str, ArrayLike] | Any = None,
) -> Dataset:
    """Make a dataset of your images, for ``baselines.train`` and all other functions of a `Dataset`.

    Training reads rows in random order, and a resumed run reads the same ones again, so images need random access. An
    array is used as it is: one from ``numpy.load(path, mmap_mode="r")`` stays on disk. An iterable, such as a
    ``tf.data.Dataset`` of images or a Hugging Face dataset, is read to its end and kept in memory: pass as many images
    as fit, 12 kB each for 64 x 64 pixels in three colours.

    Args:
        name: the name of the dataset: lower-case letters, digits and underscores.
        images: uint8, shape (n, H, W, C) or (n, H, W); or an iterable of images of one size, each uint8 (H, W, C) or
            (H, W), a Pillow image, a tensor, or a record with one of them as ``image``; or the path of a folder, as
            for `from_folder`. Pillow images are treated like files: if all are grey, the dataset is grey, otherwise all
            have three channels; photographs are rotated by their EXIF data.
        labels: labels of the images, if any: name -> n numbers or strings, one for each image, as a dictionary or a
            table with named columns, such as a ``pandas.DataFrame``. Each column becomes a factor whose classes are the
            sorted different values. For a folder, they replace its CSV file, and follow the sorted names of all its
            pictures.

    Returns:
        The dataset. A run compares its digest, and resumes only with the same images.

    Raises:
        InvalidInput: the name is taken or malformed; there are no images, or they differ in size, are channels-first,
            do not have 1, 3 or 4 channels, are not uint8 or have more than 8 bits per channel; or labels have no names,
            are not one for each image, or contain NaN.
        DamagedFile: a file of the folder is not an image.

    Example:
        >>> pixels = np.zeros((6, 32, 32, 3), np.uint8)
        >>> mine = from_images("mine", pixels, {"animal": ["cat", "dog", "cat", "cat", "cow", "dog"]})
        >>> mine
        <Dataset mine 1.0.0: 6 images (32, 32, 3), FactorTable(animal, rows=6)>
        >>> mine.labels([0, 1, 4]).tolist()
        [[0], [2], [1]]
    """
    _check_dataset_name(name)
    what = f"images of {name}"
    columns = _label_columns(f"labels of {name}", labels)
    if isinstance(images, str | os.PathLike):
        if labels is None:
            return from_folder(images, name)
        return _dataset_of_files(name, picture_files.list_pictures(user_path(images)), columns)
    pixels = images if isinstance(images, np.ndarray) else _stack_images(what, images)
    _check_layout(what, pixels)
    if pixels.dtype != np.uint8 or pixels.ndim not in (3, 4) or not pixels.size:
        remedy = "Pass an array of pixels, or the path of a folder."
        if pixels.dtype.kind in "biufc" and pixels.size:
            remedy = "Scale pixels to 0 ... 255 and cast them to uint8."
        if pixels.dtype == np.uint8 and pixels.size:
            remedy = "Reshape them: pixels.reshape(-1, H, W, C)."
        raise InvalidInput(
            f"{what}: expected uint8 of shape (n, H, W, C) with n at least 1, received {pixels.dtype} of shape "
            f"{pixels.shape}. {remedy}"
        )
    return _dataset(name, InMemory(pixels), (*pixels.shape[1:], 1)[:3], len(pixels), columns)


def from_folder(folder: str | os.PathLike[str], name: str = "") -> Dataset:
    r"""Make a dataset of a folder of pictures, with labels from its CSV file if it has one.

    Pictures are PNG or JPEG files of one size. If all are grey, the dataset is grey, otherwise all have three channels;
    transparency is dropped, and photographs are rotated by their EXIF data. Up to 1 GiB of pixels are kept in memory;
    larger folders are read on access.

    With a CSV file in the folder, its rows are the pictures, in that order. The column ``file_name``, or else the first
    one, holds file names relative to the folder. Every other column becomes a factor whose classes are its sorted
    different values: ordinal if all are numbers, categorical if they are strings. Pictures not in the table are
    ignored, with a warning. Hidden files are ignored.

    A picture may have up to 4 million pixels and a table 64 MiB; the environment variables ``OFFAXIS_MAX_PIXELS`` and
    ``OFFAXIS_MAX_TABLE`` raise these limits.

    Without a CSV file, the dataset has all pictures of the folder and its subfolders, sorted by name, and no factors.

    Args:
        folder: the folder.
        name: the name of the dataset. Default: the folder's name, in lower-case letters, digits and underscores.

    Returns:
        The dataset.

    Raises:
        InvalidInput: there is no such folder, no picture in it, or more than one CSV file; the CSV file cannot be read,
            has no header or no rows, has no file names, or a name or a value is missing; pictures differ in size or
            have more than 8 bits per channel; or the name is taken.
        DamagedFile: a picture is missing or cannot be read.

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
    folder = user_path(folder)
    if name:
        _check_dataset_name(name)
    else:
        name = re.sub(r"[^a-z0-9_]+", "_", folder.resolve().name.lower())
        _check_dataset_name(
            name, f"Rename the folder, such as to my_{name}, or pass a name: from_folder({str(folder)!r}, 'my_{name}')"
        )
    table_paths = sorted(
        path for path in folder.glob("*") if path.suffix.lower() == ".csv" and path.name[0] != "." and path.is_file()
    )
    if len(table_paths) > 1:
        raise InvalidInput(
            f"{folder}: expected pictures and at most one CSV file of labels, received "
            f"{', '.join(table_path.name for table_path in table_paths)}. Remove all but one."
        )
    if not table_paths:
        return _dataset_of_files(name, picture_files.list_pictures(folder), {})
    table_path = table_paths[0]
    table = _read_table(table_path)
    file_column = "file_name" if "file_name" in table else str(table.columns[0])
    paths = _picture_paths(table_path, table, file_column)
    labels: dict[str, NDArray[Any]] = {}
    for column in table.columns.drop(file_column):
        is_number = table[column].dtype.kind in "biuf"
        labels[str(column)] = (table[column] if is_number else table[column].astype(str).str.strip()).to_numpy()
    unnamed = sorted(set(picture_files.list_pictures(folder)) - set(paths))
    if unnamed:
        warnings.warn(
            f"{len(unnamed):,} of the pictures in {folder} have no row in {table_path.name} and are ignored: "
            f"{unnamed[0].relative_to(folder)}{', ...' if len(unnamed) > 1 else ''}",
            OffaxisWarning,
            stacklevel=2,
        )
    return _dataset_of_files(name, paths, labels)


def _read_table(path: Path) -> Any:
    """Read a CSV file of labels, and check that no cell is empty and that column names differ.

    In a column of numbers, what pandas reads as missing, such as NA, is empty; in a column of strings it is not.
    """
    needs("reading a table of labels", "metrics", "pandas")
    import pandas as pd

    max_bytes = limit("OFFAXIS_MAX_TABLE", MAX_TABLE_BYTES)
    if (size := path.stat().st_size) > max_bytes:
        raise InvalidInput(
            f"{path} has {size:,} bytes, more than {max_bytes:,}. Set OFFAXIS_MAX_TABLE to a larger number to read it."
        )
    try:
        # With low_memory, a column's type is guessed part by part, and 042 becomes 42 in some of them.
        read_csv: Any = functools.partial(pd.read_csv, path, skipinitialspace=True, low_memory=False)
        names = read_csv(header=None, nrows=1, dtype=str, keep_default_na=False).iloc[0].tolist()
        table = read_csv(keep_default_na=False, na_values=[""])
        numeric_columns = read_csv().select_dtypes("number").dropna(axis=1, how="all")
        if not isinstance(table.index, pd.RangeIndex):  # pandas takes the first cells of longer rows for their names
            raise ValueError("rows with more cells than the header; a trailing comma adds a cell")
    except (ValueError, OverflowError) as error:
        raise InvalidInput(f"{path}: expected a table in UTF-8 with a header, received {error}.") from error
    if os.path.isfile(path.parent / names[0]):
        raise InvalidInput(f"{path}: expected column names in line 1, received the picture {names[0]!r}. Add a header.")
    _check_column_names(str(path), names)
    if len(table) == 0 or len(table.columns) < 2:
        raise InvalidInput(
            f"{path}: expected a column of file names, one or more factors, and a row for each picture, received "
            f"{len(table.columns)} columns and {len(table)} rows. Separate columns by commas."
        )
    for column in table:
        missing = np.flatnonzero((numeric_columns if column in numeric_columns else table)[column].isna())
        if len(missing):
            raise InvalidInput(
                f"column {column!r} of {path}: expected a value in every row, received none in line {missing[0] + 2}."
            )
    return table


def _check_column_names(what: str, names: Sequence[object]) -> None:
    """Check that columns have names, and that these differ."""
    for name in names:
        if not isinstance(name, str) or not name:
            raise InvalidInput(
                f"name of a factor among {what}: expected a string, received {name!r}. Name the columns, such as "
                "'kind'. In pandas, write tables with index=False."
            )
        if names.count(name) > 1:
            raise InvalidInput(f"{what}: expected columns of different names, received {name!r} twice. Rename one.")


def _picture_paths(table_path: Path, table: Any, column: str) -> tuple[Path, ...]:
    """Return the files in a column, and check that they are different pictures in the table's folder."""
    if table[column].dtype.kind not in "OUT":
        raise InvalidInput(
            f"column {column!r} of {table_path}: expected names of picture files, received "
            f"{table[column].iloc[0].item()!r}. Name the column of file names file_name."
        )
    names = [str(name) for name in table[column]]
    paths = tuple(table_path.parent / name for name in names)
    seen: set[Path] = set()
    for line, (name, path) in enumerate(zip(names, paths, strict=True), 2):
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise InvalidInput(f"{table_path}, line {line}: expected a picture in the folder, received {name!r}.")
        if not os.path.isfile(path):
            raise DamagedFile(
                f"{table_path}, line {line}: expected a picture in the folder, received {name!r}, which is not there. "
                "Correct the name or remove the line."
            )
        if path in seen:
            raise InvalidInput(f"{table_path}, line {line}: expected each picture once, received {name!r} again.")
        seen.add(path)
    return paths


def _dataset_of_files(name: str, paths: tuple[Path, ...], labels: Mapping[str, ArrayLike]) -> Dataset:
    """Make a dataset of picture files, after reading the header of each."""
    shape = picture_files.common_shape(paths)
    source: Source = PictureFiles(paths, shape)
    if len(paths) * math.prod(shape) <= MAX_BYTES_IN_MEMORY:
        rows = np.arange(len(paths))
        source = InMemory(source.images(rows, rows[:, None]))
    return _dataset(name, source, shape, len(paths), labels)


def _check_dataset_name(name: str, remedy: str = "") -> None:
    """Check the name of a user's dataset."""
    is_text = isinstance(name, str)
    if not is_text or not re.fullmatch(r"[a-z0-9_]+", name) or name in discovery.names("benchmark_data.datasets"):
        raise InvalidInput(
            "name of your dataset: expected lower-case letters, digits and underscores, not the name of a published "
            f"dataset, received {repr(name) if is_text else type(name).__name__}. {remedy}"
        )


def _dataset(
    name: str,
    source: Source,
    shape: tuple[int, int, int],
    count: int,
    labels: Mapping[str, ArrayLike],
) -> Dataset:
    """Make the dataset of the user's own images."""
    encoded = [_encode_column(column, values, count) for column, values in labels.items()]
    id_table = np.stack([ids for _, ids in encoded], axis=1) if encoded else np.empty((count, 0), np.int64)
    return Dataset(
        name=name,
        version="1.0.0",
        space=FactorTable(*(factor for factor, _ in encoded), rows=count, read=functools.partial(np.asarray, id_table)),
        source=source,
        image_shape=shape,
        description="The user's own images.",
        citation="",
        license="unknown",
        homepage="",
        redistributable=False,
    )


def _check_layout(what: str, pixels: NDArray[Any]) -> None:
    """Reject a single image (H, W, C), channels-first images (n, C, H, W), and channel counts other than 1, 3 and 4."""
    if pixels.ndim == 3 and pixels.shape[2] in (1, 3, 4):
        raise InvalidInput(
            f"{what}: expected uint8 of shape (n, H, W) or (n, H, W, C), received {pixels.dtype} of shape "
            f"{pixels.shape}. For one image, pass images[None]; for grey images this narrow, images[..., None]."
        )
    if pixels.ndim == 4 and pixels.shape[1] in (1, 3, 4) and pixels.shape[3] > 4:
        raise InvalidInput(
            f"{what}: expected uint8 of shape (n, H, W, C), received {pixels.dtype} of shape {pixels.shape}. It looks "
            "like NCHW: pass images.transpose(0, 2, 3, 1), or for a tensor images.permute(0, 2, 3, 1)."
        )
    if pixels.ndim == 4 and pixels.shape[3] not in (1, 3, 4):
        raise InvalidInput(f"{what}: expected 1, 3 or 4 channels, received {pixels.shape[3]}. Select: images[..., :3].")


def _stack_images(what: str, images: Any) -> Pixels:
    """Stack images; Pillow images are grey if all of them are grey, otherwise in colour, as for files."""
    import PIL.Image  # not at the top: scoring codes neither draws nor reads pictures

    if not isinstance(images, Iterable):
        raise InvalidInput(
            f"{what}: expected an array (n, H, W, C), an iterable of images, or a folder, received {images!r}."
        )
    arrays: list[NDArray[Any]] = []
    grey_positions: list[int] = []
    has_colours = False
    for image in images:
        if isinstance(image, Mapping) and "image" in image:  # a record of `datasets` or of TFDS
            image = image["image"]
        if isinstance(image, PIL.Image.Image):
            grey = picture_files.is_grey(what, image, "first")
            image = picture_files.upright_pixels(image, 1 if grey else 3)
            has_colours = has_colours or not grey
            grey_positions += [len(arrays)] * grey
        try:
            arrays.append(np.asarray(image).copy())  # a generator may use one buffer for all
        except (RuntimeError, TypeError, ValueError) as error:  # of numpy and PyTorch
            raise InvalidInput(
                f"{what}: expected uint8 arrays, received {type(image).__name__}: {error}. Pass the images only: "
                "(x for x, _ in data). Scale pixels of tensors to 0 ... 255 and cast them to torch.uint8."
            ) from error
    for position in grey_positions if has_colours else ():
        arrays[position] = np.repeat(arrays[position], 3, axis=2)
    if len({(image.shape, image.dtype) for image in arrays}) != 1:
        kinds = sorted({f"{image.dtype} {image.shape}" for image in arrays})
        raise InvalidInput(
            f"{what}: expected one or more images of one size, received {', '.join(kinds[:3]) if kinds else 'none'}. "
            f"{'Resize them first.' if kinds else ''}"
        )
    return np.stack(arrays)


def _label_columns(what: str, labels: Any) -> Mapping[str, ArrayLike]:
    """Return the columns of a dictionary or of a table, by name."""
    if labels is None:
        return {}
    if hasattr(labels, "items") and getattr(labels, "ndim", 2) == 2:  # a pandas.Series has one dimension
        columns = list(labels.items())
    elif names := getattr(labels, "column_names", None):  # of a Hugging Face dataset
        columns = [(name, labels[name]) for name in names]
    else:
        raise InvalidInput(
            f"{what}: expected a dictionary of columns by name, or a table with named columns, received "
            f"{type(labels).__name__} without names. Name them, as in labels={{'kind': labels}}."
        )
    _check_column_names(what, [name for name, _ in columns])
    return dict(columns)


def _encode_column(name: str, values: ArrayLike, count: int) -> tuple[Factor, NDArray[np.int64]]:
    """Return a column of labels as a factor and class ids."""
    # As objects: numpy's own strings are all as long as the longest, and it makes strings of everything among them.
    array = np.asarray(values, None if isinstance(values, np.ndarray) and values.dtype.kind in "biuf" else object)
    is_text = array.dtype == object and all(isinstance(value, str) for value in array.flat)
    if array.dtype == object and not is_text and (numbers := np.asarray(values)).dtype.kind != "U":
        array = numbers
    received = ""
    if array.shape != (count,):
        received = f"an array of shape {array.shape}"
    elif array.dtype.kind not in "biuf" and not is_text:
        received = f"{', '.join(sorted({type(value).__name__ for value in array.tolist()}))} of dtype {array.dtype}"
        others = [row for row, value in enumerate(array.flat) if not isinstance(value, str)]
        received += f", not a string in row {others[0]}" if len(others) < count else ""
    elif array.dtype.kind == "f" and len(not_finite := np.flatnonzero(~np.isfinite(array))):
        received = f"{array[not_finite[0]]} in row {not_finite[0]}"
    if received:
        raise InvalidInput(
            f"labels {name!r}: expected {count} finite numbers or strings, one for each image, received {received}."
        )
    classes, ids = np.unique(array, return_inverse=True)
    if array.dtype.kind == "f" and 2 * len(classes) <= count:  # with more values, none is a class
        close = np.flatnonzero(np.diff(classes) <= 8 * np.spacing(np.abs(classes).max()))
        if len(close):
            pair = f"{classes[close[0]]} and {classes[close[0] + 1]}"
            warnings.warn(
                f"labels {name!r}: {pair} differ only by rounding but become two classes. Round them (numpy.round).",
                OffaxisWarning,
                stacklevel=4,
            )
    if is_text:
        factor = Factor(name, range(len(classes)), "categorical", labels=classes.tolist())
        names = [text for text in factor.labels if not _is_number(text)]
        if 0 < len(names) < len(classes) / 2:
            message = f"labels {name!r}: {names[0]!r} is no number, so the factor is categorical and has no order."
            warnings.warn(message, OffaxisWarning, stacklevel=4)
    else:
        factor = Factor(name, classes.tolist(), "ordinal", labels=[str(value) for value in classes.tolist()])
    return factor, ids.astype(np.int64)


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
