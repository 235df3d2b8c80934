"""LeJEPA: Balestriero and LeCun, "Provable and Scalable Self-Supervised Learning Without the Heuristics", 2025."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from baselines.nets.backend import Tensor, ops
from baselines.objectives import Batch, Term, limited
from baselines.objectives._augmented import Augmented
from benchmark_data.factors import FactorSpace, FactorTable, Indices

PAPER = "https://arxiv.org/abs/2511.08544"
CODE = "https://github.com/rbalestr-lab/lejepa"
CODE_LICENSE = "CC-BY-NC-4.0"
CITATION = """@article{balestriero2025lejepa,
  title = {{LeJEPA}: Provable and Scalable Self-Supervised Learning Without the Heuristics},
  author = {Balestriero, Randall and LeCun, Yann},
  journal = {arXiv preprint arXiv:2511.08544},
  eprint = {2511.08544},
  archivePrefix = {arXiv},
  year = {2025}
}"""

KNOTS = np.linspace(0, 3, 17, dtype=np.float32)
"""Where characteristic functions are compared; they are symmetric around 0."""


@dataclasses.dataclass(frozen=True)
class OBJECTIVE(Augmented):
    """Invariance to augmentations, with codes distributed as N(0, 1) in every direction (SIGReg). There is no decoder.

    The loss is on the codes themselves, without a head, since the codes should be an isotropic Gaussian (Klindt et al.
    2026, arXiv 2605.26379). Views are darkened and partly erased but not cropped (`baselines.objectives._augmented`).

    Attributes:
        darkened: the most by which a channel of a view is darkened.
        erased: side of the square that is erased, as a share of the image's.
        gaussian: λ in [0, 1], the weight of SIGReg; 1 - λ is that of the distance of views.
        directions: the number of random directions per step, at least 1.
    """

    gaussian: float = limited(0.05, most=1)
    directions: int = limited(64, least=1)

    def inputs(
        self, rows: Indices, space: FactorSpace | FactorTable, latents: int, rng: np.random.Generator
    ) -> dict[str, NDArray[Any]]:
        """Draw the inputs of `Augmented`, and directions of length 1: float32 (latents, directions)."""
        vectors = rng.standard_normal((latents, self.directions))
        directions = (vectors / np.linalg.norm(vectors, axis=0)).astype(np.float32)
        return {**super().inputs(rows, space, latents, rng), "directions": directions}

    def terms(self, batch: Batch) -> dict[str, Term]:
        """Weigh SIGReg, the mean of both views', by λ, and the distance of codes to their mean by 1 - λ."""
        pairs = batch.codes.shape[0] // 2
        first, second = batch.codes[:pairs], batch.codes[pairs:]
        directions = batch.inputs["directions"]
        return {
            "sigreg": Term(self.gaussian, 0.5 * (sigreg(first, directions) + sigreg(second, directions))),
            "invariance": Term(1 - self.gaussian, 0.25 * ops.mean(ops.square(first - second))),
        }


def sigreg(codes: Tensor, directions: Tensor) -> Tensor:
    """Compute the statistic of Epps and Pulley for N(0, 1) of projected codes, the mean over the directions.

    It is n times the integral over t of |characteristic function of the sample - exp(-t² / 2)|² exp(-t² / 2), by the
    trapezoid rule over [-3, 3].

    Args:
        codes: shape (n, latents).
        directions: shape (latents, directions), each of length 1.

    Returns:
        A scalar, not negative.
    """
    target = np.exp(-(KNOTS**2) / 2)
    weights = 2 * (KNOTS[1] - KNOTS[0]) * target * np.where((KNOTS == 0) | (KNOTS == 3), 0.5, 1).astype(np.float32)
    angles = ops.multiply(ops.matmul(codes, directions)[:, :, None], KNOTS)
    real_difference = ops.subtract(ops.mean(ops.cos(angles), axis=0), target)
    squared_distances = ops.square(real_difference) + ops.square(ops.mean(ops.sin(angles), axis=0))
    return codes.shape[0] * ops.mean(ops.sum(ops.multiply(squared_distances, weights), axis=1))
