"""Entries: figures and tables of papers, with their runs at each tier, computation, drawing and verdict.

A file in ``baselines/reproduction/papers`` is a paper and ends in ``PAPER`` and ``ENTRIES``. An entry is a figure or a
table: its runs at each tier, how its numbers are computed and drawn, and the paper's claim about them. A second claim,
or a control that the paper lacks, is a separate sentence (`Second`) with its own verdict.

A verdict is that of `leaderboard.store.verdicts`, from one value per seed, with an error of 5% for each sentence; the
page marks those that remain after Holm's correction over all. Claims that cannot fail are ``illustration``.

Tiers: ``study`` has the papers' datasets and budgets; ``reduced`` their datasets, models and losses with a part of
their images. ``desk`` has rendered stand-ins and models that two cores train in a day, with enough seeds for a verdict;
if possible, it uses the runs of the board (`baselines.reproduction.papers._tiers`). Few entries have ``reduced``.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, TypeAlias

import pandas as pd
from numpy.typing import NDArray

import benchmark_data
from baselines.config import RunConfig
from baselines.run import Run
from baselines.training import finetune, sweep
from benchmark_data.dataset import Dataset
from benchmark_data.errors import InvalidInput, UnknownName
from leaderboard.store import verdicts

TIERS = ("desk", "reduced", "study")
"""Sorted by budget: results of a later tier replace those of an earlier one."""


class Outcome(NamedTuple):
    """The result of an entry's computation.

    Attributes:
        table: the numbers by which the claim is judged; written as ``table.csv.gz``.
        images: the images to draw, by name: uint8 or floats in [0, 1]. Only the drawn picture is kept.
    """

    table: pd.DataFrame
    images: Mapping[str, NDArray[Any]] = MappingProxyType({})


ILLUSTRATION = "illustration"
"""The answer to a claim that cannot fail."""


class Verdict(NamedTuple):
    """Our verdict on a claim.

    Attributes:
        answer: a `leaderboard.store.verdicts.Answer` or `ILLUSTRATION`.
        numbers: the numbers by which it was judged: phrase -> finite number, including controls and conditions.
        p: the p-value; None if nothing was tested.
        note: a remark on the verdict, such as why there is none.
        effect: the tested difference, positive in the claim's direction, and its 95% interval.
        measure: the quantity of the difference.
    """

    answer: str
    numbers: Mapping[str, float]
    p: float | None = None
    note: str = ""
    effect: tuple[float, float, float] | None = None
    measure: str = ""


def combine(
    measure: str | Sequence[str], parts: Sequence[verdicts.Comparison], numbers: Mapping[str, float], note: str = ""
) -> Verdict:
    """Judge a claim with several parts, all of which must hold (`leaderboard.store.verdicts.judge_all`).

    Args:
        measure: the compared quantity; one for each part if they differ.
        parts: a comparison for each part of the claim.
        numbers: as for `Verdict`.
        note: as for `Verdict`.
    """
    (answer, p), basis = verdicts.judge_all(parts), verdicts.decisive(parts)
    label = measure if isinstance(measure, str) else measure[[part._replace(p=basis.p) for part in parts].index(basis)]
    return Verdict(answer, numbers, p, note, None if p is None else (basis.difference, basis.low, basis.high), label)


def decide(holds: bool, numbers: Mapping[str, float]) -> Verdict:
    """Answer a claim about a property of the data, which has no seeds, from its measurement."""
    return Verdict("supported" if holds else "opposed", numbers, None, "a property of the data, no seeds")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Transfer:
    """A run that starts from another: the arguments of `training.finetune.config` before the source is trained.

    Attributes:
        source: the run that it starts from, which must be among the plan's runs.
        dataset: the target.
        heads: reset and train the heads of mean and variance.
        decoder: the number of decoder layers to reset and train.
        side: count them from the ``"inside"`` or from the ``"outside"``.
        changes: other keys of the config that differ from the source's, such as ``steps``.
    """

    STARTS: ClassVar[str] = "reset layers anew, by seed and source"
    """How the weights at step 0 are determined, in words: if it changes, so does the digest."""

    source: RunConfig
    dataset: str
    heads: bool = True
    decoder: int = 1
    side: str = "inside"
    changes: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def digest(self) -> str:
        """SHA-256 of the source's digest, of the other attributes and of how it starts, `Transfer.STARTS`."""
        attributes = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return digest(attributes | {"starts": self.STARTS})

    @property
    def plain(self) -> RunConfig:
        """The same run from new weights, with the same dataset, steps and seed."""
        config = self.source.with_steps(self.changes.get("steps", self.source.steps))
        return dataclasses.replace(config, **{"dataset": self.dataset, "split": ""} | dict(self.changes))


