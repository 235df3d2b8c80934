"""croissant.json of published folders, read by the reference implementation, mlcroissant."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest

import benchmark_data
from benchmark_data.publish import card, croissant, datasheet

pytest.importorskip("datasets")
mlcroissant = pytest.importorskip("mlcroissant")

from benchmark_data import hf  # noqa: E402  after the check that datasets is there

pytestmark = [  # of what mlcroissant calls
    pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame.reset_index is deprecated"),
]

DAY = "1767225600"
"""The 1st of January 2026, in seconds since 1970."""


@pytest.fixture(scope="module")
def published(tiny_family, tmp_path_factory):
    """A folder with both configs of the family."""
    folder = tmp_path_factory.mktemp("published")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("benchmark_data.publish.card.is_default", lambda dataset: dataset.config == tiny_family.default)
        patch.setenv("SOURCE_DATE_EPOCH", DAY)
        for dataset in tiny_family.configs.values():
            hf.publish(dataset, folder)
    return folder


def content(folder):
    return json.loads((folder / card.CROISSANT).read_text(encoding="utf-8"))


def issues(dataset):
    return {*dataset.metadata.ctx.issues.errors, *dataset.metadata.ctx.issues.warnings}


def test_mlcroissant_reads_every_record_set(published, tiny_family):
    described = mlcroissant.Dataset(str(published / card.CROISSANT))
    assert issues(described) == set()
    names = [record_set.uuid for record_set in described.metadata.record_sets]
    assert names == ["splits", "plus_1", "plus_2"]
    assert [record["splits/name"] for record in described.records("splits")] == ["train", "test"]
    for config in names[1:]:
        dataset = tiny_family.configs[config]
        records = list(described.records(config))
        assert len(records) == 11
        assert {record[f"{config}/split"] for record in records} == {b"train", b"test"}
        for record in records:
            row = record[f"{config}/index"]
            assert np.array_equal(np.asarray(record[f"{config}/image"]), dataset.images([row])[0])
            for f, name in enumerate(dataset.space.names):
                assert record[f"{config}/label_{name}"] == dataset.labels([row])[0, f]
                assert record[f"{config}/value_{name}"] == np.float32(dataset.values([row])[0, f])
            for name in dataset.extras:
                expected = dataset.extra(name, [row])[0].astype(np.float32)
                assert np.array_equal(np.float32(record[f"{config}/extra_{name}"]), expected)


def test_mlcroissant_names_what_is_wrong(published):
    wrong = content(published)
    [files] = [entry for entry in wrong["distribution"] if entry["@id"] == "plus_1-parquet"]
    del files["includes"]
    with pytest.raises(mlcroissant.ValidationError, match=r"plus_1-parquet.*includes|includes.*plus_1-parquet"):
        mlcroissant.Dataset(wrong)


def test_every_file_is_listed_with_its_hash(published):
    listed = {entry["@id"]: entry for entry in content(published)["distribution"] if entry["@type"] == "cr:FileObject"}
    there = {path.relative_to(published).as_posix() for path in published.rglob("*") if path.is_file()}
    assert set(listed) == there - {"README.md", card.CROISSANT}
    for name, entry in listed.items():
        data = (published / name).read_bytes()
        assert (entry["sha256"], entry["contentSize"]) == (hashlib.sha256(data).hexdigest(), f"{len(data)} B")


def test_what_the_folder_says_of_itself(published):
    made = content(published)
    assert made["conformsTo"] == ["http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0"]
    assert made["license"] == ["https://spdx.org/licenses/Apache-2.0"]
    assert (made["version"], made["datePublished"], made["isLiveDataset"]) == ("2.0.1", "2026-01-01", False)
    assert made["rai:dataLimitations"] == ["Row 3 is blurred."]
    assert made["rai:personalSensitiveInformation"] == [datasheet.NOT_STATED]
    assert "rai:hasSyntheticData" not in made  # the family does not say whether a camera took its images


PUBLISHABLE = [name for name in benchmark_data.names() if benchmark_data.load(name).redistributable] + ["mpi3d/real"]


@pytest.mark.parametrize("name", PUBLISHABLE)
def test_every_publishable_dataset_can_be_described(name):
    dataset = benchmark_data.load(name)
    splits = [
        {"name": split, "rows": len(rows), "files": f"{card.config_name(dataset)}/{split}-*-of-00001.parquet"}
        for split, rows in dataset.splits.items()
    ]
    made = croissant.document([card.record(dataset, splits=splits, digests={}, published="2026-01-01")])
    assert issues(mlcroissant.Dataset(made)) == set()
    assert {"rai:dataLimitations", "rai:dataBiases", "rai:dataUseCases", "rai:dataSocialImpact"} <= set(made)
    assert made["rai:hasSyntheticData"] == (name != "mpi3d/real")  # photographs, says the paper
    assert made["rai:personalSensitiveInformation"] == ["None: no image and no label shows or describes a person."]
    assert made["creator"]
    assert made["url"].startswith("http")


def test_archives_are_credited_to_their_authors():
    def creators(name):
        dataset = benchmark_data.load(name)
        made = croissant.document([card.record(dataset, splits=[], digests={})])
        return [creator["name"] for creator in made["creator"]], made["prov:wasDerivedFrom"]["prov:label"]

    dsprites = ["Loic Matthey", "Irina Higgins", "Demis Hassabis", "Alexander Lerchner"]  # its README's citation
    assert creators("dsprites_archive") == (dsprites, "dsprites_archive")
    assert creators("dsprites")[0] == [*dsprites, "The Offaxis developers"]
    assert creators("sprites2d")[0] == ["The Offaxis developers"]
    assert creators("mpi3d")[0][1] == "Manuel Wüthrich"
