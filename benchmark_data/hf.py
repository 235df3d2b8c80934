"""Every dataset for Hugging Face ``datasets``: without files, or as a folder that is read without Offaxis.

`as_dataset` returns a ``datasets.Dataset`` immediately: it renders pixels on demand, in batches.
`publish` writes Parquet and a card: upload the folder to the Hub, or read it where it is with
``datasets.load_dataset(FOLDER, "spacing_4")``.

A record holds

- ``image``: PNG, decoded to a Pillow image;
- ``index``: the row of the dataset, int64; records are in the order of rows;
- ``factors``: all class ids, int64 (F,);
- ``extra_<name>``: further arrays of the dataset, such as rotations, float32 or int64;
- ``label_<factor>``: class id, a ``ClassLabel`` with names; ``value_<factor>``: value, float32.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import operator
import os
import re
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

import benchmark_data
from benchmark_data import parallel, reading
from benchmark_data.dataset import Dataset, Digest
from benchmark_data.errors import DamagedFile, InvalidInput, MissingExtra
from benchmark_data.factors import Indices
from benchmark_data.files import exclusive, read_json, user_path, write_json, write_text, written_atomically
from benchmark_data.inspect import contact_sheets
from benchmark_data.publish import card, verify
from benchmark_data.publish import records as encoding
from benchmark_data.types import Extra

try:
    import datasets
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError as error:
    raise MissingExtra("benchmark_data.hf", (error.name or "datasets").split(".")[0], "hf") from error

__all__ = ["as_dataset", "publish", "table"]

ROWS = 100
"""Rows of a Parquet row group, as the Hub's viewer wants of images: what a reader loads to see any of them."""


def features(dataset: Dataset) -> Any:
    """Return the record schema of a dataset."""
    names = dataset.space.names
    count = len(names) or -1  # Arrow has no list of a fixed length of 0
    return datasets.Features(
        {
            "image": datasets.Image(),
            "index": datasets.Value("int64"),
            "factors": datasets.List(datasets.Value("int64"), length=count),
            **{f"extra_{name}": _nested_feature(extra) for name, extra in dataset.extras.items()},
            **{f"label_{f.name}": datasets.ClassLabel(names=list(f.labels)) for f in dataset.space.factors},
            **{f"value_{name}": datasets.Value("float32") for name in names},
        }
    )


def _nested_feature(extra: Extra) -> Any:
    feature = datasets.Value(np.dtype(encoding.extra_dtype(extra)).name)
    for size in reversed(extra.shape):
        feature = datasets.List(feature, length=size)
    return feature


def table(dataset: Dataset, batch: encoding.Encoded) -> Any:
    """Put encoded rows into an Arrow table."""
    image = pa.StructArray.from_arrays(
        [pa.array(batch.pngs, pa.binary()), pa.nulls(len(batch.rows), pa.string())], ["bytes", "path"]
    )
    return pa.Table.from_arrays(
        [image, *_arrow_columns(dataset, batch.rows, batch.labels, batch.extras)], schema=features(dataset).arrow_schema
    )


def _arrow_columns(dataset: Dataset, rows: Indices, labels: Indices, extras: Mapping[str, NDArray[Any]]) -> list[Any]:
    """Return the columns of some records but the image, as Arrow arrays."""
    values = dataset.space.values(labels).astype(np.float32)
    return [
        pa.array(rows),
        _fixed_size_lists(labels) if labels.shape[1] else pa.array([[]] * len(rows), pa.list_(pa.int64())),
        *map(_fixed_size_lists, extras.values()),
        *map(pa.array, labels.T),
        *map(pa.array, values.T),
    ]


def _fixed_size_lists(array: NDArray[Any]) -> Any:
    """Return an array of any number of axes as Arrow's lists of fixed lengths."""
    column = pa.array(array.ravel())
    for size in reversed(array.shape[1:]):
        column = pa.FixedSizeListArray.from_arrays(column, size)
    return column


