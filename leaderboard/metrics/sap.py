"""Separated attribute predictability (SAP): does the best latent predict a factor much better than the second best?

Kumar et al., "Variational inference of disentangled latent concepts from unlabeled observations" (2018), section 3, as
implemented by Locatello et al. (2019): for each latent and factor the test accuracy of a linear support vector machine
on that latent alone, C = 0.01, balanced classes; 10,000 training and 5,000 test samples.

Range [0, 1]. Perfect codes of a factor with K equally frequent values score 1 - 1 / K, since the second best latent
predicts one class, and less for K above 4, which a linear machine on one latent cannot separate. Chance near 0. A
constant latent predicts the most frequent class; in the reference its class depends on the numbering. Permuting or
flipping latents changes nothing; their scale and offset matter, since the penalty is on the unscaled slope and
intercept: as in the reference, latents far from 0 score 0. A copy of the best latent lowers its factor's score to 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leaderboard.arrays import ConstantFactors, Real, check_train_test
from leaderboard.properties import Properties

PROPERTIES = Properties(
    asks="does the best latent predict a factor much better than the next?",
    source="Kumar et al. 2018",
    chance="near 0",
    ideal="0.5 for factors of two values, 1 - 1 / K for K up to 4",
    binary_factors=True,
    copied_latent={"sap": "zero"},
    rotation_lowers=True,
    scale_dependent=("sap",),
    many_rows_tolerance=0.05,
)

_C = 0.01


def score(
    codes: Real[ArrayLike, "n L"],
    factors: Real[ArrayLike, "n F"],
    *,
    codes_test: Real[ArrayLike, "m L"],
    factors_test: Real[ArrayLike, "m F"],
    constant_factors: ConstantFactors = "refuse",
) -> dict[str, float]:
    """Compute SAP.

    Args:
        codes: real numbers, shape (n, L), to fit on.
        factors: class ids, shape (n, F).
        codes_test: real numbers, shape (m, L), held out.
        factors_test: class ids, shape (m, F).
        constant_factors: ``"refuse"`` or ``"drop"`` factors that have one value in the training part.

    Returns:
        ``sap``: the mean over factors of the gap between the two best accuracies. A single latent is compared with a
        classifier that always predicts one class.

    Raises:
        InvalidInput: see ``leaderboard.arrays.check_train_test``.

    Example:
        >>> codes = np.array([[-2.0, 0.3], [-1.0, -0.4], [1.0, 0.4], [2.0, -0.3]])
        >>> factors = np.array([[0], [0], [1], [1]])
        >>> score(codes, factors, codes_test=codes, factors_test=factors)
        {'sap': 0.5}
    """
    z, v, z_test, v_test = check_train_test(codes, factors, codes_test, factors_test, constant_factors=constant_factors)
    padded, padded_test = (np.pad(part.astype(np.float64), ((0, 0), (0, part.shape[1] == 1))) for part in (z, z_test))
    matrix = _accuracies(padded, v, padded_test, v_test)
    ranked = np.sort(matrix, axis=0)
    return {"sap": float((ranked[-1] - ranked[-2]).mean())}


def _accuracies(
    z: NDArray[np.float64], factors: NDArray[np.int64], z_test: NDArray[np.float64], factors_test: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Compute the test accuracy for each latent and factor: float64, shape (L, F), in [0, 1]."""
    accuracies = np.empty((z.shape[1], factors.shape[1]))
    for f, (v, v_test) in enumerate(zip(factors.T, factors_test.T, strict=True)):
        values, ids = np.unique(v, return_inverse=True)
        for i in range(len(accuracies)):
            if np.ptp(z[:, i]) == 0:  # the machine's class would depend on how classes are numbered
                accuracies[i, f] = np.mean(v_test == values[np.bincount(ids).argmax()])
                continue
            slopes, offsets = _fit_machines(z[:, i], ids, len(values))
            decisions = z_test[:, i, None] * slopes + offsets
            predicted = (decisions[:, 0] > 0).astype(np.int64) if len(values) == 2 else decisions.argmax(axis=1)
            accuracies[i, f] = np.mean(values[predicted] == v_test)
    return accuracies


