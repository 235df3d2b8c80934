"""From a published file on a server to images: mirrors, forms, the user's own copies, hostile containers."""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tokenize
import zipfile
from pathlib import Path

import numpy as np
import pytest

import benchmark_data
from benchmark_data.archives import containers
from benchmark_data.archives.archive import Archive, Distribution, Precomputed
from benchmark_data.archives.containers import hdf5_slabs, npz_slabs, tar_members, zip_members
from benchmark_data.datasets import dsprites_archive, mpi3d, symsol
from benchmark_data.errors import DamagedFile, InvalidInput, Unavailable, UnknownName

SIZES = (2, 2, 2, 1, 1, 2, 2)
IMAGES = np.random.default_rng(0).integers(0, 256, (32, 64, 64, 3), dtype=np.uint8)


def npz(images=IMAGES):
    stream = io.BytesIO()
    np.savez(stream, images=images)
    return stream.getvalue()


@pytest.fixture
def served(shrink, server):
    """Declare small MPI3Ds whose file is served, with its real hash, in one form for each given (name, content)."""

    def make(*contents, **behaviour):
        distributions = []
        for name, content in contents:
            download = dataclasses.replace(
                mpi3d.COMPLEX_DOWNLOAD,
                name=name,
                urls=(server.add(name, content, **behaviour),),
                size=len(content),
                sha256=hashlib.sha256(content).hexdigest(),
            )
            distributions.append(Distribution((download,), mpi3d.read))
        small = shrink(mpi3d.DATASET.configs["toy"], SIZES)
        return dataclasses.replace(small, source=dataclasses.replace(small.source, distributions=tuple(distributions)))

    return make


def test_from_the_server_to_images(served, server):
    small = served(("a.npz", npz()))
    assert not small.prepared
    small.prepare()
    assert small.prepared
    assert np.array_equal(small.images(range(32)), IMAGES)
    (source,) = small.source.store().meta["sources"]
    assert source["origin"].endswith("/a.npz")
    assert source["sha256"] == hashlib.sha256(npz()).hexdigest()
    assert (small.source.download_folder / "a.npz").is_file()


def test_downloads_need_not_be_kept(served):
    small = served(("a.npz", npz()))
    small.prepare(keep_downloads=False)
    assert list(small.source.download_folder.iterdir()) == []
    assert np.array_equal(small.images([3]), IMAGES[[3]])


def test_what_was_prepared_anew_is_read_anew(served):
    """A damaged cache, removed and prepared again as the message says, in the same process."""
    small = served(("a.npz", npz()))
    small.prepare()
    assert np.array_equal(small.images([3]), IMAGES[[3]])
    pixels = small.source.folder / "images.npy"
    pixels.write_bytes(pixels.read_bytes()[:-9] + bytes(9))
    shutil.rmtree(small.source.folder)
    small.prepare()
    assert np.array_equal(small.images(range(32)), IMAGES)


@pytest.mark.parametrize("make", [Path.mkdir, lambda folder: folder.symlink_to("a disk that is not there")])
def test_a_folder_that_is_not_whole_is_refused_before_the_download(served, server, make):
    small = served(("a.npz", npz()))
    small.source.folder.parent.mkdir(parents=True)
    make(small.source.folder)
    with pytest.raises(DamagedFile, match=r"received a folder without meta\.json\. Remove the folder and prepare"):
        small.prepare()
    assert not server.served


def test_a_broken_file_that_no_hash_tells_is_fetched_again(served, server):
    small = served(("a.npz", npz()[:-500]))
    (distribution,) = small.source.distributions
    (download,) = distribution.files
    unhashed = Distribution((dataclasses.replace(download, sha256="", size=None),), distribution.read)
    small = dataclasses.replace(small, source=dataclasses.replace(small.source, distributions=(unhashed,)))
    with pytest.raises(DamagedFile):
        small.prepare()
    assert (small.source.download_folder / "a.npz.refused").is_file()
    server.add("a.npz", npz())
    small.prepare()
    assert np.array_equal(small.images(range(32)), IMAGES)


