"""Download source files: a user's own copy first, then mirrors in order; with resumed transfers and checked hashes.

Links die, drives answer with a page about quotas, transfers break off. A file is therefore checked against the
published SHA-256, MD5 or size before it gets its final name, and a broken transfer is resumed if the server still has
the same file.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from benchmark_data.errors import DamagedFile, InvalidInput, Unavailable, needs
from benchmark_data.files import hash_of, read_json, unwritable, write_json

if TYPE_CHECKING:
    import requests
    import rich.progress

MANUAL_DIR = "OFFAXIS_MANUAL_DIR"
"""Environment variable: a folder with the user's own copies of source files."""

LIMIT = 64 * 2**30
"""Bytes after which a transfer of unknown size is given up."""

BLOCK = 2**20

TIMEOUT = 60.0
"""Seconds without a byte after which a mirror counts as stalled."""

HTML = "an HTML page instead of the file, such as a quota or log-in page"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Download:
    """One file of an archive, with its mirrors and hash.

    Args:
        name: the file's name, in the cache and in a user's own folder.
        urls: the mirrors, best first.
        size: bytes, if published.
        sha256: hexadecimal, if published.
        md5: hexadecimal, checked if no SHA-256 is published.
        binding: False if the hash is that of an earlier upload. Mirrors may then hold the same arrays in other bytes: a
            difference is recorded, and the checks of the arrays decide.
        aliases: other names of the file in a user's own folder.
        note: the state of the mirrors.
    """

    name: str
    urls: tuple[str, ...] = ()
    size: int | None = None
    sha256: str = ""
    md5: str = ""
    binding: bool = True
    aliases: tuple[str, ...] = ()
    note: str = ""

    @property
    def has_hash(self) -> bool:
        """Whether a hash detects a broken file."""
        return self.binding and bool(self.sha256 or self.md5)


class Fetched(NamedTuple):
    """A source file on this machine: its path, origin, size and hash.

    ``difference`` is how it differs from the published file; it is empty if it does not, or if no size or hash is
    published.
    """

    path: Path
    origin: str
    size: int
    sha256: str
    difference: str


def fetch(
    download: Download,
    folder: Path,
    *,
    progress: rich.progress.Progress,
    manual_dir: Path | None = None,
) -> Fetched:
    """Return a source file: the user's own copy, a file fetched before, or one from the first mirror that serves it.

    Args:
        download: the file.
        folder: the folder of fetched files. An unfinished one is kept there as ``<name>.part`` and resumed.
        progress: shows the transfer.
        manual_dir: a folder with the user's own copies, which are used in place.

    Returns:
        The checked file.

    Raises:
        Unavailable: no mirror served the file; the message lists the error of each.
        DamagedFile: the user's own copy is not the published file.
        InvalidInput: the folder cannot be written, or ``manual_dir`` is no folder.

    Example:
        >>> import hashlib, tempfile, rich.progress
        >>> folder = Path(tempfile.mkdtemp())
        >>> _ = (folder / "data.bin").write_bytes(b"1 2 3")
        >>> download = Download(name="data.bin", sha256=hashlib.sha256(b"1 2 3").hexdigest())
        >>> with rich.progress.Progress(disable=True) as progress:
        ...     fetch(download, folder / "fetched", progress=progress, manual_dir=folder).origin
        "the user's own copy"
    """
    manual_copy = find_manual(download, manual_dir)
    if manual_copy is not None:
        return _check_copy(download, manual_copy, progress)
    target = folder / download.name
    try:
        if target.is_file():
            fetched = _compare_with_published(download, target, "fetched before", progress)
            if not (fetched.difference and download.binding):
                return fetched
            target.unlink()
        folder.mkdir(parents=True, exist_ok=True)
        return _fetch_from_mirrors(download, target, progress, manual_dir)
    except OSError as error:
        raise unwritable(target, error) from error


def find_manual(download: Download, manual_dir: Path | None) -> Path | None:
    """Look for the user's own copy of a file.

    Args:
        download: the file.
        manual_dir: the user's folder, or None.

    Returns:
        Its path; None if there is none.

    Raises:
        InvalidInput: ``manual_dir`` is no folder.
    """
    if manual_dir is None:
        return None
    if not os.path.isdir(manual_dir) or not os.access(manual_dir, os.X_OK):
        raise InvalidInput(f"manual folder: expected a readable folder, received {str(manual_dir)!r}.")
    copies = [manual_dir / name for name in (download.name, *download.aliases)]
    manual_copy = next((copy for copy in copies if copy.is_file()), None)
    if manual_copy is not None and not os.access(manual_copy, os.R_OK):
        raise InvalidInput(f"{manual_copy} cannot be read. Check its permissions.")
    return manual_copy


