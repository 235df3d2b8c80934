"""``offaxis data selftest`` on small archives of the published form, which a server on loopback serves."""

from __future__ import annotations

import dataclasses
import io
import json

import numpy as np
import pytest

import benchmark_data
from baselines import program
from benchmark_data.archives.archive import Distribution
from benchmark_data.archives.checks import PublishedStatistics
from benchmark_data.commands import selftest
from benchmark_data.datasets import mpi3d
from benchmark_data.errors import InvalidInput, MissingExtra

IMAGES = np.random.default_rng(0).integers(0, 256, (32, 64, 64, 3), dtype=np.uint8)
NAMES = [
    *("fetch and prepare", "counts", "means and distances", "digest"),
    *("TensorFlow Datasets", "Hugging Face"),
]


@pytest.fixture
def archive(shrink, server):
    """Make a small MPI3D from pixels, under a name of its own; its file is served on loopback."""

    def make(images=IMAGES, statistics=None, status=200):
        stream = io.BytesIO()
        np.savez(stream, images=images)
        real = mpi3d.DATASET.configs["toy"]
        url = server.add("mpi3d_toy.npz", stream.getvalue(), status=status)
        dataset = shrink(real, (2, 2, 2, 1, 1, 2, 2), statistics=statistics)
        served = dataclasses.replace(real.source.distributions[0].files[0], urls=(url,))
        source = dataclasses.replace(dataset.source, distributions=(Distribution((served,), mpi3d.read),))
        return dataclasses.replace(dataset, name="tiny_selftest", config="", source=source)

    return make


@pytest.fixture
def without_builds(monkeypatch):
    """Leave out the two builds, as where their packages are missing."""

    def missing(*_):
        raise MissingExtra("benchmark_data.tfds", "tensorflow_datasets", "tfds")

    monkeypatch.setattr(selftest, "_tfds", missing)
    monkeypatch.setattr(selftest, "_hugging_face", missing)


def states(report):
    return {step.name: step.state for step in report.steps}


@pytest.mark.parametrize("redistributable", [True, False])
def test_a_good_file_passes_every_step(redistributable, archive, monkeypatch):
    pytest.importorskip("tensorflow_datasets")
    from benchmark_data import tfds

    pytest.importorskip("datasets")
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    dataset = archive()
    licence = dataset.license if redistributable else "research only"
    dataset = dataclasses.replace(
        dataset, name=f"tiny_selftest_{redistributable}".lower(), redistributable=redistributable, license=licence
    )
    tfds.builder_class(dataset)
    report = selftest.run(dataset)
    assert [(step.name, step.state) for step in report.steps] == [(name, "ok") for name in NAMES], report.steps
    assert report.digest == dataset.digest(full=True)
    found = {step.name: step.found for step in report.steps}
    assert "http://127.0.0.1" in found["fetch and prepare"]
    assert found["counts"].startswith("32 images of shape (64, 64, 3); object_color 2, ")
    assert found["digest"].endswith("no digest of the real file is known yet")
    assert "32 rows are equal" in found["TensorFlow Datasets"]
    assert ("32 rows are equal" in found["Hugging Face"]) == redistributable
    text = selftest.report([report])
    entry = json.loads("{" + text.partition("```json\n")[2].partition("\n```")[0] + "}")
    assert entry[dataset.id]["digest"] == dataset.digest(full=True)._asdict()


def test_an_unreachable_file_fails_and_leaves_the_rest_undone(archive):
    report = selftest.run(archive(status=404))
    assert states(report) == {NAMES[0]: "FAILED", **dict.fromkeys(NAMES[1:], "not run")}
    assert "HTTP 404" in report.steps[0].found
    text = selftest.report([report])
    assert "| fetch and prepare | FAILED |" in text
    assert "```json" not in text


def test_pixels_that_are_not_the_published_ones_fail(archive):
    """Uniform noise has a mean near 0.5, not 0.1."""
    report = selftest.run(archive(statistics=PublishedStatistics(means=(0.1, 0.1, 0.1))))
    assert states(report)[NAMES[0]] == "FAILED"
    assert "channel means of 0.1, 0.1, 0.1" in report.steps[0].found


