"""The papers' figures and tables, each from one command: ``offaxis-study run 2205.08399/fig3``.

A file in ``baselines/reproduction/papers`` is a paper and ends in ``PAPER`` and ``ENTRIES``. An entry is a figure or a
table: what it needs at each tier, how its numbers are computed, how they are drawn, and what the paper claims of them.
Entries share their training runs: a run lies where its config says (`baselines.training.sweep.run_path`), so that the
second entry that needs it finds it, and all that a sweep can do holds here too: resuming, Ray, runs that die. A
`Transfer` starts from another run's weights, so that its config is known once that run is done: transfers are trained
after the runs.

An entry leaves a folder, ``<into>/<id>``::

    table.csv       the numbers
    figure.png      the picture, in the paper's layout
    verdict.json    the claim, our numbers, the verdict with its p-value, and what was spent

``verdict.json`` is written last and names the hashes of the others, so that a folder is either finished or not. It is
left alone as long as what it was made of is the same: runs, datasets, settings and claim.

A verdict is that of `leaderboard.store.verdicts`, from one value per seed: a claim holds, is not told apart, is
contradicted, has too few seeds, or lies at the floor, where the models know too little to test it. An error of 5% is
kept for each entry; the page gives p-values after Holm over all of its entries, too. What cannot fail is an
``illustration``.

Tiers: ``study`` has the papers' datasets and budgets. ``desk`` has rendered stand-ins and what two cores train in a
day, with seeds enough for a verdict; where it can, it takes the runs of the board
(`baselines.reproduction.papers._desk`). ``smoke`` has rendered stand-ins and models for a laptop, and too few seeds for
a verdict (`baselines.reproduction.papers._smoke`). A claim that does not hold at a small scale is reported so. Not
every entry has a ``desk``.
"""

from __future__ import annotations

import collections
import dataclasses
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, get_args

import rich.progress
from numpy.typing import NDArray

import benchmark_data
from baselines.config import RunConfig
from baselines.run import Run
from baselines.training import finetune, sweep
from baselines.training.loop import train
from benchmark_data import discovery, files
from benchmark_data.dataset import Dataset
from benchmark_data.errors import DamagedFile, InvalidInput, MissingExtra, Unavailable, UnknownName
from leaderboard import figures
from leaderboard.store import verdicts

try:
    import pandas as pd
except ImportError as error:
    raise MissingExtra("baselines.reproduction", "pandas", "train") from error

TIERS = ("smoke", "desk", "study")
"""From the least that is spent to the most: results of a later tier replace those of an earlier one."""

HOURS_PER_IMAGE = 6_000 / (300 * 300_000 * 64)
"""Hours of an A100 for each image of a training step: 6,000 hours for 300 runs of 300,000 steps (arXiv 2205.08399)."""


class Found(NamedTuple):
    """What an entry computes.

    Attributes:
        table: its numbers, which the claim is judged by; written as ``table.csv``.
        images: what is drawn beside them, by name: uint8 or floats in [0, 1]. The picture is all that is kept of them.
    """

    table: pd.DataFrame
    images: Mapping[str, NDArray[Any]] = {}


ILLUSTRATION, NOT_JUDGED = "illustration", "not judged"

ANSWERS: tuple[str, ...] = (*get_args(verdicts.Answer), ILLUSTRATION, NOT_JUDGED)
"""What a verdict may be. ``illustration``: nothing that could fail. ``not judged``: the numbers lack what it takes."""


COUNTED = {"holds": "hold", "floor": "at the floor", ILLUSTRATION: "illustrations"}
"""How several of an answer are called, where it is another word."""


class Verdict(NamedTuple):
    """Our answer to a claim.

    Attributes:
        answer: one of `ANSWERS`.
        numbers: what it was judged by: phrase -> finite number, controls and what a gate asks for among them.
        p: the p-value; None where nothing was tested.
        note: what a reader must know of the verdict, such as why there is none.
    """

    answer: str
    numbers: Mapping[str, float]
    p: float | None = None
    note: str = ""


