"""Pairs of images that are near each other in the factors, like successive frames of a video."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from baselines.objectives import check_grid
from benchmark_data.errors import InvalidInput
from benchmark_data.factors import FactorSpace, FactorTable, Indices


def neighbours(
    rows: Indices,
    space: FactorSpace | FactorTable,
    count: int,
    rng: np.random.Generator,
    *,
    rate: float,
    power: float = 1.0,
) -> Indices:
    """Draw pairs: the first image from the rows to train on, the second from all that may be drawn.

    Each ordered factor moves to a value with probability proportional to exp(-(distance / scale) ^ power), where the
    scale is log(size) / ``rate`` classes. Cyclic factors are not wrapped around, and categorical factors do not move.
    At least one factor moves by one class or more.

    Args:
        rows: the rows to train on, int64 (m,).
        space: the factors of the rows that may be drawn.
        count: how many pairs.
        rng: the source of randomness.
        rate: the inverse scale; with 0 a factor is drawn uniformly.
        power: 1 for Laplace, 2 for normal steps.

    Returns:
        int64, shape (2, count).

    Raises:
        InvalidInput: the rows that may be drawn have not every combination of values once, or there is no factor with
            an order.
    """
    check_grid(space, "objective on neighbours in time")
    moving = [i for i, f in enumerate(space.factors) if f.size > 1 and f.kind in ("ordinal", "cyclic")]
    if not moving:
        raise InvalidInput(
            f"objective on neighbours in time: expected a factor whose values have an order, received {space!r}."
        )
    first = space.labels(rows[rng.integers(len(rows), size=count)])
    second = first.copy()
    rates = {factor: rate / math.log(space.sizes[factor]) for factor in moving}
    for factor in moving:
        second[:, factor] = _step(first[:, factor], space.sizes[factor], rng.random(count), rates[factor], power)
    chosen, uniform = rng.integers(len(moving), size=count), rng.random(count)
    still = (first == second).all(axis=1)
    for place, factor in enumerate(moving):
        anew = still & (chosen == place)
        start, size = first[anew, factor], space.sizes[factor]
        second[anew, factor] = _step(start, size, uniform[anew], rates[factor], power, stay=False)
    return np.stack([space.index(first), space.index(second)])


def _step(
    start: Indices, size: int, uniform: NDArray[np.float64], rate: float, power: float, *, stay: bool = True
) -> NDArray[np.int64]:
    """Draw class ids near others: (n,), from uniform numbers in [0, 1)."""
    apart = np.abs(np.arange(size) - start[:, None])
    with np.errstate(over="ignore"):  # exp(-inf) is 0
        weights = np.exp(-((apart * rate) ** power)) * (stay | (apart > 0))
    lost = weights.sum(axis=1, keepdims=True) < np.finfo(np.float64).tiny  # all underflow: the nearest are drawn
    ends = np.cumsum(np.where(lost, apart == 1, weights), axis=1)
    return (ends[:, :-1] <= uniform[:, None] * ends[:, -1:]).sum(axis=1)
