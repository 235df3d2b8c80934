"""Michlo, Klein and James, "Overlooked Implications of the Reconstruction Loss for VAE Disentanglement" (2023).

Figures 2, 3, 5 and 8 need no training. At desk tier figures 4, 6, 7 and 9 take the board's runs, with five seeds
(figure 9: ten); figures 10 and 11 have 20 of their own.
At reduced tier figures 7 and 9 to 11 take the sweep michlo2023_reduced: the paper's models on its own dataset,
with 5% of its images and ten seeds. Their tables have the variance that reconstructions explain, and a model that
explains less than `COLLAPSED` of it is called collapsed.
At study tier the runs are those of the sweeps michlo2023_benchmark, michlo2023_overlap (with the strengths of the
authors' figure 9) and michlo2023_box_blur (with the larger strength). The first has one seed of 16 settings, so that
figure 6 has too few seeds for a verdict there.

The importance of factors is in the extended paper (arXiv 2202.13341v2), which says how to compute it; whether models
learn factors in that order is asked here, by `fig3_importance`, of small β-VAEs with snapshots: on
dSprites, and at study tier on room3d, too.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import benchmark_data
from baselines.config import RunConfig
from baselines.reproduction.entries import ILLUSTRATION, Entry, Outcome, Plan, Runs, Verdict, combine, from_table
from baselines.reproduction.papers import _images, _importance, _perceived, _scores, _tiers
from baselines.sweeps import _michlo2023, michlo2023_reduced
from baselines.training import sweep
from leaderboard import figures
from leaderboard.analyses import traversals
from leaderboard.store import verdicts

PAPER = "2202.13341"

SCORES = {"mig": "MIG", "dci_disentanglement": "DCI"}
"""Score -> its title."""

COLLAPSED = 0.05
"""Share of explained variance below which a model is called collapsed."""


def scored(settings: Mapping[str, Any], runs: Runs, tier: str) -> Outcome:
    """Score all runs; at reduced tier ``explained`` is the share of variance that reconstructions explain."""
    table = _scores.table(runs, settings["runs"], tier)
    if tier == "reduced":
        table = table.assign(explained=[runs.open(config).explained() for config in settings["runs"]])
    return Outcome(table)


def _explained_numbers(table: pd.DataFrame, column: str) -> tuple[dict[str, float], str]:
    """Return the explained variance, by objective and another column, and a note of collapsed models."""
    if "explained" not in table:
        return {}, ""
    means = table.groupby(["objective", column], sort=False)["explained"].mean()
    share_by_model = {
        f"{_scores.label(str(objective))}, {column} {value}": float(means[objective, value])
        for objective, value in means.index
    }
    collapsed = [name for name, share in share_by_model.items() if share < COLLAPSED]
    numbers = {f"{name}, explained variance": share for name, share in share_by_model.items()}
    return numbers, f"collapsed: {'; '.join(collapsed)}" if collapsed else "no model has collapsed"


def scored_by_spacing(settings: Mapping[str, Any], runs: Runs, tier: str) -> Outcome:
    """Score all runs; ``spacing`` is that of the dataset."""
    table = scored(settings, runs, tier).table
    return Outcome(table.assign(spacing=[int(name.rpartition("_")[2]) for name in table["dataset"]]))


def _best_by_seed(part: pd.DataFrame, score: str) -> pd.Series[float]:
    """Return the highest score of each seed over its settings, which are selected and do not count as seeds."""
    return part.groupby("seed")[score].max()


def judge_scores_by_spacing(table: pd.DataFrame) -> Verdict:
    """Judge that MIG and DCI are higher at the smallest spacing than at the largest, with no reversal between.

    If a seed has several strengths, the best one counts.

    Each objective and score must decrease from one end to the other, from above the baseline. A significant increase
    between neighbouring spacings (Holm over all steps) contradicts the claim; a step is one test over all objectives,
    since twelve tests of five seeds each could not reach significance.
    """
    numbers: dict[str, float] = {}
    end_comparisons, step_comparisons, measures = [], [], []
    spacings = sorted(table["spacing"].unique())
    least, greatest = spacings[0], spacings[-1]
    for score in SCORES:
        objective_scores = []
        for objective, part in table.groupby("objective", sort=False):
            by_spacing = {n: _best_by_seed(part[part["spacing"] == n], score) for n in spacings}
            floor = _scores.floor(part[part["spacing"] == least], score)
            end_comparisons.append(verdicts.compare([by_spacing[least]], [by_spacing[greatest]], floors=[floor]))
            measures.append(SCORES[score])
            numbers |= {f"{objective}, {score}, spacing {n}": float(by_spacing[n].mean()) for n in spacings}
            numbers[f"{objective}, {score}, floor"] = floor
            objective_scores.append(by_spacing)
        step_comparisons += [
            verdicts.compare([scores[a] for scores in objective_scores], [scores[b] for scores in objective_scores])
            for a, b in itertools.pairwise(spacings)
        ]
    explained_numbers, note = _explained_numbers(table, "spacing")
    numbers |= explained_numbers
    if "opposed" in (answer for answer, _ in verdicts.judge(step_comparisons)):
        return combine("MIG or DCI", step_comparisons, numbers, "a step goes the other way")
    gate = "gate: PCA, and MIG 0.1, at the least spacing"
    return combine(measures, end_comparisons, numbers, "; ".join(filter(None, (gate, note))))


def draw_densities(result: Outcome, path: Path) -> None:
    """Draw the distributions of both scores over runs on each dataset: the first objective left, the other right."""
    datasets = list(result.table["dataset"].unique())
    figure, axes = figures.panels(1, len(SCORES), width=1.2 + 0.8 * len(datasets))
    for panel, score in zip(axes[0], SCORES, strict=True):
        sides = zip(sorted(result.table["objective"].unique()), ("low", "high"), figures.COLOURS[:2], strict=True)
        for objective, side, colour in sides:
            part = result.table[result.table["objective"] == objective]
            values = [part[part["dataset"] == dataset][score].to_numpy() for dataset in datasets]
            quartiles = [[0.25, 0.5, 0.75]] * len(datasets)
            violins = panel.violinplot(values, range(len(datasets)), showextrema=False, quantiles=quartiles, side=side)
            violins["cquantiles"].set(color=colour, linewidth=1)
            for body in violins["bodies"]:
                body.set(facecolor=colour, label=_scores.label(objective) if body is violins["bodies"][0] else "")
        panel.set_xticks(range(len(datasets)), datasets, fontsize=8, rotation=20, ha="right")
        panel.set_title(_scores.TITLES[score], fontsize=9)
    axes[0, -1].legend(frameon=False, fontsize=8)
    figures.save(figure, path)


def judge_densities(table: pd.DataFrame) -> Verdict:
    """Judge that the best scores on XYSquares are below those on every other dataset, for each objective.

    The paper compares only the highest score over the settings (section 5.3); here it is that of each seed.
    """
    numbers: dict[str, float] = {}
    comparisons = []
    for objective, objective_rows in table.groupby("objective", sort=False):
        for score in SCORES:
            by_dataset = {str(name): rows for name, rows in objective_rows.groupby("dataset", sort=False)}
            best = {name: _best_by_seed(rows, score) for name, rows in by_dataset.items()}
            squares = [scores for name, scores in best.items() if name.startswith("xysquares")]
            for name, scores in best.items():
                numbers[f"{score}, {objective}, {name}"] = float(scores.mean())
                if not name.startswith("xysquares"):
                    floor = _scores.floor(by_dataset[name], score)
                    numbers[f"{score}, {objective}, {name}, floor"] = floor
                    comparisons += [verdicts.compare([scores], [of_squares], floors=[floor]) for of_squares in squares]
    return combine("MIG or DCI", comparisons, numbers, "gate: PCA, and MIG 0.1, on the other dataset")


def judge_blur(table: pd.DataFrame) -> Verdict:
    """Judge that scores with the blurred error are higher than with the squared error alone, for each objective."""
    numbers: dict[str, float] = {}
    comparisons, measures = [], []
    for (objective, score), by_loss in (
        ((objective, score), dict(list(part.groupby("reconstruction")[score])))
        for objective, part in table.groupby("objective", sort=False)
        for score in SCORES
    ):
        plain, blurred = by_loss["mse"], by_loss["box_blur"]
        numbers[f"{objective}, {score}, mse"] = float(plain.mean())
        numbers[f"{objective}, {score}, box blur"] = float(blurred.mean())
        comparisons.append(verdicts.compare([blurred], [plain]))
        measures.append(SCORES[score])
    explained_numbers, note = _explained_numbers(table, "reconstruction")
    return combine(measures, comparisons, numbers | explained_numbers, note)


def latents(settings: Mapping[str, Any], runs: Runs, tier: str) -> Outcome:
    """Decode traversals of the most informative latents of one image, and score the run."""
    run = runs.open(settings["run"])
    images = run.dataset.images([settings["row"]])
    posterior = run.encode(images)
    mean, log_variance = (np.asarray(part[0], np.float64) for part in posterior)
    kl = 0.5 * (np.exp(log_variance) + mean**2 - 1 - log_variance)
    most_informative = np.argsort(-kl, kind="stable")[: settings["latents"]]
    values = np.linspace(-2.5, 2.5, settings["columns"])
    codes = np.tile(mean, (len(most_informative), len(values), 1))
    for position, latent in enumerate(most_informative):
        codes[position, :, latent] = values
    decoded = run.decode(codes.reshape(-1, len(mean))).reshape(*codes.shape[:2], *images.shape[1:]).clip(0, 1)
    table = traversals.measure(decoded).assign(
        latent=most_informative, kl=kl[most_informative], mig=_scores.scores(runs, settings["run"], tier)["mig"]
    )
    return Outcome(table, {f"z{latent}": row for latent, row in zip(most_informative, decoded, strict=True)})


def judge_latents(table: pd.DataFrame) -> Verdict:
    """Show the run's MIG and the number of latents that change the picture; a random encoder has a low MIG, too."""
    numbers = {"MIG of the run": float(table["mig"].iloc[0])}
    return Verdict(ILLUSTRATION, numbers | {"latents that change the picture": float((table["change"] > 1e-3).sum())})


