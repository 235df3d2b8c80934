"""Verify a dataset by its digests, and its copies for TFDS and Hugging Face row by row.

A copy is read with the stock library, as users read it.
"""

from __future__ import annotations

import importlib
import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchmark_data import files, parallel
from benchmark_data.archives import containers, store
from benchmark_data.archives.archive import Cached
from benchmark_data.dataset import Dataset, Digest, Rows, in_blocks
from benchmark_data.errors import DamagedFile, InvalidInput, OffaxisError, needs
from benchmark_data.factors import Indices
from benchmark_data.publish import card
from benchmark_data.publish import records as encoding
from benchmark_data.sources import chain

Library: TypeAlias = Literal["tfds", "hf"]
Read: TypeAlias = tuple[list[NDArray[Any]], dict[str, NDArray[Any]]]
"""Decoded images, and the columns that are compared, by name."""

BATCH = 256
"""Rows compared at a time."""


class Copy(NamedTuple):
    """A copy of a dataset on disk."""

    kind: Library
    """The library whose format it has."""

    folder: Path
    """The ``data_dir`` of TFDS, or the folder that ``offaxis data publish`` wrote."""

    def __str__(self) -> str:
        """Return its name in reports."""
        return f"{self.kind} {self.folder}"


class Finding(NamedTuple):
    """Result of `verify` for the original or one copy."""

    copy: str
    """``numpy``, or the kind of copy and its folder."""

    digest: Digest | None
    """The dataset's digest; None for a copy that differs."""

    problem: str
    """The problem, in a sentence; empty if there is none."""


def check_readable(kind: Library) -> None:
    """Import the packages that read copies of a kind.

    While TFDS is imported, no other thread, such as the one that shows progress, may import anything.

    Raises:
        MissingExtra: one is not installed.
    """
    packages = {"tfds": ("tensorflow_datasets",), "hf": ("datasets", "pyarrow")}[kind]
    needs(f"verify --{kind}", kind, *packages)
    for package in packages:
        importlib.import_module(package)


def verify(
    dataset: Dataset,
    copies: Sequence[tuple[Library, Path]] = (),
    *,
    full: bool = False,
    progress: Callable[[int], None] = lambda rows: None,
) -> list[Finding]:
    """Compare copies of a dataset with the dataset.

    Args:
        dataset: the dataset.
        copies: the copies: ``("tfds", the data_dir of TFDS)`` or ``("hf", the published folder)``.
        full: read every row instead of the 1,024 of `Dataset.quick_rows`, and every byte that `prepare` kept.
        progress: called with the number of rows read since the last call, of `count_rows` in all.

    Returns:
        A finding for the original and one for each copy.
    """
    dataset.prepare()
    dataset_digest, problem = digest(dataset, full=full, progress=progress), ""
    for cached in (source for source in chain(dataset) if isinstance(source, Cached)):
        recorded = cached.store().meta.get("digest")
        if recorded != cached.digest():
            problem = f"it was prepared with the quick digest {recorded}: remove {cached.folder} and prepare it again"
        elif full and (damaged := cached.damaged_files()):
            problem = f"{damaged[0]} was changed since it was prepared: remove {cached.folder} and prepare it again"
    findings = [Finding("numpy", dataset_digest, problem)]
    blocks = list(in_blocks(_selected_rows(dataset, full)))
    for kind, folder in copies:
        copy, problem = Copy(kind, files.user_path(folder)), ""  # absolute: workers may run in other folders
        tasks = [(parallel.handle(dataset), copy, rows) for rows in blocks]
        for rows, difference in zip(blocks, parallel.in_parallel(_describe_difference, tasks), strict=True):
            progress(len(rows))
            problem = problem or difference
        findings.append(Finding(f"{kind} {folder}", None if problem else dataset_digest, problem))
    return findings


def count_rows(dataset: Dataset, copies: Sequence[tuple[Library, Path]] = (), *, full: bool = False) -> int:
    """Count the rows that `verify` reads, of the dataset and of its copies."""
    return (1 + len(copies)) * len(_selected_rows(dataset, full))


def digest(dataset: Dataset, *, full: bool = False, progress: Callable[[int], None] = lambda rows: None) -> Digest:
    """Hash a dataset as `Dataset.digest` does, on all cores.

    Args:
        dataset: the dataset.
        full: read every row instead of the 1,024 of `Dataset.quick_rows`.
        progress: called with the number of rows hashed since the last call.

    Returns:
        The two hashes.
    """
    handle = parallel.handle(dataset)
    tasks = [(handle, rows) for rows in in_blocks(_selected_rows(dataset, full))]
    digests = []
    for (_, rows), block_digest in zip(tasks, parallel.in_parallel(_block_digest, tasks), strict=True):
        progress(len(rows))
        digests.append(block_digest)
    return Digest.of(digests)


