"""Every dataset for TensorFlow Datasets. Importing this module registers them.

>>> import tensorflow_datasets as tfds
>>> import benchmark_data.tfds
>>> "offaxis_xysquares" in tfds.list_builders()
True

`as_dataset` returns a ``tf.data.Dataset`` immediately: it renders pixels on demand, in batches, and needs no files.
``tfds.load("offaxis_xysquares/spacing_4", split="train[:1%]")`` and ``tfds.data_source("offaxis_xysquares/spacing_4",
split="train")`` return the same records, slower, from files that the first call builds for the whole dataset. A record
holds

- ``image``: uint8 (H, W, C), stored as PNG;
- ``index``: the row of the dataset, int64; records are in the order of rows;
- ``label_<factor>``: class id, a ``ClassLabel`` with names; ``value_<factor>``: value, float32;
- ``extra_<name>``: further arrays of the dataset, such as rotations, float32 or int64;
- ``factors``: all class ids, int64 (F,), in the order of ``info.metadata["factors"]``. It repeats the labels because
  ``as_supervised=True`` can name one feature only: it returns ``(image, factors)``.

Rows are in order, so a shuffle buffer over streamed files sees hardly any change in the first factors: `as_dataset`
shuffles all rows.

``info.metadata`` also holds the factors' sizes, kinds and units, the known defects and the quick digest.

Files are array_record by default, which TFDS itself reads by random access only (``tfds.data_source``,
``as_data_source``). The builders of this module also read them by ``tf.data``, if the name has no version: TFDS opens
``offaxis_x:1.0.0`` without its builder. ``file_format="tfrecord"`` makes files that ``tf.data`` reads anywhere.

``offaxis data build xysquares/spacing_4`` builds the files, too, as does ``tfds build --imports benchmark_data.tfds
offaxis_xysquares/spacing_4``, for which TFDS 4.9.10 needs the packages apache-beam and mlcroissant.
"""

from __future__ import annotations

import collections
import contextlib
import io
import itertools
import os
import secrets
import shutil
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import benchmark_data
from benchmark_data import console, discovery, parallel, reading
from benchmark_data.archives.store import locked
from benchmark_data.dataset import Dataset, Family
from benchmark_data.errors import DamagedFile, InvalidInput, MissingExtra, UnknownName, check_count
from benchmark_data.factors import Indices
from benchmark_data.files import unwritable, user_path
from benchmark_data.publish import records as encoding

try:
    import tensorflow_datasets as tfds
    from array_record.python import array_record_module
    from google.protobuf.json_format import ParseError
    from tensorflow_datasets.core import dataset_builder, file_adapters
except ImportError as error:
    raise MissingExtra("benchmark_data.tfds", (error.name or "tensorflow-datasets").split(".")[0], "tfds") from error

__all__ = ["as_dataset", "build", "builder", "builder_class", "features"]

UNBATCHED = 64
"""Rows that `as_dataset` reads at a time when it returns single records."""


def features(dataset: Dataset) -> Any:
    """Return the record schema of a dataset."""
    factors = dataset.space.factors
    return tfds.features.FeaturesDict(
        {
            "image": tfds.features.Image(shape=dataset.image_shape, encoding_format="png"),
            "index": tfds.features.Scalar(np.int64),
            "factors": tfds.features.Tensor(shape=(len(factors),), dtype=np.int64),
            **{
                f"extra_{name}": tfds.features.Tensor(shape=extra.shape, dtype=encoding.extra_dtype(extra))
                for name, extra in dataset.extras.items()
            },
            **{f"label_{f.name}": tfds.features.ClassLabel(names=list(f.labels)) for f in factors},
            **{f"value_{f.name}": tfds.features.Scalar(np.float32) for f in factors},
        }
    )