BENCHMARK = sweep.find("michlo2023_benchmark")
CARS = next(
    run
    for run in BENCHMARK
    if (run.dataset, run.objective, run.latents) == ("cars3d/64_bilinear", "beta_vae", 9)
    and math.isclose(run.hyperparameters["beta"], _michlo2023.beta(run.dataset, 0.001))
)
"""The paper does not state the β-VAE of figure 4; this one's weights of both terms are closest to a VAE's."""


def _authors_beta(run: RunConfig) -> float:
    """Return the strength of a run in the authors' figure 9, by their plotting script."""
    is_larger = run.objective == "beta_vae" and run.dataset in ("xysquares/spacing_1", "xysquares/spacing_2")
    return _michlo2023.beta(run.dataset, 0.00316 if is_larger else 0.001)


OVERLAP = tuple(
    run for run in sweep.find("michlo2023_overlap") if math.isclose(run.hyperparameters["beta"], _authors_beta(run))
)
_BOX_BLUR = sweep.find("michlo2023_box_blur")
_GREATEST_BETA = max(run.hyperparameters["beta"] for run in _BOX_BLUR)
BLUR = tuple(run for run in _BOX_BLUR if run.hyperparameters["beta"] == _GREATEST_BETA)
"""With and without the blur at the larger of the paper's two strengths, so that only the loss differs."""


