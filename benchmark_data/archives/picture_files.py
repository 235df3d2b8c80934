"""PNG and JPEG files of a user: size checked before decoding, turned upright, all grey or all RGB."""

from __future__ import annotations

import contextlib
import dataclasses
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmark_data.archives import store
from benchmark_data.errors import DamagedFile, InvalidInput
from benchmark_data.factors import Indices
from benchmark_data.files import limit
from benchmark_data.types import Pixels, Source

if TYPE_CHECKING:
    from PIL.Image import Image

SUFFIXES = (".png", ".jpg", ".jpeg")
"""Extensions of the files that are read from a folder, in lower or upper case."""

MAX_PIXELS = 2**22
"""Pixels of a picture, at most, unless the environment variable ``OFFAXIS_MAX_PIXELS`` says otherwise."""

SWAPPED_ORIENTATIONS = (5, 6, 7, 8)
"""EXIF orientations that swap width and height."""


@dataclasses.dataclass(frozen=True)
class PictureFiles(Source):
    """Picture files of one size, read on demand.

    Args:
        paths: a file for each row.
        shape: (height, width, channels) with 1 (grey) or 3 (RGB) channels.
    """

    paths: tuple[Path, ...]
    shape: tuple[int, int, int]

    def images(self, indices: Indices, labels: Indices) -> Pixels:
        """Read pictures."""
        pixels = np.empty((len(indices), *self.shape), np.uint8)
        for position, row in enumerate(indices):
            with open_picture(self.paths[row]) as picture:
                if _height_width(picture) != self.shape[:2]:
                    raise DamagedFile(f"{self.paths[row]}: its size has changed. Restore it or make the dataset again.")
                pixels[position] = upright_pixels(picture, self.shape[2])
        return pixels


def list_pictures(folder: Path) -> tuple[Path, ...]:
    """List the pictures of a folder and its subfolders, sorted by name, without hidden ones."""
    if not folder.is_dir():
        received = "a file" if folder.exists() else "no such folder"
        remedy = f" Pass the array: numpy.load({str(folder)!r}, mmap_mode='r')." if folder.suffix == ".npy" else ""
        raise InvalidInput(f"images in {folder}: expected a folder of PNG or JPEG files, received {received}.{remedy}")
    paths = [path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES and path.is_file()]
    relative_paths = [path.relative_to(folder) for path in paths]
    names = sorted(path.as_posix() for path in relative_paths if not any(part.startswith(".") for part in path.parts))
    if not names:
        raise InvalidInput(f"images in {folder}: expected files that end in .png, .jpg or .jpeg, received none.")
    return tuple(folder / name for name in names)


def common_shape(paths: tuple[Path, ...]) -> tuple[int, int, int]:
    """Return the (height, width, channels) of all pictures, without decoding them."""
    sizes, all_grey = [], True
    for path in paths:
        with open_picture(path) as picture:
            sizes.append(_height_width(picture))
            all_grey = is_grey(str(path), picture, "and save it again") and all_grey
    (height, width) = sizes[0]
    for path, (other_height, other_width) in zip(paths, sizes, strict=True):
        if (other_height, other_width) != (height, width):
            raise InvalidInput(
                f"{path}: expected {width} x {height} pixels, as {paths[0].name} has, received "
                f"{other_width} x {other_height}. Resize them first."
            )
    return height, width, 1 if all_grey else 3


def is_grey(what: str, picture: Image, then: str) -> bool:
    """Return whether a picture is grey; raise an error if it has more bits than Pillow converts without clipping."""
    if picture.mode.startswith(("I", "F")) or ";16" in str(getattr(picture, "tile", "")):
        raise InvalidInput(
            f"{what}: expected 8 bits per channel, received Pillow mode {picture.mode}. Scale pixels to "
            f"0 ... 255 {then}."
        )
    return picture.mode in ("1", "L", "LA")


def upright_pixels(picture: Image, channels: int) -> Pixels:
    """Return a picture's pixels, upright, as uint8 (height, width, channels) with 1 or 3 channels."""
    import PIL.ImageOps

    upright = picture if _exif_orientation(picture) == 1 else PIL.ImageOps.exif_transpose(picture)
    return store.image_pixels(upright, channels)


def _height_width(picture: Image) -> tuple[int, int]:
    """Return the height and width of the upright picture."""
    return picture.size if _exif_orientation(picture) in SWAPPED_ORIENTATIONS else (picture.height, picture.width)


def _exif_orientation(picture: Image) -> int:
    """Return the EXIF orientation of a picture, 1 to 8; 1, for upright, also if EXIF cannot be read.

    EXIF after the pixels of a PNG file is ignored, since sizes are read without decoding them.
    """
    import PIL.ExifTags

    if picture.format == "PNG" and "exif" not in picture.info:
        return 1
    try:
        return int(picture.getexif().get(PIL.ExifTags.Base.Orientation, 1))
    except (SyntaxError, ValueError, TypeError, struct.error):
        return 1


@contextlib.contextmanager
def open_picture(path: Path) -> Iterator[Image]:
    """Open a picture file within the size limit; errors while it is read name the file."""
    with store.open_image(path, path, " Remove it or save it again.") as picture:
        max_pixels = limit("OFFAXIS_MAX_PIXELS", MAX_PIXELS)
        if picture.width * picture.height > max_pixels:
            raise DamagedFile(
                f"{path} has {picture.width} x {picture.height} pixels, more than {max_pixels:,}. Reduce it, or "
                "set OFFAXIS_MAX_PIXELS to a larger number."
            )
        yield picture
