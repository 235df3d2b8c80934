"""Distances between images of a factor at each level of a VAE, compared with those of its input.

Figure 4 of Michlo, Klein and James, "Overlooked implications of the reconstruction loss for VAE disentanglement"
(2023), section 4: distance matrices along the traversals of a factor (equation 10), averaged over traversals, between
ground-truth values, input images, posterior means, posteriors and reconstructions. If distances between images follow
the factor, so do those at every other level.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import distance

from benchmark_data.errors import InvalidInput, UnknownName
from benchmark_data.inspect import distances
from leaderboard import figures
from leaderboard.analyses._pixels import unit
from leaderboard.analyses.latents import check_posterior
from leaderboard.arrays import Real, as_plain_array

LEVELS = ("ground truth", "input", "mean", "KL", "reconstruction")
"""Left to right, as in the paper's figure."""

Matrix: TypeAlias = NDArray[np.float64]


def measure(
    *,
    inputs: Real[ArrayLike, "traversals values ..."] | None = None,
    mean: Real[ArrayLike, "traversals values L"] | None = None,
    variance: Real[ArrayLike, "traversals values L"] | None = None,
    reconstructions: Real[ArrayLike, "traversals values ..."] | None = None,
) -> pd.DataFrame:
    """Measure the distances between all values of one factor, at each given level.

    Args:
        inputs: images along traversals of the factor, shape (traversals, values, ...): uint8, which is divided by 255,
            or floats, which are used unchanged: they may be weighted, or lie outside [0, 1].
        mean: posterior means of those images, shape (traversals, values, L).
        variance: posterior variances, shape (traversals, values, L), which with ``mean`` determine the KL divergence.
        reconstructions: decoded means, with shape and dtype as ``inputs``.

    Returns:
        A row for each level and ordered pair of values: ``level``, ``first``, ``second`` (class ids), ``distance``, the
        mean over traversals, and ``deviation``, its standard deviation over them. Ground truth: difference of class ids
        (equation 5). Input and reconstruction: mean squared error. Mean: Euclidean distance. KL:
        KL(q_first || q_second) of the posteriors, in nats, which is not symmetric.

    Raises:
        InvalidInput: no arrays, shapes that do not match, variances without means, fewer than two values, or numbers
            that cannot be used.

    Example:
        >>> images = np.eye(3)[None]
        >>> table = measure(inputs=images)
        >>> table[table.level == "input"].distance.round(2).tolist()
        [0.0, 0.67, 0.67, 0.67, 0.0, 0.67, 0.67, 0.67, 0.0]
    """
    arguments = {"inputs": inputs, "mean": mean, "variance": variance, "reconstructions": reconstructions}
    arrays = {name: _check_traversals(array, name) for name, array in arguments.items() if array is not None}
    shapes = {array.shape[:2] for array in arrays.values()}
    if len(shapes) != 1:
        raise InvalidInput(
            "arrays along traversals: expected at least one, all with the same (traversals, values), received "
            f"{', '.join((f'{name} {array.shape[:2]}' for name, array in arrays.items())) or 'none'}."
        )
    if "variance" in arrays and "mean" not in arrays:
        raise InvalidInput("mean: expected posterior means next to the variances, received none.")
    values = shapes.pop()[1]
    steps = np.arange(values, dtype=np.float64)[None, :, None]
    levels: dict[str, tuple[Callable[[Matrix], Matrix], Matrix]] = {
        "ground truth": (functools.partial(_distances, metric="cityblock"), steps)
    }
    if "inputs" in arrays:
        levels["input"] = (_squared_error, arrays["inputs"])
    if "mean" in arrays:
        levels["mean"] = (_distances, arrays["mean"])
    if "variance" in arrays:
        check_posterior(*(arrays[name].reshape(-1, arrays[name].shape[-1]) for name in ("mean", "variance")))
        levels["KL"] = (_divergence, np.stack([arrays["mean"], arrays["variance"]], axis=2))
    if "reconstructions" in arrays:
        levels["reconstruction"] = (_squared_error, arrays["reconstructions"])
    first, second = np.indices((values, values)).reshape(2, -1)
    tables = []
    for level, (distance_function, traversals) in levels.items():
        matrices = np.stack([distance_function(traversal) for traversal in traversals])
        tables.append(
            pd.DataFrame(
                {
                    "level": level,
                    "first": first,
                    "second": second,
                    "distance": matrices.mean(axis=0).ravel(),
                    "deviation": matrices.std(axis=0).ravel(),
                }
            )
        )
    return pd.concat(tables, ignore_index=True)


