"""Whether copies hold what they should: digests of decoded pixels and factors, of numpy, TFDS and Hugging Face copies.

A copy is read with the stock library, as anyone would read it, and put behind the interface of `Dataset`, so that one
and the same function hashes the original and every copy.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchmark_data import parallel
from benchmark_data.archives.archive import Cached
from benchmark_data.dataset import Dataset, Digest, Rows, in_blocks
from benchmark_data.errors import DamagedFile, InvalidInput, OffaxisError, needs
from benchmark_data.factors import FactorTable, Indices
from benchmark_data.publish import card, records
from benchmark_data.types import Images, Source

Kind: TypeAlias = Literal["tfds", "hf"]
Columns: TypeAlias = dict[str, NDArray[Any]]

COLUMNS = ("index", "label_", "value_")
"""How the names of the columns begin that are compared."""


class Copy(NamedTuple):
    """A copy of a dataset on disk."""

    kind: Kind
    """Who made it."""

    folder: Path
    """The ``data_dir`` of TFDS, or a folder that was published for Hugging Face."""

    shuffled: bool = False
    """Whether its rows stand in shuffled order."""

    def __str__(self) -> str:
        """Say which copy it is, as reports name it."""
        return f"{self.kind} {self.folder}{' (shuffled)' if self.shuffled else ''}"


class Finding(NamedTuple):
    """What `verify` says of the original or of one copy."""

    copy: str
    """``numpy``, or the kind of copy, its folder, and whether it is shuffled."""

    digest: Digest | None
    """None where the copy cannot be read."""

    problem: str
    """What is wrong, in a sentence; empty where nothing is."""


def check_readable(kind: Kind) -> None:
    """Check that what reads copies of a kind is installed.

    Args:
        kind: who makes them.

    Raises:
        MissingExtra: it is not.
    """
    needs(f"verify --{kind}", kind, *{"tfds": ("tensorflow_datasets",), "hf": ("datasets", "pyarrow")}[kind])


def verify(
    dataset: Dataset,
    copies: Sequence[tuple[Kind, Path]] = (),
    *,
    full: bool = False,
    progress: Callable[[int], None] = lambda rows: None,
) -> list[Finding]:
    """Compare copies of a dataset with the dataset.

    Args:
        dataset: the dataset.
        copies: what to compare: ``("tfds", the data_dir of TFDS)`` or ``("hf", a folder that was published)``. Both
            layouts are compared where both are there.
        full: look at every row instead of the 1,024 of `Dataset.quick_rows`.
        progress: is told how many rows were read since the last call, of `work` in all.

    Returns:
        A finding for the original and one for each copy.
    """
    dataset.prepare()
    original = block_digests(dataset, full=full, progress=progress)
    found, recorded = Digest.of(original), None
    if isinstance(dataset.source, Cached) and not full:
        recorded = Digest(**dataset.source.store().meta["digest"])
    changed = f"it was prepared with the quick digest {recorded}: remove its folder and prepare it again"
    findings = [Finding("numpy", found, "" if recorded in (None, found) else changed)]
    for copy in _layouts(dataset, copies):
        try:
            there = copy._replace(folder=copy.folder.absolute())  # workers may run in other folders
            # A shuffled file is read from its start to its end, so the dataset is hashed in that order once more.
            anew = full and copy.shuffled
            expected = original
            if anew:
                expected = block_digests(dataset, full=True, shuffled=True, progress=progress)
            blocks = block_digests(dataset, there, full=full, shuffled=copy.shuffled, progress=progress)
        except OffaxisError as error:
            findings.append(Finding(str(copy), None, str(error)))
            continue
        different = next((i for i, (a, b) in enumerate(zip(expected, blocks, strict=True)) if a != b), None)
        if different is None:
            findings.append(Finding(str(copy), found, ""))
        else:
            rows = _blocks(dataset, full, copy.shuffled)[different]
            problem = _difference(dataset, opened(dataset, *there), rows)
            findings.append(Finding(str(copy), None if anew else Digest.of(blocks), problem))
    return findings


def work(dataset: Dataset, copies: Sequence[tuple[Kind, Path]] = (), *, full: bool = False) -> int:
    """Count the rows that `verify` reads, of the dataset and of its copies.

    Args:
        dataset: the dataset.
        copies: as `verify` takes them.
        full: as `verify` takes it.

    Returns:
        A number of rows.
    """
    times = 1 + sum(2 if full and copy.shuffled else 1 for copy in _layouts(dataset, copies))
    return times * (len(dataset) if full else len(dataset.quick_rows()))


def _layouts(dataset: Dataset, copies: Sequence[tuple[Kind, Path]]) -> list[Copy]:
    """List the copies that are there, in either layout; where there is none, the one in order, which is missed."""
    found = []
    for kind, folder in copies:
        both = [Copy(kind, folder, shuffled) for shuffled in (False, True)]
        found += [copy for copy in both if _path(dataset, copy).is_dir()] or both[:1]
    return found


def _path(dataset: Dataset, copy: Copy) -> Path:
    """Return the folder of one layout of a copy."""
    if copy.kind == "hf":
        return copy.folder / card.config_name(dataset, shuffled=copy.shuffled)
    name, config = records.tfds_names(dataset, shuffled=copy.shuffled)
    return copy.folder / name / config / dataset.version


def digest(dataset: Dataset, *, full: bool = False, progress: Callable[[int], None] = lambda rows: None) -> Digest:
    """Hash a dataset as `Dataset.digest` does, on all cores.

    Args:
        dataset: the dataset.
        full: look at every row instead of the 1,024 of `Dataset.quick_rows`.
        progress: is told how many rows were hashed since the last call.

    Returns:
        The two hashes.
    """
    return Digest.of(block_digests(dataset, full=full, progress=progress))


def block_digests(
    dataset: Dataset,
    copy: Copy | None = None,
    *,
    full: bool,
    shuffled: bool = False,
    progress: Callable[[int], None],
) -> list[Digest]:
    """Hash the blocks of a dataset or of a copy of it, on all cores.

    Args:
        dataset: the dataset.
        copy: the copy to read instead of the dataset itself.
        full: look at every row instead of the 1,024 of `Dataset.quick_rows`.
        shuffled: take all rows in the order of a shuffled copy. It changes nothing where not all are looked at.
        progress: is told how many rows were hashed since the last call.

    Returns:
        The hashes of each block, in order.

    Raises:
        InvalidInput: there is no such copy.
        DamagedFile: the copy's rows are not in order, or names or values differ from the dataset's.
    """
    blocks = _blocks(dataset, full, shuffled)
    handle = parallel.handle(dataset)
    digests = []
    results = parallel.in_parallel(_block_digest, [(handle, copy, rows) for rows in blocks], None)
    for rows, hashed in zip(blocks, results, strict=True):
        progress(len(rows))
        digests.append(hashed)
    return digests


def _blocks(dataset: Dataset, full: bool, shuffled: bool) -> list[Rows]:
    rows: Rows = dataset.quick_rows()
    if full and shuffled:
        rows = np.concatenate([records.Shuffled(each, 0, len(each)).rows() for each in dataset.splits.values()])
    elif full:
        rows = range(len(dataset))
    return list(in_blocks(rows))


def _block_digest(handle: parallel.Handle, copy: Copy | None, rows: Rows) -> Digest:
    dataset = parallel.opened(handle)
    return (dataset if copy is None else opened(dataset, *copy)).block_digest(rows)


def _difference(dataset: Dataset, copy: Dataset, rows: Rows) -> str:
    """Describe where a copy first differs."""
    rows = np.asarray(rows)
    labels = (dataset.labels(rows) != copy.labels(rows)).any(axis=1)
    for start in range(0, len(rows), 64):
        part = rows[start : start + 64]
        pixels = (dataset.images(part) != copy.images(part)).any(axis=(1, 2, 3))
        for row, p, f in zip(part, pixels, labels[start:], strict=False):
            if p or f:
                return f"{'pixels' if p else 'factors'} differ, in row {row} and perhaps in others"
    return "digests differ"


def opened(dataset: Dataset, kind: Kind, folder: Path, shuffled: bool = False) -> Dataset:
    """Open a copy of a dataset as a dataset: pixels and class ids come from the copy.

    Args:
        dataset: the dataset that it is a copy of.
        kind: who made it.
        folder: the ``data_dir`` of TFDS, or a folder that was published for Hugging Face.
        shuffled: whether the layout is opened whose rows stand in shuffled order.

    Returns:
        The copy.

    Raises:
        InvalidInput: there is no such copy there.
        DamagedFile: the names of its factors' values are not the dataset's.
    """
    copy = {"tfds": _TFDS, "hf": _HF}[kind](dataset, Copy(kind, folder, shuffled))
    for factor in dataset.space.factors:
        names = copy.names(factor.name)
        if names != list(factor.labels):
            raise DamagedFile(
                f"label_{factor.name} of {kind} {folder}: expected {', '.join(factor.labels[:8])}, received "
                f"{', '.join(names[:8])}."
            )
    return dataclasses.replace(dataset, source=copy, space=_Labels(dataset, copy))


class _Labels(FactorTable):
    """The class ids in a copy; reading them checks rows and values too."""

    def __init__(self, dataset: Dataset, copy: _Copy) -> None:
        super().__init__(*dataset.space.factors, rows=len(dataset), read=self._every_label)
        self._dataset = dataset
        self._copy = copy

    def _labels(self, rows: Indices) -> Indices:
        columns = self._copy.columns(rows)
        if (columns["index"] != rows).any():
            row = int(np.argmax(columns["index"] != rows))
            raise DamagedFile(
                f"{self._copy.folder}: expected row {rows[row]}, received row {columns['index'][row]} in its place."
            )
        if not self.names:
            return np.empty((len(rows), 0), np.int64)
        labels = self.checked(np.stack([columns[f"label_{name}"] for name in self.names], axis=1))
        values = np.stack([columns[f"value_{name}"] for name in self.names], axis=1)
        if not np.array_equal(values, self.values(labels).astype(np.float32), equal_nan=True):
            raise DamagedFile(
                f"{self._copy.folder}: expected each label's own value, received values that differ from the labels."
            )
        return labels


class _Copy(Source):
    """A copy on disk, as a source of images. Its splits hold the rows that the dataset's splits name."""

    def __init__(self, dataset: Dataset, copy: Copy) -> None:
        self.folder = copy.folder
        self._dataset = dataset
        self._shuffled = copy.shuffled
        self._last: tuple[bytes, Images, Columns] | None = None

    def images(self, indices: Indices, labels: Indices) -> Images:
        """Read and decode images."""
        return self._read(indices)[1]

    def columns(self, indices: Indices) -> Columns:
        """Read ``index`` and every ``label_`` and ``value_`` of rows, each as an array (n,)."""
        return self._read(indices)[2]

    def _read(self, indices: Indices) -> tuple[bytes, Images, Columns]:
        """Read rows. The last ones are kept, since labels and images are asked for in turn."""
        if self._last is None or self._last[0] != indices.tobytes():
            images = np.empty((len(indices), *self._dataset.image_shape), np.uint8)
            columns: Columns = {}
            for split, positions, places in self._located(indices):
                with _reading(self.folder):
                    decoded, found = self._records(split, positions)
                for place, image in zip(places, decoded, strict=True):
                    if image.size != images[0].size or image.dtype != np.uint8:
                        raise DamagedFile(
                            f"row {indices[place]} of {self.folder}: expected uint8 of shape "
                            f"{self._dataset.image_shape}, received {image.dtype} of shape {image.shape}."
                        )
                    images[place] = image.reshape(self._dataset.image_shape)
                for name, column in found.items():
                    columns.setdefault(name, np.empty(len(indices), column.dtype))[places] = column
            self._last = indices.tobytes(), images, columns
        return self._last

    def names(self, factor: str) -> list[str]:
        """Read the names of a factor's values."""
        raise NotImplementedError

    def _records(self, split: str, positions: Indices) -> tuple[list[NDArray[Any]], Columns]:
        """Read records by position: decoded images, and the columns by name."""
        raise NotImplementedError

    def _located(self, indices: Indices) -> Iterator[tuple[str, Indices, Indices]]:
        """Return (split, positions in the split, places among ``indices``), each row once."""
        missing = np.ones(len(indices), bool)
        for split, rows in self._dataset.splits.items():
            inside = missing & np.isin(indices, np.asarray(rows))
            if inside.any():
                missing &= ~inside
                positions = (indices[inside] - rows.start) // rows.step
                if self._shuffled:
                    positions = _places(len(rows))[positions]
                yield split, positions, np.flatnonzero(inside)
        if missing.any():
            raise DamagedFile(f"{self.folder}: expected every row in a split, received {missing.sum()} in none.")


