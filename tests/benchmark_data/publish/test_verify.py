"""Copies of a dataset for numpy, TFDS and Hugging Face are equal, and a copy that is not is found out."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import benchmark_data
from benchmark_data import Factor, FactorSpace, FactorTable, Rendered
from benchmark_data.commands import data as cli
from benchmark_data.dataset import Digest
from benchmark_data.publish import records
from benchmark_data.publish.verify import Copy, Finding, _locate_rows, digest, verify
from benchmark_data.types import Source

pytest.importorskip("tensorflow_datasets")
pytest.importorskip("datasets")

from benchmark_data import hf, tfds


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)


@pytest.fixture(scope="module")
def corner():
    """A corner of XYSquares' grid: its own renderer on the first two values of every factor; 64 images."""
    space = FactorSpace(
        *(Factor(f.name, f.values[:2], f.kind, f.unit) for f in benchmark_data.load("xysquares").space.factors)
    )
    return dataclasses.replace(
        benchmark_data.load("xysquares/spacing_4"), name="tiny_corner", config="", space=space, splits={}
    )


@pytest.fixture(scope="module")
def copies(corner, tiny_family, tmp_path_factory):
    """Both kinds of copy of two datasets."""
    folder = tmp_path_factory.mktemp("copies")
    family = dataclasses.replace(tiny_family.configs["plus_1"], name="tiny_copied")
    for dataset in (corner, family):
        tfds.builder_class(dataset if dataset is corner else benchmark_data.Family(dataset, default="plus_1"))
        tfds.build(dataset, folder / "tfds")
        hf.publish(dataset, folder / dataset.name)
    return {
        "corner": (corner, [("tfds", folder / "tfds"), ("hf", folder / "tiny_corner")]),
        "family": (family, [("tfds", folder / "tfds"), ("hf", folder / "tiny_copied")]),
    }


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("name", ["corner", "family"])
def test_numpy_tfds_and_hugging_face_copies_are_equal(name, full, copies):
    dataset, places = copies[name]
    counted = []
    findings = verify(dataset, places, full=full, progress=counted.append)
    assert [(f.copy.split()[0], f.problem) for f in findings] == [("numpy", ""), ("tfds", ""), ("hf", "")]
    assert {f.digest for f in findings} == {dataset.digest(full=full)}
    assert sum(counted) == 3 * len(dataset)


def test_digests_from_worker_processes_are_the_datasets_own(monkeypatch):
    monkeypatch.setattr("joblib.cpu_count", lambda: 2)
    dataset = benchmark_data.load("xysquares")
    rows = range(9_000)
    part = dataclasses.replace(
        dataset,
        name="tiny_part",
        space=FactorTable(*dataset.space.factors, rows=9_000, read=lambda: dataset.space.labels(rows)),
        splits={},
    )
    assert digest(part, full=True) == part.digest(full=True)
    assert digest(dataset) == dataset.digest()


@pytest.mark.parametrize(("what", "told"), [("pixels", "pixels differ"), ("factors", "column factors differs")])
def test_a_changed_row_is_found_in_both_copies(what, told, corner, copies):
    dataset, places = copies["corner"]
    hit = 37

    if what == "pixels":

        def change(labels):
            images = corner.source.render(labels)
            images[corner.space.index(labels) == hit, 3, 3, 1] ^= 1
            return images

        changed = dataclasses.replace(dataset, source=Rendered(change))
    else:
        table = dataset.space.labels(range(64))
        table[hit] = table[0]
        render = corner.source.render
        truth = dataset.space
        changed = dataclasses.replace(
            dataset,
            space=FactorTable(*dataset.space.factors, rows=64, read=lambda: table),
            source=ByRow(lambda rows: render(truth.labels(rows))),
        )
    for full in (False, True):
        problems = [finding.problem for finding in verify(changed, places, full=full)]
        assert problems == ["", *[f"{told}, in row {hit} and perhaps in others"] * 2]


@dataclasses.dataclass(frozen=True)
class ByRow(Source):
    """A source that looks at rows, not at labels."""

    render: object

    def images(self, indices, labels):
        return self.render(indices)


@pytest.mark.parametrize("kind", ["tfds", "hf"])
def test_rows_out_of_order_are_found(kind, corner, tmp_path, monkeypatch, request):
    true_batches = records.batches

    def shifted(dataset, rows):
        for batch in true_batches(dataset, rows):
            yield batch._replace(rows=batch.rows + 1)

    monkeypatch.setattr(records, "batches", shifted)
    wrong = dataclasses.replace(corner, name=f"tiny_shifted_{kind}")
    make(kind, wrong, tmp_path)
    monkeypatch.undo()
    [_, finding] = verify(wrong, [(kind, tmp_path)])
    assert finding.digest is None
    assert "received row" in finding.problem


