"""TFDS builders: what they build is read back with stock TFDS and compared with the dataset."""

from __future__ import annotations

import dataclasses
import hashlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import benchmark_data
from baselines import program
from benchmark_data import Derived, Rendered, reading
from benchmark_data.errors import DamagedFile, InvalidInput, MissingExtra, UnknownName
from benchmark_data.publish import verify

tfds = pytest.importorskip("tensorflow_datasets")

from benchmark_data import tfds as provider  # noqa: E402  after the check that TFDS is there


@pytest.fixture(scope="module")
def builders(tiny_grid, tiny_family):
    """The registered builders of the two tiny datasets."""
    return {"tiny_grid": provider.builder_class(tiny_grid), "tiny_family": provider.builder_class(tiny_family)}


@pytest.fixture(scope="module")
def data_dir(builders, tmp_path_factory):
    """A data_dir in which the grid and the default config of the family are built."""
    folder = tmp_path_factory.mktemp("tfds")
    builders["tiny_grid"](data_dir=folder).download_and_prepare()
    builders["tiny_family"](data_dir=folder).download_and_prepare()
    return folder


def hashes(folder):
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
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
        assert record["image"].dtype == np.uint8
        assert np.array_equal(record["image"], image)
        assert np.array_equal(record["factors"], label)
        for f, name in enumerate(dataset.space.names):
            assert record[f"label_{name}"] == label[f]
            assert record[f"value_{name}"] == value[f]
        for name in dataset.extras:
            extra = dataset.extra(name, [row])[0]
            assert np.array_equal(record[f"extra_{name}"], extra.astype(record[f"extra_{name}"].dtype))


def test_every_dataset_is_registered():
    assert {f"offaxis_{name}" for name in benchmark_data.names()} <= set(tfds.list_builders())
    for name in benchmark_data.names():
        configs = tfds.builder_cls(f"offaxis_{name}").builder_configs
        assert [f"{name}/{config}" for config in configs] or [name] == list(benchmark_data.configs(name))


def test_load_gives_the_rows_in_order(data_dir, tiny_grid):
    check(tfds.as_numpy(tfds.load("offaxis_tiny_grid", split="train", data_dir=data_dir)), tiny_grid, range(12))


@pytest.mark.parametrize(
    ("split", "rows"),
    [
        ("train[:25%]", range(2)),
        ("train[3:6]", range(3, 6)),
        ("train[-2:]", range(6, 8)),
        ("test", range(8, 11)),
        ("test[1:]+train[:1]", [9, 10, 0]),
    ],
)
def test_slices_and_several_splits(split, rows, data_dir, tiny_family):
    dataset = tiny_family.configs["plus_2"]
    check(tfds.as_numpy(tfds.load("offaxis_tiny_family/plus_2", split=split, data_dir=data_dir)), dataset, rows)
    source = tfds.data_source("offaxis_tiny_family/plus_2", split=split, data_dir=data_dir)
    check([source[i] for i in range(len(source))], dataset, rows)


def test_random_access(data_dir, tiny_grid):
    source = tfds.data_source("offaxis_tiny_grid", split="train", data_dir=data_dir)
    order = [7, 0, 11, 7]
    check(source.__getitems__(order), tiny_grid, order)


def test_default_config_is_the_familys(builders, data_dir):
    assert builders["tiny_family"](data_dir=data_dir).builder_config.name == "plus_2"


def test_as_supervised_gives_image_and_all_class_ids(data_dir, tiny_grid):
    pairs = tfds.load("offaxis_tiny_grid", split="train", data_dir=data_dir, as_supervised=True)
    images, factors = zip(*tfds.as_numpy(pairs), strict=True)
    assert np.array_equal(images, tiny_grid.images(range(12)))
    assert np.array_equal(factors, tiny_grid.labels(range(12)))
    assert factors[0].dtype == np.int64


