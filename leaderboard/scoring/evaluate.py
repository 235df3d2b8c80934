"""From codes to scores: run folders that anyone may have written, in; results, out.

A run folder holds ``run.json`` (`RunFile`) and ``codes.npz``: ``indices`` int64 (n,), the rows of the task in its
order, and ``codes`` float (n, L), one row of latents for each. Nothing in it is run or unpickled.
"""

from __future__ import annotations

import datetime
import functools
import hashlib
import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchmark_data.archives import npz
from benchmark_data.errors import DamagedFile, InvalidInput, OffaxisError, UnknownName
from benchmark_data.files import in_run
from benchmark_data.variants.splitting import Divided
from leaderboard import protocol
from leaderboard.arrays import check_codes, warn_if_same
from leaderboard.reading import units
from leaderboard.scoring import leaks, measure, verification
from leaderboard.store import results, results_tree, schema
from leaderboard.store.results import About, Budget, Digests, Result, Run, Supervision
from leaderboard.store.schema import Name, Settings, Versions, pydantic

__all__ = ["RunFile", "evaluate", "read_codes", "read_run"]

Progress: TypeAlias = Callable[[str, int, int], None]
"""Is told what is being done now, how many steps are done and how many there are."""

Float32Codes: TypeAlias = NDArray[np.float32]

See: TypeAlias = Callable[[str, Float32Codes, protocol.Task], None]
"""Is given the place of a run, its codes, float32 (n, L) in the order of the task's rows, and the task."""

Allow: TypeAlias = Callable[[Result], None]
"""Is given a result of runs without scores and samples, and raises what speaks against scoring them."""

LATENTS = 1024
"""The most latents that are scored."""


class RunFile(schema.Model):
    """What ``run.json`` says of a run. Keys that are not listed here are left alone.

    Attributes:
        schema_version: 1; written as ``schema``.
        method: lower-case name of the method.
        dataset: full name, such as ``xysquares/spacing_4``.
        dataset_version: of the data that the codes were made from.
        dataset_digest: its quick digest.
        seed: of the training.
        supervision: what the method may see.
        selection: how this model was chosen among others; ``none`` where it was not.
        hyperparameters: what tells this method from its siblings.
        budget: what training cost.
        versions: package -> version.
        about: what a reader wants to know of the method.
        claimed: what the authors say the scores are; kept beside what comes out here.
    """

    model_config = pydantic.ConfigDict(extra="ignore")

    schema_version: Literal[1] = pydantic.Field(alias="schema")
    method: Name
    dataset: schema.Line
    dataset_version: schema.Line
    dataset_digest: Digests
    seed: int = pydantic.Field(ge=0, lt=2**63)
    supervision: Supervision
    selection: schema.Line
    hyperparameters: Settings
    budget: Budget
    versions: Versions
    about: About = About()
    claimed: results.Scores = pydantic.Field(default_factory=dict)


class _OnlyDataset(schema.Model):
    """The part of ``run.json`` that names what the codes are of, so that they can be checked when another is wrong."""

    model_config = pydantic.ConfigDict(extra="ignore")

    dataset: schema.Line


def evaluate(
    folders: Iterable[str | os.PathLike[str]],
    *,
    tier: str = "smoke",
    method: str = "",
    status: results.Status = "recomputed",
    fresh: str = "",
    tell: Callable[[str], None] = lambda sentence: None,
    see: See = lambda where, codes, task: None,
    allow: Allow = lambda result: None,
    progress: Progress = lambda what, done, total: None,
) -> Iterator[Result]:
    """Score run folders.

    All of them are checked before the first is scored.

    Args:
        folders: run folders. Several seeds of a method on a task become one result.
        tier: of the protocol.
        method: the name to score them under, such as that of a second setting of a method; their own if it is empty.
        status: ``"recomputed"`` from codes that someone handed in, or ``"reproduced"`` by training here.
        fresh: text to draw fresh rows by, on which runs that have an encoder (``encoder.onnx``) are verified; none are
            if it is empty. It must be made when the encoders could not be changed any more.
        tell: is told why a run that has an encoder was not verified.
        see: is given each run's folder, its codes and its task before it is scored.
        allow: is given every result before the first is scored, such as ``results_tree.check_write`` with its tree.
        progress: is told what is going on.

    Yields:
        One result for each task and method, in that order, as soon as its runs are scored. Nothing is written; see
        ``results_tree.write``.

    Raises:
        DamagedFile: a folder lacks a file, or a file does not hold what it should.
        InvalidInput: no folders; codes of other rows, of another dataset, not finite; the same seed or the same codes
            twice; settings that differ between the seeds of a method; a reference's name; or what ``check_part`` or
            ``allow`` refuses.
        UnknownName: an unknown tier or dataset, or a claim of a score that the tier does not compute.
    """
    protocol.tier(tier)
    candidates = []
    for folder in folders:
        run, _ = read_run(folder, tier=tier)
        candidates.append(candidate(folder, renamed(run, method)))
    yield from score_all(
        candidates, tier=tier, status=status, fresh=fresh, tell=tell, see=see, allow=allow, progress=progress
    )


