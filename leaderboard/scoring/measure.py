"""From codes to scores: the metrics of a tier, on a task's rows or on any others. Internal."""

from __future__ import annotations

import importlib.metadata
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmark_data import discovery
from benchmark_data.factors import Indices
from leaderboard import protocol
from leaderboard.arrays import Codes


class Scored(NamedTuple):
    """What the metrics of a tier gave.

    Args:
        scores: score -> value.
        parts: metric -> part -> what the scores are made of, for metrics that say so, rounded.
    """

    scores: dict[str, float]
    parts: dict[str, dict[str, Any]]


def score(
    codes: Codes,
    task: protocol.Task,
    tier: protocol.Tier,
    *,
    before: Callable[[str], None] = lambda metric: None,
) -> Scored:
    """Score the codes of one run on its task.

    Args:
        codes: float32 or float64, shape (rows of the task, L), in the task's order.
        task: the task.
        tier: decides the metrics, their arguments and how many rows they get.
        before: is told the name of each metric before it is computed.

    Returns:
        The scores and what they are made of.

    Raises:
        InvalidInput: a metric cannot work on these codes.
    """
    return of_rows(codes, task.labels(), len(task.train), tier.measurements, before=before)


def of_rows(
    codes: Codes,
    factors: Indices,
    n: int,
    measurements: Sequence[protocol.Measurement],
    *,
    before: Callable[[str], None] = lambda metric: None,
) -> Scored:
    """Score codes of any rows.

    Args:
        codes: float32 or float64, shape (rows, L): train rows, then test rows.
        factors: class ids, int64 (rows, F).
        n: how many of them are train rows.
        measurements: the metrics, and how many rows of each kind they get.
        before: as in ``score``.

    Returns:
        As ``score``.

    Raises:
        InvalidInput: as ``score``.
    """
    scores: dict[str, float] = {}
    parts: dict[str, dict[str, Any]] = {}
    for measurement in measurements:
        before(measurement.metric)
        metric = discovery.find("leaderboard.metrics", measurement.metric, kind="metric")
        compute = metric.parts if hasattr(metric, "parts") else metric.score
        train, held_out = slice(0, min(measurement.train, n)), slice(n, n + measurement.test)
        tested = measurement.test > 0
        if not measurement.train:  # of the held-out rows alone
            tested = "codes_test" in inspect.signature(metric.score).parameters
            end = min(n + measurement.test, len(codes))
            learnt = n + 2 * (end - n) // 3 if tested else end
            train, held_out = slice(n, learnt), slice(learnt, end)
        extra = {"codes_test": codes[held_out], "factors_test": factors[held_out]} if tested else {}
        found: Mapping[str, Any] = compute(codes[train], factors[train], **extra, **measurement.arguments)
        if hasattr(metric, "parts"):
            parts[measurement.metric] = {name: _rounded(part) for name, part in found.items()}
            found = metric.combine(found)
        scores |= {protocol.key(measurement.metric, name): value for name, value in found.items()}
    return Scored(scores, parts)


def keys(tier: protocol.Tier) -> tuple[str, ...]:
    """List the scores that a tier's metrics give.

    Args:
        tier: the tier.

    Returns:
        The keys of scores, in the order of the metrics: those that codes of eight classes get.
    """
    factors = np.stack(np.unravel_index(np.arange(128) % 8, (2, 4)), axis=1)
    return tuple(of_rows(factors.astype(np.float32), factors, 64, tier.measurements).scores)


def _rounded(part: NDArray[np.float64]) -> Any:
    """Round numbers to six decimals, those below 0.1 to six digits, as nested tuples."""
    if part.ndim > 1:
        return tuple(_rounded(row) for row in part)
    return tuple(round(x, 6) if abs(x) >= 0.1 else float(f"{x:.6g}") for x in part.tolist())


def versions(packages: Sequence[str] = ("offaxis", "numpy", "scipy", "scikit-learn", "numba")) -> dict[str, str]:
    """Return the versions of the packages that decide scores.

    Args:
        packages: names of distributions.

    Returns:
        Name -> version, for those that are installed.
    """
    found = {}
    for package in packages:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
