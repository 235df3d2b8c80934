import json
import struct
import zipfile

import numpy as np
import PIL.Image
import pytest

from benchmark_data.archives import containers, npz, picture_files, store
from benchmark_data.errors import DamagedFile


def npy_header(shape: str, descr: str = "'<f4'") -> bytes:
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header


ARRAYS = {"codes": npz.ArraySpec("f", (60, None))}


@pytest.mark.parametrize(
    ("member", "message"),
    [
        (npy_header("(60, 10**9)"), "npz file written by numpy"),
        (npy_header("(60, 1000000000)"), r"at most 128 MiB, received \d+ MiB"),
        (npy_header("(60, -5)"), "received float32 of shape"),
        (npy_header("(60, 2)") + b"\0" * 100, r"expected 480 bytes for float32 of shape \(60, 2\), received 100 bytes"),
        (npy_header("(60, 2)") + b"\0" * 600, "received 481 bytes"),
        (npy_header("(60, 2)", "'|O'") + b"\0" * 100, "received object of shape"),
        (npy_header("(60, 2)", "[('a', '|O')]"), "expected float of shape"),
        (npy_header("(60, 2)", "__import__('os')"), "npz file written by numpy"),
        (npy_header("(" * 2000), "npz file written by numpy"),
        (b"\x93NUMPY\x09\x00" + b"\0" * 100, r"npy version 1.0 or 2.0, received version \(9, 0\)"),
        (b"not an array", "npz file written by numpy"),
        (b"", "npz file written by numpy"),
    ],
)
def test_members_that_lie(tmp_path, member, message):
    path = tmp_path / "codes.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("codes.npy", member)
    with pytest.raises(DamagedFile, match=message):
        npz.read_named(path, ARRAYS)


def test_a_negative_length_is_not_read_to_the_end(tmp_path):
    path = tmp_path / "codes.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("codes.npy", npy_header("(60, -5)") + b"\0" * 100)
    with pytest.raises(DamagedFile, match=r"expected lengths of at least 0, received float32 of shape \(60, -5\)"):
        containers.npz_slabs(path, "codes")


@pytest.mark.parametrize("version", [(1, 0), (2, 0)])
def test_both_versions_that_numpy_writes_are_read(tmp_path, version):
    codes = np.arange(120, dtype=np.float32).reshape(60, 2)
    path = tmp_path / "codes.npz"
    with zipfile.ZipFile(path, "w") as archive, archive.open("codes.npy", "w") as member:
        np.lib.format.write_array(member, codes, version)
    assert np.array_equal(npz.read_named(path, ARRAYS)["codes"], codes)


