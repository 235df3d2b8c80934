"""Heatmaps of layers, which half of two papers is made of: what is compared is data, the rest is here once."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from baselines.config import RunConfig
from baselines.reproduction.papers import _smoke
from baselines.reproduction.runner import Found, Plan, Runs, Transfer, Verdict
from leaderboard import figures, protocol
from leaderboard.comparisons import heatmap

ALIKE = 0.8
"""What the papers call a high similarity of encoder layers (2205.08399, figure 14)."""


class Side(NamedTuple):
    """One side of a panel: the same model with several seeds.

    Attributes:
        runs: the configs or transfers, one per seed.
        share: of the training, from 0 to 1: the kept snapshot that is nearest.
    """

    runs: tuple[RunConfig | Transfer, ...]
    share: float = 1.0


class Panel(NamedTuple):
    """A heatmap, averaged over seeds. Both models see images of the dataset that the second was trained on.

    Attributes:
        title: what stands above.
        x: rows.
        y: columns.
        similarity: as `leaderboard.comparisons.heatmap.compare_layers` takes it.
    """

    title: str
    x: Side
    y: Side
    similarity: str = "cka"


def plans(panels: Sequence[Panel]) -> dict[str, Plan]:
    """Give the plans of both tiers, as arguments of `baselines.reproduction.runner.Entry`."""
    small = [panel._replace(title=_named(panel.title), x=_small(panel.x), y=_small(panel.y)) for panel in panels]
    return {
        "smoke": _plan(small, samples=500, seconds=10.0 * len(panels)),
        "study": _plan(panels, samples=5_000, seconds=3_600.0 * len(panels)),
    }


def _named(title: str) -> str:
    """Name the stand-ins in place of the datasets."""
    for published, rendered in _smoke.STAND_INS.items():
        title = re.sub(published, rendered, title, flags=re.IGNORECASE)
    return title


def _small(side: Side) -> Side:
    seeds = side.runs[: _smoke.SEEDS]
    return side._replace(
        runs=tuple(_smoke.transfer(each) if isinstance(each, Transfer) else _smoke.run(each) for each in seeds)
    )


def _plan(panels: Sequence[Panel], *, samples: int, seconds: float) -> Plan:
    every = {run.digest: run for panel in panels for side in (panel.x, panel.y) for run in side.runs}
    transfers = tuple(run for run in every.values() if isinstance(run, Transfer))
    first = [run for run in every.values() if isinstance(run, RunConfig)]
    runs = {run.digest: run for run in (*first, *(each.source for each in transfers))}
    rendered = {run.dataset for run in runs.values() if _smoke.family(run.dataset) in _smoke.SECONDS}
    return Plan(
        runs=tuple(runs.values()),
        transfers=transfers,
        settings={"panels": tuple(panels), "samples": samples},
        seconds=seconds,
        training=_smoke.training(*rendered),
    )


def step_at(config: RunConfig, share: float) -> int:
    """Give the kept step that is nearest to a share of the training.

    Example:
        >>> config = RunConfig(dataset="sprites2d", objective="beta_vae", steps=100, snapshots=30)
        >>> step_at(config, 0.01), step_at(config, 0.5), step_at(config, 1)
        (30, 60, 100)
    """
    kept = [step for step in range(1, config.steps + 1) if config.keeps(step)]
    return min(kept, key=lambda step: abs(step - share * config.steps))


def activations(
    runs: Runs, config: RunConfig, step: int, samples: int, dataset: str = ""
) -> dict[str, NDArray[np.float32]]:
    """Take the activations of a run's layers on the first held-out rows of a dataset, its own if none is named."""
    task = protocol.task(dataset or config.dataset)
    return runs.open(config, step=step).activations(task.load().images(task.test[:samples]))


