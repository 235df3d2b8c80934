"""Harder datasets: choose the values of a factor by the pixel distances of their images.

Where pixel distance follows factor distance, the pixel loss of a VAE shows it the order of the values (Michlo,
Klein and James, "Overlooked Implications of the Reconstruction Loss for VAE Disentanglement", IJCAI 2023, arXiv
2202.13341). Their XYSquares avoids this by positions of squares that do not overlap. For any other rendered grid,
there are three steps:

1. Draw *candidates*: the values that a factor has, or more positions, colours or sizes than needed.
2. Measure how far apart they are in pixels: `along` for the values of a dataset's factor, or
   `inspect.distances.mean_squared_errors` of the images drawn.
3. Let `chosen` take those whose distances are nearest to a wanted function of their spacing: `constant`, which hides
   the order, `linear`, which shows it, or any other. `redrawn` does so where each value has candidates of its own.

A dataset's file then draws the chosen ones: ``dsprites_spaced`` is re-placed and ``room3d_equal`` re-coloured so.

`Choice.misfit` shows how far the wanted distances are out of reach. Flat colours, for example, are points in three
dimensions: at most four are equally far apart.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmark_data.dataset import Dataset
from benchmark_data.errors import InvalidInput, is_whole
from benchmark_data.inspect import distances as pixel_distances

__all__ = ["Choice", "along", "chosen", "constant", "linear", "redrawn"]

Floats: TypeAlias = NDArray[np.float64]

Wanted: TypeAlias = Callable[[Floats], Floats]
"""Takes spacings of values in places, float64 of any shape, at least 1; gives the distances that are wanted, positive
and of the same shape. Their unit does not matter."""

MAX_CHOICES = 5_000_000
"""Choices that are compared."""

BATCH = 100_000


class Choice(NamedTuple):
    """Candidates that were chosen.

    Attributes:
        candidates: which candidates, ascending.
        misfit: how far their distances are from the wanted ones: the root of the squared differences over the squared
            distances, in [0, 1]; 0 where they are as wanted.
        scale: their distance where 1 is wanted.
    """

    candidates: tuple[int, ...]
    misfit: float
    scale: float


def constant(spacing: Floats) -> Floats:
    """Return 1 for every spacing: all values equally far apart."""
    return np.ones_like(spacing)


def linear(spacing: Floats) -> Floats:
    """Return the spacing itself: distances that grow with it, as where only neighbours overlap."""
    return spacing


def along(dataset: Dataset, factor: str, *, traversals: int = 200, seed: int = 0) -> Floats:
    """Measure how far apart the values of a factor are in pixels.

    Args:
        dataset: a dataset with a full grid of factors.
        factor: the factor's name.
        traversals: how many settings of the other factors are averaged.
        seed: seed of these settings, in [0, 2**64).

    Returns:
        Mean squared errors of pixels in [0, 1], float64, shape (size, size).

    Raises:
        UnknownName: there is no such factor.
        InvalidInput: no traversal, or a dataset without a full grid.
    """
    return pixel_distances.matrices(dataset, factor, traversals=traversals, seed=seed).perceived


def chosen(distances: ArrayLike, count: int, *, wanted: Wanted = constant) -> Choice:
    """Choose candidates whose distances are nearest to a wanted function of their spacing.

    All choices are compared. Of those that fit alike, to six digits, the one whose images are farthest apart is taken,
    then the first.

    Args:
        distances: of the candidates in their order, symmetric, not negative, shape (n, n).
        count: how many to choose, at least 2.
        wanted: distance by spacing, such as `constant`.

    Returns:
        The choice.

    Raises:
        InvalidInput: no such matrix, too few or too many candidates, or a wanted distance that is not positive.

    Example:
        >>> places = np.arange(17)  # of something that is four pixels wide
        >>> overlap = np.minimum(np.abs(places[:, None] - places), 4)
        >>> chosen(overlap, 4).candidates, chosen(overlap, 4, wanted=linear).candidates
        ((0, 4, 8, 12), (0, 1, 2, 3))
    """
    matrix = _check_distances(distances)
    if not is_whole(count) or not 2 <= count <= len(matrix):
        raise InvalidInput(f"number of values to choose: expected 2 to the {len(matrix)} candidates, received {count}.")
    choices = itertools.combinations(range(len(matrix)), count)
    return _best_choice(matrix, choices, math.comb(len(matrix), count), count, wanted)


def redrawn(distances: ArrayLike, ways: Sequence[Sequence[int]], *, wanted: Wanted = constant) -> Choice:
    """Choose how each value is drawn, where there are several ways to draw it, such as one hue in many shades.

    Args:
        distances: of the candidates, symmetric, not negative, shape (n, n).
        ways: the candidates for each value, by their places in the matrix.
        wanted: distance by spacing, such as `constant`.

    Returns:
        The choice among all, as of `chosen`, with one candidate for each value, in the values' order.

    Raises:
        InvalidInput: no such matrix, fewer than two values, candidates that are not in the matrix, too many choices, or
            a wanted distance that is not positive.

    Example:
        >>> greys = np.arange(6)  # values that are drawn in 0 or 1, in 2 or 3, and in 4 or 5
        >>> redrawn(np.square(greys[:, None] - greys), [(0, 1), (2, 3), (4, 5)], wanted=np.square).candidates
        (0, 2, 4)
    """
    matrix = _check_distances(distances)
    if len(ways) < 2 or not all(len(way) and 0 <= min(way) <= max(way) < len(matrix) for way in ways):
        raise InvalidInput(
            f"ways to draw values: expected candidates in [0, {len(matrix) - 1}] for each of two or more values, "
            f"received {[list(way) for way in ways]}."
        )
    return _best_choice(matrix, itertools.product(*ways), math.prod(map(len, ways)), len(ways), wanted)


def _best_choice(
    matrix: Floats, choices: Iterator[tuple[int, ...]], choice_count: int, value_count: int, wanted: Wanted
) -> Choice:
    """Compare all choices."""
    if choice_count > MAX_CHOICES:
        raise InvalidInput(
            f"candidates: expected at most {MAX_CHOICES:,} ways to choose {value_count} of them, received "
            f"{choice_count:,} of {len(matrix)}. Pass fewer candidates, such as every second one."
        )
    first, second = np.triu_indices(value_count, 1)
    spacing = (second - first).astype(np.float64)
    goal = np.asarray(wanted(spacing), np.float64)
    if goal.shape != spacing.shape or not np.isfinite(goal).all() or (goal <= 0).any():
        raise InvalidInput(
            f"wanted distances: expected positive numbers, one for each spacing, received {np.array2string(goal)}."
        )
    unit = float(matrix.max() / goal.max()) or 1.0
    goal = goal * unit  # of the size of the distances, so that rounding is relative
    best = Choice((), math.inf, 0.0)
    while batch := list(itertools.islice(choices, BATCH)):
        places = np.array(batch)
        chosen_distances = matrix[places[:, first], places[:, second]]
        squared_norm = np.square(chosen_distances).sum(axis=1)
        scale = chosen_distances @ goal / (goal @ goal)
        residual = np.maximum(squared_norm - scale**2 * (goal @ goal), 0.0)
        scale = scale.round(12)
        misfit = np.sqrt(np.divide(residual, squared_norm, out=np.ones_like(residual), where=squared_norm > 0)).round(6)
        best_row = int(np.lexsort((-scale, misfit))[0])
        if (misfit[best_row], -scale[best_row]) < (best.misfit, -best.scale):
            best = Choice(tuple(places[best_row].tolist()), float(misfit[best_row]), float(scale[best_row]))
    return best._replace(scale=best.scale * unit)


def _check_distances(distances: ArrayLike) -> Floats:
    matrix = np.asarray(distances, np.float64)
    is_square = matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1]
    if not is_square or not np.isfinite(matrix).all() or (matrix < 0).any() or not np.allclose(matrix, matrix.T):
        raise InvalidInput(
            "distances of candidates: expected a symmetric matrix of numbers that are not negative, received "
            f"{'another matrix' if is_square else f'shape {matrix.shape}'}."
        )
    return matrix
