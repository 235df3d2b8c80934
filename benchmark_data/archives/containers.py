"""Read untrusted archives in place, as streams, with size limits.

Nothing is extracted to disk, so that no member name and no link can reach outside a folder; no member larger than the
limit is read; no pickle is opened. Every error in a file becomes `DamagedFile`, with its name.
"""

from __future__ import annotations

import contextlib
import math
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from benchmark_data.errors import DamagedFile, OffaxisError, needs
from benchmark_data.files import limit

MEMBER_LIMIT = 2**30
"""Bytes of a member, or of rows of an array, that are unpacked at once, at most."""

MEMBER_VARIABLE = "OFFAXIS_MAX_MEMBER"
"""Environment variable that overrides this limit."""

TOTAL_LIMIT = 2**36
"""Bytes that a compressed stream may unpack to, at most."""

SLAB = 2**26
"""Bytes to hold at a time when an array is read in slabs."""

MAX_HEADER_BYTES = 4096
"""Bytes of the header of an npy file, at most."""


ArrayStream: TypeAlias = tuple[IO[bytes], tuple[int, ...], np.dtype[Any]]
"""A stream at an array's first byte, the array's shape and its dtype."""


@contextlib.contextmanager
def damaged_file_on_error(path: Path) -> Iterator[None]:
    """Convert every error raised while ``path`` is read to `DamagedFile`."""
    try:
        yield
    except (OffaxisError, MemoryError):
        raise
    except Exception as error:  # damaged bytes make zipfile, h5py, zlib and numpy raise more kinds than can be listed
        raise damage(path, "a readable archive", f"{type(error).__name__}: {error}") from error


def check_size(path: Path, what: str, size: int) -> None:
    """Raise `DamagedFile` for a part of an archive that is too large for memory, before it is unpacked."""
    max_bytes = limit(MEMBER_VARIABLE, MEMBER_LIMIT)
    if size > max_bytes:
        raise DamagedFile(
            f"{path}: {what} takes {size:,} bytes unpacked, more than {max_bytes:,}. If this size is right, set "
            f"{MEMBER_VARIABLE} to a larger number."
        )


def damage(path: Path, expected: str, received: str) -> DamagedFile:
    """Return the error for a source file with the wrong contents."""
    return DamagedFile(
        f"{path}: expected {expected}, received {received}. Remove the file and fetch it again, or use another copy."
    )


class Slabs(NamedTuple):
    """An array that is read in slabs of rows: its whole shape, its dtype, and (first row, slab) in order."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    slabs: Iterator[tuple[int, NDArray[Any]]]

    def check(self, path: Path, name: str, shape: tuple[int, ...], kind: str) -> Slabs:
        """Check the shape and the kind of dtype before anything is read.

        Args:
            path: the file, for the message.
            name: the array's name, for the message.
            shape: the required shape.
            kind: the accepted kinds of dtype, as letters: ``u`` and ``i`` for integers, ``f`` for floats.

        Returns:
            Itself.

        Raises:
            DamagedFile: it has another shape or dtype.
        """
        if self.shape != shape or self.dtype.kind not in kind:
            raise damage(path, f"{name} of shape {shape} and kind {kind}", f"{self.dtype} of shape {self.shape}")
        return self


def npz_slabs(path: Path, name: str) -> Slabs:
    """Read one array of an npz file in slabs, without loading it whole and without pickle.

    Args:
        path: the npz file, its members stored or deflated.
        name: the array's name.

    Returns:
        The array in slabs along its first axis.

    Raises:
        DamagedFile: no npz file, no such array, an array of Python objects, or another length than in its header.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "data.npz"
        >>> np.savez(path, images=np.zeros((3, 2, 2), np.uint8))
        >>> array = npz_slabs(path, "images")
        >>> array.shape, [(start, slab.shape) for start, slab in array.slabs]
        ((3, 2, 2), [(0, (3, 2, 2))])
    """

    @contextlib.contextmanager
    def open_array() -> Iterator[ArrayStream]:
        with zipfile.ZipFile(path) as archive, archive.open(f"{name}.npy") as stream:
            shape, by_column, dtype = read_npy_header(f"{path}: {name}", stream)
            if dtype.hasobject or not shape or (by_column and len(shape) > 1):
                received = "Python objects" if dtype.hasobject else f"shape {shape}{' in Fortran order' * by_column}"
                raise damage(path, f"numbers in {name}, in C order", received)
            yield stream, shape, dtype

    return make_slabs(path, name, open_array)


def make_slabs(path: Path, name: str, opened: Callable[[], AbstractContextManager[ArrayStream]]) -> Slabs:
    """Read an array in slabs.

    Args:
        path: the file, for messages.
        name: the array's name, for messages.
        opened: opens a stream at the array's first byte, and returns it with the array's shape and dtype.

    Returns:
        The array in slabs along its first axis.

    Raises:
        DamagedFile: fewer or more bytes than the shape implies, or rows that are too large for memory.
    """
    with damaged_file_on_error(path), opened() as (_, shape, dtype):
        row_bytes = math.prod(shape[1:]) * dtype.itemsize
        check_size(path, f"a row of {name}", row_bytes)

    def read_slabs() -> Iterator[tuple[int, NDArray[Any]]]:
        rows_per_slab = max(1, SLAB // max(1, row_bytes))
        with damaged_file_on_error(path), opened() as (stream, *_):
            for start in range(0, shape[0], rows_per_slab):
                count = min(rows_per_slab, shape[0] - start)
                content = stream.read(count * row_bytes)
                if len(content) != count * row_bytes:
                    raise damage(path, f"{shape[0]} rows in {name}", f"data that end in or after row {start}")
                yield start, np.frombuffer(content, dtype).reshape(count, *shape[1:])
            if stream.read(1):  # Reading to the end also makes zipfile check the CRC.
                raise damage(path, f"{shape[0]} rows in {name}", "more bytes than its header states")

    return Slabs(shape, dtype, read_slabs())


def read_npy_header(what: str, stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read the header of an npy file: shape, whether the order is Fortran's, and dtype.

    Args:
        what: the array, for the message.
        stream: the file, at its first byte; afterwards at the array's.

    Raises:
        DamagedFile: a version other than 1.0 and 2.0, which numpy writes for numbers and text; or a negative length.
    """
    version = npy.read_magic(stream)
    read_header = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}.get(version)
    if read_header is None:
        raise DamagedFile(f"{what}: expected npy version 1.0 or 2.0, received version {version}.")
    shape, by_column, dtype = read_header(stream, max_header_size=MAX_HEADER_BYTES)
    if min(shape, default=0) < 0:  # to read that many bytes would be to read all
        raise DamagedFile(f"{what}: expected lengths of at least 0, received {dtype} of shape {shape}.")
    return shape, by_column, dtype