@functools.lru_cache(maxsize=4)
def _places(count: int) -> Indices:
    """Return where each row of a split stands in its shuffled layout, int64, shape (count,)."""
    return np.argsort(records.Shuffled(range(count), 0, count).rows())


@contextlib.contextmanager
def _reading(folder: Path) -> Iterator[None]:
    """Turn whatever a library raises over damaged files into an error in the project's form."""
    try:
        yield
    except OffaxisError:
        raise
    except Exception as error:
        raise DamagedFile(
            f"{folder}: expected files that can be read, received {type(error).__name__}: {error}. Make the copy again."
        ) from error


class _TFDS(_Copy):
    """A copy in TFDS's files, read with TFDS alone."""

    def __init__(self, dataset: Dataset, copy: Copy) -> None:
        check_readable("tfds")
        import tensorflow_datasets as tfds

        super().__init__(dataset, copy)
        path = _path(dataset, copy)
        try:
            self._builder = tfds.builder_from_directory(path)
            found = str(self._builder.info.file_format.value)
            if found == "array_record":
                self._sources = {split: self._builder.as_data_source(split) for split in dataset.splits}
        except (OSError, ValueError, KeyError) as error:
            raise _no_copy(dataset, path, f"offaxis data build {dataset.id} --to {copy.folder}") from error
        if found != "array_record":
            raise InvalidInput(
                f"{path}: expected array_record files, which can be read at random, received {found}. Build the copy "
                "again without a file format."
            )

    def names(self, factor: str) -> list[str]:
        return list(self._builder.info.features[f"label_{factor}"].names)

    def _records(self, split: str, positions: Indices) -> tuple[list[NDArray[Any]], Columns]:
        records = self._sources[split].__getitems__(positions.tolist())
        names = [name for name in records[0] if name.startswith(COLUMNS)]
        columns = {name: np.array([record[name] for record in records]) for name in names}
        return [record["image"] for record in records], columns


