"""Hugging Face: loading, and published folders, which are read back with stock ``datasets``."""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import inspect
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import benchmark_data
from benchmark_data import DamagedFile, Factor, FactorSpace, Rendered, reading
from benchmark_data.dataset import Dataset
from benchmark_data.errors import InvalidInput, MissingExtra, UnknownName
from benchmark_data.publish import card, verify
from benchmark_data.types import Extra, Source

datasets = pytest.importorskip("datasets")
pq = pytest.importorskip("pyarrow.parquet")
yaml = pytest.importorskip("yaml")

from benchmark_data import hf  # noqa: E402  after the check that datasets is there


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    """Let a look-up on the Hub fail instead of reaching out."""
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)


@pytest.fixture(autouse=True, scope="module")
def one_day():
    """Publish on the 1st of January 2026, whenever the tests run: 1767225600 s after 1970."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOURCE_DATE_EPOCH", "1767225600")
        yield


@pytest.fixture(scope="module")
def published(tiny_family, tmp_path_factory):
    """A folder with both configs of the family."""
    folder = tmp_path_factory.mktemp("published")
    with pytest.MonkeyPatch.context() as patch:  # the family is in no file that could be asked for its default
        patch.setattr("benchmark_data.publish.card.is_default", lambda dataset: dataset.config == tiny_family.default)
        for dataset in tiny_family.configs.values():
            hf.publish(dataset, folder)
    return folder


def hashes(folder):
    return {
        str(path.relative_to(folder)): (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file()
    }


def check(records, dataset, rows):
    """Compare records with rows of the dataset, pixel by pixel and factor by factor."""
    records = list(records)
    assert len(records) == len(rows)
    values = dataset.values(rows).astype(np.float32)
    for record, row, image, label, value in zip(
        records, rows, dataset.images(rows), dataset.labels(rows), values, strict=True
    ):
        assert record["index"] == row
        assert np.array_equal(np.asarray(record["image"]).reshape(image.shape), image)
        for f, name in enumerate(dataset.space.names):
            assert record[f"label_{name}"] == label[f]
            assert record[f"value_{name}"] == value[f]
        for name in dataset.extras:
            assert np.array_equal(np.float32(record[f"extra_{name}"]), dataset.extra(name, [row])[0].astype(np.float32))


@pytest.mark.parametrize("split", ["train", "test", "train[2:4]+test[-1:]"])
def test_records_are_the_datasets_rows(split, tiny_family):
    dataset = tiny_family.configs["plus_1"]
    data = hf.as_dataset(dataset, split=split)
    assert isinstance(data, datasets.Dataset)
    check(data, dataset, reading.rows_of(dataset, split))
    assert data.features["label_smiling"].names == ["no", "yes"]
    streamed = data.with_format("numpy").to_iterable_dataset()
    check(streamed.skip(1).take(1), dataset, reading.rows_of(dataset, split)[1:2])


def test_loading_by_name():
    name = "xysquares/spacing_4"
    check(hf.as_dataset(name, split="train[:3]"), benchmark_data.load(name), [0, 1, 2])


def test_any_image_that_is_corrected_is_read_and_published_anew(tmp_path):
    """Also one that the quick digest does not look at, in the array that was given before."""
    pixels = np.random.default_rng(0).integers(0, 256, (1100, 4, 4, 1), np.uint8)
    mine = dataclasses.replace(benchmark_data.from_images("mine", pixels), redistributable=True, license="MIT")
    row = min(set(range(1100)) - set(mine.quick_rows().tolist()))
    for _ in range(2):
        np.testing.assert_array_equal(hf.as_dataset(mine)[row]["image"], pixels[row])
        hf.publish(mine, tmp_path)
        assert [finding.problem for finding in verify.verify(mine, [("hf", tmp_path)], full=True)] == ["", ""]
        pixels[row] = 255 - pixels[row]


@dataclasses.dataclass(frozen=True)
class Turned(Source):
    """Black images that come with an angle each."""

    angles: np.ndarray

    extras: ClassVar = {"angle": Extra((), "float32", "angle")}

    def images(self, indices, labels):
        return np.zeros((len(indices), 4, 4, 1), np.uint8)

    def extra(self, name, indices):
        return self.angles[indices]


def test_extras_that_are_corrected_are_published_anew(tmp_path):
    mine = benchmark_data.from_images("mine", np.zeros((9, 4, 4, 1), np.uint8))
    for angles in (np.zeros(9, np.float32), np.arange(9, dtype=np.float32)):
        changed = dataclasses.replace(mine, source=Turned(angles), redistributable=True, license="MIT")
        hf.publish(changed, tmp_path)
    rows = datasets.load_dataset(str(tmp_path), cache_dir=str(tmp_path / "cache"), split="train")
    assert rows["extra_angle"][:] == angles.tolist()


@pytest.mark.parametrize("name", ["a[b]", "a::b"])
def test_a_folder_that_would_be_a_pattern_is_refused(tiny_grid, tmp_path, name):
    with pytest.raises(InvalidInput, match=r"expected a path without \*, \?, \[ and ::, which `datasets` reads as"):
        hf.publish(tiny_grid, tmp_path / name)


def test_a_home_folder_is_found_where_no_shell_replaces_its_name(tiny_grid, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    hf.publish(tiny_grid, "~/hub")
    assert (tmp_path / "hub" / "README.md").is_file()
    assert [found.problem for found in verify.verify(tiny_grid, [("hf", Path("~/hub"))])] == ["", ""]


@pytest.mark.parametrize("changes", [{"version": "1.0.1"}, {"splits": {"train": range(5), "test": range(5, 8)}}])
def test_no_card_describes_a_publication_that_broke_off(changes, tmp_path, monkeypatch):
    """Another version over the first: what is written then is not what the first one's card and digests say.

    So it is where one shard of several changes.
    """
    mine = benchmark_data.from_images("mine", np.zeros((9, 4, 4, 1), np.uint8))
    splits = {"train": range(5), "test": range(5, 9)}
    mine = dataclasses.replace(mine, redistributable=True, license="MIT", splits=splits)
    changed = dataclasses.replace(mine, **changes)
    monkeypatch.setattr("benchmark_data.parallel.joblib.cpu_count", lambda: 1)  # no workers to be started
    hf.publish(mine, tmp_path)
    before = (tmp_path / "README.md").read_text()
    with monkeypatch.context() as patch:
        patch.setattr("benchmark_data.hf._write_shard", broken)
        with pytest.raises(KeyboardInterrupt):
            hf.publish(changed, tmp_path)
    assert not list(tmp_path.rglob("README.md")) + list(tmp_path.rglob(card.RECORD))
    hf.publish(changed, tmp_path)
    assert (tmp_path / "README.md").read_text() not in ("", before)


def broken(*arguments):
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("name", "split", "message"),
    [
        ("xysquares/spacing_44", "train", "config of xysquares: .* Did you mean 'spacing_4'"),
        ("xysquare", "train", "dataset: .* Did you mean 'xysquares'"),
        ("xysquares", "trian", "split of xysquares/spacing_8: expected one of train, received 'trian'.* 'train'"),
        ("xysquares", "train[:1%]+tset", "received 'tset'"),
    ],
)
def test_wrong_names(name, split, message):
    with pytest.raises(UnknownName, match=message):
        hf.as_dataset(name, split=split)


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("config", ["plus_1", "plus_2"])
def test_a_published_folder_loads_without_our_code(config, streaming, published, tiny_family, tmp_path):
    dataset = tiny_family.configs[config]
    loaded = datasets.load_dataset(str(published), config, streaming=streaming, cache_dir=tmp_path)
    assert set(loaded) == {"train", "test"}
    for split, rows in dataset.splits.items():
        check(loaded[split], dataset, rows)
        assert loaded[split].features == hf.features(dataset)


def test_the_default_config_needs_no_name(published, tiny_family, tmp_path):
    loaded = datasets.load_dataset(str(published), split="test", cache_dir=tmp_path)
    check(loaded, tiny_family.configs["plus_2"], range(8, 11))


def test_the_default_is_the_familys():
    defaults = [name for name in benchmark_data.configs("xysquares") if card.is_default(benchmark_data.load(name))]
    assert defaults == ["xysquares/spacing_8"]


def test_a_dataset_without_configs(tiny_grid, tmp_path):
    hf.publish(tiny_grid, tmp_path / "published")
    check(datasets.load_dataset(str(tmp_path / "published"), split="train", cache_dir=tmp_path), tiny_grid, range(12))


def test_folders_of_one_name_are_not_taken_for_each_other(tmp_path):
    for value, folder in ((1, "cats/hub"), (2, "dogs/hub"), (3, "dogs/hub")):
        own = benchmark_data.from_images("own", np.full((4, 8, 8, 1), value, np.uint8))
        hf.publish(dataclasses.replace(own, redistributable=True, license="MIT"), tmp_path / folder)
        loaded = datasets.load_dataset(str(tmp_path / folder), split="train", cache_dir=tmp_path / "cache")
        assert np.asarray(loaded[0]["image"]).max() == value


def test_parquet_bears_the_features(published, tiny_family):
    [path] = (published / "plus_1").glob("test-*.parquet")
    assert path.name == "test-00000-of-00001.parquet"
    assert datasets.Features.from_arrow_schema(pq.read_schema(path)) == hf.features(tiny_family.configs["plus_1"])


def test_card(published, tiny_family):
    text = (published / "README.md").read_text(encoding="utf-8")
    head = yaml.safe_load(text.split("---\n")[1])
    assert head["license"] == "apache-2.0"
    assert [(c["config_name"], c.get("default", False)) for c in head["configs"]] == [
        ("plus_1", False),
        ("plus_2", True),
    ]
    for dataset in tiny_family.configs.values():
        full = dataset.digest(full=True)
        for part in (dataset.description, full.pixels, full.factors, dataset.citation, "Row 3 is blurred."):
            assert part in text
    assert "| smiling | binary | 2 | no, yes |  |" in text
    assert "| identity | categorical | 300 | 0, 1, 2, ..., 299 |  |" in text
    for picture in re.findall(r"!\[.*?\]\((.*?)\)", text):
        assert (published / picture).read_bytes().startswith(b"\x89PNG")


def test_a_licence_unknown_to_the_hub_keeps_its_name(tiny_grid, tmp_path):
    hf.publish(dataclasses.replace(tiny_grid, license="Research only"), tmp_path)
    head = yaml.safe_load((tmp_path / "README.md").read_text().split("---\n")[1])
    assert (head["license"], head["license_name"]) == ("other", "Research only")
    assert head["license_link"] == tiny_grid.homepage


def test_images_without_factors_are_published(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (5, 8, 8, 1), np.uint8)
    mine = dataclasses.replace(benchmark_data.from_images("mine", pixels), redistributable=True, license="MIT")
    hf.publish(mine, tmp_path)
    assert '\ndata[0]["image"], data[0]["index"]\n' in (tmp_path / "README.md").read_text()
    assert [finding.problem for finding in verify.verify(mine, [("hf", tmp_path)], full=True)] == ["", ""]
    with pytest.raises(InvalidInput, match="split of mine: expected at least one row, received none"):
        hf.publish(dataclasses.replace(mine, splits={"train": range(5), "test": range(0)}), tmp_path)
    with pytest.raises(InvalidInput, match="publish mine: expected split names of letters and digits, received 't-b'"):
        hf.publish(dataclasses.replace(mine, splits={"train": range(3), "t-b": range(3, 5)}), tmp_path)


def test_the_card_of_ones_own_images_names_nothing_that_is_not_there(tmp_path):
    mine = benchmark_data.from_images("mine", np.zeros((5, 8, 8, 1), np.uint8), {"kind": list("abcab")})
    hf.publish(dataclasses.replace(mine, redistributable=True, license="mine"), tmp_path)
    text = (tmp_path / "README.md").read_text()
    for absent in ("tfds", "TensorFlow Datasets", "Homepage", "<>", "bibtex", "license_link"):
        assert absent not in text
    assert "variation, for research on disentangled representations.\n" in text
    assert text.endswith("## Licence\n\nmine\n")


def test_a_card_names_the_paper_and_the_defects(tiny_grid, tmp_path):
    hf.publish(tiny_corner(), tmp_path)
    text = (tmp_path / "README.md").read_text()
    head = yaml.safe_load(text.split("---\n")[1])
    assert head["language"] == ["en"]
    assert "<https://arxiv.org/abs/2202.13341>" in text  # the paper of XYSquares
    assert "## Known defects\n\nNone are known.\n" in text
    named = dataclasses.replace(tiny_corner(), defects=("Two images are upside down.",))
    hf.publish(named, tmp_path / "named")
    assert "## Known defects\n\nTwo images are upside down.\n" in (tmp_path / "named" / "README.md").read_text()


def test_row_groups_hold_a_hundred_rows_whatever_the_batches(tmp_path, monkeypatch):
    monkeypatch.setattr("benchmark_data.publish.records.BATCH", 7 * 4)
    hf.publish(tiny_cubes(), tmp_path)
    content = pq.read_metadata(tmp_path / "default/train-00000-of-00001.parquet")
    assert [content.row_group(i).num_rows for i in range(content.num_row_groups)] == [100] * 40 + [96]


def tiny_cubes():
    """Return a grid of four factors with eight values each: 4,096 images of 2 x 2 pixels, which show the class ids."""
    space = FactorSpace(*(Factor(name, range(8), "categorical") for name in "abcd"))
    return Dataset(
        name="tiny_cubes",
        version="1.0.0",
        space=space,
        source=Rendered(lambda labels: labels.astype(np.uint8).reshape(-1, 2, 2, 1)),
        image_shape=(2, 2, 1),
        description="Class ids as pixels.",
        citation="",
        license="MIT",
        homepage="https://example.org/cubes",
    )


def test_publishing_again_rewrites_nothing_that_is_whole(published, tiny_family, tmp_path):
    dataset = tiny_family.configs["plus_1"]
    before = hashes(published)
    hf.publish(dataset, published)
    after = hashes(published)
    assert {k: v[0] for k, v in after.items()} == {k: v[0] for k, v in before.items()}
    assert [k for k in after if after[k] == before[k] and k.startswith("plus_1/t")] != []
    hf.publish(dataset, tmp_path)
    assert {k: v[0] for k, v in hashes(tmp_path / "plus_1").items()} == {
        k: v[0] for k, v in hashes(published / "plus_1").items()
    }


@pytest.mark.parametrize("harm", ["missing", "cut", "other"])
def test_a_shard_that_is_not_whole_is_written_again(harm, tiny_family, tmp_path):
    dataset = tiny_family.configs["plus_1"]
    hf.publish(dataset, tmp_path)
    before = {k: v[0] for k, v in hashes(tmp_path).items()}
    shard = tmp_path / "plus_1/train-00000-of-00001.parquet"
    if harm == "missing":
        shard.unlink()
    elif harm == "cut":
        shard.write_bytes(shard.read_bytes()[:-20])
    else:
        changed = dataclasses.replace(tiny_family.configs["plus_2"], config="plus_1", version="1.0.0")
        hf.publish(changed, tmp_path)
        assert {k: v[0] for k, v in hashes(tmp_path).items()} != before
    hf.publish(dataset, tmp_path)
    assert {k: v[0] for k, v in hashes(tmp_path).items()} == before


def test_progress_counts_every_row_written_and_hashed(tiny_family, tmp_path):
    counted = []
    hf.publish(tiny_family.configs["plus_1"], tmp_path, progress=counted.append)
    assert sum(counted) == 2 * 11


def test_a_licence_that_forbids_copies_blocks(tiny_grid, tmp_path):
    closed = dataclasses.replace(tiny_grid, redistributable=False, license="non-commercial research")
    with pytest.raises(InvalidInput, match="licence that permits redistribution, received non-commercial research"):
        hf.publish(closed, tmp_path / "never")
    assert not (tmp_path / "never").exists()
    with pytest.raises(
        InvalidInput, match=r"Read it with benchmark_data\.hf\.as_dataset\. If you may redistribute it, state"
    ):
        hf.publish(closed, tmp_path / "never")  # TFDS has no builder of it
    with pytest.raises(InvalidInput, match=r"Every user has to prepare it from its source: offaxis data prepare"):
        hf.publish(benchmark_data.load("celeba"), tmp_path / "never")


def test_shards_of_an_earlier_cut_are_removed(tiny_grid, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("benchmark_data.publish.records.SHARD", 4 * 35)
        hf.publish(tiny_grid, tmp_path)
    hf.publish(tiny_grid, tmp_path)
    assert [path.name for path in tmp_path.rglob("*.parquet")] == ["train-00000-of-00001.parquet"]


def test_a_killed_publication_goes_on_where_it_was(tmp_path, monkeypatch):
    script = f"""