def judged(parts: Sequence[verdicts.Comparison], numbers: Mapping[str, float], note: str = "") -> Verdict:
    """Judge a claim by everything that it says, each of which must hold (`leaderboard.store.verdicts.judge_all`)."""
    answer, p = verdicts.judge_all(parts)
    return Verdict(answer, numbers, p, note)


def fact(holds: bool, numbers: Mapping[str, float]) -> Verdict:
    """Answer a claim on data that no seed decides, by what was measured."""
    return Verdict("holds" if holds else "contradicted", numbers, None, "a property of the data, no seeds")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Transfer:
    """A run that starts from another: the arguments of `training.finetune.config` before the source is trained.

    Attributes:
        source: the run that it starts from, which the plan has among its runs.
        dataset: the target.
        heads: reset and train the heads of mean and variance.
        decoder: how many layers of the decoder to reset and train.
        side: count them from the ``"inside"`` or from the ``"outside"``.
        changes: other keys of the config that differ from the source's, such as ``steps``.
    """

    source: RunConfig
    dataset: str
    heads: bool = True
    decoder: int = 1
    side: str = "inside"
    changes: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def digest(self) -> str:
        """SHA-256 of the source's digest and of the other attributes."""
        own = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return hashlib.sha256(json.dumps(own, sort_keys=True, default=_digest).encode()).hexdigest()

    @property
    def plain(self) -> RunConfig:
        """The same run from new weights: of the same dataset, steps and seed."""
        config = self.source.with_steps(self.changes.get("steps", self.source.steps))
        return dataclasses.replace(config, **{"dataset": self.dataset, "split": ""} | dict(self.changes))


class Runs:
    """Trained runs under one root.

    Args:
        root: the folder of the runs of all studies.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    def config(self, run: RunConfig | Transfer) -> RunConfig:
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
            config: its config, or the transfer that it is.
            step: the snapshot to use; the last one if None.

        Returns:
            The run.

        Raises:
            DamagedFile: it was not trained.
            InvalidInput: it has no such snapshot.
        """
        return Run.open(self.root / sweep.run_path(self.config(config)), step=step)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Plan:
    """What an entry needs at one tier.

    Attributes:
        runs: the training runs.
        transfers: runs that start from some of these.
        datasets: datasets it looks at, besides those of the runs.
        settings: what its computation is told: JSON's types, tuples and run configs.
        codes: the runs' codes for the leaderboard's tasks are needed.
        seconds: what the computation takes after training, measured on one core.
        training: seconds that one step of a run takes on two cores, by dataset; by `HOURS_PER_IMAGE` where not given.
        own: datasets of the runs that the entry draws itself and ``benchmark_data`` does not know.
    """

    runs: tuple[RunConfig, ...] = ()
    transfers: tuple[Transfer, ...] = ()
    datasets: tuple[str, ...] = ()
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    codes: bool = False
    seconds: float = 1.0
    training: Mapping[str, float] = dataclasses.field(default_factory=dict)
    own: tuple[Dataset, ...] = ()

    @property
    def all_datasets(self) -> tuple[str, ...]:
        """The datasets of the runs, of the transfers and the others, each once, without those of its own."""
        names = dict.fromkeys([*(run.dataset for run in self.configs.values()), *self.datasets])
        return tuple(name for name in names if name not in self.known)

    @property
    def known(self) -> dict[str, Dataset]:
        """Its own datasets by full name."""
        return {dataset.id: dataset for dataset in self.own}

    @property
    def configs(self) -> dict[str, RunConfig]:
        """All that is trained, by digest: the runs, and the transfers as if from new weights."""
        return {run.digest: run for run in self.runs} | {each.digest: each.plain for each in self.transfers}


