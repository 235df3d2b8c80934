"""Points in the plane whose local structure has other axes than their global one, and VAEs trained on them.

Zietlow et al. (2021), figure 1 (b). The paper shows its points as a picture only; these are ours: clusters on a long
and narrow lattice rotated by 45 degrees, each with points on a small lattice aligned with the axes. The principal axes
are those of the large lattice; within a cluster the variance is along the axes of the plane.

A point is an image of one row, two columns and one channel, so that models of images can be trained on it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from baselines.config import RunConfig
from baselines.model import scaled
from baselines.reproduction.entries import Outcome, Plan, Runs, Verdict, combine
from baselines.run import Run
from benchmark_data import draws
from benchmark_data.dataset import Dataset
from benchmark_data.factors import Factor, FactorSpace, Indices
from benchmark_data.sources import Rendered
from benchmark_data.types import Pixels
from leaderboard import figures
from leaderboard.store import verdicts

SPACING = 20
"""Distance between neighbouring clusters, in grey levels."""

STEP = 2
"""Distance between neighbouring points of a cluster."""

SPACE = FactorSpace(
    Factor("along", range(-4, 5), "ordinal"),
    Factor("across", range(-1, 2), "ordinal"),
    Factor("x", range(-3, 4), "ordinal"),
    Factor("y", range(-1, 2), "ordinal"),
)
"""Position of the cluster on the large lattice, and of the point in it."""

NOISE = STEP
"""Standard deviation of a coordinate given the code, so that structure down to one step matters."""

BETWEEN = 22.5
"""Half of the angle between the axes of the global structure and those of the local one, in degrees."""

SHORTEST = 1e-6
"""The shortest chord with a direction, as a share of the images' range."""


def render(labels: Indices) -> Pixels:
    """Draw points: class ids int64 (n, 4) to uint8 (n, 1, 2, 1)."""
    along, across, x, y = SPACE.values(labels).T
    cluster_centre = np.stack([along - across, along + across], axis=1) * SPACING * math.sqrt(0.5)
    points = 128 + np.rint(cluster_centre) + STEP * np.stack([x, y], axis=1)
    return points.astype(np.uint8).reshape(-1, 1, 2, 1)


PLANE = Dataset(
    name="plane",
    version="1.0.0",
    space=SPACE,
    source=Rendered(render),
    image_shape=(1, 2, 1),
    description="Points of the plane in clusters: the clusters on a lattice at 45 degrees, points in them on one at 0.",
    citation="",
    license="Apache-2.0",
    homepage="",
)

LEARNING_RATES = {"linear": 1e-2, "fc": 1e-3}
"""Model -> Adam's step size. Few weights must grow far, so the linear one's is larger."""

MODELS = tuple(LEARNING_RATES)


def plan(seeds: int, *, steps: int) -> Plan:
    """Return the plan: a linear and a non-linear VAE of these points.

    Args:
        seeds: runs of each.
        steps: steps of 64 points.
    """
    runs = tuple(
        RunConfig(
            dataset=PLANE.id,
            objective="beta_vae",
            hyperparameters={"beta": 1},
            architecture=model,
            architecture_parameters={"width": 64} if model == "fc" else {},
            latents=2,
            reconstruction="mse",
            reconstruction_weight=255**2 / (2 * NOISE**2),
            learning_rate=LEARNING_RATES[model],
            steps=steps,
            seed=seed,
            train_share=1.0,
            snapshots=(),
        )
        for model in MODELS
        for seed in range(seeds)
    )
    return Plan(runs=runs, settings={"runs": runs, "points": 189}, own_datasets=(PLANE,))


def compute(settings: Mapping[str, Any], runs: Runs, tier: str) -> Outcome:
    """Encode points, and measure the axes of the latents at each of them.

    An axis is the chord between the decoded codes one posterior standard deviation to either side.

    Returns:
        A row per run and point: ``model``, ``seed``, ``x`` and ``y`` in pixels, ``z1`` and ``z2``, and ``angle``, the
        mean of both latents' angles to the nearest principal axis, in degrees, 0 to 45.
    """
    rows = draws.sample(0, len(PLANE), settings["points"])
    images = PLANE.images(rows)
    principal = _principal_angle(PLANE.images(np.arange(len(PLANE))))
    tables = []
    for config in settings["runs"]:
        run = runs.open(config)
        posterior = run.encode(images)
        mean = np.asarray(posterior.mean, np.float64)
        columns = {
            "model": config.architecture,
            "seed": config.seed,
            "x": images[:, 0, 0, 0],
            "y": images[:, 0, 1, 0],
            "z1": mean[:, 0],
            "z2": mean[:, 1],
            "angle": _angles(run, mean, np.exp(posterior.log_variance / 2), principal).mean(axis=1),
        }
        tables.append(pd.DataFrame(columns))
    return Outcome(pd.concat(tables, ignore_index=True).round(4))


