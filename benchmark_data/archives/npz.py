"""Read npz files, our own or untrusted: nothing is unpickled, and sizes are checked before reading.

An npz file is a zip archive of npy files. `numpy.load` inflates a member before checking it; here the archive's
directory and each member's header are checked first, so that a zip bomb or an absurd shape is never inflated.
`containers.npz_slabs` reads files that are larger than memory.
"""

from __future__ import annotations

import contextlib
import math
import os
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmark_data.archives.containers import check_size, read_npy_header
from benchmark_data.errors import DamagedFile, OffaxisError, OffaxisWarning
from benchmark_data.files import check_regular

LARGEST = 128 * 2**20
"""Bytes of one inflated array, and of a file on disk, if untrusted, at most: 15,000 rows of 1,024 latents fit."""

_MAX_MEMBERS = 1024
_PIECE_BYTES = 2**24


class UnknownMembers(OffaxisWarning):
    """A file holds arrays that are not read; a name may be misspelt."""


class ArraySpec(NamedTuple):
    """Required dtype and shape of an array.

    Attributes:
        kinds: the accepted kinds of numpy dtypes, such as ``"f"`` or ``"iu"``.
        shape: the expected length of each axis; None for any.
        other_shape: a second accepted shape.
    """

    kinds: str
    shape: tuple[int | None, ...]
    other_shape: tuple[int | None, ...] | None = None

    @property
    def shapes(self) -> tuple[tuple[int | None, ...], ...]:
        """The accepted shapes."""
        return (self.shape,) if self.other_shape is None else (self.shape, self.other_shape)


class NpzFile:
    """An open npz file: the names of its arrays, and each array by its name.

    Args:
        path: the file, for messages.
        members: the zip archive.
        largest: the maximum bytes of an array; None for no limit.
    """

    def __init__(self, path: Path, members: zipfile.ZipFile, largest: int | None) -> None:
        self.path = path
        self._members = members
        self._max_bytes = largest

    @property
    def names(self) -> tuple[str, ...]:
        """The arrays' names, in the file's order."""
        return tuple(member.filename.removesuffix(".npy") for member in self._members.infolist())

    def array(self, name: str, wanted: ArraySpec | None = None) -> NDArray[Any]:
        """Read one array.

        Args:
            name: its name.
            wanted: its required dtype and shape; any without Python objects if None.

        Returns:
            The array, in the machine's byte order.

        Raises:
            DamagedFile: no such array, another type or shape, Python objects, too large, or truncated.
        """
        what = f"{self.path}: {name}"
        try:
            member = self._members.getinfo(f"{name}.npy")
        except KeyError:
            raise DamagedFile(
                f"{what}: expected an array of this name, received arrays {sorted(self.names)[:10]}."
            ) from None
        with self._members.open(member) as stream:
            shape, fortran_order, dtype = read_npy_header(what, stream)
            _check_array(what, shape, dtype, wanted)
            size = math.prod(shape) * (dtype.itemsize or 4)  # numpy makes empty strings one character wide
            if self._max_bytes is not None and size > self._max_bytes:
                raise DamagedFile(
                    f"{what}: expected at most {self._max_bytes >> 20} MiB, received {size / 2**20:.0f} MiB."
                )
            if member.compress_type != zipfile.ZIP_STORED or size > os.path.getsize(self.path):
                check_size(self.path, name, size)
            return _read_values(what, stream, shape, fortran_order, dtype)


def read_named(path: str | os.PathLike[str], arrays: Mapping[str, ArraySpec]) -> dict[str, NDArray[Any]]:
    """Read named arrays from an untrusted npz file.

    Args:
        path: the file.
        arrays: the arrays to read, by name. Others in the file are ignored, with a warning that names them.

    Returns:
        The arrays, by name.

    Raises:
        DamagedFile: not a regular file, not an npz file, too large, or an array is missing, has another type or shape,
            holds Python objects or is truncated.
    """
    path = Path(path)
    try:
        check_regular(path, LARGEST)
    except OSError as error:
        raise DamagedFile(f"{path}: expected an npz file, received no such file.") from error
    with open_npz(path, largest=LARGEST, most=_MAX_MEMBERS) as archive:
        loaded = {name: archive.array(name, wanted) for name, wanted in arrays.items()}
        unread = sorted({name[:80] for name in archive.names} - set(arrays))
    if unread:
        more = f" and {len(unread) - 5} more" if len(unread) > 5 else ""
        warnings.warn(
            f"{path}: ignored {', '.join(map(repr, unread[:5]))}{more}; expected {' and '.join(map(repr, arrays))}",
            UnknownMembers,
            stacklevel=2,
        )
    return loaded