def candidate(folder: str | os.PathLike[str], run: RunFile | None = None) -> Candidate:
    """Describe a run folder that was checked as a run to score.

    Args:
        folder: the run folder.
        run: what is said of it; None for what its record says.

    Returns:
        The run; its codes are read when they are asked for.

    Raises:
        DamagedFile: the record cannot be read, or there are no codes.
    """
    said = run or read_record(Path(folder))
    read = functools.partial(read_all, codes_file(folder), protocol.task(said.dataset))
    return Candidate(str(folder), said, read, encoder_file(folder))


def renamed(run: RunFile, method: str) -> RunFile:
    """Return what is known of a run, under another method's name, which becomes its title, too.

    Args:
        run: the run.
        method: the name; the run's own stays if it is empty.
    """
    if method in ("", run.method):
        return run
    return run.model_copy(update={"method": method, "about": run.about.model_copy(update={"title": method})})


def by_result(folders: Iterable[str | os.PathLike[str]], *, method: str = "") -> dict[tuple[str, str], list[Path]]:
    """Group run folders by the result that they belong to.

    Args:
        folders: run folders.
        method: the name that they are scored under; their own if it is empty.

    Returns:
        (dataset, method) -> folders, by seed.

    Raises:
        DamagedFile: a folder's ``run.json`` cannot be read.
    """
    found: dict[tuple[str, str], list[tuple[int, Path]]] = {}
    for folder in map(Path, folders):
        run = read_record(folder)
        found.setdefault((protocol.task(run.dataset).dataset, method or run.method), []).append((run.seed, folder))
    return {key: [folder for _, folder in sorted(of)] for key, of in found.items()}


def unscored(
    folders: Iterable[str | os.PathLike[str]], root: str | os.PathLike[str], *, tier: str, method: str = ""
) -> list[Path]:
    """Leave out the run folders whose codes a results tree holds scores of.

    Args:
        folders: run folders.
        root: the results tree.
        tier: of the scores.
        method: the name that they are scored under; their own if it is empty.

    Returns:
        The folders that are left, in their order.

    Raises:
        DamagedFile: a file of a folder or of the tree does not hold what it should.
        UnknownName: a folder's dataset is unknown.
    """
    left = []
    for folder in map(Path, folders):
        run = read_record(folder)
        task = protocol.task(run.dataset)
        file = results_tree.path(root, task.id, method or run.method)
        codes = read_codes(codes_file(folder), task)
        held = results_tree.read(file).runs if file.exists() else ()
        if not any(each.tier == tier and each.codes_digest == codes_digest(codes) for each in held):
            left.append(folder)
    return left


def read_record(folder: Path) -> RunFile:
    """Read what a run folder says of its run.

    Args:
        folder: the run folder.

    Returns:
        The content of ``run.json``.

    Raises:
        DamagedFile: there is no such file, or it does not hold what it should.
    """
    file = in_run(folder, "run.json")
    return schema.validated(RunFile, schema.content(file), str(file))


class Read(NamedTuple):
    """Codes as they are read.

    Attributes:
        codes: what is scored, float32 (n, L).
        given: what the file holds, (n, L) or (n, L, d).
        units: version of the rule that made the one of the other; empty where they are the same.
    """

    codes: Float32Codes
    given: NDArray[Any]
    units: str


class Candidate(NamedTuple):
    """One run to score.

    Args:
        where: its place, for messages.
        run: what is said of it, already checked.
        read: gives its codes, already checked. They are read when they are scored, one run at a time.
        encoder: the encoder in ONNX that made the codes, where there is one.
    """

    where: str
    run: RunFile
    read: Callable[[], Read]
    encoder: Path | None = None


