"""InfoNCE on pairs: Zimmermann et al., "Contrastive Learning Inverts the Data Generating Process", ICML 2021."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np

from baselines.nets.backend import Tensor, ops
from baselines.objectives import Batch, Objective, Term, halves, limited
from baselines.objectives._neighbours import neighbours
from benchmark_data.factors import FactorSpace, FactorTable, Indices

PAPER = "https://arxiv.org/abs/2102.08850"
CODE = "https://github.com/brendel-group/cl-ica"
CODE_LICENSE = "MIT"
CITATION = """@inproceedings{zimmermann2021contrastive,
  title = {Contrastive Learning Inverts the Data Generating Process},
  author = {Zimmermann, Roland S. and Sharma, Yash and Schneider, Steffen and Bethge, Matthias and Brendel, Wieland},
  booktitle = {Proceedings of the 38th International Conference on Machine Learning},
  year = {2021},
  eprint = {2102.08850},
  archivePrefix = {arXiv}
}"""


@dataclasses.dataclass(frozen=True)
class OBJECTIVE(Objective):
    """Contrastive loss on pairs of images that are near each other in the factors. There is no decoder.

    The factors of the second image are one random step from those of the first, drawn as for SlowVAE. The loss is the
    cross-entropy of identifying an image's partner among the partners of the batch, from logits -sum |z - z'|^p / τ;
    it is the mean over both directions. If p is also the exponent of the steps, codes recover the factors up to
    permutation, sign and scale; for p = 2 also up to a rotation.

    Attributes:
        power: p, the exponent of both the steps of the factors and the distance of codes: 1 for Laplace steps, 2 for
            normal ones, other values for generalised normal ones; at least 1.
        temperature: τ, positive.
        data_rate: the inverse scale of the steps: log(size) / ``data_rate`` classes; 0 draws factors anew.
    """

    least_images: ClassVar[int] = 2
    n_views: ClassVar[int] = 2
    supervision: ClassVar[str] = "weakly_supervised"
    stochastic: ClassVar[bool] = False
    decodes: ClassVar[bool] = False

    power: float = limited(1.0, least=1)
    temperature: float = limited(1.0, above=0)
    data_rate: float = 1.0

    def rows(self, rows: Indices, space: FactorSpace | FactorTable, count: int, rng: np.random.Generator) -> Indices:
        """Draw pairs: the first image from the rows to train on, the second from all that may be drawn.

        Raises:
            InvalidInput: the rows that may be drawn have not every combination of values once, or no factor has an
                order.
        """
        return neighbours(rows, space, count, rng, rate=self.data_rate, power=self.power)

    def terms(self, batch: Batch) -> dict[str, Term]:
        """Weigh the cross-entropy of both directions by 1."""
        first, second = halves(batch.posterior)
        differences = ops.abs(first.mean[:, None] - second.mean[None])
        return {"info_nce": Term(1.0, info_nce(-ops.sum(differences**self.power, axis=2) / self.temperature))}


def info_nce(logits: Tensor) -> Tensor:
    """Compute the cross-entropy of identifying partners, the mean over both directions.

    Args:
        logits: similarity of each first image to each second one, shape (n, n); partners are on the diagonal.

    Returns:
        Nats, a scalar.
    """
    log_normalisers = [ops.mean(ops.logsumexp(logits, axis=axis)) for axis in (0, 1)]
    return 0.5 * (log_normalisers[0] + log_normalisers[1]) - ops.mean(ops.diagonal(logits))