def test_a_home_folder_is_found_where_no_shell_replaces_its_name(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    built = provider.builder("xysquares", "~/tfds").data_dir
    assert provider.builder("offaxis_xysquares", "~/tfds").data_dir == built
    assert built.startswith(str(tmp_path / "tfds"))


def test_info_tells_what_is_known(data_dir, tiny_family):
    dataset = tiny_family.configs["plus_2"]
    info = tfds.builder("offaxis_tiny_family/plus_2", data_dir=data_dir).info
    assert info.version == dataset.version
    assert info.description.startswith("Noise plus 2.")
    assert "Row 3 is blurred." in info.description
    assert (info.citation, info.homepage) == (dataset.citation, dataset.homepage)
    assert info.redistribution_info.license == "Apache-2.0"
    assert {name: split.num_examples for name, split in info.splits.items()} == {"train": 8, "test": 3}
    assert info.features["label_smiling"].names == ["no", "yes"]
    assert [(f["name"], f["size"]) for f in info.metadata["factors"]] == [("smiling", 2), ("identity", 300)]
    assert info.metadata["digest"] == dataset.digest()._asdict()
    assert info.disable_shuffling


def test_info_tells_whether_copies_may_be_published(builders, tiny_grid, tmp_path):
    closed = provider.builder_class(dataclasses.replace(tiny_grid, name="closed", redistributable=False))
    assert closed(data_dir=tmp_path).info.metadata["redistributable"] is False
    assert builders["tiny_grid"](data_dir=tmp_path).info.metadata["redistributable"] is True


def test_files_are_read_without_our_code(data_dir, tiny_grid):
    script = f"""
import sys, tensorflow_datasets as tfds
builder = tfds.builder_from_directory({str(data_dir / "offaxis_tiny_grid/1.2.3")!r})
source = builder.as_data_source(split="train")
print(len(source), source[5]["image"].sum(), source[5]["label_angle"], "benchmark_data" in sys.modules)
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["12", str(tiny_grid.images([5]).sum()), "1", "False"]


def test_the_size_of_a_split_is_that_of_its_records(builders, tmp_path):
    import tensorflow as tf

    builder = builders["tiny_grid"](data_dir=tmp_path, file_format="tfrecord")
    builder.download_and_prepare()
    files = [str(path) for path in Path(builder.data_dir).glob("*.tfrecord*")]
    records = tf.data.TFRecordDataset(files).as_numpy_iterator()
    assert builder.info.splits["train"].num_bytes == sum(map(len, records)) > 0


@pytest.mark.parametrize("file_format", ["tfrecord", "parquet"])
def test_other_file_formats(file_format, builders, tmp_path, tiny_grid):
    builder = builders["tiny_grid"](data_dir=tmp_path, file_format=file_format)
    builder.download_and_prepare()
    assert list(Path(builder.data_dir).glob(f"*.{file_format}*"))
    check(tfds.as_numpy(builder.as_dataset(split="train")), tiny_grid, range(12))
    again = builders["tiny_grid"](data_dir=tmp_path)
    assert again.info.file_format.value == file_format


@pytest.mark.parametrize("file_format", ["array_record", "tfrecord", "parquet"])
def test_every_row_is_written_where_there_are_many(file_format, tmp_path):
    first_rows = tfds.download.DownloadConfig(max_examples_per_split=250)
    builder = tfds.builder("offaxis_xyobject/plain", data_dir=tmp_path, file_format=file_format)
    builder.download_and_prepare(download_config=first_rows)
    check(tfds.as_numpy(builder.as_dataset(split="train")), benchmark_data.load("xyobject/plain"), range(250))


@pytest.mark.parametrize("label", ["", " red", "dark\nred", "dark\rred"])
def test_labels_that_tfds_does_not_keep(label, tmp_path):
    own = benchmark_data.from_images("labelled", np.zeros((2, 8, 8, 1), np.uint8), {"hue": [label, "blue"]})
    with tfds.core.registered.skip_registration():
        builder = provider.builder_class(own)(data_dir=tmp_path)
    with pytest.raises(InvalidInput, match="factor 'hue' of labelled: expected labels of one line, without spaces"):
        builder.download_and_prepare()


def test_files_of_other_pixels_are_not_taken_for_built(tmp_path):
    def own_images(value):
        tfds.core.registered._DATASET_REGISTRY.pop("offaxis_corrected", None)  # as in another process
        own = benchmark_data.from_images("corrected", np.full((4, 8, 8, 1), value, np.uint8))
        provider.builder_class(own)
        return own

    folder = provider.build(own_images(0), tmp_path)
    assert provider.build(own_images(0), tmp_path) == folder
    with pytest.raises(
        InvalidInput, match="expected files with the current pixels and labels of corrected, received files with other"
    ):
        provider.build(own_images(1), tmp_path)
    shutil.rmtree(folder)
    provider.build(own_images(1), tmp_path)
    (record, *_) = tfds.as_numpy(tfds.load("offaxis_corrected", split="train", data_dir=tmp_path))
    assert record["image"].max() == 1


def test_same_files_every_time_from_any_number_of_processes(builders, tmp_path, monkeypatch, tiny_family):
    several = tfds.download.DownloadConfig(num_shards=3)
    for folder, cores in (("a", 1), ("b", 3)):
        monkeypatch.setattr("joblib.cpu_count", lambda cores=cores: cores)
        builder = builders["tiny_family"](data_dir=tmp_path / folder)
        builder.download_and_prepare(download_config=several)
        assert builder.info.splits["train"].shard_lengths == [2, 3, 3]
    assert hashes(tmp_path / "a") == hashes(tmp_path / "b")
    check(tfds.as_numpy(builder.as_dataset(split="train")), tiny_family.configs["plus_2"], range(8))


def test_a_builder_knows_what_another_has_built_since(builders, tmp_path):
    waiting, first = (builders["tiny_grid"](data_dir=tmp_path) for _ in range(2))
    first.download_and_prepare()
    waiting.download_and_prepare()
    assert len(waiting.as_dataset(split="train[:5]")) == 5


def test_a_copy_that_is_no_longer_whole_is_not_taken_for_built(builders, tmp_path, tiny_grid):
    folder = builders_folder(tmp_path, "tiny_grid")
    builder = builders["tiny_grid"](data_dir=tmp_path)
    builder.download_and_prepare()
    info = (folder / "dataset_info.json").read_text()
    for content, reason in (("{", "Failed to load JSON"), ("[]", "do not match"), ('{"a": 1}', 'no field named "a"')):
        (folder / "dataset_info.json").write_text(content)
        with pytest.raises(
            DamagedFile, match=rf"dataset_info\.json: .*{reason}.* Remove .*1\.2\.3, and build it again"
        ):
            provider.build(tiny_grid, tmp_path)
        _, found = verify.verify(tiny_grid, [("tfds", tmp_path)])
        assert "expected a complete copy of tiny_grid, received none. Remove it and make" in found.problem
    (folder / "dataset_info.json").write_text(info)
    next(folder.glob("*.array_record*")).unlink()
    with pytest.raises(DamagedFile, match=r"array_record-0\S*: expected a file, received none. Remove .*1\.2\.3"):
        provider.build(tiny_grid, tmp_path)


def test_a_copy_of_the_first_rows_is_not_taken_for_built(builders, tmp_path, tiny_grid):
    config = tfds.download.DownloadConfig(max_examples_per_split=5)
    builders["tiny_grid"](data_dir=tmp_path).download_and_prepare(download_config=config)
    with pytest.raises(InvalidInput, match="received files with other, unknown or fewer ones"):
        provider.build(tiny_grid, tmp_path)


def test_a_build_that_fails_leaves_nothing(tmp_path, tiny_grid):
    def breaks(labels):
        if (labels == [2, 3]).all(axis=1).any() and len(labels) < 12:
            raise ZeroDivisionError("in the renderer")
        return tiny_grid.source.render(labels)

    broken = dataclasses.replace(tiny_grid, name="tiny_broken", source=Rendered(breaks))
    broken = dataclasses.replace(broken, splits={"train": range(6), "test": range(6, 12)})
    builder = provider.builder_class(broken)(data_dir=tmp_path)
    with pytest.raises(ZeroDivisionError, match="in the renderer"):
        builder.download_and_prepare()
    assert not list(tmp_path.rglob("*.array_record*"))
    assert not builders_folder(tmp_path, "tiny_broken").exists()


def builders_folder(data_dir, name):
    return data_dir / f"offaxis_{name}" / "1.2.3"


@pytest.mark.parametrize("file_format", ["array_record", "tfrecord"])
def test_full_disk(file_format, builders, tmp_path, disk_full):
    builder = builders["tiny_grid"](data_dir=tmp_path, file_format=file_format)
    refused = pytest.raises(InvalidInput, match=r"writable path, received OSError: .*File too large")
    with refused, disk_full(1000):
        builder.download_and_prepare()
    assert not builders_folder(tmp_path, "tiny_grid").exists()
    assert not list(tmp_path.rglob("*incomplete*"))


def test_unwritable_folder(builders, tmp_path):
    (tmp_path / "file").write_text("")
    builder = builders["tiny_grid"](data_dir=tmp_path / "file")
    with pytest.raises(InvalidInput, match="writable path, received NotADirectoryError"):
        builder.download_and_prepare()


def test_wrong_config_names_the_near_match(builders, tmp_path):
    with pytest.raises(UnknownName, match=r"received 'plus_3'\. Did you mean 'plus_"):
        builders["tiny_family"](config="plus_3", data_dir=tmp_path)
    with pytest.raises(
        RuntimeError, match=r"received 'plus_3'\. Did you mean 'plus_"
    ):  # tfds.load wraps every error so
        tfds.load("offaxis_tiny_family/plus_3", data_dir=tmp_path)


def test_a_version_that_is_not_there_is_named(builders, tmp_path):
    with pytest.raises(AssertionError, match=r"cannot be loaded at version 9\.0\.0, only: 1\.2\.3"):
        builders["tiny_grid"](data_dir=tmp_path, version="9.0.0")


def test_build_says_where_the_files_are(builders, tmp_path, tiny_family, monkeypatch, capsys):
    dataset = tiny_family.configs["plus_1"]
    path = provider.build(dataset, tmp_path)
    assert path == tmp_path / "offaxis_tiny_family/plus_1/2.0.1"
    check(tfds.data_source("offaxis_tiny_family/plus_1", split="train", data_dir=tmp_path), dataset, range(8))
    assert provider.build(dataset, tmp_path) == path
    monkeypatch.setattr(benchmark_data, "named_or_folder", {"tiny_family/plus_1": dataset}.__getitem__)
    monkeypatch.setattr("sys.argv", ["offaxis", "data", "build", "tiny_family/plus_1", "--to", str(tmp_path)])
    with pytest.raises(SystemExit, match="0"):
        program.main()
    assert capsys.readouterr().out == f"tiny_family/plus_1: {path}\n", "TFDS prints nothing of its own"


def test_another_dataset_of_a_published_name_is_not_built(tmp_path, tiny_grid, monkeypatch, capsys):
    """TFDS finds a dataset by its name: it would write the published one without a word."""
    published = benchmark_data.load("dsprites_spaced/spacing_8")
    negative = Derived(published, lambda images, rows, labels: 255 - images)
    for changed in (
        dataclasses.replace(published, source=negative),
        dataclasses.replace(published, config="mine"),
        benchmark_data.load("dsprites/composition"),
        dataclasses.replace(tiny_grid, name="tiny_own"),
    ):
        for ask in (provider.builder, provider.build):
            with pytest.raises(
                InvalidInput,
                match=r"files of .* for TFDS: .*, undivided dataset, received another one\. Read it with .*hf\.as",
            ):
                ask(changed, tmp_path)
    assert not list(tmp_path.iterdir())
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    Image.new("L", (8, 8)).save(pictures / "0.png")
    monkeypatch.setattr("sys.argv", ["offaxis", "data", "build", str(pictures), "--to", str(tmp_path / "tf")])
    with pytest.raises(SystemExit, match="2"):
        program.main()
    assert "files of pictures for TFDS: expected" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("name", ["dsprites", "xysquares/spacing_4"])
def test_what_load_gives_is_built(name, tmp_path):
    dataset = benchmark_data.load(name)
    assert provider.builder(dataset, tmp_path).dataset is dataset
    built = tmp_path / f"offaxis_{dataset.name}" / dataset.config / dataset.version  # where a copy is looked for
    assert Path(provider.builder(dataset, tmp_path).data_path) == built


class Foreign(tfds.core.GeneratorBasedBuilder):
    """Somebody else's dataset."""

    VERSION = tfds.core.Version("1.0.0")

    def _info(self):
        return self.dataset_info_from_configs(features=tfds.features.FeaturesDict({"x": np.int64}))

    def _split_generators(self, dl_manager):
        return {"train": ((i, {"x": i}) for i in range(3))}

    def _generate_examples(self):
        raise NotImplementedError


def test_other_peoples_datasets_are_left_as_they_are(data_dir, tmp_path):
    """TFDS finds a reader by the format of the files, in one table for all datasets: it keeps TFDS's own."""
    from tensorflow_datasets.core import file_adapters

    own = file_adapters.ADAPTER_FOR_FORMAT[file_adapters.FileFormat.ARRAY_RECORD]
    assert own is file_adapters.ArrayRecordFileAdapter
    foreign = Foreign(data_dir=tmp_path, file_format="array_record")
    foreign.download_and_prepare()
    mine = tfds.load("offaxis_tiny_grid", split="train", data_dir=data_dir)
    with pytest.raises(NotImplementedError, match=r"not implemented for ArrayRecord files"):
        foreign.as_dataset(split="train")
    assert len(list(mine)) == 12
    assert [record["x"] for record in foreign.as_data_source(split="train")] == [0, 1, 2]
    with pytest.raises(ValueError, match="Unknown split 'valid'"):
        tfds.load("offaxis_tiny_grid", split="valid", data_dir=data_dir)
    assert file_adapters.ADAPTER_FOR_FORMAT[file_adapters.FileFormat.ARRAY_RECORD] is own


def test_files_are_shuffled_by_tfds_where_its_guard_is_off(data_dir):
    """As docs/datasets.md says: TFDS takes every copy for ordered."""
    options = {"split": "train", "data_dir": data_dir, "shuffle_files": True}
    with pytest.raises(InvalidInput, match=r"as_dataset\('tiny_grid', shuffle_seed=0\), which shuffles"):
        tfds.load("offaxis_tiny_grid", **options)
    # The seed is for a process in which another test has asked TensorFlow for determinism.
    unguarded = tfds.ReadConfig(enable_ordering_guard=False, shuffle_seed=0)
    loaded = tfds.load("offaxis_tiny_grid", read_config=unguarded, **options).shuffle(12, seed=0)
    assert sorted(record["index"] for record in tfds.as_numpy(loaded)) == list(range(12))


def test_tfds_command_line(tmp_path):
    """``tfds build --imports``. The command imports two packages on starting that a build does not use: stubs do."""
    for package in ("apache_beam", "mlcroissant"):
        (tmp_path / f"{package}.py").write_text("def __getattr__(name): return type(name, (), {})")
    script = f"""
import dataclasses, sys
sys.path.insert(0, {str(tmp_path)!r})
import benchmark_data
from benchmark_data import FactorSpace, Factor
from benchmark_data.datasets import xysquares
small = FactorSpace(*(Factor(f.name, f.values[:2]) for f in xysquares.SPACE.factors))
xysquares.DATASET = benchmark_data.Family(
    *(dataclasses.replace(d, space=small, splits={{}}) for d in xysquares.DATASET.configs.values()), default="spacing_8"
)
from tensorflow_datasets.scripts.cli import main
sys.argv[1:] = "build --imports benchmark_data.tfds offaxis_xysquares/spacing_4 --data_dir {tmp_path}".split()
main.launch_cli()
"""
    subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    builder = tfds.builder_from_directory(tmp_path / "offaxis_xysquares/spacing_4/1.0.0")
    assert builder.info.splits["train"].num_examples == 64


@pytest.mark.parametrize("package", ["tensorflow_datasets", "array_record"])
def test_missing_package(package, monkeypatch):
    monkeypatch.delitem(sys.modules, "benchmark_data.tfds")
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=rf"the package {package}, .*pip install 'offaxis\[tfds\]'"):
        import benchmark_data.tfds  # noqa: F401


