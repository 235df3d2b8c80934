"""QLAE: Hsu et al., "Disentanglement via Latent Quantization", NeurIPS 2023."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from baselines.nets import backend
from baselines.nets.backend import Tensor, keras, ops
from baselines.objectives import Adam, Batch, Call, Network, Objective, Term, limited

PAPER = "https://arxiv.org/abs/2305.18378"
CODE = "https://github.com/kylehkhsu/latent_quantization"
CODE_LICENSE = "MIT"
CITATION = """@inproceedings{hsu2023disentanglement,
  title = {Disentanglement via Latent Quantization},
  author = {Hsu, Kyle and Dorrell, Will and Whittington, James C. R. and Wu, Jiajun and Finn, Chelsea},
  booktitle = {Advances in Neural Information Processing Systems},
  volume = {36},
  year = {2023},
  eprint = {2305.18378},
  archivePrefix = {arXiv}
}"""


@dataclasses.dataclass(frozen=True)
class OBJECTIVE(Objective):
    """An autoencoder whose every latent takes one of a few learnt values, under a strong weight decay.

    Each latent has a codebook of its own, which starts evenly spaced in [-1/2, 1/2]. The code is the value nearest to
    what the encoder gives; the decoder's gradient passes the rounding unchanged. Two terms draw them together: one
    moves the values to the encoder's outputs, one the outputs to the values, each a mean over the latents. The kernels
    of encoder and decoder decay as in AdamW; biases and codebooks do not.

    The paper's weights go with a reconstruction that is a mean over pixels (``reduction="mean"``, which needs a smaller
    ``epsilon``, such as 1e-12), a learning rate of 1e-3, batches of 128 and twice as many latents as factors. Its
    networks are larger than ours, and its code clips each gradient at 1, which is not done here.

    Attributes:
        quantisation: weight of the term that moves the values.
        commitment: weight of the term that moves the encoder.
        values: how many values a latent may take.
        weight_decay: what a kernel loses in each step, as a multiple of itself and of the learning rate.
        codebook_learning_rate: Adam's step size for the values.
    """

    stochastic: ClassVar[bool] = False
    traversed: ClassVar[float] = 0.5

    quantisation: float = 0.01
    commitment: float = 0.01
    values: int = limited(10, least=2)
    weight_decay: float = 0.1
    codebook_learning_rate: float = 1e-3

    def networks(self, latents: int, sizes: Sequence[int], rng: np.random.Generator) -> dict[str, Network]:
        """Build the codebooks: a table of (latents, values)."""
        initial_values = np.tile(np.linspace(-0.5, 0.5, self.values, dtype=np.float32), (latents, 1))
        latent_ids = keras.Input((latents,), dtype="int32", name="latents")
        codebook = keras.layers.Embedding(
            latents,
            self.values,
            embeddings_initializer=lambda shape, dtype: ops.convert_to_tensor(initial_values),
            dtype="float32",
            name="values",
        )
        adam = Adam(self.codebook_learning_rate)
        return {"codebook": Network(keras.Model(latent_ids, codebook(latent_ids), name="codebook"), adam)}

    def code(self, mean: Tensor, call: Call) -> Tensor:
        """Round to the nearest values, exactly; the gradient passes as if nothing were rounded."""
        return ops.stop_gradient(self.rounded(mean, call)) + (mean - ops.stop_gradient(mean))

    def rounded(self, mean: Tensor, call: Call) -> Tensor:
        """Return the codebooks' nearest values, (n, latents), which no gradient takes to what they are nearest to."""
        latents = mean.shape[1]
        table = call("codebook", ops.arange(latents, dtype="int32")[None])[0]
        nearest = ops.argmin(ops.abs(ops.expand_dims(mean, -1) - table), axis=-1)
        selection = backend.one_hot(nearest, self.values)
        return ops.sum(selection * table, axis=-1)

    def decay_of(self, weight: str) -> float:
        """Let the kernels of encoder and decoder decay, but for the log-variance's, which nothing reads."""
        network, layer, *_, kind = weight.split("/")
        decays = network in ("encoder", "decoder") and layer != "log_variance" and kind == "kernel"
        return self.weight_decay if decays else 0.0

    def terms(self, batch: Batch) -> dict[str, Term]:
        """Weigh the squared distances between the encoder's outputs and their values, either side held still."""
        outputs = batch.posterior.mean
        values = self.rounded(outputs, batch.call)
        return {
            "quantisation": Term(self.quantisation, ops.mean(ops.square(ops.stop_gradient(outputs) - values))),
            "commitment": Term(self.commitment, ops.mean(ops.square(outputs - ops.stop_gradient(values)))),
        }
