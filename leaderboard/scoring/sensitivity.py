"""How far a score can be trusted: what it owes to bins and estimator, to the number of samples, and to their choice."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from benchmark_data import discovery, draws
from benchmark_data.errors import InvalidInput, OffaxisWarning, check_count, is_whole
from leaderboard import properties
from leaderboard.arrays import ConstantFactors, check_codes, check_codes_factors, check_rows
from leaderboard.information import Estimator
from leaderboard.metrics import mig
from leaderboard.scoring import measure

if TYPE_CHECKING:
    from jaxtyping import Real

__all__ = ["curve", "intervals", "mig_variants", "warn_if_small"]

LEAST = 20
"""The smallest sample that a curve shows."""


COLUMNS = ["samples", "repeat", "score", "value"]
"""Of a curve's table."""


class SmallSample(OffaxisWarning):
    """A score that still moves with the number of samples."""


def mig_variants(
    codes: Real[ArrayLike, "n L"],
    factors: Real[ArrayLike, "n F"],
    *,
    bins: Sequence[int] = (5, 10, 20, 50, 100),
    estimators: Sequence[Estimator] = ("plugin", "miller_madow"),
    constant_factors: ConstantFactors = "refuse",
) -> pd.DataFrame:
    """Compute MIG with other numbers of bins and another estimator than the published ones.

    Libraries differ in both, and so do the scores that they publish.

    Args:
        codes: real numbers, shape (n, L).
        factors: class ids, shape (n, F).
        bins: numbers of equal-width bins.
        estimators: see ``leaderboard.information.entropy``.
        constant_factors: ``"refuse"`` or ``"drop"`` factors that have one value in the sample.

    Returns:
        One row per estimator, one column per number of bins; the published score is at ``"plugin"``, 20.

    Raises:
        InvalidInput: see ``leaderboard.metrics.mig.score``.

    Example:
        >>> ids = np.arange(8)[:, None] % 2
        >>> mig_variants(ids, ids, bins=[2, 20]).loc["plugin"].round(6).tolist()
        [1.0, 1.0]
    """
    codes, factors = check_codes_factors(codes, factors, constant_factors=constant_factors)
    rows = [[mig.score(codes, factors, bins=b, estimator=e)["mig"] for b in bins] for e in estimators]
    return pd.DataFrame(rows, index=list(estimators), columns=list(bins))


def curve(
    metric: str,
    codes: Real[ArrayLike, "n L"],
    factors: Real[ArrayLike, "n F"],
    *,
    codes_test: Real[ArrayLike, "m L"] | None = None,
    factors_test: Real[ArrayLike, "m F"] | None = None,
    sizes: Sequence[int] | None = None,
    repeats: int = 3,
    seed: int = 0,
    **arguments: Any,
) -> pd.DataFrame:
    """Compute a metric on ever larger random parts of the sample.

    Args:
        metric: a file name in ``leaderboard/metrics``.
        codes: real numbers, shape (n, L).
        factors: class ids, shape (n, F). A factor that is constant in a part is left out there.
        codes_test: the held-out part, real numbers, shape (m, L), for the metrics that take one; it is used whole.
        factors_test: its class ids, shape (m, F).
        sizes: numbers of samples, at most n; None for n/8, n/4, n/2 and n, as far as they are at least 20.
        repeats: random parts per size, drawn without replacement; one where the part is the whole.
        seed: for the parts.
        **arguments: passed on to the metric.

    Returns:
        Columns ``samples``, ``repeat``, ``score`` (the key) and ``value``.

    Raises:
        UnknownName: there is no such metric.
        InvalidInput: a size that is not in [2, n], or what the metric refuses.

    Example:
        >>> factors = np.arange(400)[:, None] % 4
        >>> curve("mig", factors + 0.0, factors, sizes=[50, 400], repeats=1)["value"].round(6).tolist()
        [1.0, 1.0]
    """
    codes, factors = check_rows(codes, factors)
    n = len(codes)
    chosen = _parts(n) if sizes is None else list(sizes)
    check_count("repeats", repeats, 1)
    for size in chosen:
        check_count("sizes", size, 2)
    if not chosen or max(chosen) > n:
        raise InvalidInput(f"sizes: expected numbers from 2 to {n}, received {chosen}.")
    scored = _metric(metric, codes_test, factors_test, arguments)
    rows = []
    for repeat in range(repeats):
        order = draws.permutation(seed + repeat, n)
        for size in sorted(chosen):
            if size < n or repeat == 0:
                part = order[:size]
                rows += [(size, repeat, *item) for item in scored(codes[part], factors[part]).items()]
    return pd.DataFrame(rows, columns=COLUMNS)


