"""DIP-VAE-II: Kumar et al., ICLR 2018, equation 7."""

from __future__ import annotations

import dataclasses

from baselines.nets.backend import Tensor, ops
from baselines.objectives import Batch
from baselines.objectives._dip import DipVae, covariance

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
class OBJECTIVE(DipVae):
    """C = Cov[z] = Cov[μ(x)] + E[Σ(x)]. The papers set λ_d = λ_od.

    Attributes:
        lambda_od: λ_od, weight of what is off the diagonal.
        lambda_d: λ_d, weight of the diagonal.
    """

    def covariance(self, batch: Batch) -> Tensor:
        """Compute the covariance of the means plus the mean variances."""
        mean, log_variance = batch.posterior
        return covariance(mean) + ops.diag(ops.mean(ops.exp(log_variance), axis=0))
