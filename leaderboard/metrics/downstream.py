"""Downstream accuracy: how well do classifiers predict the factors from the codes, by number of training samples?

Locatello et al., "Challenging common assumptions in the unsupervised learning of disentangled representations" (2019),
section 5.5: for each factor a classifier on 10, 100, 1,000 and 10,000 training samples and its accuracy on 5,000
others; the mean and the least over factors. Two classifiers: gradient-boosted trees (scikit-learn's defaults, grown by
``leaderboard.metrics._boosting``), and multinomial logistic regression whose penalty is chosen among ten by five-fold
cross-validation (scikit-learn's ``LogisticRegressionCV``, consecutive folds; the study's was one-vs-rest).

Range [0, 1]; ideal 1; chance is the share of the most frequent class. Permuting, flipping or copying latents changes
nothing beyond the classifiers' own tolerance. Scale and offset of the codes matter, as in the study: the penalty of
logistic regression depends on the scale, and it fails far from 0; trees use float32 numbers and do not split between
those closer than 1e-7, so that the spread of a latent must be well above that and above 1e-7 of its magnitude.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmark_data.errors import InvalidInput, check_choice, check_count, needs
from leaderboard.arrays import Codes, ConstantFactors, Real, check_seed, check_train_test, varying
from leaderboard.doubts import warn_if_lost
from leaderboard.properties import Properties

PROPERTIES = Properties(
    asks="how well do classifiers learn the factors from 10 to 10,000 codes?",
    source="Locatello et al. 2019, section 5.5",
    chance="share of the most frequent class",
    tolerance=0.05,
    scale_matters="the accuracies of logistic regression, whose penalty depends on the scale, but not those of trees",
    many_rows=False,
    quick={"classifiers": ("gbt",), "sizes": (30, 150)},
)

Classifier = Literal["gbt", "logistic"]

SIZES = (10, 100, 1_000, 10_000)
"""The study's numbers of training samples."""

_PENALTIES = np.logspace(-4, 4, 10)
_FOLDS = 5


class Accuracies(NamedTuple):
    """Accuracies per factor.

    Attributes:
        train: float64 (F,), on the training samples.
        test: float64 (F,), on the held-out ones.
    """

    train: NDArray[np.float64]
    test: NDArray[np.float64]


def score(
    codes: Real[ArrayLike, "n L"],
    factors: Real[ArrayLike, "n F"],
    *,
    codes_test: Real[ArrayLike, "m L"],
    factors_test: Real[ArrayLike, "m F"],
    sizes: Sequence[int] | None = None,
    classifiers: Sequence[Classifier] = ("gbt", "logistic"),
    seed: int = 0,
    constant_factors: ConstantFactors = "refuse",
) -> dict[str, float]:
    """Compute the downstream accuracies.

    Args:
        codes: real numbers, shape (n, L), in random order: the first rows are the small samples.
        factors: class ids, shape (n, F).
        codes_test: real numbers, shape (m, L), held out.
        factors_test: class ids, shape (m, F).
        sizes: numbers of training samples; None for those of ``SIZES`` that n allows.
        classifiers: ``"gbt"``, ``"logistic"`` or both. On 10,000 samples and factors of 40 values the second takes
            minutes.
        seed: for ties in the trees.
        constant_factors: ``"refuse"`` or ``"drop"`` factors that have one value in the training part.

    Returns:
        For each classifier and size, ``<classifier>_<size>_mean`` and ``<classifier>_<size>_min``, the mean and the
        least test accuracy over factors. A factor that has one value in a small sample is predicted to have it always.

    Raises:
        InvalidInput: see ``leaderboard.arrays.check_train_test``; or a size beyond n, or no known classifiers.
        MissingExtra: ``"gbt"`` without numba.

    Warns:
        LostSpread: see ``leaderboard.doubts.warn_if_lost``.

    Example:
        >>> factors = np.arange(200)[:, None] % 2
        >>> codes = factors + np.linspace(0, 0.1, 200)[:, None]
        >>> score(codes, factors, codes_test=codes, factors_test=factors, sizes=[10, 200], classifiers=["logistic"])
        {'logistic_10_mean': 1.0, 'logistic_10_min': 1.0, 'logistic_200_mean': 1.0, 'logistic_200_min': 1.0}
    """
    check_seed(seed)
    codes, factors, codes_test, factors_test = check_train_test(
        codes, factors, codes_test, factors_test, constant_factors=constant_factors
    )
    warn_if_lost(codes)
    if isinstance(classifiers, str) or not classifiers:
        raise InvalidInput(f"classifiers: expected a list of 'gbt', 'logistic' or both, received {classifiers!r}.")
    counts = [size for size in SIZES if size <= len(codes)] if sizes is None else list(sizes)
    for size in counts:
        check_count("sizes", size, 2)
    if not counts or max(counts) > len(codes):
        raise InvalidInput(f"sizes: expected training samples from 2 to {len(codes)}, received {counts or SIZES}.")
    scores = {}
    for classifier in classifiers:
        for size in counts:
            z, v = codes[:size], factors[:size]
            varies = varying(v)
            test_accuracy = np.mean(factors_test == v[0], axis=0)
            if varies.any():
                measured = _measure_accuracies(z, v[:, varies], codes_test, factors_test[:, varies], classifier, seed)
                test_accuracy[varies] = measured.test
            scores[f"{classifier}_{size}_mean"] = float(test_accuracy.mean())
            scores[f"{classifier}_{size}_min"] = float(test_accuracy.min())
    return scores


