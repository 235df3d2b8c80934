"""What a submission asks for, filled in from runs: codes, budgets, hyperparameters."""

from __future__ import annotations

import os
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
    """Fill a submission's folder with what runs know: codes of the rows it asks for, and how they were trained.

    A run becomes ``<dataset>/seed_<seed>.npz`` of its own dataset. In ``submission.json`` each run's budget is filled
    in, and supervision, hyperparameters and versions where they are empty. The rest is for people to write.

    Args:
        folder: as ``offaxis board submit`` makes it.
        runs: finished runs of one method.

    Returns:
        The files of codes.

    Raises:
        DamagedFile: the folder is no submission, or a file in it is damaged.
        InvalidInput: a run is not finished, the submission does not ask for its dataset and seed, two runs have the
            same, or they differ in method or hyperparameters, also from those in the file; nothing is written then. Or
            a file cannot be written.
    """
    folder = Path(folder)
    path = folder / submission.FILE
    if not path.exists():
        raise DamagedFile(
            f"{path}: expected a submission, received no such file. Begin one: offaxis board submit {folder} "
            "--method NAME --task TASK"
        )
    content = files.read_json(path)
    places = {folder / run.dataset.id / f"seed_{_seed(content, run)['seed']}.npz": run for run in runs}
    if len(places) < len(runs):
        raise InvalidInput("runs: expected one for each dataset and seed, received two with the same.")
    records = {place: read_record(run.folder).model_dump(mode="json") for place, run in places.items()}
    first = next(iter(records.values()))
    stated, ours = content.get("hyperparameters"), first["hyperparameters"]
    stated = stated if isinstance(stated, dict) else {}
    # An earlier call wrote all settings but defaults that run.json leaves out; an author, some of them.
    names = stated.keys() | ours.keys() if "train_share" in stated else stated.keys() & ours.keys()
    for name in sorted(names):
        if (value := stated.get(name)) != (received := ours.get(name)):
            raise InvalidInput(
                f"hyperparameter {name} of {runs[0].folder}: expected {value!r}, as in {path}, received {received!r}. "
                "Make a submission for each method, or correct the file."
            )
    known, seen = get_args(Supervision), first["supervision"]
    if (said := content.get("supervision")) in known[: known.index(seen)]:
        raise InvalidInput(f"supervision of {runs[0].folder}: expected at most {said}, as in {path}, received {seen}.")
    for place, record in records.items():
        places[place].check_finished()
        for key in ("method", "hyperparameters", "supervision", "selection"):
            if record[key] != first[key]:
                raise InvalidInput(
                    f"{key} of {places[place].folder}: expected those of the other runs: one method, received others. "
                    "Make a submission for each."
                )
    for place, run in places.items():
        rows = run.dataset.rows(representations.arrays(place.with_name("rows.npy"))["codes"])
        write_arrays(place, {"indices": rows, "codes": run.encode_rows(rows)})
        _seed(content, run)["budget"] = records[place]["budget"]
    for key in ("supervision", "selection", "hyperparameters", "versions"):
        content[key] = first[key] if content.get(key) in (None, "", {}, "none") else content[key]
    files.write_json(path, content)
    return list(places)


def _seed(content: Any, run: Run) -> dict[str, Any]:
    """Find a run's entry in a submission."""
    try:
        tasks: dict[str, list[dict[str, Any]]] = {name: entry["seeds"] for name, entry in content["tasks"].items()}
        for seed in tasks.get(run.dataset.id, []):
            if seed["seed"] == run.config.seed:
                return seed
    except (TypeError, KeyError, AttributeError) as error:
        raise DamagedFile(f"{submission.FILE}: expected tasks with seeds, received something else.") from error
    raise InvalidInput(
        f"{run.dataset.id}, seed {run.config.seed} of {run.folder}: expected a dataset and seed that the "
        f"submission asks for, received a submission for {', '.join(tasks) or 'none'}. Name the task and enough seeds: "
        "offaxis board submit."
    )
