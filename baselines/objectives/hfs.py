"""HFS: Roth et al., "Disentanglement of Correlated Factors via Hausdorff Factorized Support", ICLR 2023."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from baselines.nets.backend import Tensor, ops
from baselines.objectives import Batch, Objective, Term, limited
from benchmark_data.factors import FactorSpace, FactorTable, Indices

PAPER = "https://arxiv.org/abs/2210.07347"
CODE = "https://github.com/facebookresearch/disentangling-correlated-factors"
CODE_LICENSE = "MIT"
CITATION = """@inproceedings{roth2023disentanglement,
  title = {Disentanglement of Correlated Factors via Hausdorff Factorized Support},
  author = {Roth, Karsten and Ibrahim, Mark and Akata, Zeynep and Vincent, Pascal and Bouchacourt, Diane},
  booktitle = {International Conference on Learning Representations},
  year = {2023},
  eprint = {2210.07347},
  archivePrefix = {arXiv}
}"""


@dataclasses.dataclass(frozen=True)
class OBJECTIVE(Objective):
    """A β-VAE whose latents must take all combinations of their values, however rarely: the support factorises.

    Where factors are correlated, codes that are independent cannot follow them; codes whose support is a product can.
    For two latents i and j the support of a batch is the set of its pairs (z_i, z_j), z being posterior means, and the
    factorised support holds z_i of any image with z_j of any other. Their distance is the one-sided Hausdorff distance,
    squared: how far the factorised point that is farthest from the batch is from it. Distances are summed over pairs of
    latents, which are drawn anew in each step.

    Both weights are tuned in the paper: its code searches β in 0 .. 16, γ in 0.1 .. 10,000, finer in 80 .. 2,000 where
    β is 0. γ's default is in the middle of that. The code's regulariser of the scale is off by default, and left out.

    Attributes:
        beta: β, weight of the KL divergence.
        gamma: γ, weight of the distance between the support and the factorised support.
        pairs: pairs of latents that are compared in a step; all of them where there are no more. A step holds at
            least a number for each pair and three images of a batch: 26 MB with 64 images, 1.7 GB with 256.
    """

    least_images: ClassVar[int] = 2
    least_latents: ClassVar[int] = 2
    mean_changes: ClassVar[str] = (
        "the KL divergence is divided by the number of latents L, but not the distance of the supports: beside the "
        "divergence gamma is L times as strong"
    )

    beta: float = 1.0
    gamma: float = 100.0
    pairs: int = limited(25, least=1)

    def inputs(
        self, rows: Indices, space: FactorSpace | FactorTable, latents: int, rng: np.random.Generator
    ) -> dict[str, NDArray[Any]]:
        """Draw pairs of latents without replacement: int32 (pairs, 2)."""
        all_pairs = np.array(list(itertools.combinations(range(latents), 2)), np.int32)
        return {"pairs": all_pairs[rng.permutation(len(all_pairs))[: self.pairs]]}

    def terms(self, batch: Batch) -> dict[str, Term]:
        """Weigh the KL divergence by β and the distance of the supports by γ."""
        return {
            "kl": Term(self.beta, ops.mean(batch.kl)),
            "support": Term(self.gamma, support_distance(batch.posterior.mean, batch.inputs["pairs"])),
        }


def support_distance(codes: Tensor, pairs: Tensor) -> Tensor:
    """Measure how far the factorised support of a batch is from its support, summed over pairs of latents.

    The gradient moves three images for each pair: the two that make the farthest combination and the one nearest to it.
    So which they are is found first, without a gradient.

    Args:
        codes: tensor (n, latents).
        pairs: latents, int32 (pairs, 2).

    Returns:
        The sum of squared distances, a scalar, not negative.
    """
    count = codes.shape[0]
    first, second = (ops.transpose(ops.take(codes, pairs[:, side], axis=1)) for side in (0, 1))  # (pairs, n)
    squared = [ops.square(z[:, :, None] - z[:, None, :]) for z in (ops.stop_gradient(first), ops.stop_gradient(second))]
    distances = squared[0][:, :, None, :] + squared[1][:, None, :, :]  # of (z_i of a, z_j of b) from each image
    nearest = ops.reshape(ops.argmin(distances, axis=-1), (-1, count * count))
    farthest = ops.argmax(ops.reshape(ops.min(distances, axis=-1), (-1, count * count)), axis=-1)[:, None]
    nearest_image = ops.take_along_axis(nearest, farthest, axis=1)

    def codes_of_images(z: Tensor, indices: Tensor) -> Tensor:
        return ops.take_along_axis(z, indices, axis=1)

    first_difference = codes_of_images(first, farthest // count) - codes_of_images(first, nearest_image)
    second_difference = codes_of_images(second, farthest % count) - codes_of_images(second, nearest_image)
    return ops.sum(ops.square(first_difference) + ops.square(second_difference))
