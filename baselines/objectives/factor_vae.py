"""FactorVAE: Kim and Mnih, "Disentangling by Factorising", ICML 2018."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from baselines.nets import architectures
from baselines.nets.backend import Tensor, keras, ops
from baselines.objectives import Adam, Batch, Network, Objective, Term, limited
from benchmark_data.factors import FactorSpace, FactorTable, Indices

CLIP = 1e-6
"""The discriminator's probabilities are kept this far from 0 and 1, as disentanglement_lib does."""

PAPER = "https://arxiv.org/abs/1802.05983"
CODE = "https://github.com/google-research/disentanglement_lib"
CODE_LICENSE = "Apache-2.0"
CITATION = """@inproceedings{kim2018disentangling,
  title = {Disentangling by Factorising},
  author = {Kim, Hyunjik and Mnih, Andriy},
  booktitle = {Proceedings of the 35th International Conference on Machine Learning},
  year = {2018},
  eprint = {1802.05983},
  archivePrefix = {arXiv}
}"""


@dataclasses.dataclass(frozen=True)
class OBJECTIVE(Objective):
    """Equation 2 of the paper: reconstruction + KL + γ TC(z), with TC estimated by a discriminator.

    The discriminator tells codes from codes whose latents were shuffled among the images of the batch, each latent on
    its own (algorithm 2 of the paper draws a second batch for it; here, as in disentanglement_lib, it is the same
    batch). Both players take their step at the same time.

    Attributes:
        gamma: γ, weight of the total correlation.
        discriminator_learning_rate: Adam's step size for the discriminator.
        discriminator_beta_1: Adam's decay of the first moment for the discriminator.
        discriminator_beta_2: Adam's decay of the second moment for the discriminator.
        units: width of the discriminator's six layers.
    """

    least_images: ClassVar[int] = 2
    least_latents: ClassVar[int] = 2
    mean_changes: ClassVar[str] = (
        "the KL divergence is divided by the number of latents L, but not the total correlation: relative to it "
        "gamma is L times as strong"
    )

    gamma: float = 35.0
    discriminator_learning_rate: float = 1e-4
    # A moment of 1, of float32 numbers, never moves: the discriminator would not learn.
    discriminator_beta_1: float = limited(0.5, most=0.9999999)
    discriminator_beta_2: float = limited(0.9, most=0.9999999)
    units: int = limited(1000, least=1)

    def inputs(
        self, rows: Indices, space: FactorSpace | FactorTable, latents: int, rng: np.random.Generator
    ) -> dict[str, NDArray[Any]]:
        """Draw a permutation of the batch for each latent: int32 (n, latents)."""
        return {"permutation": rng.random((len(rows), latents)).argsort(axis=0).astype(np.int32)}

    def networks(self, latents: int, sizes: Sequence[int], rng: np.random.Generator) -> dict[str, Network]:
        """Build the discriminator: six layers with leaky ReLU of slope 0.2, then two logits."""
        initializer = architectures.glorot(rng)
        x = codes = keras.Input((latents,), name="codes")
        for i in range(6):
            x = keras.layers.Dense(self.units, kernel_initializer=initializer, name=f"discriminator_{i + 1}")(x)
            x = keras.layers.LeakyReLU(negative_slope=0.2, name=f"leaky_{i + 1}")(x)
        logits = keras.layers.Dense(2, kernel_initializer=initializer, name="logits")(x)
        adam = Adam(self.discriminator_learning_rate, self.discriminator_beta_1, self.discriminator_beta_2)
        return {"discriminator": Network(keras.Model(codes, logits, name="discriminator"), adam)}

    def terms(self, batch: Batch) -> dict[str, Term]:
        """Weigh KL by 1 and TC by γ; the discriminator's own loss has weight 1 and touches nothing but it."""
        joint = ops.stop_gradient(batch.codes)
        shuffled = ops.take_along_axis(joint, batch.inputs["permutation"], axis=0)
        logits = batch.call("discriminator", batch.codes, stop_gradient=True)
        log_joint = _log_probabilities(batch.call("discriminator", joint))[:, 0]
        log_shuffled = _log_probabilities(batch.call("discriminator", shuffled))[:, 1]
        return {
            "kl": Term(1.0, ops.mean(batch.kl)),
            "total_correlation": Term(self.gamma, ops.mean(logits[:, 0] - logits[:, 1])),
            "discriminator": Term(1.0, -0.5 * (ops.mean(log_joint) + ops.mean(log_shuffled))),
        }


def _log_probabilities(logits: Tensor) -> Tensor:
    return ops.log(ops.clip(ops.softmax(logits), CLIP, 1 - CLIP))
