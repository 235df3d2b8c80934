"""Are codes made of labels? A latent that is a label with a little noise has noise that knows nothing of the image.

An encoder that finds a factor never finds it alone: among images of one class of the factor, its latent still depends a
little on the other factors, since they are in the same pixels. In codes that someone made of labels, what is left is
noise. So a latent that one factor explains is marked when, within that factor's classes, no other factor has a say:

1. The factor explains at least half of the latent's variance, or of the variance of its ranks.
2. The latent's values are replaced by their ranks within each class of the factor. Scale, sign, any monotone map, and
   noise that is wider in some classes than in others, change nothing of these.
3. For each other factor, the share of the ranks' variance that it explains together with the class (adjusted R² of the
   cell means) is below 0.05, or below what noise alone would reach. Where there is no other factor, brightness and
   place of what is drawn stand in for one (`appearance`).

What this cannot see: labels with an error that depends on other labels, labels mixed with each other, and labels with
so much noise that they explain little. For those there is verification on fresh rows.

Internal.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from benchmark_data.factors import Indices
from leaderboard import protocol
from leaderboard.store import statistics

MARK = "codes_equal_labels"
"""What is marked so is shown, and not ranked until it is verified."""

EXPLAINED = 0.5
"""Share of a latent's variance that a factor must explain for the latent to be suspected."""

SAY = 0.05
"""Share of the rest that another factor must explain for the latent to be an encoder's."""

CELL = 5
"""Rows that a cell should have, on the average; neighbouring classes are put together until it has."""


def leaks(codes: NDArray[np.floating], factors: Indices, more: Callable[[], Indices] | None = None) -> tuple[str, ...]:
    """Look for latents that are labels under another name.

    Args:
        codes: shape (n, L).
        factors: class ids, int64 (n, F), of the same rows.
        more: gives class ids of something else that is seen in the images, int64 (n, any). It is asked only where a
            latent is suspected and there is one factor alone.

    Returns:
        ``("codes_equal_labels",)``, or nothing.

    Example:
        >>> labels = np.stack(np.unravel_index(np.arange(600) % 20, (4, 5)), axis=1)
        >>> noise = np.random.default_rng(0).standard_normal(labels.shape)
        >>> leaks(labels + 0.05 * noise, labels)
        ('codes_equal_labels',)
        >>> leaks(labels + 0.05 * labels[:, ::-1] + 0.01 * noise, labels)  # each knows a little of the other
        ()
    """
    wide = np.asarray(codes, np.float64)
    return (MARK,) if any(suspected(wide[:, latent], factors, more) for latent in range(wide.shape[1])) else ()


def suspected(latent: NDArray[np.float64], factors: Indices, more: Callable[[], Indices] | None = None) -> bool:
    """Say whether a latent is the label of any factor under another name.

    Args:
        latent: float64 (n,).
        factors: class ids, int64 (n, F).
        more: as in ``leaks``.

    Returns:
        Whether it is.
    """
    if (latent == latent[0]).all():
        return False
    ranks = statistics.ranks(latent)
    for column in range(factors.shape[1]):
        classes = factors[:, column]
        if max(explained(latent, classes), explained(ranks, classes)) < EXPLAINED:
            continue
        rest, others = within(latent, classes), np.delete(factors, column, axis=1)
        if not rest.any():  # each class has one value
            return True
        if not others.shape[1] and more is not None:
            others = more()
        if others.shape[1] and all(_no_say(rest, classes, other) for other in others.T):
            return True
    return False


def appearance(task: protocol.Task) -> Indices:
    """Describe images by what anyone sees: how bright their parts are, and where the brightness is centred.

    Args:
        task: whose rows.

    Returns:
        int64 (rows of the task, 6): each in ten classes of the same size.
    """
    seen = []
    for _, images in task.load().batches(task.indices):
        light = images.mean(axis=3)
        _, height, width = light.shape
        top, left = light[:, : height // 2], light[:, :, : width // 2]
        quarters = [part[..., : width // 2].mean(axis=(1, 2)) for part in (top, light[:, height // 2 :])]
        total = light.sum(axis=(1, 2)) + 1e-9
        centre = [light.sum(axis=2) @ np.arange(height) / total, light.sum(axis=1) @ np.arange(width) / total]
        seen.append(np.stack([*quarters, top.mean(axis=(1, 2)), left.mean(axis=(1, 2)), *centre], axis=1))
    order = np.argsort(np.concatenate(seen), axis=0, kind="stable")
    found: Indices = np.argsort(order, axis=0) * 10 // len(order)
    return found


def explained(values: NDArray[np.float64], classes: Indices) -> float:
    """Return the share of the variance that classes explain, in [0, 1]."""
    _, places, counts = np.unique(classes, return_inverse=True, return_counts=True)
    means = np.bincount(places, values) / counts
    return float(np.average((means - values.mean()) ** 2, weights=counts) / values.var())


def within(values: NDArray[np.float64], classes: Indices) -> NDArray[np.float64]:
    """Rank values within their class: mid-ranks from -1 to 1; values that are equal up to rounding are so, too."""
    rounded = np.round(values / (1e-6 * values.std()))
    found = np.empty(len(values))
    for each in np.unique(classes):
        inside = classes == each
        found[inside] = (2 * statistics.ranks(rounded[inside]) - 1) / inside.sum() - 1
    return found


def _no_say(rest: NDArray[np.float64], classes: Indices, other: Indices) -> bool:
    """Say whether another factor explains nothing of what is left within the classes."""
    limit = max(2.0, math.sqrt(len(rest) / CELL))
    first, second = _grouped(classes, limit), _grouped(other, limit)
    cells = np.unique(first * (second.max() + 1) + second, return_inverse=True)[1]
    counts = np.bincount(cells)
    freedom, left = len(counts) - len(np.unique(first)), len(rest) - len(counts)
    if freedom < 1 or left < 1:
        return True
    means = np.bincount(cells, rest) / counts
    total, inside = (rest**2).sum(), ((rest - means[cells]) ** 2).sum()
    share = 1 - (inside / left) / (total / (left + freedom))
    by_chance = 3 * math.sqrt(2 * freedom) / len(rest)
    return bool(share < SAY + by_chance)


def _grouped(classes: Indices, most: float) -> Indices:
    """Number classes from 0, neighbours together where there are more than so many."""
    numbered = np.unique(classes, return_inverse=True)[1]
    width = math.ceil((numbered.max() + 1) / most)
    grouped: Indices = numbered // width
    return grouped