Compute: TypeAlias = Callable[[Mapping[str, Any], Runs, str], Found]
"""Takes a plan's settings, the runs and the tier."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Entry:
    """A figure or a table of a paper.

    Attributes:
        id: arXiv number and figure or table, such as ``"2205.08399/fig3"``.
        title: what it shows.
        paper: what the paper found: a value or a direction.
        claim: the paper's claim, in one sentence.
        smoke: what it needs at smoke tier.
        desk: what it needs at desk tier; None where that has nothing of its own.
        study: what it needs at study tier.
        compute: from a plan's settings, the runs and the tier to the numbers.
        draw: draws them as PNG, in the paper's layout.
        judge: from the numbers to the verdict.
    """

    id: str
    title: str
    paper: str
    claim: str
    smoke: Plan
    study: Plan
    compute: Compute
    draw: Callable[[Found, Path], None]
    judge: Callable[[pd.DataFrame], Verdict]
    desk: Plan | None = None

    @property
    def tiers(self) -> tuple[str, ...]:
        """The tiers that it has, from the least that is spent to the most."""
        return tuple(tier for tier in TIERS if tier != "desk" or self.desk is not None)

    def plan(self, tier: str) -> Plan:
        """Return what it needs at a tier.

        Raises:
            UnknownName: there is no such tier.
            InvalidInput: the entry has none.
        """
        if tier not in TIERS:
            raise UnknownName("tier", tier, TIERS)
        plan = {"smoke": self.smoke, "desk": self.desk, "study": self.study}[tier]
        if plan is None:
            raise InvalidInput(
                f"tier of {self.id}",
                expected=f"one of {', '.join(self.tiers)}",
                received=tier,
                remedy=f"offaxis-study list --tier {tier} shows the entries that have it.",
            )
        return plan


def papers() -> tuple[str, ...]:
    """List the papers, one for each file in ``baselines/reproduction/papers``.

    Example:
        >>> papers()
        ('bonheme2022', 'bonheme2023', 'michlo2023', 'zietlow2021')
    """
    return discovery.names("baselines.reproduction.papers")


def entries() -> dict[str, Entry]:
    """Return every figure and table of the papers by id: paper after paper, figures before tables.

    Example:
        >>> list(entries())[:3]
        ['2205.08399/fig1', '2205.08399/fig3', '2205.08399/fig3_smaller']
        >>> entries()["2205.08399/fig1"].smoke.runs
        ()
    """
    return {entry.id: entry for name in papers() for entry in _of_paper(name)}


def _of_paper(name: str) -> list[Entry]:
    """Return a paper's entries: figures before tables, by number."""
    return sorted(_module(name).ENTRIES, key=lambda entry: _place(entry.id))


def beside(id_: str) -> tuple[str, ...]:
    """Name entries that judge the same runs in the same way, in part or by another measure: no evidence of their own.

    Args:
        id_: of an entry.

    Returns:
        The ids of the others in a group of its paper's ``BESIDE``; none for most entries.

    Example:
        >>> beside("2205.08399/fig11")
        ('2205.08399/fig6',)
    """
    groups = (group for name in papers() for group in getattr(_module(name), "BESIDE", ()))
    return tuple(dict.fromkeys(other for group in groups if id_ in group for other in group if other != id_))


def _module(name: str) -> Any:
    return discovery.find("baselines.reproduction.papers", name, kind="paper")


def _place(id_: str) -> tuple[bool, int, str]:
    """Return the place in a paper: figures before tables, by number; what else is seen in a figure comes after it."""
    what, _, more = id_.partition("/")[2].partition("_")
    return what.startswith("table"), int(what.lstrip("figtable")), more


def computation(entry: Entry, tier: str) -> str:
    """Name what is computed and judged, whatever figure it is: entries with the same name have one row on the page.

    Args:
        entry: the entry.
        tier: the tier.

    Returns:
        SHA-256, in hexadecimal, of the runs, datasets, settings, computation and judge.

    Raises:
        UnknownName: there is no such tier.
        InvalidInput: the entry has none.
    """
    plan = entry.plan(tier)
    made_of = {
        "runs": sorted(plan.configs),
        "datasets": plan.all_datasets,
        "settings": dict(plan.settings),
        "compute": f"{entry.compute.__module__}.{entry.compute.__qualname__}",
        "judge": f"{entry.judge.__module__}.{entry.judge.__qualname__}",
    }
    return hashlib.sha256(json.dumps(made_of, sort_keys=True, default=_digest).encode()).hexdigest()


