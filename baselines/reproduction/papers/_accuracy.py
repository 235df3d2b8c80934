"""How well labels are read from the codes of an encoder: the tables of Bonheme and Grześ (2023)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from baselines.config import RunConfig
from baselines.reproduction.entries import Found, Runs, Verdict, judged
from baselines.reproduction.papers import _scores
from benchmark_data import files
from leaderboard import protocol
from leaderboard.analyses import transfer_accuracy
from leaderboard.store import verdicts

NEAR = 0.1
"""A loss of accuracy below which an encoder is called on par: more than any that the paper calls so (table 4)."""


OWN, OTHER, UNTRAINED = "trained on the target", "trained on the source", "untrained"


def accuracy(runs: Runs, config: RunConfig, target: str, settings: Mapping[str, Any], step: int | None) -> pd.DataFrame:
    """Measure how well classifiers read each label of a target from a run's codes, or read what was measured before.

    Args:
        runs: where the run is.
        config: its config.
        target: the dataset that is encoded.
        settings: ``train``, how many of the task's rows the classifiers learn from, and ``test``, how many of its
            held-out rows they are tested on.
        step: the run's snapshot; the last one if None.

    Returns:
        As `leaderboard.analyses.transfer_accuracy.measure` gives it; ``source`` is the dataset that the run was trained
        on, or `UNTRAINED` at step 0.
    """
    task, train, test = protocol.task(target), settings["train"], settings["test"]
    name = f"{config.digest}_{target.replace('/', '-')}_{task.version}_{train}_{test}"
    path = runs.root / "accuracies" / f"{name}{'' if step is None else f'_{step}'}.json"
    if not path.exists():
        places = np.r_[:train, len(task.train) : len(task.train) + test]
        codes = runs.open(config, step=step).encode_rows(task.indices[places], task.load())
        source = UNTRAINED if step == 0 else config.dataset
        held_out = np.arange(len(places)) >= train
        table = transfer_accuracy.measure({source: codes}, task.labels()[places], task.scored, test=held_out)
        files.write_json(path, table.to_dict("records"))
    held: Any = files.read_json(path)
    return pd.DataFrame(held)


def accuracies(settings: Mapping[str, Any], runs: Runs, tier: str) -> Found:
    """Measure accuracies: a row per target, encoder, seed, classifier and label.

    The untrained encoders are those that the target's own started from.
    """
    tables = [
        accuracy(runs, config, target, settings, step).assign(target=target, seed=config.seed)
        for target, configs in settings["targets"].items()
        for config in configs
        for step in ([None, 0] if config.dataset == target else [None])
    ]
    table = pd.concat(tables, ignore_index=True)
    if settings["labels"]:
        table = table[table["label"].isin(settings["labels"])]
    columns = ["target", "source", "seed", "classifier", "label"]
    return Found(table.drop_duplicates(columns)[[*columns, "train", "test", "unseen"]].reset_index(drop=True))


def _encoder(table: pd.DataFrame) -> pd.Series[str]:
    """Say whose codes each row has: the target's own encoder's, the other one's, an untrained one's, or none."""
    names = [
        source if source in (transfer_accuracy.MAJORITY, UNTRAINED) else OWN if source == target else OTHER
        for source, target in zip(table["source"], table["target"], strict=True)
    ]
    return pd.Series(names, table.index)


def draw_averages(found: Found, path: Path) -> None:
    """Draw accuracies averaged over labels: a panel per classifier, a group of bars per target."""
    table = found.table.assign(encoder=_encoder(found.table))
    keys = ["target", "encoder", "seed"]
    wide = table.groupby([*keys, "classifier"], sort=False)["test"].mean().unstack()
    for classifier in transfer_accuracy.CLASSIFIERS:
        wide[classifier] = wide[classifier].fillna(wide["constant"])
    wide = wide.rename(columns=transfer_accuracy.TITLES).reset_index()
    wide = wide.sort_values(
        "encoder", key=lambda names: names.map([OWN, OTHER, UNTRAINED, transfer_accuracy.MAJORITY].index), kind="stable"
    )
    titles = tuple(transfer_accuracy.TITLES[classifier] for classifier in transfer_accuracy.CLASSIFIERS)
    _scores.draw_bars(wide, path, x="target", group="encoder", scores=titles)


def _trees(table: pd.DataFrame, key: str) -> tuple[pd.DataFrame, dict[str, float]]:
    """Average the accuracy of boosted trees on held-out rows.

    Returns:
        A row per key and encoder, a column per seed, and the means by phrase.
    """
    chosen = table[table["classifier"].isin(["gbt", "constant"])]
    chosen = chosen.assign(encoder=_encoder(chosen))
    found = chosen.groupby([key, "encoder", "seed"], sort=False)["test"].mean().unstack()
    names = [f"{name}, {encoder}" for name, encoder in found.index]
    return found, dict(zip(names, found.mean(axis=1).tolist(), strict=True))


def _keys(found: pd.DataFrame) -> list[Any]:
    return list(dict.fromkeys(found.index.get_level_values(0)))


def _seeds(found: pd.DataFrame, key: Any, encoder: str) -> NDArray[np.float64]:
    return np.asarray(found.loc[(key, encoder)].dropna(), np.float64)


def judge_averages(table: pd.DataFrame) -> Verdict:
    """Judge that the last target's own encoder is better than the other, and those before it by less than `NEAR`."""
    found, numbers = _trees(table, "target")
    targets = _keys(found)
    parts = []
    for target in targets:
        own, other = (_seeds(found, target, encoder) for encoder in (OWN, OTHER))
        parts.append(verdicts.compare([own], [other]) if target == targets[-1] else _nearly(other, own))
    return judged("accuracy from the bound", parts, numbers)


def judge_better(table: pd.DataFrame, key: str, better: str, worse: str) -> Verdict:
    """Judge that an encoder is better than another one on every target, or for every label."""
    found, numbers = _trees(table, key)
    parts = [verdicts.compare([_seeds(found, one, better)], [_seeds(found, one, worse)]) for one in _keys(found)]
    return judged("accuracy", parts, numbers)


def judge_nearly_every_label(table: pd.DataFrame) -> Verdict:
    """Judge that each label is read from codes of the other encoder nearly as well as from the target's own."""
    found, numbers = _trees(table, "label")
    return judged(
        "accuracy from the bound",
        [_nearly(*(_seeds(found, label, one) for one in (OTHER, OWN))) for label in _keys(found)],
        numbers,
    )


def _nearly(other: NDArray[np.float64], own: NDArray[np.float64]) -> verdicts.Comparison:
    """Compare accuracies of which the first are said to be less than `NEAR` below the second."""
    return verdicts.compare([other + NEAR], [own])


def judge_positions(table: pd.DataFrame) -> Verdict:
    """Judge that shape loses by the other encoder, more than each other label, and that both positions gain."""
    found, numbers = _trees(table, "label")
    own, other = ({label: _seeds(found, label, encoder) for label in _keys(found)} for encoder in (OWN, OTHER))
    parts = [verdicts.compare([own["shape"]], [other["shape"]])]
    parts += [verdicts.compare([other[label]], [own[label]]) for label in ("posX", "posY")]
    parts += [
        verdicts.compare([own["shape"] - own[label]], [other["shape"] - other[label]])
        for label in own
        if label != "shape"
    ]
    return judged("accuracy", parts, numbers)
