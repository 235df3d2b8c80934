"""Reproduce the papers' figures and tables, each with one command: ``offaxis study run 2205.08399/fig3``.

Entries share their training runs: a run's folder is determined by its config (`baselines.training.sweep.run_path`), so
that every entry that needs it finds it, and runs are resumed, replaced and sent to Ray as in any sweep. A `Transfer`
starts from another run's weights, so its config is known only once that run is done: transfers are trained after the
runs. `baselines.reproduction.records` describes an entry's files, and when they are reused.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from baselines.config import RunConfig
from baselines.record import warn_if_code_changed
from baselines.reproduction import records
from baselines.reproduction.entries import TIERS, Entry, Outcome, Plan, Runs, digest
from baselines.training import sweep
from baselines.training.loop import train
from benchmark_data import files
from benchmark_data.errors import InvalidInput, Unavailable
from leaderboard.store import verdicts


def digest_of_inputs(entry: Entry, tier: str) -> str:
    """Hash the inputs of an entry's table at a tier: runs, transfers, datasets with versions, and settings.

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
            "runs": sorted(config.digest for config in plan.runs),
            "transfers": sorted(transfer.digest for transfer in plan.transfers),
            "datasets": {name: dataset.version for name, dataset in plan.all_datasets.items()},
            "settings": dict(plan.settings),
        }
    )


def state(entry: Entry, tier: str, into: Path, runs: Path) -> str:
    """Describe an entry's progress.

    Args:
        entry: the entry.
        tier: the tier.
        into: the folder of all entries.
        runs: the root of the runs.

    Returns:
        ``done``, without checking runs, ``ready``, or how many runs are missing.
    """
    record, plan = records.read_record(into / entry.id), entry.plan(tier)
    if record is not None and _is_current(entry, tier, record):
        return "done"
    missing = len(plan.configs) - sum(status.state == "done" for status in _run_statuses(plan, runs))
    return f"{missing} of {len(plan.configs)} runs missing" if missing else "ready"


def _run_statuses(plan: Plan, runs: Path) -> list[sweep.RunStatus]:
    """Return the status of the runs, and of the transfers whose sources are done."""
    statuses = {config.digest: sweep.run_status(config, runs, encode=plan.codes) for config in plan.runs}
    ready = [
        transfer for transfer in plan.transfers if sweep.run_status(transfer.source, runs, encode=False).state == "done"
    ]
    transfers = [sweep.run_status(Runs(runs).config_of(transfer), runs, encode=plan.codes) for transfer in ready]
    return [*statuses.values(), *transfers]


def run(
    entry: Entry,
    tier: str,
    into: str | os.PathLike[str],
    runs: str | os.PathLike[str],
    *,
    jobs: int | None = None,
    ray: str | None = None,
) -> dict[str, Any]:
    """Train missing runs, compute, draw and judge; if the entry is done, judge its existing table.

    Args:
        entry: the entry.
        tier: the tier.
        into: the folder of all entries; this one's is ``<into>/<id>``.
        runs: the root of the runs, which all entries share.
        jobs: as for `baselines.training.sweep.run`.
        ray: as for `baselines.training.sweep.run`.

    Returns:
        The content of ``verdict.json``.

    Raises:
        Unavailable: a dataset is not prepared.
        InvalidInput: the folder holds results of a later tier, the entry has no such tier, a run failed, or a file
            cannot be written.
        DamagedFile: a file in the folder does not match the record.
        UnknownName: there is no such tier.
    """
    folder, plan = Path(into) / entry.id, entry.plan(tier)
    existing = records.read_record(folder)
    if existing is not None and TIERS.index(existing["tier"]) > TIERS.index(tier):
        raise InvalidInput(
            f"{folder}: expected results of tier {tier} or a smaller one, received {existing['tier']}. Choose "
            "another folder."
        )
    if existing is not None and _is_current(entry, tier, existing):
        return _judge_again(entry, folder, existing)
    for name, dataset in plan.all_datasets.items():
        if not dataset.prepared:
            raise Unavailable(f"{name}: expected a prepared dataset, received none. Run `offaxis data prepare {name}`.")
    _train_runs(plan, Path(runs), jobs=jobs, ray=ray)
    start = time.perf_counter()
    result = entry.compute(plan.settings, Runs(Path(runs)), tier)
    trained = {status.run: round(status.seconds, 1) for status in _run_statuses(plan, Path(runs))}
    return write_record(entry, tier, folder, result, trained, start)