def find(names: Iterable[str]) -> tuple[Entry, ...]:
    """Choose entries.

    Args:
        names: ids, a paper's arXiv number for all of its entries, or ``"all"``.

    Returns:
        The entries, each once.

    Raises:
        UnknownName: there is no such figure or table; the message gives the near match.
        InvalidInput: the paper is missing; the message names those that have such a figure.

    Example:
        >>> [entry.id for entry in find(["2102.06822/fig3"])]
        ['2102.06822/fig3']
    """
    known = entries()
    whole = dict.fromkeys(id_.partition("/")[0] for id_ in known)
    chosen: dict[str, Entry] = {}
    for name in names:
        part = {id_: entry for id_, entry in known.items() if name in (id_, id_.partition("/")[0], "all")}
        if not part:
            same = [id_ for id_ in known if id_.partition("/")[2] == name.casefold()]
            if same:
                raise InvalidInput(
                    "figure or table",
                    expected=f"its paper as well, as in {' or '.join(same)}",
                    received=repr(name),
                    remedy="offaxis-study list shows them all.",
                )
            raise UnknownName("figure or table", name, [*known, *whole, "all"])
        chosen |= part
    return tuple(chosen.values())


def inputs(entry: Entry, tier: str) -> str:
    """Hash what an entry is made of at a tier: runs, transfers, datasets with versions, settings and claim.

    Returns:
        SHA-256, in hexadecimal.

    Raises:
        UnknownName: there is no such tier or dataset.
    """
    plan = entry.plan(tier)
    made_of = {
        "id": entry.id,
        "tier": tier,
        "claim": entry.claim,
        "runs": sorted(run.digest for run in plan.runs),
        "datasets": {name: benchmark_data.load(name).version for name in plan.all_datasets}
        | {name: dataset.version for name, dataset in plan.known.items()},
        "settings": dict(plan.settings),
    }
    if plan.transfers:
        made_of["transfers"] = sorted(each.digest for each in plan.transfers)
    return hashlib.sha256(json.dumps(made_of, sort_keys=True, default=_digest).encode()).hexdigest()


def _digest(value: RunConfig | Transfer) -> str:
    return value.digest


def read(folder: Path) -> dict[str, Any] | None:
    """Read an entry's record, and check the files that it names.

    Args:
        folder: the entry's own.

    Returns:
        The content of ``verdict.json``; None if it is not there.

    Raises:
        DamagedFile: it is no record, or a file that it names is missing or another one.
    """
    path = folder / "verdict.json"
    if not path.exists():
        return None
    held: Any = files.read_json(path)
    known = {*RECORDED, "schema"} - ({"verdict", "p", "note"} if _old(held) else set())
    if not isinstance(held, dict) or not known <= set(held):
        raise DamagedFile(
            str(path), expected=f"a record with {', '.join(RECORDED)}", received="another file", remedy=_MEND
        )
    record: dict[str, Any] = held | ({"verdict": NOT_JUDGED, "p": None, "note": OLD} if _old(held) else {})
    for name, digest in held["files"].items():
        if not (folder / name).is_file() or _hash(folder / name) != digest:
            raise DamagedFile(
                str(folder / name), expected=f"the file with SHA-256 {digest[:16]}", received="another", remedy=_MEND
            )
    return record


SCHEMA = 2
"""Of ``verdict.json``. A record of schema 1 has no verdict of seeds; its numbers stay until it is run again."""

OLD = "recorded before claims were tested over seeds: run it again"


def _old(held: object) -> bool:
    return isinstance(held, dict) and held.get("schema") == 1


RECORDED = (
    *("id", "tier", "title", "paper", "claim", "verdict", "p", "note", "numbers"),
    *("budget", "trained", "command", "inputs", "files"),
)
"""What ``verdict.json`` holds; ``trained`` is the seconds that each run's training took, by folder."""

