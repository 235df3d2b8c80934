"""Do metrics rank the same models alike?

Figure 2 of Locatello et al., "Challenging common assumptions in the unsupervised learning of disentangled
representations" (2019): the rank correlation of every pair of metrics over trained models, one task at a time. Here
Spearman's correlation is taken within each task and averaged over tasks, so that an easy task and a hard one do not
make metrics agree; and each correlation has a bootstrap interval over runs. A resample repeats runs, which lowers
correlations, and over many tasks nothing averages that out; so the spread of the resampled ones counts, about their own
mean, not their place. `docs/statistics.md` says how often such intervals hold the truth.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmark_data import draws
from benchmark_data.errors import InvalidInput
from leaderboard import figures
from leaderboard.arrays import check_codes

if TYPE_CHECKING:
    import pandas as pd
    from jaxtyping import Real

    from leaderboard.store.results import Result

LEAST = 4
"""Runs of a task without which ranks say nothing."""


class Agreement(NamedTuple):
    """How the scores of a board agree.

    Attributes:
        names: of the scores.
        correlations: float64 (scores, scores), in [-1, 1].
        low: lower ends of their intervals.
        high: upper ends.
        runs: how many there are.
        tasks: on how many tasks.
    """

    names: tuple[str, ...]
    correlations: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    runs: int
    tasks: int

    def table(self) -> pd.DataFrame:
        """Return what `measure` does."""
        import pandas as pd

        return pd.DataFrame(
            [
                (name, other, self.correlations[i, j], self.low[i, j], self.high[i, j], self.runs)
                for i, name in enumerate(self.names)
                for j, other in enumerate(self.names)
                if i != j
            ],
            columns=["metric", "other", "correlation", "low", "high", "runs"],
        )


def measure(
    scores: Real[ArrayLike, "runs metrics"],
    names: Sequence[str],
    *,
    groups: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    resamples: int = 1_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> pd.DataFrame:
    """Correlate the ranks that metrics give to runs.

    Args:
        scores: real numbers, shape (runs, metrics), higher is better in each column.
        names: of the metrics.
        groups: the task of each run; None if there is one.
        methods: the method of each run, so that an interval says what other methods would show: seeds of one are alike.
            None to take runs for independent.
        resamples: of the bootstrap, which draws methods with replacement, each with all of its runs on all tasks; or
            runs within each task.
        confidence: how much of the bootstrap distribution an interval holds, in (0, 1).
        seed: of the counter-based generator that draws them.

    Returns:
        One row per pair of different metrics, both ways: ``metric``, ``other``, ``correlation``, ``low``, ``high``, all
        in [-1, 1], and ``runs``. A metric that is constant within a task has correlation 0 there. Fewer than `LEAST`
        methods say nothing of others: the interval is [-1, 1]. Metrics that order all runs alike have an interval
        without width, which says too much where methods are few.

    Raises:
        InvalidInput: scores that are no matrix of finite numbers, names, groups or methods that do not match, fewer
            than two metrics, a task of fewer than four runs, fewer than two resamples, or a confidence outside (0, 1).

    Example:
        >>> table = measure([[1, 10], [2, 20], [3, 40], [4, 30]], ["mig", "sap"], resamples=10)
        >>> table[["metric", "other", "correlation"]].values.tolist()
        [['mig', 'sap', 0.8], ['sap', 'mig', 0.8]]
    """
    matrix = check_codes(scores, "scores").astype(np.float64)
    tasks = np.asarray(["" for _ in matrix] if groups is None else groups, dtype=object)
    if matrix.shape[1] < 2 or len(names) != matrix.shape[1] or len(set(names)) != len(names):
        raise InvalidInput(f"names: expected {max(2, matrix.shape[1])} different ones, received {list(names)}.")
    for what, of in (("groups", groups), ("methods", methods)):
        if of is not None and len(of) != len(matrix):
            raise InvalidInput(f"{what}: expected {len(matrix)}, one for each run, received {len(of)}.")
    if resamples < 2 or not 0 < confidence < 1:
        raise InvalidInput(
            f"resamples, confidence: expected at least 2, and in (0, 1), received {resamples}, {confidence}."
        )
    rows = [np.flatnonzero(tasks == task) for task in dict.fromkeys(tasks.tolist())]
    if min(map(len, rows)) < LEAST:
        smallest = min(rows, key=len)
        raise InvalidInput(
            f"groups: expected at least {LEAST} runs of each task, received {len(smallest)} of "
            f"{str(tasks[smallest[0]])!r}. Leave that task out."
        )
    numbers = _correlations(matrix, rows, methods, resamples, confidence, seed)
    return Agreement(tuple(names), *numbers, runs=len(matrix), tasks=len(rows)).table()


def over_tasks(results: Iterable[Result], *, tier: str = "", resamples: int = 1_000) -> Agreement | None:
    """Correlate the scores of all trained runs of a tier, within each task that has enough of them.

    Args:
        results: as from ``leaderboard.store.results_tree.read_all``. References are left out, since what nobody trained
            makes all metrics agree, and so are results in quarantine, runs that are marked and tasks that another
            version has replaced.
        tier: the tier; empty for all, each task within each of its tiers.
        resamples: as for ``measure``.

    Returns:
        What ``measure`` gives, as arrays; None where no task has `LEAST` runs, or no two scores are those of all runs.
    """
    trained = [
        result.model_copy(update={"runs": runs})
        for result in results
        if not result.quarantine
        for name in result.tiers
        if tier in ("", name)
        for runs in [result.of(name)]
        if not any(run.marks or run.supervision == "reference" for run in runs)
    ]
    counts: Counter[tuple[str, str]] = Counter()
    for result in trained:
        counts[result.task, result.tiers[0]] += len(result.runs)
    runs = [
        ((result.task, result.tiers[0]), result.method, run.scores)
        for result in trained
        if counts[result.task, result.tiers[0]] >= LEAST
        for run in result.runs
    ]
    shared = set.intersection(*(set(scores) for _, _, scores in runs)) if runs else set()
    if len(shared) < 2:
        return None
    names = tuple(name for name in runs[0][2] if name in shared)
    matrix = np.array([[scores[name] for name in names] for _, _, scores in runs])
    places: dict[tuple[str, str], list[int]] = {}
    for place, (task, _, _) in enumerate(runs):
        places.setdefault(task, []).append(place)
    rows = [np.array(of_task) for of_task in places.values()]
    numbers = _correlations(matrix, rows, [method for _, method, _ in runs], resamples, 0.95, 0)
    return Agreement(names, *numbers, runs=len(runs), tasks=len(rows))


def draw(table: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Draw the correlations as a heatmap, each with its interval; those whose interval holds 0 in grey.

    Args:
        table: as from ``measure``.
        path: the PNG file to write.

    Raises:
        InvalidInput: a column is missing, or the file cannot be written.
        MissingExtra: matplotlib is not installed.
    """
    figures.check_columns(table, ["metric", "other", "correlation", "low", "high"])
    names = list(dict.fromkeys(table["metric"]))
    place = {name: i for i, name in enumerate(names)}
    matrix = np.eye(len(names))
    side = max(3.2, 0.62 * len(names) + 1.6)
    figure, axes = figures.panels(1, 1, width=side, height=side)
    panel = axes[0, 0]
    numbers = table[["correlation", "low", "high"]].to_numpy(np.float64)
    for name, other, (value, low, high) in zip(table["metric"], table["other"], numbers, strict=True):
        i, j = place[name], place[other]
        matrix[i, j] = value
        colour = "0.45" if low <= 0 <= high else "black"
        text = f"{value:.2f}\n[{low:.2f}, {high:.2f}]"
        panel.text(j, i, text, ha="center", va="center", fontsize=5, color=colour)
    image = panel.imshow(matrix, cmap="RdBu", vmin=-1, vmax=1, alpha=0.7)
    panel.set_xticks(range(len(names)), names, rotation=60, ha="right", fontsize=7)
    panel.set_yticks(range(len(names)), names, fontsize=7)
    figure.colorbar(image, ax=panel, shrink=0.7, label="Spearman's rank correlation")
    figures.save(figure, path)


