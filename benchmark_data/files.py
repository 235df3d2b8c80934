"""Atomic writes of files and folders (temporary name, fsync, rename), and safe reads of untrusted files. Internal."""

from __future__ import annotations

import collections
import contextlib
import csv
import errno
import glob
import hashlib
import io
import json
import os
import platform
import re
import secrets
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmark_data.errors import DamagedFile, InvalidInput, OffaxisError

MAX_JSON_BYTES = 2**26
"""Bytes of a JSON file, at most, unless the environment variable ``OFFAXIS_MAX_JSON`` says otherwise."""


def check_ending(path: Path | None, ending: str) -> None:
    """Check the extension of the file passed as ``--to``.

    Args:
        path: the file, or None.
        ending: the required extension, such as ``.csv``.

    Raises:
        InvalidInput: it has another extension.

    Example:
        >>> check_ending(Path("scores.csv"), ".csv")
    """
    if path is not None and path.suffix != ending:
        raise InvalidInput(f"--to: expected a file name that ends in {ending}, received {path.name}.")


@contextlib.contextmanager
def written_atomically(path: str | os.PathLike[str], *, replace: bool = False) -> Iterator[Path]:
    """Write a file or a folder under a temporary name next to ``path``; rename it to ``path`` when the block ends.

    If the block fails or the process dies, ``path`` is unchanged. An existing file is replaced; an existing folder is
    not, since a folder cannot be replaced in one step. Temporary files that a killed process left for the same ``path``
    are removed first.

    Args:
        path: the final path. Missing parent folders are made.
        replace: replace a folder, too, in two steps: if the process dies between them, ``path`` is missing.

    Yields:
        The temporary path, on the same file system. Nothing exists there yet.

    Raises:
        InvalidInput: the folder cannot be written, the disk is full, or ``path`` is a folder that may not be replaced.

    Example:
        >>> import tempfile
        >>> target = Path(tempfile.mkdtemp()) / "numbers.txt"
        >>> with written_atomically(target) as temporary:
        ...     _ = temporary.write_text("1 2 3")
        >>> target.read_text()
        '1 2 3'
    """
    path = Path(path)
    suffix = f"{os.getpid()}-{_HOST_HASH}{secrets.token_hex(2)}.part"
    # At most the 255 bytes that file systems allow, without bytes that are no letters in the system's encoding.
    prefix = re.sub("[\ud800-\udfff]", "", os.fsdecode(os.fsencode(path.name)[: 253 - len(suffix)]))
    temporary = path.parent / f".{prefix}.{suffix}"
    backup = temporary.with_name(f"{temporary.name.removesuffix(suffix)}{os.getpid()}-{_HOST_HASH}_old.part")
    try:
        if os.path.isdir(path) and not replace:
            raise InvalidInput(
                f"{path}: expected a new path, received an existing folder. Remove it or choose another path."
            )
        path.parent.mkdir(parents=True, exist_ok=True)
        for leftover in path.parent.glob(f"{glob.escape(temporary.name.removesuffix(suffix))}*.part"):
            if _writer(leftover) and not is_being_written(leftover):
                _remove(leftover)
        yield temporary
        _sync(temporary)
        if replace and path.is_dir():
            os.replace(path, backup)
        os.replace(temporary, path)
        _sync_entry(path.parent)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST) and os.path.isdir(path):
            raise InvalidInput(f"Another process wrote {path} meanwhile. Use that, or choose another path.") from error
        raise unwritable(path, error) from error
    finally:
        _remove(temporary)
        if os.path.lexists(backup) and not os.path.lexists(path):
            os.replace(backup, path)  # the rename of the new folder failed
        _remove(backup)


def _remove(path: Path) -> None:
    """Remove a file or folder, if it is there."""
    with contextlib.suppress(OSError):  # never written, or its folder is no folder
        shutil.rmtree(path, ignore_errors=True) if path.is_dir() and not path.is_symlink() else path.unlink()


def remove_file(path: Path) -> None:
    """Remove a file, if it exists, before what it describes is replaced.

    Raises:
        InvalidInput: it cannot be removed.
    """
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise unwritable(path, error) from error


def _host() -> str:
    """Return the machine's name, and on Linux its process id namespace, since containers may share the name."""
    try:
        return f"{platform.node()} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return platform.node()


_HOST_HASH = hashlib.sha256(_host().encode()).hexdigest()[:8]
"""Identifies this machine in temporary names: others may write into the same folder."""


def _writer(path: Path) -> int | None:
    """Return the id of the process of this machine that began a temporary file; None for files of others."""
    match = re.fullmatch(rf"\..+\.(\d+)-{_HOST_HASH}[0-9a-z_]{{4}}\.part", path.name)
    return int(match[1]) if match and os.name == "posix" else None