@pytest.mark.parametrize("kind", ["tfds", "hf"])
def test_wrong_values_and_wrong_names_are_found(kind, corner, tmp_path):
    made = dataclasses.replace(corner, name=f"tiny_wrong_{kind}")
    make(kind, made, tmp_path)
    first, *others = made.space.factors
    values = Factor(first.name, (0, 7), first.kind, first.unit, first.labels)
    names = Factor(first.name, first.values, first.kind, first.unit, ("left", "right"))
    renamed = dataclasses.replace(first, name="other")
    for factor, message in (
        (renamed, f"label_other of {kind} {tmp_path}: expected 0, 1, received no such column."),
        (values, f"column value_{first.name} differs, in row 48 and perhaps in others"),
        (names, "expected left, right, received 0, 1"),
    ):
        changed = dataclasses.replace(made, space=FactorSpace(factor, *others))
        assert message in verify(changed, [(kind, tmp_path)])[1].problem


def make(kind, dataset, folder):
    if kind == "hf":
        hf.publish(dataset, folder)
    else:
        tfds.builder_class(dataset)
        tfds.build(dataset, folder)


@pytest.mark.parametrize("kind", ["tfds", "hf"])
def test_no_copy(kind, corner, tmp_path):
    problem = verify(corner, [(kind, tmp_path)])[1].problem
    assert re.search(rf"a complete copy of tiny_corner, received none.*offaxis data .* --to {tmp_path}", problem)


def test_a_copy_that_lost_files(copies, tmp_path):
    dataset, [(_, built), (_, published)] = copies["corner"]
    shutil.copytree(built, tmp_path / "tfds")
    next((tmp_path / "tfds").rglob("*tiny_corner-train*")).unlink()
    problem = verify(dataset, [("tfds", tmp_path / "tfds")])[1].problem
    assert "files that can be read, received RuntimeError" in problem
    shutil.rmtree(re.search(r"Remove (\S+) and make the copy again\.", problem)[1])
    tfds.build(dataset, tmp_path / "tfds")
    assert not verify(dataset, [("tfds", tmp_path / "tfds")])[1].problem
    shutil.copytree(published, tmp_path / "hf")
    next((tmp_path / "hf").rglob("train*.parquet")).unlink()
    assert "a complete copy" in verify(dataset, [("hf", tmp_path / "hf")])[1].problem


def test_a_copy_with_damaged_bytes(copies, tmp_path):
    dataset, [(_, built), (_, published)] = copies["corner"]
    for kind, source, pattern in (("tfds", built, "*tiny_corner-train*"), ("hf", published, "train*.parquet")):
        shutil.copytree(source, tmp_path / kind)
        path = next((tmp_path / kind).rglob(pattern))
        content = bytearray(path.read_bytes())
        content[1_000:2_000] = bytes(1_000)
        path.write_bytes(content)
        finding = verify(dataset, [(kind, tmp_path / kind)], full=True)[1]
        assert finding.problem, "a thousand bytes were lost"


def test_a_copy_is_sized_before_it_is_unpacked(copies, monkeypatch):
    dataset, [_, (_, published)] = copies["corner"]
    monkeypatch.setenv("OFFAXIS_MAX_MEMBER", "100")
    problem = verify(dataset, [("hf", published)])[1].problem
    assert re.search(r"a row group of train takes [\d,]+ bytes unpacked, more than 100\.", problem)


@pytest.mark.parametrize("file_format", ["tfrecord", "parquet"])
def test_copies_that_cannot_be_read_at_random(file_format, corner, tmp_path):
    """They are whole: it is `verify` that cannot read them."""
    dataset = dataclasses.replace(corner, name=f"tiny_{file_format}")
    tfds.builder_class(dataset)(data_dir=tmp_path, file_format=file_format).download_and_prepare()
    problem = verify(dataset, [("tfds", tmp_path)])[1].problem
    assert f"array_record files, which can be read at random, received {file_format}" in problem
    assert "Remove them, and build" in problem


def test_a_row_in_no_split(corner, tmp_path):
    dataset = dataclasses.replace(corner, name="tiny_gap", splits={"train": range(60)})
    hf.publish(dataset, tmp_path)
    assert "every row in a split, received 4 in none" in verify(dataset, [("hf", tmp_path)], full=True)[1].problem


def test_rows_are_located_without_a_list_of_all():
    """A list of a split's rows for every 256 rows took 50 ms each, minutes for a dataset of a million images."""
    halves = types.SimpleNamespace(splits={"test": range(1, 2**50, 2), "train": range(0, 2**50, 2)})
    located = _locate_rows(halves, np.array([0, 5, 6, 2**49]), Copy("hf", Path("copy")))
    assert [(split, *map(np.ndarray.tolist, found)) for split, *found in located] == [
        ("test", [2], [5]),
        ("train", [0, 3, 2**48], [0, 6, 2**49]),
    ]


