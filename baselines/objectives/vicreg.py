"""VICReg: Bardes, Ponce and LeCun, "Variance-Invariance-Covariance Regularization", ICLR 2022."""

from __future__ import annotations

import dataclasses

from baselines.nets.backend import Tensor, ops
from baselines.objectives import Batch, Term
from baselines.objectives._augmented import Projected

PAPER = "https://arxiv.org/abs/2105.04906"
CODE = "https://github.com/facebookresearch/vicreg"
CODE_LICENSE = "MIT"
CITATION = """@inproceedings{bardes2022vicreg,
  title = {{VICReg}: Variance-Invariance-Covariance Regularization for Self-Supervised Learning},
  author = {Bardes, Adrien and Ponce, Jean and LeCun, Yann},
  booktitle = {International Conference on Learning Representations},
  year = {2022},
  eprint = {2105.04906},
  archivePrefix = {arXiv}
}"""


@dataclasses.dataclass(frozen=True)
class OBJECTIVE(Projected):
    """Invariance to augmentations, with outputs of a head that vary and are uncorrelated (equation 6). No decoder.

    Views are darkened and partly erased but not cropped (`baselines.objectives._augmented`). Adam trains the head with
    step size 1e-3 and its default decays, whatever the run's are.

    Attributes:
        darkened: the most by which a channel of a view is darkened.
        erased: side of the square that is erased, as a share of the image's.
        units: width of both layers of the head.
        similarity: λ, weight of the squared distance between both views.
        variance: μ, weight of the amounts by which standard deviations fall below 1.
        covariance: ν, weight of the squared covariances of outputs.
    """

    similarity: float = 25.0
    variance: float = 25.0
    covariance: float = 1.0

    def terms(self, batch: Batch) -> dict[str, Term]:
        """Weigh the three terms by λ, μ and ν, as the authors' code does: there variances are halved as well."""
        first, second = self.heads(batch)
        variance_losses, covariance_losses = zip(_moment_losses(first), _moment_losses(second), strict=True)
        return {
            "invariance": Term(self.similarity, ops.mean(ops.square(first - second))),
            "variance": Term(self.variance, 0.5 * sum(variance_losses)),
            "covariance": Term(self.covariance, sum(covariance_losses)),
        }


def _moment_losses(vectors: Tensor) -> tuple[Tensor, Tensor]:
    """Return how far deviations fall below 1, mean over the outputs, and the sum of squared covariances by output."""
    count, units = vectors.shape
    centred = vectors - ops.mean(vectors, axis=0)
    covariance = ops.matmul(ops.transpose(centred), centred) / (count - 1)
    variance = ops.diagonal(covariance)
    variance_loss = ops.mean(ops.relu(1 - ops.sqrt(variance + 1e-4)))
    return variance_loss, (ops.sum(ops.square(covariance)) - ops.sum(ops.square(variance))) / units