import dataclasses, itertools, time
from benchmark_data import Rendered, hf, parallel
from benchmark_data.publish import records
{inspect.getsource(tiny_corner)}
corner, shards = tiny_corner(), itertools.count()
records.SHARD, parallel.joblib.cpu_count = 8 * 64 * 64 * 3, lambda: 1
def slowly(labels):
    if len(labels) == 8 and next(shards) == 4:
        time.sleep(600)  # until it is killed
    return corner.source.render(labels)
hf.publish(dataclasses.replace(corner, source=Rendered(slowly)), {str(tmp_path / "killed")!r})
"""
    with subprocess.Popen([sys.executable, "-c", script]) as process:
        while len(list(tmp_path.glob("killed/default/*.parquet"))) < 2 and process.poll() is None:
            time.sleep(0.01)
        process.kill()
    shards = {path: path.stat().st_mtime_ns for path in tmp_path.glob("killed/default/*.parquet")}
    assert 2 <= len(shards) < 8
    assert not (tmp_path / "killed/README.md").exists()
    (tmp_path / "killed/default/.train.part").write_bytes(b"half")
    monkeypatch.setattr("benchmark_data.publish.records.SHARD", 8 * 64 * 64 * 3)
    for folder in ("killed", "whole"):
        hf.publish(tiny_corner(), tmp_path / folder)
    assert {path: path.stat().st_mtime_ns for path in shards} == shards
    assert {k: v[0] for k, v in hashes(tmp_path / "killed").items()} == {
        k: v[0] for k, v in hashes(tmp_path / "whole").items()
    }


def tiny_corner():
    """Return a corner of XYSquares' grid: 64 images. The source of this function runs in a process of its own, too."""
    import dataclasses

    import benchmark_data
    from benchmark_data import Factor, FactorSpace

    xysquares = benchmark_data.load("xysquares/spacing_4")
    space = FactorSpace(*(Factor(f.name, f.values[:2]) for f in xysquares.space.factors))
    return dataclasses.replace(xysquares, name="tiny_corner", config="", space=space, splits={})


