"""Layers over training that are no heatmap: figures 1, 5, 6 and 20 of Bonheme and Grześ (2022), and collapse."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from baselines.reproduction.entries import ILLUSTRATION, Found, Runs, Verdict, fact, judged
from baselines.reproduction.papers import _heatmaps, _scores
from leaderboard.analyses import layers_against_input, sample_size
from leaderboard.comparisons import cka
from leaderboard.store import verdicts

SAME = 0.1
"""Similarities that differ by less are called the same."""


LEAST, MOST = "least", "most"


def samples(settings: Mapping[str, Any], runs: Runs, tier: str) -> Found:
    """Compare matrices that share features, on growing numbers of samples."""
    return Found(sample_size.measure_shared(**settings))


def judge_samples(table: pd.DataFrame) -> Verdict:
    """Judge that both find shares of 80% and 50% with enough samples, and Procrustes exceeds CKA where none is."""
    means = table.groupby(["share", "metric", "samples"])["similarity"].mean()
    few, many = table["samples"].min(), table["samples"].max()
    last = {
        (share, name): float(means[share, name, many])
        for share in table["share"].unique()
        for name in ("CKA", "Procrustes")
    }
    near = all(abs(last[share, name] - share) < SAME for share in (0.8, 0.5) for name in ("CKA", "Procrustes"))
    over = means[0.0, "Procrustes", few] > means[0.0, "CKA", few] and last[0.0, "Procrustes"] > last[0.0, "CKA"]
    numbers = {f"{name} of {share:.0%} at {many} samples": value for (share, name), value in last.items()}
    return fact(bool(near and over), numbers)


def sampled(settings: Mapping[str, Any], runs: Runs, tier: str) -> Found:
    """Compare the sampled representation with mean and input, for each strength, seed and snapshot."""
    rows = []
    for strength, seed, step, layers in _snapshots(settings, runs):
        for other in ("mean", "input"):
            rows.append((strength, seed, step, other, cka.compare(layers[other], layers["sampled"])))
    return Found(pd.DataFrame(rows, columns=["strength", "seed", "step", "with", "similarity"]))


def _snapshots(settings: Mapping[str, Any], runs: Runs) -> Iterator[tuple[float, int, int, dict[str, Any]]]:
    """Go through strengths, their seeds and snapshots, and read the layers' activations."""
    for strength, configs in settings["strengths"]:
        for config in configs:
            for step in runs.open(config).steps:
                yield strength, config.seed, step, _heatmaps.activations(runs, config, step, settings["samples"])


def judge_sampled(table: pd.DataFrame, other: str) -> Verdict:
    """Judge that sampled and another are less similar after training at the greatest strength than at the least."""
    end = table[(table["step"] == table["step"].max()) & (table["with"] == other)]
    groups = {strength: part.sort_values("seed")["similarity"] for strength, part in end.groupby("strength")}
    low, *_, high = groups
    numbers = {f"CKA at β = {strength:g}": float(groups[strength].mean()) for strength in (low, high)}
    return judged("CKA", [verdicts.compare([groups[low]], [groups[high]])], numbers)


def against_input(settings: Mapping[str, Any], runs: Runs, tier: str) -> Found:
    """Compare encoder layers with the input, for each strength, seed and snapshot."""
    tables = []
    for strength, seed, step, layers in _snapshots(settings, runs):
        chosen = {
            name: values
            for name, values in layers.items()
            if name.startswith("encoder_") and not _is(values, layers["input"])
        }
        table = layers_against_input.measure(chosen, layers["input"], similarities=settings["similarities"])
        tables.append(table.assign(group=f"β = {strength:g}", seed=seed, step=step))
    return Found(pd.concat(tables, ignore_index=True))


def _is(layer: NDArray[np.floating], images: NDArray[np.floating]) -> bool:
    """Return whether a layer only flattens the images, so that its similarity with them is 1 whatever was learned."""
    return layer.size == images.size and np.array_equal(layer.reshape(images.shape), images)


