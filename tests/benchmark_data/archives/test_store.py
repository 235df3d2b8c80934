"""The prepared form: written once, by one process, whole or absent; read at random."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from benchmark_data.archives import store
from benchmark_data.archives.store import Store, Writer
from benchmark_data.datasets.mpi3d import DATASET
from benchmark_data.errors import DamagedFile, InvalidInput, Unavailable
from benchmark_data.publish import verify
from benchmark_data.types import Extra

SIZES = (2, 2, 2, 1, 3, 2, 4)
IMAGES = np.random.default_rng(0).integers(0, 256, (192, 64, 64, 3), dtype=np.uint8)
SHAPE = (8, 8, 1)
TEN = np.random.default_rng(1).integers(0, 2, (10, *SHAPE), dtype=np.uint8) * 255


def finished(writer, **meta):
    writer.finish()
    meta = {"rows": writer.rows, "image_shape": writer.shape, "encoding": writer.encoding, **meta}
    (writer.folder / "meta.json").write_text(json.dumps(meta))
    return Store(writer.folder)


@pytest.mark.parametrize("encoding", ["raw", "bits"])
def test_rows_may_be_written_in_any_order(tmp_path, encoding):
    writer = Writer(tmp_path / "made", name="ten", rows=10, shape=SHAPE, encoding=encoding)
    for rows in ([7], [2, 0, 9], [3, 4, 5], [1, 6, 8]):
        writer.images(np.array(rows), TEN[rows])
    store = finished(writer)
    assert np.array_equal(store.images(np.arange(10)), TEN)
    assert np.array_equal(store.images(np.array([4, 4, 0])), TEN[[4, 4, 0]])


def test_an_image_given_out_is_a_copy(tmp_path):
    writer = Writer(tmp_path / "made", name="ten", rows=10, shape=SHAPE)
    writer.images(np.arange(10), TEN)
    store = finished(writer)
    store.images(np.array([0]))[:] = 7
    assert np.array_equal(store.images(np.array([0])), TEN[:1])


def test_files_are_decoded_when_read(tmp_path, png_bytes):
    writer = Writer(tmp_path / "made", name="ten", rows=10, shape=SHAPE, encoding="files")
    for row in np.random.default_rng(0).permutation(10):
        writer.file(row, png_bytes(TEN[row, :, :, 0]))
    store = finished(writer)
    assert np.array_equal(store.images(np.array([9, 0, 5, 5])), TEN[[9, 0, 5, 5]])


def test_labels_and_extras(tmp_path):
    extras = {"place": Extra((2,), "float32", "x and y")}
    writer = Writer(tmp_path / "made", name="ten", rows=10, shape=SHAPE, columns=2, extras=extras)
    rows = np.arange(10)
    places = np.random.default_rng(0).random((10, 2), np.float32)
    writer.images(rows, TEN)
    writer.labels(rows[::-1], np.stack([rows, rows % 3], axis=1))
    writer.extra("place", rows, places)
    store = finished(writer)
    assert store.labels()[0].tolist() == [9, 0]
    assert np.array_equal(store.extra("place")[[3, 1]], places[[3, 1]])


def test_means_are_of_the_counted_rows(tmp_path):
    writer = Writer(tmp_path / "made", name="ten", rows=10, shape=SHAPE, counted=range(0, 10, 3))
    writer.images(np.arange(10), TEN)
    writer.finish()
    assert writer.means[0] == pytest.approx(TEN[::3].mean() / 255)


@pytest.mark.parametrize(
    ("rows", "images", "message"),
    [
        ([0], TEN[:1].astype(np.int64), r"images of ten: expected uint8 of shape \(1, 8, 8, 1\), received int64"),
        ([0], TEN[:1, :4], r"received uint8 of shape \(1, 4, 8, 1\)"),
        ([10], TEN[:1], r"expected rows in \[0, 9\], received rows in \[10, 10\]"),
        ([0, 0], TEN[:2], "expected each row once, received the same row twice"),
        ([0], TEN[:1] // 2, "expected black and white pixels, received shades of grey"),
    ],
)
def test_rows_that_cannot_be_written(tmp_path, rows, images, message):
    writer = Writer(tmp_path / "made", name="ten", rows=10, shape=SHAPE, encoding="bits")
    with pytest.raises(DamagedFile, match=message):
        writer.images(np.array(rows), images)
    writer.close()


def test_bits_need_whole_bytes(tmp_path):
    with pytest.raises(InvalidInput, match="expected a multiple of 8 pixels per image"):
        Writer(tmp_path / "made", name="ten", rows=10, shape=(5, 5, 1), encoding="bits")


@pytest.mark.parametrize("columns", [0, 1])
def test_a_row_that_is_missing(tmp_path, columns):
    writer = Writer(tmp_path / "made", name="ten", rows=10, shape=SHAPE, columns=columns)
    writer.images(np.arange(10 if columns else 9), TEN[: 10 if columns else 9])
    writer.labels(np.arange(9), np.zeros((9, 1), np.int64))
    with pytest.raises(DamagedFile, match="expected 10 images with labels, received 9; the first missing row is 9"):
        writer.finish()


@pytest.fixture
def small(shrink, tmp_path):
    """A small MPI3D that can be prepared from the folder ``own``."""
    (tmp_path / "own").mkdir()
    np.savez(tmp_path / "own" / "mpi3d_toy.npz", images=IMAGES)
    return shrink(DATASET.configs["toy"], SIZES)


@pytest.fixture
def prepared(small, tmp_path):
    small.prepare(manual_dir=tmp_path / "own")
    return small


def test_the_environment_chooses_the_place(monkeypatch, tmp_path):
    monkeypatch.setenv("OFFAXIS_CACHE", str(tmp_path / "here"))
    assert store.root() == tmp_path / "here"
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.setenv("OFFAXIS_CACHE", "~/here")
    assert store.root() == tmp_path / "here"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OFFAXIS_CACHE", "here")
    assert store.root() == tmp_path / "here"
    monkeypatch.setenv("OFFAXIS_CACHE", "~nobody of this name/here")
    assert store.root() == tmp_path / "~nobody of this name" / "here"
    monkeypatch.delenv("OFFAXIS_CACHE")
    assert store.root().name == "offaxis"


def refuse(name):
    raise RuntimeError("could not determine the home directory for '~/.cache', set an absolute HOME or XDG variable")


@pytest.mark.parametrize("user_cache_dir", [refuse, lambda name: "~/.cache/offaxis"], ids=["4.14", "4.0"])
def test_without_a_home_folder_the_environment_chooses(user_cache_dir, monkeypatch, tmp_path):
    """As the user of a container may be; newer versions of platformdirs raise an error, older ones return ``~``."""
    monkeypatch.setattr("platformdirs.user_cache_dir", user_cache_dir)
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    monkeypatch.delenv("OFFAXIS_CACHE", raising=False)
    with pytest.raises(InvalidInput, match=r"There is no home folder for prepared datasets\. Set OFFAXIS_CACHE"):
        store.root()
    monkeypatch.setenv("OFFAXIS_CACHE", str(tmp_path / "here"))
    assert store.root() == tmp_path / "here"


def test_a_place_with_too_long_a_name_is_told(monkeypatch, tmp_path):
    monkeypatch.setenv("OFFAXIS_CACHE", str(tmp_path / ("x" * 300)))
    with pytest.raises(InvalidInput, match="expected a writable path, received OSError: File name too long"):
        store.root()


def test_what_is_prepared_is_not_prepared_again(prepared, tmp_path):
    before = (prepared.source.folder / "images.npy").stat().st_mtime_ns
    prepared.prepare(manual_dir=tmp_path / "nowhere")
    assert (prepared.source.folder / "images.npy").stat().st_mtime_ns == before


def test_what_is_prepared_is_opened_once_and_anew_where_it_was_made_again(prepared):
    opened = prepared.source.store()
    assert prepared.source.store() is opened
    os.utime(prepared.source.folder / "meta.json", ns=(1, 1))  # as long as before
    assert prepared.source.store() is not opened


def test_opening_reads_no_pixels(tmp_path):
    # A sparse file of 61 GB, more than fits into memory: to read it would fail, or take until somebody notices.
    shape = (5_000_000, 64, 64, 3)
    np.lib.format.open_memmap(tmp_path / "images.npy", "w+", np.uint8, shape)
    meta = {"rows": shape[0], "image_shape": shape[1:], "encoding": "raw"}
    (tmp_path / "meta.json").write_text(json.dumps(meta))
    store = Store(tmp_path)
    assert store.images(np.array([4_999_999])).shape == (1, 64, 64, 3)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: os.truncate(folder / "images.npy", 1000), "expected a prepared dataset, received images.npy: "),
        (lambda folder: (folder / "images.npy").unlink(), "Remove the folder and prepare the dataset again"),
        (lambda folder: (folder / "meta.json").write_text("{}"), "received a meta.json without 'rows'"),
        (lambda folder: (folder / "meta.json").write_text("{"), "expected valid JSON"),
        (
            lambda folder: (folder / "meta.json").write_text(
                (folder / "meta.json").read_text().replace('"rows": 192', '"rows": 191')
            ),
            "received another number of images",
        ),
        (lambda folder: (folder / "meta.json").write_text("[]"), r"received a meta\.json that is not a JSON object"),
        (lambda folder: meta(folder, image_shape=64), r"received a meta\.json with an invalid description"),
        (lambda folder: meta(folder, encoding="jpeg"), "received the unknown encoding 'jpeg'"),
        (
            lambda folder: np.save(folder / "images.npy", np.zeros((192, 32, 32, 3), np.uint8)),
            r"received images\.npy of uint8 and shape \(192, 32, 32, 3\)",
        ),
        (
            lambda folder: np.save(folder / "images.npy", np.zeros((192, 64, 64, 3), np.float32)),
            r"received images\.npy of float32 and shape \(192, 64, 64, 3\)",
        ),
        (lambda folder: np.save(folder / "images.npy", np.uint8(7)), "received another number of images"),
    ],
)
def test_a_damaged_cache_is_told(prepared, damage, message):
    damage(prepared.source.folder)
    with pytest.raises(DamagedFile, match=message):
        prepared.images([0])


def meta(folder, **changes):
    content = json.loads((folder / "meta.json").read_text())
    (folder / "meta.json").write_text(json.dumps({**content, **changes}))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: os.truncate(folder / "files.bin", 20), r"received a truncated files.bin"),
        (lambda folder: os.truncate(folder / "files.bin", 0), r"received files\.bin: "),
        (lambda folder: (folder / "files.bin").unlink(), r"received files\.bin: .*Remove the folder and prepare"),
        (lambda folder: np.save(folder / "files.npy", np.zeros(1, np.int64)), r"files\.npy of int64 and shape \(1,\)"),
        (lambda folder: np.save(folder / "files.npy", np.array([[-9, 9]])), r"received a truncated files.bin"),
        (lambda folder: meta(folder, image_shape=[8, 9, 1]), r"received an image of 8 x 8 pixels"),
        (lambda folder: meta(folder, image_shape=[8, 8.5, 1]), r"received 1 images of shape \(8, 8\.5, 1\)"),
        (lambda folder: meta(folder, image_shape=[10**9] * 3), r"received 1 images of shape \(1000"),
    ],
)
def test_a_damaged_file_of_photographs_is_told(tmp_path, png_bytes, damage, message):
    writer = Writer(tmp_path / "made", name="ten", rows=1, shape=SHAPE, encoding="files")
    writer.file(0, png_bytes(TEN[0, :, :, 0]))
    finished(writer)
    damage(tmp_path / "made")
    with pytest.raises(DamagedFile, match=message):
        Store(tmp_path / "made").images(np.array([0]))


def test_photographs_that_lack_the_last_byte_are_refused(tmp_path, png_bytes):
    writer = Writer(tmp_path / "made", name="ten", rows=2, shape=SHAPE, encoding="files")
    for row in range(2):
        writer.file(row, png_bytes(TEN[row, :, :, 0]))
    finished(writer)
    photographs = tmp_path / "made" / "files.bin"
    os.truncate(photographs, photographs.stat().st_size - 1)
    with pytest.raises(DamagedFile, match=r"received a truncated files\.bin"):
        Store(tmp_path / "made")


@pytest.mark.parametrize("encoding", ["raw", "bits", "files"])
def test_a_file_that_is_cut_while_it_is_open_does_not_end_the_process(tmp_path, png_bytes, encoding):
    """To read behind the end of a mapped file would (SIGBUS)."""
    writer = Writer(tmp_path / "made", name="ten", rows=1, shape=SHAPE, encoding=encoding)
    if encoding == "files":
        writer.file(0, png_bytes(TEN[0, :, :, 0]))
    else:
        writer.images(np.array([0]), TEN[:1] // 255 * 255)
    opened = finished(writer)
    assert opened.images(np.array([0])).shape == (1, *SHAPE)
    os.truncate(next(f for f in (tmp_path / "made").iterdir() if f.name in ("images.npy", "bits.npy", "files.bin")), 1)
    with pytest.raises(DamagedFile, match="received pixels that were truncated after they were opened"):
        opened.images(np.array([0]))


@pytest.mark.parametrize("name", ["labels", "extra_place"])
def test_a_table_with_other_rows_is_told(tmp_path, name):
    extras = {"place": Extra((2,), "float32", "x and y")}
    writer = Writer(tmp_path / "made", name="ten", rows=10, shape=SHAPE, columns=1, extras=extras)
    writer.images(np.arange(10), TEN)
    writer.labels(np.arange(10), np.zeros((10, 1), np.int64))
    store = finished(writer)
    np.save(tmp_path / "made" / f"{name}.npy", np.zeros((9, 1), np.int64))
    with pytest.raises(DamagedFile, match=rf"received {name}\.npy of shape \(9, 1\)"):
        store.labels() if name == "labels" else store.extra("place")


def test_too_small_a_disk_is_told_before_anything_is_fetched(small, monkeypatch, tmp_path):
    usage = type("Usage", (), {"free": 100})
    monkeypatch.setattr(store.shutil, "disk_usage", lambda path: usage)
    with pytest.raises(InvalidInput, match=r"expected 0.0 GiB of free space, received 0.0 GiB. .* OFFAXIS_CACHE"):
        small.prepare(manual_dir=tmp_path / "own")


def test_a_disk_that_runs_full_leaves_nothing(small, disk_full, tmp_path):
    message = r"expected a writable path, received OSError: File too large"
    with pytest.raises(InvalidInput, match=message), disk_full(1_000_000):
        small.prepare(manual_dir=tmp_path / "own")
    assert not small.prepared
    assert [path.name for path in small.source.folder.parent.iterdir()] == [".1.0.0.lock"]


def test_an_unwritable_cache_is_told(small, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("OFFAXIS_CACHE", str(tmp_path / "file"))
    with pytest.raises(InvalidInput, match="expected a writable path"):
        small.prepare(manual_dir=tmp_path / "own")


SCRIPT = """
import dataclasses, sys, time
from pathlib import Path
import numpy as np
from benchmark_data.datasets.mpi3d import DATASET, read
from benchmark_data.factors import Factor
from benchmark_data.archives.checks import PublishedStatistics
from benchmark_data.archives.archive import Distribution