def test_what_a_killed_build_left_is_removed_by_the_next_one(builders, tmp_path):
    builder = builders["tiny_grid"](data_dir=tmp_path)
    parent = Path(builder.data_path).parent
    version = Path(builder.data_path).name
    for left in (f"incomplete.ABC123_{version}", f"incomplete.XYZ789_{version}", "incomplete.ABC123_9.9.9"):
        (parent / left).mkdir(parents=True)
        (parent / left / "shard").write_bytes(b"half")
    builder.download_and_prepare()
    assert sorted(path.name for path in parent.glob("incomplete.*")) == ["incomplete.ABC123_9.9.9"]
    assert builder.data_path.exists()


TESTED = ("4.9.9", "4.9.10")
"""The first and the last version of TensorFlow Datasets whose private hooks these are."""


def test_the_private_hooks_of_tfds_are_what_they_were():
    """`benchmark_data.tfds` overrides what TFDS does not promise. A new version: look, then raise ``TESTED``."""
    import inspect

    from packaging.version import Version
    from tensorflow_datasets.core import constants, dataset_builder, file_adapters

    first, last = map(Version, TESTED)
    assert first <= Version(tfds.__version__) <= last, f"TFDS {tfds.__version__} is none of {TESTED[0]} to {TESTED[1]}"
    hook = inspect.signature(dataset_builder.DatasetBuilder._download_and_prepare)
    assert list(hook.parameters) == ["self", "dl_manager", "download_config"]
    called = inspect.getsource(dataset_builder.DatasetBuilder.download_and_prepare)
    assert "self._download_and_prepare(" in called
    assert list(inspect.signature(dataset_builder.DatasetBuilder._get_filename_template).parameters)[:2] == [
        "self",
        "split_name",
    ]
    assert file_adapters.FileFormat.ARRAY_RECORD in file_adapters.ADAPTER_FOR_FORMAT
    assert constants.INCOMPLETE_PREFIX == "incomplete."