def as_dataset(
    dataset: str | Dataset,
    *,
    split: str = "train",
    shuffle_seed: int | None = None,
    epoch: int = 0,
    shard: tuple[int, int] = (0, 1),
    columns: Sequence[str] | None = None,
) -> Any:
    """Return a dataset for Hugging Face ``datasets`` without writing files; images are numpy arrays.

    The column ``image`` stores rows of the dataset, and its feature renders the pixels when they are read, or reads
    them from what ``offaxis data prepare`` stored. Read many at a time, by ``data[:256]`` or
    ``data.iter(batch_size=256)``; one by one takes many times as long. ``map``, ``filter``, ``sort``, ``select``,
    ``shuffle`` and ``datasets.distributed.split_dataset_by_node`` work as usual; ``shuffle_seed`` reads faster than
    ``shuffle``.

    Args:
        dataset: ``"<dataset>"`` or ``"<dataset>/<config>"``, or a dataset of your own.
        split: such as ``"train"``, ``"train[:10%]"`` or ``"train+test"``.
        shuffle_seed: seed in [0, 2**64) by which `benchmark_data.reading.order` shuffles all rows; None keeps their
            order.
        epoch: the epoch of that order, from 0.
        shard: (index of this process, number of processes).
        columns: the columns of a record to return, such as ``["image", "label_shape"]``; all if None.

    Returns:
        A ``datasets.Dataset``. Its arrays are numpy's; an image is uint8 of shape (H, W, C), grey ones too. Images that
        ``map`` returns, and all after ``flatten_indices``, are lists; ``with_format("numpy")`` makes arrays of them.
        The formats of ``datasets`` widen pixels to int64: make them uint8 again before a transform that scales by
        dtype. ``to_parquet``, ``to_pandas`` and, after ``with_format("numpy")``, ``save_to_disk`` keep rows, not
        pixels: use `publish` for those.

    Raises:
        UnknownName: there is no such dataset, config, split or column.
        InvalidInput: the split is empty or no text, or ``shard``, the epoch or the seed is out of range.
        Unavailable: a source of the dataset could not be fetched.

    Example:
        >>> data = as_dataset("xysquares/spacing_4", split="train", shuffle_seed=0)
        >>> batch = next(data.iter(batch_size=256))
        >>> batch["image"].shape, batch["label_x_R"].shape, len(data)
        ((256, 64, 64, 3), (256,), 262144)
    """
    dataset = benchmark_data.load(dataset)
    dataset.prepare()
    columns = reading.check_columns(dataset, columns, encoding.columns(dataset))
    # datasets.Split.TRAIN stands for its name.
    split_text = str(split) if isinstance(split, datasets.NamedSplit) else split
    split_rows = reading.rows_of(dataset, reading.check_split_text(dataset, split_text))
    rows = reading.order(split_rows, seed=shuffle_seed, epoch=epoch, shard=shard)
    transform = _Decoder(parallel.handle(dataset))
    schema = features(dataset)
    schema["image"] = DrawnImage(transform.key)
    labels, source = dataset.space.labels(rows), dataset.source  # asked themselves, since a process may have no rows
    extras = {key: source.extra(key, rows).astype(encoding.extra_dtype(extra)) for key, extra in dataset.extras.items()}
    arrays = dict(zip(schema, [pa.array(rows), *_arrow_columns(dataset, rows, labels, extras)], strict=True))
    schema = datasets.Features({column: schema[column] for column in columns})
    arrow_table = pa.Table.from_arrays([arrays[column] for column in columns], schema=schema.arrow_schema)
    return datasets.Dataset(arrow_table).with_transform(transform)


_opened: dict[str, Dataset] = {}
"""Datasets whose images this process draws, by what `DrawnImage` calls them."""


@dataclasses.dataclass
class DrawnImage:
    """A feature of ``datasets``: a row of a dataset, which is decoded to its image. It travels with its dataset.

    Args:
        dataset: the name of a published dataset, or what `_Decoder` opened one under.
    """

    dataset: str
    id: str | None = dataclasses.field(default=None, repr=False)
    pa_type: ClassVar[Any] = pa.int64()
    _type: str = dataclasses.field(default="OffaxisImage", init=False, repr=False)

    def __call__(self) -> Any:
        """Return the type in which Arrow stores it."""
        return self.pa_type

    def __reduce__(self) -> tuple[Any, ...]:
        decoder = _Decoder(parallel.handle(_opened[self.dataset]), self.dataset) if self.dataset in _opened else None
        return _restore_feature, (self.dataset, decoder)

    def encode_example(self, value: Any) -> int:
        """Take a row; another image is no row, and changes the feature of the column."""
        return operator.index(value.row if isinstance(value, _LazyImage) else value)

    def decode_example(self, value: int, token_per_repo_id: object = None) -> Any:
        """Return what becomes the image."""
        return _LazyImage(self.dataset, value)


with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it says that it is experimental
    datasets.features.features.register_feature(DrawnImage, "OffaxisImage")


def _restore_feature(dataset: str, transform: _Decoder | None) -> DrawnImage:
    """Make a feature again in another process, where its dataset was opened with ``transform``."""
    return DrawnImage(dataset)


class _LazyImage:
    """An image that is drawn when it is looked at, uint8 (H, W, C)."""

    def __init__(self, dataset: str, row: int) -> None:
        self.dataset, self.row = dataset, row

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return _draw_images([self])[0].astype(dtype or np.uint8, copy=False)


def _draw_images(lazy_images: Sequence[_LazyImage]) -> NDArray[np.uint8]:
    """Draw images of one dataset at once."""
    name = lazy_images[0].dataset
    dataset = _opened[name] if name in _opened else benchmark_data.load(name)
    return dataset.images([image.row for image in lazy_images])