def _fit_machines(
    x: NDArray[np.float64], ids: NDArray[np.int64], classes: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Fit one linear machine per class against the rest (one for two classes), on one latent, exactly.

    liblinear minimises (w² + b²) / 2 + sum of c max(0, 1 - y (w x + b))² iteratively. With a single latent the samples
    inside the margin are those to one side of a threshold, so that with running sums over the sorted latent a step of
    Newton's method costs a binary search, for all classes together. As in liblinear, a class has weight n / (K count)
    and the rest weight 1; with two classes both are weighted.

    Returns:
        w and b, float64, shape (classes,) or (1,).
    """
    n = len(x)
    counts = np.bincount(ids, minlength=classes)
    weights = _C * n / (classes * counts)
    positive_classes, own_weights = (np.array([1]), weights[1:]) if classes == 2 else (np.arange(classes), weights)
    other_weights = weights[:1] if classes == 2 else np.full(classes, _C)

    by_code = np.argsort(x, kind="stable")
    x, ids = x[by_code], ids[by_code]
    by_class = np.argsort(ids, kind="stable")
    keys = ids[by_class] * (n + 1) + by_class  # ascending: by class, then by rank within the whole sample
    starts = np.concatenate([[0], np.cumsum(counts)])[positive_classes]
    all_sums, class_sums = (
        np.vstack([np.zeros(3), np.cumsum(np.stack([v**0, v, v * v], 1), 0)]) for v in (x, x[by_class])
    )
    class_total = class_sums[starts + counts[positive_classes]] - class_sums[starts]

    def sums_below(t: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Sums of 1, x, x² over the samples below t: those of the class, and the others."""
        rank = np.searchsorted(x, t)
        own_sums = class_sums[np.searchsorted(keys, positive_classes * (n + 1) + rank)] - class_sums[starts]
        return own_sums, all_sums[rank] - own_sums

    def sums_within(w: NDArray[np.float64], b: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The same sums over the samples within the margin: own with w x + b < 1, others with w x + b > -1."""
        is_flat = w == 0
        slope = np.where(is_flat, 1.0, w)
        own_sums, _ = sums_below((1 - b) / slope)
        own_sums = np.where((w > 0)[:, None], own_sums, class_total - own_sums)
        _, other_sums = sums_below((-1 - b) / slope)
        others_total = all_sums[-1] - class_total
        other_sums = np.where((w > 0)[:, None], others_total - other_sums, other_sums)
        own_sums = np.where(is_flat[:, None], class_total * (b < 1)[:, None], own_sums)
        return own_sums, np.where(is_flat[:, None], others_total * (b > -1)[:, None], other_sums)

    def objective(w: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
        (n1, s1, q1), (n2, s2, q2) = (sums.T for sums in sums_within(w, b))
        own_loss = n1 * (1 - b) ** 2 - 2 * w * (1 - b) * s1 + w * w * q1
        other_loss = n2 * (1 + b) ** 2 + 2 * w * (1 + b) * s2 + w * w * q2
        return np.asarray((w * w + b * b) / 2 + own_weights * own_loss + other_weights * other_loss)

    w, b = np.zeros(len(positive_classes)), np.zeros(len(positive_classes))
    value = objective(w, b)
    for _ in range(200):
        (n1, s1, q1), (n2, s2, q2) = (sums.T for sums in sums_within(w, b))
        c1, c2 = 2 * own_weights, 2 * other_weights
        gw = w - c1 * (s1 * (1 - b) - w * q1) + c2 * (s2 * (1 + b) + w * q2)
        gb = b - c1 * (n1 * (1 - b) - w * s1) + c2 * (n2 * (1 + b) + w * s2)
        hww, hwb, hbb = 1 + c1 * q1 + c2 * q2, c1 * s1 + c2 * s2, 1 + c1 * n1 + c2 * n2
        determinant = hww * hbb - hwb * hwb
        dw, db = (hbb * gw - hwb * gb) / determinant, (hww * gb - hwb * gw) / determinant
        step = np.ones(len(w))
        for _ in range(30):
            new_value = objective(w - step * dw, b - step * db)
            if (worse := new_value > value).any():
                step[worse] /= 2
            else:
                break
        step[new_value > value] = 0.0  # converged in float64
        w, b, value = w - step * dw, b - step * db, np.minimum(new_value, value)
        if (step * (np.abs(dw) + np.abs(db)) <= 1e-12 * (np.abs(w) + np.abs(b))).all():
            break
    return w, b