def arrays(batches):
    """Put batches of records into one array for each column."""
    batches = list(tfds.as_numpy(batches))
    return {name: np.concatenate([batch[name] for batch in batches]) for name in batches[0]}


@pytest.mark.parametrize("batch_size", [None, 3, 100])
@pytest.mark.parametrize("split", ["train", "train[3:6]", "test[1:]+train[:1]"])
def test_without_files_the_same_records(split, batch_size, data_dir, tiny_family):
    dataset = tiny_family.configs["plus_2"]
    loaded = tfds.load("offaxis_tiny_family/plus_2", split=split, data_dir=data_dir, batch_size=batch_size)
    direct = provider.as_dataset(dataset, split=split, batch_size=batch_size)
    assert len(direct) == len(loaded)
    for ours, theirs in zip(tfds.as_numpy(direct), tfds.as_numpy(loaded), strict=True):
        assert ours.keys() == theirs.keys()
        for name, column in theirs.items():
            assert ours[name].dtype == column.dtype, name
            assert np.array_equal(ours[name], column), name
    assert {k: v.dtype for k, v in direct.element_spec.items()} == {k: v.dtype for k, v in loaded.element_spec.items()}
    shapes = {name: tuple(spec.shape)[batch_size is not None :] for name, spec in direct.element_spec.items()}
    assert shapes == {name: feature.shape for name, feature in provider.features(dataset).items()}


