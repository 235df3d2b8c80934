"""Michlo, Klein and James, "Overlooked Implications of the Reconstruction Loss for VAE Disentanglement" (2023).

Figures 2, 3, 5 and 8 need no training. At smoke tier the β-VAE and Ada-GVAE are the board's of that tier, with β = 2
and binary cross entropy: 16 runs at spacings 1, 2, 4 and 8, of which figure 7 takes one, and 8 on two other datasets
for figures 4 and 6. Figure 11 has 8 runs with squared error, of which figure 10 takes the β-VAEs. At desk tier figures
4, 6, 7 and 9 take the board's runs, with five seeds; figures 10 and 11 have 20 of their own.
At reduced tier figures 7 and 9 to 11 take the sweep michlo2023_reduced: the paper's models on its own dataset,
with 5% of its images and ten seeds. Their tables have the variance that reconstructions explain, and a model that
explains less than `COLLAPSED` of it is called collapsed.
At study tier the runs are those of the sweeps michlo2023_benchmark, michlo2023_overlap and michlo2023_box_blur. The
first has one seed of 16 settings, so that figure 6 has too few seeds for a verdict there.

The importance of factors is in the extended paper (arXiv 2202.13341v2), which says how to compute it; whether models
learn factors in that order is asked here, by `fig3_importance`, of small β-VAEs with snapshots on rendered data: on
sprites2d, and at study tier on room3d, too.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.stats
from numpy.typing import NDArray

import benchmark_data
from baselines.config import RunConfig
from baselines.nets import reconstruction
from baselines.reproduction.entries import ILLUSTRATION, Entry, Found, Plan, Runs, Verdict, fact, judged, of_table
from baselines.reproduction.papers import _heatmaps, _images, _scores, _tiers
from baselines.run import Run
from baselines.sweeps import _michlo2023, michlo2023_pilot, michlo2023_reduced
from baselines.training import sweep
from benchmark_data import draws
from benchmark_data.inspect import audit, distances
from leaderboard import figures, information, protocol
from leaderboard.analyses import perceived, traversals
from leaderboard.store import verdicts

PAPER = "2202.13341"

SCORES = ("mig", "dci_disentanglement")

AGREES = 0.5
"""Rank correlation above which distances are said to follow others."""

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
    """Return Spearman's correlation of both distances, averaged over a dataset's factors.

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
    return fact(all(rho > AGREES for rho in found.values()), {f"rank correlation on {k}": v for k, v in found.items()})


def judge_spacing(table: pd.DataFrame) -> Verdict:
    """Judge that the agreement rises as the spacing falls, from 0 where squares never overlap."""
    found = agreement(table)
    rhos = list(found.values())
    rises = all(low <= high + 1e-9 for low, high in itertools.pairwise(rhos))
    return fact(rises and rhos[-1] > rhos[0], {f"rank correlation, {k}": v for k, v in found.items()})


