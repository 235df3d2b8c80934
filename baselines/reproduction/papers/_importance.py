"""Importance of factors by perceived distance, and whether VAEs learn them in that order (Michlo et al. 2023)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import scipy.stats
from numpy.typing import NDArray

import benchmark_data
from baselines.config import RunConfig
from baselines.reproduction.entries import Outcome, Plan, Runs, Verdict, combine, from_table
from baselines.reproduction.papers import _heatmaps, _perceived, _scores, _tiers
from benchmark_data.inspect import audit
from leaderboard import information, protocol
from leaderboard.store import verdicts


def learned(settings: Mapping[str, Any], runs: Runs, tier: str) -> Outcome:
    """Measure the importance of factors, and the share of each that models encode at each snapshot.

    Returns:
        A row per run, snapshot and factor: ``dataset``, ``seed``, ``step``, ``factor``, its ``importance`` (the mean
        perceived distance of images that differ in it alone) and ``rank`` by it, from 1, tied factors alike; and
        ``share``, the share of its entropy encoded by the best latent (20 bins, as in MIG).
    """
    rows: list[tuple[Any, ...]] = []
    audits = {
        name: audit.audit(benchmark_data.load(name), traversals=settings["traversals"])
        for name in dict.fromkeys(config.dataset for config in settings["runs"])
    }
    for config in settings["runs"]:
        task = protocol.task(config.dataset)
        test_rows = task.test[: settings["samples"]]
        labels = task.load().labels(test_rows)
        names = list(task.load().space.names)
        ranks = _factor_ranks(audits[config.dataset].order())
        importance = {audited.factor.name: audited.importance.value for audited in audits[config.dataset].factors}
        for step in runs.open(config).steps:
            mean = runs.open(config, step=step).encode(task.load().images(test_rows)).mean
            pairwise = information.pairwise(mean, labels[:, [names.index(name) for name in ranks]])
            shares = (pairwise.information / pairwise.factors).max(axis=0)
            rows += [
                (config.dataset, config.seed, step, name, importance[name], rank, float(share))
                for (name, rank), share in zip(ranks.items(), shares, strict=True)
            ]
    return Outcome(pd.DataFrame(rows, columns=["dataset", "seed", "step", "factor", "importance", "rank", "share"]))


def _factor_ranks(groups: Sequence[Sequence[str]]) -> dict[str, float]:
    """Return the rank of each factor, from 1; factors of a group share one rank."""
    ranks: dict[str, float] = {}
    for group in groups:
        ranks |= dict.fromkeys(group, len(ranks) + (len(group) + 1) / 2)
    return ranks


def _rank_correlations(values: pd.DataFrame) -> NDArray[np.float64]:
    """Return, per seed, Spearman's correlation of importance and encoded share; the bound if all shares are equal.

    Args:
        values: ``rank`` in the index with ``factor``, a column per seed.
    """
    ranks = -values.index.get_level_values("rank").to_numpy(np.float64)
    return np.array(
        [
            _perceived.AGREES
            if np.ptp(values[seed]) <= 1e-9
            else float(scipy.stats.spearmanr(ranks, values[seed]).statistic)
            for seed in values
        ]
    )


def judge_learned(table: pd.DataFrame) -> Verdict:
    """Judge that the more important a factor is, the more of it is learned, averaged over the snapshots of training.

    What is learned is the gain over the untrained encoder, as a control: its codes also encode factors by how much they
    change pixels.
    """
    numbers: dict[str, float] = {}
    comparisons = []
    for dataset, dataset_rows in table.groupby("dataset", sort=False):
        shares = dataset_rows.pivot(index=["step", "factor", "rank"], columns="seed", values="share")
        before = pd.DataFrame(shares.loc[0])
        after = shares.drop(index=0, level="step").groupby(level=["factor", "rank"]).mean()
        gained = after - before.loc[after.index]
        correlations = _rank_correlations(gained)
        comparisons.append(_heatmaps.compare_with_bound(correlations, _perceived.AGREES))
        numbers[f"{dataset}, rank correlation of importance and gain"] = float(correlations.mean())
        numbers[f"{dataset}, control: the same before training"] = float(_rank_correlations(before).mean())
        means = gained.mean(axis=1).sort_index(level="rank")
        for factor, gain in zip(means.index.get_level_values("factor"), means, strict=True):
            numbers[f"{dataset}, mean gain of {factor}"] = float(gain)
    return combine("rank correlation from the bound", comparisons, numbers, TAKEN_OFF)


DRAW = from_table(_scores.draw_lines, panel="dataset", x="step", y="share", group="factor", xscale="symlog")


TAKEN_OFF = "control: what the untrained encoder knows is taken off"


LEAST_GAIN = 0.05
"""Share of a factor's entropy that must be gained for it to count as learned."""