def score_all(
    candidates: Sequence[Candidate],
    *,
    tier: str,
    status: results.Status = "recomputed",
    fresh: str = "",
    tell: Callable[[str], None] = lambda sentence: None,
    see: See = lambda where, codes, task: None,
    allow: Allow = lambda result: None,
    progress: Progress = lambda what, done, total: None,
) -> Iterator[Result]:
    """Score runs.

    Args:
        candidates: the runs.
        tier: of the protocol.
        status: as in ``evaluate``.
        fresh: as in ``evaluate``.
        tell: as in ``evaluate``.
        see: as in ``evaluate``.
        allow: as in ``evaluate``.
        progress: as in ``evaluate``.

    Yields:
        One result for each task and method, in that order, as soon as its runs are scored.

    Raises:
        InvalidInput: no runs; the same seed twice; the same codes for two seeds; settings that differ between the
            seeds of a method; a reference's name; or what ``allow`` refuses. Nothing is scored then.
        UnknownName: an unknown tier, or a claim of a score that the tier does not compute.
    """
    chosen = protocol.tier(tier)
    if not candidates:
        raise InvalidInput("runs", expected="at least one", received="none")
    seen: dict[tuple[str, str, int], str] = {}
    grouped: dict[tuple[str, str], list[Candidate]] = {}
    for candidate in candidates:
        where, run = candidate.where, candidate.run
        task_id = protocol.task(run.dataset).id
        if other := seen.get((task_id, run.method, run.seed)):
            raise InvalidInput(
                f"{where}: seed",
                expected=f"another seed of {run.method} on {run.dataset} than {run.seed}",
                received=f"the same as in {other}",
                remedy="Give one folder for each seed.",
            )
        seen[task_id, run.method, run.seed] = where
        for error in unknown_claims(run.claimed, protocol.TIERS, f"{where}: claimed"):
            raise error
        grouped.setdefault((task_id, run.method), []).append(candidate)
    unscored = {key: _unscored(group, chosen, status) for key, group in sorted(grouped.items())}
    for result in [results.result(*key, runs, about=grouped[key][-1].run.about) for key, runs in unscored.items()]:
        allow(result)
    steps, done = len(candidates) * len(chosen.measurements), 0
    for (task_id, method), runs in unscored.items():
        group, scored = grouped[task_id, method], []
        task = protocol.task(group[0].run.dataset)
        for candidate, known in zip(group, runs, strict=True):
            run = candidate.run

            def told(metric: str, run: RunFile = run) -> None:
                nonlocal done
                progress(f"{metric} of {run.method} on {run.dataset}, seed {run.seed}", done, steps)
                done += 1

            read = candidate.read()
            see(candidate.where, read.codes, task)
            marks = (
                leaks.leaks(read.codes, task.labels(), functools.partial(leaks.appearance, task))
                if status == "recomputed" and run.supervision != "reference"
                else ()
            )
            samples = {m.metric: sample(m, task) for m in chosen.measurements}
            made = _scored(known, run, measure.score(read.codes, task, chosen, before=told), samples, marks)
            if fresh and candidate.encoder:
                progress(f"fresh rows of {run.method} on {run.dataset}, seed {run.seed}", done, steps)
                made = _verified(made, candidate.encoder, read, task, chosen, fresh, tell)
            scored.append(made)
        yield results.result(task_id, method, scored, about=group[-1].run.about)
    progress("done", steps, steps)


def _verified(
    run: Run,
    encoder: Path,
    read: Read,
    task: protocol.Task,
    tier: protocol.Tier,
    fresh: str,
    tell: Callable[[str], None],
) -> Run:
    """Verify a run that is scored: add how it was, or say why it was not."""
    try:
        found = verification.verify(encoder, read.given, task, tier, seed=fresh)
    except verification.Disagreement as error:
        tell(f"not verified: {error}")
        return run.model_copy(update={"marks": (*run.marks, results.DISAGREES)})
    except OffaxisError as error:
        tell(f"not verified: {error}")
        return run
    return run.model_copy(update={"verification": found, "marks": ()})


def read_run(folder: str | os.PathLike[str], *, tier: str = "") -> tuple[RunFile, Float32Codes]:
    """Read a run folder and check it against its task.

    Args:
        folder: the run folder.
        tier: the tier that it is to be scored in, if it is.

    Returns:
        What ``run.json`` says, and the codes, float32 (n, L), in the order of the task's rows.

    Raises:
        DamagedFile: see ``evaluate``.
        InvalidInput: see ``evaluate``.
        UnknownName: see ``evaluate``.
    """
    folder = Path(folder)
    run = read_record(folder)
    _not_on_own_pictures(folder, run)
    task = protocol.task(run.dataset)
    check_dataset(task, run.dataset_version, run.dataset_digest, str(folder / "run.json"))
    check_part(task, tier, run.hyperparameters, str(folder / "run.json"))
    what = str(folder / "run.json")
    for error in (*named_as_reference(run, what), *implausible(run.budget, run.supervision, f"{what}: budget")):
        raise error
    return run, read_codes(codes_file(folder), task)


