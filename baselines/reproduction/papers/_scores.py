"""MIG and DCI of runs, scored once for each tier and cached next to the runs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import benchmark_data
from baselines import objectives, untrained
from baselines.config import RunConfig
from baselines.record import about
from baselines.reproduction.entries import Runs
from benchmark_data import files
from leaderboard import figures, protocol
from leaderboard.scoring import candidates, measure
from leaderboard.store import verdicts

METRICS = ("mig", "dci")
"""The metrics that papers report."""

SCORED_AS = {"reduced": "desk"}
"""Tier of a study -> the protocol's tier whose metrics it uses, if that has another name."""


def scores(runs: Runs, config: RunConfig, tier: str, metrics: Sequence[str] = METRICS) -> dict[str, float]:
    """Score a run with a tier's metrics, or read cached scores.

    Args:
        runs: the root of the run.
        config: its config; its codes must exist.
        tier: the tier of the study, which determines the metrics' arguments.
        metrics: the metrics, of the tier's.

    Returns:
        Score -> value, with names as in `leaderboard.scoring.measure.score_codes`.
    """
    file = runs.open(config).folder / "codes.npz"

    @functools.cache
    def codes() -> NDArray[np.float32]:
        return candidates.read_codes(file, protocol.task(config.dataset))[0]

    path = runs.root / "scores" / f"{files.hash_of(file)}_{protocol.VERSION}"
    return _cached_scores(path, config.dataset, tier, metrics, codes)


def score_pca(runs: Runs, dataset: str, tier: str, metrics: Sequence[str] = METRICS) -> dict[str, float]:
    """Score PCA on a dataset, or read cached scores: a baseline without training, which a model must exceed.

    Returns:
        Score -> value.
    """
    loaded = benchmark_data.load(dataset)

    @functools.cache
    def codes() -> NDArray[np.float32]:
        return untrained.find("pca").codes(loaded, protocol.task(dataset).indices, seed=0)

    path = runs.root / "floors" / f"{dataset.replace('/', '-')}_{loaded.version}" / protocol.VERSION
    return _cached_scores(path, dataset, tier, metrics, codes)


def _cached_scores(
    path: Path, dataset: str, tier: str, metrics: Sequence[str], codes: Callable[[], NDArray[np.float32]]
) -> dict[str, float]:
    """Score with each metric and cache its scores in a file, or read them from there."""
    task, tier = protocol.task(dataset), SCORED_AS.get(tier, tier)
    values: dict[str, float] = {}
    for measurement in (candidate for candidate in protocol.tier(tier).measurements if candidate.metric in metrics):
        file = path.with_name(f"{path.name}_{tier}_{measurement.metric}.json")
        if not file.exists():
            new_scores = measure.score_codes(codes(), task.labels(), [measurement], train=len(task.train)).scores
            files.write_json(file, new_scores)
        values |= files.read_json(file)
    return values


def floor(part: pd.DataFrame, score: str) -> float:
    """Return the baseline that the mean score on one dataset must reach for a decrease from it to be tested.

    Args:
        part: rows of `table`, of one dataset.
        score: ``mig`` or ``dci_disentanglement``.

    Returns:
        As `leaderboard.store.verdicts.floor`.
    """
    return verdicts.floor(score, float(part[f"pca_{score}"].max()))


def table(runs: Runs, configs: Iterable[RunConfig], tier: str, metrics: Sequence[str] = METRICS) -> pd.DataFrame:
    """Score runs.

    Args:
        runs: the root of the runs.
        configs: the runs.
        tier: the tier of the study.
        metrics: ``mig``, ``dci`` or both.

    Returns:
        A row per run: ``dataset``, ``objective``, ``reconstruction``, ``seed``, ``digest``, and of each metric the
        score and that of PCA on the dataset: ``mig`` and ``pca_mig``, ``dci_disentanglement`` and
        ``pca_dci_disentanglement``.
    """
    rows = []
    for config in configs:
        run_scores, pca_scores = scores(runs, config, tier, metrics), score_pca(runs, config.dataset, tier, metrics)
        row: dict[str, Any] = {
            "dataset": config.dataset,
            "objective": config.objective,
            "reconstruction": config.reconstruction,
            "seed": config.seed,
            "digest": config.digest[:16],
        }
        for key in (KEYS[metric] for metric in metrics):
            row |= {_column_name(key): run_scores[key], f"pca_{_column_name(key)}": pca_scores[key]}
        rows.append(row)
    return pd.DataFrame(rows)


