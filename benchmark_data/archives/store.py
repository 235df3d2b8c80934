"""Prepared datasets on disk: pixels with random access, labels and provenance.

A prepared dataset is a folder that appears in one step when it is complete. It holds ``meta.json``, the pixels in one
of three encodings, ``labels.npy`` unless labels are a full grid, and one ``extra_<name>.npy`` for each extra array.

========  ==============================  ==========================================================================
raw       ``images.npy``                  uint8 (n, H, W, C), memory-mapped: any row costs one copy
bits      ``bits.npy``                    black and white images, 8 pixels to the byte: an eighth of the space
files     ``files.bin``, ``files.npy``    concatenated PNG or JPEG files, and the offset and length of each: large
                                          photographs would take twenty times the space as pixels
========  ==============================  ==========================================================================
"""

from __future__ import annotations

import contextlib
import functools
import io
import math
import mmap
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchmark_data import console
from benchmark_data.errors import DamagedFile, InvalidInput, OffaxisError, is_whole, needs
from benchmark_data.factors import Indices
from benchmark_data.files import exclusive, read_json, unwritable, user_path
from benchmark_data.types import Extra, Pixels

if TYPE_CHECKING:
    import PIL.Image

Encoding: TypeAlias = Literal["raw", "bits", "files"]

LARGEST = 2**30
"""Bytes of an image's pixels, at most."""

CACHE = "OFFAXIS_CACHE"
"""Environment variable: the folder that holds downloads and prepared datasets."""


