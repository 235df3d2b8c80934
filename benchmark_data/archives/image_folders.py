"""Folders of PNG and JPEG files: the images, and a CSV file of what is known of them."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from benchmark_data.errors import DamagedFile, InvalidInput

if TYPE_CHECKING:
    import PIL.Image

SUFFIXES = (".png", ".jpg", ".jpeg")
"""Of the files that are read, in either case."""


def read(folder: str | os.PathLike[str]) -> tuple[NDArray[np.uint8], list[str]]:
    """Read all images of a folder and of the folders within it, in the order of their names.

    Args:
        folder: the folder. Names that begin with a dot are left out.

    Returns:
        uint8 (n, H, W, C), where C is 1 if all are grey and else 3, without transparency; and the files' names within
        the folder, with ``/`` between its parts.

    Raises:
        InvalidInput: there is no such folder, it holds no such file, or the images differ in size.
        DamagedFile: a file is no image.
    """
    root = Path(folder)
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
    images = [_image(root / name) for name in names]
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
    return pixels.reshape(*pixels.shape[:3], -1), names


def _image(path: Path) -> PIL.Image.Image:
    import PIL.Image

    try:
        with PIL.Image.open(path) as image:
            return image.convert("L" if image.mode in ("1", "L") else "RGB")
    except (OSError, PIL.Image.DecompressionBombError) as error:
        raise DamagedFile(
            str(path), expected="a PNG or JPEG image", received=str(error), remedy="Remove it or save it again."
        ) from error


def _size(image: PIL.Image.Image) -> str:
    return f"{image.width} x {image.height} pixels"


def read_labels(path: str | os.PathLike[str], names: Sequence[str]) -> dict[str, list[Any]]:
    """Read what a CSV file says of each image.

    Args:
        path: the file, with a header. The first column holds files' names.
        names: the images' names, whose order the labels get.

    Returns:
        The header's other columns -> a value for each image: numbers where all of the column are, else texts.

    Raises:
        DamagedFile: the file is missing or no such table, or it lacks an image or has it twice.
    """
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as stream:
            header, *rows = [row for row in csv.reader(stream, strict=True) if row]
    except (OSError, ValueError, csv.Error) as error:
        raise DamagedFile(str(path), expected="a CSV file with a header", received=str(error)) from error
    by_name = {row[0]: row[1:] for row in rows}
    missing = [name for name in names if len(by_name.get(name, ())) != len(header) - 1]
    if missing or len(by_name) != len(rows) or len(header) < 2:
        received = f"not one of {missing[0]}" if missing else "an image twice, or no labels"
        raise DamagedFile(
            str(path),
            expected=f"one row for each image: its file's name and {len(header) - 1} labels",
            received=received,
            remedy="The first column holds names as they stand in the folder, such as " + names[0] + ".",
        )
    return {column: _numbers([by_name[name][i] for name in names]) for i, column in enumerate(header[1:])}


def _numbers(values: list[str]) -> list[Any]:
    for kind in (int, float):
        try:
            return [kind(value) for value in values]
        except ValueError:
            continue
    return values