def test_figures_are_shown_beside_the_published_ones(archive, without_builds):
    means = IMAGES.mean(axis=(0, 1, 2)) / 255
    report = selftest.run(archive(statistics=PublishedStatistics(means=tuple(means))))
    shown = ", ".join(f"{mean:.6f}" for mean in means)
    assert report.steps[2].found == f"means {shown} (published: {shown})"


def test_a_missing_package_is_no_failure_and_no_proof(archive, without_builds):
    report = selftest.run(archive())
    assert [step.state for step in report.steps] == ["ok"] * 4 + ["not run"] * 2
    assert "pip install 'offaxis[tfds]'" in report.steps[4].found
    assert "```json" not in selftest.report([report])


@pytest.mark.parametrize("same", [True, False])
def test_the_digest_is_compared_with_the_one_found_good(same, archive, without_builds, tmp_path, monkeypatch):
    dataset = archive()
    dataset.prepare()
    digest = dataset.digest(full=True)._asdict()
    entry = {
        "version": dataset.version,
        "date": "2027-01-02",
        "digest": digest if same else digest | {"pixels": "0" * 64},
    }
    (tmp_path / "verified.json").write_text(json.dumps({dataset.id: entry}))
    monkeypatch.setattr(selftest, "VERIFIED", tmp_path / "verified.json")
    step = selftest.run(dataset).steps[3]
    assert step.state == ("ok" if same else "FAILED")
    assert ("as on 2027-01-02" in step.found) == same
    assert ("expected the digest of 2027-01-02" in step.found) != same


def test_a_class_that_never_occurs_fails(tiny_family, without_builds):
    """Eleven images of the tiny family have the identities 0 to 7, 150 and 299, of 300."""
    report = selftest.run(tiny_family.configs["plus_1"])
    assert states(report)["counts"] == "FAILED"
    assert "expected 300 classes, received 10 that occur" in report.steps[1].found


def test_a_copy_that_differs_fails(archive, tmp_path, monkeypatch):
    pytest.importorskip("datasets")
    from benchmark_data import hf

    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    monkeypatch.setattr(selftest, "_tfds", lambda *_: "")
    publish = hf.publish

    def other(dataset, folder):
        source = benchmark_data.Derived(dataset, lambda images, rows, labels: 255 - images)
        publish(dataclasses.replace(dataset, source=source), folder)

    monkeypatch.setattr(hf, "publish", other)
    dataset = dataclasses.replace(archive(), name="tiny_selftest_other")
    step = selftest.run(dataset, folder=tmp_path).steps[5]
    assert step.state == "FAILED"
    assert "pixels differ, in row" in step.found
    assert list(tmp_path.glob("offaxis-selftest-*")) == []


def test_on_the_command_line(without_builds, tmp_path, monkeypatch, capsys):
    def command(*arguments):
        monkeypatch.setattr("sys.argv", ["offaxis", "data", "selftest", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            program.main()
        return stopped.value.code, capsys.readouterr()

    code, printed = command("xyobject/plain", "--out", tmp_path / "report.md")
    assert code == 0
    assert printed.out == (tmp_path / "report.md").read_text()
    assert "### xyobject/plain 1.0.0" in printed.out
    assert "| fetch and prepare | ok | 0 | rendered: there is nothing to fetch |" in printed.out
    assert f"numpy {np.__version__}" in printed.out
    code, printed = command("mpi3d/complex", "--manual-dir", tmp_path)  # no internet is needed to be refused
    assert code == 1
    assert "| fetch and prepare | FAILED |" in printed.out


def test_the_folder_must_be_there(tiny_family, tmp_path):
    with pytest.raises(InvalidInput, match="--work: expected an existing folder"):
        selftest.run(tiny_family.configs["plus_1"], folder=tmp_path / "none")


def test_what_was_found_good_names_datasets_of_today():
    for name, entry in selftest.known().items():
        assert benchmark_data.load(name).version == entry["version"]
        assert {len(value) for value in entry["digest"].values()} == {64}
