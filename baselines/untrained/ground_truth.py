"""Ground truth: the factors' own values, as the best codes that a metric could be given.

The control is of this project, and not of a paper.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from baselines.untrained import Untrained
from benchmark_data.dataset import Dataset
from benchmark_data.factors import Indices


@dataclasses.dataclass(frozen=True)
class BASELINE(Untrained):
    """One code for each factor. If a metric's limit is below 1, as with wide bins, it applies to all encoders."""

    def codes(self, dataset: Dataset, rows: Indices, *, seed: int) -> NDArray[np.float32]:
        """Return the factors' values, in their units."""
        return dataset.values(rows).astype(np.float32)