def rows_of_traversals(settings: Mapping[str, Any], runs: Runs, tier: str) -> Found:
    """Take the images along each factor from one image, and measure how far each is from every other."""
    images, rows = {}, []
    for name in settings["datasets"]:
        dataset = benchmark_data.load(name)
        middle = dataset.space.index(np.array([[size // 2 for size in dataset.space.sizes]]))[0]
        for factor in dataset.space.factors:
            if factor.size < 2:
                continue
            seen = dataset.images(dataset.space.traverse(int(middle), factor.name))
            images[f"{name} {factor.name}"] = seen[
                np.linspace(0, len(seen) - 1, settings["columns"]).round().astype(int)
            ]
            for first, second in itertools.combinations(range(len(seen)), 2):
                apart = distances.mean_squared_error(seen[first : first + 1], seen[second : second + 1])[0]
                rows.append((name, factor.name, first, second, float(second - first), float(apart)))
    columns = ["dataset", "factor", "first", "second", "ground_truth", "perceived"]
    return Found(pd.DataFrame(rows, columns=columns), images)


def judge_constant(table: pd.DataFrame) -> Verdict:
    """Show that all images of a traversal are equally far apart: the dataset was made so."""
    pixels = table.groupby("factor")["perceived"]
    smallest, largest = float(pixels.min().min()), float(pixels.max().max())
    return Verdict(ILLUSTRATION, {"smallest squared error": smallest, "largest squared error": largest})


def judge_varying(table: pd.DataFrame) -> Verdict:
    """Show the squared error between neighbours over that between the ends, for all traversals of a set."""
    numbers: dict[str, float] = {}
    for dataset, part in table.groupby("dataset", sort=False):
        near = part[part["ground_truth"] == 1]["perceived"].mean()
        ends = part[part["ground_truth"] == part.groupby("factor")["ground_truth"].transform("max")]["perceived"].mean()
        numbers[f"{dataset}, neighbours over ends"] = float(near / ends)
    return Verdict(ILLUSTRATION, numbers)


COLLAPSED = michlo2023_pilot.COLLAPSED


def scored(settings: Mapping[str, Any], runs: Runs, tier: str) -> Found:
    """Score all runs; at reduced tier ``explained`` is the share of variance that reconstructions explain."""
    table = _scores.table(runs, settings["runs"], tier)
    if tier == "reduced":
        table = table.assign(explained=[runs.open(config).explained() for config in settings["runs"]])
    return Found(table)


def _explained(table: pd.DataFrame, by: str) -> tuple[dict[str, float], str]:
    """Return what reconstructions explain, by objective and another column, and a note of what has collapsed."""
    if "explained" not in table:
        return {}, ""
    means = table.groupby(["objective", by], sort=False)["explained"].mean()
    names = {
        f"{_scores.shown(str(objective))}, {by} {at}": float(means[objective, at]) for objective, at in means.index
    }
    collapsed = [name for name, share in names.items() if share < COLLAPSED]
    numbers = {f"{name}, explained variance": share for name, share in names.items()}
    return numbers, f"collapsed: {'; '.join(collapsed)}" if collapsed else "no model has collapsed"


def scored_by_spacing(settings: Mapping[str, Any], runs: Runs, tier: str) -> Found:
    """Score all runs; ``spacing`` is that of the dataset."""
    table = scored(settings, runs, tier).table
    return Found(table.assign(spacing=[int(name.rpartition("_")[2]) for name in table["dataset"]]))


def _best(part: pd.DataFrame, score: str) -> pd.Series[float]:
    """Return the highest score of each seed over its settings: settings are chosen among, and are no seeds."""
    return part.groupby("seed")[score].max()


def judge_scores_by_spacing(table: pd.DataFrame) -> Verdict:
    """Judge that MIG and DCI are higher at the least spacing than at the greatest, and that no step goes the other way.

    Where a seed has several strengths, as at study tier, the best one counts.

    Each objective and score must fall from one end to the other, from above the floor. A single step between neighbours
    that goes significantly up (Holm over all steps) contradicts the claim; a step is one test of all objectives, since
    twelve tests of five seeds each could decide nothing.
    """
    numbers: dict[str, float] = {}
    ends, steps = [], []
    spacings = sorted(table["spacing"].unique())
    near, far = spacings[0], spacings[-1]
    for score in SCORES:
        groups = []
        for objective, part in table.groupby("objective", sort=False):
            by_spacing = {n: _best(part[part["spacing"] == n], score) for n in spacings}
            bound = _scores.floor(part[part["spacing"] == near], score)
            ends.append(verdicts.compare([by_spacing[near]], [by_spacing[far]], floors=[bound]))
            numbers |= {f"{objective}, {score}, spacing {n}": float(by_spacing[n].mean()) for n in spacings}
            numbers[f"{objective}, {score}, floor"] = bound
            groups.append(by_spacing)
        steps += [
            verdicts.compare([each[a] for each in groups], [each[b] for each in groups])
            for a, b in itertools.pairwise(spacings)
        ]
    explained, note = _explained(table, "spacing")
    numbers |= explained
    if "opposed" in (answer for answer, _ in verdicts.judge(steps)):
        return judged("score", steps, numbers, "a step goes the other way")
    gate = "gate: PCA, and MIG 0.1, at the least spacing"
    return judged("score", ends, numbers, "; ".join(filter(None, (gate, note))))


def draw_densities(found: Found, path: Path) -> None:
    """Draw how both scores spread over the runs on each dataset: the first objective to the left, the other right."""
    figures.check_columns(found.table, ["dataset", "objective", *SCORES])
    names = list(found.table["dataset"].unique())
    figure, axes = figures.panels(1, len(SCORES), width=1.2 + 0.8 * len(names))
    for panel, score in zip(axes[0], SCORES, strict=True):
        sides = zip(sorted(found.table["objective"].unique()), ("low", "high"), figures.COLOURS[:2], strict=True)
        for objective, side, colour in sides:
            part = found.table[found.table["objective"] == objective]
            values = [part[part["dataset"] == name][score].to_numpy() for name in names]
            quartiles = [[0.25, 0.5, 0.75]] * len(names)
            drawn = panel.violinplot(values, range(len(names)), showextrema=False, quantiles=quartiles, side=side)
            drawn["cquantiles"].set(color=colour, linewidth=1)
            for body in drawn["bodies"]:
                body.set(facecolor=colour, label=_scores.shown(objective) if body is drawn["bodies"][0] else "")
        panel.set_xticks(range(len(names)), names, fontsize=8, rotation=20, ha="right")
        panel.set_title(score.replace("_", " "), fontsize=9)
    axes[0, -1].legend(frameon=False, fontsize=8)
    figures.save(figure, path)


def judge_densities(table: pd.DataFrame) -> Verdict:
    """Judge that the best scores on XYSquares are below those on every other dataset, for each objective.

    The paper looks at the highest score over the settings alone (section 5.3): here at that of each seed.
    """
    numbers: dict[str, float] = {}
    parts = []
    for objective, of_objective in table.groupby("objective", sort=False):
        for score in SCORES:
            groups = {str(name): part for name, part in of_objective.groupby("dataset", sort=False)}
            best = {name: _best(part, score) for name, part in groups.items()}
            hard = [found for name, found in best.items() if name.startswith("xysquares")]
            for name, found in best.items():
                numbers[f"{score}, {objective}, {name}"] = float(found.mean())
                if not name.startswith("xysquares"):
                    bound = _scores.floor(groups[name], score)
                    numbers[f"{score}, {objective}, {name}, floor"] = bound
                    parts += [verdicts.compare([found], [squares], floors=[bound]) for squares in hard]
    return judged("score", parts, numbers, "gate: PCA, and MIG 0.1, on the other dataset")


def levels(settings: Mapping[str, Any], runs: Runs, tier: str) -> Found:
    """Measure distances along factors at every level of models: a row per run, factor, level and pair of values."""
    tables = []
    for config in settings["runs"]:
        run = runs.open(config)
        for name, factors in settings["factors"].items():
            table = perceived.measure(**seen(run, factors, settings["traversals"]))
            tables.append(table.assign(factor=name, reconstruction=config.reconstruction, seed=config.seed))
    return Found(pd.concat(tables, ignore_index=True))


def seen(run: Run, factors: Sequence[str], count: int) -> dict[str, NDArray[Any]]:
    """Take what a model makes of images along traversals.

    Args:
        run: the model; its dataset is a full grid.
        factors: those traversed, all with as many values.
        count: traversals of each, through random images.

    Returns:
        Arguments of `leaderboard.analyses.perceived.measure`, images as `compared` gives them.
    """
    space: Any = run.dataset.space
    starts = draws.sample(0, len(run.dataset), count)
    rows = np.stack([space.traverse(int(start), factor) for factor in factors for start in starts])
    images = run.dataset.images(rows.ravel())
    posterior = run.encode(images)
    found = {
        "inputs": compared(images / np.float32(255), run.config.reconstruction),
        "mean": posterior.mean,
        "variance": np.exp(posterior.log_variance.astype(np.float64)),
        "reconstructions": compared(run.decode(posterior.mean), run.config.reconstruction),
    }
    return {name: values.reshape(*rows.shape, -1) for name, values in found.items()}


def compared(images: NDArray[np.floating], loss: str) -> NDArray[np.floating]:
    """Return what the mean squared error is taken of: the pixels, and for ``box_blur`` also the blurred ones, weighed.

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


def draw_levels(found: Found, path: Path) -> None:
    """Draw the matrices, mean over seeds: a row per factor, or per loss where there are several."""
    by = "factor" if found.table["reconstruction"].nunique() == 1 else "reconstruction"
    means = found.table.groupby([by, "level", "first", "second"], sort=False)["distance"].mean().reset_index()
    perceived.draw(means.rename(columns={by: "factor"}), path)


def follows(table: pd.DataFrame, against: str) -> pd.DataFrame:
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
    found = pd.concat(tables).fillna({"spearman": 0.0})
    return found.groupby(["reconstruction", "factor", "level", "seed"], sort=False)["spearman"].mean().unstack()


def judge_levels(table: pd.DataFrame) -> Verdict:
    """Judge that the distances at every level of the model follow those of its input, along every factor."""
    found = follows(table, "input")
    learned = found[found.index.get_level_values("level") != "ground truth"]
    names = [f"rank correlation with the input, {factor}, {level}" for _, factor, level in learned.index]
    numbers = dict(zip(names, learned.mean(axis=1).tolist(), strict=True))
    return judged(
        "rank correlation, above the bound",
        [_heatmaps.against(values, AGREES) for values in learned.to_numpy()],
        numbers,
    )


def judge_levels_blurred(table: pd.DataFrame) -> Verdict:
    """Judge that at every level the distances follow those of the factors better with the blur than without.

    At the input that is a property of the data and the loss, without seeds: it is printed and not tested.
    """
    found = follows(table, "ground truth").groupby(["level", "reconstruction"], sort=False).mean()
    names = [f"rank correlation with the factors, {loss}, {level}" for level, loss in found.index]
    numbers = dict(zip(names, found.mean(axis=1).tolist(), strict=True))
    learned = [level for level in dict.fromkeys(found.index.get_level_values("level")) if level != "input"]
    parts = [verdicts.compare([found.loc[level, "box_blur"]], [found.loc[level, "mse"]]) for level in learned]
    return judged("rank correlation", parts, numbers)


def judge_blur(table: pd.DataFrame) -> Verdict:
    """Judge that the blurred error gives higher scores than the squared error alone, for each objective."""
    numbers: dict[str, float] = {}
    parts = []
    for (objective, score), by_loss in (
        ((objective, score), dict(list(part.groupby("reconstruction")[score])))
        for objective, part in table.groupby("objective", sort=False)
        for score in SCORES
    ):
        plain, blurred = by_loss["mse"], by_loss["box_blur"]
        numbers[f"{objective}, {score}, mse"] = float(plain.mean())
        numbers[f"{objective}, {score}, box blur"] = float(blurred.mean())
        parts.append(verdicts.compare([blurred], [plain]))
    explained, note = _explained(table, "reconstruction")
    return judged("score", parts, numbers | explained, note)


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
    """Show the MIG of the run and how many latents change the picture. A random encoder has a low MIG, too."""
    numbers = {"MIG of the run": float(table["mig"].iloc[0])}
    return Verdict(ILLUSTRATION, numbers | {"latents that change the picture": float((table["change"] > 1e-3).sum())})


def learned(settings: Mapping[str, Any], runs: Runs, tier: str) -> Found:
    """Measure the importance of factors, and what share of each models know at each snapshot.

    Returns:
        A row per run, snapshot and factor: ``dataset``, ``seed``, ``step``, ``factor``, its ``importance`` (the mean
        perceived distance of images that differ in it alone) and ``rank`` by it, from 1, tied factors alike; and
        ``share``, how much of its entropy the latent knows that knows most (20 bins, as in MIG).
    """
    rows: list[tuple[Any, ...]] = []
    found = {
        name: audit.audit(benchmark_data.load(name), traversals=settings["traversals"])
        for name in dict.fromkeys(config.dataset for config in settings["runs"])
    }
    for config in settings["runs"]:
        task = protocol.task(config.dataset)
        chosen = task.test[: settings["samples"]]
        labels = task.load().labels(chosen)
        names = list(task.load().space.names)
        ranks = _ranks(found[config.dataset].order())
        importance = {one.factor.name: one.importance.value for one in found[config.dataset].factors}
        for step in runs.open(config).steps:
            mean = runs.open(config, step=step).encode(task.load().images(chosen)).mean
            known = information.pairwise(mean, labels[:, [names.index(name) for name in ranks]])
            shares = (known.information / known.factors).max(axis=0)
            rows += [
                (config.dataset, config.seed, step, name, importance[name], rank, float(share))
                for (name, rank), share in zip(ranks.items(), shares, strict=True)
            ]
    return Found(pd.DataFrame(rows, columns=["dataset", "seed", "step", "factor", "importance", "rank", "share"]))


def _ranks(groups: Sequence[Sequence[str]]) -> dict[str, float]:
    """Return the rank of each factor, from 1, those of a group the same one."""
    ranks: dict[str, float] = {}
    for group in groups:
        ranks |= dict.fromkeys(group, len(ranks) + (len(group) + 1) / 2)
    return ranks


def draw_learned(found: Found, path: Path) -> None:
    """Draw what is known of each factor over training, a panel per dataset, the most important factors first."""
    figures.check_columns(found.table, ["dataset", "seed", "step", "factor", "importance", "share"])
    panels = list(found.table.groupby("dataset", sort=False))
    figure, axes = figures.panels(1, len(panels), width=4.0)
    for panel, (dataset, table) in zip(axes[0], panels, strict=True):
        ordered = table.sort_values("importance", ascending=False, kind="stable")
        for style, (name, part) in enumerate(ordered.groupby("factor", sort=False)):
            label = f"{name}, {part['importance'].iloc[0]:.4f}"
            figures.curve(panel, part, "step", "share", style=style, label=label)
        panel.set_xscale("symlog", linthresh=50)
        panel.set(title=f"{dataset}: factors and their importance", xlabel="training step", ylabel="share known")
        panel.set_ylim(0, 1)
        panel.legend(frameon=False, fontsize=7)
    figures.save(figure, path)


def _order(values: pd.DataFrame) -> NDArray[np.float64]:
    """Return, per seed, Spearman's correlation of importance and what is known; 0 where all is known alike.

    Args:
        values: ``rank`` in the index with ``factor``, a column per seed.
    """
    ranks = -values.index.get_level_values("rank").to_numpy(np.float64)
    return np.array(
        [
            0.0 if np.ptp(values[seed]) <= 1e-9 else float(scipy.stats.spearmanr(ranks, values[seed]).statistic)
            for seed in values
        ]
    )


def judge_learned(table: pd.DataFrame) -> Verdict:
    """Judge that the more important a factor is, the more of it is learned, averaged over the snapshots of training.

    What is learned is the gain over the untrained encoder, which is the control: its codes tell factors apart, too, by
    how far they move pixels.
    """
    numbers: dict[str, float] = {}
    parts = []
    for dataset, here in table.groupby("dataset", sort=False):
        shares = here.pivot(index=["step", "factor", "rank"], columns="seed", values="share")
        before = pd.DataFrame(shares.loc[0])
        after = shares.drop(index=0, level="step").groupby(level=["factor", "rank"]).mean()
        gained = after - before.loc[after.index]
        order = _order(gained)
        parts.append(_heatmaps.against(order, AGREES))
        numbers[f"{dataset}, rank correlation of importance and gain"] = float(order.mean())
        numbers[f"{dataset}, control: the same before training"] = float(_order(before).mean())
        means = gained.mean(axis=1).sort_index(level="rank")
        for factor, gain in zip(means.index.get_level_values("factor"), means, strict=True):
            numbers[f"{dataset}, mean gain of {factor}"] = float(gain)
    return judged("rank correlation, above the bound", parts, numbers, TAKEN_OFF)


TAKEN_OFF = "control: what the untrained encoder knows is taken off"

LEAST_GAIN = 0.05
"""Share of a factor's entropy that must be gained for it to count as learned."""


def _learned_by(table: pd.DataFrame) -> pd.DataFrame:
    """Return the snapshot by which half of the most that is ever gained of a factor is there, the last if too little.

    Returns:
        Steps: a row per factor and rank, the most important ones first, and a column per seed.
    """
    shares = table.pivot(index=["rank", "factor", "step"], columns="seed", values="share")
    steps = {}
    for (rank, factor), course in shares.groupby(level=["rank", "factor"]):
        gained = course.droplevel(["rank", "factor"])
        gained = gained - gained.loc[0]
        found = (gained >= gained.max() / 2).idxmax()
        steps[rank, factor] = found.where(gained.max() >= LEAST_GAIN, gained.index.max())
    return pd.DataFrame(steps).T.rename_axis(["rank", "factor"])


def judge_first(table: pd.DataFrame) -> Verdict:
    """Judge that the most important factor, or one of those that tie with it, is learned before every other factor."""
    numbers: dict[str, float] = {}
    parts = []
    for dataset, here in table.groupby("dataset", sort=False):
        steps = _learned_by(here)
        foremost = steps.index.get_level_values("rank") == steps.index.get_level_values("rank").min()
        parts.append(verdicts.compare([steps[~foremost].min()], [steps[foremost].min()], paired=True))
        means = steps.mean(axis=1)
        for factor, step in zip(means.index.get_level_values("factor"), means, strict=True):
            numbers[f"{dataset}, step by which {factor} is learned"] = float(step)
        numbers[f"{dataset}, most important first in share of runs"] = float(
            (steps[foremost].min() < steps[~foremost].min()).mean()
        )
    return judged("steps", parts, numbers, TAKEN_OFF)


def _importance(tier: str, *, first: int = 0, **changes: Any) -> Plan:
    """Return the plan of what is learned of factors: small β-VAEs on rendered data, at every tier.

    Args:
        tier: the tier.
        first: the first seed.
        **changes: other keys of the runs' configs.
    """
    seeds = _tiers.SEEDS.get(tier, 5)
    own = {"snapshots": LEARNED_AT} | changes
    runs = tuple(
        _tiers.plain(
            RunConfig(dataset=dataset, objective="beta_vae", hyperparameters={"beta": 4}, latents=latents),
            seed=first + seed,
            **own,
        )
        for dataset, latents in (("sprites2d", 5), ("room3d", 6))[: 2 if tier == "study" else 1]
        for seed in range(seeds)
    )
    settings = {"runs": runs, "traversals": 200, "samples": 5_000}
    return Plan(runs=runs, settings=settings, seconds=40)


LEARNED_AT = (50, 100, 200, 400, 800, 1_500)
"""Snapshots beside the first and the last."""

FRESH: dict[str, Any] = {
    "first": _tiers.SEEDS["desk"],
    "steps": 1_500,
    "snapshots": (50, 100, 200, 300, 400, 500, 600, 800, 1_000),
}
"""Runs that ask which factor comes first. The question came from the others, so these have seeds of their own."""

BENCHMARK = sweep.find("michlo2023_benchmark")
BENCHMARK_SMALL = _tiers.board("smoke", ["sprites2d", "room3d", "xysquares/spacing_8"], ("beta_vae", "ada_gvae"))
CARS = next(
    run
    for run in BENCHMARK
    if (run.dataset, run.objective, run.latents) == ("cars3d/64_bilinear", "beta_vae", 9)
    and math.isclose(run.hyperparameters["beta"], _michlo2023.beta(run.dataset, 0.001))
)
"""The paper does not say which β-VAE figure 4 shows; this one weighs both terms most nearly as a VAE does."""
CARS_SMALL = _tiers.board("smoke", ["room3d"], ["beta_vae"])[0]
OVERLAP_SMALL = _tiers.board("smoke", [f"xysquares/spacing_{n}" for n in (8, 4, 2, 1)], ("beta_vae", "ada_gvae"))
FAILS_SMALL = _tiers.board("smoke", ["xysquares/spacing_8"], ["beta_vae"])[0]
OVERLAP = sweep.find("michlo2023_overlap")
BLUR = tuple(
    run
    for run in sweep.find("michlo2023_box_blur")
    if math.isclose(
        run.hyperparameters["beta"], max(r.hyperparameters["beta"] for r in sweep.find("michlo2023_box_blur"))
    )
)
BLUR_SMALL = tuple(_tiers.small(run, learning_rate=1e-3, latents=9) for run in BLUR if run.seed < _tiers.SEEDS["smoke"])


_BOTH = ("beta_vae", "ada_gvae")
_LADDER = tuple(f"xysquares/spacing_{n}" for n in (8, 4, 2, 1))
_DESK_LADDER, _DESK_ENDS, _DESK_BENCHMARK = (
    _tiers.board("desk", datasets, _BOTH)
    for datasets in (_LADDER, (_LADDER[0], _LADDER[-1]), ("sprites2d", "room3d", "xysquares/spacing_8"))
)
_DESK_LEVELS = _tiers.board("desk", ("room3d",), ("beta_vae",))
_DESK_FAILS = _tiers.board("desk", ("xysquares/spacing_8",), ("beta_vae",))[0]
_DESK_BLUR = tuple(
    _tiers.plain(run, latents=9, **({"symmetric": False} if run.objective == "ada_gvae" else {})) for run in BLUR
)
"""Ada-GVAE here has the one-sided divergence, as the board's has."""


_REDUCED_FAR = tuple(run for run in michlo2023_reduced.SWEEP if run.dataset == "xysquares/spacing_8")
"""With squared error, then with the blurred one."""


def _scored(runs: tuple[RunConfig, ...], seconds: float = 5.0) -> Plan:
    """Return the plan of runs that are scored, at desk tier."""
    return Plan(runs=runs, settings={"runs": runs}, codes=True, seconds=seconds * len(runs))


def _traversed(run: RunConfig) -> Plan:
    """Return the plan of a run whose latents are traversed."""
    return Plan(runs=(run,), settings={"run": run, "row": 0, "latents": 6, "columns": 8}, codes=True, seconds=5)


def _factors(*names: str) -> dict[str, tuple[str, ...]]:
    """Return the factors whose values have an order, by dataset."""
    chosen = {}
    for name in names:
        factors = benchmark_data.load(name).space.factors
        chosen[name] = tuple(factor.name for factor in factors if factor.size > 2 and factor.kind != "categorical")
    return chosen


def _matrices(
    datasets: tuple[str, ...], traversals: int, factors: Mapping[str, tuple[str, ...]], seconds: float
) -> Plan:
    return Plan(datasets=datasets, settings={"factors": factors, "traversals": traversals}, seconds=seconds)


def _each(dataset: str) -> dict[str, tuple[str, ...]]:
    """Return every factor by itself, as figure 4 has it."""
    return {name: (name,) for name in benchmark_data.load(dataset).space.names}


def _levels(runs: Iterable[RunConfig], factors: Mapping[str, tuple[str, ...]], **options: Any) -> Plan:
    runs = tuple(runs)
    own = {"runs": runs, "factors": factors, "traversals": options.pop("traversals")}
    return Plan(runs=runs, settings=own, **options)


def _blurred(runs: Iterable[RunConfig], **options: Any) -> Plan:
    """Return the plan of figure 10: the blur above, and all factors together, which have the same statistics."""
    chosen = sorted((run for run in runs if run.objective == "beta_vae"), key=lambda run: run.reconstruction)
    return _levels(chosen, {"all": benchmark_data.load(chosen[0].dataset).space.names}, **options)


def _ends(runs: Iterable[RunConfig], **options: Any) -> Plan:
    """Return the plan of the runs at spacings 1 and 8."""
    chosen = tuple(run for run in runs if run.dataset in (_LADDER[0], _LADDER[-1]))
    return Plan(runs=chosen, settings={"runs": chosen}, codes=True, **options)


_SPACED = dict.fromkeys(SPACINGS, ("x_R",))
_PUBLISHED = ("cars3d/64_bilinear", "shapes3d", "smallnorb/left_64_bilinear", "dsprites")
_RENDERED = ("sprites2d", "room3d")
_SQUARES = Plan(datasets=("xysquares/spacing_8",), settings={"datasets": ("xysquares/spacing_8",), "columns": 8})

ENTRIES = (
    Entry(
        id=f"{PAPER}/fig2",
        title="Traversals of the common datasets",
        paper="images along a factor change step by step",
        claim="None that could fail: images one step apart differ less than those at the ends of a factor.",
        smoke=Plan(datasets=_RENDERED, settings={"datasets": _RENDERED, "columns": 8}, seconds=5),
        study=Plan(datasets=_PUBLISHED, settings={"datasets": _PUBLISHED, "columns": 8}, seconds=10),
        compute=rows_of_traversals,
        draw=_images.draw,
        judge=judge_varying,
    ),
    Entry(
        id=f"{PAPER}/fig3",
        title="Distances between factor values and between images, common datasets",
        paper="both agree",
        claim="On common datasets the distance of images follows that of the factors (rank correlation above "
        f"{AGREES}).",
        smoke=_matrices(_RENDERED, 50, _factors(*_RENDERED), 10),
        study=_matrices(_PUBLISHED, 200, _factors(*_PUBLISHED), 100),
        compute=matrices,
        draw=draw_matrices,
        judge=judge_natural,
    ),
    Entry(
        id=f"{PAPER}/fig3_importance",
        title="Importance of factors by perceived distance, and what β-VAEs learn of them over training",
        paper="a factor is more important if a VAE prefers to learn it before another",
        claim="The more a factor moves pixels, the more a β-VAE learns of it, beyond what its untrained encoder "
        f"encodes (rank correlation above {AGREES}).",
        smoke=_importance("smoke"),
        desk=_importance("desk"),
        study=_importance("study"),
        compute=learned,
        draw=draw_learned,
        judge=judge_learned,
        added=True,
        stated=False,
    ),
    Entry(
        id=f"{PAPER}/fig3_first",
        title="Importance of factors by perceived distance, and the factor that β-VAEs learn first",
        paper="a factor is more important if a VAE prefers to learn it before another",
        claim="The most important factor is learned before every other: half of what is ever gained of it is there by "
        "an earlier snapshot.",
        smoke=_importance("smoke", **FRESH),
        desk=_importance("desk", **FRESH),
        study=_importance("study", **FRESH),
        compute=learned,
        draw=draw_learned,
        judge=judge_first,
        added=True,
        stated=False,
        post_hoc=True,
    ),
    Entry(
        id=f"{PAPER}/fig4",
        title="Distances at every level of a β-VAE on Cars3D",
        paper="all levels have the distances of the input",
        claim="The distances of latents and of reconstructions follow those of the input images along every factor "
        f"(rank correlation above {AGREES}).",
        smoke=_levels([CARS_SMALL], _each(CARS_SMALL.dataset), traversals=20, seconds=20),
        desk=_levels(_DESK_LEVELS, _each("room3d"), traversals=20, seconds=60),
        study=_levels([CARS], _each(CARS.dataset), traversals=20, seconds=300),
        compute=levels,
        draw=draw_levels,
        judge=judge_levels,
    ),
    Entry(
        id=f"{PAPER}/fig5",
        title="Traversals of XYSquares",
        paper="the squared error is constant along them",
        claim="None that could fail: the dataset is made so that any two images of a traversal are equally far apart.",
        smoke=_SQUARES,
        study=_SQUARES,
        compute=rows_of_traversals,
        draw=_images.draw,
        judge=judge_constant,
    ),
    Entry(
        id=f"{PAPER}/fig6",
        title="Scores of both objectives on five datasets",
        paper="the highest score over the settings is far lower on XYSquares",
        claim="The highest MIG and DCI over the settings are lower on XYSquares than on every other dataset, for β-VAE "
        "and Ada-GVAE.",
        smoke=Plan(runs=BENCHMARK_SMALL, settings={"runs": BENCHMARK_SMALL}, codes=True, seconds=50),
        desk=_scored(_DESK_BENCHMARK),
        study=Plan(runs=BENCHMARK, settings={"runs": BENCHMARK}, codes=True, seconds=6_000),
        compute=scored,
        draw=draw_densities,
        judge=judge_densities,
    ),
    Entry(
        id=f"{PAPER}/fig7",
        title="Latent traversals of a β-VAE on XYSquares",
        paper="latents move nothing that is a factor",
        claim="None that could fail: a random encoder has a low MIG, too.",
        smoke=_traversed(FAILS_SMALL),
        desk=_traversed(_DESK_FAILS),
        reduced=_traversed(michlo2023_reduced.SWEEP[0]),
        study=_traversed(OVERLAP[0]),
        compute=latents,
        draw=_images.draw,
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
        smoke=Plan(runs=OVERLAP_SMALL, settings={"runs": OVERLAP_SMALL}, codes=True, seconds=100),
        desk=_scored(_DESK_LADDER),
        reduced=_scored(michlo2023_reduced.SPACED),
        study=Plan(runs=OVERLAP, settings={"runs": OVERLAP}, codes=True, seconds=6_000),
        compute=scored_by_spacing,
        draw=of_table(_scores.draw_curves, x="spacing", group="objective"),
        judge=judge_scores_by_spacing,
    ),
    Entry(
        id=f"{PAPER}/fig9_ends",
        title="The two ends of figure 9",
        paper="MIG and DCI rise as the spacing falls",
        claim="MIG and DCI are higher at spacing 1 than at spacing 8, for β-VAE and Ada-GVAE.",
        smoke=_ends(OVERLAP_SMALL, seconds=50),
        desk=_ends(_DESK_ENDS, seconds=100),
        reduced=_ends(michlo2023_reduced.SPACED, seconds=200),
        study=_ends(OVERLAP, seconds=2_000),
        compute=scored_by_spacing,
        draw=of_table(_scores.draw_curves, x="spacing", group="objective"),
        judge=judge_scores_by_spacing,
        added=True,
    ),
    Entry(
        id=f"{PAPER}/fig10",
        title="Distances at every level of a β-VAE on XYSquares, with and without blur",
        paper="with the blur all levels have the distances of the factors, without it none",
        claim="At every level of a β-VAE on XYSquares, distances follow those of the factors better with the blur than "
        "without.",
        smoke=_blurred(BLUR_SMALL, traversals=10, seconds=30),
        desk=_blurred(_DESK_BLUR, traversals=10, seconds=60),
        reduced=_blurred(_REDUCED_FAR, traversals=10, seconds=120),
        study=_blurred(BLUR, traversals=50, seconds=300),
        compute=levels,
        draw=draw_levels,
        judge=judge_levels_blurred,
    ),
    Entry(
        id=f"{PAPER}/fig11",
        title="Scores with squared error and with blurred squared error",
        paper="the blur gives far higher MIG and DCI",
        claim="An error of blurred images raises MIG and DCI on XYSquares at spacing 8.",
        smoke=Plan(runs=BLUR_SMALL, settings={"runs": BLUR_SMALL}, codes=True, seconds=60),
        desk=_scored(_DESK_BLUR),
        reduced=_scored(_REDUCED_FAR),
        study=Plan(runs=BLUR, settings={"runs": BLUR}, codes=True, seconds=1_000),
        compute=scored,
        draw=of_table(_scores.draw_bars, x="objective", group="reconstruction", scores=SCORES),
        judge=judge_blur,
    ),
)