def test_two_datasets_do_not_share_a_folder(published, tiny_grid):
    with pytest.raises(InvalidInput, match="an empty folder or one of tiny_grid, received a folder of tiny_family"):
        hf.publish(tiny_grid, published)


def test_a_folder_with_records_of_another_kind(tiny_grid, tmp_path):
    (tmp_path / "got").mkdir()
    (tmp_path / "got/offaxis.json").write_text('{"dataset": "tiny_grid"}')
    with pytest.raises(InvalidInput, match="an empty folder or one of tiny_grid, received a folder of other files"):
        hf.publish(tiny_grid, tmp_path)


def test_a_damaged_record_is_named(tiny_grid, tmp_path):
    (tmp_path / "default").mkdir()
    (tmp_path / "default/offaxis.json").write_text("{")
    with pytest.raises(DamagedFile, match=r"offaxis\.json: expected valid JSON"):
        hf.publish(tiny_grid, tmp_path)
    (tmp_path / "default/offaxis.json").write_text('{"name": "tiny_grid"}')
    with pytest.raises(DamagedFile, match=r"offaxis\.json: expected a record with citation, received none. Remove it"):
        hf.publish(tiny_grid, tmp_path)


def test_one_process_at_a_time_publishes_to_a_folder(tmp_path, tiny_grid):
    refused = pytest.raises(InvalidInput, match=r"Another process is writing .*copy\. Wait for it")

    def again(done):
        with refused:
            hf.publish(tiny_grid, tmp_path / "elsewhere/../copy")

    hf.publish(tiny_grid, tmp_path / "copy", progress=again)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy"]


