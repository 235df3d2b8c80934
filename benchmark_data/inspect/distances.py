"""How far apart a dataset's images are for a VAE, and whether that agrees with its factors.

Michlo, Klein and James, "Overlooked Implications of the Reconstruction Loss for VAE Disentanglement", IJCAI 2023
(arXiv 2202.13341), section 4. The ground-truth distance of two images is the L1 distance of their factors (equation 5),
here of their class ids. The perceived distance is the reconstruction loss between them (equation 7), here the mean
squared error of pixels in [0, 1]. A factor traversal goes through all values of one factor while the others stay
(equations 8 and 9).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import threadpoolctl
from numpy.typing import NDArray

from benchmark_data import draws
from benchmark_data.dataset import Dataset, check_dataset
from benchmark_data.errors import InvalidInput, check_count, needs
from benchmark_data.factors import Indices
from benchmark_data.inspect.published import PUBLISHED, RANDOM_PAIR
from benchmark_data.types import Pixels

if TYPE_CHECKING:
    from jaxtyping import Float64

__all__ = [
    "STANDS_IN_FOR",
    "Correlation",
    "Matrices",
    "PairDistance",
    "correlation",
    "matrices",
    "mean_squared_errors",
    "pair_distances",
    "published",
    "squared_distances",
]

BATCH = 256

STANDS_IN_FOR: Mapping[str, str] = {"room3d": "shapes3d"}
"""Rendered datasets whose distances are comparable with those published for another one."""


class PairDistance(NamedTuple):
    """Mean perceived distance of random pairs, its standard error, and the number of pairs."""

    mean: float
    error: float
    pairs: int


class Matrices(NamedTuple):
    """Average distance matrices along one factor, each float64, shape (size, size), symmetric with zero diagonal."""

    ground_truth: NDArray[np.float64]
    perceived: NDArray[np.float64]


class Correlation(NamedTuple):
    """Agreement of two distance matrices, each in [-1, 1]; NaN where one of them does not vary."""

    pearson: float
    spearman: float


def mean_squared_errors(images: Pixels) -> Float64[NDArray[np.float64], "n n"]:
    """Return the perceived distances between all pairs of images (equation 7).

    Args:
        images: uint8, shape (n, H, W, C).

    Returns:
        float64 in [0, 1], shape (n, n), symmetric, 0 exactly where two images are equal.

    Raises:
        InvalidInput: the images are not uint8.

    Example:
        >>> greys = np.array([0, 51, 255], np.uint8).reshape(3, 1, 1, 1)
        >>> mean_squared_errors(greys).round(2).tolist()
        [[0.0, 0.04, 1.0], [0.04, 0.0, 0.64], [1.0, 0.64, 0.0]]
    """
    if images.dtype != np.uint8:
        raise InvalidInput(f"images: expected uint8, received {images.dtype}. Scale them to [0, 255].")
    return _all_squared_errors(images) / (255.0**2 * math.prod(images.shape[1:]))


def _all_squared_errors(images: Pixels) -> NDArray[np.float64]:
    """Sum the squared differences between all of some images: whole numbers, exact."""
    flat = images.reshape(len(images), -1).astype(np.float64)
    squares = np.square(flat).sum(axis=1)
    # |u - v|^2 = |u|^2 + |v|^2 - 2 u v; whole numbers below 2**53, so exact.
    return squares[:, None] + squares - 2 * flat @ flat.T


def _squared_errors(a: Pixels, b: Pixels) -> NDArray[np.float64]:
    """Sum the squared differences of images, pair by pair: whole numbers, exact."""
    difference = (a.astype(np.float32) - b).reshape(len(a), -1)
    return np.einsum("np,np->n", difference, difference, dtype=np.float64)


def squared_distances(dataset: Dataset, first: Indices, second: Indices) -> NDArray[np.float64]:
    """Sum the squared differences of the images of rows, pair by pair, a batch at a time: float64, shape (n,)."""
    squares = np.empty(len(first))
    for start in range(0, len(first), BATCH):
        batch = slice(start, start + BATCH)
        squares[batch] = _squared_errors(dataset.images(first[batch]), dataset.images(second[batch]))
    return squares


def pair_distances(dataset: Dataset, *, pairs: int = 10_000, seed: int = 0) -> dict[str, PairDistance]:
    """Measure how far apart images are that differ in one factor, and images that differ in anything.

    A pair along a factor is a random image and another image of its traversal; a random pair is two different rows.

    Args:
        dataset: any dataset. One without a full grid has no traversals: only its random pairs are measured.
        pairs: the number of pairs for each factor, at least 2.
        seed: the seed of `benchmark_data.draws`, in [0, 2**64).

    Returns:
        The distance for each factor that has two or more values, in column order, and last for `RANDOM_PAIR`.

    Raises:
        InvalidInput: no dataset, fewer than two pairs, or a dataset of one image.

    Example:
        >>> import benchmark_data
        >>> distances = pair_distances(benchmark_data.load("xysquares/spacing_8"), pairs=100)
        >>> distances["x_R"].mean == 128 / 12288, distances["x_R"].error
        (True, 0.0)
    """
    check_dataset(dataset)
    check_count("number of pairs", pairs, 2)
    if len(dataset) < 2:
        raise InvalidInput(f"pairs of {dataset.id}: expected two images or more, received one image.")
    columns = len(dataset.space.factors)
    uniform = draws.uniform(seed, np.arange(pairs), 2 * columns + 2).reshape(pairs, columns + 1, 2)

    def move_to_other(positions: Indices, size: int, column: int) -> Indices:
        """Move each place to another one, all others being equally likely."""
        return (positions + 1 + (uniform[:, column, 1] * (size - 1)).astype(np.int64)) % size

    def draw_first(column: int) -> Indices:
        return (uniform[:, column, 0] * len(dataset)).astype(np.int64)

    row_pairs: dict[str, tuple[Indices, Indices]] = {}
    if dataset.space.full:
        for column, factor in enumerate(dataset.space.factors):
            if factor.size > 1:
                labels = dataset.space.labels(draw_first(column))
                labels[:, column] = move_to_other(labels[:, column], factor.size, column)
                row_pairs[factor.name] = draw_first(column), dataset.space.index(labels)
    row_pairs[RANDOM_PAIR] = draw_first(columns), move_to_other(draw_first(columns), len(dataset), columns)

    scale = 255.0**2 * math.prod(dataset.image_shape)
    result = {}
    for name, (first, second) in row_pairs.items():
        squares = squared_distances(dataset, first, second)
        error = squares.std(ddof=1) / math.sqrt(pairs)
        result[name] = PairDistance(float(squares.mean() / scale), float(error / scale), pairs)
    return result


def matrices(dataset: Dataset, factor: str, *, traversals: int = 200, seed: int = 0) -> Matrices:
    """Average the distances between all values of one factor over random traversals (equation 10).

    Args:
        dataset: a dataset with a full grid of factors, in any order.
        factor: the factor's name.
        traversals: how many, at least 1.
        seed: the seed of `benchmark_data.draws`, in [0, 2**64).

    Returns:
        The two matrices.

    Raises:
        UnknownName: there is no such factor.
        InvalidInput: no dataset, no traversal, or a dataset without a full grid.

    Example:
        >>> import benchmark_data
        >>> perceived = matrices(benchmark_data.load("xysquares/spacing_8"), "x_R", traversals=5).perceived
        >>> bool((perceived + np.eye(8) * 128 / 12288 == 128 / 12288).all())
        True
    """
    check_dataset(dataset)
    check_count("number of traversals", traversals, 1)
    if not dataset.space.full:
        raise InvalidInput(
            f"factor traversals of {dataset.id}: expected a dataset that holds every combination of its factors, "
            "received a table of labels."
        )
    column = dataset.space.column(factor)
    size = dataset.space.sizes[column]
    total = np.zeros((size, size))
    rows = (draws.uniform(seed, np.arange(traversals), 1)[:, 0] * len(dataset)).astype(np.int64)
    with threadpoolctl.threadpool_limits(1):  # products this small lose more by waiting for threads than they gain
        for row in rows:
            total += _all_squared_errors(dataset.images(dataset.space.traverse(int(row), factor)))
    perceived = total / (traversals * 255.0**2 * math.prod(dataset.image_shape))
    values = np.arange(size, dtype=np.float64)
    return Matrices(np.abs(values[:, None] - values), perceived)


def correlation(distances: Matrices) -> Correlation:
    """Describe how well perceived distances agree with ground-truth distances along a factor.

    Args:
        distances: the two matrices of `matrices`.

    Returns:
        Pearson's and Spearman's coefficients over the entries above the diagonal. Both are NaN where a matrix does not
        vary there beyond rounding: for a factor of two values, and where all images of a traversal are equally far
        apart.

    Raises:
        MissingExtra: scipy is not installed.

    Example:
        >>> import benchmark_data
        >>> round(correlation(matrices(benchmark_data.load("xysquares/spacing_1"), "x_R")).spearman, 3)
        1.0
        >>> correlation(matrices(benchmark_data.load("xysquares/spacing_8"), "x_R"))
        Correlation(pearson=nan, spearman=nan)
    """
    upper = np.triu_indices(len(distances.perceived), 1)
    x, y = distances.ground_truth[upper], distances.perceived[upper]
    if len(x) < 2 or any(np.ptp(z) <= 1e-12 * np.abs(z).max() for z in (x, y)):
        return Correlation(math.nan, math.nan)
    needs("rank correlations", "metrics", "scipy")
    import scipy.stats

    return Correlation(float(scipy.stats.pearsonr(x, y).statistic), float(scipy.stats.spearmanr(x, y).statistic))


def published(dataset_id: str) -> tuple[str, Mapping[str, float]]:
    """Return the distances that the paper reports for a dataset, or for the one that it stands in for.

    Args:
        dataset_id: a dataset's full name.

    Returns:
        The name of the dataset that they were measured on, and factor -> mean squared error of pixels in
        [0, 1]; empty where none are published.

    Example:
        >>> published("room3d")[0], published("dsprites")[1]["posY"]
        ('shapes3d', 0.0584)
    """
    measured_id = STANDS_IN_FOR.get(dataset_id, dataset_id)
    return measured_id, PUBLISHED.get(measured_id, {})
