"""The published protocol: which rows of a dataset are scored, by which metrics, with which arguments.

A task is a dataset together with a version of this protocol, written ``xysquares/spacing_4@v1``. A task is never
edited: changes that affect scores get a new version.

Rows are drawn without replacement by the counter-based shuffle of `benchmark_data.draws`, with the first eight bytes
(big-endian) of SHA-256 of ``offaxis:<task id>`` as seed. So the lists can be reproduced in any language, and compared
by ``digest``. disentanglement_lib draws 10,000 and 5,000 samples with replacement (Locatello et al. 2019, "Challenging
Common Assumptions", appendix); here the counts are the same and the rows are fixed.

If a rule divides the dataset (`benchmark_data.variants.splitting`), as for ``dsprites/composition``, train rows are
drawn from the rule's part ``train`` and test rows from its part ``test``, with the seeds of ``offaxis:<task id>:train``
and ``:test``. The tier ``held_out`` is for these tasks.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

import benchmark_data
from benchmark_data import draws
from benchmark_data.dataset import Dataset
from benchmark_data.errors import InvalidInput, UnknownName
from benchmark_data.factors import Indices
from benchmark_data.variants.pairs import Paired
from benchmark_data.variants.splitting import Divided, divided_name, rows_digest
from leaderboard import properties
from leaderboard.properties import Column

__all__ = ["COLUMNS", "TIERS", "VERSION", "Measurement", "Task", "Tier", "task", "tasks", "tier"]

VERSION = "v1"

TRAIN = 10_000
"""Train rows, also those of metrics without held-out data."""

TEST = 5_000
"""Held-out rows."""

HELD_OUT = (
    *(
        divided_name(dataset, rule)
        for dataset in ("dsprites", "room3d", "xysquares/spacing_1", "shapes3d", "mpi3d/real")
        for rule in ("random", "composition", "interpolation", "extrapolation")
    ),
    *(divided_name("dsprites", rule) for rule in ("holdout", "correlated.posx-posy-0.1")),
)
"""The divided datasets that are tasks: the rules of Schott et al. (arXiv 2107.08221) and their random reference; a
correlated sample of Träuble et al. (2021), with ``holdout``, which has the same test rows, as its reference."""

SEEDS = 5
"""The fewest seeds of a method on a task to be ranked there."""


@dataclasses.dataclass(frozen=True)
class Measurement:
    """One metric with everything that its value depends on.

    Args:
        metric: the file name in ``leaderboard/metrics``.
        train: number of train rows, the first of the task; 0 for a metric on test rows alone, which is fitted on the
            first two thirds of them and tested on the last third if it needs held-out data.
        test: number of test rows, the first of the task; 0 for a metric that needs no held-out data.
        arguments: its keyword arguments.
    """

    metric: str
    train: int = TRAIN
    test: int = 0
    arguments: Mapping[str, bool | int | float | str] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "arguments", MappingProxyType(dict(self.arguments)))


class Tier(NamedTuple):
    """A label for the training budget, which authors state for their runs, and the number of rows of each metric.

    Budgets are not checked: the tier of a run is stated when it is scored, and its record has the training cost, which
    tables show next to its scores. Two tiers may have the same measurements: ``desk`` and ``study`` differ only in the
    budget. Scores of different tiers are never in one table.

    Args:
        name: ``desk``, ``held_out``, ``smoke`` or ``study``.
        summary: the budget, in one sentence.
        measurements: the metrics, in the order of a table's columns.
    """

    name: str
    summary: str
    measurements: tuple[Measurement, ...]


_MIG_AND_DCI = (
    Measurement("mig", arguments={"bins": 20}),
    Measurement("dci", train=10_000, test=5_000, arguments={"mode": "fast", "seed": 0}),
)

TIERS: Mapping[str, Tier] = MappingProxyType(
    {
        tier.name: tier
        for tier in (
            Tier(
                "desk",
                "Small models with as many latents as factors (QLAE: twice as many). A run takes minutes on one core, "
                "all runs a day on two.",
                _MIG_AND_DCI,
            ),
            Tier(
                "smoke",
                "Short training on rendered data: minutes on two cores, for a first look.",
                (
                    Measurement("mig", arguments={"bins": 20}),
                    Measurement("dci", train=2_000, test=1_000, arguments={"mode": "fast", "seed": 0}),
                ),
            ),
            Tier("study", "The papers' networks, with 5% of their training images or more.", _MIG_AND_DCI),
            Tier(
                "held_out",
                "Trained and scored on the two parts of a split rule; the reference holds out rows at random.",
                (
                    Measurement("r_squared", train=10_000, test=5_000, arguments={"readout": "boosting", "seed": 0}),
                    Measurement("mig", train=0, test=5_000, arguments={"bins": 20}),
                    Measurement("dci", train=0, test=3_000, arguments={"mode": "fast", "seed": 0}),
                ),
            ),
        )
    }
)


SHOWN_METRICS = ("mig", "r_squared", "dci")
"""The metrics whose columns tables show, in order. The metrics' own files define the columns."""