class Builder(dataset_builder.FileReaderBuilder, skip_registration=True):  # type: ignore[misc, call-arg]
    """Base class of the builders of all datasets; `builder_class` makes one for each."""

    declared: Dataset | Family
    """The dataset, or the family whose configurations are the builder's."""

    def __init__(self, *, file_format: Any = None, **kwargs: Any) -> None:
        try:
            super().__init__(file_format=file_format, **kwargs)
        except (ParseError, AssertionError) as error:  # of a dataset_info.json, which TFDS reads here
            if not hasattr(self, "_data_dir"):  # it has read none: there is no such version
                raise
            file, reason = self.data_path / "dataset_info.json", str(error).partition("\n")[0].strip()
            raise DamagedFile(f"{file}: {reason} Remove {file.parent}, and build it again.") from error
        if file_format is None and not self.info.splits:  # nothing is built yet
            self.info.set_file_format("array_record", override=True)

    @property
    def dataset(self) -> Dataset:
        """The dataset of this builder's configuration."""
        if isinstance(self.declared, Family):
            return self.declared.configs[self.builder_config.name]
        return self.declared

    def _create_builder_config(self, builder_config: Any, version: Any) -> Any:
        if isinstance(builder_config, str) and isinstance(self.declared, Family):
            name = builder_config.partition(":")[0]
            if name not in self.builder_configs:
                raise UnknownName(f"config of {self.name}", name, self.builder_configs)
        return super()._create_builder_config(builder_config, version)

    def _info(self) -> Any:
        dataset = self.dataset
        return tfds.core.DatasetInfo(
            builder=self,
            description=" ".join([dataset.description, *dataset.defects]),
            features=features(dataset),
            supervised_keys=("image", "factors"),
            disable_shuffling=True,
            homepage=dataset.homepage,
            citation=dataset.citation,
            license=dataset.license,
            metadata=tfds.core.MetadataDict(
                id=dataset.id,
                version=dataset.version,
                factors=[factor.as_json() for factor in dataset.space.factors],
                defects=list(dataset.defects),
                redistributable=dataset.redistributable,
            ),
        )

    def _as_dataset(
        self, split: Any, decoders: Any = None, read_config: Any = None, shuffle_files: bool = False
    ) -> Any:
        if shuffle_files and (read_config is None or read_config.enable_ordering_guard):
            config = f"/{self.builder_config.name}" if self.builder_config else ""
            raise InvalidInput(
                f"{self.name}{config}: shuffle_files=True is not supported: the order of records is fixed. Use "
                f"benchmark_data.tfds.as_dataset({self.dataset.id!r}, shuffle_seed=0), which shuffles all rows."
            )
        with _use_array_record_adapter():
            return super()._as_dataset(split, decoders, read_config, shuffle_files)

    def download_and_prepare(self, **kwargs: Any) -> None:
        """Build the files, on all cores, unless they are there. What a build that was killed left behind is removed."""
        path = Path(self.data_path)
        if path.exists():
            super().download_and_prepare(**kwargs)
        else:
            with locked(path):
                # TFDS writes to such a folder and renames it; whoever holds the lock is the only one who builds.
                for leftover in path.parent.glob(f"incomplete.*_{path.name}"):
                    shutil.rmtree(leftover, ignore_errors=True)
                try:
                    super().download_and_prepare(**kwargs)
                except OSError as error:
                    raise unwritable(self.data_path, error) from error
        if not self.info.splits:  # another process has built them since the builder was made
            self.info.read_from_directory(path)
        for file in (file for split in self.info.splits.values() for file in split.filepaths):
            if not file.exists():
                raise DamagedFile(f"{file}: expected a file, received none. Remove {path}, and build it again.")

    def _download_and_prepare(self, dl_manager: Any, download_config: Any = None) -> None:
        """Write all splits, bypassing TFDS's own encoding of one example after another."""
        config = download_config or tfds.download.DownloadConfig()
        dataset = self.dataset
        dataset.prepare(manual_dir=Path(config.manual_dir) if config.manual_dir else None)
        for factor in dataset.space.factors:
            for label in factor.labels:  # of each, TFDS keeps a line, stripped
                if not label or label != label.strip() or {"\n", "\r"} & {*label}:
                    raise InvalidInput(
                        f"factor {factor.name!r} of {dataset.id}: expected labels of one line, without spaces around "
                        f"them, received {label!r}."
                    )
        handle = parallel.handle(dataset)
        tasks = []
        templates = {}
        for split, rows in dataset.splits.items():
            rows = rows[: config.max_examples_per_split]
            shards = encoding.shards(dataset, rows, config.num_shards)
            templates[split] = self._get_filename_template(split)
            for i, shard_rows in enumerate(shards):
                path = templates[split].sharded_filepath(shard_index=i, num_shards=len(shards))
                tasks.append((split, (handle, shard_rows, os.path.abspath(path), self.info.file_format.value)))
        shard_sizes = parallel.in_parallel(write_shard, [task for _, task in tasks])
        lengths = collections.defaultdict(list)
        total_bytes: collections.Counter[str] = collections.Counter()
        counts = [len(shard_rows) for _, (_, shard_rows, *_) in tasks]
        with console.progress() as bars:
            bar = bars.add_task(f"{dataset.id}: rows written", total=sum(counts))
            for (split, _), count, num_bytes in zip(tasks, counts, shard_sizes, strict=True):
                lengths[split].append(count)
                total_bytes[split] += num_bytes
                bars.advance(bar, count)
        for stale in Path(self.data_path).glob("*.part"):
            stale.unlink(missing_ok=True)  # of a node that died, and may be cleaning up
        self.info.set_splits(
            tfds.core.SplitDict(
                tfds.core.SplitInfo(
                    name=split, shard_lengths=lengths[split], num_bytes=total_bytes[split], filename_template=template
                )
                for split, template in templates.items()
            )
        )
        self.info.metadata["digest"] = dataset.digest()._asdict()


