"""A results tree on disk: one JSON file for each method on each task, ``<root>/v1/<dataset>/<config>/<method>.json``.

Every run in a file records its own provenance, so that a file stays valid when runs are merged into it.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from benchmark_data.errors import DamagedFile, InvalidInput, OffaxisError, Unavailable
from benchmark_data.files import exclusive, write_json
from leaderboard import protocol
from leaderboard.record import METHOD_FIELDS, About
from leaderboard.schema import parse, parse_or_raise, read_bytes, short_repr
from leaderboard.store.results import DISAGREES, DRIFT, Result, Scored, result

PUBLISHED = Path(__file__).parents[1] / "published"
"""The results that are published with the project: in a checkout of the source, not in wheels."""


def path(root: str | os.PathLike[str], task: str, method: str) -> Path:
    """Return the path of a result: ``<root>/<version>/<dataset>[/<config>]/<method>.json``.

    Args:
        root: the results tree.
        task: the task's name.
        method: the method's name.

    Returns:
        The path, whether or not there is a file.

    Example:
        >>> path("results", "xysquares/spacing_4@v1", "pca").as_posix()
        'results/v1/xysquares/spacing_4/pca.json'
    """
    return Path(root, *_path_parts(task, method))


def _path_parts(task: str, method: str) -> tuple[str, ...]:
    dataset, _, version = task.partition("@")
    return version, *dataset.split("/"), f"{method}.json"


def read(file: str | os.PathLike[str]) -> Result:
    """Read one result.

    Args:
        file: its JSON file.

    Returns:
        The result.

    Raises:
        DamagedFile: the file is missing, too large or no JSON, its fields break the schema or contradict each other,
            or its path does not match its task and method. The message names the first wrong field.
    """
    file = Path(file)
    stored = parse_or_raise(Result, read_bytes(file), str(file))
    expected = _path_parts(stored.task, stored.method)
    actual = file.parts if len(file.parts) >= len(expected) else file.absolute().parts
    if actual[-len(expected) :] != expected:
        raise DamagedFile(
            f"{file}: expected the path to end in {'/'.join(expected)}, as its task and method say, received "
            f"{file.name}. Move the file, or correct the fields."
        )
    return stored


def problems(file: Path, first: OffaxisError) -> list[OffaxisError]:
    """List all errors of a result file that ``read`` refuses.

    Args:
        file: its JSON file.
        first: what ``read`` raised.

    Returns:
        An error for each field that breaks the schema; if none does, what ``read`` raised.
    """
    with contextlib.suppress(OffaxisError):
        parsed = parse(Result, read_bytes(file), str(file))
        return parsed if isinstance(parsed, list) else [first]
    return [first]


def files(root: str | os.PathLike[str]) -> list[Path]:
    """List the result files of a tree.

    Args:
        root: the results tree.

    Returns:
        Paths, sorted.

    Raises:
        Unavailable: the published results are not installed.
        DamagedFile: there is no such folder.
    """
    root = Path(root)
    if root == PUBLISHED and not root.is_dir():
        raise Unavailable(
            "This installation has no published results: they are only in a clone of the repository. Name a results "
            "tree: your own, or leaderboard/published in a clone."
        )
    if not root.is_dir():
        raise DamagedFile(
            f"{root}: expected a results folder, received {'a file' if root.exists() else 'no such folder'}. Make one: "
            f"offaxis board score RUN... --to {shlex.quote(str(root))}"
        )
    return sorted(p for p in root.glob("v*/**/*.json") if not p.name.startswith("."))


def by_dataset(root: str | os.PathLike[str]) -> dict[str, list[Path]]:
    """List the result files of this protocol by dataset, from the names of folders, which only ``read`` checks.

    Args:
        root: the results tree.

    Returns:
        Full name of the dataset -> paths, sorted.

    Raises:
        DamagedFile: there is no such folder.
    """
    files_by_dataset: dict[str, list[Path]] = {}
    for file in (json_file for json_file in files(root) if json_file.is_relative_to(Path(root, protocol.VERSION))):
        files_by_dataset.setdefault("/".join(file.relative_to(root).parts[1:-1]), []).append(file)
    return {name: files_by_dataset[name] for name in sorted(files_by_dataset)}


def read_all(root: str | os.PathLike[str]) -> list[Result]:
    """Read every result of a tree.

    Args:
        root: the results tree.

    Returns:
        Results in the order of task and method.

    Raises:
        DamagedFile: there is no such folder, or a file is damaged.
    """
    return sorted(map(read, files(root)), key=lambda result: (result.task, result.method))


def write(root: str | os.PathLike[str], results: Iterable[Result], *, replace: bool = False) -> list[Path]:
    """Write results into a tree, merging their runs into what is there.

    Safe with several concurrent writers: the tree is locked, and each file is replaced atomically.

    Args:
        root: the results tree, created if missing.
        results: what to write. Each is written before the next one is taken from the iterable.
        replace: whether runs replace those with the same tier and seed, also from other codes, and a method's
            description replaces that in the tree.

    Returns:
        The files, in the order of the results.

    Raises:
        InvalidInput: the runs do not fit those in the tree (see ``merge``), or the folder cannot be written.
        DamagedFile: an existing file cannot be read.
    """
    root = Path(root)
    written = []
    for new in results:
        with lock(root):
            file = path(root, new.task, new.method)
            old = read(file) if file.exists() else None
            _write_result(file, _merge_into_tree(root, old, new, replace=replace))
            for other in _files_of_method(root, new.method) if replace else ():
                stored = read(other)
                if description_changes(stored.about, new.about):
                    _write_result(other, stored.model_copy(update={"about": _update_description(stored, new)}))
            written.append(file)
    return written


def _write_result(file: Path, result: Result) -> None:
    write_json(file, result.model_dump(mode="json", by_alias=True))


def _files_of_method(root: Path, method: str) -> Iterator[Path]:
    return (file for file in files(root) if file.name == f"{method}.json")


def _update_description(old: Result, new: Result) -> About:
    """Return the old description with the fields that the new one fills in."""
    return old.about.model_copy(update={k: v for k, v in new.about.model_dump().items() if v})


def has_scores_of(root: str | os.PathLike[str], planned: Result) -> bool:
    """Return whether a tree has scores of every run of a result, for the same codes in the same tier."""
    file = path(root, planned.task, planned.method)
    stored_runs = {(run.tier, run.seed, run.codes_digest) for run in (read(file).runs if file.exists() else ())}
    return {(run.tier, run.seed, run.codes_digest) for run in planned.runs} <= stored_runs


def check_write(root: str | os.PathLike[str], new: Result, *, replace: bool = False) -> None:
    """Check before runs are scored whether ``write`` will accept them, apart from their scores.

    Args:
        root: the results tree, created if missing.
        new: the result to be written, its runs without scores and samples.
        replace: as in ``write``.

    Raises:
        InvalidInput: as ``write``.
        DamagedFile: as ``write``.
    """
    root = Path(root)
    with lock(root):
        file = path(root, new.task, new.method)
        old = read(file) if file.exists() else None
        if old:
            unscored: dict[str, Any] = {"scores": {}, "parts": {}, "samples": {}, "verification": None}
            old = old.model_copy(update={"runs": tuple(run.model_copy(update=unscored) for run in old.runs)})
        _merge_into_tree(root, old, new, replace=replace)


def _merge_into_tree(root: Path, old: Result | None, new: Result, *, replace: bool) -> Result:
    """Merge a new result with the one of the same method and task in a tree, if there is one."""
    if old:
        return merge(old, new, replace=replace)
    if not replace:
        _check_same_about(new, _read_undamaged(_files_of_method(root, new.method)))
    return new


def quarantine(file: str | os.PathLike[str], reason: str) -> Result:
    """Mark a result file as not to be trusted. It stays readable and is no longer ranked.

    Args:
        file: its JSON file.
        reason: why; empty to trust it again.

    Returns:
        The updated result.

    Raises:
        DamagedFile: the file cannot be read.
        InvalidInput: the reason is too long, or the file cannot be written.
    """
    file = Path(file)
    root = file.absolute().parents[len(path(".", read(file).task, "x").parts) - 1]
    with lock(root):
        stored = read(file)
        stored = result(stored.task, stored.method, stored.runs, about=stored.about, quarantine=reason)
        write_json(file, stored.model_dump(mode="json", by_alias=True))
    return stored


def lock(root: Path) -> contextlib.AbstractContextManager[None]:
    """Keep other writers out of a tree while a ``with`` block runs.

    Args:
        root: the results tree, created if missing.

    Returns:
        A context manager.

    Raises:
        InvalidInput: the folder cannot be written.
    """
    return exclusive(root / ".lock", what=root)


def merge(old: Result, new: Result, *, replace: bool = False) -> Result:
    """Merge the runs of two results of the same method and task.

    A stored run with the same codes and scores is kept, so that evaluating twice changes nothing; if it is not
    verified, the new run's verification or marks are added. With ``replace``, the new run is kept; if it has the same
    codes and no verification of its own, it takes over the stored marks and, unless scores differ by more than
    ``DRIFT`` or its encoder disagrees, the stored verification. A new verification removes marks.

    Args:
        old: the stored result.
        new: the new result. Fields of its description are empty or equal to those stored.
        replace: whether runs replace those with the same tier and seed, and the description the stored one.

    Returns:
        The merged result.

    Raises:
        InvalidInput: another task or method; another description of the method; other codes, settings or another budget
            for a stored seed; scores of the same codes that differ by more than ``DRIFT``; or settings that differ
            between seeds.
    """
    what = f"{new.method} on {new.task}"
    if (old.task, old.method) != (new.task, new.method):
        raise InvalidInput(f"{what}: expected the same task and method, received {old.method} on {old.task}.")
    if not replace:
        _check_same_about(new, [old])
    merged = {(run.tier, run.seed): run for run in old.runs}
    for run in new.runs:
        stored = merged.get((run.tier, run.seed))
        if stored:
            run = _put_in_place(stored, run) if replace else _keep(stored, run, f"{what}: seed {run.seed}")
        merged[run.tier, run.seed] = run
    about = _update_description(old, new)
    return result(old.task, old.method, merged.values(), about=about, quarantine=old.quarantine)


def _put_in_place(stored: Scored, run: Scored) -> Scored:
    """Return a run that replaces a stored one, with the verification and marks that `merge` lets it take over."""
    if stored.codes_digest != run.codes_digest or run.verification:
        return run
    earlier = None if DISAGREES in run.marks or any(score_drifts(stored, run)) else stored.verification
    updates = {"verification": earlier, "marks": tuple(dict.fromkeys(stored.marks + run.marks))}
    return run.model_copy(update=updates)


def _keep(stored: Scored, run: Scored, what: str) -> Scored:
    """Return a stored run, with the new one's verification or marks; refuse other codes, scores, costs or settings."""
    if stored.codes_digest != run.codes_digest:
        raise InvalidInput(
            f"{what}: expected the codes of the stored run, received other codes. Use another seed or method name, or "
            "replace the stored run: --replace, in Python replace=True."
        )
    for key, before, after in score_drifts(stored, run):
        raise InvalidInput(
            f"{what}: expected {key} within {DRIFT:g} of {before:.4f}, as published for the same codes, received "
            f"{after:.4f}. The evaluation has changed, which requires a new protocol version. To correct a wrong "
            "score: --replace."
        )
    for name in ("budget", "status", *METHOD_FIELDS):
        before, after = getattr(stored, name), getattr(run, name)
        if before != after and (name != "status" or after == "reproduced"):
            raise InvalidInput(
                f"{what}: {name}: expected {short_repr.repr(before)}, as of the stored run with the same codes, "
                f"received {short_repr.repr(after)}. Replace the stored run: --replace, in Python replace=True."
            )
    if stored.verification or not (run.verification or run.marks != stored.marks):
        return stored
    marks = () if run.verification else tuple(dict.fromkeys(stored.marks + run.marks))
    return stored.model_copy(update={"verification": run.verification, "marks": marks})