def _principal_angle(images: Pixels) -> float:
    """Return the angle of the first principal component to the x axis, in degrees."""
    points = scaled(images).reshape(len(images), 2).astype(np.float64)
    axis = np.linalg.eigh(np.cov(points.T))[1][:, -1]
    return float(np.degrees(np.arctan2(axis[1], axis[0])))


def _angles(run: Run, mean: NDArray[np.floating], std: NDArray[np.floating], axis_angle: float) -> NDArray[np.float64]:
    """Return the angle of each latent's chord to the nearest of two axes at right angles: (n, 2), 0 to 45 degrees.

    A latent that the decoder ignores has no axis: its angle is `BETWEEN`, which favours neither.
    """
    angles = []
    for latent in range(mean.shape[1]):
        step = np.zeros_like(mean)
        step[:, latent] = std[:, latent]
        up, down = (run.decode(codes.astype(np.float32)).reshape(len(mean), 2) for codes in (mean + step, mean - step))
        chord = (up - down).astype(np.float64)
        difference = (np.degrees(np.arctan2(chord[:, 1], chord[:, 0])) - axis_angle) % 90
        has_axis = np.hypot(chord[:, 0], chord[:, 1]) > SHORTEST
        angles.append(np.where(has_axis, np.minimum(difference, 90 - difference), BETWEEN))
    return np.stack(angles, axis=1)


def draw(result: Outcome, path: Path) -> None:
    """Draw the points, and their codes by the first run of each model; brighter is further along."""
    models = list(result.table["model"].unique())
    figure, axes = figures.panels(1, 1 + len(models), width=2.6, height=2.6)
    for panel, model in zip(axes[0], ["", *models], strict=True):
        table = result.table[result.table["model"] == (model or models[0])]
        table = table[table["seed"] == table["seed"].min()]
        columns, title = (("z1", "z2"), f"codes, {model}") if model else (("x", "y"), "points")
        panel.scatter(table[columns[0]], table[columns[1]], c=table["x"].astype(int) + table["y"], s=4, cmap="viridis")
        panel.set_title(title, fontsize=9)
        panel.set(xlabel=columns[0], ylabel=columns[1])
    figures.save(figure, path)


def _mean_angles(table: pd.DataFrame) -> dict[str, NDArray[np.float64]]:
    """Return the mean angle of each run, by model."""
    means = table.groupby(["model", "seed"], sort=False)["angle"].mean()
    return {model: means[model].to_numpy() for model in MODELS}


def _angle_numbers(angles: Mapping[str, NDArray[np.float64]]) -> dict[str, float]:
    numbers = {f"degrees to the principal axes, {model}": float(by_run.mean()) for model, by_run in angles.items()}
    return numbers | {f"most of a run, {model}": float(by_run.max()) for model, by_run in angles.items()}


def judge_linear(table: pd.DataFrame) -> Verdict:
    """Judge that the latents of the linear VAE are nearer to the principal axes than to those of the clusters."""
    angles = _mean_angles(table)
    comparison = verdicts.compare([np.full_like(angles["linear"], BETWEEN)], [angles["linear"]], paired=True)
    return combine("degrees from the bound", [comparison], _angle_numbers(angles))


def judge_local(table: pd.DataFrame) -> Verdict:
    """Judge that the non-linear VAE's are nearer to the clusters' axes, and the linear one's to the principal ones."""
    angles = _mean_angles(table)
    bound = np.full_like(angles["fc"], BETWEEN)
    comparisons = [
        verdicts.compare([angles["fc"]], [bound], paired=True),
        verdicts.compare([bound], [angles["linear"]], paired=True),
    ]
    return combine("degrees from the bound", comparisons, _angle_numbers(angles))