_OBJECTIVES = ("beta_vae", "ada_gvae")
_SPACED_DATASETS = tuple(f"xysquares/spacing_{n}" for n in (8, 4, 2, 1))
_DESK_SPACED_RUNS = _tiers.board_runs(_SPACED_DATASETS, _OBJECTIVES, seeds=10)
_DESK_BENCHMARK = _tiers.board_runs(("dsprites", "room3d", "xysquares/spacing_8"), _OBJECTIVES)
_DESK_ROOM_RUNS = _tiers.board_runs(("room3d",), ("beta_vae",))
_DESK_SQUARES_RUN = _tiers.board_runs(("xysquares/spacing_8",), ("beta_vae",))[0]
_DESK_BLUR = tuple(
    _tiers.small_fc_run(run, latents=9, **({"symmetric": False} if run.objective == "ada_gvae" else {})) for run in BLUR
)
"""Ada-GVAE here has the one-sided divergence, as on the board. With 9 latents instead of the paper's 25 and a mean over
latents, the divergence of each latent weighs 2.8 times as much."""


_REDUCED_SPACING_8 = tuple(run for run in michlo2023_reduced.SWEEP if run.dataset == "xysquares/spacing_8")
"""With squared error, then with the blurred one, each at its own strength: β is 0.001 for the β-VAE and 0.0001 for
Ada-GVAE with the squared error, 0.0316 with the blur."""


