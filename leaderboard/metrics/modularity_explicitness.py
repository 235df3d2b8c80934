"""Modularity and explicitness: does each latent serve one factor, and can a linear classifier read the factors?

Ridgeway and Mozer, "Learning deep disentangled embeddings with the f-statistic loss" (2018), as implemented by
Locatello et al. (2019). Modularity: 20 equal-width bins, plug-in mutual information, one minus the squared information
that a latent has about all factors but its best, relative to the best squared times F - 1; averaged over latents, 0 for
one that encodes nothing. Explicitness: for each factor, logistic regression on standardised codes and the area under
the curve of each class, averaged. The classifier is the published one: one per class against the rest, with liblinear;
newer defaults of scikit-learn score differently. 10,000 training and 5,000 test samples.

Modularity: range [0, 1]; ideal 1; chance is high, since it is a ratio of two small numbers on noise: constant latents
score 0, and noise scores higher the more the factors differ in their number of values: 0.3 on XYSquares, 0.7 on
dSprites, 1.0 on Cars3D or with a single factor. Explicitness: range [0, 1]; ideal 1; chance 0.5. Permuting, flipping or
copying latents changes neither beyond rounding and the classifier's tolerance.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmark_data.errors import needs
from leaderboard.arrays import ConstantFactors, Real, check_codes_factors, check_seed, check_train_test, standardise
from leaderboard.information import pairwise
from leaderboard.properties import Properties

PROPERTIES = Properties(
    asks="does each latent serve one factor; can a linear classifier read the factors?",
    source="Ridgeway and Mozer 2018",
    chance="modularity 0.25 to 1 on noise, by the factors' numbers of values; explicitness 0.5",
    with_idle_latents=0.5,
    rotation_lowers=True,
    tolerance=0.005,
    many_classes=False,
)


def score(
    codes: Real[ArrayLike, "n L"],
    factors: Real[ArrayLike, "n F"],
    *,
    codes_test: Real[ArrayLike, "m L"],
    factors_test: Real[ArrayLike, "m F"],
    bins: int = 20,
    seed: int = 0,
    constant_factors: ConstantFactors = "refuse",
) -> dict[str, float]:
    """Compute modularity on the training part and explicitness on both.

    Args:
        codes: real numbers, shape (n, L).
        factors: class ids, shape (n, F).
        codes_test: real numbers, shape (m, L), held out.
        factors_test: class ids, shape (m, F).
        bins: equal-width bins per latent, for modularity.
        seed: for liblinear.
        constant_factors: ``"refuse"`` or ``"drop"`` factors that have one value in the training part.

    Returns:
        ``modularity``, ``explicitness_train`` and ``explicitness_test``, in [0, 1]. Classes that either part lacks are
        left out of ``explicitness_test``, and so are factors of which it has one class only; it is 0.5 if nothing
        remains.

    Raises:
        InvalidInput: see ``leaderboard.arrays.check_train_test``; or fewer than two bins.

    Example:
        >>> factors = np.stack(np.meshgrid(range(2), range(2), range(9), indexing="ij"), -1).reshape(-1, 3)[:, :2]
        >>> score(factors, factors, codes_test=factors, factors_test=factors)
        {'modularity': 1.0, 'explicitness_train': 1.0, 'explicitness_test': 1.0}
    """
    check_seed(seed)
    codes, factors, codes_test, factors_test = check_train_test(
        codes, factors, codes_test, factors_test, constant_factors=constant_factors
    )
    train, test = _explicitness(codes.astype(np.float64), factors, codes_test.astype(np.float64), factors_test, seed)
    return {"modularity": modularity(codes, factors, bins=bins), "explicitness_train": train, "explicitness_test": test}


def modularity(codes: Real[ArrayLike, "n L"], factors: Real[ArrayLike, "n F"], *, bins: int = 20) -> float:
    """Compute modularity alone, which needs no held-out part.

    Args:
        codes: as in ``score``.
        factors: as in ``score``.
        bins: as in ``score``.

    Returns:
        The mean over latents, in [0, 1]. With a single factor, the share of latents that encode any of it.

    Raises:
        InvalidInput: see ``leaderboard.arrays.check_codes_factors``; or fewer than two bins.

    Example:
        >>> factors = np.stack(np.meshgrid(range(4), range(5), indexing="ij"), -1).reshape(-1, 2)
        >>> modularity(np.hstack([factors, np.zeros((20, 2))]), factors)
        0.5
    """
    codes, factors = check_codes_factors(codes, factors)
    squares = pairwise(codes, factors, bins).information ** 2
    best = squares.max(axis=1)
    informed = best > 0
    spill = (squares.sum(axis=1) - best)[informed] / best[informed] / max(1, factors.shape[1] - 1)
    return float((1 - spill).sum() / len(squares))


def _explicitness(
    z: NDArray[np.float64],
    factors: NDArray[np.int64],
    z_test: NDArray[np.float64],
    factors_test: NDArray[np.int64],
    seed: int,
) -> tuple[float, float]:
    """Return the mean area under the curve on either part."""
    needs("explicitness", "metrics", "sklearn")
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    z, z_test = standardise(z, z_test)
    part_areas: tuple[list[float], list[float]] = ([], [])
    for v, v_test in zip(factors.T, factors_test.T, strict=True):
        classifier = OneVsRestClassifier(LogisticRegression(solver="liblinear", random_state=seed)).fit(z, v)
        for areas, part, truth in zip(part_areas, (z, z_test), (v, v_test), strict=True):
            areas.extend(_areas(classifier.predict_proba(part), np.unique(v), truth))
    return float(np.mean(part_areas[0])), float(np.mean(part_areas[1])) if part_areas[1] else 0.5


def _areas(probabilities: NDArray[np.float64], classes: NDArray[np.int64], truth: NDArray[np.int64]) -> list[float]:
    """Average the area under the curve over the classes that occur, as a list of one; empty if fewer than two occur."""
    from scipy.stats import rankdata

    positive = truth[:, None] == classes
    counts = positive.sum(axis=0)
    usable = (counts > 0) & (counts < len(truth))
    if not usable.any():
        return []
    counts = counts[usable]
    ranks = np.where(positive, rankdata(probabilities, axis=0), 0.0).sum(axis=0)[usable]
    return [float(((ranks - counts * (counts + 1) / 2) / (counts * (len(truth) - counts))).mean())]