class _HF(_Copy):
    """A published folder: the Parquet files that ``datasets`` finds for a config, with the features they declare."""

    def __init__(self, dataset: Dataset, copy: Copy) -> None:
        check_readable("hf")
        import datasets
        import pyarrow.parquet as pq

        super().__init__(dataset, copy)
        config, folder = card.config_name(dataset, shuffled=copy.shuffled), copy.folder
        try:
            files = datasets.load_dataset_builder(os.fspath(folder), config).config.data_files
            self._files = {split: [pq.ParquetFile(path) for path in files[split]] for split in dataset.splits}
            schema = next(iter(self._files.values()))[0].schema_arrow
            self._features = datasets.Features.from_arrow_schema(schema)
        except (OSError, ValueError, KeyError) as error:
            raise _no_copy(dataset, folder, f"offaxis data publish {dataset.id} --to {folder}") from error

    def names(self, factor: str) -> list[str]:
        return list(self._features[f"label_{factor}"].names)

    def _records(self, split: str, positions: Indices) -> tuple[list[NDArray[Any]], Columns]:
        names = [name for name in self._features if name.startswith(COLUMNS)]
        table = self._rows(split, positions, ["image", *names])
        image = self._features["image"]
        decoded = [np.asarray(image.decode_example(row)) for row in table.column("image").to_pylist()]
        return decoded, {name: table.column(name).to_numpy() for name in names}

    def _rows(self, split: str, positions: Indices, columns: list[str]) -> Any:
        """Read rows from the row groups that hold them."""
        import pyarrow as pa

        groups = [(file, g) for file in self._files[split] for g in range(file.num_row_groups)]
        ends = np.cumsum([file.metadata.row_group(g).num_rows for file, g in groups])
        if positions.max() >= ends[-1]:
            raise DamagedFile(
                f"{split} of {self.folder}: expected row {positions.max()}, received {ends[-1]} rows in all."
            )
        found = np.searchsorted(ends, positions, side="right")
        needed = np.unique(found)
        tables = [groups[g][0].read_row_group(groups[g][1], columns=columns) for g in needed]
        starts = np.cumsum([0, *(len(t) for t in tables)])[:-1]
        offsets = positions - np.append(0, ends)[found] + starts[np.searchsorted(needed, found)]
        return pa.concat_tables(tables).take(offsets)


def _no_copy(dataset: Dataset, path: Path, remedy: str) -> InvalidInput:
    return InvalidInput(f"{path}: expected a whole copy of {dataset.id}, received none. Make one with: {remedy}")