def description_changes(before: About, after: About) -> dict[str, tuple[str, str]]:
    """List the fields in which two descriptions of a method differ; an empty field differs from nothing.

    Args:
        before: one description.
        after: the other.

    Returns:
        Field -> (before, after), in the order of the fields.

    Example:
        >>> description_changes(About(title="A", code="https://a.org"), About(title="B"))
        {'title': ('A', 'B')}
    """
    fields = ((name, getattr(before, name), getattr(after, name)) for name in About.model_fields)
    return {name: (then, now) for name, then, now in fields if then and now and now != then}


def _read_undamaged(paths: Iterable[Path]) -> Iterator[Result]:
    """Read result files one by one, and skip damaged ones, which `leaderboard.report.integrity.check` reports."""
    for file in paths:
        with contextlib.suppress(DamagedFile):
            yield read(file)


def _check_same_about(new: Result, stored: Iterable[Result]) -> None:
    """Refuse a description of a method that differs from that in every stored result."""
    first_conflict: Result | None = None
    for old in stored:
        if not description_changes(old.about, new.about):
            return
        first_conflict = first_conflict or old
    if first_conflict:
        origin = f"the results of {new.method} on {first_conflict.task}"
        remedy = "If it is another method, rename it. If it is the same, overwrite the old description: --replace."
        check_same_description(f"{new.method} on {new.task}", new.about, origin, first_conflict.about, remedy)


