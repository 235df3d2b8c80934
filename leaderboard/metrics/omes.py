"""Overlap and multiple encoding score (OMES): what do latents do when a single factor changes?

Dapueto, Noceti and Odone, "Transferring disentangled representations: bridging the gap between synthetic and real
images" (2024), section 3: over pairs of samples that differ in one factor alone, a latent encodes that factor by 1
minus the absolute correlation between its values in both samples. From this matrix the overlap score measures whether a
latent encodes other factors too, the multiple encoding score whether other latents encode the factor too; ``alpha``
weights the first against the second, and latents are weighted by how much they encode the factor. Latents whose
standard deviation is below 0.05 are left out.

The authors draw pairs at random; here all pairs of the given rows are used, by sums over groups of rows. A sample must
contain such pairs: 10,000 rows of a grid of a million have some hundreds for a factor.

Range [0, 1]; ideal 1 is approached by factors of many values only: two samples that differ in a factor of K values
correlate by -1 / (K - 1), so that a perfect latent encodes it by 1 - 1 / (K - 1), and one of two values by nothing.
Noise changes with every factor, so that chance is about the mean of 1 / F and 1 / L. Permuting or flipping latents
changes nothing, and neither does the numbering of classes; their scale matters, since it decides which are left out. A
copy of every latent does not change the overlap score, and raises or lowers the multiple encoding score.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmark_data.errors import InvalidInput
from leaderboard.arrays import Codes, ConstantFactors, Real, check_codes_factors, in_use
from leaderboard.information import number_classes
from leaderboard.properties import Properties

PROPERTIES = Properties(
    asks="does a single latent change when a single factor does?",
    source="Dapueto et al. 2024, section 3",
    chance="mean of 1 / F and 1 / L",
    ideal="1 for factors of many values",
    # Factors of 3 and 4 values and two idle latents: a perfect latent encodes one of K values by 1 - 1 / (K - 1).
    with_idle_latents=(3 / 4 * 1 / 2 + 5 / 6 * 2 / 3) / 2,
    copied_latent={"overlap": "same"},
    scale_dependent=("omes", "overlap", "multiple_encoding"),
    noise_scores="noise changes with every factor, and scores the mean of 1 / F and 1 / L",
)

_LEAST_DEVIATION = 0.05


def score(
    codes: Real[ArrayLike, "n L"],
    factors: Real[ArrayLike, "n F"],
    *,
    alpha: float = 0.5,
    constant_factors: ConstantFactors = "refuse",
) -> dict[str, float]:
    """Compute OMES.

    Args:
        codes: real numbers, shape (n, L).
        factors: class ids, shape (n, F).
        alpha: the weight of the overlap score, in [0, 1]; that of the multiple encoding score is ``1 - alpha``.
        constant_factors: ``"refuse"`` or ``"drop"`` factors that have one value in the sample.

    Returns:
        ``omes``, and its components ``overlap`` and ``multiple_encoding``. All are in [0, 1], and 0 if no latent is
        active.

    Raises:
        InvalidInput: see ``leaderboard.arrays.check_codes_factors``; or ``alpha`` outside [0, 1], or a
            factor in which alone no two rows differ.

    Warns:
        LostSpread: see ``leaderboard.arrays.in_use``.

    Example:
        >>> factors = np.stack(np.meshgrid(range(21), range(21), indexing="ij"), -1).reshape(-1, 2)
        >>> scores = score(factors, factors)
        >>> {name: round(value, 3) for name, value in scores.items()}
        {'omes': 0.926, 'overlap': 0.926, 'multiple_encoding': 0.926}
    """
    if not 0 <= alpha <= 1:
        raise InvalidInput(f"alpha: expected a number in [0, 1], received {alpha}.")
    matrix = _encoding_matrix(*check_codes_factors(codes, factors, constant_factors=constant_factors))
    if not len(matrix):
        return {"omes": 0.0, "overlap": 0.0, "multiple_encoding": 0.0}
    # The distance of a row, or column, to the one that is 1 here and 0 elsewhere.
    latents, count = matrix.shape
    overlap = 1 - (matrix.sum(axis=1, keepdims=True) - matrix + 1 - matrix) / count
    multiple = 1 - (matrix.sum(axis=0, keepdims=True) - matrix + 1 - matrix) / latents
    pooled = [_pool_scores(scores, matrix) for scores in (overlap, multiple)]
    return {"omes": alpha * pooled[0] + (1 - alpha) * pooled[1], "overlap": pooled[0], "multiple_encoding": pooled[1]}


def _encoding_matrix(codes: Codes, factors: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return how much each active latent encodes each factor: float64 (active latents, F), in [0, 1]."""
    z = codes.astype(np.float64)
    z = z[:, in_use(z, _LEAST_DEVIATION)]
    z = z - z.mean(axis=0)
    ids = number_classes(factors)
    return np.stack([_factor_encoding(z, ids, f) for f in range(ids.shape[1])], axis=1)


def _factor_encoding(z: NDArray[np.float64], ids: NDArray[np.int64], factor: int) -> NDArray[np.float64]:
    """Return one minus the absolute correlation over ordered pairs that differ in ``factor`` alone: float64 (L,).

    A pair is counted in both orders, so that both sides have the same mean and variance. Sums over the pairs of a group
    are products of sums over its rows, minus those over rows of the same value.
    """
    groups = _number_rows(np.delete(ids, factor, axis=1))
    identical = _number_rows(np.stack([groups, ids[:, factor]], axis=1))
    partner_counts = np.bincount(groups)[groups] - np.bincount(identical)[identical]
    pair_count = partner_counts.sum()
    if not pair_count:
        raise InvalidInput(
            "factors: expected pairs of rows that differ in one factor alone, for each factor, received none for "
            f"column {factor}. Score more rows, or rows of a complete grid."
        )
    mean = (partner_counts @ z) / pair_count
    z = z - mean
    variance = partner_counts @ z**2
    products = (_sum_groups(z, groups) ** 2).sum(axis=0) - (_sum_groups(z, identical) ** 2).sum(axis=0)
    is_constant = variance <= 1e-24 * (z**2).sum(axis=0)
    correlation = np.where(is_constant, 1.0, products / np.where(is_constant, 1.0, variance))
    return np.asarray(np.clip(1 - np.abs(correlation), 0.0, 1.0))


def _number_rows(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number the distinct rows: int64 (n,)."""
    if not rows.shape[1]:
        return np.zeros(len(rows), np.int64)
    return np.asarray(np.unique(rows, axis=0, return_inverse=True)[1], np.int64).ravel()


def _sum_groups(z: NDArray[np.float64], groups: NDArray[np.int64]) -> NDArray[np.float64]:
    """Sum the rows of each group: float64 (groups, L)."""
    sums = np.zeros((int(groups.max()) + 1, z.shape[1]))
    np.add.at(sums, groups, z)
    return sums


def _pool_scores(scores: NDArray[np.float64], matrix: NDArray[np.float64]) -> float:
    """Average over latents, weighted by how much they encode the factor, and over factors."""
    total = matrix.sum(axis=0)
    return float(((scores * matrix**2).sum(axis=0) / np.where(total > 0, total, 1.0)).mean())