def test_the_card_describes_columns_that_only_some_configs_have():
    whole, part = (
        card.record(
            benchmark_data.load(f"dsprites_spaced/{config}"),
            splits=[{"name": "test", "rows": 2, "files": "x", "bytes": 9}],
            digests={"full": {"pixels": "p", "factors": "f"}},
        )
        for config in ("spacing_16", "spacing_16.composition")
    )
    assert not whole["extras"]
    assert "- `extra_row`: row in the dataset that is divided\n" in card.readme([whole, part])


def test_publish_to_a_place_that_cannot_be_written(tiny_grid, tmp_path, disk_full):
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInput, match="writable path, received NotADirectoryError"):
        hf.publish(tiny_grid, tmp_path / "file")
    refused = pytest.raises(InvalidInput, match=r"parquet: expected a writable path, received OSError")
    with refused, disk_full(300):
        hf.publish(tiny_grid, tmp_path / "folder")
    assert not [path for path in (tmp_path / "folder").rglob("*") if path.is_file()]


def test_several_shards_from_worker_processes(tiny_grid, tmp_path, monkeypatch):
    monkeypatch.setattr("benchmark_data.publish.records.SHARD", 4 * 35)
    monkeypatch.setattr("joblib.cpu_count", lambda: 2)
    hf.publish(tiny_grid, tmp_path / "published")
    assert len(list((tmp_path / "published/default").glob("train-*-of-00003.parquet"))) == 3
    loaded = datasets.load_dataset(str(tmp_path / "published"), split="train", cache_dir=tmp_path)
    check(loaded, tiny_grid, range(12))