_MEND = "Remove the folder's verdict.json and run the study again."


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@dataclasses.dataclass(frozen=True)
class State:
    """How far an entry is.

    Attributes:
        done: whether it is computed, from what it would be computed from now.
        missing: runs that are not trained; of one that is done none is looked for.
        runs: all runs that it needs.
    """

    done: bool
    missing: int
    runs: int

    @property
    def ready(self) -> bool:
        """Whether all that is left is to compute, if anything."""
        return not self.missing

    def __str__(self) -> str:
        return self._said("runs missing")

    @property
    def short(self) -> str:
        """The same, for a column of a table."""
        return self._said("missing")

    def _said(self, missing: str) -> str:
        if self.missing:
            return f"{self.missing} of {self.runs} {missing}"
        return "done" if self.done else "ready"


def state(entry: Entry, tier: str, into: Path, runs: Path) -> State:
    """Describe how far an entry is.

    Args:
        entry: the entry.
        tier: the tier.
        into: the folder of all entries.
        runs: the root of the runs.

    Returns:
        Its state, which prints as ``done``, ``ready`` or how many runs are missing.
    """
    held, plan = read(into / entry.id), entry.plan(tier)
    if held is not None and not _old(held) and held["inputs"] == inputs(entry, tier):
        return State(done=True, missing=0, runs=len(plan.configs))
    missing = len(plan.configs) - sum(each.state == "done" for each in _known(plan, runs))
    return State(done=False, missing=missing, runs=len(plan.configs))


def _known(plan: Plan, runs: Path) -> list[sweep.RunStatus]:
    """Look at the runs, and at the transfers whose sources are done."""
    states = {run.digest: sweep.run_status(run, runs, encode=plan.codes) for run in plan.runs}
    begun = [each for each in plan.transfers if sweep.run_status(each.source, runs, encode=False).state == "done"]
    transfers = [sweep.run_status(Runs(runs).config(each), runs, encode=plan.codes) for each in begun]
    return [*states.values(), *transfers]


def hours(plans: Sequence[Plan]) -> float:
    """Return the time that plans take together, runs that they share counted once.

    Args:
        plans: the plans.

    Returns:
        Hours: on two cores where a plan says how long its steps take, of an A100 elsewhere.
    """
    runs: dict[str, float] = {}
    for plan in plans:
        for digest, run in plan.configs.items():
            steps = run.steps * run.build_objective().n_views
            if run.dataset in plan.training:
                runs[digest] = plan.training[run.dataset] * steps / 3_600
            else:
                runs[digest] = steps * run.batch_size * HOURS_PER_IMAGE
    return sum(runs.values()) + sum(plan.seconds for plan in plans) / 3_600