def check_same_description(what: str, new: About, origin: str, stored: About, remedy: str) -> None:
    """Refuse a description that differs from a stored one; an empty field differs from nothing.

    Args:
        what: what the new description is of, for the message.
        new: the new description.
        origin: where the stored one is, for the message.
        stored: the stored description.
        remedy: what to do.

    Raises:
        InvalidInput: they differ; the message has the first line that does.
    """
    for field, (before, after) in description_changes(stored, new).items():
        lines = itertools.zip_longest(before.split("\n"), after.split("\n"), fillvalue="no line more")
        number, (before, after) = next((i, pair) for i, pair in enumerate(lines, 1) if pair[0] != pair[1])
        where = f"{field}, line {number}" if field == "bibtex" else field
        raise InvalidInput(
            f"{what}: about.{where}: expected {short_repr.repr(before)}, as in {origin}, received "
            f"{short_repr.repr(after)}. {remedy}"
        )


def score_drifts(before: Scored, after: Scored) -> Iterator[tuple[str, float, float]]:
    """List the scores that two evaluations have in common and that differ by more than ``DRIFT``.

    Args:
        before: one run.
        after: the other.

    Yields:
        (score, before, after), by score.
    """
    for key in sorted(before.scores.keys() & after.scores.keys()):
        if abs(before.scores[key] - after.scores[key]) > DRIFT:
            yield key, before.scores[key], after.scores[key]