COLUMNS: Mapping[str, Column] = MappingProxyType(
    {column.key: column for metric in SHOWN_METRICS for column in properties.find(metric).columns}
)
"""The scores that tables show, in order, from the files of the metrics. Methods are ranked by the first."""


def key(metric: str, name: str) -> str:
    """Return the key of a score in results.

    Args:
        metric: the metric's file name.
        name: the score's name among those that the metric returns.

    Returns:
        ``<metric>.<name>``, or ``<metric>`` if the two are the same.

    Example:
        >>> key("mig", "mig"), key("dci", "completeness")
        ('mig', 'dci.completeness')
    """
    return metric if name == metric else f"{metric}.{name}"


@dataclasses.dataclass(frozen=True, eq=False)
class Task:
    """The rows of one dataset that every method is scored on.

    Args:
        dataset: full name of the dataset, such as ``"xysquares/spacing_4"``.
        version: version of the protocol.
        train: train rows, int64, shape (10,000,), or two thirds of a dataset with less than 15,000.
        test: held-out rows, int64, shape (5,000,), or the remaining third. No row is in both. In a divided dataset
            they are from its two parts, and fewer if a part is smaller.
        user_dataset: the dataset, if it is the user's own; None for those of the board, which have names.

    Example:
        >>> t = task("xysquares/spacing_4")
        >>> t.id, len(t.train), len(t.test), t.indices[:3].tolist()
        ('xysquares/spacing_4@v1', 10000, 5000, [35559, 183521, 138362])
    """

    dataset: str
    version: str
    train: Indices
    test: Indices
    user_dataset: Dataset | None = dataclasses.field(default=None, repr=False)

    @property
    def id(self) -> str:
        """The task's name: ``<dataset>@<version>``."""
        return f"{self.dataset}@{self.version}"

    @property
    def is_divided(self) -> bool:
        """Whether a split rule divides the dataset, so that encoders are trained on the train rows' part alone."""
        return isinstance(self.load().source, Divided)

    @functools.cached_property
    def indices(self) -> Indices:
        """All rows to encode: int64, the train rows, then the test rows."""
        return np.concatenate([self.train, self.test])

    @property
    def digest(self) -> str:
        """SHA-256 of ``indices`` as little-endian int64, in hexadecimal."""
        return rows_digest(self.indices)

    @functools.cached_property
    def scored(self) -> tuple[str, ...]:
        """The factors that are scored: all with more than one value, since a constant factor has no information.

        Raises:
            InvalidInput: the dataset is a transfer pair.
        """
        source = self.load().source
        if isinstance(source, Paired):
            raise InvalidInput(
                f"scores on {self.dataset}: expected a dataset whose factors apply to all of its rows, received a "
                f"transfer pair. Encode {source.source.id} or {source.target.id}, and score its codes."
            )
        return tuple(f.name for f in self.load().space.factors if f.size > 1)

    @property
    def left_out(self) -> tuple[str, ...]:
        """The factors that are not scored because they have one value only."""
        return tuple(name for name in self.load().space.names if name not in self.scored)

    def load(self) -> Dataset:
        """Return the dataset."""
        return benchmark_data.load(self.dataset) if self.user_dataset is None else self.user_dataset

    def labels(self) -> Indices:
        """Return the class ids that metrics see.

        Returns:
            int64, shape (train + test, factors scored), in the order of ``indices``.
        """
        return labels(self.load(), self.indices, self.scored)