def judge_against_input(table: pd.DataFrame, metric: str) -> Verdict:
    """Judge that no encoder layer differs by `SAME` or more between the least and the greatest strength.

    Each layer has two tests: that the difference of means is above -`SAME`, and that it is below `SAME`. A layer that
    is the input, with a similarity of 1 throughout, does not count.
    """
    end = table[(table["step"] == table["step"].max()) & (table["metric"] == metric)]
    learned = end.groupby("layer")["similarity"].transform("min") < 1 - 1e-6
    numbers: dict[str, float] = {}
    parts = []
    for layer, part in end[learned].groupby("layer", sort=False):
        first, *_, last = (values["similarity"].to_numpy() for _, values in part.groupby("group", sort=False))
        parts += [verdicts.compare([first + SAME], [last]), verdicts.compare([last + SAME], [first])]
        numbers[f"{layer}, difference between strengths"] = float(first.mean() - last.mean())
    spread = end[learned].groupby(["group", "layer"])["similarity"].std(ddof=1).mean()
    return judged("similarity from the bound", parts, {"mean deviation over seeds": float(spread)} | numbers)


def judge_collapse(table: pd.DataFrame) -> Verdict:
    """Judge that the strongly regularised model's samples are less like the other's encoder than vice versa.

    Both are of the same pair of runs. Layers that are the input itself count for neither.
    """
    numbers: dict[str, float] = {}
    parts = []
    table = _heatmaps.without_inputs(table)
    encoder = {axis: table[axis].str.startswith("encoder_") for axis in ("layer_x", "layer_y")}
    for panel in table["panel"].unique():
        here = table["panel"] == panel
        column, row = (
            table[here & (table[axis] == "sampled") & encoder[other]].groupby("seed")["similarity"].mean()
            for axis, other in (("layer_y", "layer_x"), ("layer_x", "layer_y"))
        )
        parts.append(verdicts.compare([row], [column], paired=True))
        numbers |= {f"{panel}, strong": float(column.mean()), f"{panel}, weak": float(row.mean())}
    return judged("CKA", parts, numbers)


def losses(settings: Mapping[str, Any], runs: Runs, tier: str) -> Found:
    """Read the losses of runs over training."""
    rows = []
    for strength, configs in settings["models"]:
        for config in configs:
            history = runs.open(config).history
            place = (config.dataset.partition("/")[0], config.objective, strength, config.seed)
            rows += [(*place, int(line["step"]), line["loss"]) for line in history[:: settings["every"]]]
    return Found(pd.DataFrame(rows, columns=["dataset", "objective", "regularised", "seed", "step", "loss"]))


def draw_losses(found: Found, path: Path) -> None:
    """Draw a panel per dataset, a line per objective and end of its strengths."""
    models = found.table["objective"] + ", " + found.table["regularised"]
    table = found.table.assign(model=models)
    _scores.draw_lines(table, path, panel="dataset", x="step", y="loss", group="model", yscale="log")


def judge_losses(table: pd.DataFrame) -> Verdict:
    """Show where losses end and when half of the way there is made: an illustration.

    Less regularised models end lower by construction, since the regularisation is part of the loss. A loss ends at its
    mean over the last tenth of its lines.
    """
    numbers: dict[str, float] = {}
    for dataset, lines in table.groupby("dataset", sort=False):
        begun = []
        for (objective, strength), part in lines.groupby(["objective", "regularised"], sort=False):
            means = part.groupby("step")["loss"].mean()
            end = float(means.tail(max(1, len(means) // 10)).mean())
            half = means.index[means <= (means.iloc[0] + end) / 2][0] / means.index[-1]
            begun.append(float(half))
            numbers[f"loss of {objective} on {dataset}, regularised {strength}"] = end
        numbers |= {f"{dataset}, first half way": min(begun), f"{dataset}, last half way": max(begun)}
    return Verdict(ILLUSTRATION, numbers)
