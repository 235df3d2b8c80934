"""The run's record, ``run.json``, which the leaderboard reads with the codes; and checks of its pixels and settings.

Internal.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
import shlex
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import benchmark_data
from baselines import objectives
from baselines.config import RunConfig
from baselines.run_folder import Snapshots
from benchmark_data import discovery, files, parallel
from benchmark_data.dataset import Dataset, Digest
from benchmark_data.errors import DamagedFile, InvalidInput, OffaxisWarning
from benchmark_data.variants import splitting
from leaderboard import record


class Digests(NamedTuple):
    """Digests of a run's images: the quick digest and, for the user's own images, that of every row."""

    quick: Digest
    full: Digest | None


def digests_of(dataset: Dataset) -> Digests:
    """Return a dataset's quick digest, and the full one if its name does not identify its pixels."""
    return Digests(dataset.digest(), None if parallel.is_loadable_by_name(dataset) else dataset.digest(full=True))


def write_record(
    folder: Path, dataset: Dataset, digests: Digests, *, method: str, budget: Mapping[str, Any], **facts: Any
) -> None:
    """Write ``run.json``.

    Args:
        folder: the run folder.
        dataset: the dataset of the run.
        digests: the dataset's digests.
        method: name of the objective or untrained baseline.
        budget: ``device``, and ``steps``, ``images`` and ``seconds`` if the method was trained.
        **facts: ``seed``, ``supervision``, ``hyperparameters``, ``versions`` and other entries.
    """
    record.write(
        folder,
        {
            "method": method,
            "dataset": dataset.id,
            "dataset_version": dataset.version,
            "dataset_digest": digests.quick._asdict(),
            **({"dataset_full_digest": digests.full._asdict()} if digests.full else {}),
            "image_shape": dataset.image_shape,
            "factor_sizes": dataset.space.sizes,
            "selection": "none",
            "budget": {"steps": 0, "images": 0, "seconds": 0.0, **budget},
            "about": about(method),
            **facts,
        },
    )


def read_record(folder: Path) -> dict[str, Any]:
    """Read ``run.json``; empty if there is none yet."""
    path = folder / record.FILE
    if not path.exists():
        return {}
    record.read(folder)  # raises an error if it is damaged
    return dict(files.read_json(path))


def about(method: str) -> dict[str, str]:
    """Return the leaderboard's description of a method, from its file; empty for a method without a file.

    Returns:
        ``title`` and ``description``, from the file's first line, ``title: description``; ``authors`` with the year,
        if the description begins with them; ``paper``, ``code`` (an implementation that this one agrees with),
        ``license`` (of that code, SPDX) and ``bibtex``, from the constants ``PAPER``, ``CODE``, ``CODE_LICENSE`` and
        ``CITATION``, empty if the file has none.

    Example:
        >>> about("factor_vae")["title"], about("factor_vae")["authors"]
        ('FactorVAE', 'Kim and Mnih, 2018')
    """
    for package in ("baselines.objectives", "baselines.untrained"):
        if method in discovery.names(package):
            module = discovery.find(package, method, kind="method")
            title, _, description = (module.__doc__ or "").partition("\n")[0].partition(": ")
            citation = re.match(r"([A-Z]\w+(?:, [A-Z]\w+)*(?: et al\.| and [A-Z]\w+)), .*?\b(\d{4})\b", description)
            constants = {"paper": "PAPER", "code": "CODE", "license": "CODE_LICENSE", "bibtex": "CITATION"}
            return {
                "title": title,
                "description": description[:1].upper() + description[1:],
                "authors": f"{citation[1]}, {citation[2]}" if citation else "",
                **{key: getattr(module, constant, "") for key, constant in constants.items()},
            }
    return {}


def check_pixels(folder: Path, digests: Digests) -> None:
    """Check that a run began with these images; a run without a record passes.

    Raises:
        InvalidInput: it began with other pixels or factors.
        DamagedFile: its record is damaged.
    """
    stored = read_record(folder)
    if not stored:
        return
    full_digest, stored_full_digest = digests.full and digests.full._asdict(), stored.get("dataset_full_digest")
    # A copy of a published dataset, as in a worker process, has one; the dataset itself has none.
    is_other = None not in (full_digest, stored_full_digest) and full_digest != stored_full_digest
    if stored["dataset_digest"] != digests.quick._asdict() or is_other:
        remedy = "Restore those images" if digests.full else "Use the version of the dataset that run.json names"
        raise InvalidInput(
            f"dataset of {folder}: expected the pixels and factors that the run began with, received others. {remedy}, "
            "or train again in another folder."
        )


