"""Layers over training, other than heatmaps: figures 1, 5, 6 and 20 of Bonheme and Grześ (2022), and collapse."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from baselines.reproduction.entries import ILLUSTRATION, Outcome, Runs, Verdict, combine, decide
from baselines.reproduction.papers import _heatmaps, _scores
from leaderboard.analyses import layers_against_input, sample_size
from leaderboard.comparisons import cka
from leaderboard.store import verdicts

SAME = 0.1
"""Similarities that differ by less count as equal."""


LEAST, MOST = "least", "most"


def samples(settings: Mapping[str, Any], runs: Runs, tier: str) -> Outcome:
    """Compare matrices that share features, on growing numbers of samples."""
    return Outcome(sample_size.measure_shared(**settings))


def judge_samples(table: pd.DataFrame) -> Verdict:
    """Judge that both find shares of 80% and 50% with enough samples, and Procrustes exceeds CKA where none is."""
    means = table.groupby(["share", "metric", "samples"])["similarity"].mean()
    few, many = table["samples"].min(), table["samples"].max()
    final = {
        (share, metric): float(means[share, metric, many])
        for share in table["share"].unique()
        for metric in ("CKA", "Procrustes")
    }
    is_near = all(abs(final[share, metric] - share) < SAME for share in (0.8, 0.5) for metric in ("CKA", "Procrustes"))
    is_above = means[0.0, "Procrustes", few] > means[0.0, "CKA", few] and final[0.0, "Procrustes"] > final[0.0, "CKA"]
    numbers = {f"{metric} of {share:.0%} at {many} samples": value for (share, metric), value in final.items()}
    return decide(bool(is_near and is_above), numbers)


def sampled(settings: Mapping[str, Any], runs: Runs, tier: str) -> Outcome:
    """Compare the sampled representation with mean and input, for each strength, seed and snapshot."""
    rows = []
    for strength, seed, step, layers in _read_snapshots(settings, runs):
        for other in ("mean", "input"):
            rows.append((strength, seed, step, other, cka.compare(layers[other], layers["sampled"])))
    return Outcome(pd.DataFrame(rows, columns=["strength", "seed", "step", "with", "similarity"]))


def _read_snapshots(settings: Mapping[str, Any], runs: Runs) -> Iterator[tuple[float, int, int, dict[str, Any]]]:
    """Yield the layers' activations for each strength, seed and snapshot."""
    for strength, configs in settings["strengths"]:
        for config in configs:
            for step in runs.open(config).steps:
                yield strength, config.seed, step, _heatmaps.activations(runs, config, step, settings["samples"])


def judge_sampled(table: pd.DataFrame, other: str) -> Verdict:
    """Judge that ``sampled`` and another layer end less similar at the highest strength than at the lowest."""
    final_rows = table[(table["step"] == table["step"].max()) & (table["with"] == other)]
    groups = {strength: rows.sort_values("seed")["similarity"] for strength, rows in final_rows.groupby("strength")}
    low, *_, high = groups
    numbers = {f"CKA at β = {strength:g}": float(groups[strength].mean()) for strength in (low, high)}
    return combine("CKA", [verdicts.compare([groups[low]], [groups[high]])], numbers)


def against_input(settings: Mapping[str, Any], runs: Runs, tier: str) -> Outcome:
    """Compare encoder layers with the input, for each strength, seed and snapshot."""
    tables = []
    for strength, seed, step, layers in _read_snapshots(settings, runs):
        encoder_layers = {
            name: values
            for name, values in layers.items()
            if name.startswith("encoder_") and not _is_input(values, layers["input"])
        }
        table = layers_against_input.measure(encoder_layers, layers["input"], similarities=settings["similarities"])
        tables.append(table.assign(group=f"β = {strength:g}", seed=seed, step=step))
    return Outcome(pd.concat(tables, ignore_index=True))


def _is_input(layer: NDArray[np.floating], images: NDArray[np.floating]) -> bool:
    """Return whether a layer only flattens the images, so that its similarity with them is always 1."""
    return layer.size == images.size and np.array_equal(layer.reshape(images.shape), images)