class _Decoder:
    """Turns batches of a table into numpy arrays. It travels to other processes with its dataset, or with its name."""

    def __init__(self, handle: parallel.Handle, key: str = "") -> None:
        self.handle = handle
        self.key = handle if isinstance(handle, str) else key or f"{handle.id} {id(handle):x}"
        _opened[self.key] = parallel.open_handle(handle)

    def __reduce__(self) -> tuple[Any, ...]:
        return _Decoder, (self.handle, self.key)

    def __deepcopy__(self, memo: object) -> _Decoder:
        return self  # `datasets` copies transforms with their tables; nothing in this one changes

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Decoder) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        dtypes = encoding.columns(_opened[self.key])
        return {column: self._decode_column(column, values, dtypes) for column, values in batch.items()}

    def _decode_column(self, column: str, values: list[Any], dtypes: Mapping[str, Any]) -> Any:
        if values and isinstance(values[0], _LazyImage):
            return _draw_images(values)
        if column not in dtypes or column == "image":
            return values
        dtype = np.dtype(dtypes[column])
        if not values:
            return np.empty(0, dtype)
        array = np.asarray(values)
        # A column that `map` or a cast made anew keeps what it holds now.
        return array.astype(dtype, copy=False) if array.dtype.kind == dtype.kind else array


def publish(
    dataset: Dataset | str,
    folder: str | os.PathLike[str],
    *,
    progress: Callable[[int], None] = lambda rows: None,
) -> None:
    """Write a dataset as a folder that ``datasets.load_dataset(folder, config)`` and the Hub read without our code.

    The folder gets ``<config>/<split>-*.parquet``, ``<config>/offaxis.json`` (what the config holds, with digests),
    ``<config>/contact_sheet.png``, and for all configs together ``README.md`` (the card). Publishing another config of
    the same dataset into the folder extends the card. Files appear when they are complete; whole ones of the same data
    are kept, so that an interrupted publication resumes.

    Args:
        dataset: the dataset, or its name.
        folder: where to write. Made if it is not there.
        progress: called with the number of rows hashed or written since the last call; every row counts twice.

    Raises:
        InvalidInput: the licence forbids copies, the folder cannot be written, holds another dataset, or is being
            written by another process of this machine, or the disk is full.

    Example:
        >>> import dataclasses, tempfile, numpy as np
        >>> own = benchmark_data.from_images("mine", np.zeros((3, 8, 8, 1), np.uint8), {"size": [0, 1, 2]})
        >>> folder = tempfile.mkdtemp()
        >>> publish(dataclasses.replace(own, license="CC0-1.0", redistributable=True), folder)
        >>> datasets.load_dataset(folder, split="train")["label_size"][:]
        [0, 1, 2]
    """
    dataset, folder = benchmark_data.load(dataset), user_path(folder)  # absolute: workers may run in other folders
    check_publishable(dataset, folder)
    dataset.prepare()
    refusal = InvalidInput(f"Another process is writing {folder}. Wait for it, or use another folder.")
    folder_hash = hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:16]
    lock = Path(tempfile.gettempdir(), f"offaxis-{folder_hash}.lock")  # it stays, so not beside the copy
    with exclusive(lock, what=lock, refusal=refusal):
        _publish_locked(dataset, folder, progress)


def _publish_locked(dataset: Dataset, folder: Path, progress: Callable[[int], None]) -> None:
    """Write what `publish` says, into a folder that is this process's alone."""
    config = card.config_name(dataset)
    handle = parallel.handle(dataset)
    quick = verify.digest(dataset)
    full = verify.digest(dataset, full=True, progress=progress)
    digest = quick if isinstance(handle, str) else full
    tasks, splits = [], []
    for split, rows in dataset.splits.items():
        shards = encoding.shards(dataset, rows)
        pattern = f"{config}/{split}-*-of-{len(shards):05d}.parquet"
        splits.append({"name": split, "files": pattern, "rows": len(rows)})
        for i, shard_rows in enumerate(shards):
            path = folder / config / f"{split}-{i:05d}-of-{len(shards):05d}.parquet"
            tasks.append((handle, shard_rows, path, _signature(dataset, digest, shard_rows)))
    record_path = folder / config / card.RECORD
    if record_path.exists() and any(_stored_signature(path) != signature.encode() for _, _, path, signature in tasks):
        # It and the card do not describe what is written now; a process that dies leaves neither.
        (folder / "README.md").unlink(missing_ok=True)
        record_path.unlink()
    for (_, shard_rows, *_), _ in zip(tasks, parallel.in_parallel(_write_shard, tasks), strict=True):
        progress(len(shard_rows))
    shard_paths = {path for _, _, path, _ in tasks}
    for stale in {*(folder / config).glob("*-of-*.parquet"), *(folder / config).glob(".*.part")} - shard_paths:
        # Of an earlier version that was cut differently, or of a process that was killed and may be cleaning up.
        stale.unlink(missing_ok=True)
    sheet_path = folder / config / card.SHEET
    with written_atomically(sheet_path) as temporary:
        contact_sheets.contact_sheet(dataset).save(temporary, format="png")
    digests = {"quick": quick._asdict(), "full": full._asdict()}
    write_json(record_path, card.record(dataset, splits=splits, digests=digests))
    records = [read_json(path) for path in folder.glob(f"*/{card.RECORD}")]
    write_text(folder / "README.md", card.readme(records))


