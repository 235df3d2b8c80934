"""BetaVAE score: can a linear classifier predict which factor two samples share from the difference of their codes?

Higgins et al., "beta-VAE: learning basic visual concepts with a constrained variational framework" (2017), section 3,
as implemented by Locatello et al. (2019): the mean absolute difference over 64 pairs that share one factor's value,
10,000 such points to train on and 5,000 to test, and logistic regression. The classifier is the published one: one
factor against the rest, with liblinear; newer defaults of scikit-learn score differently. Pairs are drawn from the
given samples, where the reference renders new ones (see ``leaderboard.metrics._batches``).

Range [0, 1]; ideal 1; chance 1 / F, if each value of a factor has many rows. A rotation of the latents may keep the
score at 1: it is the weakest of the metrics. Permuting or flipping latents changes nothing; their scale matters, since
the classifier's penalty does not scale with it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmark_data.errors import InvalidInput, needs
from leaderboard.arrays import ConstantFactors, Real, check_seed, check_train_test
from leaderboard.metrics import _batches
from leaderboard.properties import Properties

PROPERTIES = Properties(
    asks="can a linear classifier tell which factor two samples share?",
    source="Higgins et al. 2017",
    chance="1 / F, with many rows of each value",
    scale_dependent=("beta_vae", "train_accuracy"),
    factor_order_matters="the factor that a batch fixes is drawn by its column",
    tolerance=0.02,
    many_rows=False,
    quick={"points": 200, "points_test": 100},
)

_LARGEST_DIFFERENCE = 1e30
"""The largest difference for which scikit-learn's liblinear works."""


def score(
    codes: Real[ArrayLike, "n L"],
    factors: Real[ArrayLike, "n F"],
    *,
    codes_test: Real[ArrayLike, "m L"],
    factors_test: Real[ArrayLike, "m F"],
    batch: int = 64,
    points: int = 10_000,
    points_test: int = 5_000,
    seed: int = 0,
    constant_factors: ConstantFactors = "refuse",
) -> dict[str, float]:
    """Compute the BetaVAE score.

    Args:
        codes: real numbers, shape (n, L), to draw training pairs from.
        factors: class ids, shape (n, F), at least two factors.
        codes_test: real numbers, shape (m, L), held out.
        factors_test: class ids, shape (m, F).
        batch: pairs per point.
        points: points to train on.
        points_test: points that are scored.
        seed: for the pairs and for liblinear.
        constant_factors: ``"refuse"`` or ``"drop"`` factors that have one value in the training part.

    Returns:
        ``beta_vae``: the accuracy on the test points; ``train_accuracy``: on the training points.

    Raises:
        InvalidInput: see ``leaderboard.arrays.check_train_test``; or one factor only, a factor that is
            constant in the held-out part alone, no points, or codes of a scale beyond 1e30.

    Example:
        >>> factors = np.stack(np.meshgrid(range(4), range(5), indexing="ij"), -1).reshape(-1, 2)
        >>> score(factors, factors, codes_test=factors, factors_test=factors, points=100, points_test=50)["beta_vae"]
        1.0
    """
    check_seed(seed)
    needs("the beta-VAE score", "metrics", "sklearn")
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    codes, factors, codes_test, factors_test = check_train_test(
        codes, factors, codes_test, factors_test, constant_factors=constant_factors
    )
    _batches.check(factors, factors_test, batch, points=points, points_test=points_test)
    x, y = _draw_points(codes, factors, points, batch, seed)
    x_test, y_test = _draw_points(codes_test, factors_test, points_test, batch, seed + 1)
    if x.max() > _LARGEST_DIFFERENCE:
        raise InvalidInput(
            f"codes: expected pairs that differ by {_LARGEST_DIFFERENCE:g} at most, beyond which liblinear does not "
            f"converge, received {x.max():.3g} in the mean of a batch. Rescale the codes."
        )
    classifier = OneVsRestClassifier(LogisticRegression(solver="liblinear", random_state=seed))
    classifier.fit(x, y)
    return {
        "beta_vae": float(np.mean(classifier.predict(x_test) == y_test)),
        "train_accuracy": float(np.mean(classifier.predict(x) == y)),
    }


def _draw_points(
    codes: NDArray[np.floating], factors: NDArray[np.int64], count: int, batch: int, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Draw points: features float64 (count, L) and shared factors int64 (count,)."""
    z = codes.astype(np.float64)
    features, labels = [], []
    for fixed, first, second in _batches.draw_paired_batches(factors, count, batch, seed):
        features.append(np.abs(z[first] - z[second]).mean(axis=1))
        labels.append(fixed)
    return np.concatenate(features), np.concatenate(labels)