folder, stage = Path(sys.argv[1]), sys.argv[2]

def pause(name):
    with open(folder / name, "a") as log:
        log.write("here\\n")
    while name == stage and not (folder / "go").exists():
        time.sleep(0.02)

def slow(archive, files, writer):
    pause("before")
    read(archive, files, writer)
    pause("after")

sizes = (2, 2, 2, 1, 3, 2, 4)
archive = DATASET.configs["toy"].source
archive = dataclasses.replace(
    archive,
    factors=tuple(Factor(f.name, f.values[:n]) for f, n in zip(archive.factors, sizes)),
    rows=192,
    statistics=PublishedStatistics(),
    distributions=tuple(
        Distribution(tuple(dataclasses.replace(d, md5="", urls=()) for d in f.files), slow)
        for f in archive.distributions
    ),
)
archive.prepare(manual_dir=folder / "own")
"""


@pytest.fixture
def paused(tmp_path):
    """Start processes that prepare the small archive and pause before or after its pixels are written."""
    processes = []

    def start(stage):
        command = [sys.executable, "-c", SCRIPT, str(tmp_path), stage]
        processes.append(subprocess.Popen(command, stderr=subprocess.PIPE, text=True))
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def wait_for(path, process):
    while not path.exists():
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.02)


@pytest.mark.parametrize("stage", ["before", "after"])
def test_a_kill_during_the_build_leaves_nothing_and_the_next_one_cleans_up(small, paused, tmp_path, stage):
    process = paused(stage)
    wait_for(tmp_path / stage, process)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert not small.prepared
    remains = [path for path in small.source.folder.parent.iterdir() if path.name.endswith(".part")]
    assert len(remains) == 1
    with pytest.raises(Unavailable, match=r"expected a prepared dataset in .*, received nothing there"):
        small.images([0])
    small.prepare(manual_dir=tmp_path / "own")
    assert np.array_equal(small.images(range(192)), IMAGES)
    assert sorted(path.name for path in small.source.folder.parent.iterdir()) == [".1.0.0.lock", "1.0.0"]


def test_what_another_version_has_begun_is_left_alone(tmp_path):
    own, other = (tmp_path / f".{version}.4711-ab.part" for version in ("1.0.1", "1.0.10"))
    own.mkdir()
    other.mkdir()
    with store.locked(tmp_path / "1.0.1"):
        assert (own.exists(), other.exists()) == (False, True)


def test_two_processes_do_the_work_once(small, paused, tmp_path):
    first = paused("before")
    wait_for(tmp_path / "before", first)
    second = paused("before")
    assert second.stderr.readline().startswith("another process is preparing")
    (tmp_path / "go").touch()
    for process in (first, second):
        assert process.wait() == 0
    assert (tmp_path / "before").read_text() == "here\n"
    assert np.array_equal(small.images(range(192)), IMAGES)


def test_the_record_of_a_prepared_dataset(prepared, tmp_path):
    meta = prepared.source.store().meta
    (source,) = meta["sources"]
    assert source["name"] == "mpi3d_toy.npz"
    assert source["origin"] == "the user's own copy"
    assert source["size"] == (tmp_path / "own" / "mpi3d_toy.npz").stat().st_size
    assert len(source["sha256"]) == 64
    assert (meta["id"], meta["version"], meta["rows"]) == ("mpi3d/toy", "1.0.0", 192)


def test_the_digest_is_recorded_and_a_changed_cache_is_found(prepared):
    digest = prepared.digest()
    assert prepared.source.store().meta["digest"] == {"pixels": digest.pixels, "factors": digest.factors}
    assert verify.verify(prepared)[0].problem == ""
    path = prepared.source.folder / "images.npy"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    (finding,) = verify.verify(prepared)
    assert finding.digest.pixels != digest.pixels
    assert "it was prepared with the quick digest {" in finding.problem
    assert digest.pixels in finding.problem


def test_another_version_has_another_place(prepared):
    other = dataclasses.replace(prepared.source, version="1.0.1")
    assert not other.ready
