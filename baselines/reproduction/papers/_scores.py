"""MIG and DCI of runs, scored once for each tier and kept beside the runs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from baselines import references
from baselines.config import RunConfig
from baselines.reproduction.runner import Runs
from benchmark_data import files
from leaderboard import figures, protocol
from leaderboard.scoring import evaluate, measure
from leaderboard.store import verdicts


def scores(runs: Runs, config: RunConfig, tier: str) -> dict[str, float]:
    """Score a run with a tier's metrics, or read what was scored before.

    Args:
        runs: where the run is.
        config: its config; it has codes.
        tier: ``smoke`` or ``study``.

    Returns:
        Score -> value, as `leaderboard.scoring.measure.score` names them.
    """
    task = protocol.task(config.dataset)
    path = runs.root / "scores" / f"{config.digest}_{task.version}_{tier}.json"
    if not path.exists():
        codes = evaluate.read_codes(runs.open(config).folder / "codes.npz", task)
        files.write_json(path, measure.score(codes, task, protocol.tier(tier)).scores)
    held: Any = files.read_json(path)
    return {name: float(value) for name, value in held.items()}


def of_pca(runs: Runs, dataset: str, tier: str) -> dict[str, float]:
    """Score PCA on a dataset, or read what was scored before: what comes for free, which a model must exceed.

    Returns:
        Score -> value.
    """
    task = protocol.task(dataset)
    folder = runs.root / "floors" / dataset.replace("/", "-")
    path = folder / f"{task.version}_{tier}.json"
    if not path.exists():
        references.write("pca", task.load(), folder / "pca")
        codes = evaluate.read_codes(folder / "pca" / "codes.npz", task)
        files.write_json(path, measure.score(codes, task, protocol.tier(tier)).scores)
    held: Any = files.read_json(path)
    return {name: float(value) for name, value in held.items()}


def floor(part: pd.DataFrame, score: str) -> float:
    """Return what the mean score of runs on one dataset must reach for a fall from there to be judged.

    Args:
        part: rows of `table`, of one dataset.
        score: ``mig`` or ``dci_disentanglement``.

    Returns:
        PCA's score; for MIG at least `leaderboard.store.verdicts.FLOOR`.
    """
    return max(float(part[f"pca_{score}"].max()), verdicts.FLOOR if score == "mig" else 0.0)


def table(runs: Runs, configs: Iterable[RunConfig], tier: str) -> pd.DataFrame:
    """Score runs.

    Returns:
        A row per run: ``dataset``, ``objective``, ``reconstruction``, ``seed``, ``digest``, ``mig``,
        ``dci_disentanglement``, and what PCA has of both on the dataset, ``pca_mig`` and ``pca_dci_disentanglement``.
    """
    rows = []
    free: dict[str, dict[str, float]] = {}
    for config in configs:
        if config.dataset not in free:
            free[config.dataset] = of_pca(runs, config.dataset, tier)
        found = scores(runs, config, tier)
        rows.append(
            {
                "dataset": config.dataset,
                "objective": config.objective,
                "reconstruction": config.reconstruction,
                "seed": config.seed,
                "digest": config.digest[:16],
                "mig": found["mig"],
                "dci_disentanglement": found["dci.disentanglement"],
                "pca_mig": free[config.dataset]["mig"],
                "pca_dci_disentanglement": free[config.dataset]["dci.disentanglement"],
            }
        )
    return pd.DataFrame(rows)


def draw_curves(frame: pd.DataFrame, path: Path, *, x: str, group: str) -> None:
    """Draw MIG beside DCI disentanglement over a number, a line per group with a band over runs."""
    figures.check_columns(frame, [x, group, "mig", "dci_disentanglement"])
    figure, axes = figures.panels(1, 2)
    for panel, score, title in zip(
        axes[0], ("mig", "dci_disentanglement"), ("MIG", "DCI disentanglement"), strict=True
    ):
        for style, (name, part) in enumerate(frame.groupby(group, sort=False)):
            figures.curve(panel, part, x, score, style=style, label=str(name))
        panel.set(title=title, xlabel=x.replace("_", " "), ylim=(0, None))
    axes[0, 0].legend(frameon=False, fontsize=8)
    figures.save(figure, path)


def draw_bars(frame: pd.DataFrame, path: Path, *, x: str, group: str, scores: tuple[str, ...] = ("mig",)) -> None:
    """Draw the mean of scores with their standard deviation, bars of a group side by side."""
    figures.check_columns(frame, [x, group, *scores])
    names, groups = list(frame[x].unique()), list(frame[group].unique())
    figure, axes = figures.panels(1, len(scores), width=1.2 + 1.1 * len(names))
    for panel, score in zip(axes[0], scores, strict=True):
        for place, name in enumerate(groups):
            values = frame[frame[group] == name].groupby(x)[score].agg(["mean", "std"]).reindex(names).fillna(0.0)
            at = [i + (place - (len(groups) - 1) / 2) * 0.8 / len(groups) for i in range(len(names))]
            colour = figures.COLOURS[place % len(figures.COLOURS)]
            panel.bar(at, values["mean"], 0.8 / len(groups), yerr=values["std"], color=colour, label=str(name))
        panel.set_xticks(range(len(names)), names, fontsize=8, rotation=20, ha="right")
        panel.set_title(score.replace("_", " "), fontsize=9)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside right upper", frameon=False, fontsize=8)
    figures.save(figure, path)
