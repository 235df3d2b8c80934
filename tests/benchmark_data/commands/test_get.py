"""``offaxis data get``: pictures and a table for people without any framework."""

from __future__ import annotations

import csv
import hashlib

import numpy as np
import PIL.Image
import pytest

import benchmark_data
from baselines import program
from benchmark_data import parallel
from benchmark_data.errors import InvalidInput
from benchmark_data.publish import pictures


def contents(folder):
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_pictures_and_table_are_the_datasets(tmp_path, monkeypatch, capsys):
    arguments = ["get", "xyobject/shaded", "--split", "train[10:15]+train[-2:]", "--to", str(tmp_path / "got")]
    monkeypatch.setattr("sys.argv", ["offaxis", "data", *arguments])
    with pytest.raises(SystemExit) as stopped:
        program.main()
    assert stopped.value.code == 0
    assert "metadata.csv: 7 images" in capsys.readouterr().out
    dataset = benchmark_data.load("xyobject/shaded")
    rows = [10, 11, 12, 13, 14, 74_998, 74_999]
    with (tmp_path / "got/metadata.csv").open(newline="") as file:
        table = list(csv.DictReader(file))
    assert [int(line["index"]) for line in table] == rows
    for line, image, labels, values in zip(
        table, dataset.images(rows), dataset.labels(rows), dataset.values(rows), strict=True
    ):
        with PIL.Image.open(tmp_path / "got" / line["file_name"]) as picture:
            assert np.array_equal(np.asarray(picture), image)
        for name, label, value in zip(dataset.space.names, labels, values, strict=True):
            assert (int(line[f"label_{name}"]), float(line[f"value_{name}"])) == (label, value)
    assert table[-1]["file_name"] == "images/7/74999.png"


def test_grey_pictures_are_grey(tiny_grid, tmp_path):
    pictures.write(tiny_grid, range(12), tmp_path)
    with PIL.Image.open(tmp_path / "images/0/03.png") as picture:
        assert picture.mode == "L"
        assert np.array_equal(np.asarray(picture), tiny_grid.images([3])[0, :, :, 0])


def test_without_joblib_the_same_is_written_in_one_process(tiny_grid, tmp_path, monkeypatch):
    monkeypatch.setattr(pictures, "CHUNK", 5)
    pictures.write(tiny_grid, range(12), tmp_path / "many")
    monkeypatch.setattr(parallel, "joblib", None)
    pictures.write(tiny_grid, range(12), tmp_path / "one")
    assert contents(tmp_path / "one") == contents(tmp_path / "many")
    assert len(contents(tmp_path / "one")) == 12 + 2


@pytest.mark.parametrize("harm", ["missing", "cut", "no table", "killed"])
def test_the_same_command_goes_on_where_it_was_interrupted(harm, tiny_grid, tmp_path):
    table = pictures.write(tiny_grid, range(12), tmp_path)
    before = contents(tmp_path)
    hit = tmp_path / "images/0/05.png"
    kept = (tmp_path / "images/0/06.png").stat().st_mtime_ns
    if harm == "missing":
        hit.unlink()
    elif harm == "cut":
        hit.write_bytes(hit.read_bytes()[:-1])
    elif harm == "killed":  # files that a dead process was writing
        (hit.parent / f".{hit.name}.17.part").write_bytes(hit.read_bytes()[:-1])
        (tmp_path / ".metadata.csv.17-0123abcd.part").write_text("file_name")
    table.unlink()
    counted = []
    assert pictures.write(tiny_grid, range(12), tmp_path, progress=counted.append) == table
    assert contents(tmp_path) == before
    assert (tmp_path / "images/0/06.png").stat().st_mtime_ns == kept
    assert sum(counted) == 12


def test_a_folder_of_something_else_is_refused(tiny_grid, tmp_path):
    pictures.write(tiny_grid, range(3), tmp_path / "got", split="train[:3]")
    with pytest.raises(InvalidInput, match=r"received tiny_grid 1\.2\.3, split train\[:3\]"):
        pictures.write(tiny_grid, range(4), tmp_path / "got", split="train[:4]")
    (tmp_path / "own").mkdir()
    (tmp_path / "own/thesis.tex").write_text("")
    with pytest.raises(InvalidInput, match=r"an empty folder, or one with images of the same dataset .* other files"):
        pictures.write(tiny_grid, range(3), tmp_path / "own")


@pytest.mark.parametrize("record", ['{"id": "tiny_grid", "version": "1.2.3"}', "[]", '{"version": "1.2.3"}'])
def test_a_folder_with_another_record_is_refused(record, tiny_grid, tmp_path):
    """Each config's folder of `offaxis data publish` has an offaxis.json of its own kind."""
    (tmp_path / "offaxis.json").write_text(record)
    with pytest.raises(InvalidInput, match=r"an empty folder, or one with images of the same dataset .* other files"):
        pictures.write(tiny_grid, range(3), tmp_path)


def test_a_full_disk_is_said_and_leaves_no_table(tiny_grid, tmp_path, monkeypatch):
    def full(path, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(parallel, "joblib", None)
    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    with pytest.raises(InvalidInput, match="No space left on device"):
        pictures.write(tiny_grid, range(12), tmp_path / "got")
    assert sorted(path.name for path in (tmp_path / "got").rglob("*") if path.is_file()) == ["offaxis.json"]
