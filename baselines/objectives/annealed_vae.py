"""AnnealedVAE: Burgess et al., "Understanding disentangling in β-VAE", 2018 (arXiv 1804.03599)."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from baselines.nets.backend import ops
from baselines.objectives import Batch, Objective, Term, limited

PAPER = "https://arxiv.org/abs/1804.03599"
CODE = "https://github.com/google-research/disentanglement_lib"
CODE_LICENSE = "Apache-2.0"
CITATION = """@article{burgess2018understanding,
  title = {Understanding Disentangling in $\\beta$-{VAE}},
  author = {Burgess, Christopher P. and Higgins, Irina and Pal, Arka and Matthey, Loic and Watters, Nick and
            Desjardins, Guillaume and Lerchner, Alexander},
  journal = {arXiv preprint arXiv:1804.03599},
  eprint = {1804.03599},
  archivePrefix = {arXiv},
  year = {2018}
}"""


@dataclasses.dataclass(frozen=True)
class OBJECTIVE(Objective):
    """Equation 8 of the paper: reconstruction + γ |KL(q(z|x) || p(z)) - C|, with C growing from 0 to c_max.

    Attributes:
        gamma: γ, weight of the distance from the capacity.
        c_max: the largest capacity C, in nats.
        iteration_threshold: steps over which C grows, linearly.
    """

    prior_is_not_least: ClassVar[str] = "the divergence is drawn to the capacity C, which grows from 0"

    mean_changes: ClassVar[str] = (
        "the KL divergence is divided by the number of latents L before the capacity is compared with it: c_max is in "
        "nats for each latent"
    )

    gamma: float = 1000.0
    c_max: float = 25.0
    iteration_threshold: int = limited(100_000, least=1)

    def terms(self, batch: Batch) -> dict[str, Term]:
        """Weigh the distance of the mean KL divergence from this step's capacity by γ; record the divergence too."""
        kl = ops.mean(batch.kl)
        capacity = self.c_max * ops.minimum(batch.step / self.iteration_threshold, 1.0)
        return {"kl": Term(0.0, kl), "capacity_gap": Term(self.gamma, ops.abs(kl - capacity))}
