"""DIP-VAE-II: Kumar et al., ICLR 2018, equation 7."""

from __future__ import annotations

import dataclasses

from baselines.nets.backend import Tensor, ops
from baselines.objectives import Batch
from baselines.objectives._dip import CITATION, CODE, CODE_LICENSE, PAPER, DipVae, covariance  # noqa: F401


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