def test_space_is_asked_for_what_is_still_to_come(served, monkeypatch):
    asked = []
    monkeypatch.setattr("benchmark_data.archives.store.require_space", lambda folder, needed: asked.append(needed))
    small = served(("a.npz", npz()))
    part = small.source.download_folder / "a.npz.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(npz()[:1000])
    small.prepare()
    assert asked == [len(npz()) - 1000 + IMAGES.size]


def test_the_users_own_copy_is_never_removed(served, tmp_path):
    small = served(("a.npz", npz()))
    (tmp_path / "a.npz").write_bytes(npz())
    small.prepare(manual_dir=tmp_path, keep_downloads=False)
    assert (tmp_path / "a.npz").is_file()


def test_another_form_is_asked_for_when_the_first_is_gone(served, server):
    small = served(("a.npz", npz()), ("b.npz", npz()))
    server.add("a.npz", b"gone", status=410)
    small.prepare()
    assert small.source.store().meta["sources"][0]["name"] == "b.npz"


def test_a_form_that_the_user_has_comes_first(served, server, tmp_path):
    small = served(("a.npz", npz()), ("b.npz", npz()))
    (tmp_path / "b.npz").write_bytes(npz())
    small.prepare(manual_dir=tmp_path)
    assert small.source.store().meta["sources"][0]["origin"] == "the user's own copy"
    assert server.served == []


def test_all_forms_are_named_when_all_are_gone(served, server):
    small = served(("a.npz", npz()), ("b.npz", npz()))
    server.add("a.npz", b"gone", status=410)
    server.add("b.npz", b"gone", status=503)
    message = (
        r"a.npz: expected .+, received from 127.0.0.1:\d+: HTTP 410 Gone. Try again later, or put your own copy of "
        r"a.npz in a folder .*--manual-dir.* b.npz: .*from 127.0.0.1:\d+: HTTP 503 Service Unavailable. "
    )
    with pytest.raises(Unavailable, match=message):
        small.prepare()
    assert not small.prepared


@pytest.mark.parametrize("folder", ["~/own", "own", "{home}/own"])
def test_the_environment_names_the_manual_folder(folder, served, server, tmp_path, monkeypatch):
    small = served(("a.npz", npz()))
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "a.npz").write_bytes(npz())
    monkeypatch.chdir(tmp_path)
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path))
    folder = folder.format(home=tmp_path)
    monkeypatch.setenv("OFFAXIS_MANUAL_DIR", folder)
    small.prepare()
    assert server.served == []