def _scoring_plan(runs: tuple[RunConfig, ...]) -> Plan:
    """Return the plan of runs that are scored."""
    return Plan(runs=runs, settings={"runs": runs}, codes=True)


def _traversal_plan(run: RunConfig) -> Plan:
    """Return the plan of a run whose latents are traversed."""
    return Plan(runs=(run,), settings={"run": run, "row": 0, "latents": 6, "columns": 8}, codes=True)


def _ordered_factors(*names: str) -> dict[str, tuple[str, ...]]:
    """Return the factors whose values have an order, by dataset."""
    ordered = {}
    for name in names:
        factors = benchmark_data.load(name).space.factors
        ordered[name] = tuple(factor.name for factor in factors if factor.size > 2 and factor.kind != "categorical")
    return ordered


def _matrices_plan(datasets: tuple[str, ...], traversals: int, factors: Mapping[str, tuple[str, ...]]) -> Plan:
    return Plan(datasets=datasets, settings={"factors": factors, "traversals": traversals})


def _single_factors(dataset: str) -> dict[str, tuple[str, ...]]:
    """Return every factor separately, as in figure 4."""
    return {name: (name,) for name in benchmark_data.load(dataset).space.names}


def _levels_plan(runs: Iterable[RunConfig], factors: Mapping[str, tuple[str, ...]], **options: Any) -> Plan:
    runs = tuple(runs)
    settings = {"runs": runs, "factors": factors, "traversals": options.pop("traversals")}
    return Plan(runs=runs, settings=settings, **options)


def _blur_plan(runs: Iterable[RunConfig], **options: Any) -> Plan:
    """Return the plan of figure 10: the blur above, and all factors pooled, since their statistics are equal."""
    beta_vae_runs = sorted((run for run in runs if run.objective == "beta_vae"), key=lambda run: run.reconstruction)
    return _levels_plan(beta_vae_runs, {"all": benchmark_data.load(beta_vae_runs[0].dataset).space.names}, **options)


_SPACED_FACTORS = dict.fromkeys(_perceived.SPACINGS, ("x_R",))
_PUBLISHED_DATASETS = ("cars3d/64_bilinear", "shapes3d", "smallnorb/left_64_bilinear", "dsprites")
_RENDERED_DATASETS = ("dsprites", "room3d")
_SQUARES_PLAN = Plan(datasets=("xysquares/spacing_8",), settings={"datasets": ("xysquares/spacing_8",), "columns": 8})