def bytes_left(download: Download, folder: Path, manual_dir: Path | None) -> int:
    """Return the number of bytes of a file still to be fetched to a folder, 0 if its size is unknown."""
    if find_manual(download, manual_dir) is not None:
        return 0
    target = folder / download.name
    return max(0, (download.size or 0) - _size_on_disk(target) - _size_on_disk(target.with_name(f"{target.name}.part")))


def _check_copy(download: Download, path: Path, progress: rich.progress.Progress) -> Fetched:
    with path.open("rb") as stream:
        if _is_html(stream.read(512)):
            raise DamagedFile(
                f"{path}: expected the file {download.name}, received {HTML}. Download it again in a browser."
            )
    fetched = _compare_with_published(download, path, "the user's own copy", progress)
    if fetched.difference and download.binding:
        raise DamagedFile(
            f"{path}: expected {_describe_expected(download)}, received {fetched.difference}. Replace it with an "
            "intact copy, or remove it from the manual folder to download the file."
        )
    return fetched


class _RefusedResponse(Exception):
    """A mirror serves something other than the file."""


def _fetch_from_mirrors(
    download: Download, target: Path, progress: rich.progress.Progress, manual_dir: Path | None
) -> Fetched:
    if download.urls:
        needs(f"downloading {download.name}", "archives", "requests")
        import requests
    part = target.with_name(f"{download.name}.part")
    failures: dict[str, str] = {}
    for url in download.urls:
        restarted = False
        while True:
            length_before = _size_on_disk(part)
            try:
                resumed = _transfer(download, url, part, progress)
                fetched = _compare_with_published(download, part, url, progress)
                if not (fetched.difference and download.binding):
                    with part.open("rb+") as stream:
                        os.fsync(stream.fileno())
                    os.replace(part, target)
                    _progress_path(part).unlink(missing_ok=True)
                    return fetched._replace(path=target)
                failures[url] = fetched.difference
                _discard_part(part)
                if restarted or not resumed:
                    break
                restarted = True
            except _RefusedResponse as refusal:
                failures[url] = str(refusal)
                break
            except requests.RequestException as error:
                failures[url] = _describe_error(error)
                # Resume as long as each attempt brings more bytes.
                if _size_on_disk(part) <= length_before:
                    break
    resume_note = f" The next attempt resumes after {_size_on_disk(part):,} bytes." if _size_on_disk(part) else ""
    folder_note = f" ({manual_dir} has no such file)" if manual_dir else ""
    failure_list = "; ".join(f"from {urlsplit(url).netloc}: {failure}" for url, failure in failures.items())
    raise Unavailable(
        f"{download.name}: expected {_describe_expected(download)}, received {failure_list or 'no address'}. "
        f"Try again later, or put your own copy of {download.name} in a folder and pass it as "
        f"--manual-dir to offaxis data prepare, or in the variable {MANUAL_DIR}{folder_note}.{resume_note}"
    )


def _transfer(download: Download, url: str, part: Path, progress: rich.progress.Progress) -> bool:
    """Complete ``part``; return whether the transfer was resumed."""
    import requests

    start, validator, total = _size_on_disk(part), *_read_progress(part, url)
    if start and start == (total or download.size):
        return True
    headers = {"Accept-Encoding": "identity"}
    if start and (validator or download.has_hash):
        headers |= {"Range": f"bytes={start}-"} | ({"If-Range": validator} if validator else {})
    with requests.get(url, stream=True, headers=headers, timeout=TIMEOUT) as response:
        if response.status_code == 416 and start:
            if download.has_hash:
                return True
            # The server has no more bytes; without a hash, the part might be of another file.
            _discard_part(part)
            return _transfer(download, url, part, progress)
        response.raise_for_status()
        resumed = response.status_code == 206
        offset = start if resumed else 0
        total = _announced_length(download, response, offset)
        tag = response.headers.get("ETag") or response.headers.get("Last-Modified") or ""
        if not offset:  # if the process died here, another mirror's bytes would be left under this one's tag
            part.unlink(missing_ok=True)
        # RFC 9110, section 13.1.5: a weak tag must not guard a range request.
        write_json(_progress_path(part), {"url": url, "validator": "" if tag.startswith("W/") else tag, "total": total})
        if download.name.endswith(".gz"):  # some servers declare its compression, which requests would undo
            response.raw.headers.pop("Content-Encoding", None)
        task = progress.add_task(f"{download.name} from {urlsplit(url).netloc}", total=total or download.size)
        progress.update(task, completed=offset)
        try:
            _receive(download, response, part, offset, lambda count: progress.advance(task, count))
        finally:
            progress.remove_task(task)
    return resumed


