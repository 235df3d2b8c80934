"""Folders of PNG and JPEG files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from benchmark_data.errors import DamagedFile, InvalidInput

if TYPE_CHECKING:
    import PIL.Image

SUFFIXES = (".png", ".jpg", ".jpeg")
"""Of the files that are read, in either case."""


def read(folder: str | os.PathLike[str]) -> NDArray[np.uint8]:
    """Read all images of a folder and of the folders within it, in the order of their names.

    Args:
        folder: the folder. Names that begin with a dot are left out.

    Returns:
        uint8 (n, H, W, C), where C is 1 if all are grey and else 3, without transparency.

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
    return pixels.reshape(*pixels.shape[:3], -1)


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
