"""β-TCVAE: Chen et al., "Isolating Sources of Disentanglement in Variational Autoencoders", NeurIPS 2018."""

from __future__ import annotations

import dataclasses
import math
from typing import ClassVar

from baselines.nets.backend import Tensor, ops
from baselines.objectives import Batch, Objective, Posterior, Term

LOG_2PI = math.log(2 * math.pi)

PAPER = "https://arxiv.org/abs/1802.04942"
CODE = "https://github.com/google-research/disentanglement_lib"
CODE_LICENSE = "Apache-2.0"
CITATION = """@inproceedings{chen2018isolating,
  title = {Isolating Sources of Disentanglement in Variational Autoencoders},
  author = {Chen, Ricky T. Q. and Li, Xuechen and Grosse, Roger B. and Duvenaud, David K.},
  booktitle = {Advances in Neural Information Processing Systems},
  year = {2018},
  eprint = {1802.04942},
  archivePrefix = {arXiv}
}"""


@dataclasses.dataclass(frozen=True)
class OBJECTIVE(Objective):
    """Reconstruction + KL(q(z|x) || p(z)) + (β - 1) TC(z), as disentanglement_lib has it; with β = 1 the plain VAE.

    Attributes:
        beta: β, the weight of the total correlation within the KL divergence.
    """

    least_images: ClassVar[int] = 2
    least_latents: ClassVar[int] = 2  # one has no total correlation
    mean_changes: ClassVar[str] = (
        "the KL divergence is divided by the number of latents L, but not the total correlation, which then "
        "weighs 1 / L + beta - 1 in all"
    )

    beta: float = 6.0

    def terms(self, batch: Batch) -> dict[str, Term]:
        """Weigh the KL divergence by 1 and the total correlation by β - 1."""
        return {
            "kl": Term(1.0, ops.mean(batch.kl)),
            "total_correlation": Term(self.beta - 1.0, total_correlation(batch.posterior, batch.codes)),
        }


def total_correlation(posterior: Posterior, codes: Tensor) -> Tensor:
    """Estimate KL(q(z) || Π_l q(z_l)) from a batch of M images by minibatch weighting (section 4.1 of the paper).

    log q(z_i) is estimated by log Σ_j q(z_i|x_j) - log(N M) for a dataset of N images, and log q(z_il) likewise for
    each latent l. The constants log(N M) do not move the gradient and are left out, so that the value is
    (L - 1) log(N M) below the estimate, L being the number of latents; there is no stratified correction.

    Args:
        posterior: q(z|x_j), tensors (M, L).
        codes: a sample z_i of each, (M, L).

    Returns:
        A scalar, in nats.
    """
    mean, log_variance = posterior.mean[None], posterior.log_variance[None]
    squared = ops.square((codes[:, None] - mean) * ops.exp(-0.5 * log_variance))  # 1 / variance overflows at e^-89
    log_density = -0.5 * (squared + log_variance + LOG_2PI)  # (i, j, l): log q(z_il|x_j)
    log_joint = ops.logsumexp(ops.sum(log_density, axis=2), axis=1)
    log_marginals = ops.sum(ops.logsumexp(log_density, axis=1), axis=1)
    return ops.mean(log_joint - log_marginals)