def _not_on_own_pictures(folder: Path, run: RunFile) -> None:
    """Refuse a run on one's own pictures, which no task is on."""
    if (folder / "images.json").exists():
        raise InvalidInput(
            str(folder),
            expected="a run on a dataset that the board has a task on",
            received=f"one on your own pictures, {run.dataset!r}",
            remedy=f"Score it by itself: offaxis board metrics {shlex.quote(str(folder))}",
        )


def check_run(folder: str | os.PathLike[str]) -> list[OffaxisError]:
    """Look at everything in a run folder.

    Args:
        folder: the run folder.

    Returns:
        Everything that is wrong with it; nothing if it can be scored.
    """
    folder = Path(folder)
    try:
        file = in_run(folder, "run.json")
        text = schema.content(file)
    except OffaxisError as error:
        return [error]
    parsed = schema.parse(RunFile, text, str(file))
    found = parsed if isinstance(parsed, list) else []
    only = schema.parse(_OnlyDataset, text, str(file))  # so that codes are looked at when another field is wrong
    if isinstance(only, list):
        return found
    try:
        if isinstance(parsed, RunFile):
            _not_on_own_pictures(folder, parsed)
        task = protocol.task(only.dataset)
    except OffaxisError as error:
        return [*found, error]
    checks: list[Callable[[], object]] = [lambda: read_codes(codes_file(folder), task)]
    if isinstance(parsed, RunFile):
        checks.insert(0, lambda: check_dataset(task, parsed.dataset_version, parsed.dataset_digest, str(file)))
        found += unknown_claims(parsed.claimed, protocol.TIERS, f"{file}: claimed")
        found += named_as_reference(parsed, str(file))
        found += implausible(parsed.budget, parsed.supervision, f"{file}: budget")
    for check in checks:
        try:
            check()
        except OffaxisError as error:
            found.append(error)
    return found


def codes_file(folder: str | os.PathLike[str]) -> Path:
    """Return the file with a run folder's codes.

    Raises:
        DamagedFile: there is none; the message names the command that writes it.
    """
    file = Path(folder) / "codes.npz"
    if not os.path.lexists(file):
        raise DamagedFile(
            str(file),
            expected="the codes of the run",
            received="no such file",
            remedy=f"Write them: offaxis train encode {shlex.quote(str(folder))}"
            if (file.parent / "config.json").is_file()
            else "docs/submitting.md says what a run folder of another program holds.",
        )
    return file


def encoder_file(folder: str | os.PathLike[str]) -> Path | None:
    """Return the encoder in ONNX of a run folder, where there is one."""
    file = Path(folder) / "encoder.onnx"
    return file if os.path.lexists(file) else None


def read_codes(file: str | os.PathLike[str], task: protocol.Task) -> Float32Codes:
    """Read codes and check that they are those of a task's rows.

    Args:
        file: an npz file with ``indices`` and ``codes``, (n, L), or (n, L, d) for units of d numbers.
        task: the task.

    Returns:
        float32, shape (rows of the task, L), all finite; units are reduced by ``leaderboard.reading.units.reduced``.

    Raises:
        DamagedFile: not an npz file, or an array is missing, too large, or of another type or shape.
        InvalidInput: other rows than the task's, no latents or too many, or a value that is not finite.

    Warns:
        SameCodes: they are the same in all rows.
    """
    codes = read_all(file, task).codes
    warn_if_same(codes, str(file))
    return codes