def labels(dataset: Dataset, rows: Indices, factors: Sequence[str]) -> Indices:
    """Return the class ids of rows, int64 (n, F), for some factors, of which there may be none."""
    return dataset.labels(rows, factors) if factors else dataset.labels(rows)[:, :0]


def seed(task_id: str) -> int:
    """Return the seed of a task's row lists: the first eight bytes of SHA-256 of ``offaxis:<task id>``, big-endian.

    Args:
        task_id: such as ``"xysquares/spacing_4@v1"``; for draws other than its rows, followed by ``:`` and their name.

    Returns:
        An integer in [0, 2**64).
    """
    return int.from_bytes(hashlib.sha256(f"offaxis:{task_id}".encode()).digest()[:8], "big")


def task_of(dataset: object) -> Task:
    """Return the task of a dataset, given by name, as an object or as a folder; it may be the user's own.

    Args:
        dataset: the name, a folder of images, a dataset from `benchmark_data.load`, ``from_folder`` and the like, or a
            task.

    Returns:
        The task.

    Raises:
        UnknownName: as `task`.
        InvalidInput: as `task`; it has no labels; another dataset of the board has its name; or it is neither a text
            nor a dataset.
    """
    if isinstance(dataset, Task):
        return dataset
    if isinstance(dataset, Dataset):
        if not dataset.space.names:
            raise InvalidInput(f"{dataset.id} has no labels, so codes cannot be scored on it.")
        if dataset.name not in benchmark_data.names():
            return _draw_task(dataset, dataset)
        published = benchmark_data.load(dataset.id)
        if not is_same_dataset(published, dataset):
            raise InvalidInput(
                f"task: expected {dataset.id} as returned by benchmark_data.load, received another dataset of that "
                "name. Give yours another name: dataclasses.replace(dataset, name='mine', config='')."
            )
        return task(dataset.id)
    if not isinstance(dataset, str | os.PathLike):
        kind = type(dataset).__name__
        raise InvalidInput(f"task: expected a dataset or its name, such as 'xysquares/spacing_8', received a {kind}.")
    name = os.fspath(dataset)
    if name.partition("@")[0].partition("/")[0] in benchmark_data.names():
        return task(name)
    return task_of(benchmark_data.named_or_folder(name))


def is_same_dataset(first: Dataset, second: Dataset) -> bool:
    """Return whether two datasets are the same, also if one is a copy in a worker process."""
    if first is second:
        return True
    return first.version == second.version and (not first.prepared or first.digest() == second.digest())


@functools.cache
def task(name: str) -> Task:
    """Return a task by name.

    Args:
        name: a dataset's name, with or without the version: ``"dsprites"`` or ``"dsprites@v1"``.

    Returns:
        The task.

    Raises:
        UnknownName: there is no such dataset, or no such version of the protocol.
        InvalidInput: the dataset has fewer than three rows.
    """
    name, _, version = name.partition("@")
    dataset = benchmark_data.load(name)
    if version not in ("", VERSION):
        raise UnknownName(f"protocol version of {name}", version, [VERSION])
    return _draw_task(dataset)