def _announced_length(download: Download, response: requests.Response, offset: int) -> int | None:
    """Return the length that a server announces, after checking that it can be the file's."""
    if response.headers.get("Content-Type", "").startswith("text/html"):
        raise _RefusedResponse(HTML)
    content_range = response.headers.get("Content-Range", "")
    if response.status_code == 206 and not content_range.startswith(f"bytes {offset}-"):
        raise _RefusedResponse(f"the byte range {content_range!r} instead of bytes {offset}-")
    length = response.headers.get("Content-Length", "")
    total = offset + int(length) if length.isdecimal() else None
    if total is not None and (total > (download.size or LIMIT) or download.size not in (None, total)):
        raise _RefusedResponse(f"a file of {total:,} bytes")
    return total


def _receive(
    download: Download, response: requests.Response, part: Path, offset: int, advance: Callable[[int], object]
) -> None:
    """Append a server's response to a part; raise `_RefusedResponse` if it is too long or an HTML page."""
    max_bytes = download.size or LIMIT
    with part.open("r+b" if offset else "wb") as stream:
        stream.seek(offset)
        for chunk in response.iter_content(BLOCK):
            if stream.tell() == 0 and _is_html(chunk):
                raise _RefusedResponse(HTML)
            if stream.tell() + len(chunk) > max_bytes:
                stream.truncate(0)
                raise _RefusedResponse(f"more than {max_bytes:,} bytes")
            stream.write(chunk)
            advance(len(chunk))


def _is_html(head: bytes) -> bool:
    return head[:512].lstrip().lower().startswith((b"<!doctype html", b"<html", b"<head"))


def _size_on_disk(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _progress_path(part: Path) -> Path:
    return part.with_name(f"{part.name}.json")


def _discard_part(part: Path) -> None:
    """Remove a part and its progress file."""
    part.unlink()
    _progress_path(part).unlink(missing_ok=True)


def _read_progress(part: Path, url: str) -> tuple[str, int | None]:
    """Return the validator (ETag or date) of the file that ``part`` began with, and its length."""
    try:
        record = read_json(_progress_path(part))
        return (str(record["validator"]), record["total"]) if record["url"] == url else ("", None)
    except (DamagedFile, KeyError, TypeError):
        return "", None


def _describe_error(error: Exception) -> str:
    """Describe an error of a transfer in a few words."""
    import requests

    response = getattr(error, "response", None)
    if isinstance(error, requests.HTTPError) and response is not None:
        return f"HTTP {response.status_code} {response.reason}"
    if isinstance(error, requests.Timeout) or "Read timed out" in str(error):
        return "a timeout"
    if isinstance(error, requests.TooManyRedirects):
        return "too many redirects"
    if isinstance(error, requests.exceptions.ChunkedEncodingError):
        return "an interrupted connection"
    if isinstance(error, requests.ConnectionError):
        return "no connection"
    return str(error)


def _compare_with_published(download: Download, path: Path, origin: str, progress: rich.progress.Progress) -> Fetched:
    task = progress.add_task(f"{download.name}: checking", total=None)
    size, sha256 = path.stat().st_size, hash_of(path)
    difference = ""
    if download.size not in (None, size):
        difference = f"{size:,} bytes with SHA-256 {sha256}"
    elif download.sha256 and sha256 != download.sha256:
        difference = f"SHA-256 {sha256}"
    elif download.md5 and not download.sha256 and (md5 := hash_of(path, "md5")) != download.md5:
        difference = f"MD5 {md5}"
    progress.remove_task(task)
    return Fetched(path, origin, size, sha256, difference)


def _describe_expected(download: Download) -> str:
    size = f"{download.size:,} bytes" if download.size is not None else "a file"
    digest = f"SHA-256 {download.sha256}" if download.sha256 else f"MD5 {download.md5}" if download.md5 else ""
    if not digest:
        return size
    return f"{size} with {digest}" if download.binding else f"{size}, as published with {digest}"