@pytest.mark.parametrize(("kind", "package"), [("tfds", "tensorflow_datasets"), ("hf", "datasets")])
def test_missing_package(kind, package, corner, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    assert f"pip install 'offaxis[{kind}]'" in verify(corner, [(kind, tmp_path)])[1].problem


@pytest.fixture
def small_xysquares(monkeypatch, corner):
    """XYSquares cut to a corner of its grid, under its own name."""
    from benchmark_data.datasets import xysquares

    family = benchmark_data.Family(
        *(
            dataclasses.replace(d, space=corner.space, splits={})
            for d in xysquares.DATASET.configs.values()
            if d.config in ("spacing_4", "spacing_8")
        ),
        default="spacing_8",
    )
    monkeypatch.setattr(xysquares, "DATASET", family)
    monkeypatch.setattr(tfds.offaxis_xysquares, "declared", family)


def test_commands(small_xysquares, tmp_path):
    def run(*arguments):
        return CliRunner().invoke(cli.app, [*map(str, arguments)])

    built = run("build", "xysquares/spacing_4", "--to", tmp_path / "tfds")
    assert built.exit_code == 0, built.output
    assert (tmp_path / "tfds/offaxis_xysquares/spacing_4/1.0.0/dataset_info.json").is_file()
    published = run("publish", "xysquares/spacing_4", "xysquares/spacing_8", "--to", tmp_path / "hf")
    assert published.exit_code == 0, published.output
    assert {path.parent.name for path in (tmp_path / "hf").rglob("offaxis.json")} == {"spacing_4", "spacing_8"}
    copies = ("--tfds", tmp_path / "tfds", "--hf", tmp_path / "hf")
    good = run("verify", "xysquares/spacing_4", *copies, "--full")
    assert good.exit_code == 0, good.output
    assert good.output.count("ok") == 3
    record = tmp_path / "hf/spacing_4/train-00000-of-00001.parquet"
    shutil.copy(tmp_path / "hf/spacing_8/train-00000-of-00001.parquet", record)
    bad = run("verify", "xysquares/spacing_4", *copies)
    assert bad.exit_code == 1
    assert "pixels differ" in bad.output.replace("\n", " ")
    (line,) = (line for line in bad.output.splitlines() if "pixels differ" in line)  # whole, however narrow the table
    assert line.startswith(f"xysquares/spacing_4, hf {tmp_path / 'hf'}: pixels differ, in row ")


def test_configs_can_be_told_apart_in_80_columns(tmp_path, monkeypatch):
    """Their names, 31 letters long, were cut to the same 15; so were the folders."""
    monkeypatch.setattr(cli.out, "width", 80)
    names = [f"dsprites_perturbed/{kind}_eps{epsilon}" for kind in ("pca32", "conv32") for epsilon in ("05", "10")]
    problem = "expected a complete copy, received [none]. Make one with: offaxis data publish"
    found = [Finding("numpy", Digest("0123456789abcdef" * 4, "f" * 64), ""), Finding(f"hf {tmp_path}", None, problem)]
    monkeypatch.setattr("benchmark_data.publish.verify.verify", lambda *arguments, **options: found)
    monkeypatch.setattr("benchmark_data.publish.verify.count_rows", lambda *arguments, **options: 1)
    result = CliRunner().invoke(cli.app, ["verify", *names, "--hf", str(tmp_path)])
    table, _, below = result.stdout.partition("\ndsprites_perturbed/pca32_eps05, ")
    assert all(len(line) <= 80 for line in table.splitlines())
    firsts = [line.split()[0] for line in table.splitlines() if line.startswith("dsprites")]
    assert firsts == [name for name in names for _ in found]
    assert [line.split()[-1] for line in table.splitlines() if line.startswith("dsprites")] == ["ok", "wrong"] * 4
    assert below.splitlines()[0] == f"hf {tmp_path}: {problem}"
    assert result.exit_code == 1


def test_the_bar_is_as_long_as_all_rows_of_the_dataset_and_its_copies(tmp_path, monkeypatch):
    monkeypatch.setattr("benchmark_data.publish.verify.verify", lambda *arguments, **options: [])
    result = CliRunner().invoke(cli.app, ["verify", "xysquares/spacing_4", "--hf", str(tmp_path), "--full"])
    assert f"0/{2 * 8**6}" in result.stderr


def test_commands_refuse_what_they_do_not_know(tmp_path):
    for arguments in (("publish", "xysquares/spacing_44"), ("publish", "xysquare")):
        result = CliRunner().invoke(cli.app, [*arguments, "--to", str(tmp_path)])
        assert "Did you mean" in str(result.exception)


def test_json_of_a_published_config_names_the_digests(copies):
    dataset, [_, (_, published)] = copies["corner"]
    made = json.loads((published / "default/offaxis.json").read_text())
    assert made["digests"] == {"quick": dataset.digest()._asdict(), "full": dataset.digest(full=True)._asdict()}


def test_publish_looks_at_every_licence_before_it_writes(tmp_path):
    result = CliRunner().invoke(cli.app, ["publish", "cars3d", "--to", str(tmp_path / "never")])
    assert "a licence that permits redistribution" in str(result.exception)
    result = CliRunner().invoke(cli.app, ["publish", "xysquares", "solids", "--to", str(tmp_path / "never")])
    assert "never: expected configs of one dataset, received xysquares, solids" in str(result.exception)
    assert not (tmp_path / "never").exists()


def test_readers_are_imported_before_progress_is_shown():
    """While TFDS is imported, the thread that shows progress could import nothing, and ended with a traceback."""
    code = "import sys; from benchmark_data.publish.verify import check_readable; check_readable('tfds'); "
    code += "sys.exit('tensorflow_datasets' not in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