def is_being_written(path: Path) -> bool:
    """Return whether the process of this machine that began a temporary file of `written_atomically` still runs."""
    process = _writer(path)
    if process is None:
        return False
    try:
        with contextlib.suppress(PermissionError):  # of another user
            os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    return True


def is_left_behind(path: Path) -> bool:
    """Return whether a file is a temporary one of `written_atomically`, left by a killed process, or one of Finder.

    Example:
        >>> is_left_behind(Path("runs/.run.json.4711-0a1b2c3d4e5f.part")), is_left_behind(Path("runs/.film.part"))
        (True, False)
    """
    return re.fullmatch(r"\.DS_Store|\..+\.\d+-[0-9a-f]{8}[0-9a-z_]{4}\.part", path.name) is not None


def user_path(path: str | os.PathLike[str]) -> Path:
    """Return a user's path as an absolute one, with ``~`` expanded, which shells do not do in environment variables.

    Args:
        path: as the user wrote it; a leading ``~`` or ``~name`` is a home folder.

    Returns:
        The absolute path. A ``~name`` of an unknown user is not expanded.

    Example:
        >>> user_path("~/x") == Path.home() / "x", user_path("x") == Path.cwd() / "x"
        (True, True)
    """
    return Path(os.path.expanduser(path)).absolute()


def unwritable(path: Path, error: OSError) -> InvalidInput:
    """Convert an operating system error raised while writing ``path`` to `InvalidInput`.

    Args:
        path: the path that was being written.
        error: the error, such as no permission, disk full, not a folder.

    Returns:
        The error to raise.
    """
    return InvalidInput(
        f"{path}: expected a writable path, received {type(error).__name__}: {error.strerror or error}. "
        "Check the folder's permissions and the free space, or choose another path."
    )


