"""Classifier: Bonheme and Grzes, "How do Variational Autoencoders Learn?", 2022, appendix H."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from baselines.nets import architectures
from baselines.nets.backend import keras, ops
from baselines.objectives import Adam, Batch, Network, Objective, Term
from benchmark_data.errors import InvalidInput
from benchmark_data.factors import FactorSpace, FactorTable, Indices


@dataclasses.dataclass(frozen=True)
class OBJECTIVE(Objective):
    """The cross-entropy of every factor's class, summed over the factors: labels alone move the encoder.

    One linear layer gives the logits of all factors from the code, so that the network is the paper's, an encoder that
    ends in a layer for classes, with a code of the run's size before that layer. The log-variance head keeps its
    initial weights. The decoder learns to draw the image from a code that it cannot change, which shows what the code
    holds.

    Attributes:
        classifier_learning_rate: Adam's step size for the layer that gives the logits.
    """

    supervision: ClassVar[str] = "supervised"
    stochastic: ClassVar[bool] = False
    reconstructs: ClassVar[bool] = False

    classifier_learning_rate: float = 1e-4

    def draws(
        self, rows: Indices, space: FactorSpace | FactorTable, latents: int, rng: np.random.Generator
    ) -> dict[str, NDArray[Any]]:
        """Look up the class ids of the batch: int32 (n, F)."""
        return {"labels": space.labels(rows).astype(np.int32)}

    def networks(self, latents: int, sizes: Sequence[int], rng: np.random.Generator) -> dict[str, Network]:
        """Build the layer that gives the logits, one output for each factor.

        Raises:
            InvalidInput: the dataset has no factors.
        """
        if not sizes:
            raise InvalidInput(
                "objective classifier",
                expected="a dataset whose factors are known",
                received="no factors",
                remedy="Choose an objective that needs no labels.",
            )
        codes = keras.Input((latents,), name="codes")
        initial = architectures.glorot(rng)
        logits = {
            name: keras.layers.Dense(size, kernel_initializer=initial, name=name)(codes)
            for name, size in zip(_outputs(len(sizes)), sizes, strict=True)
        }
        model = keras.Model(codes, logits, name="classifier")
        return {"classifier": Network(model, Adam(self.classifier_learning_rate))}

    def terms(self, batch: Batch) -> dict[str, Term]:
        """Weigh the cross-entropy by 1; record the share of classes that are right, over all factors."""
        labels, losses, right = batch.draws["labels"], [], []
        found = batch.call("classifier", batch.codes)
        for factor, name in enumerate(_outputs(labels.shape[1])):
            wanted = ops.one_hot(labels[:, factor], found[name].shape[1])
            losses.append(-ops.mean(ops.sum(wanted * ops.log_softmax(found[name]), axis=1)))
            right.append(ops.mean(ops.cast(ops.argmax(found[name], axis=1) == labels[:, factor], "float32")))
        return {
            "cross_entropy": Term(1.0, sum(losses)),
            "accuracy": Term(0.0, sum(right) / len(right)),
        }


def _outputs(factors: int) -> list[str]:
    return [f"classifier_{i + 1}" for i in range(factors)]