def read_all(path: str | os.PathLike[str], *, remedy: str = "Write it again.") -> dict[str, NDArray[Any]]:
    """Read a whole npz file of any size.

    Args:
        path: the file.
        remedy: what to do if it is damaged, for the message.

    Returns:
        Its arrays by name, in the file's order.

    Raises:
        DamagedFile: the file is missing, damaged or no npz file, or holds Python objects.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "arrays.npz"
        >>> np.savez(file, a=np.arange(3), b=np.zeros((2, 2)))
        >>> {name: array.shape for name, array in read_all(file).items()}
        {'a': (3,), 'b': (2, 2)}
    """
    with open_npz(path, remedy=remedy) as archive:
        return {name: archive.array(name) for name in archive.names}


@contextlib.contextmanager
def open_npz(
    path: str | os.PathLike[str],
    *,
    largest: int | None = None,
    most: int | None = None,
    remedy: str = "Write it again.",
) -> Iterator[NpzFile]:
    """Open an npz file; every error while it is read becomes `DamagedFile`.

    Args:
        path: the file.
        largest: the maximum bytes of an array; None for no limit.
        most: the maximum number of arrays; None for no limit.
        remedy: what to do if it is damaged, for the message.

    Yields:
        The file's arrays.

    Raises:
        DamagedFile: the file is missing, no npz file or damaged.
    """
    path = Path(path)
    try:
        with zipfile.ZipFile(path) as members:
            names = [member.filename for member in members.infolist()]
            if len(set(names)) != len(names) or (most is not None and len(names) > most):
                at_most = "" if most is None else f"at most {most} "
                raise DamagedFile(
                    f"{path}: expected {at_most}arrays with different names, received {len(names)} entries."
                )
            yield NpzFile(path, members, largest)
    except (OffaxisError, MemoryError):
        raise
    except Exception as error:
        # Damaged bytes make zipfile, zlib, tokenize and numpy raise more kinds of errors than can be listed.
        raise DamagedFile(
            f"{path}: expected an npz file written by numpy.savez or numpy.savez_compressed, received "
            f"{type(error).__name__}: {error}. {remedy}"
        ) from error


def _check_array(what: str, shape: tuple[int, ...], dtype: np.dtype[Any], wanted: ArraySpec | None) -> None:
    is_wanted = wanted is None or (
        dtype.kind in wanted.kinds
        and any(
            len(shape) == len(axes)
            and all(wanted_length in (None, length) for wanted_length, length in zip(axes, shape, strict=True))
            for axes in wanted.shapes
        )
    )
    if is_wanted and not dtype.hasobject:
        return
    expected = "numbers or text, without Python objects"
    if wanted is not None:
        kinds = " or ".join({"f": "float", "i": "int", "u": "uint", "U": "str"}[kind] for kind in wanted.kinds)
        shapes = (", ".join("any" if axis is None else str(axis) for axis in axes) for axes in wanted.shapes)
        expected = f"{kinds} of shape " + " or ".join(f"({axes})" for axes in shapes)
    raise DamagedFile(f"{what}: expected {expected}, received {dtype} of shape {shape}.")


def _read_values(
    what: str, stream: IO[bytes], shape: tuple[int, ...], fortran_order: bool, dtype: np.dtype[Any]
) -> NDArray[Any]:
    """Read the values in pieces, so that they are in memory only once."""
    count = math.prod(shape)
    size = count * dtype.itemsize
    values = np.empty(count, dtype)
    piece_length = max(1, _PIECE_BYTES // max(1, dtype.itemsize))
    received = 0
    for start in range(0, count if size else 0, piece_length):
        piece = stream.read(min(piece_length, count - start) * dtype.itemsize)
        received += len(piece)
        if len(piece) < min(piece_length, count - start) * dtype.itemsize:
            break
        values[start : start + piece_length] = np.frombuffer(piece, dtype)
    received += len(stream.read(1))  # reading to the end also makes zipfile check the CRC
    if received != size:
        raise DamagedFile(f"{what}: expected {size} bytes for {dtype} of shape {shape}, received {received} bytes.")
    array = values.reshape(shape, order="F" if fortran_order else "C")
    return array.astype(dtype.newbyteorder("="), copy=False)