def test_records_of_a_config_are_json_numbers(published):
    made = json.loads((published / "plus_1" / card.RECORD).read_text())
    assert made["schema"] == 1
    assert made["factors"][1]["values"][-1] == 299
    assert {name: extra["meaning"] for name, extra in made["extras"].items()} == {
        "rotation": "rotation matrix",
        "landmark": "x and y, px",
    }


def test_every_dataset_has_a_schema_and_a_record():
    for name in benchmark_data.names():
        dataset = benchmark_data.load(name)
        schema = hf.features(dataset)
        assert set(schema) >= {"image", "index", *(f"label_{factor}" for factor in dataset.space.names)}
        assert [schema[f"label_{f.name}"].names for f in dataset.space.factors] == [
            list(f.labels) for f in dataset.space.factors
        ]
        json.dumps(card.record(dataset, splits=[], digests={}), allow_nan=False)


@pytest.mark.parametrize("package", ["datasets", "pyarrow"])
def test_missing_package(package, monkeypatch):
    monkeypatch.delitem(sys.modules, "benchmark_data.hf")
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=rf"the package {package}, .*pip install 'offaxis\[hf\]'"):
        import benchmark_data.hf  # noqa: F401


def columns_of(records):
    return {name: np.stack([np.asarray(record[name]) for record in records]) for name in records[0]}


