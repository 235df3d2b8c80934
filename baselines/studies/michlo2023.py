"""Michlo, Klein and James, "Overlooked Implications of the Reconstruction Loss for VAE Disentanglement" (2023).

Figures 3, 5 and 8 need no training. At smoke tier the β-VAE and Ada-GVAE are the board's, with β = 2 and binary cross
entropy: 16 runs at spacings 1, 2, 4 and 8, of which figure 7 takes one; figure 11 has 8 runs with squared error.
At study tier the runs are those of the sweeps michlo2023_overlap and michlo2023_box_blur.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.stats

import benchmark_data
from baselines import sweep
from baselines.studies import _scores, _smoke
from baselines.study import Entry, Found, Plan, Runs, Verdict
from benchmark_data import distances
from leaderboard import figures
from leaderboard.analyses import traversals

PAPER = "2202.13341"

LOW = 0.1
"""MIG below which no latent is said to stand for a factor."""

SPACINGS = tuple(f"xysquares/spacing_{spacing}" for spacing in range(8, 0, -1))


def matrices(settings: Mapping[str, Any], runs: Runs, tier: str) -> Found:
    """Average distance matrices along factors: a row per dataset, factor and pair of values."""
    tables = []
    for name, factors in settings["factors"].items():
        dataset = benchmark_data.load(name)
        for factor in factors:
            found = distances.matrices(dataset, factor, traversals=settings["traversals"])
            first, second = np.indices(found.perceived.shape).reshape(2, -1)
            values = {"ground_truth": found.ground_truth.ravel(), "perceived": found.perceived.ravel()}
            places = {"dataset": name, "factor": factor, "first": first, "second": second}
            tables.append(pd.DataFrame(places | values))
    return Found(pd.concat(tables, ignore_index=True))


def agreement(table: pd.DataFrame) -> dict[str, float]:
    """Give Spearman's correlation of both distances, averaged over a dataset's factors.

    Where all values of a factor are equally far apart there is no order: its correlation counts as 0. Factors of two
    values have none, and are left out.
    """
    found: dict[str, list[float]] = {}
    for (dataset, _), part in table[table["first"] < table["second"]].groupby(["dataset", "factor"], sort=False):
        if len(part) > 1:
            still = np.ptp(part["perceived"]) <= 1e-12
            rho = 0.0 if still else float(scipy.stats.spearmanr(part["ground_truth"], part["perceived"]).statistic)
            found.setdefault(str(dataset), []).append(rho)
    return {dataset: float(np.mean(rhos)) for dataset, rhos in found.items()}


def draw_matrices(found: Found, path: Path) -> None:
    """Draw the matrices: those of the factors above, those of the pixels below, bright for far."""
    columns = list(found.table.groupby(["dataset", "factor"], sort=False))
    figure, axes = figures.panels(2, len(columns), width=1.4, height=1.4)
    for i, ((dataset, factor), part) in enumerate(columns):
        for panel, values in zip(axes[:, i], ("ground_truth", "perceived"), strict=True):
            matrix = part.pivot(index="first", columns="second", values=values)
            panel.imshow(matrix, cmap="viridis", vmin=0, interpolation="nearest")
            panel.set(xticks=[], yticks=[])
        axes[0, i].set_title(f"{dataset}\n{factor}", fontsize=6)
    axes[0, 0].set_ylabel("factors", fontsize=8)
    axes[1, 0].set_ylabel("pixels", fontsize=8)
    figures.save(figure, path)


def judge_natural(table: pd.DataFrame) -> Verdict:
    """Judge that both distances agree on every dataset."""
    found = agreement(table)
    return Verdict(all(rho > 0.5 for rho in found.values()), {f"rank correlation on {k}": v for k, v in found.items()})


def judge_spacing(table: pd.DataFrame) -> Verdict:
    """Judge that the agreement rises as the spacing falls, from 0 where squares never overlap."""
    found = agreement(table)
    rhos = list(found.values())
    rises = all(low <= high + 1e-9 for low, high in itertools.pairwise(rhos))
    return Verdict(rises and rhos[-1] > rhos[0], {f"rank correlation, {k}": v for k, v in found.items()})


def rows_of_traversals(settings: Mapping[str, Any], runs: Runs, tier: str) -> Found:
    """Take the images along each factor from one image, and measure how far each is from every other."""
    images, rows = {}, []
    for name in settings["datasets"]:
        dataset = benchmark_data.load(name)
        middle = dataset.space.index(np.array([[size // 2 for size in dataset.space.sizes]]))[0]  # type: ignore[union-attr]
        for factor in dataset.space.factors:
            if factor.size < 2:
                continue
            seen = dataset.images(dataset.space.traverse(int(middle), factor.name))  # type: ignore[union-attr]
            images[f"{name} {factor.name}"] = seen[
                np.linspace(0, len(seen) - 1, settings["columns"]).round().astype(int)
            ]
            for first, second in itertools.combinations(range(len(seen)), 2):
                apart = distances.mean_squared_error(seen[first : first + 1], seen[second : second + 1])[0]
                rows.append((name, factor.name, first, second, float(second - first), float(apart)))
    columns = ["dataset", "factor", "first", "second", "ground_truth", "perceived"]
    return Found(pd.DataFrame(rows, columns=columns), images)


def draw_traversals(found: Found, path: Path) -> None:
    """Draw a traversal per row."""
    images = list(found.images.values())
    if images[0].shape[-1] == 1 or len({image.shape for image in images}) > 1:
        images = [np.broadcast_to(image, (*image.shape[:-1], 3)) for image in images]
    traversals.draw(np.stack(images), path, names=list(found.images))


def judge_constant(table: pd.DataFrame) -> Verdict:
    """Judge that all images of a traversal are equally far apart."""
    pixels = table.groupby("factor")["perceived"]
    smallest, largest = float(pixels.min().min()), float(pixels.max().max())
    numbers = {"smallest squared error": smallest, "largest squared error": largest}
    return Verdict(largest > 0 and largest - smallest <= 1e-12, numbers)


def judge_varying(table: pd.DataFrame) -> Verdict:
    """Judge that the squared error between neighbours is below that between the ends, over all traversals of a set."""
    numbers: dict[str, float] = {}
    holds = True
    for dataset, part in table.groupby("dataset", sort=False):
        near = part[part["ground_truth"] == 1]["perceived"].mean()
        ends = part[part["ground_truth"] == part.groupby("factor")["ground_truth"].transform("max")]["perceived"].mean()
        numbers[f"{dataset}, neighbours over ends"] = float(near / ends)
        holds = holds and bool(near < ends)
    return Verdict(holds, numbers)


def scored(settings: Mapping[str, Any], runs: Runs, tier: str) -> Found:
    """Score all runs; ``spacing`` is that of the dataset."""
    table = _scores.table(runs, settings["runs"], tier)
    return Found(table.assign(spacing=[int(name.rpartition("_")[2]) for name in table["dataset"]]))


def draw_spacing(found: Found, path: Path) -> None:
    """Draw both scores over the spacing, a line per objective."""
    _scores.draw_curves(found.table, path, x="spacing", group="objective")


def judge_scores_by_spacing(table: pd.DataFrame) -> Verdict:
    """Judge that MIG and DCI fall with the spacing, by rank correlation, for each objective."""
    numbers: dict[str, float] = {}
    holds = True
    for objective, part in table.groupby("objective", sort=False):
        for score in ("mig", "dci_disentanglement"):
            means = part.groupby("spacing")[score].mean()
            numbers |= {
                f"{objective}, {score}, spacing {s}": float(means[s]) for s in (min(means.index), max(means.index))
            }
            falls = scipy.stats.spearmanr(means.index, means).statistic
            holds = holds and bool(falls < 0 and means[min(means.index)] > means[max(means.index)])
    return Verdict(holds, numbers)


def draw_losses(found: Found, path: Path) -> None:
    """Draw both scores, bars for the losses."""
    scores = ("mig", "dci_disentanglement")
    _scores.draw_bars(found.table, path, x="objective", group="reconstruction", scores=scores)


def judge_blur(table: pd.DataFrame) -> Verdict:
    """Judge that the blurred error gives higher mean scores than the squared error alone, for each objective."""
    numbers: dict[str, float] = {}
    holds = True
    for score in ("mig", "dci_disentanglement"):
        means = table.groupby(["objective", "reconstruction"])[score].mean()
        for objective in table["objective"].unique():
            plain, blurred = float(means[objective, "mse"]), float(means[objective, "box_blur"])
            numbers |= {f"{objective}, {score}, mse": plain, f"{objective}, {score}, box blur": blurred}
            holds = holds and blurred > plain
    return Verdict(holds, numbers)


def latents(settings: Mapping[str, Any], runs: Runs, tier: str) -> Found:
    """Decode traversals of the latents that say most about one image, and score the run."""
    run = runs.open(settings["run"])
    images = run.dataset.images([settings["row"]])
    posterior = run.encode(images)
    mean, log_variance = (np.asarray(part[0], np.float64) for part in posterior)
    kl = 0.5 * (np.exp(log_variance) + mean**2 - 1 - log_variance)
    shown = np.argsort(-kl, kind="stable")[: settings["latents"]]
    values = np.linspace(-2.5, 2.5, settings["columns"])
    codes = np.tile(mean, (len(shown), len(values), 1))
    for place, latent in enumerate(shown):
        codes[place, :, latent] = values
    decoded = run.decode(codes.reshape(-1, len(mean))).reshape(*codes.shape[:2], *images.shape[1:]).clip(0, 1)
    table = traversals.measure(decoded).assign(
        latent=shown, kl=kl[shown], mig=_scores.scores(runs, settings["run"], tier)["mig"]
    )
    return Found(table, {f"z{latent}": row for latent, row in zip(shown, decoded, strict=True)})


def judge_latents(table: pd.DataFrame) -> Verdict:
    """Judge that no latent stands for a factor, by a MIG below `LOW`."""
    score = float(table["mig"].iloc[0])
    return Verdict(
        score < LOW, {"MIG of the run": score, "latents that change the picture": (table["change"] > 1e-3).sum()}
    )


OVERLAP_SMALL = _smoke.board([f"xysquares/spacing_{n}" for n in (8, 4, 2, 1)], ("beta_vae", "ada_gvae"))
FAILS_SMALL = _smoke.board(["xysquares/spacing_8"], ["beta_vae"])[0]
OVERLAP = sweep.find("michlo2023_overlap")
BLUR = tuple(
    run
    for run in sweep.find("michlo2023_box_blur")
    if math.isclose(
        run.hyperparameters["beta"], max(r.hyperparameters["beta"] for r in sweep.find("michlo2023_box_blur"))
    )
)
BLUR_SMALL = tuple(
    dataclasses.replace(_smoke.run(run, learning_rate=1e-3), latents=9) for run in BLUR if run.seed < _smoke.SEEDS
)
TRAINING = _smoke.training(*(run.dataset for run in OVERLAP_SMALL))


def _factors(*names: str) -> dict[str, tuple[str, ...]]:
    """Give the factors whose values have an order, by dataset."""
    chosen = {}
    for name in names:
        factors = benchmark_data.load(name).space.factors
        chosen[name] = tuple(factor.name for factor in factors if factor.size > 2 and factor.kind != "categorical")
    return chosen


def _matrices(
    datasets: tuple[str, ...], traversals: int, factors: Mapping[str, tuple[str, ...]], seconds: float
) -> Plan:
    return Plan(datasets=datasets, settings={"factors": factors, "traversals": traversals}, seconds=seconds)


_SPACED = dict.fromkeys(SPACINGS, ("x_R",))
_PUBLISHED = ("cars3d/64_bilinear", "shapes3d", "smallnorb/left_64_bilinear", "dsprites")
_RENDERED = ("sprites2d", "room3d")
_SQUARES = Plan(datasets=("xysquares/spacing_8",), settings={"datasets": ("xysquares/spacing_8",), "columns": 8})

ENTRIES = (
    Entry(
        id=f"{PAPER}/fig2",
        title="Traversals of the common datasets",
        paper="images along a factor change step by step",
        claim="Images one step apart differ less than those at the ends of a factor.",
        smoke=Plan(datasets=_RENDERED, settings={"datasets": _RENDERED, "columns": 8}, seconds=5),
        study=Plan(datasets=_PUBLISHED, settings={"datasets": _PUBLISHED, "columns": 8}, seconds=10),
        compute=rows_of_traversals,
        draw=draw_traversals,
        judge=judge_varying,
    ),
    Entry(
        id=f"{PAPER}/fig3",
        title="Distances between factor values and between images, common datasets",
        paper="both agree",
        claim="On common datasets the distance of images follows that of the factors (rank correlation above 0.5).",
        smoke=_matrices(_RENDERED, 50, _factors(*_RENDERED), 10),
        study=_matrices(_PUBLISHED, 200, _factors(*_PUBLISHED), 100),
        compute=matrices,
        draw=draw_matrices,
        judge=judge_natural,
    ),
    Entry(
        id=f"{PAPER}/fig5",
        title="Traversals of XYSquares",
        paper="the squared error is constant along them",
        claim="Any two images of a traversal of XYSquares are equally far apart.",
        smoke=_SQUARES,
        study=_SQUARES,
        compute=rows_of_traversals,
        draw=draw_traversals,
        judge=judge_constant,
    ),
    Entry(
        id=f"{PAPER}/fig7",
        title="Latent traversals of a β-VAE on XYSquares",
        paper="latents move nothing that is a factor",
        claim=f"No latent of a β-VAE on XYSquares stands for a factor (MIG below {LOW}).",
        smoke=Plan(
            runs=(FAILS_SMALL,),
            settings={"run": FAILS_SMALL, "row": 0, "latents": 6, "columns": 8},
            codes=True,
            seconds=5,
            training=TRAINING,
        ),
        study=Plan(
            runs=OVERLAP[:1],
            settings={"run": OVERLAP[0], "row": 0, "latents": 6, "columns": 8},
            codes=True,
            seconds=60,
        ),
        compute=latents,
        draw=draw_traversals,
        judge=judge_latents,
    ),
    Entry(
        id=f"{PAPER}/fig8",
        title="Distance matrices of XYSquares at spacings 8 to 1",
        paper="the correlation rises as the spacing falls",
        claim="The distance of images follows that of the factors better, the smaller the spacing.",
        smoke=_matrices(SPACINGS, 50, _SPACED, 2),
        study=_matrices(SPACINGS, 200, _SPACED, 5),
        compute=matrices,
        draw=draw_matrices,
        judge=judge_spacing,
    ),
    Entry(
        id=f"{PAPER}/fig9",
        title="Scores over the spacing of XYSquares",
        paper="MIG and DCI rise as the spacing falls",
        claim="MIG and DCI rise as the spacing falls, for β-VAE and Ada-GVAE.",
        smoke=Plan(runs=OVERLAP_SMALL, settings={"runs": OVERLAP_SMALL}, codes=True, seconds=100, training=TRAINING),
        study=Plan(runs=OVERLAP, settings={"runs": OVERLAP}, codes=True, seconds=6_000),
        compute=scored,
        draw=draw_spacing,
        judge=judge_scores_by_spacing,
    ),
    Entry(
        id=f"{PAPER}/fig11",
        title="Scores with squared error and with blurred squared error",
        paper="the blur gives far higher MIG and DCI",
        claim="An error of blurred images restores MIG and DCI on XYSquares at spacing 8.",
        smoke=Plan(runs=BLUR_SMALL, settings={"runs": BLUR_SMALL}, codes=True, seconds=60, training=TRAINING),
        study=Plan(runs=BLUR, settings={"runs": BLUR}, codes=True, seconds=1_000),
        compute=scored,
        draw=draw_losses,
        judge=judge_blur,
    ),
)

NOT_YET = {
    f"{PAPER}/fig4": "Distances at every level of a β-VAE on Cars3D",
    f"{PAPER}/fig6": "Scores of both objectives on five datasets",
    f"{PAPER}/fig10": "Distances at every level of a β-VAE on XYSquares, with and without blur",
}
