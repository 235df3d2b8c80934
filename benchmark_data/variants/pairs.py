"""Transfer pairs: two datasets in one image format, to train an encoder on one and evaluate it on the other.

Bonheme and Grześ, "How good are variational autoencoders at transfer learning?", arXiv 2304.10767. A pair is one
dataset whose rows are those of its source, then those of its target. One tenth of each side is for testing. It depends
on the side's number of rows n alone: ``draws.permutation(0, n)`` orders them, the first ceil(n / 10) are the test
split and the others the train split, each in that order: see `train_and_test_rows`.

Factors are named after their side. On the rows of the other side they have an additional last class, whose value is
NaN. So class ids are those of the base datasets. All factors are categorical, since "does not apply" has no place in an
order; the base datasets declare which are ordered.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmark_data import draws
from benchmark_data.dataset import Dataset, Family
from benchmark_data.errors import InvalidInput
from benchmark_data.factors import Factor, FactorTable, Indices
from benchmark_data.types import Extra, Pixels, Source

__all__ = ["DOES_NOT_APPLY", "Paired", "Side", "both_ways", "sides", "train_and_test_rows"]

DOES_NOT_APPLY = "does not apply"
"""Name of the class that a factor has on the rows of the other dataset."""

CITATION = """@article{bonheme2023transfer,
  title = {How good are variational autoencoders at transfer learning?},
  author = {Bonheme, Lisa and Grzes, Marek},
  year = {2023},
  eprint = {2304.10767},
  archivePrefix = {arXiv}
}"""


class Side(NamedTuple):
    """One side of a pair."""

    dataset: Dataset
    """The base dataset."""

    factors: tuple[str, ...]
    """The pair's names of that dataset's factors, in its order. Their `Factor.size` includes "does not apply"."""

    train: range
    """Rows of the pair."""

    test: range
    """Rows of the pair."""


@dataclasses.dataclass(frozen=True)
class Paired(Source):
    """The pixels of a pair: the source's, then the target's.

    Args:
        source: the dataset to train on.
        target: the dataset to transfer to.
    """

    source: Dataset
    target: Dataset

    @property
    def extras(self) -> Mapping[str, Extra]:
        """Rows of the base datasets."""
        return {"row": Extra((), "int64", "row in the dataset that the image comes from")}

    @property
    def ready(self) -> bool:
        """Whether both datasets are prepared."""
        return self.source.prepared and self.target.prepared

    def prepare(self, **options: Any) -> None:
        """Prepare both datasets."""
        self.source.prepare(**options)
        self.target.prepare(**options)

    def images(self, indices: Indices, labels: Indices) -> Pixels:
        """Read images of both datasets."""
        images = np.empty((len(indices), *self.source.image_shape), np.uint8)
        for side, positions, rows in self.located(indices):
            images[positions] = self.sides[side].images(rows)
        return images

    def extra(self, name: str, indices: Indices) -> NDArray[np.int64]:
        """Return the rows of the datasets that rows of the pair come from."""
        return self._rows[indices]

    @property
    def sides(self) -> tuple[Dataset, Dataset]:
        """Source and target."""
        return self.source, self.target

    def located(self, indices: Indices) -> list[tuple[int, Indices, Indices]]:
        """Group rows by their side.

        Args:
            indices: rows of the pair, int64, shape (n,).

        Returns:
            (index in `sides`, positions in ``indices``, rows of that side's dataset), the latter two int64 of shape
            (m,), for each side with any of the rows. Both sides may be the same dataset.
        """
        of_target = indices >= len(self.source)
        by_side = [(side, np.flatnonzero(of_target == side)) for side in (0, 1)]
        return [(side, positions, self._rows[indices[positions]]) for side, positions in by_side if len(positions)]

    def __getstate__(self) -> dict[str, Dataset]:
        """Leave out the cached rows, which are computed again."""
        return {"source": self.source, "target": self.target}

    @functools.cached_property
    def _rows(self) -> Indices:
        return np.concatenate([part for side in self.sides for part in train_and_test_rows(len(side))])


class _PairLabels(FactorTable):
    """Class ids, looked up in the base datasets on demand, without a table of all rows."""

    def __init__(self, paired: Paired, names: tuple[str, str]) -> None:
        super().__init__(
            Factor("side", (0, 1), "categorical", labels=("source", "target")),
            *(
                _add_class_does_not_apply(name, factor)
                for name, side in zip(names, paired.sides, strict=True)
                for factor in side.space.factors
            ),
            rows=len(paired.source) + len(paired.target),
            read=self._all_labels,
        )
        self._paired = paired

    def _labels(self, rows: Indices) -> Indices:
        labels = np.tile(np.array(self.sizes) - 1, (len(rows), 1))
        labels[:, 0] = rows >= len(self._paired.source)
        first_columns = 1, 1 + len(self._paired.source.space.factors)
        for side, positions, base_rows in self._paired.located(rows):
            base_labels = self._paired.sides[side].labels(base_rows)
            labels[positions, first_columns[side] : first_columns[side] + base_labels.shape[1]] = base_labels
        return labels


def _add_class_does_not_apply(side: str, factor: Factor) -> Factor:
    """Add the class "does not apply" to a factor."""
    values, labels = (*factor.values, math.nan), (*factor.labels, DOES_NOT_APPLY)
    return Factor(f"{side}_{factor.name}", values, "categorical", factor.unit, labels)


def train_and_test_rows(n: int) -> tuple[Indices, Indices]:
    """Split the rows of one side.

    Args:
        n: the number of rows of the dataset.

    Returns:
        Train rows and ceil(n / 10) test rows, int64, together ``range(n)``.

    Example:
        >>> train, test = train_and_test_rows(112_791)
        >>> len(train), len(test), test[:3].tolist()
        (101511, 11280, [34485, 89959, 92618])
    """
    order = draws.permutation(0, n)
    return order[_test_count(n) :], order[: _test_count(n)]


def _test_count(n: int) -> int:
    return -(-n // 10)


def both_ways(**sides: Dataset) -> Family:
    """Make the transfer pairs of two datasets in both directions.

    Args:
        **sides: two datasets with images of the same shape; the keywords are the names of the sides.

    Returns:
        The dataset ``first_second`` with the configurations ``to_second``, the default, and ``to_first``. Splits are
        ``source_train``, ``source_test``, ``target_train`` and ``target_test``.

    Raises:
        InvalidInput: not two datasets, or their images differ in shape.
    """
    if len(sides) != 2 or len({dataset.image_shape for dataset in sides.values()}) != 1:
        raise InvalidInput(
            "transfer pair: expected two datasets with images of one shape, received "
            f"{', '.join((f'{name} {dataset.image_shape}' for name, dataset in sides.items())) or 'none'}."
        )
    first, second = sides
    return Family(
        _pair("_".join(sides), first, sides[first], second, sides[second]),
        _pair("_".join(sides), second, sides[second], first, sides[first]),
        default=f"to_{second}",
    )


def _pair(name: str, source_name: str, source: Dataset, target_name: str, target: Dataset) -> Dataset:
    paired = Paired(source, target)
    target_start, end = len(source), len(source) + len(target)
    source_test_start, target_test_start = target_start - _test_count(len(source)), end - _test_count(len(target))
    shared = source.license == target.license
    versions = (map(int, side.version.split(".")) for side in (source, target))
    major, minor, patch = map(sum, zip(*versions, strict=True))  # a change of either side changes the pair
    space = _PairLabels(paired, (source_name, target_name))
    return Dataset(
        name=name,
        config=f"to_{target_name}",
        parameters={"target": target_name},
        version=f"{major - 1}.{minor}.{patch}",
        space=space,
        source=paired,
        image_shape=source.image_shape,
        splits={
            "source_train": range(source_test_start),
            "source_test": range(source_test_start, target_start),
            "target_train": range(target_start, target_test_start),
            "target_test": range(target_test_start, end),
        },
        description=(
            f"A transfer pair: an encoder is trained on {source.id} and judged by what its codes of {target.id} tell "
            "about the labels there. Rows are the source's, then the target's, nine tenths of each to train on and one "
            "tenth to test on. A factor is named after its side and does not apply to the rows of the other one."
        ),
        citation="\n\n".join(
            dict.fromkeys(re.split(r"\n+(?=@)", "\n\n".join((CITATION, source.citation, target.citation))))
        ),
        license=source.license if shared else f"{source.license} ({source_name}); {target.license} ({target_name})",
        redistributable=source.redistributable and target.redistributable,
        homepage="https://arxiv.org/abs/2304.10767",
        effects=dict.fromkeys(space.names, "As in the factor's own dataset."),
        defects=tuple(f"{side.id}: {defect}" for side in (source, target) for defect in side.defects),
    )


def sides(pair: Dataset) -> Mapping[str, Side]:
    """Describe the two sides of a pair.

    Args:
        pair: a transfer pair.

    Returns:
        ``source`` and ``target``: the dataset, its factors' names in the pair, and the pair's rows of each split.

    Raises:
        InvalidInput: the dataset is no pair.

    Example:
        >>> import benchmark_data
        >>> target = sides(benchmark_data.load("solids_dsprites"))["target"]
        >>> target.dataset.id, target.factors[:2], len(target.train), len(target.test)
        ('dsprites', ('dsprites_shape', 'dsprites_scale'), 663552, 73728)
    """
    if not isinstance(pair.source, Paired):
        raise InvalidInput(f"{pair.id}: expected a transfer pair, received another dataset.")
    target_start = 1 + len(pair.source.source.space.factors)
    return {
        side: Side(dataset, names, pair.splits[f"{side}_train"], pair.splits[f"{side}_test"])
        for side, dataset, names in (
            ("source", pair.source.source, pair.space.names[1:target_start]),
            ("target", pair.source.target, pair.space.names[target_start:]),
        )
    }
