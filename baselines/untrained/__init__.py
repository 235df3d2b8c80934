"""Untrained baselines, one file each: encoders whose codes show a metric's lowest and highest values on a dataset.

An untrained baseline is one file in ``baselines/untrained``, whose name is its own: a frozen dataclass called
``BASELINE`` whose fields are its parameters. `write` gives it a folder of the same form as a run's.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

import benchmark_data
from baselines import validation
from baselines.nets import backend
from baselines.record import digests_of, read_record, write_record
from baselines.run import task_rows
from baselines.run_folder import is_free, write_arrays
from benchmark_data import discovery, files
from benchmark_data.dataset import Dataset
from benchmark_data.errors import InvalidInput
from benchmark_data.factors import Indices
from benchmark_data.variants.splitting import Divided

__all__ = ["Untrained", "find", "names", "rows_to_fit", "write"]


@dataclasses.dataclass(frozen=True)
class Untrained:
    """Base of all untrained baselines."""

    packages: ClassVar[tuple[str, ...]] = ("numpy",)
    """The packages whose versions decide the codes."""

    def versions(self) -> dict[str, str]:
        """Return these versions, by name, as the record holds them."""
        return backend.versions(*self.packages)

    def codes(self, dataset: Dataset, rows: Indices, *, seed: int) -> NDArray[np.float32]:
        """Return codes for rows of a dataset.

        Args:
            dataset: the dataset.
            rows: int64, shape (n,).
            seed: the seed, for a baseline that is random.

        Returns:
            float32, shape (n, latents).

        Raises:
            NotImplementedError: always, of the base class.
        """
        raise NotImplementedError


def rows_to_fit(dataset: Dataset) -> range:
    """Return the rows that a baseline may be fitted to: of a divided dataset the part ``train``, else all.

    Args:
        dataset: the dataset.

    Returns:
        Rows, one after another.

    Example:
        >>> import benchmark_data
        >>> rows_to_fit(benchmark_data.load("dsprites/composition")), rows_to_fit(benchmark_data.load("dsprites"))
        (range(0, 192312), range(0, 737280))
    """
    return dataset.splits["train"] if isinstance(dataset.source, Divided) else range(len(dataset))


def names() -> tuple[str, ...]:
    """List the untrained baselines, one for each file in ``baselines/untrained``."""
    return discovery.names("baselines.untrained")


def find(name: str, parameters: Mapping[str, Any] | None = None) -> Untrained:
    """Make an untrained baseline.

    Args:
        name: its name.
        parameters: its parameters; those left out take their defaults.

    Returns:
        The baseline.

    Raises:
        UnknownName: there is no such baseline or parameter, with the near match.
        InvalidInput: a parameter has the wrong type or is out of range.

    Example:
        >>> find("pca", {"latents": 4})
        BASELINE(latents=4, sample=4096)
    """
    cls: type[Untrained] = discovery.find("baselines.untrained", name, kind="untrained baseline").BASELINE
    return validation.build(cls, parameters or {}, kind=f"parameter of {name}")


def write(name: str, dataset: Dataset | str, folder: str | os.PathLike[str], *, seed: int = 0) -> Path:
    """Write a baseline's codes for the leaderboard's rows, with the record of a run that took no steps.

    Args:
        name: the baseline.
        dataset: the dataset or its name, such as ``"xysquares/spacing_8"``.
        folder: the folder, created if missing, and overwritten if it holds the same baseline.
        seed: the seed, for a baseline that is random, in [0, 2**63).

    Returns:
        The folder, with ``run.json`` and ``codes.npz``.

    Raises:
        UnknownName: there is no such baseline or dataset.
        InvalidInput: the seed is out of range, or the folder holds something else or cannot be written.

    Example:
        >>> import tempfile
        >>> folder = write("pca", "dsprites", Path(tempfile.mkdtemp()) / "run")
        >>> sorted(file.name for file in folder.iterdir())
        ['codes.npz', 'run.json']
    """
    folder, seed = Path(folder), validation.seed(seed)
    dataset = benchmark_data.load(dataset)
    baseline = find(name)
    hyperparameters = dataclasses.asdict(baseline)
    identity = {"method": name, "dataset": dataset.id, "hyperparameters": hyperparameters, "seed": seed}
    existing = read_record(folder)
    if not is_free(folder) and any(existing.get(key) != value for key, value in identity.items()):
        raise InvalidInput(
            f"{folder}: expected an empty folder, or one that holds {name} for {dataset.id} with the same parameters "
            "and seed, received something else. Choose another folder."
        )
    rows = task_rows(dataset)
    codes = np.ascontiguousarray(baseline.codes(dataset, rows, seed=seed), np.float32)
    # The record first, since a folder without one is taken for something else after a kill; and at no moment are there
    # codes with a record that is not theirs.
    files.remove_file(folder / "codes.npz")
    write_record(
        folder,
        dataset,
        digests_of(dataset),
        method=name,
        budget={"device": backend.describe_host()},
        seed=seed,
        supervision="reference",
        hyperparameters=hyperparameters,
        versions=baseline.versions(),
    )
    write_arrays(folder / "codes.npz", {"indices": rows, "codes": codes})
    return folder