def read_all(file: str | os.PathLike[str], task: protocol.Task) -> Read:
    """Read codes as ``read_codes`` does, with what they were made of.

    Args:
        file: as for ``read_codes``.
        task: the task.

    Returns:
        The codes, what the file holds, and the version of the rule between them.

    Raises:
        DamagedFile: as ``read_codes``.
        InvalidInput: as ``read_codes``.
    """
    n = len(task.indices)
    wanted = {"indices": npz.Array("iu", (n,)), "codes": npz.Array("f", (n, None), other=(n, None, None))}
    arrays = npz.read(file, wanted)
    indices, codes = arrays["indices"], arrays["codes"]
    wrong = np.flatnonzero(indices != task.indices)
    if len(wrong):
        same = np.array_equal(np.sort(indices), np.sort(task.indices))
        other = protocol.of_rows(indices)
        raise InvalidInput(
            f"{file}: indices",
            expected=f"the rows of {task.id}: {task.indices[wrong[0]]} at position {wrong[0]}",
            received=f"the rows of {other}: {indices[wrong[0]]}" if other else str(indices[wrong[0]]),
            remedy="They are the right rows in another order: reorder the codes with them."
            if same
            else "Encode the rows that `leaderboard.protocol.task(...).indices` gives, in that order.",
        )
    if not 1 <= codes.shape[1] <= LATENTS:
        raise InvalidInput(f"{file}: codes", expected=f"1 to {LATENTS} latents", received=str(codes.shape[1]))
    checked = check_codes(units.reduced(codes, f"{file}: codes"), f"{file}: codes").astype(np.float32)
    return Read(checked, codes, units.rule(codes))


def codes_digest(codes: Float32Codes) -> str:
    """Hash codes.

    Args:
        codes: float32, shape (n, L).

    Returns:
        SHA-256 of them as little-endian float32, row by row, in hexadecimal.
    """
    return hashlib.sha256(codes.astype("<f4").tobytes()).hexdigest()


def check_dataset(task: protocol.Task, version: str, digest: Digests, what: str) -> None:
    """Check that codes were made from the data that is here.

    Args:
        task: the task.
        version: the dataset's version, as the codes' author has it.
        digest: its quick digest, likewise.
        what: where that stands.

    Raises:
        InvalidInput: another version, other pixels or other factors.
    """
    here_version, here = dataset_digest(task.dataset)
    for field, received, expected in (
        ("dataset_version", version, here_version),
        ("dataset_digest.pixels", digest.pixels, here.pixels),
        ("dataset_digest.factors", digest.factors, here.factors),
    ):
        if received != expected:
            raise InvalidInput(
                f"{what}: {field}",
                expected=f"{expected}, that of {task.dataset} here",
                received=received,
                remedy="The codes were made from other data. Encode again with this version of the dataset.",
            )


def check_part(task: protocol.Task, tier: str, hyperparameters: Settings, what: str) -> None:
    """Check that a run does not say of itself that it was trained on what a rule holds out.

    Only what is recorded is known. ``split`` is the part that was trained on. Our own runs leave it out where they were
    trained on all parts, and record ``train_share``. Who records neither says nothing of it, and is believed.

    Args:
        task: the task.
        tier: the tier in which it is to be scored.
        hyperparameters: what is recorded of the run.
        what: where that stands.

    Raises:
        InvalidInput: the tier is ``held_out``, and no rule divides the dataset, another part than ``train`` is
            recorded, or none beside a share.
    """
    if tier != "held_out":
        return
    if not isinstance(task.load().source, Divided):
        raise InvalidInput(
            f"tier held_out of {task.dataset}",
            expected="a dataset that a split rule divides, such as sprites2d/composition",
            received="one whose held-out rows are drawn from all",
            remedy="Score in another tier, or train on the part train of a split: offaxis data splits.",
        )
    part = hyperparameters.get("split", "" if "train_share" in hyperparameters else "train")
    if part != "train":
        raise InvalidInput(
            f"{what}: hyperparameters.split",
            expected=f"'train' in the tier held_out: that only this part of {task.dataset} was trained on",
            received=repr(part) if part else "none beside a train_share, so that it is the share of all rows",
            remedy="Rows that were trained on are not held out. Train on the part train, or score in another tier.",
        )


def named_as_reference(run: RunFile, what: str) -> Iterator[InvalidInput]:
    """Find a name that readers would take for that of a reference of the project.

    Args:
        run: what is said of a run.
        what: where that stands.

    Yields:
        An error for a name that differs from a reference's by underscores at most, but of the reference itself.
    """
    for name in results.REFERENCES:
        alike = run.method.replace("_", "") == name.replace("_", "")
        if alike and (run.method != name or run.supervision != "reference"):
            yield InvalidInput(
                f"{what}: method",
                expected="another name than that of a reference",
                received=f"{run.method!r}{f', which is {name!r} but for underscores' if run.method != name else ''}",
                remedy="Rename the method.",
            )