def test_the_manual_folder_that_is_given_comes_before_that_of_the_environment(served, server, tmp_path, monkeypatch):
    small = served(("a.npz", npz()))
    for name, content in (("given", npz()), ("environment", b"another file")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.npz").write_bytes(content)
    monkeypatch.setenv("OFFAXIS_MANUAL_DIR", str(tmp_path / "environment"))
    small.prepare(manual_dir=tmp_path / "given")
    assert server.served == []


def test_a_hash_of_an_earlier_upload_is_recorded_not_refused(shrink, server):
    small = shrink(mpi3d.DATASET.configs["toy"], SIZES)
    (distribution,) = mpi3d.DATASET.configs["toy"].source.distributions
    download = dataclasses.replace(distribution.files[0], urls=(server.add("toy.npz", npz()),))
    small = dataclasses.replace(
        small, source=dataclasses.replace(small.source, distributions=(Distribution((download,), mpi3d.read),))
    )
    small.prepare()
    (source,) = small.source.store().meta["sources"]
    assert source["difference"] == f"MD5 {hashlib.md5(npz()).hexdigest()}"


def test_an_unprepared_archive_says_what_to_do():
    for name in ("dsprites_archive", "celeba/64_bicubic_padded", "scream_dsprites"):
        dataset = benchmark_data.load(name)
        assert not dataset.prepared
        with pytest.raises(Unavailable, match=r"received nothing there. Run: offaxis data prepare \w+"):
            dataset.images([0])
    with pytest.raises(Unavailable, match="celeba/native: expected a prepared dataset in"):
        benchmark_data.load("celeba").labels([0])


def test_rendered_data_need_no_preparation():
    xysquares = benchmark_data.load("xysquares")
    assert xysquares.prepared
    xysquares.prepare()
    assert xysquares.extras == {}
    with pytest.raises(UnknownName, match="extra array of xysquares/spacing_8"):
        xysquares.extra("rotation", [0])


def test_an_extra_array_is_asked_for_by_name_and_rows():
    with pytest.raises(UnknownName, match=r"expected one of rotation, received 'rotations'. Did you mean"):
        symsol.NATIVE.extra("rotations", [0])
    with pytest.raises(InvalidInput, match=r"expected rows in \[0, 399999\]"):
        symsol.NATIVE.extra("rotation", [400_000])


def test_importing_the_datasets_loads_nothing_heavy():
    code = (
        "import sys, benchmark_data\n"
        "for name in benchmark_data.names(): benchmark_data.load(name)\n"
        "print(sorted({'h5py', 'requests', 'pooch', 'scipy', 'PIL', 'filelock'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def archives():
    for name in benchmark_data.names():
        for full_name in benchmark_data.configs(name):
            source = benchmark_data.load(full_name).source
            if isinstance(source, Archive | Precomputed):
                yield full_name, source


@pytest.mark.parametrize("name", [name for name, _ in archives()])
def test_declarations_agree_with_themselves(name):
    dataset = benchmark_data.load(name)
    source = dataset.source
    assert source.id == dataset.id
    assert source.version == dataset.version
    assert source.image_shape == dataset.image_shape
    assert len(source.space) == len(dataset.space)
    if source.statistics.means:
        assert len(source.statistics.means) == dataset.image_shape[2]
    grid = source.statistics.grid or dataset.space
    assert set(source.statistics.distances) - {"random pair"} <= set(grid.names)
    if isinstance(source, Archive):
        assert len(dataset.space) == source.rows
        if source.splits:
            assert dataset.splits == source.splits
            assert sum(len(rows) for rows in source.splits.values()) == source.rows
        for distribution in source.distributions:
            assert len({download.name for download in distribution.files}) == len(distribution.files)
            for download in distribution.files:
                assert download.urls
                assert download.note
                assert all(url.startswith(("https://", "http://")) for url in download.urls)
                assert len(download.sha256) in (0, 64)
                assert len(download.md5) in (0, 32)


def test_a_name_in_an_archive_cannot_reach_out_of_a_folder(tmp_path):
    """Members are read as streams: whatever they are called, nothing is written."""
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("../../escaped.txt", "x")
        archive.writestr("/etc/escaped.txt", "y")
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        info = tarfile.TarInfo("../escaped.txt")
        info.size = 1
        archive.addfile(info, io.BytesIO(b"z"))
    before = sorted(path.name for path in tmp_path.rglob("*"))
    assert [content for _, content in zip_members(tmp_path / "a.zip", lambda name: True)] == [b"x", b"y"]
    assert [content for _, content in tar_members(tmp_path / "a.tar", lambda name: True)] == [b"z"]
    assert sorted(path.name for path in tmp_path.rglob("*")) == before


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_a_link_in_a_tar_file_is_refused(tmp_path, kind):
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        info = tarfile.TarInfo("data.mat")
        info.type, info.linkname = kind, "/etc/passwd"
        archive.addfile(info)
    with pytest.raises(DamagedFile, match=r"expected data.mat to be a file, received a link or a device"):
        list(tar_members(tmp_path / "a.tar", lambda name: True))


def test_members_over_the_limit_are_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("OFFAXIS_MAX_MEMBER", "1_000_000")
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb.png", bytes(10_000_000))
    with pytest.raises(
        DamagedFile,
        match=r"bomb.png takes 10,000,000 bytes unpacked, more than 1,000,000\. .* set OFFAXIS_MAX_MEMBER",
    ):
        list(zip_members(tmp_path / "a.zip", lambda name: True))
    with tarfile.open(tmp_path / "a.tgz", "w:gz") as archive:
        info = tarfile.TarInfo("bomb.mat")
        info.size = 10_000_000
        archive.addfile(info, io.BytesIO(bytes(10_000_000)))
    with pytest.raises(
        DamagedFile,
        match=r"bomb.mat takes 10,000,000 bytes unpacked, more than 1,000,000\. .* set OFFAXIS_MAX_MEMBER",
    ):
        list(tar_members(tmp_path / "a.tgz", lambda name: True))


def test_arrays_are_sized_before_they_are_unpacked(tmp_path, monkeypatch):
    h5py = pytest.importorskip("h5py")
    np.savez_compressed(tmp_path / "a.npz", images=np.zeros((2, 1_000_001), np.uint8))
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("images", data=np.zeros((200, 10_001), np.uint8), chunks=(100, 1), compression="gzip")
        file.create_dataset("small", data=np.zeros((2, 3), np.uint8))
        file.create_dataset("padded", (2, 3), np.uint8, maxshape=(None, None), chunks=(2, 600_000), compression="gzip")
    monkeypatch.setenv("OFFAXIS_MAX_MEMBER", "1_000_000")
    assert containers.hdf5_slabs(tmp_path / "a.h5", "small").shape == (2, 3)
    with pytest.raises(DamagedFile, match=r"a chunk of rows of padded takes 1,200,000 bytes unpacked"):
        containers.hdf5_slabs(tmp_path / "a.h5", "padded")
    with pytest.raises(DamagedFile, match=r"a row of images takes 1,000,001 bytes unpacked"):
        list(containers.npz_slabs(tmp_path / "a.npz", "images").slabs)
    monkeypatch.setattr(containers, "SLAB", 1)
    with pytest.raises(DamagedFile, match=r"rows? of images takes 1,000,100 bytes unpacked"):
        containers.hdf5_slabs(tmp_path / "a.h5", "images")


@pytest.mark.parametrize("kind", ["virtual", "external", "scalar"])
def test_an_hdf5_array_that_is_none_or_has_its_numbers_elsewhere_is_refused(tmp_path, kind):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "elsewhere.h5", "w") as file:
        file["images"] = np.zeros((2, 3), np.uint8)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        if kind == "virtual":
            layout = h5py.VirtualLayout((2, 3), np.uint8)
            layout[:] = h5py.VirtualSource(str(tmp_path / "elsewhere.h5"), "images", (2, 3))
            file.create_virtual_dataset("images", layout)
        elif kind == "external":
            elsewhere = [(str(tmp_path / "elsewhere.h5"), 0, 6)]
            file.create_dataset("images", (2, 3), np.uint8, external=elsewhere)
        else:
            file["images"] = 7
    with pytest.raises(DamagedFile, match=r"a\.h5: expected an array images stored in this file, received <HDF5"):
        hdf5_slabs(tmp_path / "a.h5", "images")


def test_readers_raise_one_kind_of_error(tmp_path):
    """What zipfile, h5py and numpy raise of damaged bytes has more kinds than their pages list."""
    for kind in (RuntimeError, TypeError, tokenize.TokenError, AssertionError):
        message = f"a readable archive, received {kind.__name__}"
        with pytest.raises(DamagedFile, match=message), containers.damaged_file_on_error(tmp_path):
            raise kind("broken")


def test_a_tar_file_that_unpacks_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(containers, "TOTAL_LIMIT", 1_000_000)
    with tarfile.open(tmp_path / "a.tgz", "w:gz") as archive:
        for i in range(20):
            info = tarfile.TarInfo(f"{i}")
            info.size = 100_000
            archive.addfile(info, io.BytesIO(bytes(100_000)))
    with pytest.raises(DamagedFile, match="expected at most 1,000,000 bytes unpacked, received 1,100,000 or more"):
        list(tar_members(tmp_path / "a.tgz", lambda name: False))


def test_rubbish_is_named_as_such(tmp_path):
    path = tmp_path / "rubbish"
    path.write_bytes(gzip.compress(b"rubbish" * 1000))
    for read in (zip_members, tar_members):
        with pytest.raises(DamagedFile, match=r"rubbish: expected a readable archive, received"):
            list(read(path, lambda name: True))
    with pytest.raises(DamagedFile, match=r"rubbish: expected a readable archive"):
        npz_slabs(path, "images")
    with pytest.raises(DamagedFile, match=r"rubbish: expected a readable archive"):
        hdf5_slabs(path, "images")


@pytest.mark.parametrize("read", [npz_slabs, hdf5_slabs])
def test_slabs_are_bounded_and_follow_chunks(tmp_path, monkeypatch, read):
    import h5py

    monkeypatch.setattr(containers, "SLAB", 10 * 8)
    array = np.arange(103.0)
    np.savez(tmp_path / "npz", values=array)
    with h5py.File(tmp_path / "hdf5", "w") as file:
        file.create_dataset("values", data=array, chunks=(3,))
    path = tmp_path / ("npz.npz" if read is npz_slabs else "hdf5")
    slabs = list(read(path, "values").slabs)
    assert np.array_equal(np.concatenate([slab for _, slab in slabs]), array)
    assert [start for start, _ in slabs] == list(range(0, 103, 10 if read is npz_slabs else 9))


def test_dsprites_prefers_the_form_with_the_stronger_hash():
    first, second = dsprites_archive.ARCHIVE.distributions
    assert first.files[0].sha256
    assert not second.files[0].sha256
    assert second.files[0].md5


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs Linux's list of mapped files")
def test_no_file_is_mapped_when_the_prepared_folder_takes_its_name(tmp_path, monkeypatch):
    """Windows renames no folder that has a mapped file in it: a table of labels kept one open."""
    monkeypatch.setenv("OFFAXIS_CACHE", str(tmp_path))
    pixels = np.arange(4 * 8 * 8, dtype=np.uint8).reshape(4, 8, 8, 1)
    mine = benchmark_data.from_images("mine", pixels, {"x": [0, 1, 1, 2]})
    mapped = []

    def renamed(source, target, rename=os.replace):
        mapped.extend(line for line in Path("/proc/self/maps").read_text().splitlines() if str(source) in line)
        rename(source, target)

    monkeypatch.setattr("benchmark_data.files.os.replace", renamed)
    kept = Precomputed(
        id="mine_kept", version="1.0.0", image_shape=(8, 8, 1), base=mine, change=lambda images, rows, labels: images
    )
    kept.prepare()
    assert kept.ready
    assert mapped == []
    np.testing.assert_array_equal(kept.images(np.arange(4), mine.labels(range(4))), pixels)
    assert kept.label_table()[:, 0].tolist() == [0, 1, 1, 2]


def test_what_is_computed_asks_for_space_and_names_its_base(tmp_path, monkeypatch):
    monkeypatch.setenv("OFFAXIS_CACHE", str(tmp_path))
    asked = []
    monkeypatch.setattr("benchmark_data.archives.store.require_space", lambda folder, needed: asked.append(needed))
    mine = benchmark_data.from_images("mine", np.zeros((4, 8, 8, 1), np.uint8), {"x": [0, 1, 1, 2]})
    kept = Precomputed(
        id="mine_kept", version="2.0.0", image_shape=(8, 8, 1), base=mine, change=lambda images, rows, labels: images
    )
    kept.prepare()
    assert asked == [4 * 8 * 8]
    assert {"dataset": "mine", "version": mine.version} in json.loads((kept.folder / "meta.json").read_text())[
        "sources"
    ]
