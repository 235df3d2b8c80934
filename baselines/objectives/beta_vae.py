"""β-VAE: Higgins et al., "beta-VAE: Learning Basic Visual Concepts with a Constrained Variational Framework", 2017."""

from __future__ import annotations

import dataclasses

from baselines.nets.backend import ops
from baselines.objectives import Batch, Objective, Term

PAPER = "https://openreview.net/forum?id=Sy2fzU9gl"
CODE = "https://github.com/google-research/disentanglement_lib"
CODE_LICENSE = "Apache-2.0"
CITATION = """@inproceedings{higgins2017beta,
  title = {beta-{VAE}: Learning Basic Visual Concepts with a Constrained Variational Framework},
  author = {Higgins, Irina and Matthey, Loic and Pal, Arka and Burgess, Christopher and Glorot, Xavier and
            Botvinick, Matthew and Mohamed, Shakir and Lerchner, Alexander},
  booktitle = {International Conference on Learning Representations},
  year = {2017}
}"""


@dataclasses.dataclass(frozen=True)
class OBJECTIVE(Objective):
    """Equation 4 of the paper: reconstruction + β KL(q(z|x) || p(z)). With β = 1 it is the plain VAE.

    Attributes:
        beta: weight of the KL divergence.
    """

    beta: float = 4.0

    def terms(self, batch: Batch) -> dict[str, Term]:
        """Weigh the mean KL divergence by β."""
        return {"kl": Term(self.beta, ops.mean(batch.kl))}