def write_record(entry: Entry, tier: str, path: Path, result: Outcome, trained: dict[str, float], start: float) -> Any:
    """Judge and draw an entry's outcome, and write its folder, the record last.

    Args:
        entry: the entry.
        tier: the tier.
        path: the entry's folder.
        result: the outcome of its computation.
        trained: folder of a run -> seconds of training.
        start: the time of `time.perf_counter` when the computation began.

    Returns:
        The content of ``verdict.json``.
    """
    judgement = judge(entry, tier, result.table)
    files.remove_file(path / records.RECORD)
    records.write_table(result.table, path)
    entry.draw(result, path / records.PICTURE)
    records.reduce_colours(path / records.PICTURE)
    record = {
        "schema": records.SCHEMA,
        **judgement,
        "command": f"offaxis study run {entry.id} --tier {tier}",
        "budget": budget(entry, tier) | {"compute_seconds": round(time.perf_counter() - start, 1)},
        "trained": trained,
        "inputs": digest_of_inputs(entry, tier),
        "files": {name: files.hash_of(path / name) for name in (records.TABLE, records.PICTURE)},
    }
    files.write_json(path / records.RECORD, record)
    return record


def judge(entry: Entry, tier: str, table: pd.DataFrame) -> dict[str, Any]:
    """Return a record's description of an entry, with the verdict on each of its sentences.

    Args:
        entry: the entry.
        tier: the tier of the table.
        table: the computed table.
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
                "verdict": verdict.answer if entry.added else verdicts.verdict(verdict.answer, datasets),
                "p": None if verdict.p is None else round(verdict.p, 6),
                "note": verdict.note,
                "measure": verdict.measure,
                "effect": None if verdict.effect is None else [round(float(value), 6) for value in verdict.effect],
                "numbers": {name: round(float(number), 6) for name, number in verdict.numbers.items()},
            }
            for claim, control, verdict in entry.sentences(table)
        ],
    }


def _is_current(entry: Entry, tier: str, record: Mapping[str, Any]) -> bool:
    """Return whether a record's table is up to date at a tier; claims do not matter."""
    return bool(record["tier"] == tier and record["inputs"] == digest_of_inputs(entry, tier))


def _judge_again(entry: Entry, folder: Path, old: dict[str, Any]) -> dict[str, Any]:
    """Judge an entry by its existing table, and rewrite its record if the verdicts differ."""
    cost = {"compute_seconds": old["budget"]["compute_seconds"]}
    record = old | judge(entry, old["tier"], records.read_table(folder)) | {"budget": budget(entry, old["tier"]) | cost}
    if record != old:
        files.write_json(folder / records.RECORD, record)
    return record


def _train_runs(plan: Plan, runs: Path, **options: Any) -> None:
    """Train the runs, then the transfers, whose sources are then known; equal transfers share one run."""
    own_datasets = {dataset.id: dataset for dataset in plan.own_datasets}
    for config in (config for config in plan.runs if config.dataset in own_datasets):
        train(config, runs / sweep.run_path(config), dataset=own_datasets[config.dataset])
    _finish_runs([run for run in plan.runs if run.dataset not in own_datasets], runs, encode=plan.codes, **options)
    transfers = {config.digest: config for config in map(Runs(runs).config_of, plan.transfers)}
    _finish_runs(tuple(transfers.values()), runs, encode=plan.codes, **options)


def _finish_runs(configs: Sequence[RunConfig], runs: Path, *, encode: bool, **options: Any) -> None:
    """Train unfinished runs; if there are none, do not lock the folder, which another process may be using."""
    if all(sweep.run_status(config, runs, encode=encode).state == "done" for config in configs):
        warn_if_code_changed((runs / sweep.run_path(config), config) for config in configs)
        return
    failed = [status for status in sweep.run(configs, runs, encode=encode, **options) if status.state != "done"]
    if failed:
        raise InvalidInput(
            f"{len(failed)} of {len(configs)} runs did not finish. The first is {failed[0].run}: "
            f"{failed[0].error or failed[0].state}"
        )


def budget(entry: Entry, tier: str) -> dict[str, Any]:
    """Describe an entry's training budget at a tier.

    Args:
        entry: the entry.
        tier: the tier.

    Returns:
        JSON types; ``images`` is the number that a run sees, mean over the runs, and ``share`` its ratio to the
        paper's: None if nothing is trained, or the paper does not state it.
    """
    plan = entry.plan(tier)
    configs = plan.configs.values()
    images = _images_seen(plan)
    return {
        "runs": len(configs),
        "steps": sorted({config.steps for config in configs}),
        "seeds": len({config.seed for config in configs}),
        "architectures": sorted({_architecture_name(config) for config in configs}),
        "datasets": list(plan.all_datasets),
        "images": images,
        "share": float(f"{entry.step_factor * images / _images_seen(entry.study):.3g}")
        if images and entry.paper_states_steps
        else None,
    }


def _images_seen(plan: Plan) -> int:
    """Return the number of images that a run sees in training, mean over a plan's runs."""
    image_counts = [config.steps * config.images_per_step for config in plan.runs]
    return round(sum(image_counts) / len(image_counts)) if image_counts else 0


def _architecture_name(config: RunConfig) -> str:
    """Return an architecture's name, with its width if it has one."""
    width = config.architecture_parameters.get("width")
    return f"{config.architecture} {width}" if width else config.architecture