def settings(config: RunConfig) -> dict[str, Any]:
    """Return the settings that distinguish a run from others of its method, as in run.json and results."""
    excluded = ("dataset", "objective", "seed", "steps", "snapshots", "history_every", "selection", "start_from")
    nested = ("hyperparameters", "architecture_parameters")
    optional = ("split", "start_weights", "reset", "frozen", "precision", "reconstruction_weight")
    unused = [name for name in optional if getattr(config, name) == getattr(RunConfig, name)]
    unused += [] if config.build_objective().decodes else ["reconstruction", "reconstruction_weight", "reduction"]
    remaining = {name: value for name, value in config.as_json().items() if name not in (*excluded, *nested, *unused)}
    return {**config.hyperparameters, **config.architecture_parameters, **remaining}


def check_settings(folder: Path, config: RunConfig) -> None:
    """Check that a config was not edited after its training began, since the record would have wrong settings.

    Raises:
        InvalidInput: objective, seed, steps or a setting of config.json differ from run.json or the last snapshot.
    """
    stored = read_record(folder)
    if not stored:
        return
    began = {"objective": stored["method"], **{key: stored[key] for key in ("seed", "selection")}}
    began |= stored["hyperparameters"]
    now = {"objective": config.objective, "seed": config.seed, "selection": config.selection, **settings(config)}
    now = json.loads(json.dumps(now))
    edited = [name for name in {**now, **began} if now.get(name) != began.get(name)]
    if (Snapshots(folder).last or 0) > config.steps:
        edited.append("steps")
    if edited:
        raise InvalidInput(
            f"{folder / 'config.json'}: expected the {' and '.join(edited)} that the run began with, received another. "
            "Restore the file, or train in another folder."
        )


@functools.cache  # a process does not reload code
def objective_code(name: str) -> str:
    """Hash the file of an objective and those that objectives share, which with the config define a run's loss."""
    file = Path(str(discovery.find("baselines.objectives", name, kind="objective").__file__))
    shared = sorted(Path(objectives.__file__).parent.glob("_*.py"))
    return hashlib.sha256("".join(files.hash_of(path) for path in (file, *shared)).encode()).hexdigest()


def warn_if_code_changed(runs: Iterable[tuple[Path, RunConfig]]) -> None:
    """Warn if the code of a run's objective has changed since its last steps."""
    changed = []
    for folder, config in runs:
        trained_with = read_record(folder).get("computed", {}).get("objective_code")
        if trained_with not in (None, objective_code(config.objective)):
            changed.append((folder, config.objective))
    if changed:
        folder, objective = changed[0]
        more = f" and {len(changed) - 1} more" * (len(changed) > 1)
        what = f"{folder}{more}: the code of the objective {objective} has changed since these steps were trained"
        remedy = "The steps are kept. To train with the new code, remove the folder or choose another."
        warnings.warn(f"{what}. {remedy}", OffaxisWarning, stacklevel=3)


def own_images(folder: Path, config: RunConfig) -> Dataset | None:
    """Return the user's pictures that a run was trained on, read from their folder; None for any other run."""
    path = folder / "images.json"
    if not path.exists():
        return None
    stored = files.read_json(path)
    if not isinstance(stored, dict) or not isinstance(stored.get("folder"), str):
        raise DamagedFile(f"{path}: expected the folder of the run's images, received {json.dumps(stored)[:80]}.")
    name, *_ = config.dataset.partition("/")
    if not Path(stored["folder"]).is_dir():
        words = ("--config", str(path.with_name("config.json")), "--images", "FOLDER", "--to", str(folder))
        retry = shlex.join(["offaxis", "train", "run", *words])
        raise InvalidInput(
            f"The images of {folder} are no longer in {stored['folder']}. Pass their new folder: {retry}"
        )
    return splitting.resolve(benchmark_data.from_folder(stored["folder"], name), config.dataset)
