"""Sources that are prepared once and cached: published archives, and transformations that are slower than reading.

An archive is downloaded or taken from the user, checked against published statistics, and kept as a folder of
`archives.store` that appears in one step.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark_data import console, expected_effects
from benchmark_data.archives import downloads, store
from benchmark_data.archives.checks import PublishedStatistics
from benchmark_data.archives.store import Encoding, Store, Writer
from benchmark_data.dataset import Dataset
from benchmark_data.errors import DamagedFile, InvalidInput, Unavailable
from benchmark_data.factors import Factor, FactorSpace, FactorTable, Indices
from benchmark_data.files import hash_of, user_path, write_json, written_atomically
from benchmark_data.sources import resized
from benchmark_data.types import Extra, Pixels, Source


@dataclasses.dataclass(frozen=True, kw_only=True)
class Cached(Source):
    """Base of `Archive` and `Precomputed`: pixels that are prepared once and then read from a memory-mapped cache.

    Args:
        id: full name of the dataset, which is also its path in the cache.
        version: version of the dataset; raised when the cached data change.
        image_shape: (height, width, channels).
        splits: the source's own splits, by name.
        encoding: the encoding of the pixels, see `benchmark_data.archives.store`.
        statistics: the published statistics that the pixels are checked against.
    """

    id: str
    version: str
    image_shape: tuple[int, int, int]
    splits: Mapping[str, range] = dataclasses.field(default_factory=dict)
    encoding: Encoding = "raw"
    statistics: PublishedStatistics = dataclasses.field(default_factory=PublishedStatistics)

    @property
    def space(self) -> FactorSpace | FactorTable:
        """The factors."""
        raise NotImplementedError

    @property
    def folder(self) -> Path:
        """Folder of the prepared dataset, which may not exist yet."""
        return store.root() / "datasets" / self.id / self.version

    @property
    def ready(self) -> bool:
        """Whether the dataset is prepared."""
        return os.path.isfile(self.folder / "meta.json")

    def store(self) -> Store:
        """Open the prepared dataset.

        Raises:
            Unavailable: it does not exist.
            DamagedFile: it is incomplete.
        """
        if not self.ready:
            raise Unavailable(
                f"{self.id}: expected a prepared dataset in {self.folder}, received nothing there. Run: offaxis data "
                f"prepare {self.id} (or benchmark_data.load({self.id!r}).prepare())"
            )
        return store.open_store(self.folder, (self.folder / "meta.json").stat().st_mtime_ns)

    def digest(self) -> dict[str, str]:
        """Hash the prepared dataset, to compare with the digest that `prepare` recorded in ``meta.json``."""
        return self._dataset_in_folder(self.folder).digest()._asdict()

    def damaged_files(self) -> list[str]:
        """List the files that changed since `prepare` wrote them; empty if it kept no hashes, as in old versions."""
        hashes: dict[str, str] = self.store().meta.get("sha256", {})
        return [name for name, sha256 in hashes.items() if hash_of(self.folder / name) != sha256]

    def images(self, indices: Indices, labels: Indices) -> Pixels:
        """Read images by row."""
        return self.store().images(indices)

    def label_table(self) -> NDArray[np.integer]:
        """Read the whole label table, and check that the factors have its class ids."""
        try:
            return self.space.checked(self.store().labels())
        except InvalidInput as error:
            path = self.folder / "labels.npy"
            raise DamagedFile(f"{path}: {error} Remove the folder and prepare the dataset again.") from error

    def extra(self, name: str, indices: Indices) -> NDArray[Any]:
        """Read rows of an extra array."""
        return self.store().extra(name)[indices]

    def dataset(self, **facts: Any) -> Dataset:
        """Declare the dataset of this source, named by its id.

        Args:
            **facts: further arguments of `Dataset`, such as ``description``, or overrides, such as ``effects``.

        Returns:
            The dataset.
        """
        name, _, config = self.id.partition("/")
        defaults: dict[str, Any] = {
            "name": name,
            "config": config,
            "version": self.version,
            "space": self.space,
            "source": self,
            "image_shape": self.image_shape,
            "splits": self.splits,
            "effects": expected_effects.as_published(self.space.names),
        }
        return Dataset(**defaults | facts)

    def prepare(self, *, manual_dir: Path | None = None, keep_downloads: bool = True) -> None:
        """Prepare the dataset, unless it is prepared: one process does it, and others wait for it.

        Args:
            manual_dir: a folder with the user's own copies of source files; by default that of ``OFFAXIS_MANUAL_DIR``.
            keep_downloads: keep the downloaded files, in case the mirrors disappear.

        Raises:
            Unavailable: no mirror served a file.
            DamagedFile: a file is not the published one.
            InvalidInput: the cache cannot be written, or the disk is too small.
        """
        manual_path = manual_dir or os.environ.get(downloads.MANUAL_DIR)
        manual_dir = user_path(manual_path) if manual_path else None
        if not self.ready:
            self._prepare_base(manual_dir=manual_dir, keep_downloads=keep_downloads)
            with store.locked(self.folder):
                if not self.ready:
                    if os.path.lexists(self.folder):  # said before hours of downloading
                        raise DamagedFile(
                            f"{self.folder}: expected a prepared dataset or no folder, received a folder without "
                            "meta.json. Remove the folder and prepare the dataset again."
                        )
                    self._build(manual_dir, keep_downloads)

    def _prepare_base(self, **options: Any) -> None:
        """Prepare the base."""

    def _build(self, manual_dir: Path | None, keep_downloads: bool) -> None:
        raise NotImplementedError

    def _write(self, fill: Callable[[Writer], None], sources: list[dict[str, object]]) -> None:
        """Fill a temporary folder, check the pixels, and rename it."""
        rows = len(self.space)
        with written_atomically(self.folder) as temporary, console.progress() as progress:
            task = progress.add_task(f"{self.id}: preparing", total=rows)
            writer = Writer(
                temporary,
                name=self.id,
                rows=rows,
                shape=self.image_shape,
                encoding=self.encoding,
                columns=len(self.space.factors) if isinstance(self.space, FactorTable) else 0,
                extras=self.extras,
                counted=(self.statistics.rows or range(rows)) if self.statistics.means else range(0),
                advance=lambda count: progress.advance(task, count),
            )
            with contextlib.closing(writer):
                fill(writer)
            writer.finish()
            meta = {
                "schema": 1,
                "id": self.id,
                "version": self.version,
                "rows": rows,
                "image_shape": self.image_shape,
                "encoding": self.encoding,
                "sources": sources,
                "notes": writer.notes,
            }
            progress.update(task, description=f"{self.id}: checking")
            meta["sha256"] = {path.name: hash_of(path) for path in sorted(temporary.iterdir())}
            write_json(temporary / "meta.json", meta)
            dataset = self._dataset_in_folder(temporary)
            meta["digest"] = dataset.digest()._asdict()
            meta["measured"] = self.statistics.check(dataset, writer.means)
            write_json(temporary / "meta.json", meta)

    def _dataset_in_folder(self, folder: Path) -> Dataset:
        """Return the dataset in a temporary folder, to be checked before the folder is renamed.

        It keeps no file of the folder mapped between batches: Windows renames no folder that has a mapped file.
        """
        space = self.space
        if isinstance(space, FactorTable):
            labels = np.array(Store(folder).labels())
            space = FactorTable(*space.factors, rows=len(labels), read=functools.partial(np.asarray, labels))
        return self.dataset(space=space, source=_Folder(folder), description="", citation="", license="", homepage="")


@dataclasses.dataclass(frozen=True)
class _Folder(Source):
    folder: Path

    def images(self, indices: Indices, labels: Indices) -> Pixels:
        # Opened for each batch: a map that stays open counts every page around a row as this process's memory, and
        # would keep Windows from renaming the folder.
        return Store(self.folder).images(indices)


@dataclasses.dataclass(frozen=True)
class Distribution:
    """A form in which an archive is distributed: its files, and how to read them.

    Args:
        files: the files.
        read: called with the archive, the path of each file by its name, and a writer; writes every row.
    """

    files: tuple[downloads.Download, ...]
    read: Callable[[Archive, Mapping[str, Path], Writer], None]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Archive(Cached):
    """A published file or set of files: downloaded or taken from the user, checked, and cached.

    Args:
        factors: the factors, as columns of a table or axes of a grid.
        rows: the number of images.
        grid: whether rows are a full grid of the factors, the last fastest. Otherwise the reader writes labels.
        arrays: extra arrays, by name.
        distributions: the forms in which it is distributed, best first; one whose files the user has is preferred.
    """

    factors: tuple[Factor, ...]
    rows: int
    grid: bool = True
    arrays: Mapping[str, Extra] = dataclasses.field(default_factory=dict)
    distributions: tuple[Distribution, ...]

    @functools.cached_property
    def space(self) -> FactorSpace | FactorTable:
        """The factors: a grid, or a table that is read from the prepared dataset."""
        if self.grid:
            return FactorSpace(*self.factors)
        return FactorTable(*self.factors, rows=self.rows, read=self.label_table)

    @property
    def extras(self) -> Mapping[str, Extra]:
        """The extra arrays."""
        return self.arrays

    @property
    def download_folder(self) -> Path:
        """Folder of the downloaded files."""
        return store.root() / "downloads" / self.id

    def _build(self, manual_dir: Path | None, keep_downloads: bool) -> None:
        distribution, files = self._fetch(manual_dir)
        sources: list[dict[str, object]] = [
            {"name": name, "origin": f.origin, "size": f.size, "sha256": f.sha256, "difference": f.difference}
            for name, f in files.items()
        ]
        paths = {name: file.path for name, file in files.items()}
        try:
            self._write(lambda writer: distribution.read(self, paths, writer), sources)
        except DamagedFile:
            for download in distribution.files:  # without a hash a file may be broken: the next call fetches it again
                path = paths[download.name]
                if not download.has_hash and path.parent == self.download_folder:
                    os.replace(path, path.with_name(f"{path.name}.refused"))
            raise
        if not keep_downloads:
            for path in paths.values():
                if path.parent == self.download_folder:
                    path.unlink()

    def _fetch(self, manual_dir: Path | None) -> tuple[Distribution, dict[str, downloads.Fetched]]:
        failures = []
        for distribution in sorted(self.distributions, key=lambda option: self._missing_share(option, manual_dir)):
            pixel_bytes = len(self.space) * math.prod(self.image_shape) // (1 if self.encoding == "raw" else 8)
            to_fetch = sum(downloads.bytes_left(file, self.download_folder, manual_dir) for file in distribution.files)
            store.require_space(self.folder, to_fetch + pixel_bytes)
            try:
                with console.transfers() as progress:
                    return distribution, {
                        file.name: downloads.fetch(file, self.download_folder, progress=progress, manual_dir=manual_dir)
                        for file in distribution.files
                    }
            except Unavailable as failure:
                failures.append(failure)
        raise Unavailable(" ".join(map(str, failures)))

    def _missing_share(self, distribution: Distribution, manual_dir: Path | None) -> float:
        """Return the share of a distribution's files that are not on this machine."""
        is_present = [
            downloads.find_manual(download, manual_dir) is not None or (self.download_folder / download.name).is_file()
            for download in distribution.files
        ]
        return 1 - sum(is_present) / len(is_present)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Precomputed(Cached):
    """Like `Derived`, but computed once and cached, for transformations that are slower than reading.

    Args:
        base: the dataset to transform, with the same rows.
        change: as for `Derived`.
    """

    base: Dataset
    change: Callable[[Pixels, Indices, Indices], Pixels]

    @functools.cached_property
    def space(self) -> FactorSpace | FactorTable:
        """The base's factors; class ids of a table are read from the prepared dataset, without the base."""
        space = self.base.space
        if isinstance(space, FactorSpace):
            return space
        return FactorTable(*space.factors, rows=len(space), read=self.label_table)

    @property
    def extras(self) -> Mapping[str, Extra]:
        """The base's extra arrays."""
        return self.base.extras

    def _prepare_base(self, **options: Any) -> None:
        self.base.prepare(**options)

    def _build(self, manual_dir: Path | None, keep_downloads: bool) -> None:
        def fill(writer: Writer) -> None:
            for rows, images in self.base.batches():
                labels = self.base.labels(rows)
                writer.images(rows, self.change(images, rows, labels))
                writer.labels(rows, labels)
                for name in self.extras:
                    writer.extra(name, rows, self.base.extra(name, rows))

        store.require_space(self.folder, len(self.space) * math.prod(self.image_shape))
        self._write(fill, [{"dataset": self.base.id, "version": self.base.version}])


FILTERS = {
    "lanczos": "Reduced by Pillow's Lanczos filter, as in disentanglement_lib.",
    "bilinear": "Reduced by Pillow's bilinear filter, as in disent.",
}
"""Filters of reduced archives, with the sentence for the dataset's description."""


def reduced_archive(base: Dataset, id: str, method: str, statistics: PublishedStatistics | None = None) -> Precomputed:
    """Return an archive with images reduced to 64 x 64 pixels.

    Args:
        base: the dataset at its original size.
        id: full name of the reduced dataset.
        method: one of Pillow's filters.
        statistics: the published statistics that the pixels are checked against, if any.
    """
    return Precomputed(
        id=id,
        version=base.version,
        image_shape=(64, 64, base.image_shape[2]),
        splits=base.splits,
        statistics=statistics or PublishedStatistics(),
        base=base,
        change=functools.partial(resized, size=64, method=method),
    )