def test_without_files_shuffling_is_exact_and_new_in_each_pass(tiny_grid):
    shuffled = provider.as_dataset(tiny_grid, batch_size=5, shuffle_seed=3, first_epoch=1)
    for epoch in (1, 2, 3):
        read = arrays(shuffled)
        assert read["index"].tolist() == reading.order(range(12), seed=3, epoch=epoch).tolist()
        assert np.array_equal(read["image"], tiny_grid.images(read["index"]))
    repeated = arrays(provider.as_dataset(tiny_grid, batch_size=5, shuffle_seed=3).repeat(2))["index"]
    assert repeated.tolist() == [row for epoch in (0, 1) for row in reading.order(range(12), seed=3, epoch=epoch)]


def test_without_files_processes_share_all_rows(tiny_grid):
    options = {"batch_size": 2, "shuffle_seed": 0}
    shares = [provider.as_dataset(tiny_grid, split="train[:11]", shard=(i, 3), **options) for i in range(3)]
    assert sorted(np.concatenate([arrays(share)["index"] for share in shares])) == list(range(11))
    even = [
        provider.as_dataset(tiny_grid, split="train[:11]", shard=(i, 3), drop_remainder=True, **options)
        for i in range(3)
    ]
    assert [arrays(share)["index"].shape for share in even] == [(2,)] * 3
    assert [len(share) for share in even] == [1] * 3
    single = provider.as_dataset(tiny_grid, split="train[:11]", shard=(0, 3), drop_remainder=True)
    assert (len(single), len(list(single))) == (4, 4)


