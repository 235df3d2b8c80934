"""``offaxis data prepare``: what it prints, where it looks, how it fails."""

from __future__ import annotations

import dataclasses
import hashlib
import io

import numpy as np
import pytest

import benchmark_data
from baselines import program
from benchmark_data.archives import downloads
from benchmark_data.archives.archive import Distribution
from benchmark_data.dataset import Family
from benchmark_data.datasets import celeba, mpi3d
from benchmark_data.errors import Unavailable

IMAGES = np.random.default_rng(0).integers(0, 256, (32, 64, 64, 3), dtype=np.uint8)


@pytest.fixture
def command(monkeypatch, capsys):
    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["offaxis", "data", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            program.main()
        return (stopped.value.code, *capsys.readouterr())

    return run


@pytest.fixture
def npz():
    stream = io.BytesIO()
    np.savez(stream, images=IMAGES)
    return stream.getvalue()


@pytest.fixture
def small(shrink, server, npz, monkeypatch):
    """Put a small MPI3D in the place of the real one; its file is served by a server on loopback."""
    (distribution,) = mpi3d.DATASET.configs["toy"].source.distributions
    served = dataclasses.replace(distribution.files[0], urls=(server.add("mpi3d_toy.npz", npz),))
    dataset = shrink(mpi3d.DATASET.configs["toy"], (2, 2, 2, 1, 1, 2, 2))
    source = dataclasses.replace(dataset.source, distributions=(Distribution((served,), mpi3d.read),))
    dataset = dataclasses.replace(dataset, source=source)
    monkeypatch.setattr(mpi3d, "DATASET", Family(dataset, default="toy"))
    return dataset


def test_it_fetches_and_says_what_it_found(command, small, server, npz):
    code, out, _ = command("prepare", "mpi3d")
    assert code == 0
    assert "mpi3d/toy 1.0.0: 32 images, ready" in out
    assert str(small.source.folder) in out
    assert f"SHA-256 {hashlib.sha256(npz).hexdigest()}, http://127.0.0.1" in out
    assert f"this is not the published file: it has MD5 {hashlib.md5(npz).hexdigest()}" in out
    assert small.digest().pixels in out
    assert np.array_equal(benchmark_data.load("mpi3d").images(range(32)), IMAGES)
    command("prepare", "mpi3d/toy")
    assert len(server.served) == 1


def test_your_own_copies(command, small, server, npz, tmp_path):
    (tmp_path / "mpi3d_toy.npz").write_bytes(npz)
    code, out, _ = command("prepare", "mpi3d", "--manual-dir", tmp_path)
    assert code == 0
    assert "the user's own copy" in out
    assert server.served == []


@pytest.mark.parametrize("folder", ["~", "{home}"])
def test_your_own_copies_by_the_environment(folder, command, small, server, npz, tmp_path, monkeypatch):
    (tmp_path / "mpi3d_toy.npz").write_bytes(npz)
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("OFFAXIS_MANUAL_DIR", folder.format(home=tmp_path))
    assert command("prepare", "mpi3d")[0] == 0
    assert server.served == []


def test_downloads_can_be_discarded(command, small):
    assert command("prepare", "mpi3d", "--discard-downloads")[0] == 0
    assert list(small.source.download_folder.iterdir()) == []


def test_a_dead_mirror_is_one_line_and_exit_2(command, small, server):
    server.add("mpi3d_toy.npz", b"", status=404)
    code, out, err = command("prepare", "mpi3d")
    assert (code, out) == (2, "")
    last = err.strip().splitlines()[-1]
    md5 = "55889cb7c7dfc655d6e0277beee88868"
    assert last.startswith(f"error: mpi3d_toy.npz: expected a file, as published with MD5 {md5}, received from 127.0")
    assert "HTTP 404" in last
    assert "--manual-dir to offaxis data prepare, or in the variable OFFAXIS_MANUAL_DIR" in last


def test_a_stall_is_given_up_after_the_timeout(small, server, npz, monkeypatch):
    monkeypatch.setattr(downloads, "TIMEOUT", 0.2)
    server.add("mpi3d_toy.npz", npz, stall=60.0)
    with pytest.raises(Unavailable, match="a timeout"):
        small.prepare()


def test_a_rendered_dataset_is_always_ready(command):
    code, out, _ = command("prepare", "xysquares")
    assert code == 0
    assert "xysquares/spacing_8 1.0.0: 262,144 images, ready" in out


def test_info_names_files_hosts_and_their_health(command):
    code, out, _ = command("info", "celeba/64_bicubic_padded")
    assert code == 0
    flat = " ".join(out.split())
    assert celeba.ZIP.aliases == ("celeba.zip",)
    assert "img_align_celeba.zip from s3-us-west-1.amazonaws.com, then drive.usercontent.google.com" in flat
    assert "answers with a page when its quota is used up" in flat
