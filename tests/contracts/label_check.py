"""Whether labels say what the pixels show: what factors do to images, against what a dataset's file declares.

See `benchmark_data.expected_effects` for the declarations. A factor is varied alone, at some settings of the others; of
a dataset that is no grid, images are drawn and put in order by class.

Internal.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from benchmark_data import draws
from benchmark_data.dataset import Dataset
from benchmark_data.errors import needs
from benchmark_data.expected_effects import Effect
from benchmark_data.factors import Factor, FactorSpace, Indices

PLACES = 6
"""Settings of the other factors at which a factor is varied."""

IMAGES = 1200
"""Images that are looked at for a factor of a dataset that is no grid."""

MEAN, EACH = 0.95, 0.5
"""Least rank correlation of class and measure: averaged over places first, and place by place."""

ROUND = 0.8
"""Least agreement of a cyclic factor and its measure: 1 if they turn together, 0 if one stands or turns back."""

_UNITS = {"rad": 2 * math.pi, "deg": 360.0, "turn": 1.0, "": 1.0}


def problems(dataset: Dataset) -> list[str]:
    """Compare what a dataset's factors do to its images with what they are declared to do.

    Args:
        dataset: a prepared dataset.

    Returns:
        A sentence for each factor that does something else, that has no declaration, or is not a factor; empty if all
        is well.

    Raises:
        Unavailable: the dataset is not prepared.

    Example:
        >>> import benchmark_data
        >>> problems(benchmark_data.load("xysquares"))
        []
    """
    names = dataset.space.names
    found = [f"effects: {name!r} is no factor of {dataset.id}" for name in dataset.effects if name not in names]
    for factor in dataset.space.factors:
        effect = dataset.effects.get(factor.name)
        if effect is None:
            found.append(
                f"{factor.name}: no effect is declared. Say in DATASET what one sees as its class id rises, such as "
                f"effects={{{factor.name!r}: expected_effects.right()}}, or why no measure shows it; "
                "benchmark_data/expected_effects.py has the list"
            )
        elif isinstance(effect, str):
            if len(effect) < 20:
                found.append(f"{factor.name}: expected an effect, or a sentence why there is none, received {effect!r}")
        elif factor.size > 1 and (wrong := _wrong(dataset, factor, effect)):
            others = [other for other in dataset.space.factors if other.size > 1 and other.name not in effect.where]
            swapped = [
                other.name
                for other in others
                if other is not factor and other.size == factor.size and not _wrong(dataset, other, effect, like=factor)
            ]
            hint = f": {swapped[0]} does. Are two label columns swapped?" if swapped else f". {wrong}"
            found.append(f"{factor.name}: declared as {effect.summary!r}, which it does not do{hint}")
    return found


def _wrong(dataset: Dataset, factor: Factor, effect: Effect, like: Factor | None = None) -> str:
    """Describe what is wrong when a factor is held to an effect, that of ``like`` where given; empty if nothing is."""
    like = like or factor
    measured = _measured(dataset, factor, effect)
    if like.kind == "cyclic":
        turns = np.asarray(like.values) / _UNITS.get(like.unit, 1.0)
        forward, back = (abs(np.nanmean(np.exp(2j * np.pi * (measured - sign * turns)))) for sign in (1, -1))
        if forward >= ROUND:
            return ""
        return "It turns the other way. Is the factor counted from the wrong end?" if back >= ROUND else "It stands."
    order = [effect.order.index(label) for label in like.labels] if effect.order else range(like.size)
    means, each = _rank_correlation(order, measured.mean(axis=0)), [_rank_correlation(order, m) for m in measured]
    if means >= MEAN and np.mean(each) >= EACH:
        return ""
    if means <= -MEAN:
        return "It does the opposite. Is the factor counted from the wrong end?"
    if means >= MEAN:
        still = sum(np.ptp(m) == 0 for m in measured)
        seen = f", and nothing varies at {still} of {len(each)} places" if still else ""
        return f"Place by place the rank correlation is {np.mean(each):.2f} on average, expected at least {EACH}{seen}."
    return f"The rank correlation of class and measure is {means:.2f}, expected at least {MEAN}."


def _measured(dataset: Dataset, factor: Factor, effect: Effect) -> NDArray[np.float64]:
    """Measure images of every class: shape (places, classes), of a dataset that is no grid (1, classes)."""
    space = dataset.space
    column = space.column(factor.name)
    if isinstance(space, FactorSpace):
        labels = space.labels(draws.sample(9, len(dataset), PLACES))
        for name, value in effect.where.items():
            labels[:, space.column(name)] = value
        labels = np.repeat(labels, factor.size, axis=0)
        labels[:, column] = np.tile(np.arange(factor.size), len(labels) // factor.size)
        return _images(dataset, space.index(labels), effect).reshape(-1, factor.size)
    rows = draws.permutation(9, len(dataset))
    labels = space.labels(rows)
    fits = np.all([labels[:, space.column(name)] == value for name, value in effect.where.items()], axis=0)
    rows = rows[np.flatnonzero(np.broadcast_to(fits, rows.shape))[:IMAGES]]
    classes, values = space.labels(rows)[:, column], _images(dataset, rows, effect)
    found = np.full((1, factor.size), np.nan)  # a class that none of the images has stays so
    for label in np.unique(classes):
        found[0, label] = values[classes == label].mean()
    return found


def _images(dataset: Dataset, rows: Indices, effect: Effect) -> NDArray[np.float64]:
    measured = [np.asarray(effect.measure(images), np.float64) for _, images in dataset.batches(rows)]
    return np.concatenate(measured).round(6)  # sums of the same pixels in another order differ by rounding


def _rank_correlation(order: object, measured: NDArray[np.float64]) -> float:
    """Compute Spearman's correlation with the expected order; 0 where nothing varies."""
    needs("rank correlations", "metrics", "scipy")
    from scipy.stats import rankdata

    seen = np.isfinite(measured)
    if np.ptp(measured[seen]) == 0:
        return 0.0
    return float(np.corrcoef(np.asarray(order, np.float64)[seen], rankdata(measured[seen]))[0, 1])