@contextlib.contextmanager
def exclusive(
    lock: Path, *, what: Path, refusal: OffaxisError | None = None, waiting: Callable[[], None] = lambda: None
) -> Iterator[None]:
    """Hold a lock file while a ``with`` block runs. It needs the package filelock.

    The file is never removed, since another process might hold it.

    Args:
        lock: the lock file. Missing parent folders are made.
        what: the path that is locked, for the message if the file cannot be written.
        refusal: the error to raise if another process holds the lock; if None, wait for it.
        waiting: called before waiting.

    Raises:
        InvalidInput: the file cannot be written.
    """
    import filelock

    file_lock = filelock.FileLock(lock)
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        try:
            file_lock.acquire(timeout=0)
        except filelock.Timeout as error:
            if refusal is not None:
                raise refusal from error
            waiting()
            file_lock.acquire()
    except OSError as error:
        raise unwritable(what, error) from error
    try:
        yield
    finally:
        file_lock.release()


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write ``text`` in UTF-8, atomically; surrogates, from file names that are not UTF-8, as JSON escapes.

    Args:
        path: the file to write.
        text: the text.

    Raises:
        InvalidInput: the file cannot be written.
    """
    with written_atomically(path) as temporary:
        temporary.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")


def write_json(path: str | os.PathLike[str], value: Any) -> None:
    """Write ``value`` as JSON, atomically, in a form that diffs well: sorted keys, two spaces, final newline.

    Args:
        path: the file to write.
        value: dictionaries, lists, strings, finite numbers, booleans, None.

    Raises:
        InvalidInput: the file cannot be written, or a number is NaN or infinite.
    """
    try:
        text = json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"
    except ValueError as error:
        raise InvalidInput(f"{path}: expected finite numbers, received {error}.") from error
    write_text(path, text)


def read_json(path: str | os.PathLike[str]) -> Any:
    """Read a JSON file.

    Args:
        path: the file to read.

    Returns:
        The decoded value.

    Raises:
        DamagedFile: the file is missing, too large, not UTF-8, not JSON, nested too deeply, or has a key twice.
    """
    maximum = limit("OFFAXIS_MAX_JSON", MAX_JSON_BYTES)
    try:
        if (size := os.stat(path).st_size) > maximum:
            raise DamagedFile(
                f"{path} has {size:,} bytes, more than {maximum:,}. Set OFFAXIS_MAX_JSON to a larger number to read it."
            )
        return parse_json(Path(path).read_bytes())
    except OSError as error:
        raise DamagedFile(f"{path}: expected a JSON file, received {error.strerror or str(error)}.") from error
    except (ValueError, RecursionError) as error:
        raise DamagedFile(
            f"{path}: expected valid JSON, received {error}. Restore the file from a copy or remove it and make it "
            "again."
        ) from error


def read_bounded(path: str | os.PathLike[str], largest: int, *, what: str, size: str = "at most") -> bytes:
    """Read an untrusted file: no link is followed, and its size is checked before it is read.

    Args:
        path: the file.
        largest: the maximum number of bytes.
        what: what it should be, for the message if it cannot be read.
        size: the words before the number of bytes, for the message if it is larger.

    Returns:
        The bytes.

    Raises:
        DamagedFile: no regular file, too large, or it cannot be read.
    """
    path = Path(path)
    try:
        check_regular(path, largest, size=size)
        return path.read_bytes()
    except OSError as error:
        raise DamagedFile(f"{path}: expected {what}, received {error.strerror or str(error)}.") from error


def check_regular(path: Path, largest: int, *, size: str = "at most") -> None:
    """Refuse a link, folder or device, and a file that is larger, with the words of `read_bounded`; nothing is read."""
    status = path.lstat()
    if not stat.S_ISREG(status.st_mode):
        raise DamagedFile(f"{path}: expected a regular file, received a link, folder or device.")
    if status.st_size > largest:
        raise DamagedFile(f"{path}: expected {size} {largest:,} bytes, received {status.st_size:,} bytes.")


def hash_of(path: str | os.PathLike[str], algorithm: str = "sha256") -> str:
    """Hash a file.

    Args:
        path: the file.
        algorithm: a name that `hashlib` knows.

    Returns:
        The hash in hexadecimal.

    Raises:
        DamagedFile: the file cannot be read.
    """
    try:
        with open(path, "rb", buffering=0) as stream:
            return hashlib.file_digest(stream, algorithm).hexdigest()
    except OSError as error:
        raise DamagedFile(f"{path}: expected a file, received {error.strerror or str(error)}.") from error


class RepeatedKey(ValueError):
    """JSON in which an object has a key twice."""


def parse_json(text: str | bytes) -> Any:
    """Decode JSON in which no object has a key twice; Python's decoder would silently keep the last value.

    Args:
        text: JSON, in UTF-8 if it is bytes.

    Returns:
        The decoded value.

    Raises:
        RepeatedKey: a key twice.
        ValueError: not UTF-8, or not JSON.
        RecursionError: nested too deeply.

    Example:
        >>> parse_json('{"seed": 1, "seed": 2}')
        Traceback (most recent call last):
        ...
        benchmark_data.files.RepeatedKey: the key 'seed' twice in one object
    """
    return json.loads(text if isinstance(text, str) else text.decode("utf-8"), object_pairs_hook=_reject_repeated_keys)


def _reject_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    decoded = dict(pairs)
    if len(decoded) != len(pairs):
        repeated_key = collections.Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise RepeatedKey(f"the key {repeated_key[:80]!r} twice in one object")
    return decoded


def _sync(path: Path) -> None:
    """Flush a file, or every file of a folder, to disk."""
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if file.is_file():
            with file.open("rb+") as stream:
                os.fsync(stream.fileno())
        else:
            _sync_entry(file)
    if path.is_dir():
        _sync_entry(path)


def _sync_entry(folder: Path) -> None:
    """Flush a folder's own entries, on platforms that can open a folder."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def comma_separated(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    r"""Format a table as CSV: floats with six decimals, None and NaN as empty cells.

    Args:
        header: the names of the columns.
        rows: the cells, as many in each row; strings and integers are not changed.

    Returns:
        The text; each line ends with a line feed.

    Example:
        >>> comma_separated(["method", "score"], [("a, b", 0.5), ("c", None)])
        'method,score\n"a, b",0.500000\nc,\n'
    """

    def format_cell(cell: object) -> object:
        if cell is None or cell != cell:
            return ""
        return f"{cell:.6f}" if isinstance(cell, float) else cell

    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([format_cell(cell) for cell in row] for row in rows)
    return stream.getvalue()


def path_in_run(folder: Path, name: str) -> Path:
    """Return the path of a file that every run folder has, after checking that it exists.

    Args:
        folder: the folder.
        name: the file's name.

    Raises:
        DamagedFile: there is no such folder, or no such file in it; the message names run folders within it, if any.
    """
    path = folder / name
    if path.is_file() or path.is_symlink():
        return path
    runs = sorted(file.parent.relative_to(folder).as_posix() for file in folder.glob(f"*/{name}"))
    listed = f"{', '.join(runs[:3])}{', ...' if len(runs) > 3 else ''}"
    raise DamagedFile(
        f"{folder}: expected a run folder, which has {name}, received "
        f"{'a folder without it' if folder.is_dir() else 'a file' if folder.exists() else 'no such folder'}. "
        f"{f'It contains runs: {listed}. Pass those instead.' if runs else ''}"
    )


def limit(variable: str, default: int) -> int:
    """Return a limit on the size of input, which an environment variable overrides.

    Args:
        variable: its name, such as ``OFFAXIS_MAX_PIXELS``.
        default: the limit if it is not set.

    Returns:
        The limit.

    Raises:
        InvalidInput: the variable holds no positive whole number.

    Example:
        >>> limit("OFFAXIS_MAX_NOTHING", 4)
        4
    """
    text = os.environ.get(variable, "").replace("_", "")
    if not text:
        return default
    if not text.isdecimal() or not int(text):
        raise InvalidInput(f"{variable} must be a whole number above 0, not {text!r}.")
    return int(text)
