"""DIP-VAE-I: Kumar et al., ICLR 2018, equation 6."""

from __future__ import annotations

import dataclasses

from baselines.nets.backend import Tensor
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
    """C = Cov[μ(x)], the covariance of the posterior means. The unsupervised study sets λ_d = 10 λ_od.

    Attributes:
        lambda_od: λ_od, weight of what is off the diagonal.
        lambda_d: λ_d, weight of the diagonal.
    """

    lambda_d: float = 100.0

    def covariance(self, batch: Batch) -> Tensor:
        """Compute the covariance of the means."""
        return covariance(batch.posterior.mean)
