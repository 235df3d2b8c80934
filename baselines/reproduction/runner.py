"""Make the papers' figures and tables, each by one command: ``offaxis study run 2205.08399/fig3``.

Entries share their training runs: a run lies where its config says (`baselines.training.sweep.run_path`), so that the
second entry that needs it finds it, and all that a sweep can do holds here too: resuming, Ray, runs that die. A
`Transfer` starts from another run's weights, so that its config is known once that run is done: transfers are trained
after the runs.

What an entry leaves behind, and when that is left alone, is said in `baselines.reproduction.records`.
"""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import rich.progress

from baselines.config import RunConfig
from baselines.reproduction import records
from baselines.reproduction.entries import TIERS, Entry, Plan, Runs, digest
from baselines.training import sweep
from baselines.training.loop import train
from benchmark_data import files
from benchmark_data.errors import InvalidInput, Unavailable
from leaderboard.store import verdicts


def inputs(entry: Entry, tier: str) -> str:
    """Hash what an entry's table is made of at a tier: runs, transfers, datasets with versions, and settings.

    Returns:
        SHA-256, in hexadecimal.

    Raises:
        UnknownName: there is no such tier or dataset.
    """
    plan = entry.plan(tier)
    return digest(
        {
            "id": entry.id,
            "tier": tier,
            "runs": sorted(run.digest for run in plan.runs),
            "transfers": sorted(each.digest for each in plan.transfers),
            "datasets": {name: dataset.version for name, dataset in plan.all_datasets.items()},
            "settings": dict(plan.settings),
        }
    )


@dataclasses.dataclass(frozen=True)
class Progress:
    """How far an entry is.

    Attributes:
        done: whether it is computed, from what it would be computed from now.
        missing: runs that are not trained; of one that is done none is looked for.
        runs: all runs that it needs.
    """

    done: bool
    missing: int
    runs: int

    def __str__(self) -> str:
        if self.missing:
            return f"{self.missing} of {self.runs} runs missing"
        return "done" if self.done else "ready"


def state(entry: Entry, tier: str, into: Path, runs: Path) -> Progress:
    """Describe how far an entry is.

    Args:
        entry: the entry.
        tier: the tier.
        into: the folder of all entries.
        runs: the root of the runs.

    Returns:
        Its state, which prints as ``done``, ``ready`` or how many runs are missing.
    """
    held, plan = records.read(into / entry.id), entry.plan(tier)
    if held is not None and _computed(entry, tier, held):
        return Progress(done=True, missing=0, runs=len(plan.configs))
    missing = len(plan.configs) - sum(each.state == "done" for each in _known(plan, runs))
    return Progress(done=False, missing=missing, runs=len(plan.configs))