@pytest.mark.parametrize("split", ["train", "test"])
def test_without_files_the_same_records(split, tiny_family, published, tmp_path):
    dataset = tiny_family.configs["plus_1"]
    loaded = datasets.load_dataset(str(published), "plus_1", split=split, cache_dir=tmp_path).with_format("numpy")
    direct = hf.as_dataset(dataset, split=split)
    assert len(direct) == len(loaded)
    ours, theirs = columns_of(list(direct)), columns_of(list(loaded))
    assert list(ours) == list(theirs) == list(hf.features(dataset))
    for name, column in theirs.items():
        assert ours[name].dtype == column.dtype, name
        assert np.array_equal(ours[name], column), name
    whole = direct[: len(direct)]
    assert all(np.array_equal(whole[name], column) for name, column in ours.items())


def test_without_files_what_datasets_does_to_rows_works(tiny_grid):
    data = hf.as_dataset(tiny_grid, columns=["image", "index"])
    for rearranged in (data.shuffle(seed=1), data.select([5, 3]), data.shard(3, 1), data.train_test_split(0.5)["test"]):
        batch = rearranged[: len(rearranged)]
        assert list(batch) == ["image", "index"]
        assert np.array_equal(batch["image"], tiny_grid.images(batch["index"]))
    assert sorted(data.shuffle(seed=1)[:12]["index"]) == list(range(12))
    assert [row["index"] for row in data.select([5, 3])] == [5, 3]
    assert sum(len(batch["index"]) for batch in data.iter(batch_size=5)) == 12


def test_without_files_dtypes_are_looked_up_once_a_batch(tiny_grid, monkeypatch):
    data, columns, calls = hf.as_dataset(tiny_grid), hf.encoding.columns, []
    monkeypatch.setattr(hf.encoding, "columns", lambda dataset: calls.append(dataset) or columns(dataset))
    assert len(list(data.iter(batch_size=6))) == len(calls) == 2


def test_without_files_shuffled_and_shared(tiny_grid):
    shares = [hf.as_dataset(tiny_grid, shuffle_seed=3, epoch=2, shard=(i, 2))[:6]["index"] for i in range(2)]
    expected = reading.order(range(12), seed=3, epoch=2)
    assert [share.tolist() for share in shares] == [expected[0::2].tolist(), expected[1::2].tolist()]


def test_without_files_a_process_without_rows_gets_none(tiny_family):
    dataset = tiny_family.configs["plus_1"]
    empty = hf.as_dataset(dataset, split="train[:3]", shard=(3, 5))
    assert (len(empty), list(empty), empty.column_names) == (0, [], list(hf.features(dataset)))
    assert empty[:]["extra_rotation"].size == 0
    assert (empty[:]["index"].shape, empty[:]["index"].dtype) == ((0,), np.int64)


