"""Ada-ML-VAE: Locatello et al., "Weakly-Supervised Disentanglement Without Compromises", ICML 2020."""

from __future__ import annotations

import dataclasses
import math

from baselines.nets.backend import ops
from baselines.objectives import Posterior
from baselines.objectives._pairs import CITATION, CODE, CODE_LICENSE, PAPER, PairVae  # noqa: F401


@dataclasses.dataclass(frozen=True)
class OBJECTIVE(PairVae):
    """Shared latents take the normalised product of the two Gaussians, twice as wide (as in ML-VAE, AAAI 2018).

    Attributes:
        beta: weight of the KL divergence.
        changed: k, the number of factors drawn anew in a pair; 0 draws k from 1 .. F - 1 for every pair.
        reference_pairs: replace k by 1 in half of the pairs, as disentanglement_lib's code does whatever k is.
        symmetric: find shared latents by the mean of both KL divergences, as the library disent does, and not by one.
    """

    def average(self, first: Posterior, second: Posterior) -> Posterior:
        """Take the variance 2 v1 v2 / (v1 + v2) and the mean of the means, each weighted by the other's variance.

        Both by the logarithms of the variances, since training takes variances below float32.
        """
        log_ratio = second.log_variance - first.log_variance
        mean = ops.sigmoid(log_ratio) * first.mean + ops.sigmoid(-log_ratio) * second.mean
        return Posterior(mean, second.log_variance - ops.softplus(log_ratio) + math.log(2))