def run(
    entry: Entry,
    tier: str,
    into: str | os.PathLike[str],
    runs: str | os.PathLike[str],
    *,
    jobs: int | None = None,
    ray: str | None = None,
    progress: rich.progress.Progress | None = None,
) -> dict[str, Any]:
    """Train what is missing, compute, draw and judge; or find that all is done.

    Args:
        entry: the entry.
        tier: the tier.
        into: the folder of all entries; this one's is ``<into>/<id>``.
        runs: the root of the runs, which all entries share.
        jobs: as for `baselines.training.sweep.run`.
        ray: as for `baselines.training.sweep.run`.
        progress: as for `baselines.training.sweep.run`.

    Returns:
        The content of ``verdict.json``.

    Raises:
        Unavailable: a dataset is not prepared.
        InvalidInput: the folder holds results of a later tier, the entry has no such tier, a run failed, or a file
            cannot be written.
        DamagedFile: a file in the folder is not what the record says.
        UnknownName: there is no such tier.
    """
    folder, plan, made_of = Path(into) / entry.id, entry.plan(tier), inputs(entry, tier)
    held = read(folder)
    if held is not None and TIERS.index(held["tier"]) > TIERS.index(tier):
        raise InvalidInput(
            str(folder),
            expected=f"no results of a later tier than {tier}",
            received=held["tier"],
            remedy="Choose another folder.",
        )
    if held is not None and not _old(held) and held["inputs"] == made_of:
        return held
    for name in plan.all_datasets:
        if not benchmark_data.load(name).prepared:
            raise Unavailable(
                name, expected="a prepared dataset", received="none", remedy=f"Run `offaxis-data prepare {name}`."
            )
    if plan.runs:
        _train(plan, Path(runs), jobs=jobs, ray=ray, progress=progress)
    begin = time.perf_counter()
    found = entry.compute(plan.settings, Runs(Path(runs)), tier)
    verdict = entry.judge(found.table)
    _withdraw(folder / "verdict.json")
    figures.write_csv(found.table, folder / "table.csv")
    entry.draw(found, folder / "figure.png")
    record = {
        "schema": SCHEMA,
        "id": entry.id,
        "tier": tier,
        "title": entry.title,
        "paper": entry.paper,
        "claim": entry.claim,
        "verdict": verdict.answer,
        "p": None if verdict.p is None else round(verdict.p, 6),
        "note": verdict.note,
        "numbers": {name: round(float(number), 6) for name, number in verdict.numbers.items()},
        "command": f"offaxis-study run {entry.id} --tier {tier}",
        "budget": _budget(plan) | {"compute_seconds": round(time.perf_counter() - begin, 1)},
        "trained": {state.run: round(state.seconds, 1) for state in _known(plan, Path(runs))},
        "inputs": made_of,
        "files": {name: _hash(folder / name) for name in ("table.csv", "figure.png")},
    }
    files.write_json(folder / "verdict.json", record)
    return record