def _block_digest(handle: parallel.Handle, rows: Rows) -> Digest:
    return parallel.open_handle(handle).block_digest(rows)


def _selected_rows(dataset: Dataset, full: bool) -> Rows:
    """Return the rows to compare."""
    return range(len(dataset)) if full else dataset.quick_rows()


def _describe_difference(handle: parallel.Handle, copy: Copy, rows: Rows) -> str:
    """Describe the first row in which a copy differs; empty if there is none."""
    dataset = parallel.open_handle(handle)
    try:
        reader = _READERS[copy.kind](dataset, copy)
        for factor in dataset.space.factors:
            if (names := reader.names(factor.name)) != list(factor.labels):
                return (
                    f"label_{factor.name} of {copy}: expected {', '.join(factor.labels[:8])}, received "
                    f"{', '.join(names[:8]) or 'no such column'}."
                )
        for batch in in_blocks(np.asarray(rows), BATCH):
            for split, positions, split_rows in _locate_rows(dataset, np.asarray(batch), copy):
                try:
                    read = reader.records(split, positions)
                except OffaxisError:
                    raise
                except Exception as error:  # whatever a library raises over damaged files
                    raise DamagedFile(
                        f"{copy.folder}: expected files that can be read, received {type(error).__name__}: {error}. "
                        f"Remove {reader.path} and make the copy again."
                    ) from error
                if problem := _compare(dataset, split_rows, *read):
                    return problem
    except OffaxisError as error:
        return str(error)
    return ""


def _compare(dataset: Dataset, rows: Indices, images: list[NDArray[Any]], columns: dict[str, NDArray[Any]]) -> str:
    """Describe the first difference between records and the rows that they should hold; empty if there is none."""
    if (mismatched := columns["index"] != rows).any():
        position = int(np.argmax(mismatched))
        return f"expected row {rows[position]}, received row {columns['index'][position]} in its place"
    labels = dataset.labels(rows)
    expected = dataset.images(rows)
    for i, row in enumerate(rows):
        image = images[i]
        if image.dtype != np.uint8 or image.size != expected[i].size:
            return (
                f"row {row}: expected uint8 of shape {dataset.image_shape}, received {image.dtype} of shape "
                f"{image.shape}"
            )
        if not np.array_equal(image.reshape(dataset.image_shape), expected[i]):
            return f"pixels differ, in row {row} and perhaps in others"
    for name, column in columns.items():
        expected_column = encoding.column(dataset, name, rows, labels)
        if not np.array_equal(column, expected_column, equal_nan=True):
            matches = (np.array_equal(*pair, equal_nan=True) for pair in zip(column, expected_column, strict=True))
            return f"column {name} differs, in row {rows[list(matches).index(False)]} and perhaps in others"
    return ""


def _compared_columns(dataset: Dataset) -> dict[str, type[np.generic]]:
    return {name: dtype for name, dtype in encoding.columns(dataset).items() if name != "image"}


def _locate_rows(dataset: Dataset, rows: Indices, copy: Copy) -> Iterator[tuple[str, Indices, Indices]]:
    """Return (split, positions in its files, rows) of some rows, each row once."""
    missing = np.ones(len(rows), bool)
    for split, split_rows in dataset.splits.items():
        positions, remainders = np.divmod(rows - split_rows.start, split_rows.step)
        in_split = missing & (remainders == 0) & (positions >= 0) & (positions < len(split_rows))
        if in_split.any():
            missing &= ~in_split
            yield split, positions[in_split], rows[in_split]
    if missing.any():
        raise DamagedFile(f"{copy.folder}: expected every row in a split, received {missing.sum()} in none.")


