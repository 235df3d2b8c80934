"""Regression of the factors: the supervised control of objectives without a decoder."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from baselines.nets.backend import ops
from baselines.objectives import Batch, Objective, Term
from baselines.objectives.infonce_pairs import CITATION, CODE, CODE_LICENSE, PAPER  # noqa: F401
from benchmark_data.errors import InvalidInput
from benchmark_data.factors import FactorSpace, FactorTable, Indices


@dataclasses.dataclass(frozen=True)
class OBJECTIVE(Objective):
    """Squared error of class ids, scaled to [-1, 1], with one latent for each factor that varies. There is no decoder.

    It is the supervised control of Zimmermann et al. (2021). The run's number of latents is not used.
    """

    supervision: ClassVar[str] = "supervised"
    stochastic: ClassVar[bool] = False
    decodes: ClassVar[bool] = False

    def code_size(self, latents: int, sizes: Sequence[int]) -> int:
        """Count the factors that vary.

        Raises:
            InvalidInput: there is none.
        """
        varying = sum(size > 1 for size in sizes)
        if not varying:
            raise InvalidInput("objective regression: expected a dataset with factors that vary, received none.")
        return varying

    def inputs(
        self, rows: Indices, space: FactorSpace | FactorTable, latents: int, rng: np.random.Generator
    ) -> dict[str, NDArray[Any]]:
        """Look up the class ids of the factors that vary, scaled to [-1, 1]: float32 (n, F)."""
        sizes = np.array(space.sizes)
        labels = space.labels(rows)[:, sizes > 1]
        return {"targets": (2 * labels / (sizes[sizes > 1] - 1) - 1).astype(np.float32)}

    def terms(self, batch: Batch) -> dict[str, Term]:
        """Weigh the squared error, mean over images and factors, by 1."""
        return {"squared_error": Term(1.0, ops.mean(ops.square(batch.codes - batch.inputs["targets"])))}