def implausible(budget: Budget, supervision: str, what: str) -> Iterator[InvalidInput]:
    """Find what cannot be of a training budget, beyond the bounds of its fields.

    Args:
        budget: of one run.
        supervision: what the method saw; nothing is asked of a reference, which need not be trained.
        what: where that stands.

    Yields:
        An error where nothing was trained, and where there were fewer images than steps, each of which takes one.

    Example:
        >>> budgets = [Budget(steps=steps, images=64, seconds=1.0, device="") for steps in (0, 1, 64, 65)]
        >>> [len(list(implausible(budget, "unsupervised", "budget"))) for budget in budgets]
        [1, 0, 0, 1]
    """
    if supervision == "reference":
        return
    if not budget.steps:
        yield InvalidInput(
            what,
            expected="steps or images that training took",
            received=f"0 steps and {budget.images:,} images" if budget.images else "0 of both",
            remedy="A fit in one pass is one step." if budget.images else "",
        )
    elif 0 < budget.images < budget.steps:
        yield InvalidInput(
            what,
            expected=f"at least as many images as steps, {budget.steps:,}: each step sees one or more, repeats counted",
            received=f"{budget.images:,} images",
            remedy="Write 0 images if they were not counted.",
        )


@functools.cache
def dataset_digest(name: str) -> tuple[str, Digests]:
    """Return a dataset's version and quick digest, worked out once.

    Args:
        name: full name of the dataset.

    Returns:
        The version and the digest.
    """
    dataset = protocol.task(name).load()
    return dataset.version, Digests(**dataset.digest()._asdict())


def unknown_claims(claimed: Mapping[str, float], tiers: Iterable[str], what: str) -> Iterator[UnknownName]:
    """Find claims of scores that no tier of some computes, which would be compared with nothing.

    Args:
        claimed: score -> what somebody says that it is.
        tiers: the tiers: one of a submission; all of a run folder, which may be scored in any.
        what: where that stands.

    Yields:
        An error for each such claim, by its key.

    Example:
        >>> claimed = {"mig": 0.1, "r_squared": 0.5}
        >>> [len(list(unknown_claims(claimed, tiers, "claimed"))) for tiers in (["smoke"], ["smoke", "held_out"])]
        [1, 0]
    """
    known = {key: None for tier in tiers for key in measure.keys(protocol.tier(tier))} if claimed else {}
    for key in sorted(claimed.keys() - known.keys()):
        yield UnknownName(what, key, known)


def _unscored(group: Sequence[Candidate], tier: protocol.Tier, status: results.Status) -> list[Run]:
    """Describe the runs of a method on a task before they are scored: without what `_scored` adds."""
    runs: list[Run] = []
    where: dict[str, str] = {}
    for candidate in group:
        run, read, task = candidate.run, candidate.read(), protocol.task(candidate.run.dataset)
        digest = codes_digest(read.codes)
        if (other := where.setdefault(digest, candidate.where)) != candidate.where:
            raise InvalidInput(
                candidate.where,
                expected="codes of a training of its own for each seed",
                received=f"the same codes as in {other}",
                remedy="Train with another seed, or leave this one out.",
            )
        runs.append(
            Run.model_construct(
                seed=run.seed,
                tier=tier.name,
                status=status,
                scores={},
                samples={},
                date=datetime.datetime.now(datetime.UTC).date(),
                dataset_version=run.dataset_version,
                dataset_digest=run.dataset_digest,
                rows_digest=task.digest,
                codes_digest=digest,
                latents=read.codes.shape[1],
                units=read.units,
                supervision=run.supervision,
                selection=run.selection,
                hyperparameters=run.hyperparameters,
                budget=run.budget,
                trained_with=run.versions,
                scored_with=measure.versions(),
            )
        )
    return runs


def _scored(
    known: Run, run: RunFile, scored: measure.Scored, samples: dict[str, results.Sample], marks: tuple[str, ...]
) -> Run:
    """Add to what was known of a run what came out."""
    claimed = {key: claim for key, claim in run.claimed.items() if key in scored.scores}
    found = {"scores": scored.scores, "parts": scored.parts, "samples": samples, "claimed": claimed, "marks": marks}
    try:
        return Run(**(vars(known) | found))
    except pydantic.ValidationError as error:
        raise schema.problems(error, f"scores of {run.method} on {run.dataset}, seed {run.seed}", Run)[0] from error


def sample(measurement: protocol.Measurement, task: protocol.Task) -> results.Sample:
    """Describe on how much of a task a metric is computed.

    Args:
        measurement: the metric.
        task: the task.

    Returns:
        The number of rows, and the metric's arguments.
    """
    return results.Sample(
        train=min(measurement.train, len(task.train)),
        test=min(measurement.test, len(task.test)),
        arguments=dict(measurement.arguments),
    )