def _withdraw(path: Path) -> None:
    """Remove the record before what it names is replaced."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise files.unwritable(path, error) from error


def _train(plan: Plan, runs: Path, **options: Any) -> None:
    """Train the runs, then the transfers, whose sources are known by then; two that are the same are one run."""
    for config in (config for config in plan.runs if config.dataset in plan.known):
        train(config, runs / sweep.run_path(config), dataset=plan.known[config.dataset], progress=options["progress"])
    _finish([run for run in plan.runs if run.dataset not in plan.known], runs, encode=plan.codes, **options)
    transfers = [Runs(runs).config(each) for each in plan.transfers]
    if transfers:
        _finish(tuple({each.digest: each for each in transfers}.values()), runs, encode=plan.codes, **options)


def _finish(configs: Sequence[RunConfig], runs: Path, *, encode: bool, **options: Any) -> None:
    """Train what is not done; where all is, leave the folder to whoever is at work in it."""
    if all(sweep.run_status(config, runs, encode=encode).state == "done" for config in configs):
        return
    options["encode"] = encode
    failed = [state for state in sweep.run(configs, runs, **options) if state.state != "done"]
    if failed:
        raise InvalidInput(
            f"{len(failed)} of {len(configs)} runs",
            expected="all to finish",
            received=f"{failed[0].run}: {failed[0].error or failed[0].state}",
        )


def _budget(plan: Plan) -> dict[str, Any]:
    """Describe what was spent on training."""
    configs = plan.configs.values()
    return {
        "runs": len(configs),
        "steps": sorted({run.steps for run in configs}),
        "seeds": len({run.seed for run in configs}),
        "architectures": sorted({run.architecture for run in configs}),
        "datasets": [*plan.all_datasets, *plan.known],
    }


def line(record: Mapping[str, Any]) -> str:
    """Return the verdict in one line.

    Args:
        record: the content of ``verdict.json``.

    Example:
        >>> record = {"id": "a/fig1", "claim": "Up.", "verdict": "holds", "p": 0.0079, "note": "", "tier": "smoke"}
        >>> line(record | {"numbers": {"slope": 0.5}})
        'a/fig1 (smoke): HOLDS (p = 0.008). Up. Ours: slope 0.5.'
    """
    return f"{record['id']} ({record['tier']}): {_loud(answer(record))}. {record['claim']} Ours: {numbers(record)}."


def _loud(told: str) -> str:
    """Put what comes before the bracket into capitals."""
    verdict, bracket, rest = told.partition(" (")
    return verdict.upper() + bracket + rest


def answer(record: Mapping[str, Any]) -> str:
    """Return a record's verdict with its p-value or its note.

    Args:
        record: the content of ``verdict.json``.

    Example:
        >>> answer({"verdict": "floor", "p": None, "note": "MIG below 0.1"})
        'floor (MIG below 0.1)'
    """
    told = "" if record["p"] is None else "p < 0.001" if record["p"] < 0.001 else f"p = {record['p']:.3f}"
    remarks = "; ".join(filter(None, (told, record["note"])))
    return str(record["verdict"]) + (f" ({remarks})" if remarks else "")


def numbers(record: Mapping[str, Any], *, most: int | None = None) -> str:
    """Return a record's numbers in one line, three digits each.

    Args:
        record: the content of ``verdict.json``.
        most: how many to give; all if None.

    Example:
        >>> numbers({"numbers": {"a": 1.0, "b": 0.25, "c": 2.0}}, most=2)
        'a 1; b 0.25; and 1 more'
    """
    told = [f"{name} {number:.3g}" for name, number in record["numbers"].items()]
    rest = [] if most is None or len(told) <= most else [f"and {len(told) - most} more"]
    return "; ".join([*told[:most], *rest])


def spent(records: Iterable[Mapping[str, Any]]) -> str:
    """Describe in one line what entries took, runs that they share counted once.

    Args:
        records: the contents of their ``verdict.json``.

    Example:
        >>> one = {"budget": {"compute_seconds": 1800.0}, "trained": {"a": 3600.0, "b": 7200.0}}
        >>> spent([one, one])
        '2 runs, trained in 3.00 hours of a worker, and 1.00 hours of computing'
    """
    records = list(records)
    runs: dict[str, float] = {}
    for record in records:
        runs |= record["trained"]
    computing = sum(record["budget"]["compute_seconds"] for record in records)
    return (
        f"{len(runs)} runs, trained in {sum(runs.values()) / 3_600:.2f} hours of a worker, and {computing / 3_600:.2f} "
        "hours of computing"
    )


def report(folder: Path) -> str:
    """Make the page of all figures and tables from the entries' folders.

    Args:
        folder: the folder of all entries, beside the page.

    Returns:
        Markdown, with a row for each figure and table of the papers.

    Raises:
        DamagedFile: a folder's files are not what its record says.
    """
    groups = _groups({id_: read(folder / id_) for id_ in entries()})
    done = [group.record for group in groups if group.record is not None]
    tested_ = [record for record in done if record["p"] is not None]
    corrected = dict(
        zip(
            (record["id"] for record in tested_),
            verdicts.holm([record["p"] for record in tested_]).tolist(),
            strict=True,
        )
    )
    kept = sum(p <= verdicts.ERROR for p in corrected.values())
    counts = collections.Counter(record["verdict"] for record in done)
    told = ", ".join(f"{counts[answer]} {COUNTED.get(answer, answer)}" for answer in ANSWERS if counts[answer])
    facts = sum(record["p"] is None and record["verdict"] in ("holds", "contradicted") for record in done)
    lines = [
        "# Reproduction",
        "",
        "Every figure and table of the four papers: what the paper found, what we found, and the command.",
        "`offaxis-study report` writes this page from the folders in `reproduction`, each with the numbers, the",
        "picture and what was spent. Tier `desk` has rendered stand-ins, what two cores train in a day, and seeds",
        "enough for a verdict; tier `smoke` has less of either. A claim that does not hold there may hold at the",
        "papers' budgets, and the other way round.",
        "",
        f"{len(done)} of {len(groups)} computations were run: {told or 'none'}.",
        f"They took {spent(done)}.",
        "",
        "A verdict is drawn from one value per seed ([statistics.md](statistics.md)), at an error of 5% for each row.",
        "*Floor*: the models know too little to test the claim. *Illustration*: nothing that could fail. *Not judged*:",
        f"the numbers lack what a verdict takes. Of {len(tested_)} tested claims, {kept} have a p-value of at most",
        f"{verdicts.ERROR} after Holm over this page, too. {facts} verdicts without one are on what no seed decides.",
    ]
    for name in papers():
        own = [group for group in groups if group.entry in _of_paper(name)]
        lines += ["", f"## {_module(name).__doc__.splitlines()[0]}", ""]
        lines += ["| | the claim | verdict | our numbers | made by |"]
        lines += ["|---|---|---|---|---|"]
        lines += [_row(group, corrected) for group in own]
        elsewhere = [
            f"{entry.id} is {group.entry.id}"
            for entry in _of_paper(name)
            for group in groups
            if group not in own and entry.id in group.also
        ]
        if elsewhere:
            lines += ["", f"The same computation as in another paper's table: {'; '.join(elsewhere)}."]
    return "\n".join(lines) + "\n"


def _staleness(record: Mapping[str, Any] | None) -> int:
    """Put what was run and judged before what is not judged, and that before what was not run."""
    return 2 if record is None else int(_old(record))


class _Group(NamedTuple):
    """Entries that are one computation: the first that was run, or the first, and the ids of the others."""

    entry: Entry
    record: dict[str, Any] | None
    also: tuple[str, ...]


def _groups(records: Mapping[str, dict[str, Any] | None]) -> list[_Group]:
    """Put entries that compute and judge the same together.

    One that was run counts at the tier that it was run at. One that was not joins such an entry if it is the same at
    any tier, and else counts at smoke tier.
    """
    run_as = {
        id_: computation(entry, record["tier"])
        for id_, entry in entries().items()
        if (record := records[id_]) is not None and not _old(record)
    }
    together: dict[str, list[Entry]] = {}
    for id_, entry in entries().items():
        ways = [run_as[id_]] if id_ in run_as else [computation(entry, tier) for tier in entry.tiers]
        name = next((way for way in ways if way in run_as.values()), ways[0])
        together.setdefault(name, []).append(entry)
    made = []
    for same in together.values():
        best = min(same, key=lambda entry: _staleness(records[entry.id]))
        also = tuple(entry.id for entry in same if entry is not best)
        made.append(_Group(best, records[best.id], also))
    return made


def _needs(entry: Entry) -> str:
    """Say what an entry that was not run takes to run."""
    plan = entry.desk or entry.smoke
    return f"{len(plan.configs)} runs, {hours([plan]):.1f} hours of two cores" if plan.configs else "no training"


SHOWN = 4
"""How many of an entry's numbers the page shows; ``verdict.json`` has all of them."""


