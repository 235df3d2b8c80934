"""DIP-VAE-I: Kumar et al., ICLR 2018, equation 6."""

from __future__ import annotations

import dataclasses

from baselines.nets.backend import Tensor
from baselines.objectives import Batch
from baselines.objectives._dip import CITATION, CODE, CODE_LICENSE, PAPER, DipVae, covariance  # noqa: F401


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
