"""What Ada-GVAE and Ada-ML-VAE have in common.

Locatello et al., "Weakly-Supervised Disentanglement Without Compromises", ICML 2020.
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np

from baselines.nets.backend import Tensor, ops
from baselines.objectives import Batch, Objective, Posterior, Term, check_grid, halves
from benchmark_data.errors import InvalidInput
from benchmark_data.factors import FactorSpace, FactorTable, Indices

PAPER = "https://arxiv.org/abs/2002.02886"
CODE = "https://github.com/google-research/disentanglement_lib"
CODE_LICENSE = "Apache-2.0"
CITATION = """@inproceedings{locatello2020weakly,
  title = {Weakly-Supervised Disentanglement Without Compromises},
  author = {Locatello, Francesco and Poole, Ben and R{\\"a}tsch, Gunnar and Sch{\\"o}lkopf, Bernhard and Bachem, Olivier
            and Tschannen, Michael},
  booktitle = {Proceedings of the 37th International Conference on Machine Learning},
  year = {2020},
  eprint = {2002.02886},
  archivePrefix = {arXiv}
}"""


@dataclasses.dataclass(frozen=True)
class PairVae(Objective):
    """β-VAE on pairs of images that share all but k factors, without saying which; shared latents are averaged.

    The loss is the mean of both images' losses, each with the averaged posteriors. A latent counts as changed where the
    divergence of the pair's two posteriors is in the upper half of its range over the latents of that pair.

    Attributes:
        beta: weight of the KL divergence.
        changed: k, the number of factors drawn anew for the second image of a pair (a new value may by chance be the
            old one); 0 draws k from 1 .. F - 1 for every pair, F being the number of factors with more than one value.
        reference_pairs: replace k by 1 in half of the pairs, as disentanglement_lib's code does whatever k is.
        symmetric: the divergence is the mean of both directions, as in the library disent (after arXiv 2010.14407);
            without it the KL divergence of the first posterior from the second, as in the paper.
    """

    n_views: ClassVar[int] = 2
    least_latents: ClassVar[int] = 2  # one is never shared
    supervision: ClassVar[str] = "weakly_supervised"

    beta: float = 1.0
    changed: int = 0
    reference_pairs: bool = False
    symmetric: bool = False

    def rows(self, rows: Indices, space: FactorSpace | FactorTable, count: int, rng: np.random.Generator) -> Indices:
        """Draw pairs: the first image from the rows to train on, the second from all that may be drawn.

        Raises:
            InvalidInput: the rows that may be drawn have not every combination of values once, fewer than two factors
                vary, or ``changed`` exceeds F - 1.
        """
        check_grid(space, "objective on pairs")
        sizes = np.array(space.sizes)
        varying = np.flatnonzero(sizes > 1)
        if len(varying) < 2:
            raise InvalidInput(f"objective on pairs: expected two factors that vary, or more, received {space!r}.")
        if not self.changed < len(varying):
            raise InvalidInput(
                f"hyperparameter 'changed': expected fewer than the {len(varying)} factors that vary, received "
                f"{self.changed}."
            )
        changed = np.full(count, self.changed) if self.changed else rng.integers(1, len(varying), count)
        if self.reference_pairs:
            changed = np.where(rng.random(count) < 0.5, 1, changed)
        first = space.labels(rows[rng.integers(len(rows), size=count)])
        ranks = rng.random((count, len(varying))).argsort(axis=1).argsort(axis=1)
        redrawn = np.zeros(first.shape, bool)
        redrawn[:, varying] = ranks < changed[:, None]
        second = np.where(redrawn, rng.integers(0, sizes, first.shape), first)
        return np.stack([space.index(first), space.index(second)])

    def average(self, first: Posterior, second: Posterior) -> Posterior:
        """Average two posteriors, each (pairs, latents)."""
        raise NotImplementedError

    def aggregate(self, posterior: Posterior) -> Posterior:
        """Average the latents that a pair shares, and leave the changed ones to each image."""
        first, second = halves(posterior)
        shared = shared_latents(first, second, symmetric=self.symmetric)
        average = self.average(first, second)
        return Posterior(
            *(
                ops.concatenate([ops.where(shared, a, x), ops.where(shared, a, y)])
                for a, x, y in zip(average, first, second, strict=True)
            )
        )

    def terms(self, batch: Batch) -> dict[str, Term]:
        """Weigh the KL divergence of the averaged posteriors, meaned over both images, by β."""
        return {"kl": Term(self.beta, ops.mean(batch.kl))}


def shared_latents(first: Posterior, second: Posterior, *, symmetric: bool = False) -> Tensor:
    """Describe which latents a pair shares: those whose divergence is below the middle of its range over the latents.

    Args:
        first: posteriors of the first images, tensors (pairs, latents).
        second: posteriors of the second images.
        symmetric: take the mean of both directions, and not KL(first || second).

    Returns:
        bool, shape (pairs, latents).
    """
    distance = _divergence(first, second)
    if symmetric:
        distance = 0.5 * (distance + _divergence(second, first))
    low, high = ops.min(distance, axis=1, keepdims=True), ops.max(distance, axis=1, keepdims=True)
    return distance < 0.5 * (low + high)


def _divergence(first: Posterior, second: Posterior) -> Tensor:
    """Return 2 KL(first || second) of each latent; the factor does not matter to the threshold."""
    log_ratio = first.log_variance - second.log_variance
    z_score = (second.mean - first.mean) * ops.exp(-0.5 * second.log_variance)  # the inverse variance overflows before
    return ops.exp(log_ratio) + ops.square(z_score) - 1.0 - log_ratio
