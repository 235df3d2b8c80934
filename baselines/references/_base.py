"""What a reference is: an untrained encoder, whose codes show where a metric's floor and ceiling are on a dataset.

A reference is one file in ``baselines/references``: a frozen dataclass called ``REFERENCE`` whose fields are its
parameters. `write` gives it a folder of the same form as a run's, for the leaderboard.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from baselines import validation
from baselines.nets import backend
from baselines.run import is_free, task_rows, write_arrays, write_record
from benchmark_data import discovery, files
from benchmark_data.dataset import Dataset
from benchmark_data.errors import InvalidInput
from benchmark_data.factors import Indices
from benchmark_data.variants.splitting import Divided


@dataclasses.dataclass(frozen=True)
class Reference:
    """Base of all references."""

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
            seed: the seed, for a reference that is random.

        Returns:
            float32, shape (n, latents).
        """
        raise NotImplementedError


def rows_to_fit(dataset: Dataset) -> range:
    """Return the rows that a reference may be fitted to: of a divided dataset the part ``train``, else all.

    Args:
        dataset: the dataset.

    Example:
        >>> import benchmark_data
        >>> rows_to_fit(benchmark_data.load("sprites2d/composition")), rows_to_fit(benchmark_data.load("sprites2d"))
        (range(0, 192312), range(0, 737280))
    """
    return dataset.splits["train"] if isinstance(dataset.source, Divided) else range(len(dataset))


def names() -> tuple[str, ...]:
    """List the references, one for each file in ``baselines/references``.

    Example:
        >>> names()
        ('ground_truth', 'ica', 'pca', 'random_encoder')
    """
    return discovery.names("baselines.references")


def find(name: str, parameters: Mapping[str, Any] | None = None) -> Reference:
    """Make a reference.

    Args:
        name: its name.
        parameters: its parameters; those left out take their defaults.

    Returns:
        The reference.

    Raises:
        UnknownName: there is no such reference or parameter, with the near match.
        InvalidInput: a parameter has the wrong type or is out of range.
    """
    cls: type[Reference] = discovery.find("baselines.references", name, kind="reference").REFERENCE
    return validation.build(cls, parameters or {}, kind=f"parameter of {name}")


def write(
    name: str,
    dataset: Dataset,
    folder: str | os.PathLike[str],
    *,
    seed: int = 0,
    parameters: Mapping[str, Any] | None = None,
) -> Path:
    """Write a reference's codes for the leaderboard's rows, with the record of a run that took no steps.

    Args:
        name: the reference.
        dataset: the dataset.
        folder: where to; made if it is not there, and written again if it holds the same reference.
        seed: the seed, for a reference that is random, in [0, 2**63).
        parameters: its parameters; those left out take their defaults.

    Returns:
        The folder, with ``run.json`` and ``codes.npz``.

    Raises:
        UnknownName: there is no such reference or parameter.
        InvalidInput: a parameter or the seed is out of range, or the folder holds something else or cannot be written.
    """
    folder, seed = Path(folder), validation.seed(seed)
    reference = find(name, parameters)
    hyperparameters = dataclasses.asdict(reference)
    if not is_free(folder):
        held = files.read_json(folder / "run.json") if (folder / "run.json").exists() else {}
        if not isinstance(held, dict) or [held.get(k) for k in ("method", "dataset", "hyperparameters", "seed")] != [
            name,
            dataset.id,
            hyperparameters,
            seed,
        ]:
            raise InvalidInput(
                str(folder),
                expected=f"a free folder, or one that holds {name} for {dataset.id} with the same parameters and seed",
                received="something else",
                remedy="Choose another folder.",
            )
    rows = task_rows(dataset)
    codes = np.ascontiguousarray(reference.codes(dataset, rows, seed=seed), np.float32)
    # The record first, since a folder without one is something else to whoever goes on after a kill; and at no moment
    # codes beside a record that is not theirs.
    (folder / "codes.npz").unlink(missing_ok=True)
    write_record(
        folder,
        method=name,
        dataset=dataset,
        digest=dataset.digest(),
        seed=seed,
        supervision="reference",
        hyperparameters=hyperparameters,
        device=backend.host(),
        versions=reference.versions(),
    )
    write_arrays(folder / "codes.npz", {"indices": rows, "codes": codes})
    return folder