def _row(group: _Group, corrected: Mapping[str, float]) -> str:
    """Return a computation's row on the page."""
    entry, record = group.entry, group.record
    others = f". The same: {', '.join(group.also)}" if group.also else ""
    others += f". Beside: {', '.join(beside(entry.id))}" if beside(entry.id) else ""
    if record is None:
        return (
            f"| {entry.id}: {entry.title}{others} | {entry.claim} (The paper: {entry.paper}.) | not run | | "
            f"`offaxis-study run {entry.id} --tier {'desk' if entry.desk else 'smoke'}`, {_needs(entry)} |"
        )
    folder, budget = f"reproduction/{entry.id}", record["budget"]
    claim = entry.claim if _old(record) else record["claim"]
    runs = f"{budget['runs']} runs on {', '.join(budget['datasets'])}" if budget["runs"] else "no training"
    over_page = f", {corrected[entry.id]:.3f} after Holm" if entry.id in corrected else ""
    return (
        f"| [{entry.id}]({folder}/figure.png): {record['title']}{others} | {claim} (The paper: {record['paper']}.) | "
        f"**{record['verdict']}**{answer(record).removeprefix(record['verdict'])}{over_page} | "
        f"{numbers(record, most=SHOWN)} ([all]({folder}/verdict.json), [table]({folder}/table.csv)) | "
        f"`{record['command']}`, {runs} |"
    )
