"""Pictures of a dataset for its page, from the folder of its results."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path
from typing import NamedTuple

from PIL import Image

from benchmark_data.errors import DamagedFile
from benchmark_data.files import read_bounded

LARGEST = 4 * 2**20
"""The most bytes of a picture."""


class Picture(NamedTuple):
    """A picture on a page.

    Attributes:
        file: its path within the site.
        width: in pixels.
        height: in pixels.
        alt: alternative text.
        caption: the caption.
        small: whether to enlarge it without smoothing.
    """

    file: str
    width: int
    height: int
    alt: str
    caption: str
    small: bool = False


def picture(file: Path, files: dict[str, bytes], *, alt: str, caption: str) -> Picture | None:
    """Read a picture and add it to the files of the site.

    Args:
        file: the picture, PNG.
        files: path within the site -> content.
        alt: alternative text.
        caption: the caption.

    Returns:
        The picture; None if there is no such file.

    Raises:
        DamagedFile: it cannot be read.
    """
    if not file.exists():
        return None
    content, image = _decode_png(file)
    return Picture(_add_file(content, files), *image.size, alt, caption, image.width < 500)


def thumbnail(file: Path, files: dict[str, bytes]) -> Picture | None:
    """Cut the first row, of four, from a contact sheet.

    Args:
        file: the contact sheet.
        files: path within the site -> content.

    Returns:
        The row; None if there is no sheet.
    """
    if not file.exists():
        return None
    _, image = _decode_png(file)
    row = image.crop((0, 0, image.width, image.height // 4))
    stream = io.BytesIO()
    row.save(stream, "PNG")
    return Picture(_add_file(stream.getvalue(), files), row.width, row.height, "", "")


def _decode_png(file: Path) -> tuple[bytes, Image.Image]:
    """Read a PNG file and decode all of it, so that a truncated one is an error."""
    content = read_bounded(file, LARGEST, what="a PNG picture")
    try:
        with Image.open(io.BytesIO(content), formats=["PNG"]) as image:
            return content, image.copy()
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise DamagedFile(f"{file}: expected a PNG picture, received {error}. Remove it or make it again.") from error


def _add_file(content: bytes, files: dict[str, bytes]) -> str:
    """Add a picture to the files of the site, named by its content; return its path."""
    name = f"pictures/{hashlib.sha256(content).hexdigest()[:16]}.png"
    files[name] = content
    return name
