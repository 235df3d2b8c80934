"""Template of an objective: copy to ``baselines/objectives/<name>.py`` and change. The file name is its name.

A β-VAE whose divergence is annealed in, as an example. Nothing else is to be edited: ``offaxis train run --objective
<name> --set strength=2`` trains it, its terms appear in the history, and the contract tests run over it.
"""

from __future__ import annotations

import dataclasses

from baselines.nets.backend import ops
from baselines.objectives import Batch, Objective, Term

# What the board prints of the method; its check fails where one is missing.
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
    """Reconstruction + strength * min(1, step / warm_up) * KL(q(z|x) || p(z)). Name the paper and its equation here.

    Attributes:
        strength: weight of the divergence once the warm-up is over.
        warm_up: steps over which the weight rises from 0.
    """

    strength: float = 1.0
    warm_up: int = 1000

    def terms(self, batch: Batch) -> dict[str, Term]:
        """Each term is a scalar with its weight; the history records the scalar by this name."""
        share = ops.minimum(1.0, batch.step / max(1, self.warm_up))
        return {"kl": Term(self.strength * share, ops.mean(batch.kl))}

    # Pairs of images: `n_views = 2` and `rows`. A change of the posteriors: `aggregate`. A second network with its own
    # optimiser: `networks`, called through `batch.call`. Further random numbers, or labels: `inputs`. An encoder
    # that the reconstruction does not move: `reconstructs = False`; no decoder at all: `decodes = False`. Augmented
    # images: `views`. A code that is more than the mean: `code`. Weights that decay: `decay_of`. See
    # baselines/objectives/__init__.py. A number that must not be 0, or not above 1: `limited(0.5, above=0, most=1)`.