def test_without_files_workers_that_are_spawned_draw_ones_own_images():
    """In the format of PyTorch, too, in which the table's feature draws images and no transform of ours."""
    torch = pytest.importorskip("torch")
    mine = benchmark_data.from_images("mine", np.random.default_rng(0).integers(0, 256, (6, 4, 4, 3), np.uint8))
    data = hf.as_dataset(mine, columns=["image", "index"]).with_format("torch")
    loader = torch.utils.data.DataLoader(data, 4, num_workers=1, multiprocessing_context="spawn")
    found = np.concatenate([batch["image"].numpy() for batch in loader])
    assert np.array_equal(found, mine.images(range(6)))


def test_without_files_what_is_mapped_stands_beside_what_is_drawn(tiny_grid):
    data = hf.as_dataset(tiny_grid, columns=["image", "index"])
    mapped = data.map(lambda record: {"twice": 2 * int(record["index"])})
    assert list(mapped[0]) == ["image", "index", "twice"]
    batch = mapped.shuffle(seed=1)[:12]
    assert [2 * row for row in batch["index"]] == batch["twice"]
    assert np.array_equal(batch["image"], tiny_grid.images(batch["index"]))
    assert mapped["twice"][:3] == [0, 2, 4]
    assert mapped.column_names == ["image", "index", "twice"]
    assert np.array_equal(mapped.with_format("numpy")[:12]["image"], tiny_grid.images(range(12)))
    assert list(data.add_column("mine", list(range(12)))[3]) == ["image", "index", "mine"]


def test_without_files_what_is_mapped_takes_the_place_of_what_is_drawn(tiny_grid):
    data = hf.as_dataset(tiny_grid, columns=["image", "label_shape"])
    negative = data.map(lambda record: {"image": 255 - record["image"]})
    assert np.array_equal(negative[:12]["image"], 255 - tiny_grid.images(range(12)))
    assert negative[:12]["label_shape"].tolist() == tiny_grid.labels(range(12))[:, 0].tolist()
    halves = data.map(lambda record: {"label_shape": record["label_shape"] / 2})
    assert halves[:12]["label_shape"].tolist() == (tiny_grid.labels(range(12))[:, 0] / 2).tolist()


def test_without_files_and_without_rows_nothing_is_drawn(tiny_grid):
    data = hf.as_dataset(tiny_grid)
    shapes = data.map(lambda record: {"mine": int(record["label_shape"])}, remove_columns=data.column_names)
    assert shapes[5] == {"mine": tiny_grid.labels([5])[0, 0]}
    assert shapes["mine"][:] == tiny_grid.labels(range(12))[:, 0].tolist()


@pytest.mark.parametrize("named", [False, True])
def test_without_files_columns_are_known(named, tiny_grid, monkeypatch):
    monkeypatch.setattr(os, "environ", os.environ)  # ``map`` with processes leaves a copy in its place
    dataset = benchmark_data.load("xysquares") if named else tiny_grid
    data = hf.as_dataset(dataset, split="train[:12]")
    assert data.column_names == list(hf.features(dataset))
    first = dataset.space.names[0]
    assert data[f"label_{first}"][:].tolist() == dataset.labels(range(12))[:, 0].tolist()
    few = data.filter(lambda label: label == 0, input_columns=[f"label_{first}"])
    assert np.array_equal(few[:3]["image"], dataset.images(few[:3]["index"]))
    doubled = data.map(lambda batch: {"sum": batch["image"].sum(axis=(1, 2, 3))}, batched=True, num_proc=2)
    assert doubled["sum"][:] == dataset.images(range(12)).sum(axis=(1, 2, 3)).tolist()
    plain = data.with_format(None)[3]["image"]
    assert np.array_equal(np.asarray(plain), dataset.images([3])[0])


@pytest.mark.parametrize("columns", [None, ["index", "image"]])
def test_without_files_a_stream_goes_on_where_it_was(columns, tiny_grid):
    """The protocol of ``datasets``: ``state_dict`` in mid-epoch, ``load_state_dict`` in another reader."""

    def reader():
        return hf.as_dataset(tiny_grid, columns=columns, shuffle_seed=0).with_format("numpy").to_iterable_dataset()

    assert_goes_on(reader, 12)


def assert_goes_on(reader, count):
    """Stop a reader after each number of records, and compare what another one gives from its state on."""
    whole = [(record["index"], np.asarray(record["image"]).tobytes()) for record in reader()]
    assert len(whole) == count
    for stop in (0, 1, 5, count):
        first, second = reader(), reader()
        records = iter(first)
        for _ in range(stop):
            next(records)
        second.load_state_dict(json.loads(json.dumps(first.state_dict())))
        rest = [(record["index"], np.asarray(record["image"]).tobytes()) for record in second]
        assert rest == whole[stop:]


