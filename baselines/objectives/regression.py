"""Regression of the factors: what the same encoder reads from the images if it sees all labels."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from baselines.nets.backend import ops
from baselines.objectives import Batch, Objective, Term
from benchmark_data.errors import InvalidInput
from benchmark_data.factors import FactorSpace, FactorTable, Indices

PAPER = "https://arxiv.org/abs/2102.08850"
CODE = "https://github.com/brendel-group/cl-ica"
CODE_LICENSE = "MIT"
CITATION = """@inproceedings{zimmermann2021contrastive,
  title = {Contrastive Learning Inverts the Data Generating Process},
  author = {Zimmermann, Roland S. and Sharma, Yash and Schneider, Steffen and Bethge, Matthias and Brendel, Wieland},
  booktitle = {Proceedings of the 38th International Conference on Machine Learning},
  year = {2021},
  eprint = {2102.08850},
  archivePrefix = {arXiv}
}"""


@dataclasses.dataclass(frozen=True)
class OBJECTIVE(Objective):
    """The squared error of class ids that are scaled to [-1, 1], a latent for each factor that varies; no decoder.

    It is the supervised control of that paper. The run's number of latents has no meaning.
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