def root() -> Path:
    """Return the folder of downloads and prepared datasets: ``$OFFAXIS_CACHE``, or the user's cache folder."""
    import platformdirs

    try:
        folder = user_path(os.environ.get(CACHE) or Path(platformdirs.user_cache_dir("offaxis")).expanduser())
    except RuntimeError as error:  # a container's user may have no home folder
        raise InvalidInput(f"There is no home folder for prepared datasets. Set {CACHE} to a folder.") from error
    try:
        folder.is_dir()
    except OSError as error:  # such as a name that is too long
        raise unwritable(folder, error) from error
    return folder


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Let one process at a time prepare ``folder``; the others wait.

    Args:
        folder: the folder to be made. Temporary folders left by killed processes are removed.

    Raises:
        InvalidInput: the lock file cannot be written.
    """
    needs("preparing datasets", "archives", "filelock")
    message = f"another process is preparing {folder}; waiting for it"
    with exclusive(folder.with_name(f".{folder.name}.lock"), what=folder, waiting=lambda: console.tell(message)):
        for leftover in folder.parent.glob(f".{folder.name}.*.part"):
            shutil.rmtree(leftover, ignore_errors=True)
        yield


def require_space(folder: Path, needed: int) -> None:
    """Check the free space before a long download rather than after it.

    Args:
        folder: the folder to be written; it need not exist yet.
        needed: bytes.

    Raises:
        InvalidInput: there is less free space.
    """
    existing = next(parent for parent in (folder, *folder.parents) if parent.exists())
    free = shutil.disk_usage(existing).free
    if free < needed:
        raise InvalidInput(
            f"{folder}: expected {needed / 2**30:.1f} GiB of free space, received {free / 2**30:.1f} GiB. Free "
            f"some space, or set {CACHE} to a folder on another disk."
        )


class Writer:
    """Writes a dataset into a folder, row by row, in any order.

    Args:
        folder: the folder to make, temporary until it is complete.
        name: the dataset, for messages.
        rows: the number of images.
        shape: (height, width, channels).
        encoding: the encoding of the pixels.
        columns: columns of the label table; 0 if labels are a full grid and need no table.
        extras: the extra arrays.
        counted: the rows whose pixels are averaged in `means`.
        advance: called with the number of images written since the last call.

    ``notes`` takes findings of an archive's reader, to be recorded in ``meta.json``.

    Example:
        >>> import tempfile
        >>> writer = Writer(Path(tempfile.mkdtemp()) / "made", name="squares", rows=2, shape=(4, 4, 1), encoding="bits")
        >>> writer.images(np.array([1, 0]), np.full((2, 4, 4, 1), 255, np.uint8))
        >>> writer.finish()
        >>> sorted(path.name for path in writer.folder.iterdir())
        ['bits.npy']
    """

    def __init__(
        self,
        folder: Path,
        *,
        name: str,
        rows: int,
        shape: tuple[int, int, int],
        encoding: Encoding = "raw",
        columns: int = 0,
        extras: Mapping[str, Extra] | None = None,
        counted: range = range(0),
        advance: Any = lambda count: None,
    ) -> None:
        self.folder, self.rows, self.shape, self.encoding = folder, rows, shape, encoding
        self._what = f"images of {name}"
        self.notes: dict[str, object] = {}
        self._advance = advance
        self._counted = counted
        self._channel_sums = np.zeros(shape[2], np.uint64)
        self._written = np.zeros(rows, bool)
        self._labels = np.zeros((rows, columns), np.int32) if columns else None
        self._labelled = np.zeros(rows, bool)
        self._extras = {name: np.zeros((rows, *extra.shape), extra.dtype) for name, extra in (extras or {}).items()}
        folder.mkdir(parents=True)
        self._offset = 0
        self._stream: IO[bytes]
        if encoding == "files":
            self._file_spans = np.zeros((rows, 2), np.int64)
            self._stream = (folder / "files.bin").open("wb")
        else:
            if encoding == "bits" and math.prod(shape) % 8:
                raise InvalidInput(f"encoding bits: expected a multiple of 8 pixels per image, received shape {shape}.")
            row_shape = shape if encoding == "raw" else (math.prod(shape) // 8,)
            path = folder / ("images.npy" if encoding == "raw" else "bits.npy")
            # Rows are written to the file, not the map, whose dirty pages would count as this process's memory.
            self._offset = np.lib.format.open_memmap(path, "w+", np.uint8, (rows, *row_shape)).offset
            self._stream = path.open("r+b")

    def images(self, rows: Indices, images: NDArray[np.uint8]) -> None:
        """Write pixels.

        Args:
            rows: int64, shape (n,), at most a few thousand.
            images: uint8, shape (n, H, W, C); only 0 and 255 if the encoding is ``bits``.

        Raises:
            DamagedFile: another dtype or shape, grey pixels for ``bits``, or a row out of range or written twice.
        """
        self._mark_written(rows)
        if images.dtype != np.uint8 or images.shape != (len(rows), *self.shape):
            raise DamagedFile(
                f"{self._what}: expected uint8 of shape {(len(rows), *self.shape)}, received {images.dtype} of shape "
                f"{images.shape}."
            )
        flat = images.reshape(len(rows), -1)
        if self._counted:
            counted_images = slice(None) if len(self._counted) == self.rows else np.isin(rows, self._counted)
            # Rows first, in 32 bits: forty times as fast as one sum over all axes in 64.
            column_sums = flat[counted_images].sum(axis=0, dtype=np.uint32).reshape(-1, self.shape[2])
            self._channel_sums += column_sums.sum(axis=0, dtype=np.uint64)
        if self.encoding == "bits":
            if not ((flat == 0) | (flat == 255)).all():
                raise DamagedFile(f"{self._what}: expected black and white pixels, received shades of grey.")
            flat = np.packbits(flat, axis=1)
        image_bytes = flat.shape[1]
        if (np.diff(rows) == 1).all():
            self._write_at(self._offset + int(rows[0]) * image_bytes, flat)
        else:
            for row, image in zip(rows.tolist(), flat, strict=True):
                self._write_at(self._offset + row * image_bytes, image)
        self._advance(len(rows))

    def file(self, row: int, content: bytes) -> None:
        """Write one image as its original PNG or JPEG file.

        Args:
            row: its row.
            content: the file.

        Raises:
            DamagedFile: the row comes twice, the file is no image, or the image has another size.
        """
        self._mark_written(np.array([row]))
        height, width, channels = self.shape
        with open_image(content, f"{self._what}, row {row}") as image:
            if image.size != (width, height):
                raise DamagedFile(
                    f"{self._what}: expected {width} x {height} pixels, received {image.size[0]} x {image.size[1]} "
                    f"in row {row}."
                )
            if row in self._counted:
                self._channel_sums += image_pixels(image, channels).sum(axis=(0, 1), dtype=np.uint64)
        self._file_spans[row] = self._offset, len(content)
        self._write_at(self._offset, np.frombuffer(content, np.uint8))
        self._offset += len(content)
        self._advance(1)

    def labels(self, rows: Indices, labels: NDArray[np.integer]) -> None:
        """Set class ids; does nothing if labels are a grid.

        Args:
            rows: int64, shape (n,).
            labels: class ids, int, shape (n, F).
        """
        if self._labels is not None:
            self._labels[rows], self._labelled[rows] = labels, True

    def extra(self, name: str, rows: Indices, values: NDArray[Any]) -> None:
        """Set rows of an extra array.

        Args:
            name: its name.
            rows: int64, shape (n,).
            values: shape (n, *shape).
        """
        self._extras[name][rows] = values

    @property
    def means(self) -> NDArray[np.float64]:
        """The mean of each channel over the counted rows, in [0, 1]."""
        count = max(1, len(self._counted)) * self.shape[0] * self.shape[1]
        return self._channel_sums.astype(np.float64) / (255.0 * count)

    def finish(self) -> None:
        """Close the files and check that every row was written.

        Raises:
            DamagedFile: rows are missing.
        """
        self._stream.close()
        missing = np.flatnonzero(~self._written | (~self._labelled if self._labels is not None else False))
        if len(missing):
            raise DamagedFile(
                f"{self._what}: expected {self.rows:,} images with labels, received {self.rows - len(missing):,}; "
                f"the first missing row is {missing[0]}."
            )
        if self.encoding == "files":
            np.save(self.folder / "files.npy", self._file_spans)
        if self._labels is not None:
            np.save(self.folder / "labels.npy", self._labels)
        for name, array in self._extras.items():
            np.save(self.folder / f"extra_{name}.npy", array)

    def close(self) -> None:
        """Close the files, complete or not."""
        self._stream.close()

    def _mark_written(self, rows: Indices) -> None:
        """Record that rows are written, and check that each comes once."""
        if rows.min() < 0 or rows.max() >= self.rows:
            raise DamagedFile(
                f"{self._what}: expected rows in [0, {self.rows - 1}], received rows in [{rows.min()}, {rows.max()}]."
            )
        if self._written[rows].any() or len(np.unique(rows)) != len(rows):
            raise DamagedFile(f"{self._what}: expected each row once, received the same row twice.")
        self._written[rows] = True

    def _write_at(self, offset: int, content: NDArray[np.uint8]) -> None:
        try:
            self._stream.seek(offset)
            self._stream.write(np.ascontiguousarray(content).data)
        except OSError as error:
            raise unwritable(self.folder, error) from error


class Store:
    """Reads a prepared dataset. Opening it reads no pixels.

    Args:
        folder: the prepared folder.

    Raises:
        DamagedFile: a file of it is missing, or does not match ``meta.json``.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.meta: dict[str, Any] = read_json(folder / "meta.json")
        if not isinstance(self.meta, dict):
            raise self._damaged_error("a meta.json that is not a JSON object")
        try:
            self.rows: int = self.meta["rows"]
            self.shape: tuple[int, int, int] = tuple(self.meta["image_shape"])
            self.encoding: Encoding = self.meta["encoding"]
            packed_bytes = math.prod(self.shape) // 8
            row_shape = {"raw": self.shape, "bits": (packed_bytes,), "files": (2,)}.get(self.encoding)
        except KeyError as error:
            raise self._damaged_error(f"a meta.json without {error}") from error
        except TypeError as error:
            raise self._damaged_error(f"a meta.json with an invalid description: {error}") from error
        if row_shape is None:
            raise self._damaged_error(f"the unknown encoding {self.encoding!r}")
        lengths = (self.rows, *self.shape)
        if not all(is_whole(n) and n > 0 for n in lengths) or len(lengths) != 4 or math.prod(self.shape) > LARGEST:
            raise self._damaged_error(f"{str(self.rows)[:20]} images of shape {str(self.shape)[:60]}")
        if self.encoding == "files":
            self._file_spans = self._map_array("files", np.int64, row_shape)
            try:
                self._file_bytes = np.memmap(folder / "files.bin", np.uint8, "r")
            except (OSError, ValueError) as error:  # not there, or empty
                raise self._damaged_error(f"files.bin: {error}") from error
            if self._file_spans.min() < 0 or len(self._file_bytes) < int(self._file_spans.sum(axis=1).max()):
                raise self._damaged_error("a truncated files.bin")
        else:
            self._pixels = self._map_array("images" if self.encoding == "raw" else "bits", np.uint8, row_shape)
        mapped: Any = self._file_bytes if self.encoding == "files" else self._pixels
        while not isinstance(mapped, mmap.mmap):
            mapped = mapped.base
        self._mmap, self._mmap_size = mapped, mapped.size()

    def images(self, rows: Indices) -> Pixels:
        """Return images by row, in any order.

        Args:
            rows: int64, shape (n,), each in [0, rows).

        Returns:
            uint8, shape (n, H, W, C), a new array.

        Raises:
            DamagedFile: a file was truncated after it was opened, or an image cannot be decoded or has another size.
        """
        if self._mmap.size() < self._mmap_size:  # reading past its end would kill the process (SIGBUS)
            raise self._damaged_error("pixels that were truncated after they were opened")
        if self.encoding == "raw":
            return self._pixels[rows]
        if self.encoding == "bits":
            unpacked = np.unpackbits(self._pixels[rows], axis=1) * np.uint8(255)
            return unpacked.reshape(len(rows), *self.shape)
        images = np.empty((len(rows), *self.shape), np.uint8)
        for position, (start, length) in enumerate(self._file_spans[rows].tolist()):
            with open_image(self._file_bytes[start : start + length].tobytes(), self.folder) as image:
                if image.size != (self.shape[1], self.shape[0]):
                    raise self._damaged_error(f"an image of {image.size[0]} x {image.size[1]} pixels")
                images[position] = image_pixels(image, self.shape[2])
        return images

    def labels(self) -> NDArray[np.integer]:
        """Return the whole label table, int, shape (rows, F)."""
        return self._map_array("labels")

    def extra(self, name: str) -> NDArray[Any]:
        """Return an extra array, memory-mapped, shape (rows, ...)."""
        return self._map_array(f"extra_{name}")

    def _map_array(
        self, name: str, dtype: type[np.generic] | None = None, row_shape: tuple[int, ...] | None = None
    ) -> NDArray[Any]:
        """Map an array of the folder and check its header; None accepts any dtype or shape of a row."""
        try:
            array: np.memmap[Any, Any] = np.load(self.folder / f"{name}.npy", mmap_mode="r", allow_pickle=False)
        except Exception as error:  # damaged headers make numpy raise more kinds than can be listed
            raise self._damaged_error(f"{name}.npy: {error}") from error
        if len(array.shape) == 0 or len(array) != self.rows:
            raise self._damaged_error("another number of images" if row_shape else f"{name}.npy of shape {array.shape}")
        if (dtype is not None and array.dtype != dtype) or (row_shape is not None and array.shape[1:] != row_shape):
            raise self._damaged_error(f"{name}.npy of {array.dtype} and shape {array.shape}")
        return np.asarray(array)

    def _damaged_error(self, received: str) -> DamagedFile:
        return DamagedFile(
            f"{self.folder}: expected a prepared dataset, received {received}. Remove the folder and prepare the "
            "dataset again."
        )


