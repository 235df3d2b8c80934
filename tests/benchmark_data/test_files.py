"""Files are whole or absent."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmark_data import DamagedFile, InvalidInput, files
from benchmark_data.files import (
    exclusive,
    hash_of,
    is_left_behind,
    read_json,
    unwritable,
    write_json,
    write_text,
    written_atomically,
)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_appears_whole(tmp_path):
    target = tmp_path / "deep" / "down" / "file.txt"
    with written_atomically(target) as temporary:
        assert temporary.parent == target.parent
        assert not temporary.exists()
        temporary.write_text("done")
        assert not target.exists()
    assert target.read_text() == "done"
    assert names(target.parent) == ["file.txt"]


def test_an_existing_file_is_replaced(tmp_path):
    (tmp_path / "file").write_text("old")
    with written_atomically(tmp_path / "file") as temporary:
        temporary.write_text("new")
    assert (tmp_path / "file").read_text() == "new"


def write(path, kind, error):
    """Write half of something, then fail."""
    with written_atomically(path) as temporary:
        if kind == "file":
            temporary.write_text("half")
        elif kind == "folder":
            (temporary / "inside").mkdir(parents=True)
            (temporary / "inside" / "file").write_text("half")
        raise error


@pytest.mark.parametrize("kind", ["file", "folder", "nothing"])
def test_failure_leaves_nothing(tmp_path, kind):
    (tmp_path / "old").write_text("old")
    for target in (tmp_path / "new", tmp_path / "old"):
        with pytest.raises(RuntimeError, match="half-way"):
            write(target, kind, RuntimeError("half-way"))
    assert names(tmp_path) == ["old"]
    assert (tmp_path / "old").read_text() == "old"


def test_a_folder_appears_whole(tmp_path):
    with written_atomically(tmp_path / "folder") as temporary:
        (temporary / "inner").mkdir(parents=True)
        (temporary / "inner" / "file").write_bytes(b"1")
    assert names(tmp_path) == ["folder"]
    assert (tmp_path / "folder" / "inner" / "file").read_bytes() == b"1"


def test_an_existing_folder_is_not_replaced(tmp_path):
    (tmp_path / "folder").mkdir()
    for folder in (tmp_path / "folder", ".", "/"):  # the last two have no name
        with (
            pytest.raises(InvalidInput, match=r"expected a new path, received an existing folder\. Remove it"),
            written_atomically(folder),
        ):
            raise AssertionError("the block must not run")
    assert names(tmp_path) == ["folder"]


def test_nothing_written_is_an_error(tmp_path):
    with (
        pytest.raises(InvalidInput, match="expected a writable path, received FileNotFoundError"),
        written_atomically(tmp_path / "file"),
    ):
        pass
    assert names(tmp_path) == []


def test_a_file_stands_where_the_folder_should_be(tmp_path):
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(InvalidInput, match=r"expected a writable path, received .*Error"),
        written_atomically(tmp_path / "file" / "x") as temporary,
    ):
        temporary.write_text("1")


@pytest.mark.skipif(os.access("/", os.W_OK), reason="this user may write anywhere")
def test_a_folder_without_permission(tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    with pytest.raises(InvalidInput, match=r"received PermissionError: Permission denied\. Check the folder's perm"):
        write_json(closed / "file", 1)
    assert names(closed) == []


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="no /proc here")
def test_a_folder_that_refuses_even_root():
    with pytest.raises(InvalidInput, match=r"/proc/file: expected a writable path, received \w+Error"):
        write_json("/proc/file", 1)


def test_a_full_disk(tmp_path):
    error = OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(InvalidInput, match=r"received OSError: No space left on device.* free space") as caught:
        write(tmp_path / "file", "file", error)
    assert caught.value.__cause__ is error
    assert names(tmp_path) == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_really_full_disk(tmp_path):
    """/dev/full refuses every byte."""
    with (
        pytest.raises(InvalidInput, match="received OSError: No space left on device"),
        written_atomically(tmp_path / "file"),
        open("/dev/full", "w") as stream,
    ):
        stream.write("x" * 10_000)
    assert names(tmp_path) == []


def test_a_killed_process_leaves_nothing_under_the_final_name(tmp_path):
    program = (
        "import os, signal, sys\n"
        "from benchmark_data.files import written_atomically\n"
        "with written_atomically(sys.argv[1]) as temporary:\n"
        "    temporary.write_text('half')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path / "file")], check=False)
    assert done.returncode == -9
    (left,) = tmp_path.iterdir()
    assert left.name.startswith(".file.")
    assert is_left_behind(left)
    assert is_left_behind(tmp_path / ".DS_Store"), "Finder's"
    # The next one that writes the same removes it; what a living process writes, or one elsewhere, stays.
    living = left.with_name(re.sub(r"\.\d+-", f".{os.getppid()}-", left.name))
    elsewhere = left.with_name(re.sub(r"-.{8}", "-00000000", left.name))
    for each in (living, elsewhere):
        each.write_text("theirs")
    write_text(tmp_path / "file", "whole")
    assert names(tmp_path) == sorted(["file", living.name, elsewhere.name])


def test_a_folder_that_another_process_made_meanwhile(tmp_path):
    def late():
        with written_atomically(tmp_path / "made") as temporary:
            temporary.mkdir()
            (tmp_path / "made" / "theirs").mkdir(parents=True)

    with pytest.raises(InvalidInput, match=r"Another process wrote .*made meanwhile"):
        late()
    assert names(tmp_path) == ["made"]


def test_a_folder_may_be_replaced(tmp_path):
    for content in ("old", "new"):
        with written_atomically(tmp_path / "site", replace=True) as temporary:
            temporary.mkdir()
            (temporary / content).touch()
    assert (names(tmp_path), names(tmp_path / "site")) == (["site"], ["new"])


def test_a_folder_that_cannot_be_replaced_is_still_there(tmp_path, monkeypatch):
    (tmp_path / "site" / "old").mkdir(parents=True)
    moved = os.replace

    def move(source, target):
        if target == tmp_path / "site" and not source.name.endswith("_old.part"):
            raise PermissionError(errno.EACCES, "in use")
        moved(source, target)

    monkeypatch.setattr(os, "replace", move)
    with (
        pytest.raises(InvalidInput, match="in use"),
        written_atomically(tmp_path / "site", replace=True) as temporary,
    ):
        temporary.mkdir()
    assert (names(tmp_path), names(tmp_path / "site")) == (["site"], ["old"])


def test_json_goes_round_and_diffs_well(tmp_path):
    value = {"b": [1, 2.5, None, True], "a": "é"}
    write_json(tmp_path / "x.json", value)
    assert read_json(tmp_path / "x.json") == value
    text = (tmp_path / "x.json").read_bytes().decode("utf-8")
    assert text.startswith('{\n  "a": "é",\n  "b": [\n')
    assert text.endswith("}\n")


@pytest.mark.parametrize("value", [float("nan"), {"x": [float("inf")]}])
def test_json_holds_finite_numbers_only(tmp_path, value):
    with pytest.raises(InvalidInput, match="expected finite numbers"):
        write_json(tmp_path / "x.json", value)
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "expected a JSON file, received No such file or directory"),
        (b"", "expected valid JSON, received Expecting value"),
        (b'{"a": 1', "expected valid JSON"),
        (b"\xff\xfe", "expected valid JSON, received 'utf-8' codec can't decode"),
        (b"[" * 100_000, "expected valid JSON"),
    ],
    ids=["missing", "empty", "cut", "not utf-8", "deep"],
)
def test_json_that_cannot_be_read(tmp_path, content, message):
    if content is not None:
        (tmp_path / "x.json").write_bytes(content)
    with pytest.raises(DamagedFile, match=message):
        read_json(tmp_path / "x.json")


def test_json_is_sized_before_it_is_read(tmp_path, monkeypatch):
    (tmp_path / "x.json").write_text("[1, 2, 3]")
    monkeypatch.setenv("OFFAXIS_MAX_JSON", "8")
    with pytest.raises(DamagedFile, match=r"x\.json has 9 bytes, more than 8\. Set OFFAXIS_MAX_JSON to a larger numb"):
        read_json(tmp_path / "x.json")
    monkeypatch.setenv("OFFAXIS_MAX_JSON", "9")
    assert read_json(tmp_path / "x.json") == [1, 2, 3]
    monkeypatch.setenv("OFFAXIS_MAX_JSON", "64MB")
    with pytest.raises(InvalidInput, match="OFFAXIS_MAX_JSON must be a whole number above 0, not '64MB'"):
        read_json(tmp_path / "x.json")


def test_a_name_that_is_no_utf8_is_written(tmp_path):
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/x\xff"))
    write_text(path, "done")
    assert path.read_text() == "done"
    assert len(os.listdir(tmp_path)) == 1
    write_json(tmp_path / "where.json", {"folder": str(path), "é": "ü"})
    assert read_json(tmp_path / "where.json") == {"folder": str(path), "é": "ü"}


def test_a_name_that_the_locale_cannot_spell_is_written(tmp_path):
    locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    code = "import sys\nfrom benchmark_data.files import write_text\nwrite_text(sys.argv[1], 'whole')"
    path = os.fsencode(tmp_path) + "/\u65e5\u672c".encode()
    subprocess.run([sys.executable, "-c", code, path], env={**os.environ, **locale}, check=True)
    assert os.listdir(os.fsencode(tmp_path)) == ["\u65e5\u672c".encode()]


def test_a_key_twice_is_refused_at_any_depth(tmp_path):
    (tmp_path / "x.json").write_text('{"a": [{"seed": 1, "seed": 2}]}', "utf-8")
    with pytest.raises(DamagedFile, match="expected valid JSON, received the key 'seed' twice in one object"):
        read_json(tmp_path / "x.json")


def test_a_folder_is_no_json(tmp_path):
    with pytest.raises(DamagedFile, match="expected a JSON file, received Is a directory"):
        read_json(tmp_path)


def test_unwritable_names_path_and_reason(tmp_path):
    error = unwritable(tmp_path / "x", OSError(errno.EROFS, "Read-only file system"))
    assert str(error).startswith(f"{tmp_path}/x: expected a writable path, received OSError: Read-only file")


def test_a_lock_keeps_others_out_until_it_is_released(tmp_path):
    lock = tmp_path / "deep" / ".lock"
    refusal = InvalidInput("folder: expected a free folder, received one in use.")
    refused = pytest.raises(InvalidInput, match="received one in use")
    with contextlib.ExitStack() as first:
        first.enter_context(exclusive(lock, what=tmp_path))
        with refused, exclusive(lock, what=tmp_path, refusal=refusal):
            pass
        second = exclusive(lock, what=tmp_path, waiting=first.close)
        with second, refused, exclusive(lock, what=tmp_path, refusal=refusal):
            pass
    with exclusive(lock, what=tmp_path, refusal=refusal):
        assert names(lock.parent) == [".lock"]


def test_a_lock_that_cannot_be_written_names_what_is_locked(tmp_path):
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(InvalidInput, match="results: expected a writable path"),
        exclusive(tmp_path / "file" / ".lock", what=tmp_path / "results"),
    ):
        pass


def test_a_file_is_hashed(tmp_path):
    (tmp_path / "file").write_bytes(b"abc")
    # the first test vectors of FIPS 180-2 and RFC 1321
    assert hash_of(tmp_path / "file") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert hash_of(tmp_path / "file", "md5") == "900150983cd24fb0d6963f7d28e17f72"
    with pytest.raises(DamagedFile, match="absent: expected a file, received No such file"):
        hash_of(tmp_path / "absent")


def test_a_name_may_be_as_long_as_file_systems_allow(tmp_path):
    """255 bytes: the temporary name beside it is no longer."""
    path = tmp_path / ("\u00e9" * 120 + "x" * 15)
    write_text(path, "whole")
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
    with pytest.raises(InvalidInput, match="expected a writable path, received OSError: File name too long"):
        write_text(path.with_name(path.name + "x"), "too long")
    with written_atomically(path) as temporary:
        temporary.write_text("x")
        assert is_left_behind(temporary)
        assert len(temporary.name.encode()) <= 255


def test_another_namespace_of_processes_is_another_machine(monkeypatch):
    here = files._host()
    monkeypatch.setattr(files.os, "readlink", lambda path: "pid:[1]")
    there = files._host()
    monkeypatch.setattr(files.os, "readlink", lambda path: "pid:[2]")
    assert len({there, files._host(), files.platform.node()}) == 3
    assert here.startswith(files.platform.node())