ENTRIES = (
    Entry(
        id=f"{PAPER}/fig2",
        paper="images along a factor change step by step",
        claim="Images one step apart along a factor differ less than those at its ends.",
        desk=Plan(datasets=_RENDERED_DATASETS, settings={"datasets": _RENDERED_DATASETS, "columns": 8}),
        study=Plan(datasets=_PUBLISHED_DATASETS, settings={"datasets": _PUBLISHED_DATASETS, "columns": 8}),
        compute=_perceived.rows_of_traversals,
        draw=_images.draw,
        judge=_perceived.judge_varying,
    ),
    Entry(
        id=f"{PAPER}/fig3",
        paper="both agree, on Cars3D less",
        claim="On average over ordered factors, pixel distance follows factor distance on common datasets but Cars3D "
        f"(correlation above {_perceived.AGREES}).",
        desk=_matrices_plan(_RENDERED_DATASETS, 50, _ordered_factors(*_RENDERED_DATASETS)),
        study=_matrices_plan(_PUBLISHED_DATASETS, 200, _ordered_factors(*_PUBLISHED_DATASETS)),
        compute=_perceived.matrices,
        draw=_perceived.draw_matrices,
        judge=_perceived.judge_natural,
    ),
    Entry(
        id=f"{PAPER}/fig3_importance",
        paper="a factor is more important if a VAE prefers to learn it before another",
        claim="Factors that change more pixels are learned better, beyond what an untrained encoder encodes (rank "
        f"correlation above {_perceived.AGREES}).",
        desk=_importance.plan("desk"),
        study=_importance.plan("study"),
        compute=_importance.learned,
        draw=_importance.DRAW,
        judge=_importance.judge_learned,
        added=True,
        paper_states_steps=False,
    ),
    Entry(
        id=f"{PAPER}/fig3_first",
        paper="a factor is more important if a VAE prefers to learn it before another",
        claim="The factor that changes most pixels is learned before every other (half of its gain, by snapshot).",
        desk=_importance.plan("desk", **_importance.FRESH),
        study=_importance.plan("study", **_importance.FRESH),
        compute=_importance.learned,
        draw=_importance.DRAW,
        judge=_importance.judge_first,
        added=True,
        paper_states_steps=False,
        post_hoc=True,
    ),
    Entry(
        id=f"{PAPER}/fig4",
        paper="all levels have the distances of the input",
        claim="Distances of latents and reconstructions follow those of images along every factor (rank correlation "
        f"above {_perceived.AGREES}).",
        paper_states_steps=False,
        desk=_levels_plan(_DESK_ROOM_RUNS, _single_factors("room3d"), traversals=20),
        study=_levels_plan([CARS], _single_factors(CARS.dataset), traversals=20),
        compute=_perceived.levels,
        draw=_perceived.draw_levels,
        judge=_perceived.judge_levels,
    ),
    Entry(
        id=f"{PAPER}/fig5",
        paper="the squared error is constant along them",
        claim="Any two images along a traversal are equally far apart (by construction).",
        desk=_SQUARES_PLAN,
        study=_SQUARES_PLAN,
        compute=_perceived.rows_of_traversals,
        draw=_images.draw,
        judge=_perceived.judge_constant,
    ),
    Entry(
        id=f"{PAPER}/fig6",
        paper="the highest score over the settings is far lower on XYSquares",
        claim="The best MIG and DCI of β-VAE and Ada-GVAE are lower on XYSquares (spacing 8) than elsewhere.",
        desk=_scoring_plan(_DESK_BENCHMARK),
        study=_scoring_plan(BENCHMARK),
        compute=scored,
        draw=draw_densities,
        judge=judge_densities,
    ),
    Entry(
        id=f"{PAPER}/fig7",
        paper="latents move nothing that is a factor",
        claim="Latent traversals of a β-VAE on XYSquares change no single factor.",
        desk=_traversal_plan(_DESK_SQUARES_RUN),
        reduced=_traversal_plan(michlo2023_reduced.SWEEP[0]),
        study=_traversal_plan(OVERLAP[0]),
        compute=latents,
        draw=_images.draw,
        judge=judge_latents,
    ),
    Entry(
        id=f"{PAPER}/fig8",
        paper="the correlation rises as the spacing falls",
        claim="The smaller the spacing, the better pixel distance follows factor distance (here spacings 4–7 tie).",
        desk=_matrices_plan(_perceived.SPACINGS, 50, _SPACED_FACTORS),
        study=_matrices_plan(_perceived.SPACINGS, 200, _SPACED_FACTORS),
        compute=_perceived.matrices,
        draw=_perceived.draw_matrices,
        judge=_perceived.judge_spacing,
    ),
    Entry(
        id=f"{PAPER}/fig9",
        paper="MIG and DCI rise as the spacing falls",
        claim="MIG and DCI of β-VAE and Ada-GVAE are higher at spacing 1 than 8, with no significant reversal between.",
        desk=_scoring_plan(_DESK_SPACED_RUNS),
        reduced=_scoring_plan(michlo2023_reduced.SPACED),
        study=_scoring_plan(OVERLAP),
        compute=scored_by_spacing,
        draw=from_table(_scores.draw_curves, x="spacing", group="objective"),
        judge=judge_scores_by_spacing,
    ),
    Entry(
        id=f"{PAPER}/fig10",
        paper="with the blur all levels have the distances of the factors, without it none",
        claim="With the blur, distances follow factors better at every level of a β-VAE on XYSquares.",
        desk=_blur_plan(_DESK_BLUR, traversals=10),
        reduced=_blur_plan(_REDUCED_SPACING_8, traversals=10),
        study=_blur_plan(BLUR, traversals=50),
        compute=_perceived.levels,
        draw=_perceived.draw_levels,
        judge=_perceived.judge_levels_blurred,
    ),
    Entry(
        id=f"{PAPER}/fig11",
        paper="the blur gives far higher MIG and DCI",
        claim="A blurred reconstruction loss raises MIG and DCI on XYSquares at spacing 8.",
        desk=_scoring_plan(_DESK_BLUR),
        reduced=_scoring_plan(_REDUCED_SPACING_8),
        study=_scoring_plan(BLUR),
        compute=scored,
        draw=from_table(_scores.draw_bars, x="objective", group="reconstruction", scores=tuple(SCORES)),
        judge=judge_blur,
    ),
)
