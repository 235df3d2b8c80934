"""Accuracy of classifiers on an encoder's codes: the tables of Bonheme and Grześ (2023)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from baselines.config import RunConfig
from baselines.reproduction.entries import Outcome, Runs, Verdict, combine
from baselines.reproduction.papers import _scores
from baselines.run_folder import Snapshots
from baselines.training import sweep
from benchmark_data import files
from leaderboard import protocol
from leaderboard.analyses import transfer_accuracy
from leaderboard.store import verdicts

NEAR = 0.1
"""A loss of accuracy below which an encoder counts as on par; the paper's largest in table 4 is 0.08."""


OWN, OTHER, UNTRAINED = "trained on the target", "trained on the source", "untrained"


def accuracy(runs: Runs, config: RunConfig, target: str, settings: Mapping[str, Any], step: int | None) -> pd.DataFrame:
    """Measure the accuracy of classifiers for each label of a target on a run's codes, or read cached accuracies.

    Args:
        runs: the root of the run.
        config: its config.
        target: the dataset to encode.
        settings: ``train``, the number of the task's rows to train the classifiers on, ``test``, the number of its
            held-out rows to test them on, and ``version``.
        step: the run's snapshot; the last one if None.

    Returns:
        As from `leaderboard.analyses.transfer_accuracy.measure`; ``source`` is the dataset that the run was trained on,
        or `UNTRAINED` at step 0.
    """
    task, train, test = protocol.task(target), settings["train"], settings["test"]
    snapshot = Snapshots(runs.root / sweep.run_path(config)).path(config.steps if step is None else step)
    weights = files.hash_of(snapshot / "weights.npz")[:16]  # a run that is trained again has other ones
    name = f"{weights}_{target.replace('/', '-')}_{task.version}_{settings['version']}_{train}_{test}"
    path = runs.root / "accuracies" / f"{name}.json"
    if not path.exists():
        positions = np.r_[:train, len(task.train) : len(task.train) + test]
        codes = runs.open(config, step=step).encode_rows(task.indices[positions], task.load())
        source = UNTRAINED if step == 0 else config.dataset
        held_out = np.arange(len(positions)) >= train
        table = transfer_accuracy.measure({source: codes}, task.labels()[positions], task.scored, test=held_out)
        files.write_json(path, table.to_dict("records"))
    records: Any = files.read_json(path)
    return pd.DataFrame(records)


def accuracies(settings: Mapping[str, Any], runs: Runs, tier: str) -> Outcome:
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
    return Outcome(table.drop_duplicates(columns)[[*columns, "train", "test", "unseen"]].reset_index(drop=True))


def _encoder_names(table: pd.DataFrame) -> pd.Series[str]:
    """Return the encoder of each row: the target's own, the other one, an untrained one, or none."""
    encoders = [
        source if source in (transfer_accuracy.MAJORITY, UNTRAINED) else OWN if source == target else OTHER
        for source, target in zip(table["source"], table["target"], strict=True)
    ]
    return pd.Series(encoders, table.index)


def draw_averages(result: Outcome, path: Path) -> None:
    """Draw accuracies averaged over labels: a panel per classifier, a group of bars per target."""
    table = result.table.assign(encoder=_encoder_names(result.table))
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


def _tree_accuracies(table: pd.DataFrame, key: str) -> tuple[pd.DataFrame, dict[str, float]]:
    """Average the accuracy of boosted trees on held-out rows.

    Returns:
        A row per key and encoder, a column per seed, and the means by phrase.
    """
    tree_rows = table[table["classifier"].isin(["gbt", "constant"])]
    tree_rows = tree_rows.assign(encoder=_encoder_names(tree_rows))
    means = tree_rows.groupby([key, "encoder", "seed"], sort=False)["test"].mean().unstack()
    phrases = [f"{name}, {encoder}" for name, encoder in means.index]
    return means, dict(zip(phrases, means.mean(axis=1).tolist(), strict=True))


def _keys(means: pd.DataFrame) -> list[Any]:
    return list(dict.fromkeys(means.index.get_level_values(0)))


def _by_seed(means: pd.DataFrame, key: Any, encoder: str) -> NDArray[np.float64]:
    return np.asarray(means.loc[(key, encoder)].dropna(), np.float64)


def judge_averages(table: pd.DataFrame) -> Verdict:
    """Judge that the last target's own encoder is better than the other, and those before it by less than `NEAR`."""
    means, numbers = _tree_accuracies(table, "target")
    targets = _keys(means)
    comparisons = []
    for target in targets:
        own, other = (_by_seed(means, target, encoder) for encoder in (OWN, OTHER))
        comparisons.append(verdicts.compare([own], [other]) if target == targets[-1] else _compare_margin(other, own))
    measures = ["accuracy from the bound"] * (len(targets) - 1) + ["accuracy"]
    return combine(measures, comparisons, numbers)


def judge_better(table: pd.DataFrame, key: str, better: str, worse: str) -> Verdict:
    """Judge that an encoder is better than another one on every target, or for every label."""
    means, numbers = _tree_accuracies(table, key)
    comparisons = [
        verdicts.compare([_by_seed(means, name, better)], [_by_seed(means, name, worse)]) for name in _keys(means)
    ]
    return combine("accuracy", comparisons, numbers)


def judge_nearly_every_label(table: pd.DataFrame) -> Verdict:
    """Judge that the other encoder's accuracy is less than `NEAR` below the target's own, for each label."""
    means, numbers = _tree_accuracies(table, "label")
    return combine(
        "accuracy from the bound",
        [_compare_margin(*(_by_seed(means, label, encoder) for encoder in (OTHER, OWN))) for label in _keys(means)],
        numbers,
    )


def _compare_margin(other: NDArray[np.float64], own: NDArray[np.float64]) -> verdicts.Comparison:
    """Test the claim that the first accuracies are less than `NEAR` below the second."""
    return verdicts.compare([other + NEAR], [own])


def judge_positions(table: pd.DataFrame) -> Verdict:
    """Judge that shape loses accuracy with the other encoder, more than each other label, and both positions gain.

    That shape loses more than a position follows from this, so it is not a separate part, which Holm would count twice.
    """
    means, numbers = _tree_accuracies(table, "label")
    own, other = ({label: _by_seed(means, label, encoder) for label in _keys(means)} for encoder in (OWN, OTHER))
    comparisons = [verdicts.compare([own["shape"]], [other["shape"]])]
    comparisons += [verdicts.compare([other[label]], [own[label]]) for label in ("posX", "posY")]
    comparisons += [
        verdicts.compare([own["shape"] - own[label]], [other["shape"] - other[label]])
        for label in own
        if label not in ("shape", "posX", "posY")
    ]
    return combine("accuracy", comparisons, numbers)