def check_publishable(dataset: Dataset, folder: Path) -> None:
    """Check that a dataset may be published to a folder, before any work is done."""
    if not dataset.redistributable:
        published_remedy = "Every user has to prepare it from its source: offaxis data prepare"
        own_remedy = (
            "Read it with benchmark_data.hf.as_dataset. If you may redistribute it, state that first: "
            "dataclasses.replace(dataset, license=..., redistributable=True)."
        )
        raise InvalidInput(
            f"publish {dataset.id}: expected a licence that permits redistribution, received {dataset.license}. "
            f"{published_remedy if parallel.is_loadable_by_name(dataset) else own_remedy}"
        )
    if set("*?[") & set(str(folder)) or "::" in str(folder):
        raise InvalidInput(
            f"{folder}: expected a path without *, ?, [ and ::, which `datasets` reads as patterns. Rename it."
        )
    for split in dataset.splits:
        if not re.fullmatch(r"\w+(\.\w+)*", split):
            raise InvalidInput(f"publish {dataset.id}: expected split names of letters and digits, received {split!r}.")
    records = {path: read_json(path) for path in folder.glob(f"*/{card.RECORD}")}
    names = {r["name"] if isinstance(r, dict) and "name" in r else "other files" for r in records.values()}
    entries = [*(path for path in folder.glob("[!.]*") if path.is_file()), *folder.glob("[!.]*/[!.]*")]
    if not records and not all(_stored_signature(path) for path in entries if path.name != card.SHEET):
        names = {"other files"}
    others = names - {dataset.name}
    if others:
        raise InvalidInput(
            f"{folder}: expected an empty folder or one of {dataset.name}, received a folder of {', '.join(others)}. "
            "Publish each dataset to its own folder; configs of one dataset share it."
        )
    for path, record in records.items():
        if missing := sorted(card.record(dataset, splits=[], digests={}).keys() - record.keys()):
            raise DamagedFile(
                f"{path}: expected a record with {missing[0]}, received none. Remove it, and publish again."
            )


def _signature(dataset: Dataset, digest: Digest, rows: range) -> str:
    """Describe what a shard is made from: a shard that says the same need not be written again."""
    factors = [factor.as_json() for factor in dataset.space.factors]
    encoding_settings = [rows.start, rows.stop, rows.step, encoding.COMPRESSOR, encoding.LEVEL, pa.__version__, ROWS]
    extras = [hashlib.sha256(dataset.extra(name, rows).tobytes()).hexdigest() for name in dataset.extras]
    return json.dumps([dataset.id, dataset.version, factors, *digest, *encoding_settings, *extras])


def _write_shard(handle: parallel.Handle, rows: range, path: Path, signature: str) -> None:
    """Write one Parquet file, unless it is there."""
    dataset = parallel.open_handle(handle)
    schema = features(dataset).arrow_schema
    schema = schema.with_metadata({**schema.metadata, b"offaxis": signature.encode()})
    if _stored_signature(path) != signature.encode():
        repeated = [name for name in schema.names if name.startswith(("label_", "value_"))]
        options: dict[str, Any] = {"compression": "zstd", "use_dictionary": repeated, "write_page_index": True}
        with written_atomically(path) as temporary, pq.ParquetWriter(temporary, schema, **options) as writer:
            pending = schema.empty_table()
            for batch in encoding.batches(dataset, rows):
                pending = pa.concat_tables([pending, table(dataset, batch).replace_schema_metadata(schema.metadata)])
                complete_rows = len(pending) // ROWS * ROWS
                if complete_rows:
                    writer.write_table(pending.slice(0, complete_rows), row_group_size=ROWS)
                    pending = pending.slice(complete_rows)
            if len(pending):
                writer.write_table(pending, row_group_size=ROWS)


def _stored_signature(path: Path) -> bytes:
    """Return the `_signature` that a file of ours holds; of another file, or a damaged one, nothing."""
    try:
        return (pq.read_metadata(path).metadata or {}).get(b"offaxis", b"")
    except (OSError, pa.ArrowInvalid):
        return b""