def _correlations(
    matrix: NDArray[np.float64],
    rows: Sequence[NDArray[np.int64]],
    methods: Sequence[str] | None,
    resamples: int,
    confidence: float,
    seed: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Average Spearman's correlations of all columns over tasks, whose rows are given, and draw their intervals.

    Rows of one method are drawn together, as often on each task; without methods each row by itself, within its task.
    """
    count = matrix.shape[1]
    ranked = [[_Ranked(matrix[part, column]) for column in range(count)] for part in rows]
    found = np.mean([_spearman(columns, np.arange(len(part))) for columns, part in zip(ranked, rows, strict=True)], 0)
    if methods is not None:
        names, of_row = np.unique(list(methods), return_inverse=True)
        if len(names) < LEAST:
            return found, np.full_like(found, -1.0), np.full_like(found, 1.0)
    drawn = np.empty((resamples, count, count))
    for i in range(resamples):
        u = draws.uniform(seed, [i], len(matrix))[0]
        if methods is None:
            chosen = [(u[part] * len(part)).astype(np.int64) for part in rows]
        else:
            times = np.bincount((u[: len(names)] * len(names)).astype(np.int64), minlength=len(names))
            chosen = [np.repeat(np.arange(len(part)), times[of_row[part]]) for part in rows]
        each = [_spearman(columns, of) for columns, of in zip(ranked, chosen, strict=True) if len(of)]
        drawn[i] = np.mean(each, axis=0)
    away = np.quantile(drawn - drawn.mean(axis=0), [(1 - confidence) / 2, (1 + confidence) / 2], axis=0)
    low, high = np.clip(found + away, -1.0, 1.0)
    return found, low, high


class _Ranked:
    """Numbers that are sorted once, so that a resample of them need only be counted."""

    def __init__(self, values: NDArray[np.float64]) -> None:
        different, self.place = np.unique(values, return_inverse=True)
        self.count = len(different)

    def ranks(self, chosen: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the ranks of chosen numbers among themselves; equal ones share the mean of theirs."""
        place = self.place[chosen]
        counts = np.bincount(place, minlength=self.count)
        found: NDArray[np.float64] = (np.cumsum(counts) - (counts - 1) / 2)[place]
        return found


def _spearman(columns: Sequence[_Ranked], chosen: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return Spearman's correlation of all columns: float64 (metrics, metrics), 0 where a column is constant."""
    ranks = np.stack([column.ranks(chosen) for column in columns], axis=1)
    ranks -= ranks.mean(axis=0)
    norms = np.sqrt((ranks**2).sum(axis=0))
    unit = ranks / np.where(norms > 0, norms, np.inf)
    return np.asarray(np.clip(unit.T @ unit, -1.0, 1.0))