def judge_against_input(table: pd.DataFrame, metric: str) -> Verdict:
    """Judge that no encoder layer differs by `SAME` or more between the lowest and the highest strength.

    Each layer has one test: that the lower of its two means is less than `SAME` below the higher. A layer that is the
    input, whose similarity is always 1, is ignored.
    """
    final_rows = table[(table["step"] == table["step"].max()) & (table["metric"] == metric)]
    is_learned = final_rows.groupby("layer")["similarity"].transform("min") < 1 - 1e-6
    numbers: dict[str, float] = {}
    comparisons = []
    for layer, layer_rows in final_rows[is_learned].groupby("layer", sort=False):
        first, *_, last = (values["similarity"].to_numpy() for _, values in layer_rows.groupby("group", sort=False))
        lower, higher = sorted((first, last), key=np.mean)
        comparisons.append(verdicts.compare([lower + SAME], [higher]))
        numbers[f"{layer}, difference between strengths"] = float(first.mean() - last.mean())
    deviation = final_rows[is_learned].groupby(["group", "layer"])["similarity"].std(ddof=1).mean()
    return combine("similarity from the bound", comparisons, {"mean deviation over seeds": float(deviation)} | numbers)


def judge_collapse(table: pd.DataFrame) -> Verdict:
    """Judge that the strongly regularised model's samples are less like the other's encoder than vice versa.

    Both are of the same pair of runs. Layers that are the input itself are ignored.
    """
    numbers: dict[str, float] = {}
    comparisons = []
    table = _heatmaps.without_inputs(table)
    is_encoder = {axis: table[axis].str.startswith("encoder_") for axis in ("layer_x", "layer_y")}
    for panel in table["panel"].unique():
        is_in_panel = table["panel"] == panel
        of_strong, of_weak = (
            table[is_in_panel & (table[axis] == "sampled") & is_encoder[other]].groupby("seed")["similarity"].mean()
            for axis, other in (("layer_y", "layer_x"), ("layer_x", "layer_y"))
        )
        comparisons.append(verdicts.compare([of_weak], [of_strong], paired=True))
        numbers |= {f"{panel}, strong": float(of_strong.mean()), f"{panel}, weak": float(of_weak.mean())}
    return combine("CKA", comparisons, numbers)


def losses(settings: Mapping[str, Any], runs: Runs, tier: str) -> Outcome:
    """Read the losses of runs over training."""
    rows = []
    for strength, configs in settings["models"]:
        for config in configs:
            history = runs.open(config).history
            run_key = (config.dataset.partition("/")[0], config.objective, strength, config.seed)
            rows += [(*run_key, int(line["step"]), line["loss"]) for line in history[:: settings["every"]]]
    return Outcome(pd.DataFrame(rows, columns=["dataset", "objective", "regularised", "seed", "step", "loss"]))


def draw_losses(result: Outcome, path: Path) -> None:
    """Draw a panel per dataset, a line per objective and end of its strengths."""
    models = result.table["objective"] + ", " + result.table["regularised"]
    table = result.table.assign(model=models)
    _scores.draw_lines(table, path, panel="dataset", x="step", y="loss", group="model", yscale="log")


def judge_losses(table: pd.DataFrame) -> Verdict:
    """Show the final losses, and when half of the decrease is reached: an illustration.

    Less regularised models end lower by construction, since the regularisation is part of the loss. The final loss is
    the mean over the last tenth of the history.
    """
    numbers: dict[str, float] = {}
    for dataset, dataset_rows in table.groupby("dataset", sort=False):
        half_ways = []
        for (objective, strength), model_rows in dataset_rows.groupby(["objective", "regularised"], sort=False):
            means = model_rows.groupby("step")["loss"].mean()
            final_loss = float(means.tail(max(1, len(means) // 10)).mean())
            half_way = means.index[means <= (means.iloc[0] + final_loss) / 2][0] / means.index[-1]
            half_ways.append(float(half_way))
            numbers[f"loss of {objective} on {dataset}, regularised {strength}"] = final_loss
        numbers |= {f"{dataset}, first half way": min(half_ways), f"{dataset}, last half way": max(half_ways)}
    return Verdict(ILLUSTRATION, numbers)
