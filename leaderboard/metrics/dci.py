"""Disentanglement, completeness and informativeness (DCI) from the importances of gradient-boosted trees.

Eastwood and Williams, "A framework for the quantitative evaluation of disentangled representations" (2018), as
implemented by Locatello et al. (2019): one scikit-learn ``GradientBoostingClassifier`` with default settings (100
rounds, rate 0.1, depth 3) for each factor, 10,000 training and 5,000 test samples.

Range [0, 1]; ideal 1 for disentanglement and completeness. Chance is near 0 for both with uninformative codes;
informativeness is accuracy, so its chance level is that of the most frequent class. Permuting or flipping latents
changes nothing beyond the trees' own random tie-breaking; a copy of an informative latent halves its importance and
lowers completeness, not disentanglement. Disentanglement grows with the number of latents, even of entangled ones: 10,
40, 160, 640 and all 1,280 features of a network with random weights (EfficientNet-Lite0 on room3d, features drawn at
random) have 0.03, 0.08, 0.19, 0.36 and 0.46, where MIG is 0.003; compare codes of one size only. Scale and offset do
not matter within limits: like scikit-learn's, the trees use float32 numbers and do not split between those closer than
1e-7, so that the spread of a latent must be well above that, and above 1e-7 of its magnitude.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmark_data.errors import check_choice, check_count, needs
from leaderboard.arrays import Codes, ConstantFactors, Real, check_seed, check_train_test
from leaderboard.doubts import warn_if_lost
from leaderboard.properties import Column, Properties

PROPERTIES = Properties(
    asks="does each latent serve one factor (D), each factor one latent (C), and can trees read the factors (I)?",
    source="Eastwood and Williams 2018",
    chance="D and C near 0; I: share of the most frequent class",
    copied_latent={"disentanglement": "same", "completeness": "no higher"},
    rotation_lowers=True,
    tolerance=0.03,
    many_rows=False,
    columns=(  # fewer rows, weaker trees: tenths of the rows gave up to 0.24 less
        Column("dci.disentanglement", "DCI D", "Disentanglement: does each latent serve one factor alone?", tenth=0.5),
        Column("dci.completeness", "DCI C", "Completeness: is each factor captured by one latent alone?", tenth=0.5),
        Column(
            "dci.informativeness_test",
            "DCI I",
            "Informativeness: how often boosted trees predict a factor from held-out codes.",
            tenth=0.5,
        ),
    ),
    part_ranges={"matrix": (0.0, 1.0), "accuracy_train": (0.0, 1.0), "accuracy_test": (0.0, 1.0)},
)

Mode = Literal["fast", "reference"]


def score(
    codes: Real[ArrayLike, "n L"],
    factors: Real[ArrayLike, "n F"],
    *,
    codes_test: Real[ArrayLike, "m L"],
    factors_test: Real[ArrayLike, "m F"],
    mode: Mode = "fast",
    seed: int = 0,
    threads: int | None = None,
    constant_factors: ConstantFactors = "refuse",
) -> dict[str, float]:
    """Compute DCI.

    Args:
        codes: real numbers, shape (n, L), to fit the trees on.
        factors: class ids, shape (n, F).
        codes_test: real numbers, shape (m, L), held out.
        factors_test: class ids, shape (m, F).
        mode: ``"fast"`` grows the same trees with ``leaderboard.metrics._boosting``; ``"reference"`` with scikit-learn
            itself, which takes minutes. Their scores differ as two seeds of either do, by less than 0.01, or
            0.04 where latents are copies of each other.
        seed: for ties between latents, which the trees break at random.
        threads: number of factors to fit in parallel in fast mode; None for the number of cores. The scores do not
            depend on it.
        constant_factors: ``"refuse"`` or ``"drop"`` factors that have one value in the training part.

    Returns:
        ``disentanglement``, ``completeness``, and ``informativeness_train`` and ``informativeness_test``, the mean
        accuracies over factors.

    Raises:
        InvalidInput: see ``leaderboard.arrays.check_train_test``; or an unknown mode.
        MissingExtra: fast mode without numba.

    Warns:
        LostSpread: see ``leaderboard.doubts.warn_if_lost``.

    Example:
        >>> import numpy as np
        >>> factors = np.stack([np.arange(60) % 2, np.arange(60) % 3], axis=1)
        >>> codes = factors.astype(np.float32)
        >>> scores = score(codes, factors, codes_test=codes, factors_test=factors)
        >>> {name: round(value, 3) for name, value in scores.items()}
        {'disentanglement': 1.0, 'completeness': 1.0, 'informativeness_train': 1.0, 'informativeness_test': 1.0}
    """
    score_parts = parts(
        codes,
        factors,
        codes_test=codes_test,
        factors_test=factors_test,
        mode=mode,
        seed=seed,
        threads=threads,
        constant_factors=constant_factors,
    )
    return combine(score_parts)


def parts(
    codes: Real[ArrayLike, "n L"],
    factors: Real[ArrayLike, "n F"],
    *,
    codes_test: Real[ArrayLike, "m L"],
    factors_test: Real[ArrayLike, "m F"],
    mode: Mode = "fast",
    seed: int = 0,
    threads: int | None = None,
    constant_factors: ConstantFactors = "refuse",
) -> dict[str, NDArray[np.float64]]:
    """Compute the importances and accuracies of the trees. For the arguments see `score`.

    ``matrix``: float64 (L, F), the importance of each latent for each factor, at least 0; a column sums to 1, or to 0
    if no tree of the factor has a split. ``accuracy_train`` and ``accuracy_test``: float64 (F,), in [0, 1].
    """
    check_seed(seed)
    codes, factors, codes_test, factors_test = check_train_test(
        codes, factors, codes_test, factors_test, constant_factors=constant_factors
    )
    warn_if_lost(codes)
    if threads is not None:
        check_count("threads", threads, 1)
    if mode == "reference":
        return _fit_reference(codes, factors, codes_test, factors_test, seed)
    check_choice("mode", mode, ("fast", "reference"))
    from leaderboard.metrics import _boosting as boosting

    boosted = boosting.boost(codes, factors, codes_test, seed=seed, threads=threads)
    return {
        "matrix": boosted.importances,
        "accuracy_train": np.mean(boosted.train == factors, 0),
        "accuracy_test": np.mean(boosted.test == factors_test, 0),
    }


def combine(score_parts: Mapping[str, ArrayLike]) -> dict[str, float]:
    """Compute the scores from their parts.

    Args:
        score_parts: as from ``parts``.

    Returns:
        As ``score``. Disentanglement is the mean over latents, weighted by their total importance, of one minus the
        entropy of the latent's row in base F; with a single factor, 1 if any latent predicts it. Completeness is the
        same over factors and their columns, in base L.

    Example:
        >>> example = {"matrix": [[1.0, 0.0], [0.0, 1.0]], "accuracy_train": [1.0, 0.5], "accuracy_test": [0.5, 0.5]}
        >>> {name: round(value, 3) for name, value in combine(example).items()}
        {'disentanglement': 1.0, 'completeness': 1.0, 'informativeness_train': 0.75, 'informativeness_test': 0.5}
    """
    matrix, train, test = (
        np.asarray(score_parts[name], np.float64) for name in ("matrix", "accuracy_train", "accuracy_test")
    )
    return {
        "disentanglement": _concentration(matrix),
        "completeness": _concentration(matrix.T),
        "informativeness_train": float(train.mean()),
        "informativeness_test": float(test.mean()),
    }


def _concentration(matrix: NDArray[np.float64]) -> float:
    """Return one minus the entropy of a row, in base of their number of columns, averaged by the rows' weights."""
    rows, columns = matrix.shape
    total = matrix.sum()
    weights = matrix.sum(axis=1) / total if total > 0 else np.full(rows, 1 / rows)
    if columns == 1:  # entropy in base 1 is undefined; a single column has all importance
        return float(total > 0)
    p = matrix + 1e-11  # as the reference: an empty row counts as spread over all columns
    p /= p.sum(axis=1, keepdims=True)
    entropies = -(p * np.log(p)).sum(axis=1) / np.log(columns)
    return float(np.clip((weights * (1 - entropies)).sum(), 0.0, 1.0))


def _fit_reference(
    codes: Codes, factors: NDArray[np.int64], codes_test: Codes, factors_test: NDArray[np.int64], seed: int
) -> dict[str, NDArray[np.float64]]:
    needs("DCI by scikit-learn", "metrics", "sklearn")
    from sklearn.ensemble import GradientBoostingClassifier

    columns, train, test = [], [], []
    for f in range(factors.shape[1]):
        trees = GradientBoostingClassifier(random_state=seed)
        trees.fit(codes, factors[:, f])
        columns.append(np.abs(trees.feature_importances_))
        train.append(np.mean(trees.predict(codes) == factors[:, f]))
        test.append(np.mean(trees.predict(codes_test) == factors_test[:, f]))
    return {"matrix": np.stack(columns, axis=1), "accuracy_train": np.array(train), "accuracy_test": np.array(test)}