def _parts(n: int) -> list[int]:
    return [size for size in (n // 8, n // 4, n // 2, n) if size >= min(LEAST, n)]


def warn_if_small(
    metric: str,
    codes: Real[ArrayLike, "n L"],
    factors: Real[ArrayLike, "n F"],
    *,
    tolerance: float = 0.02,
    whole: Mapping[str, float] | None = None,
    **arguments: Any,
) -> pd.DataFrame:
    """Warn if a score still moves with the number of samples, and show how.

    The score on the whole is compared with its mean over random halves. A sample that is large enough gives both alike.

    Args:
        metric: a file name in ``leaderboard/metrics``. Its first score is looked at.
        codes: real numbers, shape (n, L), as in ``curve``.
        factors: class ids, shape (n, F), as in ``curve``.
        tolerance: by how much the score may move, in units of the score.
        whole: the scores on all samples, in their own units, where they are known already.
        **arguments: as in ``curve``, such as ``codes_test=``, ``repeats=`` and the metric's own.

    Returns:
        The curve.

    Raises:
        UnknownName: there is no such metric.
        InvalidInput: what the metric refuses.

    Warns:
        SmallSample: the score moves by more than ``tolerance``. The message holds the curve.
    """
    table, doubt = curve_and_doubt(metric, codes, factors, tolerance=tolerance, whole=whole, **arguments)
    if doubt:
        warnings.warn(doubt, SmallSample, stacklevel=2)
    return table


def curve_and_doubt(
    metric: str,
    codes: ArrayLike,
    factors: ArrayLike,
    *,
    tolerance: float = 0.02,
    whole: Mapping[str, float] | None = None,
    **arguments: Any,
) -> tuple[pd.DataFrame, str]:
    """Return the curve of ``warn_if_small``, and what it warns of: empty where the score stays. Internal."""
    n = len(check_codes(codes))
    if whole is None:
        table = curve(metric, codes, factors, **arguments)
    else:
        known = pd.DataFrame([(n, 0, *item) for item in whole.items()], columns=COLUMNS)
        parts = [size for size in arguments.pop("sizes", None) or _parts(n) if size < n]
        table = pd.concat([curve(metric, codes, factors, sizes=parts, **arguments), known]) if parts else known
    main = table[table["score"] == table["score"].iloc[0]]
    means = main.groupby("samples")["value"].mean()
    if not (len(means) < 2 or abs(means.iloc[-1] - means.iloc[-2]) > tolerance):
        return table, ""
    text = ", ".join(f"{value:.3f} with {size:,}" for size, value in means.items())
    return table, f"{metric}: {text} samples; a score that can be compared with others needs more."


def intervals(
    metric: str,
    codes: Real[ArrayLike, "n L"],
    factors: Real[ArrayLike, "n F"],
    *,
    codes_test: Real[ArrayLike, "m L"] | None = None,
    factors_test: Real[ArrayLike, "m F"] | None = None,
    resamples: int = 100,
    confidence: float = 0.95,
    seed: int = 0,
    **arguments: Any,
) -> pd.DataFrame:
    """Return the bootstrap interval of each score over the choice of samples, for one run.

    What a leaderboard shows is the interval over seeds of training, which is wider; this one says what a larger sample
    would narrow. Rows are resampled with replacement, in either part. A resample repeats rows, which lifts estimates of
    information and accuracy; so the spread of the resampled scores counts, about their own mean, not their place.

    Args:
        metric: a file name in ``leaderboard/metrics``.
        codes: real numbers, shape (n, L), as in ``curve``.
        factors: class ids, shape (n, F), as in ``curve``.
        codes_test: real numbers, shape (m, L), as in ``curve``.
        factors_test: class ids, shape (m, F), as in ``curve``.
        resamples: how many; each costs what the metric costs.
        confidence: how much of the bootstrap distribution the interval holds, in (0, 1).
        seed: for the resamples.
        **arguments: passed on to the metric.

    Returns:
        One row per score: ``value``, ``low``, ``high``. Bounds are cut at the ends of the range that the metric's file
        declares; those of scores that may lie outside it only if none does. Where a score is infinite on a resample,
        ``high`` is.

    Raises:
        UnknownName: there is no such metric.
        InvalidInput: fewer than two resamples, or what the metric refuses.

    Example:
        >>> factors = np.arange(400)[:, None] % 4
        >>> intervals("mig", factors + 0.0, factors, resamples=5).loc["mig"].round(6).tolist()
        [1.0, 1.0, 1.0]
    """
    if not is_whole(resamples) or resamples < 2 or not 0 < confidence < 1:
        raise InvalidInput(
            f"resamples, confidence: expected at least 2, and in (0, 1), received {resamples!r}, {confidence!r}."
        )
    codes, factors = check_rows(codes, factors)
    value = pd.Series(_metric(metric, codes_test, factors_test, arguments)(codes, factors))
    resampled = []
    for i in range(resamples):
        rows = _resample(len(codes), seed, 2 * i)
        held_out = (codes_test, factors_test)
        if codes_test is not None and factors_test is not None:
            rows_test = _resample(len(np.asarray(codes_test)), seed, 2 * i + 1)
            held_out = np.asarray(codes_test)[rows_test], np.asarray(factors_test)[rows_test]
        resampled.append(_metric(metric, *held_out, arguments)(codes[rows], factors[rows]))
    table = pd.DataFrame(resampled)
    masked = table.replace(np.inf, 0.0)  # what was infinite gets its bounds below
    away = (masked - masked.mean()).quantile([(1 - confidence) / 2, (1 + confidence) / 2])
    said = properties.of(metric)
    least, most = (pd.Series(end, value.index, np.float64) for end in said.range)
    free = pd.Series([name in said.unbounded for name in value.index], value.index)
    seen_least, seen_most = table.min().combine(value, min), table.max().combine(value, max)
    least, most = least.mask(free & (seen_least < least), -np.inf), most.mask(free & (seen_most > most), np.inf)
    low, high = (value + away.iloc[0]).clip(lower=least), (value + away.iloc[1]).clip(upper=most)
    finite = np.isfinite(seen_most)
    return pd.DataFrame(
        {
            "value": value,
            "low": low.where(finite, value.where(value == np.inf, least)),
            "high": high.where(finite, np.inf),
        }
    )


def _resample(n: int, seed: int, index: int) -> NDArray[np.int64]:
    return np.asarray(draws.uniform(seed, [index], n)[0] * n).astype(np.int64)


def _metric(
    name: str, codes_test: ArrayLike | None, factors_test: ArrayLike | None, arguments: dict[str, Any]
) -> Callable[[ArrayLike, ArrayLike], dict[str, float]]:
    """Return a metric with all arguments but the sample; factors that are constant in a part are left out there."""
    metric = discovery.find("leaderboard.metrics", name, kind="metric")
    if (codes_test is None or factors_test is None) and measure.takes(metric, measure.HELD_OUT[0]):
        raise InvalidInput(f"{', '.join(measure.HELD_OUT)}: expected the held-out part for {name}, received None.")
    fixed = measure.arguments(metric, (codes_test, factors_test), arguments)
    return lambda codes, factors: metric.score(codes, factors, **fixed)