def builder(dataset: Dataset | str, data_dir: str | os.PathLike[str] | None = None) -> Builder:
    """Return the builder of a dataset.

    Args:
        dataset: a published dataset, or its name, as for `as_dataset`; or one that `builder_class` registered.
        data_dir: where TFDS keeps its data; TFDS's own default if None.

    Returns:
        A ``tfds.core.DatasetBuilder``; ``download_and_prepare`` builds its files and ``as_dataset`` reads them.

    Raises:
        UnknownName: there is no such dataset.
        InvalidInput: TFDS finds another dataset under the name, or none: one of your own, or one that a rule divides.

    Example:
        >>> builder("xysquares/spacing_4").name
        'offaxis_xysquares'
    """
    if isinstance(dataset, str):
        dataset = benchmark_data.load(dataset.removeprefix("offaxis_"))
    try:
        maker = tfds.builder_cls(f"offaxis_{dataset.name}")
        declared = maker.declared.configs.get(dataset.config) if isinstance(maker.declared, Family) else maker.declared
    except ValueError:  # of which TFDS's own error is a kind
        declared = None
    if declared is not dataset:
        raise InvalidInput(
            f"files of {dataset.id} for TFDS: expected a published, undivided dataset, received another one. Read it "
            "with benchmark_data.tfds.as_dataset or benchmark_data.hf.as_dataset."
        )
    return maker(data_dir=data_dir and user_path(data_dir), config=dataset.config or None)


