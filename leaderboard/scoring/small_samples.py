"""Does a score still move with the number of samples? Internal: ``offaxis board score`` says so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmark_data import discovery, draws
from leaderboard.arrays import check_rows
from leaderboard.scoring import measure

LEAST = 20
"""The smallest part of a sample that is scored."""

TOLERANCE = 0.02
"""By how much a score may differ between half of a sample and the whole."""


def doubt(
    name: str,
    codes: Any,
    factors: Any,
    *,
    whole: Mapping[str, float] | None = None,
    codes_test: Any = None,
    factors_test: Any = None,
    **arguments: Any,
) -> str:
    """Compare a metric's first score on the whole sample with that on a random half.

    Args:
        name: a file name in ``leaderboard/metrics``.
        codes: real numbers, shape (n, L).
        factors: class ids, shape (n, F). A factor that is constant in a part is left out there.
        whole: the scores on all samples, where they are known already.
        codes_test: the held-out part, real numbers, shape (m, L), for the metrics that take one; it is used whole.
        factors_test: its class ids, shape (m, F).
        **arguments: passed on to the metric.

    Returns:
        A sentence with the score on an eighth, a quarter, a half and the whole; empty if half of the samples give the
        score of the whole.

    Raises:
        UnknownName: there is no such metric.
        InvalidInput: what the metric refuses.

    Example:
        >>> import numpy as np
        >>> factors = np.arange(400)[:, None] % 4
        >>> doubt("mig", factors + 0.0, factors)
        ''
    """
    codes, factors = check_rows(codes, factors)
    metric = discovery.find("leaderboard.metrics", name, kind="metric")
    fixed = measure.arguments(metric, (codes_test, factors_test), arguments)
    n = len(codes)
    order = draws.permutation(0, n)
    values = {n: whole} if whole is not None else {}
    for size in (n // 8, n // 4, n // 2, n):
        if size >= min(LEAST, n) and size not in values:
            values[size] = measure.called(name, metric.score, codes[order[:size]], factors[order[:size]], **fixed)
    curve = [(size, next(iter(values[size].values()))) for size in sorted(values)]
    if len(curve) > 1 and not abs(curve[-1][1] - curve[-2][1]) > TOLERANCE:
        return ""
    text = ", ".join(f"{value:.3f} with {size:,}" for size, value in curve)
    return f"{name}: {text} samples; a score that can be compared with others needs more."
