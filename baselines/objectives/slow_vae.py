"""SlowVAE: Klindt et al., "Towards Nonlinear Disentanglement in Natural Data with Temporal Sparse Coding", 2021."""

from __future__ import annotations

import dataclasses
import math
from typing import ClassVar

import numpy as np

from baselines.nets.backend import Tensor, ops
from baselines.objectives import Batch, Objective, Term, halves, limited
from baselines.objectives._neighbours import neighbours
from benchmark_data.factors import FactorSpace, FactorTable, Indices

PAPER = "https://arxiv.org/abs/2007.10930"
CODE = "https://github.com/bethgelab/slow_disentanglement"
CODE_LICENSE = "MIT"
CITATION = """@inproceedings{klindt2021towards,
  title = {Towards Nonlinear Disentanglement in Natural Data with Temporal Sparse Coding},
  author = {Klindt, David A. and Schott, Lukas and Sharma, Yash and Ustyuzhaninov, Ivan and Brendel, Wieland
            and Bethge, Matthias and Paiton, Dylan},
  booktitle = {International Conference on Learning Representations},
  year = {2021},
  eprint = {2007.10930},
  archivePrefix = {arXiv}
}"""


@dataclasses.dataclass(frozen=True)
class OBJECTIVE(Objective):
    """A β-VAE on pairs of neighbours in time, whose latents are to change little or rarely from one to the other.

    The second image of a pair is where the first one's factors go in one step: each ordered factor moves by a Laplace
    distribution over its values (scale log(size) / ``data_rate`` classes, round no circle), at least one of them by one
    class or more; categorical factors stay. The prior of a latent, given the other image, is a Laplace distribution
    about the other image's mean. The cross-entropy of a Gaussian posterior to it has a closed form.

    As in the paper's code the pair is taken both ways: the transition term is the sum of both cross-entropies less one
    entropy, the mean of both images'. That code sums over a pair's images, where we average, so our loss is half of it:
    we multiply β and γ by 1/2, keeping their meaning.

    Attributes:
        beta: β, weight of the KL divergence to the normal prior.
        gamma: γ, weight of the transition term.
        rate: the rate of the latents' Laplace prior, the inverse of its scale, positive.
        data_rate: the rate of the factors' Laplace distribution; 0 draws factors anew.
    """

    n_views: ClassVar[int] = 2
    supervision: ClassVar[str] = "weakly_supervised"
    prior_is_not_least: ClassVar[str] = (
        "Given the image beside it, a latent's prior is a Laplace distribution about that image's mean, narrower than "
        "N(0, 1): the transition term falls as the variance does."
    )

    mean_changes: ClassVar[str] = (
        "the KL divergence is divided by the number of latents L, but not the transition term: relative to it "
        "gamma is L times as strong"
    )

    beta: float = 1.0
    gamma: float = 10.0
    rate: float = limited(6.0, above=0)
    data_rate: float = 1.0

    def rows(self, rows: Indices, space: FactorSpace | FactorTable, count: int, rng: np.random.Generator) -> Indices:
        """Draw pairs: the first image from the rows to train on, the second from all that may be drawn.

        Raises:
            InvalidInput: the rows that may be drawn have not every combination of values once, or there is no factor
                with an order.
        """
        return neighbours(rows, space, count, rng, rate=self.data_rate)

    def terms(self, batch: Batch) -> dict[str, Term]:
        """Weigh the KL divergence by β / 2 and the transition term by γ / 2."""
        first, second = halves(batch.posterior)
        cross_entropies = sum(
            cross_entropy_to_laplace(posterior.mean - other.mean, posterior.log_variance, self.rate)
            for posterior, other in ((first, second), (second, first))
        )
        entropy = 0.5 * (batch.posterior.log_variance + math.log(2 * math.pi * math.e))
        transition = ops.mean(ops.sum(cross_entropies, axis=1)) - ops.mean(ops.sum(entropy, axis=1))
        return {
            "kl": Term(0.5 * self.beta, ops.mean(batch.kl)),
            "transition": Term(0.5 * self.gamma, transition),
        }


def cross_entropy_to_laplace(mean: Tensor, log_variance: Tensor, rate: float) -> Tensor:
    """Compute the cross-entropy -E log Laplace(z; 0, 1 / rate) of a Gaussian z: λ E|z| - log(λ / 2).

    E|z| is the mean of a folded normal distribution, sqrt(2 / π) σ exp(-μ² / 2σ²) + μ erf(μ / (sqrt(2) σ)).

    Args:
        mean: μ, the distance of the means.
        log_variance: log σ², of the same shape.
        rate: λ, a number or a scalar tensor.

    Returns:
        Nats, of the same shape.
    """
    ratio = mean * ops.exp(-0.5 * log_variance) / math.sqrt(2)
    spread = math.sqrt(2 / math.pi) * ops.exp(0.5 * log_variance - ops.square(ratio))
    return rate * (spread + mean * ops.erf(ratio)) - ops.log(ops.convert_to_tensor(rate, "float32") / 2)