KEYS = {"mig": "mig", "dci": "dci.disentanglement"}
"""Metric -> its score that papers report."""


def _column_name(key: str) -> str:
    return key.replace(".", "_")


TITLES = {"mig": "MIG", "dci_disentanglement": "DCI disentanglement"}
"""Column of `table` -> its label in pictures."""


def label(name: str) -> str:
    """Return the label of an objective or a reconstruction loss in pictures; other names are not changed.

    Example:
        >>> label("beta_vae"), label("mse"), label("squeezed")
        ('β-VAE', 'squared error', 'squeezed')
    """
    losses = {"mse": "squared error", "box_blur": "error with blur"}
    return str(about(name)["title"]) if name in objectives.names() else losses.get(name, name)


def draw_lines(frame: pd.DataFrame, path: Path, *, panel: str, x: str, y: str, group: str, **shape: Any) -> None:
    """Draw a panel for each value of one column, with a line for each group and a band over runs.

    Args:
        frame: the table.
        path: the PNG.
        panel: the column that has a panel for each value.
        x: the column of the x axis.
        y: the column of the y axis.
        group: the column that has a line for each value.
        **shape: properties of matplotlib's axes, such as ``yscale``.
    """
    panels = list(frame.groupby(panel, sort=False))
    figure, axes = figures.panels(1, len(panels), width=4.0)
    for axis, (title, panel_rows) in zip(axes[0], panels, strict=True):
        for style, (name, group_rows) in enumerate(panel_rows.groupby(group, sort=False)):
            figures.curve(axis, group_rows, x, y, style=style, label=label(str(name)))
        axis.set(title=title, xlabel=x.replace("_", " "), ylabel=y, **shape)
        axis.legend(frameon=False, fontsize=7)
    figures.save(figure, path)


def draw_curves(frame: pd.DataFrame, path: Path, *, x: str, group: str) -> None:
    """Draw MIG and DCI disentanglement side by side over a number, a line per group with a band over runs."""
    scores = frame.rename(columns=TITLES).melt([x, group], list(TITLES.values()), "panel", "score")
    draw_lines(scores, path, panel="panel", x=x, y="score", group=group)


def draw_bars(frame: pd.DataFrame, path: Path, *, x: str, group: str, scores: tuple[str, ...] = ("mig",)) -> None:
    """Draw the mean of scores with their standard deviation, bars of a group side by side."""
    names, groups = list(frame[x].unique()), list(frame[group].unique())
    figure, axes = figures.panels(1, len(scores), width=1.2 + 1.1 * len(names))
    for panel, score in zip(axes[0], scores, strict=True):
        for index, value in enumerate(groups):
            stats = frame[frame[group] == value].groupby(x)[score].agg(["mean", "std"]).reindex(names).fillna(0.0)
            slots = [i + (index - (len(groups) - 1) / 2) * 0.8 / len(groups) for i in range(len(names))]
            colour = figures.COLOURS[index % len(figures.COLOURS)]
            panel.bar(slots, stats["mean"], 0.8 / len(groups), yerr=stats["std"], color=colour, label=label(str(value)))
        panel.set_xticks(range(len(names)), [label(str(name)) for name in names], fontsize=8, rotation=20, ha="right")
        panel.set_title(TITLES.get(score, score.replace("_", " ")), fontsize=9)
        panel.set_ylim(bottom=0)
    axes[0, 0].set_ylabel("mean ± standard deviation", fontsize=8)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside right upper", frameon=False, fontsize=8)
    figures.save(figure, path)
