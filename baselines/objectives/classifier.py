"""Classifier: Bonheme and Grześ, "How do Variational Autoencoders Learn?", 2022, appendix H."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from baselines.nets import backend
from baselines.nets.backend import ops
from baselines.objectives import Batch, Objective, Term
from benchmark_data.errors import InvalidInput
from benchmark_data.factors import FactorSpace, FactorTable, Indices

PAPER = "https://arxiv.org/abs/2205.08399"
CODE = "https://github.com/bonheml/VAE_learning_dynamics"
CODE_LICENSE = "Apache-2.0"
CITATION = """@article{bonheme2022how,
  title = {How do Variational Autoencoders Learn? Insights from Representational Similarity},
  author = {Bonheme, Lisa and Grzes, Marek},
  journal = {arXiv preprint arXiv:2205.08399},
  eprint = {2205.08399},
  archivePrefix = {arXiv},
  year = {2022}
}"""


@dataclasses.dataclass(frozen=True)
class OBJECTIVE(Objective):
    """The cross-entropy of every factor's class, summed over the factors: only labels train the encoder.

    As in the paper, the layers of mean and variance give way to those of the classes: the code of an image is the
    logits of all factors, one factor after another, read from the encoder's last hidden layer. The run's number of
    latents has no meaning, and the log-variance head keeps its initial weights. The decoder learns to draw the image
    from a code that it cannot change, which shows what the code holds.
    """

    supervision: ClassVar[str] = "supervised"
    stochastic: ClassVar[bool] = False
    reconstructs: ClassVar[bool] = False

    def code_size(self, latents: int, sizes: Sequence[int]) -> int:
        """Count the classes of all factors.

        Raises:
            InvalidInput: the dataset has no factors.
        """
        if not sizes:
            raise InvalidInput(
                "objective classifier: expected a dataset whose factors are known, received no factors. Choose an "
                "objective that needs no labels, or read a folder with its table by benchmark_data.from_folder."
            )
        return sum(sizes)

    def inputs(
        self, rows: Indices, space: FactorSpace | FactorTable, latents: int, rng: np.random.Generator
    ) -> dict[str, NDArray[Any]]:
        """Look up the class ids of the batch: int32 (n, F)."""
        return {"labels": space.labels(rows).astype(np.int32)}

    def terms(self, batch: Batch) -> dict[str, Term]:
        """Weigh the cross-entropy by 1; record the share of classes that are right, over the factors that vary.

        A factor with one value is right whatever the codes. Where no factor varies, the share is 1.
        """
        labels, losses, accuracies = batch.inputs["labels"], [], []
        start = 0
        for factor, size in enumerate(batch.sizes):
            logits = batch.codes[:, start : start + size]
            targets = backend.one_hot(labels[:, factor], size)
            losses.append(-ops.mean(ops.sum(targets * ops.log_softmax(logits), axis=1)))
            if size > 1:
                accuracies.append(ops.mean(ops.cast(ops.argmax(logits, axis=1) == labels[:, factor], "float32")))
            start += size
        return {
            "cross_entropy": Term(1.0, sum(losses)),
            "accuracy": Term(0.0, sum(accuracies) / len(accuracies) if accuracies else ops.ones(())),
        }
