"""Reading npz files that a stranger may have written: nothing is unpickled, nothing is read before its size is known.

An npz file is a zip archive of npy files. `numpy.load` inflates a member before it looks at it; here the archive's
directory and each member's header are checked first, so that a zip bomb or an absurd shape costs nothing.
"""

from __future__ import annotations

import math
import os
import stat
import warnings
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from benchmark_data.errors import DamagedFile

LARGEST = 128 * 2**20
"""Bytes of one array, inflated, and of one file on disk: 15,000 rows of 1,024 float64 latents fit."""

_MEMBERS = 1024
_HEADER = 4096


class UnknownMembers(UserWarning):
    """A file holds arrays that nothing reads: perhaps one of them is misspelt."""


class Array(NamedTuple):
    """What an array in the file must be.

    Args:
        kinds: numpy's dtype kinds that are taken, such as ``"f"`` or ``"iu"``.
        shape: the expected length of each axis; None for any.
        other: a shape that is taken as well.
    """

    kinds: str
    shape: tuple[int | None, ...]
    other: tuple[int | None, ...] | None = None


def read(path: str | os.PathLike[str], arrays: dict[str, Array]) -> dict[str, NDArray[Any]]:
    """Read named arrays from an npz file.

    Args:
        path: the file.
        arrays: the arrays to read, by name. Others in the file are left alone, with a warning that names them.

    Returns:
        The arrays, by name.

    Raises:
        DamagedFile: not a regular file, not an npz file, too large, or an array is missing, has another type or shape,
            holds Python objects or is cut short.
    """
    path = Path(path)
    try:
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode):
            raise DamagedFile(str(path), expected="a regular file", received="a link, folder or device")
        if status.st_size > LARGEST:
            raise DamagedFile(
                str(path), expected=f"at most {LARGEST >> 20} MiB", received=f"{status.st_size / 2**20:.0f} MiB"
            )
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            if len(members) > _MEMBERS or len({m.filename for m in members}) != len(members):
                raise DamagedFile(
                    str(path),
                    expected=f"at most {_MEMBERS} arrays with different names",
                    received=f"{len(members)} entries",
                )
            found = {name: _array(archive, path, name, wanted) for name, wanted in arrays.items()}
    except FileNotFoundError as error:
        raise DamagedFile(str(path), expected="an npz file", received="no such file") from error
    except DamagedFile:
        raise
    except Exception as error:
        # A stranger's bytes make zipfile, zlib, tokenize and numpy raise more kinds of errors than can be listed.
        raise DamagedFile(
            str(path),
            expected="an npz file written by numpy.savez or numpy.savez_compressed",
            received=f"{type(error).__name__}: {error}",
            remedy="Write it again.",
        ) from error
    others = sorted({member.filename.removesuffix(".npy")[:80] for member in members} - set(arrays))
    if others:
        more = f" and {len(others) - 5} more" if len(others) > 5 else ""
        warnings.warn(
            f"{path}: not read: {', '.join(map(repr, others[:5]))}{more}; expected {' and '.join(map(repr, arrays))}",
            UnknownMembers,
            stacklevel=2,
        )
    return found


def _array(archive: zipfile.ZipFile, path: Path, name: str, wanted: Array) -> NDArray[Any]:
    what = f"{path}: {name}"
    try:
        member = archive.getinfo(f"{name}.npy")
    except KeyError:
        held = sorted(m.filename.removesuffix(".npy") for m in archive.infolist())[:10]
        raise DamagedFile(what, expected="an array of this name", received=f"arrays {held}") from None
    with archive.open(member) as stream:
        version = npy.read_magic(stream)
        read_header = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}.get(version)
        if read_header is None:
            raise DamagedFile(what, expected="npy version 1.0 or 2.0", received=f"version {version}")
        shape, fortran, dtype = read_header(stream, max_header_size=_HEADER)
        allowed = [wanted.shape] if wanted.other is None else [wanted.shape, wanted.other]
        fits = any(
            len(shape) == len(axes) and all(w in (None, got) for w, got in zip(axes, shape, strict=True))
            for axes in allowed
        )
        if dtype.kind not in wanted.kinds or dtype.hasobject or not fits or min(shape, default=0) < 0:
            kinds = " or ".join({"f": "float", "i": "int", "u": "uint", "U": "str"}[kind] for kind in wanted.kinds)
            shapes = (", ".join("any" if axis is None else str(axis) for axis in axes) for axes in allowed)
            expected = f"{kinds} of shape " + " or ".join(f"({axes})" for axes in shapes)
            raise DamagedFile(what, expected=expected, received=f"{dtype} of shape {shape}")
        size = math.prod(shape) * dtype.itemsize
        if size > LARGEST:
            raise DamagedFile(what, expected=f"at most {LARGEST >> 20} MiB", received=f"{size / 2**20:.0f} MiB")
        content = stream.read(size + 1)
    if len(content) != size:
        raise DamagedFile(what, expected=f"{size} bytes for {dtype} of shape {shape}", received=f"{len(content)} bytes")
    array = np.frombuffer(content, dtype).reshape(shape, order="F" if fortran else "C")
    return array.astype(dtype.newbyteorder("="), copy=False)