@pytest.mark.parametrize("as_supervised", [False, True])
def test_without_files_the_size_of_batches_is_known_where_all_are_full(as_supervised, tiny_family):
    dataset = tiny_family.configs["plus_1"]  # which has extras
    options = {"batch_size": 3, "as_supervised": as_supervised}
    whole = provider.as_dataset(dataset, drop_remainder=True, **options)
    part = provider.as_dataset(dataset, **options)
    for batches, size in ((whole, 3), (part, None)):
        spec = batches.element_spec
        assert {each.shape[0] for each in (spec if as_supervised else spec.values())} == {size}
    rows = [len(batch[0] if as_supervised else batch["image"]) for batch in whole]
    assert rows == [3, 3]


@pytest.mark.parametrize("size", [0, -1])
def test_without_files_a_batch_without_rows_is_refused(size, tiny_grid):
    with pytest.raises(InvalidInput, match=f"batch_size: expected at least 1, received {size}"):
        provider.as_dataset(tiny_grid, batch_size=size)


def test_without_files_columns_and_supervised(tiny_grid):
    chosen = provider.as_dataset(tiny_grid, columns=["label_angle", "image"], batch_size=4)
    assert list(chosen.element_spec) == ["label_angle", "image"]
    [(images, factors)] = tfds.as_numpy(provider.as_dataset(tiny_grid, batch_size=12, as_supervised=True))
    assert np.array_equal(images, tiny_grid.images(range(12)))
    assert np.array_equal(factors, tiny_grid.labels(range(12)))
    single = list(tfds.as_numpy(provider.as_dataset(tiny_grid, as_supervised=True)))
    assert np.array_equal([image for image, _ in single], images)
    assert np.array_equal([ids for _, ids in single], factors)
    only = arrays(provider.as_dataset(tiny_grid, columns=["label_shape"], batch_size=4))
    assert only["label_shape"].tolist() == tiny_grid.labels(range(12))[:, 0].tolist()
    with pytest.raises(UnknownName, match=r"column of tiny_grid: .*Did you mean 'label_shape'"):
        provider.as_dataset(tiny_grid, columns=["label_shap"])


