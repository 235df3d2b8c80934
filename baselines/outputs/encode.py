"""Fill in a submission from runs: codes, budgets, hyperparameters."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

from baselines.run import Run
from baselines.run_folder import write_arrays
from benchmark_data import files
from benchmark_data.errors import DamagedFile, InvalidInput
from leaderboard.reading import representations
from leaderboard.record import Supervision
from leaderboard.record import read as read_record
from leaderboard.scoring import submission


def fill(folder: str | os.PathLike[str], runs: Sequence[Run]) -> list[Path]:
    """Fill in a submission's folder from runs: codes of the requested rows, and how the runs were trained.

    A run's codes become ``<dataset>/seed_<seed>.npz``. In ``submission.json`` each run's budget is filled in, and
    supervision, hyperparameters and versions if they are empty. The user fills in the rest.

    Args:
        folder: the folder, from ``offaxis board submit``.
        runs: finished runs of one method.

    Returns:
        The files of codes.

    Raises:
        DamagedFile: the folder is no submission, or a file in it is damaged.
        InvalidInput: a run is not finished, its dataset and seed are not in the submission, two runs have the same, or
            they differ in method or hyperparameters from each other or from the file; nothing is written then. Or a
            file cannot be written.
    """
    folder = Path(folder)
    path = folder / submission.FILE
    if not path.exists():
        raise DamagedFile(
            f"{path}: expected a submission, received no such file. Begin one: offaxis board submit "
            f"{shlex.quote(str(folder))} --method NAME --task TASK"
        )
    content = files.read_json(path)
    runs_by_file = {folder / run.dataset.id / f"seed_{_find_seed_entry(content, run)['seed']}.npz": run for run in runs}
    if len(runs_by_file) < len(runs):
        raise InvalidInput("runs: expected one for each dataset and seed, received two with the same ones.")
    records = {codes_file: read_record(run.folder).model_dump(mode="json") for codes_file, run in runs_by_file.items()}
    first_record = next(iter(records.values()))
    stated, actual = content.get("hyperparameters"), first_record["hyperparameters"]
    stated = stated if isinstance(stated, dict) else {}
    # An earlier call wrote all settings except defaults that run.json leaves out; an author may write only some.
    names = stated.keys() | actual.keys() if "train_share" in stated else stated.keys() & actual.keys()
    for name in sorted(names):
        if (value := stated.get(name)) != (received := actual.get(name)):
            raise InvalidInput(
                f"hyperparameter {name} of {runs[0].folder}: expected {value!r}, as in {path}, received {received!r}. "
                "Make a submission for each method, or correct the file."
            )
    levels, supervision = get_args(Supervision), first_record["supervision"]
    if (claimed := content.get("supervision")) in levels[: levels.index(supervision)]:
        raise InvalidInput(
            f"supervision of {runs[0].folder}: expected at most {claimed}, as in {path}, received {supervision}. "
            "Correct the file."
        )
    for codes_file, record in records.items():
        runs_by_file[codes_file].check_finished()
        for key in ("method", "hyperparameters", "supervision", "selection"):
            if record[key] != first_record[key]:
                raise InvalidInput(
                    f"{key} of {runs_by_file[codes_file].folder}: expected the same as in the other runs, "
                    "received another. Make a submission for each method."
                )
    for codes_file, run in runs_by_file.items():
        rows = run.dataset.rows(representations.arrays(codes_file.with_name("rows.npy"))["codes"])
        write_arrays(codes_file, {"indices": rows, "codes": run.encode_rows(rows)})
        _find_seed_entry(content, run)["budget"] = records[codes_file]["budget"]
    for key in ("supervision", "selection", "hyperparameters", "versions"):
        content[key] = first_record[key] if content.get(key) in (None, "", {}, "none") else content[key]
    files.write_json(path, content)
    return list(runs_by_file)


def _find_seed_entry(content: Any, run: Run) -> dict[str, Any]:
    """Find a run's entry in a submission."""
    try:
        tasks: dict[str, list[dict[str, Any]]] = {name: entry["seeds"] for name, entry in content["tasks"].items()}
        for seed_entry in tasks.get(run.dataset.id, []):
            if seed_entry["seed"] == run.config.seed:
                return seed_entry
    except (TypeError, KeyError, AttributeError) as error:
        raise DamagedFile(f"{submission.FILE}: expected tasks with seeds, received something else.") from error
    raise InvalidInput(
        f"{run.dataset.id}, seed {run.config.seed} of {run.folder}: expected a dataset and seed of the "
        f"submission, received a submission for {', '.join(tasks) or 'no task'}. Begin one with this task and enough "
        "seeds: offaxis board submit"
    )
