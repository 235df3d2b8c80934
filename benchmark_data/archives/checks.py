"""What is known about the pixels of published datasets, to recognise the real file by what it shows."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from benchmark_data.errors import DamagedFile
from benchmark_data.factors import FactorSpace

if TYPE_CHECKING:
    from benchmark_data.dataset import Dataset

RANDOM_PAIR = "random pair"
"""The name, beside the factors' names, of pairs that differ in anything."""

PUBLISHED: Mapping[str, Mapping[str, float]] = {
    "xysquares/spacing_8": {
        **dict.fromkeys(("x_R", "y_R", "x_G", "y_G", "x_B", "y_B"), 0.0104),
        RANDOM_PAIR: 0.0308,
    },
    "dsprites": {
        **{"posY": 0.0584, "posX": 0.0559, "scale": 0.0250, "shape": 0.0214, "orientation": 0.0172},
        RANDOM_PAIR: 0.0754,
    },
    "shapes3d": {
        **{"wall_hue": 0.1122, "floor_hue": 0.1086, "object_hue": 0.0416},
        **{"shape": 0.0207, "scale": 0.0182, "orientation": 0.0116},
        RANDOM_PAIR: 0.2432,
    },
    "cars3d/64_bilinear": {"azimuth": 0.0355, "object_type": 0.0349, "elevation": 0.0174, RANDOM_PAIR: 0.0519},
    "smallnorb/left_64_bilinear": {
        **{"lighting": 0.0531, "category": 0.0113, "azimuth": 0.0090, "instance": 0.0068, "elevation": 0.0034},
        RANDOM_PAIR: 0.0535,
    },
}
"""Mean perceived distances that Michlo, Klein and James 2023 report in table A1 of the extended version, from 50,000
pairs each: the mean squared error of pixels in [0, 1]. SmallNORB on its training split."""

PUBLISHED_MEANS: Mapping[str, tuple[float, ...]] = {
    "xysquares/spacing_8": (0.015625,) * 3,
    "dsprites": (0.042494423521889584,),
    "shapes3d": (0.5025850, 0.5787598, 0.6034500),
    "cars3d/64_bilinear": (0.8976676, 0.8891658, 0.8851475),
    "smallnorb/left_64_bilinear": (0.7520918401,),
    "mpi3d/toy": (0.22437, 0.22142, 0.22625),
    "mpi3d/realistic": (0.17987, 0.20475, 0.18148),
    "mpi3d/real": (0.12849, 0.16480, 0.13972),
}
"""Mean pixels of each channel, in [0, 1], over whole datasets, as disent's source gives them (nmichlo/disent 0.8.0).
SmallNORB on its training split."""

PAIRS = 4096


@dataclasses.dataclass(frozen=True)
class Oracle:
    """Published figures that the real pixels must show.

    Args:
        means: the mean of each channel, in [0, 1].
        tolerance: how far a mean may lie from the published one.
        distances: factor, or `RANDOM_PAIR` -> mean squared error of pairs of images, as in `PUBLISHED`. `PAIRS` pairs
            are drawn: 5% and four standard errors are allowed.
        rows: the rows that the means are about; all of them if None.
        grid: the grid that the first rows span, where the dataset is a table.
        source: where the figures come from.
    """

    means: tuple[float, ...] = ()
    tolerance: float = 1e-4
    distances: Mapping[str, float] = dataclasses.field(default_factory=dict)
    rows: range | None = None
    grid: FactorSpace | None = None
    source: str = "disent 0.8.0; Michlo, Klein and James 2023, table A1"

    def check(self, dataset: Dataset, means: NDArray[np.float64]) -> dict[str, object]:
        """Compare pixels with the published figures.

        Args:
            dataset: the pixels, and the grid that they are on.
            means: the channels' means, in [0, 1], shape (C,).

        Returns:
            What was measured, for the record.

        Raises:
            DamagedFile: a figure differs; the message gives the published one and its source.
        """
        from benchmark_data.inspect.distances import pair_distances

        measured: dict[str, object] = {}
        if self.means:
            measured["means"] = means.tolist()
            if np.abs(means - self.means).max() > self.tolerance:
                raise self._wrong(
                    dataset, f"channel means of {_say(self.means)} within {self.tolerance:g}", _say(means)
                )
        if self.distances:
            if self.grid is not None:
                dataset = dataclasses.replace(dataset, space=self.grid, splits={})
            found = pair_distances(dataset, pairs=PAIRS)
            measured["distances"] = {name: found[name].mean for name in self.distances}
            for name, published in self.distances.items():
                if abs(found[name].mean - published) > 0.05 * published + 4 * found[name].error:
                    raise self._wrong(
                        dataset,
                        f"a mean squared error of {published:g} between images that differ in {name}",
                        f"{found[name].mean:.5f} with a standard error of {found[name].error:.5f}",
                    )
        return measured

    def _wrong(self, dataset: Dataset, expected: str, received: str) -> DamagedFile:
        return DamagedFile(
            f"pixels of {dataset.id}",
            expected=f"{expected} ({self.source})",
            received=received,
            remedy="The source file is not the published one: remove it and fetch it again, or use another copy.",
        )


def _say(numbers: NDArray[np.float64] | tuple[float, ...]) -> str:
    return ", ".join(f"{number:.6g}" for number in numbers)
