"""Ada-ML-VAE: Locatello et al., "Weakly-Supervised Disentanglement Without Compromises", ICML 2020."""

from __future__ import annotations

import dataclasses

from baselines.backend import ops
from baselines.objective import Posterior
from baselines.objectives._pairs import PairVae


@dataclasses.dataclass(frozen=True)
class OBJECTIVE(PairVae):
    """Shared latents take the normalised product of the two Gaussians, twice as wide (as in ML-VAE, AAAI 2018).

    Attributes:
        beta: weight of the KL divergence.
        changed: k, the number of factors drawn anew in a pair; 0 draws k from 1 .. F - 1 for every pair.
        reference_pairs: replace k by 1 in half of the pairs, as disentanglement_lib's code does whatever k is.
    """

    def average(self, first: Posterior, second: Posterior) -> Posterior:
        """Take the variance 2 v1 v2 / (v1 + v2) and the mean of the means, each weighted by the other's variance."""
        precisions = ops.exp(-first.log_variance), ops.exp(-second.log_variance)
        total = precisions[0] + precisions[1]
        mean = (precisions[0] * first.mean + precisions[1] * second.mean) / total
        return Posterior(mean, ops.log(2.0 / total))
