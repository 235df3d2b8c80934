"""How similar is each encoder layer to the input, and does it depend on the seed?

Figure 6 of Bonheme and Grześ, "How do variational autoencoders learn?" (2022): the similarity of the input with each
layer, as a line with a band over seeds, one panel for each regularisation strength. The paper finds hardly any variance
over seeds, and the same similarities at very different strengths.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

import pandas as pd
from numpy.typing import ArrayLike

from benchmark_data.errors import InvalidInput
from leaderboard import figures
from leaderboard.analyses._pixels import flat
from leaderboard.arrays import Real
from leaderboard.comparisons import heatmap

SIMILARITIES: Mapping[str, heatmap.Similarity] = {
    "CKA": "cka",
    "Procrustes": "procrustes",
    "debiased CKA": "cka_debiased",
}
"""Name of a similarity in the table -> its name in `leaderboard.comparisons.heatmap`."""


def measure(
    layers: Mapping[str, Real[ArrayLike, "n ..."]],
    inputs: Real[ArrayLike, "n ..."],
    *,
    similarities: tuple[str, ...] = ("CKA",),
) -> pd.DataFrame:
    """Compare each layer of one model with its input.

    All layers are compared in one call, so that the input, often the widest layer, is processed once.

    Args:
        layers: layer name to activations, shape (n, ...), in order. Everything after the first axis is flattened.
        inputs: the images of the same samples, shape (n, ...).
        similarities: of ``"CKA"``, ``"Procrustes"`` and ``"debiased CKA"``.

    Returns:
        A row per layer and similarity: ``layer``, ``metric``, ``similarity``. Add ``seed``, ``step`` and ``group``
        before concatenating several runs.

    Raises:
        InvalidInput: no layers, arrays that cannot be compared, or an unknown similarity.

    Example:
        >>> import numpy as np
        >>> pixels = np.eye(4)
        >>> measure({"encoder_1": pixels[:, :2], "mean": pixels[:, :1]}, pixels).round(3).values.tolist()
        [['encoder_1', 'CKA', 0.775], ['mean', 'CKA', 0.577]]
    """
    if not layers:
        raise InvalidInput("layers: expected at least one, received none.")
    if not similarities or not set(similarities) <= set(SIMILARITIES):
        raise InvalidInput(f"similarities: expected some of {', '.join(SIMILARITIES)}, received {[*similarities]}.")
    pixels = {"inputs": flat(inputs, "inputs")}
    flattened = {name: flat(activations, name) for name, activations in layers.items()}
    tables = {
        name: heatmap.compare_layers(pixels, flattened, similarity=SIMILARITIES[name]).to_numpy()
        for name in similarities
    }
    rows = [(layer, name, float(tables[name][0, i])) for i, layer in enumerate(layers) for name in similarities]
    return pd.DataFrame(rows, columns=["layer", "metric", "similarity"])


def draw(table: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Draw the similarities, with a band over seeds.

    Args:
        table: rows as from ``measure``, of one or more runs. With several values of ``step``, these are on the
            horizontal axis and each layer is a line; otherwise layers are. Each ``group``, if any, is a panel.
        path: the PNG file to write.

    Raises:
        InvalidInput: a column is missing, or the file cannot be written.
        MissingExtra: matplotlib is not installed.
    """
    figures.check_columns(table, ["layer", "metric", "similarity"])
    groups = list(table.groupby("group", sort=False)) if "group" in table else [("", table)]
    metrics = list(table["metric"].unique())
    over_time = "step" in table and table["step"].nunique() > 1
    names = list(table["layer"].unique())
    figure, axes = figures.panels(len(metrics), len(groups), sharey=True, height=2.8)
    for row, metric in zip(axes, metrics, strict=True):
        for panel, (group, part) in zip(row, groups, strict=True):
            part = part[part["metric"] == metric]
            if over_time:
                for style, layer in enumerate(names):
                    figures.curve(panel, part[part["layer"] == layer], "step", "similarity", style=style, label=layer)
                panel.set_xlabel("training step")
            else:
                part = part.assign(position=[names.index(layer) for layer in part["layer"]])
                figures.curve(panel, part, "position", "similarity", style=metrics.index(metric))
                panel.set_xticks(range(len(names)), names, rotation=60, ha="right", fontsize=8)
            panel.set_title(str(group), fontsize=9)
            panel.set_ylim(min(-0.02, table["similarity"].min()), 1.02)
        row[0].set_ylabel(f"{metric} with the input")
    if over_time:
        axes[0, -1].legend(frameon=False, fontsize=7)
    figures.save(figure, path)