@pytest.mark.parametrize("named", [False, True])
def test_without_files_parts_of_one_dataset_are_concatenated(named, tiny_grid):
    dataset = benchmark_data.load("xysquares") if named else tiny_grid
    first, second = (hf.as_dataset(dataset, split=f"train[{part}]") for part in (":4", "4:12"))
    second = second.add_column("mine", list(range(8))).remove_columns("mine")
    both = datasets.concatenate_datasets([first, second])
    assert list(both[0]) == list(hf.features(dataset))
    assert np.array_equal(both[:12]["image"], dataset.images(range(12)))


def test_without_files_records_are_equal_where_the_dataset_is(tiny_grid):
    def transform(dataset):
        return hf.as_dataset(dataset, split="train[:9]").format["format_kwargs"]["transform"]

    other = dataclasses.replace(tiny_grid, license="Apache-2.0")
    assert transform(tiny_grid) == transform(tiny_grid) != transform(other)
    assert transform("xysquares") == transform("xysquares") != transform("dsprites")
    assert len({transform(tiny_grid), transform(tiny_grid)}) == 1
    assert copy.deepcopy(transform(tiny_grid)) == transform(tiny_grid)


def test_without_files_a_column_that_is_asked_for_twice_is_there_once(tiny_grid):
    assert hf.as_dataset(tiny_grid, columns=["index", "image", "index"]).column_names == ["index", "image"]


def test_without_files_wrong_names(tiny_grid):
    with pytest.raises(UnknownName, match=r"column of tiny_grid: .*Did you mean 'label_shape'"):
        hf.as_dataset(tiny_grid, columns=["label_shap"])
    with pytest.raises(UnknownName, match=r"received 'shape'\. Did you mean 'label_shape'"):  # not value_shape
        hf.as_dataset(tiny_grid, columns=["shape"])
    with pytest.raises(UnknownName, match="split of tiny_grid"):
        hf.as_dataset(tiny_grid, split="test")


def test_a_split_is_a_text_or_a_named_one(tiny_grid):
    assert len(hf.as_dataset(tiny_grid, split=datasets.Split.TRAIN)) == 12
    for wrong in (["train"], datasets.ReadInstruction("train", to=3)):
        with pytest.raises(InvalidInput, match="split of tiny_grid: expected a string, such as 'train'"):
            hf.as_dataset(tiny_grid, split=wrong)


def test_without_files_choices_that_cannot_be(tiny_grid):
    for columns in ("image", []):
        with pytest.raises(InvalidInput, match=r"columns of tiny_grid: expected a list of names, such as \['image'\]"):
            hf.as_dataset(tiny_grid, columns=columns)
    with pytest.raises(InvalidInput, match="epoch: expected at least 0, received -1"):
        hf.as_dataset(tiny_grid, shuffle_seed=0, epoch=-1)


def test_names_and_values_that_are_corrected_are_published_anew(tmp_path):
    pixels = np.zeros((4, 4, 4, 1), np.uint8)

    def mine(names):
        made = benchmark_data.from_images("mine", pixels, {"animal": [names[i % 2] for i in range(4)]})
        return dataclasses.replace(made, redistributable=True, license="MIT")

    for names in (["catt", "dog"], ["cat", "dog"]):
        hf.publish(mine(names), tmp_path)
        assert [finding.problem for finding in verify.verify(mine(names), [("hf", tmp_path)])] == ["", ""]


@pytest.mark.parametrize("name", ["README.md", "secret.txt", "data/mine.csv"])
def test_a_folder_with_files_of_your_own_is_refused(tiny_grid, tmp_path, name):
    (tmp_path / "data").mkdir()
    (tmp_path / name).write_text("mine")
    with pytest.raises(InvalidInput, match="an empty folder or one of tiny_grid, received a folder of other files"):
        hf.publish(tiny_grid, tmp_path)
    assert (tmp_path / name).read_text() == "mine"


def test_a_folder_with_parquet_files_of_your_own_is_refused(tiny_grid, tmp_path):
    mine = tmp_path / card.config_name(tiny_grid) / "train-00000-of-00007.parquet"
    mine.parent.mkdir()
    pq.write_table(hf.pa.table({"mine": [1]}), mine)
    with pytest.raises(InvalidInput, match="an empty folder or one of tiny_grid, received a folder of other files"):
        hf.publish(tiny_grid, tmp_path)
    assert pq.read_table(mine).column("mine").to_pylist() == [1]