def hdf5_slabs(path: Path, name: str) -> Slabs:
    """Read one array of an HDF5 file in slabs that follow its chunks.

    Args:
        path: the HDF5 file.
        name: the array's name. It must lie in this file: links to other files are refused.

    Returns:
        The array in slabs along its first axis.

    Raises:
        DamagedFile: no HDF5 file, no such array, or one that lies in another file.
        MissingExtra: h5py is not installed.
    """
    with _open_hdf5_array(path, name) as array:
        shape, dtype, chunks = array.shape, array.dtype, array.chunks
    row_bytes = math.prod(shape[1:]) * dtype.itemsize
    rows_per_slab = max(1, SLAB // max(1, row_bytes))
    if chunks:
        # A chunk is unpacked whole: a slab that ends within one would unpack it twice.
        rows_per_slab = max(chunks[0], rows_per_slab // chunks[0] * chunks[0])
    chunk_bytes = math.prod(chunks or (0,)) * dtype.itemsize  # a chunk may be larger than the whole array
    check_size(path, f"a chunk of rows of {name}", max(min(rows_per_slab, shape[0]) * row_bytes, chunk_bytes))

    def read_slabs() -> Iterator[tuple[int, NDArray[Any]]]:
        with _open_hdf5_array(path, name) as array:
            for start in range(0, shape[0], rows_per_slab):
                yield start, array[start : start + rows_per_slab]

    return Slabs(shape, dtype, read_slabs())


@contextlib.contextmanager
def _open_hdf5_array(path: Path, name: str) -> Iterator[Any]:
    needs("reading HDF5", "archives", "h5py")
    import h5py

    with damaged_file_on_error(path), h5py.File(path, "r") as file:
        link = file.get(name, getlink=True)
        array = file[name] if isinstance(link, h5py.HardLink) else None
        is_in_this_file = isinstance(array, h5py.Dataset) and array.file == file
        if array is None or not is_in_this_file or array.external or array.is_virtual or not array.shape:
            raise damage(path, f"an array {name} stored in this file", f"{array if array is not None else link!r}")
        yield array


def zip_members(path: Path, wanted: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
    """Read members of a zip file, in its own order.

    Args:
        path: the zip file.
        wanted: called with each member's name; whether to read it.

    Yields:
        (name, content) of each wanted file.

    Raises:
        DamagedFile: no zip file, a wrong checksum, or a member over the limit.
    """
    with damaged_file_on_error(path), zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            if not info.is_dir() and wanted(info.filename):
                check_size(path, info.filename, info.file_size)
                yield info.filename, archive.read(info)


def tar_members(path: Path, wanted: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
    """Read members of a tar file, compressed or not, in its own order and in one pass.

    Args:
        path: the tar file.
        wanted: called with each member's name, without a leading ``./``; whether to read it.

    Yields:
        (name, content) of each wanted file.

    Raises:
        DamagedFile: no tar file, a truncated one, a wanted member that is a link, or one over the limit.
    """
    total = 0
    with damaged_file_on_error(path), tarfile.open(path, "r|*") as archive:
        for member in archive:
            name = member.name.removeprefix("./")
            total += member.size
            if total > TOTAL_LIMIT:
                raise damage(path, f"at most {TOTAL_LIMIT:,} bytes unpacked", f"{total:,} or more")
            if member.isdir() or not wanted(name):
                continue
            stream = archive.extractfile(member) if member.isreg() else None
            if stream is None:
                raise damage(path, f"{name} to be a file", "a link or a device")
            check_size(path, name, member.size)
            yield name, stream.read()