def _known(plan: Plan, runs: Path) -> list[sweep.RunStatus]:
    """Look at the runs, and at the transfers whose sources are done."""
    states = {run.digest: sweep.run_status(run, runs, encode=plan.codes) for run in plan.runs}
    begun = [each for each in plan.transfers if sweep.run_status(each.source, runs, encode=False).state == "done"]
    transfers = [sweep.run_status(Runs(runs).config(each), runs, encode=plan.codes) for each in begun]
    return [*states.values(), *transfers]


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
    """Train what is missing, compute, draw and judge; or find that all is done, and judge the table that is there.

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
    held = records.read(folder)
    if held is not None and TIERS.index(held["tier"]) > TIERS.index(tier):
        raise InvalidInput(
            f"{folder}: expected no results of a later tier than {tier}, received {held['tier']}. Choose another "
            "folder."
        )
    if held is not None and _computed(entry, tier, held):
        return _judged_again(entry, folder, held)
    for name, dataset in plan.all_datasets.items():
        if not dataset.prepared:
            raise Unavailable(f"{name}: expected a prepared dataset, received none. Run `offaxis data prepare {name}`.")
    if plan.runs:
        _train(plan, Path(runs), jobs=jobs, ray=ray, progress=progress)
    begin = time.perf_counter()
    found = entry.compute(plan.settings, Runs(Path(runs)), tier)
    said = judged(entry, tier, found.table)
    files.withdraw(folder / records.RECORD)
    records.write_table(found.table, folder)
    entry.draw(found, folder / records.PICTURE)
    records.few_colours(folder / records.PICTURE)
    record = {
        "schema": records.SCHEMA,
        **said,
        "command": f"offaxis study run {entry.id} --tier {tier}",
        "budget": budget(entry, tier) | {"compute_seconds": round(time.perf_counter() - begin, 1)},
        "trained": {state.run: round(state.seconds, 1) for state in _known(plan, Path(runs))},
        "inputs": made_of,
        "files": {name: files.hash_of(folder / name) for name in (records.TABLE, records.PICTURE)},
    }
    files.write_json(folder / records.RECORD, record)
    return record


def judged(entry: Entry, tier: str, table: pd.DataFrame) -> dict[str, Any]:
    """Return what a record says of an entry: what it is, and the verdict on each of its sentences.

    Args:
        entry: the entry.
        tier: the tier of the table.
        table: what it computed.
    """
    datasets = entry.plan(tier).all_datasets
    return {
        "id": entry.id,
        "tier": tier,
        "paper": entry.paper,
        "judged": [
            {
                "claim": claim,
                "control": control,
                "verdict": one.answer if entry.added else verdicts.verdict(one.answer, datasets),
                "p": None if one.p is None else round(one.p, 6),
                "note": one.note,
                "measure": one.measure,
                "effect": None if one.effect is None else [round(float(end), 6) for end in one.effect],
                "numbers": {name: round(float(number), 6) for name, number in one.numbers.items()},
            }
            for claim, control, one in entry.sentences(table)
        ],
    }


def _computed(entry: Entry, tier: str, held: Mapping[str, Any]) -> bool:
    """Return whether a record's table is what would be computed now at a tier, whatever was claimed of it."""
    return bool(held["tier"] == tier and held["inputs"] == inputs(entry, tier))


def _judged_again(entry: Entry, folder: Path, held: dict[str, Any]) -> dict[str, Any]:
    """Judge an entry by the table that it left behind, and write its record anew if that says something else."""
    spent = {"compute_seconds": held["budget"]["compute_seconds"]}
    record = held | judged(entry, held["tier"], records.table(folder)) | {"budget": budget(entry, held["tier"]) | spent}
    if record != held:
        files.write_json(folder / records.RECORD, record)
    return record


def _train(plan: Plan, runs: Path, **options: Any) -> None:
    """Train the runs, then the transfers, whose sources are known by then; two that are the same are one run."""
    own = {dataset.id: dataset for dataset in plan.own}
    for config in (config for config in plan.runs if config.dataset in own):
        train(config, runs / sweep.run_path(config), dataset=own[config.dataset], progress=options["progress"])
    _finish([run for run in plan.runs if run.dataset not in own], runs, encode=plan.codes, **options)
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
            f"{len(failed)} of {len(configs)} runs: expected all to finish, received {failed[0].run}: "
            f"{failed[0].error or failed[0].state}"
        )


def budget(entry: Entry, tier: str) -> dict[str, Any]:
    """Describe what an entry trains at a tier.

    Args:
        entry: the entry.
        tier: the tier.

    Returns:
        JSON's types; ``images`` are those that a run sees, mean over the runs, and ``share`` is their part of the
        paper's: None where nothing is trained, or the paper does not state its own.
    """
    plan = entry.plan(tier)
    configs = plan.configs.values()
    images = _images(plan)
    return {
        "runs": len(configs),
        "steps": sorted({run.steps for run in configs}),
        "seeds": len({run.seed for run in configs}),
        "architectures": sorted({_architecture(run) for run in configs}),
        "datasets": list(plan.all_datasets),
        "images": images,
        "share": float(f"{entry.times * images / _images(entry.study):.3g}") if images and entry.stated else None,
    }


def _images(plan: Plan) -> int:
    """Return how many images a run sees in training, mean over a plan's runs."""
    seen = [run.steps * run.batch_size * run.build_objective().n_views for run in plan.runs]
    return round(sum(seen) / len(seen)) if seen else 0


def _architecture(run: RunConfig) -> str:
    """Return an architecture with its width, where it has one."""
    width = run.architecture_parameters.get("width")
    return f"{run.architecture} {width}" if width else run.architecture