class _TFDSReader:
    """Reads a copy in TFDS's files, with TFDS alone."""

    def __init__(self, dataset: Dataset, copy: Copy) -> None:
        check_readable("tfds")
        import tensorflow_datasets as tfds

        self._column_names = list(_compared_columns(dataset))
        self.path = path = copy.folder / f"offaxis_{dataset.name}" / dataset.config / dataset.version
        try:
            self._builder = tfds.builder_from_directory(path)
            file_format = str(self._builder.info.file_format.value)
            if file_format == "array_record":
                self._sources = {split: self._builder.as_data_source(split) for split in dataset.splits}
        except Exception as error:  # of files that TFDS cannot read: what its parsers raise
            raise _missing_copy_error(dataset, path, "build", copy.folder) from error
        if file_format != "array_record":
            raise InvalidInput(
                f"{path}: expected array_record files, which can be read at random, received {file_format}. Remove "
                "them, and build the copy again."
            )

    def names(self, factor: str) -> list[str]:
        """Return the names of a factor's values."""
        features, column = self._builder.info.features, f"label_{factor}"
        return list(features[column].names) if column in features else []

    def records(self, split: str, positions: Indices) -> Read:
        """Read records by position."""
        examples = self._sources[split].__getitems__(positions.tolist())
        columns = {name: np.array([record[name] for record in examples]) for name in self._column_names}
        return [record["image"] for record in examples], columns


class _HFReader:
    """Reads a published folder: the Parquet files that ``datasets`` finds for a config."""

    def __init__(self, dataset: Dataset, copy: Copy) -> None:
        check_readable("hf")
        import datasets
        import pyarrow.parquet as pq

        config, folder = card.config_name(dataset), copy.folder
        self.path = folder / config
        self._folder, self._shape, self._columns = folder, dataset.image_shape, _compared_columns(dataset)
        self._lengths = {split: len(rows) for split, rows in dataset.splits.items()}
        try:
            data_files = datasets.load_dataset_builder(os.fspath(folder), config).config.data_files
            self._files = {split: [pq.ParquetFile(path) for path in data_files[split]] for split in dataset.splits}
            schema = next(iter(self._files.values()))[0].schema_arrow
            self._features = datasets.Features.from_arrow_schema(schema)
        except (OSError, ValueError, KeyError) as error:
            raise _missing_copy_error(dataset, folder, "publish", folder) from error

    def names(self, factor: str) -> list[str]:
        """Return the names of a factor's values."""
        return list(getattr(self._features.get(f"label_{factor}"), "names", []))

    def records(self, split: str, positions: Indices) -> Read:
        """Read records by position, from the row groups that hold them."""
        import pyarrow as pa

        groups = [(file, index) for file in self._files[split] for index in range(file.num_row_groups)]
        ends = np.cumsum([file.metadata.row_group(index).num_rows for file, index in groups])
        if ends[-1] != self._lengths[split]:
            raise DamagedFile(f"{split}: expected {self._lengths[split]:,} rows, received {ends[-1]:,}.")
        group_numbers = np.searchsorted(ends, positions, side="right")
        needed = np.unique(group_numbers)
        for file, index in (groups[i] for i in needed):
            containers.check_size(
                self._folder, f"a row group of {split}", file.metadata.row_group(index).total_byte_size
            )
        tables = [groups[i][0].read_row_group(groups[i][1], columns=["image", *self._columns]) for i in needed]
        starts = np.cumsum([0, *(len(t) for t in tables)])[:-1]
        offsets = positions - np.append(0, ends)[group_numbers] + starts[np.searchsorted(needed, group_numbers)]
        table = pa.concat_tables(tables).take(offsets)
        images = [_decode_image(row["bytes"] or b"", self._shape) for row in table.column("image").to_pylist()]
        return images, {name: np.array(table.column(name).to_pylist(), dtype) for name, dtype in self._columns.items()}


def _decode_image(content: bytes, shape: tuple[int, int, int]) -> NDArray[np.uint8]:
    """Decode a picture; one of another size is not decoded, but returned as zeros of its shape."""
    with store.open_image(content, "image of a copy") as image:
        if image.size == (shape[1], shape[0]):
            return np.asarray(image)
        return np.broadcast_to(np.uint8(0), (image.height, image.width, len(image.getbands())))


_READERS: dict[Library, Callable[[Dataset, Copy], _TFDSReader | _HFReader]] = {"tfds": _TFDSReader, "hf": _HFReader}


def _missing_copy_error(dataset: Dataset, path: Path, command: str, destination: Path) -> InvalidInput:
    remedy = f"offaxis data {command} {dataset.id} --to {shlex.quote(str(destination))}"
    advice = "Remove it and make" if command == "build" and path.exists() else "Make"  # TFDS keeps what is there
    return InvalidInput(f"{path}: expected a complete copy of {dataset.id}, received none. {advice} one with: {remedy}")
