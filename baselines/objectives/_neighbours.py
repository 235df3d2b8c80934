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
    check_grid(space, "objective on pairs of neighbours")
    moving_factors = [i for i, f in enumerate(space.factors) if f.size > 1 and f.kind in ("ordinal", "cyclic")]
    if not moving_factors:
        raise InvalidInput(
            f"objective on pairs of neighbours: expected a factor whose values have an order, received {space!r}."
        )
    first = space.labels(rows[rng.integers(len(rows), size=count)])
    second = first.copy()
    rates = {factor: rate / math.log(space.sizes[factor]) for factor in moving_factors}
    for factor in moving_factors:
        second[:, factor] = _draw_near(first[:, factor], space.sizes[factor], rng.random(count), rates[factor], power)
    chosen_indices, uniform = rng.integers(len(moving_factors), size=count), rng.random(count)
    unchanged = (first == second).all(axis=1)
    for index, factor in enumerate(moving_factors):
        redrawn = unchanged & (chosen_indices == index)
        start, size = first[redrawn, factor], space.sizes[factor]
        second[redrawn, factor] = _draw_near(start, size, uniform[redrawn], rates[factor], power, may_stay=False)
    return np.stack([space.index(first), space.index(second)])


def _draw_near(
    start: Indices, size: int, uniform: NDArray[np.float64], rate: float, power: float, *, may_stay: bool = True
) -> NDArray[np.int64]:
    """Draw class ids near others: (n,), from uniform numbers in [0, 1)."""
    distances = np.abs(np.arange(size) - start[:, None])
    with np.errstate(over="ignore"):  # exp(-inf) is 0
        weights = np.exp(-((distances * rate) ** power)) * (may_stay | (distances > 0))
    underflowed = weights.sum(axis=1, keepdims=True) < np.finfo(np.float64).tiny  # all underflow: the nearest are drawn
    cumulative = np.cumsum(np.where(underflowed, distances == 1, weights), axis=1)
    return (cumulative[:, :-1] <= uniform[:, None] * cumulative[:, -1:]).sum(axis=1)