def accuracies(
    codes: Real[ArrayLike, "n L"],
    factors: Real[ArrayLike, "n F"],
    *,
    codes_test: Real[ArrayLike, "m L"],
    factors_test: Real[ArrayLike, "m F"],
    classifier: Classifier = "gbt",
    seed: int = 0,
) -> Accuracies:
    """Fit one classifier per factor on all training samples.

    Args:
        codes: as in ``score``.
        factors: as in ``score``.
        codes_test: as in ``score``.
        factors_test: as in ``score``.
        classifier: ``"gbt"`` or ``"logistic"``.
        seed: as in ``score``.

    Returns:
        Accuracies on both parts, per factor.

    Raises:
        InvalidInput: see ``leaderboard.arrays.check_train_test``; or an unknown classifier.
        MissingExtra: ``"gbt"`` without numba.

    Warns:
        LostSpread: see ``leaderboard.doubts.warn_if_lost``.
    """
    check_seed(seed)
    codes, factors, codes_test, factors_test = check_train_test(codes, factors, codes_test, factors_test)
    warn_if_lost(codes)
    return _measure_accuracies(codes, factors, codes_test, factors_test, classifier, seed)


def _measure_accuracies(
    codes: Codes,
    factors: NDArray[np.int64],
    codes_test: Codes,
    factors_test: NDArray[np.int64],
    classifier: Classifier,
    seed: int,
) -> Accuracies:
    """Fit one classifier per factor on arrays that are checked."""
    check_choice("classifier", classifier, ("gbt", "logistic"))
    if classifier == "gbt":
        from leaderboard.metrics import _boosting as boosting

        boosted = boosting.boost(codes, factors, codes_test, seed=seed)
        predicted_train, predicted_test = boosted.train, boosted.test
    else:
        from threadpoolctl import threadpool_limits

        with threadpool_limits(1):  # the products are so small that threads make them ten times slower
            pairs = [_predict_logit(codes, column, codes_test) for column in factors.T]
        predicted_train, predicted_test = (np.stack(part, axis=1) for part in zip(*pairs, strict=True))
    return Accuracies(np.mean(predicted_train == factors, axis=0), np.mean(predicted_test == factors_test, axis=0))


def _predict_logit(
    codes: Codes, ids: NDArray[np.int64], codes_test: Codes
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Choose the penalty by cross-validation, fit on all samples and predict both parts.

    ``LogisticRegressionCV`` is not used, since its defaults change between versions and it refuses samples in which a
    class is missing from a fold.
    """
    needs("downstream accuracy", "metrics", "sklearn")
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    def predictors(rows: NDArray[np.int64]) -> Iterator[Callable[[Codes], NDArray[np.int64]]]:
        """Fit the given rows with each penalty in order, starting from the previous solution."""
        if (ids[rows] == ids[rows[0]]).all():
            yield from [lambda z: np.full(len(z), ids[rows[0]])] * len(_PENALTIES)
            return
        model = LogisticRegression(warm_start=True)
        for penalty in _PENALTIES:
            model.C = penalty
            with warnings.catch_warnings():
                # 100 iterations as in the reference; with the weakest penalties they often do not converge.
                warnings.simplefilter("ignore", ConvergenceWarning)
                model.fit(codes[rows], ids[rows])
            yield model.predict

    rows = np.arange(len(codes))
    correct = np.zeros(len(_PENALTIES))
    for fold in np.array_split(rows, min(_FOLDS, len(rows))):
        for i, predict in enumerate(predictors(np.delete(rows, fold))):
            correct[i] += np.mean(predict(codes[fold]) == ids[fold])
    predict = next(itertools.islice(predictors(rows), int(correct.argmax()), None))
    return predict(codes), predict(codes_test)