class Runs:
    """Trained runs under one root.

    Args:
        root: the folder of the runs of all studies.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    def config_of(self, run: RunConfig | Transfer) -> RunConfig:
        """Return the config of a run or a transfer.

        Raises:
            DamagedFile: the source of a transfer was not trained.
            InvalidInput: it is not finished, or its decoder has fewer layers.
        """
        if isinstance(run, RunConfig):
            return run
        source = (self.root / sweep.run_path(run.source)).absolute()
        return finetune.config(source, run.dataset, heads=run.heads, decoder=run.decoder, side=run.side, **run.changes)

    def open(self, config: RunConfig | Transfer, *, step: int | None = None) -> Run:
        """Open a run.

        Args:
            config: its config, or its transfer.
            step: the snapshot to use; the last one if None.

        Returns:
            The run.

        Raises:
            DamagedFile: it was not trained.
            InvalidInput: it has no such snapshot.
        """
        return Run.open(self.root / sweep.run_path(self.config_of(config)), step=step)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Plan:
    """The runs, datasets and settings that an entry needs at one tier.

    Attributes:
        runs: the training runs.
        transfers: runs that start from the weights of some of these.
        datasets: datasets in addition to those of the runs.
        settings: the arguments of its computation: JSON types, tuples and run configs. Tables are recomputed only if
            these change: a changed computation gets another ``version`` among them.
        codes: whether the runs' codes for the leaderboard's tasks are needed.
        own_datasets: datasets of the runs that the entry draws itself and that are not in ``benchmark_data``.
    """

    runs: tuple[RunConfig, ...] = ()
    transfers: tuple[Transfer, ...] = ()
    datasets: tuple[str, ...] = ()
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    codes: bool = False
    own_datasets: tuple[Dataset, ...] = ()

    @property
    def all_datasets(self) -> dict[str, Dataset]:
        """The datasets of the runs, of the transfers and the others, by full name; its own come last."""
        own_datasets = {dataset.id: dataset for dataset in self.own_datasets}
        names = dict.fromkeys([*(run.dataset for run in self.configs.values()), *self.datasets])
        return {name: benchmark_data.load(name) for name in names if name not in own_datasets} | own_datasets

    @property
    def configs(self) -> dict[str, RunConfig]:
        """All trained configs by digest: the runs, and the transfers as if from new weights."""
        return {run.digest: run for run in self.runs} | {transfer.digest: transfer.plain for transfer in self.transfers}


Draw: TypeAlias = Callable[[Outcome, Path], None]
"""Draws an entry's outcome as PNG."""


def from_table(draw: Callable[..., None], **options: Any) -> Draw:
    """Return a `Draw` that draws the table only.

    Args:
        draw: a function of a table and a path.
        **options: its other arguments.
    """
    return lambda result, path: draw(result.table, path, **options)


Compute: TypeAlias = Callable[[Mapping[str, Any], Runs, str], Outcome]
"""Computes the outcome from a plan's settings, the runs and the tier."""


Judge: TypeAlias = Callable[[pd.DataFrame], Verdict]
"""Computes the verdict from the table."""


class Second(NamedTuple):
    """Another sentence that is judged by an entry's table.

    Attributes:
        claim: the sentence.
        judge: computes its verdict from the table.
        control: whether we added it as a control; otherwise it is a further claim of the paper.
    """

    claim: str
    judge: Judge
    control: bool = True


@dataclasses.dataclass(frozen=True, kw_only=True)
class Entry:
    """A figure or a table of a paper.

    Attributes:
        id: arXiv number and figure or table, such as ``"2205.08399/fig3"``.
        paper: the paper's result: a value or a direction.
        claim: the paper's claim, in one sentence.
        desk: its plan at desk tier.
        reduced: its plan at reduced tier, or None.
        study: its plan at study tier.
        compute: computes the numbers from a plan's settings, the runs and the tier.
        draw: draws them as PNG, in the paper's layout.
        judge: computes the verdict from the table.
        second: another sentence judged by the same table.
        added: it is not a figure or table of the paper, but a question that we added.
        post_hoc: the question, or how it is measured, was chosen after results had been seen.
        paper_states_steps: the paper, or a library that it names, states how long its models were trained.
        step_factor: the steps of its study tier, as a multiple of the paper's.
        same_as: the id of the entry that this one repeats, which alone is run, recorded and judged.
    """

    id: str
    paper: str
    claim: str
    desk: Plan
    study: Plan
    compute: Compute
    draw: Draw
    judge: Judge
    reduced: Plan | None = None
    second: Second | None = None
    added: bool = False
    post_hoc: bool = False
    paper_states_steps: bool = True
    step_factor: int = 1
    same_as: str = ""

    def sentences(self, table: pd.DataFrame) -> list[tuple[str, bool, Verdict]]:
        """Judge a table: return each sentence, whether it is a control that we added, and its verdict."""
        claims = [(self.claim, False, self.judge(table))]
        return [*claims, (self.second.claim, self.second.control, self.second.judge(table))] if self.second else claims

    @property
    def tiers(self) -> tuple[str, ...]:
        """Its tiers, sorted by budget."""
        return tuple(tier for tier in TIERS if getattr(self, tier) is not None)

    def plan(self, tier: str) -> Plan:
        """Return its plan at a tier.

        Raises:
            UnknownName: there is no such tier.
            InvalidInput: the entry does not have this tier.
        """
        if tier not in TIERS:
            raise UnknownName("tier", tier, TIERS)
        plan: Plan | None = getattr(self, tier)
        if plan is None:
            raise InvalidInput(
                f"tier of {self.id}: expected one of {', '.join(self.tiers)}, received {tier}. offaxis study list "
                f"--tier {tier} shows the entries that have it."
            )
        return plan


def digest(content: Mapping[str, Any]) -> str:
    """Hash the inputs of a computation.

    Args:
        content: JSON types, tuples, and runs and transfers, which are replaced by their digests.

    Returns:
        SHA-256, in hexadecimal.
    """
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=lambda run: run.digest).encode()).hexdigest()