def test_a_header_that_claims_more_than_the_file_holds(tmp_path):
    with zipfile.ZipFile(tmp_path / "codes.npz", "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("codes.npy", npy_header(f"({2**50}, 2)") + bytes(8))
    with npz.open_npz(tmp_path / "codes.npz") as archive, pytest.raises(DamagedFile):
        archive.array("codes")


def test_a_zip_bomb_is_not_inflated(tmp_path, monkeypatch):
    monkeypatch.setattr(npz, "LARGEST", 2**20)
    path = tmp_path / "codes.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("codes.npy", "w") as member:
        member.write(npy_header("(60, 4000)"))
        for _ in range(50):
            member.write(bytes(2**20))
    assert path.stat().st_size < 2**17
    with pytest.raises(DamagedFile, match=r"expected 960000 bytes .* received 960001 bytes"):
        npz.read_named(path, ARRAYS)


def test_what_is_compressed_is_sized_before_it_is_unpacked(tmp_path, monkeypatch):
    np.savez_compressed(tmp_path / "packed.npz", codes=np.zeros((1_000, 100)))
    np.savez(tmp_path / "plain.npz", codes=np.zeros((1_000, 100)))
    assert npz.read_all(tmp_path / "packed.npz")["codes"].shape == (1_000, 100)
    monkeypatch.setenv("OFFAXIS_MAX_MEMBER", "799_999")
    with pytest.raises(DamagedFile, match="codes takes 800,000 bytes unpacked, more than 799,999"):
        npz.read_all(tmp_path / "packed.npz")
    assert npz.read_all(tmp_path / "plain.npz")["codes"].shape == (1_000, 100)  # as large as its file


def test_files_that_are_no_npz(tmp_path):
    target = tmp_path / "real.npz"
    np.savez(target, codes=np.zeros((60, 2), np.float32))
    link = tmp_path / "link.npz"
    link.symlink_to(target)
    text = tmp_path / "text.npz"
    text.write_text(json.dumps({}))
    cut = tmp_path / "cut.npz"
    cut.write_bytes(target.read_bytes()[:-30])
    for path, message in [
        (link, "expected a regular file"),
        (text, "BadZipFile"),
        (cut, "BadZipFile"),
        (tmp_path / "absent.npz", "no such file"),
        (tmp_path, "expected a regular file"),
    ]:
        with pytest.raises(DamagedFile, match=message):
            npz.read_named(path, ARRAYS)
    with pytest.raises(DamagedFile, match=r"latents: expected an array of this name, received arrays \['codes'\]"):
        npz.read_named(target, {"latents": npz.ArraySpec("f", (None,))})


def test_big_endian_and_fortran_arrays_are_read_as_they_are_meant(tmp_path):
    codes = np.asfortranarray(np.arange(120, dtype=">f8").reshape(60, 2))
    np.savez(tmp_path / "codes.npz", codes=codes)
    found = npz.read_named(tmp_path / "codes.npz", ARRAYS)["codes"]
    assert found.dtype == np.float64
    assert np.array_equal(found, codes)


def test_a_machine_without_memory_has_no_damaged_file(tmp_path):
    np.savez(tmp_path / "a.npz", a=np.zeros(3))
    PIL.Image.new("L", (8, 8)).save(tmp_path / "a.png")
    for opened in (
        npz.open_npz(tmp_path / "a.npz"),
        containers.damaged_file_on_error(tmp_path / "a.npz"),
        picture_files.open_picture(tmp_path / "a.png"),
        store.open_image((tmp_path / "a.png").read_bytes(), "a.png"),
    ):
        with pytest.raises(MemoryError), opened:
            raise MemoryError


def test_a_whole_file_comes_back_as_numpy_wrote_it(tmp_path):
    arrays = {
        "text": np.array("{}"),
        "names": np.array(["a", "bcd"]),
        "empty": np.zeros((0, 3), np.float32),
        "long": np.tile(np.arange(1_000, dtype=np.float32), 5_000),
        "fortran": np.asfortranarray(np.arange(6).reshape(2, 3)),
    }
    for write in (np.savez, np.savez_compressed):
        write(tmp_path / "a.npz", **arrays)
        found = npz.read_all(tmp_path / "a.npz")
        assert list(found) == list(arrays)
        for name, array in arrays.items():
            assert found[name].dtype == array.dtype
            assert np.array_equal(found[name], array)
            assert found[name].flags.writeable


def test_an_object_is_never_read_however_large_the_file_may_be(tmp_path):
    np.savez(tmp_path / "a.npz", fine=np.zeros(3), bad=np.array([{}], dtype=object))
    with pytest.raises(DamagedFile, match="bad: expected numbers or text, without Python objects, received object"):
        npz.read_all(tmp_path / "a.npz")
    with npz.open_npz(tmp_path / "a.npz") as archive:
        assert archive.names == ("fine", "bad")
        assert archive.array("fine").tolist() == [0, 0, 0]


def test_arrays_that_nothing_reads_are_named(tmp_path):
    np.savez(tmp_path / "codes.npz", codes=np.zeros((60, 2)), index=np.arange(60))
    with pytest.warns(npz.UnknownMembers, match=r"codes\.npz: ignored 'index'; expected 'codes'"):
        npz.read_named(tmp_path / "codes.npz", {"codes": npz.ArraySpec("f", (60, None))})


@pytest.mark.parametrize(("count", "more"), [(5, ""), (6, " and 1 more")])
def test_five_arrays_that_nothing_reads_are_named_and_others_counted(tmp_path, count, more):
    np.savez(tmp_path / "codes.npz", codes=np.zeros(3), **{f"a{i}": np.zeros(1) for i in range(count)})
    with pytest.warns(npz.UnknownMembers, match=rf"ignored 'a0', 'a1', 'a2', 'a3', 'a4'{more}; expected 'codes'"):
        npz.read_named(tmp_path / "codes.npz", {"codes": npz.ArraySpec("f", (3,))})


def test_one_of_two_shapes(tmp_path):
    wanted = {"codes": npz.ArraySpec("f", (60, None), other_shape=(60, None, None))}
    for shape in ((60, 2), (60, 2, 3)):
        np.savez(tmp_path / "codes.npz", codes=np.zeros(shape))
        assert npz.read_named(tmp_path / "codes.npz", wanted)["codes"].shape == shape
    np.savez(tmp_path / "codes.npz", codes=np.zeros(60))
    with pytest.raises(DamagedFile, match=r"expected float of shape \(60, any\) or \(60, any, any\), received float64"):
        npz.read_named(tmp_path / "codes.npz", wanted)