def _learning_steps(table: pd.DataFrame) -> pd.DataFrame:
    """Return the snapshot at which half of a factor's largest gain is reached; the last one if that gain is too small.

    Returns:
        Steps: a row per factor and rank, the most important ones first, and a column per seed.
    """
    shares = table.pivot(index=["rank", "factor", "step"], columns="seed", values="share")
    steps = {}
    for (rank, factor), shares_by_step in shares.groupby(level=["rank", "factor"]):
        gained = shares_by_step.droplevel(["rank", "factor"])
        gained = gained - gained.loc[0]
        half_steps = (gained >= gained.max() / 2).idxmax()
        steps[rank, factor] = half_steps.where(gained.max() >= LEAST_GAIN, gained.index.max())
    return pd.DataFrame(steps).T.rename_axis(["rank", "factor"])


def judge_first(table: pd.DataFrame) -> Verdict:
    """Judge that the most important factor, or one of those that tie with it, is learned before every other factor."""
    numbers: dict[str, float] = {}
    comparisons = []
    for dataset, dataset_rows in table.groupby("dataset", sort=False):
        steps = _learning_steps(dataset_rows)
        is_foremost = steps.index.get_level_values("rank") == steps.index.get_level_values("rank").min()
        comparisons.append(verdicts.compare([steps[~is_foremost].min()], [steps[is_foremost].min()], paired=True))
        mean_steps = steps.mean(axis=1)
        for factor, step in zip(mean_steps.index.get_level_values("factor"), mean_steps, strict=True):
            numbers[f"{dataset}, step by which {factor} is learned"] = float(step)
        numbers[f"{dataset}, most important first in share of runs"] = float(
            (steps[is_foremost].min() < steps[~is_foremost].min()).mean()
        )
    return combine("steps", comparisons, numbers, TAKEN_OFF)


def plan(tier: str, *, seeds: Sequence[int] = range(_tiers.SEEDS), **changes: Any) -> Plan:
    """Return the plan of the order of learning: small β-VAEs on rendered data, at every tier.

    Args:
        tier: the tier.
        seeds: the seeds of the runs on each dataset.
        **changes: other keys of the runs' configs.
    """
    options = {"snapshots": LEARNED_AT} | changes
    runs = tuple(
        _tiers.small_fc_run(
            RunConfig(dataset=dataset, objective="beta_vae", hyperparameters={"beta": 4}, latents=latents),
            seed=seed,
            **options,
        )
        for dataset, latents in (("dsprites", 5), ("room3d", 6))[: 2 if tier == "study" else 1]
        for seed in seeds
    )
    settings = {"runs": runs, "traversals": 200, "samples": 5_000}
    return Plan(runs=runs, settings=settings)


LEARNED_AT = (50, 100, 200, 400, 800, 1_500)
"""Snapshots in addition to the first and the last."""


FRESH: dict[str, Any] = {
    "seeds": range(_tiers.SEEDS, _tiers.SEEDS + 20),
    "steps": 1_500,
    "snapshots": (50, 100, 200, 300, 400, 500, 600, 800, 1_000),
}
"""Runs that test which factor is learned first. The question arose from the other runs, so these have other seeds.

Twenty, since with five the verdict changed when they were trained again: steps are known only at snapshots.
"""
