"""What DIP-VAE-I and DIP-VAE-II have in common.

Kumar et al., "Variational Inference of Disentangled Latent Concepts from Unlabeled Observations", ICLR 2018.
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from baselines.nets.backend import Tensor, ops
from baselines.objectives import Batch, Objective, Term

PAPER = "https://arxiv.org/abs/1711.00848"
CODE = "https://github.com/google-research/disentanglement_lib"
CODE_LICENSE = "Apache-2.0"
CITATION = """@inproceedings{kumar2018variational,
  title = {Variational Inference of Disentangled Latent Concepts from Unlabeled Observations},
  author = {Kumar, Abhishek and Sattigeri, Prasanna and Balakrishnan, Avinash},
  booktitle = {International Conference on Learning Representations},
  year = {2018},
  eprint = {1711.00848},
  archivePrefix = {arXiv}
}"""


@dataclasses.dataclass(frozen=True)
class DipVae(Objective):
    """Reconstruction + KL + λ_od Σ_{i≠j} C_ij² + λ_d Σ_i (C_ii - 1)², where C is a covariance of the codes.

    Attributes:
        lambda_od: λ_od, weight of what is off the diagonal.
        lambda_d: λ_d, weight of the diagonal.
    """

    least_images: ClassVar[int] = 2  # of one image there is no covariance
    mean_changes: ClassVar[str] = (
        "the KL divergence is divided by the number of latents L, but not the terms of the covariance: beside the "
        "divergence lambda_od and lambda_d are L times as strong"
    )

    lambda_od: float = 10.0
    lambda_d: float = 10.0

    def covariance(self, batch: Batch) -> Tensor:
        """Compute C, shape (latents, latents)."""
        raise NotImplementedError

    def terms(self, batch: Batch) -> dict[str, Term]:
        """Weigh the KL divergence by 1, and the two parts of the covariance."""
        covariance = self.covariance(batch)
        diagonal = ops.diagonal(covariance)
        off_diagonal = ops.sum(ops.square(covariance - ops.diag(diagonal)))
        return {
            "kl": Term(1.0, ops.mean(batch.kl)),
            "off_diagonal": Term(self.lambda_od, off_diagonal),
            "diagonal": Term(self.lambda_d, ops.sum(ops.square(diagonal - 1.0))),
        }


def covariance(x: Tensor) -> Tensor:
    """Compute the covariance of rows, divided by their number.

    Args:
        x: shape (n, latents).

    Returns:
        Shape (latents, latents).
    """
    centred = x - ops.mean(x, axis=0)
    return ops.matmul(ops.transpose(centred), centred) / x.shape[0]