def agreement(table: pd.DataFrame, *, against: str = "ground truth") -> pd.DataFrame:
    """Correlate distances at each level with those at another, by default those between the factor's values.

    Args:
        table: as from ``measure``, with a column ``factor`` if there are several.
        against: the level that the others are compared with, one of `LEVELS`.

    Returns:
        A row per factor and level other than ``against``: ``pearson`` and ``spearman``, the correlations over pairs of
        different values, with KL made symmetric. Both are NaN for a factor of two values, and if all distances are
        equal.

    Raises:
        InvalidInput: a column is missing.
        UnknownName: the table has no such level.

    Example:
        >>> agreement(measure(inputs=np.array([[[0.0], [0.5], [1.0]]]))).round(3).values.tolist()
        [['', 'input', 1.0, 1.0]]
    """
    figures.check_columns(table, ["level", "first", "second", "distance"])
    table = table if "factor" in table else table.assign(factor="")
    rows = []
    for factor, levels in table.groupby("factor", sort=False):
        matrices = {str(level): _distance_matrix(part) for level, part in levels.groupby("level", sort=False)}
        if "ground truth" not in matrices:
            values = len(next(iter(matrices.values())))
            matrices["ground truth"] = _distances(np.arange(values, dtype=np.float64)[:, None], "cityblock")
        if against not in matrices:
            raise UnknownName("level", against, matrices)
        matrices = {level: (matrix + matrix.T) / 2 for level, matrix in matrices.items()}
        reference = matrices.pop(against)
        for level, matrix in matrices.items():
            correlation = distances.correlation(distances.Matrices(reference, matrix))
            rows.append((factor, level, correlation.pearson, correlation.spearman))
    return pd.DataFrame(rows, columns=["factor", "level", "pearson", "spearman"])


def draw(table: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Draw the matrices: a row per factor, a column per level, each on its own scale, dark for small distances.

    Args:
        table: as from ``measure``, with a column ``factor`` if there are several.
        path: the PNG file to write.

    Raises:
        InvalidInput: a column is missing, or the file cannot be written.
        MissingExtra: matplotlib is not installed.
    """
    figures.check_columns(table, ["level", "first", "second", "distance"])
    table = table if "factor" in table else table.assign(factor="")
    factors = list(table["factor"].unique())
    levels = [level for level in LEVELS if level in set(table["level"])]
    figure, axes = figures.panels(len(factors), len(levels), width=1.5, height=1.5)
    for row, factor in zip(axes, factors, strict=True):
        for panel, level in zip(row, levels, strict=True):
            part = table[(table["factor"] == factor) & (table["level"] == level)]
            if len(part):
                panel.imshow(_distance_matrix(part), cmap="viridis", vmin=0, interpolation="nearest")
            panel.set_xticks([])
            panel.set_yticks([])
        row[0].set_ylabel(str(factor), fontsize=9)
    for panel, level in zip(axes[0], levels, strict=True):
        panel.set_title(level, fontsize=9)
    figures.save(figure, path)


def _distance_matrix(part: pd.DataFrame) -> Matrix:
    return part.pivot_table(index="first", columns="second", values="distance").to_numpy(dtype=np.float64)


def _check_traversals(array: ArrayLike, name: str) -> NDArray[np.float64]:
    array = as_plain_array(array, name)
    if array.ndim < 3 or array.shape[1] < 2 or 0 in array.shape:
        raise InvalidInput(
            f"{name}: expected an array (traversals, values, ...) of at least two values, received shape {array.shape}."
        )
    return unit(array, name).reshape(*array.shape[:2], -1)


def _distances(points: Matrix, metric: Any = "euclidean") -> Matrix:
    return np.asarray(distance.squareform(distance.pdist(points, metric)))


def _squared_error(images: Matrix) -> Matrix:
    return _distances(images, "sqeuclidean") / images.shape[1]


def _divergence(posteriors: Matrix) -> Matrix:
    mean, variance = posteriors[:, 0], posteriors[:, 1]
    ratio = variance[:, None] / variance[None]
    squared_shift = (mean[:, None] - mean[None]) ** 2 / variance[None]
    return 0.5 * (ratio - np.log(ratio) - 1 + squared_shift).sum(axis=-1)