def as_dataset(
    dataset: str | Dataset,
    *,
    split: str = "train",
    batch_size: int | None = None,
    shuffle_seed: int | None = None,
    shard: tuple[int, int] = (0, 1),
    drop_remainder: bool = False,
    columns: Sequence[str] | None = None,
    as_supervised: bool = False,
    first_epoch: int = 0,
) -> Any:
    """Return a ``tf.data.Dataset`` of the records that ``tfds.load`` returns, without building files.

    Pixels are rendered, or read from what ``offaxis data prepare`` stored, a batch at a time.

    Args:
        dataset: ``"<dataset>"`` or ``"<dataset>/<config>"``, with or without ``offaxis_`` before it, or a dataset.
        split: as TFDS writes it: ``"train"``, ``"train[:10%]"``, ``"train+test"``.
        batch_size: records per element; None returns single records, which takes several times as long.
        shuffle_seed: seed in [0, 2**64) by which all rows are shuffled, anew in each pass: pass p has the order of
            epoch ``first_epoch`` + p of `benchmark_data.reading.order`, so do not zip the dataset with itself. None
            keeps their order.
        shard: (index of this process, number of processes), for training in several processes.
        drop_remainder: leave out a last batch that is not full, and give every process as many batches. The size of a
            batch is then part of ``element_spec``.
        columns: the columns of a record to return, such as ``["image", "label_shape"]``; all if None.
        as_supervised: return ``(image, factors)`` instead of dictionaries, as ``tfds.load`` does; without ``columns``.
        first_epoch: the epoch of the first pass, to resume a training; within an epoch, resume by ``skip``, since
            TensorFlow cannot checkpoint the iterator.

    Returns:
        A ``tf.data.Dataset``, prefetched, of known length.

    Raises:
        UnknownName: there is no such dataset, split or column.
        InvalidInput: the split is empty or no text; ``shard``, the epoch, the seed or the batch size is out of range;
            or both ``columns`` and ``as_supervised`` are given.
        Unavailable: a source of the dataset could not be fetched.

    Example:
        >>> batches = as_dataset("xysquares/spacing_4", split="train", batch_size=256, shuffle_seed=0)
        >>> batch = next(iter(batches))
        >>> batch["image"].shape, batch["label_x_R"].shape, len(batches)
        (TensorShape([256, 64, 64, 3]), TensorShape([256]), 1024)
    """
    import tensorflow as tf

    dataset = benchmark_data.load(dataset.removeprefix("offaxis_") if isinstance(dataset, str) else dataset)
    dataset.prepare()
    schema = features(dataset)
    if as_supervised and columns is not None:
        raise InvalidInput(f"columns of {dataset.id}: pass columns or as_supervised, not both.")
    column_names = (
        ["image", "factors"] if as_supervised else reading.check_columns(dataset, columns, encoding.columns(dataset))
    )
    rows = reading.rows_of(dataset, reading.check_split_text(dataset, split))
    size = UNBATCHED if batch_size is None else batch_size
    check_count("batch_size", size, 1)
    full_batches = drop_remainder and batch_size is not None
    static_size = size if full_batches else None  # what TensorFlow knows of a batch's size before there is one
    reading.check_order(shuffle_seed, first_epoch)
    rows_per_epoch = len(reading.order(rows, shard=shard, even=full_batches))
    starts = range(0, rows_per_epoch // size * size if full_batches else rows_per_epoch, size)
    epochs = itertools.count(first_epoch)

    def next_order() -> Indices:
        return reading.order(rows, seed=shuffle_seed, epoch=next(epochs), shard=shard, even=full_batches)

    def read_columns(indices: Indices) -> list[NDArray[Any]]:
        labels = dataset.space.labels(indices)
        return [encoding.column(dataset, column, indices, labels) for column in column_names]

    def load_records(indices: Any) -> Any:
        arrays = tf.numpy_function(read_columns, [indices], [schema[column].tf_dtype for column in column_names])
        for column, array in zip(column_names, arrays, strict=True):
            array.set_shape((static_size, *schema[column].shape))
        return tuple(arrays) if as_supervised else dict(zip(column_names, arrays, strict=True))

    def row_batches(order: Any) -> Any:
        batch_starts = tf.data.Dataset.range(starts.start, starts.stop, starts.step)
        return batch_starts.map(lambda start: order[start : start + size])

    orders = tf.data.Dataset.from_tensors(0).map(
        lambda _: tf.ensure_shape(tf.numpy_function(next_order, [], tf.int64), [None])
    )
    data = orders.flat_map(row_batches).map(load_records, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True)
    if batch_size is None:
        # As tf.data's own unbatch, which crashes where images have no factors: on a tensor of shape (n, 0).
        data = data.flat_map(lambda *batch: tf.data.Dataset.from_tensor_slices(batch if as_supervised else batch[0]))
    length = rows_per_epoch if batch_size is None else len(starts)
    return data.apply(tf.data.experimental.assert_cardinality(length)).prefetch(tf.data.AUTOTUNE)


def build(dataset: Dataset | str, data_dir: str | os.PathLike[str] | None = None) -> Path:
    """Build a dataset's files, unless they are there.

    Args:
        dataset: a dataset as `benchmark_data.load` returns it, or its name.
        data_dir: where TFDS keeps its data; TFDS's own default if None.

    Returns:
        The folder of the files.

    Raises:
        InvalidInput: the folder cannot be written or holds files of other pixels, the disk is full, or the dataset is
            not what its name stands for.
    """
    dataset = benchmark_data.load(dataset)
    tfds_builder = builder(dataset, data_dir)
    built_digest = (tfds_builder.info.metadata or {}).get("digest")
    if tfds_builder.info.splits and dataset.prepared:
        counts = {name: split.num_examples for name, split in tfds_builder.info.splits.items()}
        expected_counts = {name: len(rows) for name, rows in dataset.splits.items()}
        if counts != expected_counts or built_digest != dataset.digest()._asdict():
            raise InvalidInput(
                f"{tfds_builder.data_path}: expected files with the current pixels and labels of {dataset.id}, "
                "received files with other, unknown or fewer ones. Remove them, and build it again."
            )
    with contextlib.redirect_stdout(io.StringIO()):  # TFDS prints that it downloads a dataset of unknown size
        tfds_builder.download_and_prepare()
    return Path(tfds_builder.data_dir)


def write_shard(handle: parallel.Handle, rows: range, path: str, file_format: str) -> int:
    """Write one shard: the work of one worker process."""
    dataset = parallel.open_handle(handle)
    examples = encoding.Examples(dataset)
    num_bytes = 0

    def records() -> Iterator[tuple[int, bytes]]:
        nonlocal num_bytes
        for batch in encoding.batches(dataset, rows):
            for record in zip(batch.rows.tolist(), examples(batch), strict=True):
                num_bytes += len(record[1])
                yield record

    adapter = file_adapters.ADAPTER_FOR_FORMAT[file_adapters.FileFormat.from_value(file_format)]
    # A node that is thought dead may still write while another does its work again: each to a name of its own.
    temporary = f"{path}.{secrets.token_hex(4)}.part"
    try:
        # Parquet's adapter goes through its argument once for each batch.
        adapter.write_examples(temporary, list(records()) if file_format == "parquet" else records())
        os.replace(temporary, path)
    except Exception as error:
        if path in str(error):  # the C++ writers know no OSError, but name the file that they could not write
            raise OSError(str(error)) from error
        raise
    return num_bytes


class _ArrayRecordAdapter(file_adapters.ArrayRecordFileAdapter):  # type: ignore[misc]
    """TFDS's adapter for array_record files, with the ``tf.data`` reader that it lacks."""

    SUPPORTS_TF_DATA = True

    @classmethod
    def make_tf_data(cls, filename: Any, buffer_size: int | None = None) -> Any:
        """Read the records of one file in order."""
        import tensorflow as tf

        def read_blocks(path: bytes) -> Iterator[Any]:
            with contextlib.closing(array_record_module.ArrayRecordReader(path.decode())) as reader:
                for start in range(0, reader.num_records(), 256):
                    yield reader.read(start, min(start + 256, reader.num_records()))

        signature = tf.TensorSpec((None,), tf.string)
        return tf.data.Dataset.from_generator(read_blocks, args=(filename,), output_signature=signature).unbatch()


_adapter_lock = threading.Lock()


@contextlib.contextmanager
def _use_array_record_adapter() -> Iterator[None]:
    """Let TFDS find `_ArrayRecordAdapter` while a pipeline is made, and only then: others keep TFDS's own adapter."""
    adapters, key = file_adapters.ADAPTER_FOR_FORMAT, file_adapters.FileFormat.ARRAY_RECORD
    with _adapter_lock:
        original = adapters[key]
        adapters[key] = _ArrayRecordAdapter
        try:
            yield
        finally:
            adapters[key] = original


def builder_class(declared: Dataset | Family) -> type[Builder]:
    """Make and register the builder of a dataset or a family."""
    members = tuple(declared.configs.values()) if isinstance(declared, Family) else (declared,)
    name = f"offaxis_{members[0].name}"
    attributes: dict[str, Any] = {
        "__doc__": members[0].description,
        "__module__": __name__,
        "name": name,
        "declared": declared,
        "VERSION": tfds.core.Version(members[0].version),
    }
    if isinstance(declared, Family):
        attributes["BUILDER_CONFIGS"] = [
            tfds.core.BuilderConfig(name=member.config, version=member.version) for member in members
        ]
        attributes["DEFAULT_BUILDER_CONFIG_NAME"] = declared.default
    return type(name, (Builder,), attributes)


for _name in benchmark_data.names():
    globals()[f"offaxis_{_name}"] = builder_class(
        discovery.find("benchmark_data.datasets", _name, kind="dataset").DATASET
    )
