"""Distances between images, factors, codes and reconstructions: figures 2 to 5, 8 and 10 of Michlo et al. (2023)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.stats
from numpy.typing import NDArray

import benchmark_data
from baselines.nets import reconstruction
from baselines.reproduction.entries import ILLUSTRATION, Outcome, Runs, Verdict, combine, decide
from baselines.reproduction.papers import _heatmaps, _scores
from baselines.run import Run
from benchmark_data import draws
from benchmark_data.inspect import distances
from leaderboard import figures
from leaderboard.analyses import perceived
from leaderboard.store import verdicts

AGREES = 0.5
"""Rank correlation above which distances count as following others."""


SPACINGS = tuple(f"xysquares/spacing_{spacing}" for spacing in range(8, 0, -1))


def matrices(settings: Mapping[str, Any], runs: Runs, tier: str) -> Outcome:
    """Average distance matrices along factors: a row per dataset, factor and pair of values."""
    tables = []
    for name, factors in settings["factors"].items():
        dataset = benchmark_data.load(name)
        for factor in factors:
            measured = distances.matrices(dataset, factor, traversals=settings["traversals"])
            first, second = np.indices(measured.perceived.shape).reshape(2, -1)
            distance_columns = {"ground_truth": measured.ground_truth.ravel(), "perceived": measured.perceived.ravel()}
            pair_columns = {"dataset": name, "factor": factor, "first": first, "second": second}
            tables.append(pd.DataFrame(pair_columns | distance_columns))
    return Outcome(pd.concat(tables, ignore_index=True))


def agreement(table: pd.DataFrame) -> dict[str, float]:
    """Return Spearman's correlation of both distances, averaged over a dataset's factors.

    A factor whose values are all equally far apart has no order: its correlation counts as 0. Factors of two values
    have no correlation and are left out.
    """
    correlations: dict[str, list[float]] = {}
    for (dataset, _), part in table[table["first"] < table["second"]].groupby(["dataset", "factor"], sort=False):
        if len(part) > 1:
            is_flat = np.ptp(part["perceived"]) <= 1e-12
            rho = 0.0 if is_flat else float(scipy.stats.spearmanr(part["ground_truth"], part["perceived"]).statistic)
            correlations.setdefault(str(dataset), []).append(rho)
    return {dataset: float(np.mean(rhos)) for dataset, rhos in correlations.items()}


def draw_matrices(result: Outcome, path: Path) -> None:
    """Draw the matrices: those of the factors above, those of the pixels below, bright for far."""
    groups = list(result.table.groupby(["dataset", "factor"], sort=False))
    figure, axes = figures.panels(2, len(groups), width=1.4, height=1.4)
    for i, ((dataset, factor), part) in enumerate(groups):
        for panel, values in zip(axes[:, i], ("ground_truth", "perceived"), strict=True):
            matrix = part.pivot(index="first", columns="second", values=values)
            panel.imshow(matrix, cmap="viridis", vmin=0, interpolation="nearest")
            panel.set(xticks=[], yticks=[])
        axes[0, i].set_title(f"{dataset}\n{factor}", fontsize=6)
    axes[0, 0].set_ylabel("factors", fontsize=8)
    axes[1, 0].set_ylabel("pixels", fontsize=8)
    figures.save(figure, path)


def judge_natural(table: pd.DataFrame) -> Verdict:
    """Judge that both distances agree on every dataset but Cars3D, where the paper finds another order (section 5)."""
    rhos = agreement(table)
    judged = [rho for name, rho in rhos.items() if not name.startswith("cars3d")]
    return decide(min(judged) > AGREES, {f"rank correlation on {k}": v for k, v in rhos.items()})


def judge_spacing(table: pd.DataFrame) -> Verdict:
    """Judge that the agreement rises as the spacing falls, from 0 where squares never overlap."""
    correlations = agreement(table)
    rhos = list(correlations.values())
    rises = all(low <= high + 1e-9 for low, high in itertools.pairwise(rhos))
    return decide(rises and rhos[-1] > rhos[0], {f"rank correlation, {k}": v for k, v in correlations.items()})


def rows_of_traversals(settings: Mapping[str, Any], runs: Runs, tier: str) -> Outcome:
    """Traverse each factor from one image, and measure the distances between all images of a traversal."""
    images, rows = {}, []
    for name in settings["datasets"]:
        dataset = benchmark_data.load(name)
        middle_row = dataset.space.index(np.array([[size // 2 for size in dataset.space.sizes]]))[0]
        for factor in dataset.space.factors:
            if factor.size < 2:
                continue
            traversal = dataset.images(dataset.space.traverse(int(middle_row), factor.name))
            images[f"{name} {factor.name}"] = traversal[
                np.linspace(0, len(traversal) - 1, settings["columns"]).round().astype(int)
            ]
            errors = distances.mean_squared_errors(traversal)
            for first, second in itertools.combinations(range(len(traversal)), 2):
                rows.append((name, factor.name, first, second, float(second - first), float(errors[first, second])))
    columns = ["dataset", "factor", "first", "second", "ground_truth", "perceived"]
    return Outcome(pd.DataFrame(rows, columns=columns), images)


def judge_constant(table: pd.DataFrame) -> Verdict:
    """Show that all images of a traversal are equally far apart, which is by construction."""
    pixel_distances = table.groupby("factor")["perceived"]
    smallest, largest = float(pixel_distances.min().min()), float(pixel_distances.max().max())
    return Verdict(ILLUSTRATION, {"smallest squared error": smallest, "largest squared error": largest})


def judge_varying(table: pd.DataFrame) -> Verdict:
    """Show the ratio of the squared error between neighbours to that between the ends, for all traversals."""
    numbers: dict[str, float] = {}
    for dataset, rows in table.groupby("dataset", sort=False):
        neighbour_distance = rows[rows["ground_truth"] == 1]["perceived"].mean()
        ends = rows[rows["ground_truth"] == rows.groupby("factor")["ground_truth"].transform("max")]["perceived"].mean()
        numbers[f"{dataset}, neighbours over ends"] = float(neighbour_distance / ends)
    return Verdict(ILLUSTRATION, numbers)


def levels(settings: Mapping[str, Any], runs: Runs, tier: str) -> Outcome:
    """Measure distances along factors at every level of models: a row per run, factor, level and pair of values."""
    tables = []
    for config in settings["runs"]:
        run = runs.open(config)
        for name, factors in settings["factors"].items():
            table = perceived.measure(**level_arrays(run, factors, settings["traversals"]))
            tables.append(table.assign(factor=name, reconstruction=config.reconstruction, seed=config.seed))
    return Outcome(pd.concat(tables, ignore_index=True))


def level_arrays(run: Run, factors: Sequence[str], count: int) -> dict[str, NDArray[Any]]:
    """Compute a model's codes and reconstructions along traversals.

    Args:
        run: the model; its dataset must be a full grid.
        factors: the traversed factors, which must have equally many values.
        count: the number of traversals of each, through random images.

    Returns:
        Arguments of `leaderboard.analyses.perceived.measure`, with images from `loss_features`.
    """
    space: Any = run.dataset.space
    starts = draws.sample(0, len(run.dataset), count)
    rows = np.stack([space.traverse(int(start), factor) for factor in factors for start in starts])
    images = run.dataset.images(rows.ravel())
    posterior = run.encode(images)
    arrays = {
        "inputs": loss_features(images / np.float32(255), run.config.reconstruction),
        "mean": posterior.mean,
        "variance": np.exp(posterior.log_variance.astype(np.float64)),
        "reconstructions": loss_features(run.decode(posterior.mean), run.config.reconstruction),
    }
    return {name: values.reshape(*rows.shape, -1) for name, values in arrays.items()}


def loss_features(images: NDArray[np.floating], loss: str) -> NDArray[np.floating]:
    """Return the features whose mean squared error is a loss: pixels, and for ``box_blur`` also weighted blurred ones.

    Args:
        images: shape (n, H, W, C).
        loss: a reconstruction loss's name.

    Returns:
        Shape (n, p). For ``box_blur`` their mean squared error is that loss, divided by H W C.
    """
    pixels = images.reshape(len(images), -1)
    if loss != "box_blur":
        return pixels
    blurred = np.asarray(reconstruction.blur(images)).reshape(len(images), -1)
    return np.concatenate([pixels, math.sqrt(reconstruction.ALPHA) * blurred], axis=1) * np.float32(math.sqrt(2))


def draw_levels(result: Outcome, path: Path) -> None:
    """Draw the matrices, mean over seeds: a row per factor, or per loss if there are several."""
    by = "factor" if result.table["reconstruction"].nunique() == 1 else "reconstruction"
    means = result.table.groupby([by, "level", "first", "second"], sort=False)["distance"].mean().reset_index()
    perceived.draw(means.assign(factor=means[by].map(_scores.label)), path)


def level_correlations(table: pd.DataFrame, against: str) -> pd.DataFrame:
    """Return Spearman's correlation of the distances at each level with those at another, for each seed.

    Args:
        table: as from `levels`.
        against: the other level.

    Returns:
        Correlations, 0 where all distances are equal and there is no order to follow: a row per loss, factor and level,
        a column per seed.
    """
    tables = [
        perceived.agreement(part, against=against).assign(reconstruction=str(loss), seed=int(str(seed)))
        for (loss, seed), part in table.groupby(["reconstruction", "seed"], sort=False)
    ]
    correlations = pd.concat(tables).fillna({"spearman": 0.0})
    return correlations.groupby(["reconstruction", "factor", "level", "seed"], sort=False)["spearman"].mean().unstack()


def judge_levels(table: pd.DataFrame) -> Verdict:
    """Judge that the distances at every level of the model follow those of its input, along every factor."""
    rhos = level_correlations(table, "input")
    learned = rhos[rhos.index.get_level_values("level") != "ground truth"]
    phrases = [f"rank correlation with the input, {factor}, {level}" for _, factor, level in learned.index]
    numbers = dict(zip(phrases, learned.mean(axis=1).tolist(), strict=True))
    return combine(
        "rank correlation from the bound",
        [_heatmaps.compare_with_bound(values, AGREES) for values in learned.to_numpy()],
        numbers,
    )


def judge_levels_blurred(table: pd.DataFrame) -> Verdict:
    """Judge that at every level the distances follow those of the factors better with the blur than without.

    At the input this is a property of the data and the loss, without seeds: it is reported but not tested.
    """
    rhos = level_correlations(table, "ground truth").groupby(["level", "reconstruction"], sort=False).mean()
    phrases = [f"rank correlation with the factors, {loss}, {level}" for level, loss in rhos.index]
    numbers = dict(zip(phrases, rhos.mean(axis=1).tolist(), strict=True))
    learned = [level for level in dict.fromkeys(rhos.index.get_level_values("level")) if level != "input"]
    comparisons = [verdicts.compare([rhos.loc[level, "box_blur"]], [rhos.loc[level, "mse"]]) for level in learned]
    return combine("rank correlation", comparisons, numbers)
