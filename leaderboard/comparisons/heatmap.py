"""All layers of one model against all layers of another: the papers' heatmaps, as a table and as a picture."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from benchmark_data.errors import InvalidInput, check_choice
from leaderboard import figures
from leaderboard.arrays import Codes, check_codes
from leaderboard.comparisons import procrustes
from leaderboard.comparisons._pair import centred
from leaderboard.comparisons._products import inner_products

Similarity = Literal["cka", "cka_debiased", "procrustes", "smaller"]
Layers = Mapping[str, ArrayLike]
"""Layer name to activations, shape (n, p), in order from input to output."""

SEEDS = 4
"""The fewest seeds for an interval, as in ``leaderboard.store.intervals``."""


def compare_layers(x: Layers, y: Layers, *, similarity: Similarity = "cka", memory: float = 1.0) -> pd.DataFrame:
    """Compare every layer of one model with every layer of another on the same samples.

    Each layer's Gram matrix is computed once, and all pairs by one blocked matrix product; for Procrustes each wide
    layer is reduced once. A layer that both models share, such as the input, is processed once too.

    Args:
        x: layer name to activations, shape (n, p), in order from input to output.
        y: the same for the other model; it may be the same model.
        similarity: ``"cka"``, ``"cka_debiased"`` or ``"procrustes"``, see those modules; or ``"smaller"``, the smaller
            of CKA and Procrustes for each pair, which is what the papers interpret.
        memory: GiB of scratch space that CKA may use in addition to the activations. Procrustes needs 8 n² bytes per
            layer.

    Returns:
        The similarities: one row per layer of ``x``, one column per layer of ``y``. CKA agrees with
        ``leaderboard.comparisons.cka`` within 1e-6, Procrustes within 1e-5. Debiased CKA is less accurate with outlying
        rows: by up to 5e-4 for one that is 1e5 times as far away as the others; and it is a ratio of rounding errors
        for a layer whose samples are equidistant, or equal but for one, where that module returns 0.

    Raises:
        InvalidInput: no layers, different samples, arrays that cannot be compared, or too little memory.

    Example:
        >>> x = {"input": np.eye(4), "mean": np.eye(4)[:, :2]}
        >>> compare_layers(x, x).round(3).loc["input"].tolist()
        [1.0, 0.775]
    """
    if not isinstance(x, Mapping) or not isinstance(y, Mapping):
        raise InvalidInput("activations: expected layers by name, such as {'mean': array}, received something else.")
    if not x or not y:
        raise InvalidInput(f"activations: expected at least one layer on each side, received {len(x)} and {len(y)}.")
    check_choice("similarity", similarity, get_args(Similarity))
    distinct: list[Codes] = []
    rows = [_add_distinct(array, name, distinct) for name, array in x.items()]
    columns = [_add_distinct(array, name, distinct) for name, array in y.items()]
    n, least_samples = len(distinct[0]), 4 if similarity == "cka_debiased" else 2
    if n < least_samples:
        raise InvalidInput(f"activations: expected at least {least_samples} samples, received {n}.")
    values = np.full((len(rows), len(columns)), np.inf)
    if similarity != "procrustes":
        products = inner_products(distinct, debiased=similarity == "cka_debiased", memory=memory)
        values = normalised(products)[np.ix_(rows, columns)]
    if similarity in ("procrustes", "smaller"):
        values = _cap_by_procrustes(values, distinct, rows, columns)
    return pd.DataFrame(values, index=list(x), columns=list(y))


def _cap_by_procrustes(
    values: NDArray[np.float64], distinct: list[Codes], rows: list[int], columns: list[int]
) -> NDArray[np.float64]:
    """Return the smaller of given values, which may be infinite, and the Procrustes similarity of the same layers.

    A pair of layers that occurs twice, in either order, is compared once; not at all if a cheap lower bound of its
    similarity is at least the value, as for five in six pairs of wide layers of convolutional models on rendered data.
    """
    narrow_layers = [procrustes.narrow(centred(array)) for array in distinct]
    main_parts = (
        [procrustes.project_on_leading(layer) for layer in narrow_layers] if np.isfinite(values).all() else None
    )
    cached: dict[tuple[int, int], float] = {}
    capped = values.copy()
    for row, i in enumerate(rows):
        for column, j in enumerate(columns):
            key = (min(i, j), max(i, j))
            if key not in cached:
                can_skip = main_parts and procrustes.similarity(main_parts[i], main_parts[j]) >= values[row, column]
                cached[key] = np.inf if can_skip else procrustes.similarity(narrow_layers[i], narrow_layers[j])
            capped[row, column] = min(values[row, column], cached[key])
    return capped


def normalised(products: NDArray[np.float64]) -> NDArray[np.float64]:
    """Convert inner products of Gram matrices to similarities.

    Args:
        products: float64 (m, m).

    Returns:
        float64 (m, m), at most 1; 0 for a layer whose product with itself is 0.
    """
    norms = np.sqrt(np.diag(products))
    with np.errstate(divide="ignore"):
        inverse = np.where(norms > 0, 1 / norms, 0.0)
    return np.asarray(np.minimum(products * np.outer(inverse, inverse), 1.0))


class SeedHeatmaps(NamedTuple):
    """Heatmaps of several seeds.

    Attributes:
        mean: the mean similarities, a row per layer of one model, a column per layer of the other.
        half_width: half the width of their 95% intervals over seeds (Student's t); NaN below `SEEDS` seeds.
    """

    mean: pd.DataFrame
    half_width: pd.DataFrame


def compare_runs(pairs: Iterable[tuple[Layers, Layers]], *, similarity: Similarity = "cka") -> SeedHeatmaps:
    """Average the heatmaps of several seeds (equation 6 of Bonheme and Grześ, 2023), with intervals.

    Args:
        pairs: for each seed the layers of both models. With a generator, one pair is in memory at a time.
        similarity: as in ``compare_layers``.

    Returns:
        Means and intervals.

    Raises:
        InvalidInput: no pairs, or seeds with different layers, or as ``compare_layers``.

    Example:
        >>> x = {"input": np.eye(4), "mean": np.eye(4)[:, :2]}
        >>> mean, half = compare_runs([(x, x), (x, x)])
        >>> mean.round(3).loc["input"].tolist(), half.loc["input"].tolist()
        ([1.0, 0.775], [nan, nan])
    """
    import scipy.stats

    frames: list[pd.DataFrame] = []
    for x, y in pairs:
        if frames and (list(x), list(y)) != (list(frames[0].index), list(frames[0].columns)):
            raise InvalidInput(
                f"pair {len(frames)}: expected the layers of pair 0: {', '.join(frames[0].index)} and "
                f"{', '.join(frames[0].columns)}, received {', '.join(x)} and {', '.join(y)}."
            )
        frames.append(compare_layers(x, y, similarity=similarity))
    if not frames:
        raise InvalidInput("pairs: expected at least one, received none.")
    n = len(frames)
    mean = pd.DataFrame(np.mean(frames, axis=0), index=frames[0].index, columns=frames[0].columns)
    if n < SEEDS:
        return SeedHeatmaps(mean, mean * np.nan)
    deviation = np.std(frames, axis=0, ddof=1)
    half = scipy.stats.t.ppf(0.975, n - 1) * deviation / math.sqrt(n)
    return SeedHeatmaps(mean, pd.DataFrame(half, index=mean.index, columns=mean.columns))


def _add_distinct(array: ArrayLike, name: str, distinct: list[Codes]) -> int:
    """Return the index of a layer in the list of distinct layers, appending it if it is new."""
    checked = check_codes(array, name)
    if distinct and len(checked) != len(distinct[0]):
        raise InvalidInput(
            f"{name}: expected {len(distinct[0])} rows, as in the first layer, received {len(checked)}. Compare layers "
            "on the same samples, in the same order."
        )
    for i, other in enumerate(distinct):
        if checked.shape == other.shape and np.array_equal(checked[0], other[0]) and np.array_equal(checked, other):
            return i
    distinct.append(checked)
    return len(distinct) - 1


def draw(
    tables: pd.DataFrame | Mapping[str, pd.DataFrame],
    path: str | os.PathLike[str],
    *,
    half_width: pd.DataFrame | None = None,
    x_name: str = "",
    y_name: str = "",
) -> None:
    """Draw tables of similarities as the papers do: input in the top left corner, bright for similar, scale 0 to 1.

    Args:
        tables: similarities, as from ``compare_layers``; rows run downwards, columns to the right. Several tables, by
            title, such as ``"epoch 25"``, are drawn next to each other, three in a row.
        path: the PNG file to write.
        half_width: half the width of each similarity's interval, as from ``compare_runs``, shown in the cells unless
            NaN.
        x_name: the label of the rows, such as a model and its epoch.
        y_name: the label of the columns.

    Raises:
        InvalidInput: no table, a ``half_width`` with several or of another shape, or the file cannot be written.
        MissingExtra: matplotlib is not installed.
    """
    titled = dict(tables) if isinstance(tables, Mapping) else {"": tables}
    if not titled:
        raise InvalidInput("tables: expected at least one, received none.")
    if half_width is not None and [half_width.shape] != [table.shape for table in titled.values()]:
        raise InvalidInput(
            f"half_width: expected that of one table, received {len(titled)} tables and shape {half_width.shape}."
        )
    rows, columns = (max(table.shape[axis] for table in titled.values()) for axis in (0, 1))
    panels_across = min(len(titled), ACROSS)
    panels_down = math.ceil(len(titled) / panels_across)
    figure, axes = figures.panels(panels_down, panels_across, width=1.8 + 0.3 * columns, height=1.6 + 0.3 * rows)
    for panel in axes.flat[len(titled) :]:
        panel.set_visible(False)
    for panel, (name, table) in zip(axes.flat, titled.items(), strict=False):
        image = _draw_panel(panel, table)
        if half_width is not None:
            _write_intervals(panel, table.to_numpy(), half_width.to_numpy())
        panel.set_title(name)
        panel.set_xlabel(y_name)
    for panel in axes[:, 0]:
        panel.set_ylabel(x_name)
    figure.colorbar(image, ax=axes, shrink=0.8 / panels_down, label="similarity")
    figures.save(figure, path)


ACROSS = 3
"""Tables per row of a picture."""


def _draw_panel(axes: Any, frame: pd.DataFrame) -> Any:
    image = axes.imshow(frame.to_numpy(), vmin=0.0, vmax=1.0, cmap="magma", interpolation="nearest")
    axes.set_xticks(range(frame.shape[1]), list(frame.columns), rotation=90)
    axes.set_yticks(range(frame.shape[0]), list(frame.index))
    axes.tick_params(length=0)
    return image


def _write_intervals(axes: Any, values: NDArray[np.float64], half: NDArray[np.float64]) -> None:
    """Write similarities and half widths in hundredths, dark on bright cells."""
    for (row, column), value in np.ndenumerate(values):
        if np.isfinite(half[row, column]):
            text = f"{100 * value:.0f}\n±{100 * half[row, column]:.0f}"
            colour = "black" if value > 0.6 else "white"
            axes.text(column, row, text, ha="center", va="center", fontsize=5, color=colour)