@functools.lru_cache(maxsize=64)
def open_store(folder: Path, modified_ns: int) -> Store:
    """Open a prepared dataset, once per process, and again if it was rewritten."""
    return Store(folder)


@contextlib.contextmanager
def open_image(file: bytes | Path, what: object, remedy: str = "") -> Iterator[PIL.Image.Image]:
    """Open a PNG or JPEG file. Pixels are decoded on access.

    Args:
        file: the file, or its path.
        what: its name in the error.
        remedy: what to do about the error.

    Raises:
        DamagedFile: Pillow cannot read it, on opening or within the block.
    """
    import PIL.Image

    try:
        with PIL.Image.open(io.BytesIO(file) if isinstance(file, bytes) else file, formats=("PNG", "JPEG")) as image:
            yield image
    except (OffaxisError, MemoryError):
        raise
    except Exception as error:  # damaged files make Pillow raise more kinds than can be listed
        received = (isinstance(error, OSError) and error.strerror) or str(error).partition(" <")[0]
        raise DamagedFile(f"{what}: expected a PNG or JPEG file, received {received}.{remedy}") from error


def image_pixels(image: PIL.Image.Image, channels: int) -> Pixels:
    """Return the pixels of an image.

    Args:
        image: an image in any mode.
        channels: 1 for grey, 3 for RGB; other modes are converted.

    Returns:
        uint8, shape (H, W, channels).
    """
    array = np.asarray(image.convert("L" if channels == 1 else "RGB"), np.uint8)
    return array.reshape(*array.shape[:2], channels)