@pytest.mark.parametrize("batch_size", [None, 3])
def test_without_files_images_without_factors(batch_size):
    pixels = np.random.default_rng(0).integers(0, 256, (5, 4, 4, 3), np.uint8)
    mine = benchmark_data.from_images("mine", pixels)
    records = list(tfds.as_numpy(provider.as_dataset(mine, batch_size=batch_size)))
    assert [list(record) for record in records] == [["image", "index", "factors"]] * len(records)
    joined = np.stack if batch_size is None else np.concatenate
    assert np.array_equal(joined([record["image"] for record in records]), pixels)
    assert joined([record["index"] for record in records]).tolist() == list(range(5))
    assert joined([record["factors"] for record in records]).shape == (5, 0)
    pairs = list(tfds.as_numpy(provider.as_dataset(mine, batch_size=batch_size, as_supervised=True)))
    assert np.array_equal(joined([image for image, _ in pairs]), pixels)
    assert joined([factors for _, factors in pairs]).shape == (5, 0)


def test_without_files_by_name():
    for name in ("xysquares/spacing_4", "offaxis_xysquares/spacing_4"):
        [batch] = provider.as_dataset(name, batch_size=2).take(1)
        assert np.array_equal(batch["image"], benchmark_data.load("xysquares/spacing_4").images([0, 1]))
    with pytest.raises(UnknownName, match="split of xysquares/spacing_4"):
        provider.as_dataset("xysquares/spacing_4", split="trian")
    with pytest.raises(InvalidInput, match="name of a dataset: expected a string, such as 'dsprites', received 5"):
        provider.as_dataset(5)


def test_without_files_choices_that_cannot_be(tiny_grid):
    for options, message in (
        ({"columns": "image"}, r"columns of tiny_grid: expected a list of names, such as \['image'\], .* 'image'"),
        ({"columns": []}, r"columns of tiny_grid: expected a list of names, such as \['image'\], .* received \[\]"),
        (
            {"columns": ["image"], "as_supervised": True},
            "columns of tiny_grid: pass columns or as_supervised, not both",
        ),
        ({"first_epoch": -1, "shuffle_seed": 0}, "epoch: expected at least 0, received -1"),
        *(
            ({"shuffle_seed": seed}, re.escape(f"seed: expected an integer in [0, 2**64), received {seed}"))
            for seed in (-1, 1.5, 2**64)
        ),
        ({"split": tfds.even_splits("train", 2)[0]}, "split of tiny_grid: expected a string, such as 'train'"),
        ({"split": ["train"]}, "split of tiny_grid: expected a string, such as 'train'"),
        ({"split": None}, "split of tiny_grid: expected a string, such as 'train'"),  # not train and test mixed
    ):
        with pytest.raises(InvalidInput, match=message):
            provider.as_dataset(tiny_grid, **options)
    assert len(provider.as_dataset(tiny_grid, split=tfds.Split.TRAIN)) == 12