def compute(settings: Mapping[str, Any], runs: Runs, tier: str) -> Found:
    """Compare the layers of every panel: a row per panel and pair of layers."""
    tables = []
    for panel in settings["panels"]:
        pairs = (
            tuple(
                activations(runs, config, step_at(config, side.share), settings["samples"], y.dataset)
                for config, side in ((runs.config(x), panel.x), (runs.config(y), panel.y))
            )
            for x, y in zip(panel.x.runs, panel.y.runs, strict=True)
        )
        frame = heatmap.compare_runs(pairs, similarity=panel.similarity)  # type: ignore[arg-type]
        long = frame.rename_axis("layer_x").reset_index().melt("layer_x", var_name="layer_y", value_name="similarity")
        tables.append(long.assign(panel=panel.title))
    return Found(pd.concat(tables, ignore_index=True)[["panel", "layer_x", "layer_y", "similarity"]])


def draw(found: Found, path: Path) -> None:
    """Draw the panels beside each other."""
    figures.check_columns(found.table, ["panel", "layer_x", "layer_y", "similarity"])
    frames = {}
    for title, part in found.table.groupby("panel", sort=False):
        frame = part.pivot(index="layer_x", columns="layer_y", values="similarity")
        frames[str(title)] = frame.loc[part["layer_x"].unique(), part["layer_y"].unique()]
    heatmap.draw(frames, path)


def diagonal(table: pd.DataFrame, network: str) -> pd.Series[float]:
    """Average the similarity of each layer of a network with itself, for each panel.

    Args:
        table: as from `compute`.
        network: ``"encoder"`` or ``"decoder"``. Heads, samples and the output count for neither. A layer that is the
            input itself, such as the first of a fully connected encoder, which only flattens it, does not count.

    Returns:
        Panel -> mean similarity, in the order of the panels.
    """
    same = table[(table["layer_x"] == table["layer_y"]) & table["layer_x"].str.startswith(f"{network}_")]
    inputs = table[(table["layer_y"] == "input") & table["layer_x"].str.startswith(f"{network}_")]
    least = inputs.groupby("layer_x")["similarity"].min()
    same = same[~same["layer_x"].isin(least.index[least > 1 - 1e-6])]
    means: pd.Series[float] = same.groupby("panel", sort=False)["similarity"].mean()
    return means


def encoder_above_decoder(table: pd.DataFrame) -> Verdict:
    """Judge that encoder layers are more similar than decoder layers in every panel."""
    encoder, decoder = diagonal(table, "encoder"), diagonal(table, "decoder")
    numbers = {
        f"{panel}, {network}": means[panel]
        for panel in encoder.index
        for network, means in (("encoder", encoder), ("decoder", decoder))
    }
    return Verdict(bool((encoder > decoder).all()), numbers)


def encoders_alike(table: pd.DataFrame) -> Verdict:
    """Judge that encoder layers are similar, at least `ALIKE` on average, in every panel."""
    encoder = diagonal(table, "encoder")
    return Verdict(bool((encoder >= ALIKE).all()), {f"{panel}, encoder": encoder[panel] for panel in encoder.index})


def decoder_falls(table: pd.DataFrame) -> Verdict:
    """Judge that decoder layers are more similar in the first panel than in the second."""
    decoder = diagonal(table, "decoder")
    first, second = decoder.iloc[:2]
    return Verdict(bool(first > second), {f"{panel}, decoder": decoder[panel] for panel in decoder.index})


def decoder_rises(table: pd.DataFrame) -> Verdict:
    """Judge that decoder layers are more similar in the last panel than in the first, and encoder layers high first."""
    encoder, decoder = diagonal(table, "encoder"), diagonal(table, "decoder")
    numbers = {
        "decoder, first": decoder.iloc[0],
        "decoder, last": decoder.iloc[-1],
        "encoder, first": encoder.iloc[0],
    }
    return Verdict(bool(encoder.iloc[0] > decoder.iloc[0] and decoder.iloc[-1] > decoder.iloc[0]), numbers)


def metrics_agree(table: pd.DataFrame) -> Verdict:
    """Judge that two similarities, CKA in the first panel, give the same order of encoder and decoder layers."""
    encoder, decoder = diagonal(table, "encoder"), diagonal(table, "decoder")
    gaps = encoder - decoder
    numbers = {f"{panel}, encoder above decoder by": gaps[panel] for panel in gaps.index}
    return Verdict(bool((np.sign(gaps) == np.sign(gaps.iloc[0])).all()), numbers)
