"""Fetching, against a server on loopback that cuts, stalls, lies and redirects."""

from __future__ import annotations

import gzip
import hashlib
import http
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import rich.progress

from benchmark_data.archives import downloads
from benchmark_data.archives.downloads import Download, fetch
from benchmark_data.errors import DamagedFile, InvalidInput, Unavailable

CONTENT = np.random.default_rng(0).bytes(3_500_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()
HTML = b"\n <!DOCTYPE html><html><title>Quota exceeded</title>" + b" " * 5000
MIB = 2**20


@pytest.fixture
def fetched(tmp_path, monkeypatch):
    """Fetch into a folder; give the file's content, or raise."""

    def run(*urls, manual_dir=None, timeout=5.0, **facts):
        monkeypatch.setattr(downloads, "TIMEOUT", timeout)
        facts = facts or {"sha256": SHA256, "size": len(CONTENT)}
        download = Download(name="data.bin", urls=urls, **facts)
        with rich.progress.Progress(disable=True) as progress:
            return fetch(download, tmp_path / "downloads", progress=progress, manual_dir=manual_dir)

    return run


@pytest.fixture
def left(tmp_path):
    """List what lies in the download folder."""
    return lambda: sorted(path.name for path in (tmp_path / "downloads").iterdir())


def test_a_file_is_fetched_and_named(server, fetched, left):
    url = server.add("data.bin", CONTENT)
    found = fetched(url)
    assert found.path.read_bytes() == CONTENT
    assert found[1:] == (url, len(CONTENT), SHA256, "")
    assert left() == ["data.bin"]


def test_what_was_fetched_is_not_fetched_again(server, fetched):
    url = server.add("data.bin", CONTENT)
    fetched(url)
    assert fetched(url).origin == "fetched before"
    assert len(server.served) == 1


def test_a_fetched_file_that_went_bad_is_fetched_again(server, fetched):
    url = server.add("data.bin", CONTENT)
    path = fetched(url).path
    path.write_bytes(CONTENT[:-1] + b"?")
    assert fetched(url).path.read_bytes() == CONTENT
    assert len(server.served) == 2


def test_md5_is_looked_at_where_there_is_no_sha256(server, fetched):
    url = server.add("data.bin", CONTENT)
    assert fetched(url, md5=hashlib.md5(CONTENT).hexdigest()).difference == ""
    assert fetched(url, sha256=SHA256, md5="0" * 32).difference == ""
    with pytest.raises(Unavailable, match=r"expected a file with MD5 0{32}, received from 127.0.0.1:\d+: MD5 \w{32}"):
        fetched(server.add("other.bin", CONTENT + b"!"), md5="0" * 32)


def test_mirrors_are_asked_in_order(server, fetched):
    dead = server.add("dead.bin", b"", status=404)
    assert fetched("http://127.0.0.1:9/nobody", dead, server.add("data.bin", CONTENT)).path.read_bytes() == CONTENT
    assert [path for path, *_ in server.served] == ["/dead.bin", "/data.bin"]


def test_a_redirect_is_followed(server, fetched):
    goal = server.add("data.bin", CONTENT)
    assert fetched(server.add("moved", b"", status=302, location=goal)).path.read_bytes() == CONTENT


def test_compression_that_a_server_names_stays(server, tmp_path):
    content = gzip.compress(CONTENT, 1)
    url = server.add("matrix.gz", content, encoding="x-gzip")
    download = Download(name="matrix.gz", urls=(url,), sha256=hashlib.sha256(content).hexdigest(), size=len(content))
    with rich.progress.Progress(disable=True) as progress:
        assert fetch(download, tmp_path, progress=progress).path.read_bytes() == content


def test_redirects_without_end(server, fetched):
    url = server.add("loop", b"", status=302, location="/loop")
    with pytest.raises(Unavailable, match="too many redirects"):
        fetched(url)


def test_a_cut_transfer_is_resumed_where_it_stopped(server, fetched):
    url = server.add("data.bin", CONTENT, cut=MIB + 10)
    assert fetched(url).path.read_bytes() == CONTENT
    assert [wanted for _, wanted, _ in server.served] == [
        None,
        f"bytes={MIB}-",
        f"bytes={2 * MIB}-",
        f"bytes={3 * MIB}-",
    ]


def test_a_mirror_goes_on_where_another_broke_off_if_the_hash_is_known(server, fetched):
    first = server.add("cut.bin", CONTENT, cut=MIB + 10, ranges=False)
    assert fetched(first, server.add("data.bin", CONTENT, etag='"another tag"')).path.read_bytes() == CONTENT
    assert server.served[-1] == ("/data.bin", f"bytes={MIB}-", 206)


def test_without_a_hash_only_the_same_file_is_resumed(server, fetched):
    cut = server.add("cut.bin", CONTENT, cut=MIB + 10, ranges=False)
    other = np.random.default_rng(1).bytes(len(CONTENT))
    assert fetched(cut, server.add("other.bin", other), size=len(CONTENT)).path.read_bytes() == other
    assert server.served[-1] == ("/other.bin", None, 200)


def test_a_file_that_changed_on_the_server_is_begun_anew(server, fetched, left):
    url = server.add("data.bin", CONTENT, cut=MIB + 10, ranges=False)
    with pytest.raises(Unavailable, match=r"an interrupted connection.*The next attempt resumes after 1,048,576 bytes"):
        fetched(url, size=len(CONTENT))
    assert left() == ["data.bin.part", "data.bin.part.json"]
    changed = CONTENT[::-1]
    server.add("data.bin", changed)
    assert fetched(url, size=len(CONTENT)).path.read_bytes() == changed
    assert server.served[-1] == ("/data.bin", f"bytes={MIB}-", 200)


def test_a_weak_tag_does_not_guard_a_resumption(server, fetched):
    url = server.add("data.bin", CONTENT, cut=MIB + 10, etag='W/"weak"')
    with pytest.raises(Unavailable, match="an interrupted connection"):
        fetched(url, size=len(CONTENT))
    assert {wanted for _, wanted, _ in server.served} == {None}


def test_a_server_that_cannot_serve_parts_is_asked_for_the_whole(server, fetched):
    url = server.add("data.bin", CONTENT, cut=2 * MIB + 10, ranges=False)
    with pytest.raises(Unavailable, match="an interrupted connection"):
        fetched(url)
    server.add("data.bin", CONTENT, ranges=False)
    assert fetched(url).path.read_bytes() == CONTENT


def test_wrong_bytes_are_refused_with_both_hashes(server, fetched, left):
    wrong = b"?" * len(CONTENT)
    url = server.add("data.bin", wrong)
    message = (
        rf"data.bin: expected 3,500,000 bytes with SHA-256 {SHA256}, received from 127.0.0.1:\d+: SHA-256 "
        rf"{hashlib.sha256(wrong).hexdigest()}. Try again later, or put your own copy of data.bin in a folder and pass "
        r"it as --manual-dir to offaxis data prepare, or in the variable OFFAXIS_MANUAL_DIR."
    )
    with pytest.raises(Unavailable, match=message):
        fetched(url)
    assert left() == []


def test_a_resumed_transfer_that_ends_wrong_is_begun_anew_once(server, fetched, tmp_path):
    url = server.add("data.bin", CONTENT)
    (tmp_path / "downloads").mkdir()
    (tmp_path / "downloads" / "data.bin.part").write_bytes(b"?" * MIB)
    assert fetched(url).path.read_bytes() == CONTENT
    assert [status for *_, status in server.served] == [206, 200]


def test_a_whole_part_that_was_not_yet_named_is_not_fetched_again(server, fetched, tmp_path):
    url = server.add("data.bin", CONTENT)
    (tmp_path / "downloads").mkdir()
    (tmp_path / "downloads" / "data.bin.part").write_bytes(CONTENT)
    assert fetched(url).path.read_bytes() == CONTENT
    assert server.served == []


@pytest.fixture
def leave(tmp_path):
    """Leave a part of an earlier download, and what is known of it."""

    def run(content, **known):
        part = tmp_path / "downloads" / "data.bin.part"
        part.parent.mkdir()
        part.write_bytes(content)
        if known:
            part.with_name("data.bin.part.json").write_text(json.dumps(known))

    return run


def test_a_whole_part_of_a_server_that_announces_no_length_is_taken(server, fetched, left, leave):
    url = server.add("data.bin", CONTENT, length=False)
    leave(CONTENT)
    assert fetched(url, sha256=SHA256).path.read_bytes() == CONTENT
    assert server.served == [("/data.bin", f"bytes={len(CONTENT)}-", 416)]
    assert left() == ["data.bin"]


@pytest.mark.parametrize("facts", [{"sha256": SHA256}, {"sha256": SHA256, "size": len(CONTENT)}])
@pytest.mark.parametrize("etag", ["", 'W/"weak"'])
def test_a_part_that_is_longer_than_the_file_is_begun_anew(facts, etag, server, fetched, left, leave):
    url = server.add("data.bin", CONTENT, etag=etag)
    leave(CONTENT + b"?", url=url, validator="", total=None)
    assert fetched(url, **facts).path.read_bytes() == CONTENT
    assert [status for *_, status in server.served] == [416, 200]
    assert left() == ["data.bin"]


def test_without_a_hash_a_part_after_which_nothing_comes_is_begun_anew(server, fetched, left, leave):
    url = server.add("data.bin", CONTENT, etag='"same"', length=False)
    leave(CONTENT[::-1] + b"?", url=url, validator='"same"', total=None)
    assert fetched(url, note="neither size nor hash is published").path.read_bytes() == CONTENT
    assert [status for *_, status in server.served] == [416, 200]
    assert left() == ["data.bin"]


def test_a_server_that_always_refuses_the_range_is_asked_twice(server, fetched, leave):
    url = server.add("data.bin", CONTENT, status=416)
    leave(CONTENT[:MIB])
    phrase = http.HTTPStatus(416).phrase  # "Requested Range Not Satisfiable" before Python 3.13
    with pytest.raises(Unavailable, match=rf"received from .*: HTTP 416 {phrase}\.") as error:
        fetched(url)
    assert "are kept" not in str(error.value)
    assert [wanted for _, wanted, _ in server.served] == [f"bytes={MIB}-", None]


def test_a_page_inside_the_file_is_part_of_it(server, fetched):
    content = CONTENT[: downloads.BLOCK] + HTML
    assert fetched(server.add("data.bin", content), size=len(content)).path.read_bytes() == content


@pytest.mark.parametrize("type_", ["text/html; charset=utf-8", "application/octet-stream"])
def test_a_page_instead_of_the_file(server, fetched, left, type_):
    url = server.add("data.bin", HTML, type=type_)
    with pytest.raises(Unavailable, match=r"127.0.0.1:\d+: an HTML page instead of the file, such as a quota"):
        fetched(url, md5="0" * 32)
    assert "data.bin" not in left()


def test_a_stalled_server_is_left_and_the_part_kept(server, fetched):
    stalled = server.add("stalled.bin", CONTENT, stall=30.0)
    assert fetched(stalled, server.add("data.bin", CONTENT), timeout=1.0).path.read_bytes() == CONTENT


def test_a_stalled_server_alone(server, fetched):
    with pytest.raises(Unavailable, match="a timeout"):
        fetched(server.add("data.bin", CONTENT, stall=30.0), timeout=0.2)


def test_another_length_is_refused_before_it_is_fetched(server, fetched):
    url = server.add("data.bin", CONTENT + CONTENT)
    with pytest.raises(Unavailable, match=r"received from .*: a file of 7,000,000 bytes"):
        fetched(url)


def test_a_length_that_is_announced_twice_is_none(server, fetched):
    assert fetched(server.add("data.bin", CONTENT, announced="{0}, {0}")).path.read_bytes() == CONTENT


def test_an_unannounced_flood_is_stopped(server, fetched):
    url = server.add("data.bin", CONTENT + CONTENT, length=False)
    with pytest.raises(Unavailable, match="more than 3,500,000 bytes"):
        fetched(url)


def test_a_hash_that_does_not_bind_is_recorded(server, fetched):
    found = fetched(server.add("data.bin", CONTENT), md5="0" * 32, binding=False)
    assert found.difference == f"MD5 {hashlib.md5(CONTENT).hexdigest()}"


def test_no_mirror_at_all(fetched, tmp_path):
    with pytest.raises(Unavailable, match=r"no address.*\(.* has no such file\)"):
        fetched(manual_dir=tmp_path)


def test_the_users_own_copy_is_used_where_it_lies(fetched, tmp_path):
    own = tmp_path / "own"
    own.mkdir()
    (own / "data.bin").write_bytes(CONTENT)
    found = fetched("http://127.0.0.1:9/nobody", manual_dir=own)
    assert found.path == own / "data.bin"
    assert found.origin == "the user's own copy"


def test_the_users_own_copy_under_another_name(fetched, tmp_path):
    (tmp_path / "long name from a drive.bin").write_bytes(CONTENT)
    found = fetched(manual_dir=tmp_path, sha256=SHA256, aliases=("long name from a drive.bin",))
    assert found.path.name == "long name from a drive.bin"


def test_the_users_own_copy_is_checked(fetched, tmp_path):
    (tmp_path / "data.bin").write_bytes(CONTENT[:-1])
    with pytest.raises(DamagedFile, match=r"data.bin: expected 3,500,000 bytes with .*, received 3,499,999 bytes with"):
        fetched(manual_dir=tmp_path)
    (tmp_path / "data.bin").write_bytes(HTML)
    with pytest.raises(DamagedFile, match=r"received an HTML page.*Download it again in a browser"):
        fetched(manual_dir=tmp_path)


def test_a_manual_folder_that_is_none(fetched, tmp_path):
    with pytest.raises(InvalidInput, match=r"manual folder: expected a readable folder, received '.*nowhere'"):
        fetched(manual_dir=tmp_path / "nowhere")


def test_an_unwritable_folder(server, fetched, tmp_path):
    (tmp_path / "downloads").write_text("in the way")
    with pytest.raises(InvalidInput, match="expected a writable path"):
        fetched(server.add("data.bin", CONTENT))


KILLED = """
import sys, rich.progress
from pathlib import Path
from benchmark_data.archives.downloads import Download, fetch
with rich.progress.Progress(disable=True) as progress:
    fetch(Download(name="data.bin", urls=(sys.argv[1],), sha256=sys.argv[3]), Path(sys.argv[2]), progress=progress)
"""


def test_a_kill_in_the_middle_leaves_a_part_that_is_resumed(server, fetched, left, tmp_path):
    url = server.add("data.bin", CONTENT, stall=30.0)
    part = tmp_path / "downloads" / "data.bin.part"
    process = subprocess.Popen([sys.executable, "-c", KILLED, url, str(part.parent), SHA256])
    try:
        while process.poll() is None and not (part.exists() and part.stat().st_size >= MIB):
            time.sleep(0.02)
        assert process.poll() is None
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert "data.bin" not in left()
    server.add("data.bin", CONTENT)
    assert fetched(url).path.read_bytes() == CONTENT
    assert server.served[-1] == ("/data.bin", f"bytes={MIB}-", 206)
