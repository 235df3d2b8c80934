"""SimCLR: Chen et al., "A Simple Framework for Contrastive Learning of Visual Representations", ICML 2020."""

from __future__ import annotations

import dataclasses

from baselines.nets.backend import Tensor, ops
from baselines.objectives import Batch, Term, limited
from baselines.objectives._augmented import Projected

PAPER = "https://arxiv.org/abs/2002.05709"
CODE = "https://github.com/google-research/simclr"
CODE_LICENSE = "Apache-2.0"
CITATION = """@inproceedings{chen2020simple,
  title = {A Simple Framework for Contrastive Learning of Visual Representations},
  author = {Chen, Ting and Kornblith, Simon and Norouzi, Mohammad and Hinton, Geoffrey},
  booktitle = {Proceedings of the 37th International Conference on Machine Learning},
  year = {2020},
  eprint = {2002.05709},
  archivePrefix = {arXiv}
}"""


@dataclasses.dataclass(frozen=True)
class OBJECTIVE(Projected):
    """Contrastive loss on two augmented views of each image (NT-Xent, algorithm 1). There is no decoder.

    Each of the 2 n views has to identify its partner among all other views, by the cosine between the outputs of a head
    on the codes. Views are darkened and partly erased but not cropped (`baselines.objectives._augmented`). Adam trains
    the head with step size 1e-3 and its default decays, whatever the run's are.

    Attributes:
        darkened: the most by which a channel of a view is darkened.
        erased: side of the square that is erased, as a share of the image's.
        units: width of both layers of the head.
        temperature: τ, positive.
    """

    temperature: float = limited(0.5, above=0)

    def terms(self, batch: Batch) -> dict[str, Term]:
        """Weigh the cross-entropy by 1."""
        return {"nt_xent": Term(1.0, nt_xent(*self.heads(batch), self.temperature))}


def nt_xent(first: Tensor, second: Tensor, temperature: float) -> Tensor:
    """Compute the cross-entropy of identifying the partner among all other views, the mean over the views.

    Args:
        first: vectors of the first views, shape (n, d).
        second: vectors of the second views, shape (n, d).
        temperature: divides the cosines.

    Returns:
        Nats, a scalar: half the value of the authors' code, which adds up both views.
    """
    count = 2 * first.shape[0]
    vectors = ops.concatenate([first, second])
    squared_norms = ops.sum(ops.square(vectors), axis=1, keepdims=True)
    vectors = vectors * ops.rsqrt(ops.maximum(squared_norms, 1e-14))  # ops.normalize has no finite gradient at 0
    logits = ops.matmul(vectors, ops.transpose(vectors)) / temperature
    partner_similarity = ops.mean(ops.sum(vectors[: count // 2] * vectors[count // 2 :], axis=1)) / temperature
    return ops.mean(ops.logsumexp(logits - 1e9 * ops.eye(count, dtype="float32"), axis=1)) - partner_similarity