def _draw_task(dataset: Dataset, user_dataset: Dataset | None = None) -> Task:
    """Draw the rows of a dataset's task."""
    row_count = min(len(dataset), TRAIN + TEST)
    if row_count < 3:
        raise InvalidInput(f"task on {dataset.id}: expected at least 3 rows, received {row_count} rows.")
    task_id = f"{dataset.id}@{VERSION}"
    if isinstance(dataset.source, Divided):
        parts = (("train", TRAIN), ("test", TEST))
        train_rows, test_rows = (_draw_part(task_id, part, dataset.splits[part], size) for part, size in parts)
        return Task(dataset.id, VERSION, train_rows, test_rows, user_dataset)
    draw = seed(task_id) if user_dataset is None else 0  # as `baselines.run.own_rows`, for any name
    rows = draws.sample(draw, len(dataset), row_count)
    train_count = row_count * TRAIN // (TRAIN + TEST)
    rows.flags.writeable = False
    return Task(dataset.id, VERSION, rows[:train_count], rows[train_count:], user_dataset)


def _draw_part(task_id: str, part: str, rows: range, size: int) -> Indices:
    """Draw rows of one part of a divided dataset."""
    drawn = rows.start + draws.sample(seed(f"{task_id}:{part}"), len(rows), size)
    drawn.flags.writeable = False
    return drawn


def tier(name: str) -> Tier:
    """Return a tier by name.

    Args:
        name: ``"desk"``, ``"held_out"``, ``"smoke"`` or ``"study"``.

    Returns:
        The tier.

    Raises:
        UnknownName: there is no such tier.

    Example:
        >>> [m.train for m in tier("smoke").measurements]
        [10000, 2000]
    """
    if not isinstance(name, str) or name not in TIERS:
        raise UnknownName("tier", str(name), TIERS)
    return TIERS[name]


def default_tier(tasks: Iterable[Task]) -> str:
    """Return the tier to score tasks in: ``held_out`` if split rules divide all datasets, else ``desk``.

    Example:
        >>> default_tier([task("dsprites/random")]), default_tier([task("dsprites"), task("dsprites/random")])
        ('held_out', 'desk')
    """
    return "held_out" if all(chosen.is_divided for chosen in tasks) else "desk"


def datasets() -> tuple[str, ...]:
    """List the datasets that have a task: each configuration of all with at least three rows here, and `HELD_OUT`.

    Transfer pairs are left out: half of their factors do not apply to a row, so that a score over all of them would
    measure which dataset an image is from. `leaderboard.analyses.transfer_accuracy` is for them.

    Returns:
        Full names in order, those with held-out rows last.
    """
    configs = (config for name in benchmark_data.names() for config in benchmark_data.configs(name))
    loaded = (benchmark_data.load(config) for config in configs)
    whole = [dataset.id for dataset in loaded if len(dataset) >= 3 and not isinstance(dataset.source, Paired)]
    divided = [name for name in HELD_OUT if name.partition("/")[0] in benchmark_data.names()]
    return (*whole, *divided)


def tasks() -> tuple[Task, ...]:
    """List the tasks.

    Returns:
        Those of `datasets`, in their order.

    Example:
        >>> [task.id for task in tasks() if task.dataset.startswith("xysquares")][:2]
        ['xysquares/spacing_1@v1', 'xysquares/spacing_2@v1']
    """
    return tuple(task(name) for name in datasets())


def task_id_of_rows(rows: Indices) -> str:
    """Find the task with a given list of rows. No two tasks have the same list, so it shows which dataset was encoded.

    Args:
        rows: int64 (n,), in the order in which they were encoded.

    Returns:
        Its name; empty if there is none.

    Example:
        >>> task_id_of_rows(task("xysquares/spacing_4").indices), task_id_of_rows(np.arange(15_000))
        ('xysquares/spacing_4@v1', '')
    """
    return next((known_task.id for known_task in tasks() if np.array_equal(known_task.indices, rows)), "")


def natural_key(name: str) -> tuple[tuple[int, int | str], ...]:
    """Return a key that sorts ``spacing_10`` after ``spacing_9``, and ``64_lanczos`` before ``native``.

    Published tables have this order. Cards of datasets put words first, by `benchmark_data.publish.card.natural`.
    """
    return tuple((0, int(part)) if part.isdigit() else (1, part) for part in re.findall(r"\d+|\D+", name))
