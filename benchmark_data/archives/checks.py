"""Check the pixels of an archive against published statistics, to recognise the real file without a hash."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from benchmark_data.dataset import Dataset
from benchmark_data.errors import DamagedFile
from benchmark_data.factors import FactorSpace
from benchmark_data.inspect.distances import pair_distances

PAIRS = 4096


@dataclasses.dataclass(frozen=True)
class PublishedStatistics:
    """Published statistics that the pixels must match.

    Args:
        means: the mean of each channel, in [0, 1].
        tolerance: the largest difference of a mean from the published one.
        distances: factor, or ``RANDOM_PAIR`` -> mean squared error of pairs of images, as in `inspect.published`.
            `PAIRS` pairs are drawn: 5% and four standard errors are allowed.
        rows: the rows whose means are published; all of them if None.
        grid: the grid that the first rows span, if the dataset is a table.
        source: the source of the statistics.
    """

    means: tuple[float, ...] = ()
    tolerance: float = 1e-4
    distances: Mapping[str, float] = dataclasses.field(default_factory=dict)
    rows: range | None = None
    grid: FactorSpace | None = None
    source: str = "disent 0.8.0; Michlo, Klein and James 2023, table A1"

    def check(self, dataset: Dataset, means: NDArray[np.float64]) -> dict[str, object]:
        """Compare pixels with the published statistics.

        Args:
            dataset: the dataset.
            means: the channels' means, in [0, 1], shape (C,).

        Returns:
            The measured statistics, for the record.

        Raises:
            DamagedFile: a statistic differs; the message has the published one and its source.
        """
        measured: dict[str, object] = {}
        if self.means:
            measured["means"] = means.tolist()
            if np.abs(means - self.means).max() > self.tolerance:
                raise self._mismatch_error(
                    dataset, f"channel means of {_format(self.means)} within {self.tolerance:g}", _format(means)
                )
        if self.distances:
            if self.grid is not None:
                dataset = dataclasses.replace(dataset, space=self.grid, splits={})
            pixel_distances = pair_distances(dataset, pairs=PAIRS)
            measured["distances"] = {name: pixel_distances[name].mean for name in self.distances}
            for name, published in self.distances.items():
                if abs(pixel_distances[name].mean - published) > 0.05 * published + 4 * pixel_distances[name].error:
                    raise self._mismatch_error(
                        dataset,
                        f"a mean squared error of {published:g} between images that differ in {name}",
                        f"{pixel_distances[name].mean:.5f} with a standard error of {pixel_distances[name].error:.5f}",
                    )
        return measured

    def _mismatch_error(self, dataset: Dataset, expected: str, received: str) -> DamagedFile:
        return DamagedFile(
            f"pixels of {dataset.id}: expected {expected} ({self.source}), received {received}. The source file "
            "is not the published one. Remove it and the prepared folder, then prepare the dataset again."
        )


def _format(numbers: NDArray[np.float64] | tuple[float, ...]) -> str:
    return ", ".join(f"{number:.6g}" for number in numbers)
