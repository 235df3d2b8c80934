"""PNG and JPEG files of a user: sized before they are decoded, turned upright, all grey or all colours."""

from __future__ import annotations

import contextlib
import dataclasses
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmark_data.archives import store
from benchmark_data.errors import DamagedFile, InvalidInput, OffaxisError
from benchmark_data.factors import Indices
from benchmark_data.files import limit
from benchmark_data.types import Pixels, Source

if TYPE_CHECKING:
    from PIL.Image import Image

SUFFIXES = (".png", ".jpg", ".jpeg")
"""Of the files that are read from a folder, in either case."""

MAX_PIXELS = 2**22
"""Pixels of a picture, at most, unless the environment variable ``OFFAXIS_MAX_PIXELS`` says otherwise."""

SWAPPED_ORIENTATIONS = (5, 6, 7, 8)
"""Orientations of EXIF that swap width and height."""


@dataclasses.dataclass(frozen=True)
class PictureFiles(Source):
    """Picture files of one size, which are read when they are asked for.

    Args:
        paths: a file for each row.
        shape: (height, width, channels); one channel is grey, three are colours.
    """

    paths: tuple[Path, ...]
    shape: tuple[int, int, int]

    def images(self, indices: Indices, labels: Indices) -> Pixels:
        """Read pictures."""
        pixels = np.empty((len(indices), *self.shape), np.uint8)
        for position, row in enumerate(indices):
            with open_picture(self.paths[row]) as picture:
                if _height_width(picture) != self.shape[:2]:
                    raise DamagedFile(f"{self.paths[row]} has another size than when the dataset was made.")
                pixels[position] = upright_pixels(picture, self.shape[2])
        return pixels


def list_pictures(folder: Path) -> tuple[Path, ...]:
    """List the pictures of a folder and of the folders within it, in the order of their names; no hidden ones."""
    if not folder.is_dir():
        received = "a file" if folder.exists() else "no such folder"
        raise InvalidInput(f"images in {folder}: expected a folder of PNG or JPEG files, received {received}.")
    paths = [path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES and path.is_file()]
    relative_paths = [path.relative_to(folder) for path in paths]
    names = sorted(path.as_posix() for path in relative_paths if not any(part.startswith(".") for part in path.parts))
    if not names:
        raise InvalidInput(f"images in {folder}: expected files that end in .png, .jpg or .jpeg, received none.")
    return tuple(folder / name for name in names)


def common_shape(paths: tuple[Path, ...]) -> tuple[int, int, int]:
    """Return the (height, width, channels) that all pictures have; their pixels are not read."""
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
    """Return whether a picture is grey; one of more bits than Pillow converts without clipping is refused."""
    if picture.mode.startswith(("I", "F")) or ";16" in str(getattr(picture, "tile", "")):
        raise InvalidInput(
            f"{what}: expected 8 bits for each channel, received Pillow's mode {picture.mode}. Scale pixels to "
            f"0 ... 255 {then}."
        )
    return picture.mode in ("1", "L", "LA")


def upright_pixels(picture: Image, channels: int) -> Pixels:
    """Return a picture's pixels, upright, as uint8 (height, width, channels) with 1 or 3 channels."""
    import PIL.ImageOps

    upright = picture if _exif_orientation(picture) == 1 else PIL.ImageOps.exif_transpose(picture)
    return store.image_pixels(upright, channels)


def _height_width(picture: Image) -> tuple[int, int]:
    """Return the height and width that a picture has when it is upright."""
    return picture.size if _exif_orientation(picture) in SWAPPED_ORIENTATIONS else (picture.height, picture.width)


def _exif_orientation(picture: Image) -> int:
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


@contextlib.contextmanager
def open_picture(path: Path) -> Iterator[Image]:
    """Open a picture file of a size that will do; what goes wrong while it is read names the file."""
    import PIL.Image  # where it is used: who judges codes draws and reads no pictures

    try:
        with PIL.Image.open(path, formats=("PNG", "JPEG")) as picture:
            max_pixels = limit("OFFAXIS_MAX_PIXELS", MAX_PIXELS)
            if picture.width * picture.height > max_pixels:
                raise DamagedFile(
                    f"{path} has {picture.width} x {picture.height} pixels, more than {max_pixels:,}. Reduce it, or "
                    "set OFFAXIS_MAX_PIXELS to a larger number."
                )
            yield picture
    except (OffaxisError, MemoryError):
        raise
    except Exception as error:  # damaged files make Pillow raise more kinds than can be listed
        raise DamagedFile(
            f"{path}: expected a PNG or JPEG picture, received "
            f"{(isinstance(error, OSError) and error.strerror) or str(error)}. Remove it or save it again."
        ) from error
