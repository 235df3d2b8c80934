"""Submissions: codes that anyone hands in, with what must be known of them. Data, never code.

A submission is a folder::

    submission.json               who, what, how (`Submission`)
    <dataset>/<config>/rows.npy   the rows to encode, written by ``offaxis board submit init``; int64, in their order
    <dataset>/<config>/seed_0.npz ``indices`` int64 (n,), equal to the rows, and ``codes`` float (n, L), one row each
    <dataset>/<config>/seed_0.onnx the encoder that made them, if it is to be verified (`leaderboard.reading.graphs`)

Whatever is wrong is listed at once. Nothing is unpickled, no link is followed, and nothing is read before its size is
known.
"""

from __future__ import annotations

import functools
import os
import re
import shlex
import stat
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import numpy as np

from benchmark_data.errors import DamagedFile, InvalidInput, OffaxisError, check_count
from benchmark_data.files import write_json, written_atomically
from leaderboard import protocol
from leaderboard.reading import encoders, graphs
from leaderboard.scoring import copies, evaluate, leaks, verification
from leaderboard.scoring.evaluate import Candidate, RunFile
from leaderboard.store import results, results_tree, schema
from leaderboard.store.results import About, Budget, Digests, Result, Scores, Supervision
from leaderboard.store.schema import Field, Model, Name, Settings, Versions, pydantic

__all__ = ["Checked", "Submission", "alone", "check", "init", "json_schema", "score", "unranked"]

ENTRIES = 2_000
"""The most files and folders that a submission may hold: some 35 tasks with 50 seeds."""

TOTAL = 2 * 2**30
"""Bytes of all codes of a submission together, as float32: 3,000 runs of 10 latents are 1.8 GB."""

ENCODERS = 2**30
"""Bytes of all encoders of a submission together."""

FILE = "submission.json"
LARGEST = 2**20
"""Bytes of ``submission.json``."""


class Seed(Model):
    """One run: ``seed_<seed>.npz``.

    Attributes:
        seed: of the training.
        budget: what training cost.
        claimed: score -> what you measured, if you did. It is shown beside what comes out here, and never ranked.
    """

    seed: int = Field(ge=0, lt=2**63)
    budget: Budget
    claimed: Scores = Field(default_factory=dict)


class Entry(Model):
    """One task.

    Attributes:
        dataset_version: of the data that the codes were made from.
        dataset_digest: its quick digest.
        seeds: the runs.
    """

    dataset_version: Annotated[str, Field(pattern=r"^\d+\.\d+\.\d+$")]
    dataset_digest: Digests
    seeds: tuple[Seed, ...] = Field(min_length=1, max_length=1_000)


Tasks = Annotated[dict[Annotated[str, Field(pattern=schema.DATASET + "$")], Entry], Field(min_length=1, max_length=200)]


class Submission(Model):
    """What ``submission.json`` holds.

    Attributes:
        schema_version: of this layout; written as ``schema``.
        protocol: version of the protocol that the rows are from.
        tier: a tier of the protocol.
        method: lower-case name; it becomes the name of files and pages.
        version: of the method, as its authors count.
        about: title, authors and licence must be filled in; paper, code and BibTeX should be.
        supervision: what the method saw in training.
        selection: how this model was chosen among others, such as ``UDR over 6 betas``; ``none`` where it was not.
        hyperparameters: what tells this method from its siblings.
        trained_with: package -> version.
        tasks: full name of the dataset -> runs.
    """

    schema_version: Literal[1] = Field(default=results.SCHEMA, alias="schema")
    protocol: Literal["v1"]
    tier: Literal["desk", "held_out", "smoke", "study"]
    method: Name
    version: Annotated[str, Field(min_length=1, max_length=50, pattern=r"^[\w.+-]*$")]
    about: About
    supervision: Supervision
    selection: schema.Line
    hyperparameters: Settings
    trained_with: Versions = Field(default_factory=dict)
    tasks: Tasks


class _OnlyTasks(Model):
    """The part of a submission that names files, so that they can be checked when another part is wrong."""

    model_config = pydantic.ConfigDict(extra="ignore")

    tasks: Tasks


class _OnlyAbout(Model):
    """The part of a submission that people fill in, for the same reason."""

    model_config = pydantic.ConfigDict(extra="ignore")

    about: About
    supervision: str = ""


class Checked(NamedTuple):
    """What a look at a submission gave.

    Attributes:
        problems: everything that is wrong; it can be scored if nothing is.
        candidates: the runs, to score.
        submission: what its file says; None where it cannot be read.
    """

    problems: list[OffaxisError]
    candidates: list[Candidate]
    submission: Submission | None


def init(folder: str | os.PathLike[str], method: str, tasks: Iterable[str], *, tier: str, seeds: int) -> Path:
    """Write a submission's folder, to be filled: the file with what is known, and the rows of each task.

    Args:
        folder: a path that is free.
        method: the method's name, lower case.
        tasks: tasks or datasets.
        tier: a tier of the protocol.
        seeds: how many, from 0 on.

    Returns:
        The path of ``submission.json``.

    Raises:
        InvalidInput: the folder exists or cannot be written, no tasks, no seeds, a malformed name or one of a
            reference, or what ``evaluate.check_part`` refuses.
        UnknownName: an unknown task or tier.
    """
    folder = Path(folder)
    protocol.tier(tier)
    chosen = [protocol.task(name) for name in tasks]
    if not re.fullmatch(r"[a-z0-9][a-z0-9_]{0,63}", method):
        raise InvalidInput(
            "method", expected="a lower-case name of letters, digits and underscores", received=repr(method)
        )
    for problem in _collisions(method, ()):
        raise problem
    if not chosen:
        raise InvalidInput("tasks of a submission", expected="at least one", received="none")
    check_count("seeds of a submission", seeds, 1)
    for task in chosen:
        evaluate.check_part(task, tier, {}, f"{folder / FILE}")
    digests = {task.dataset: evaluate.dataset_digest(task.dataset) for task in chosen}
    with written_atomically(folder) as temporary:
        for task in chosen:
            place = temporary / task.dataset
            place.mkdir(parents=True, exist_ok=True)
            np.save(place / "rows.npy", task.indices, allow_pickle=False)
        template = {
            "schema": results.SCHEMA,
            "protocol": protocol.VERSION,
            "tier": tier,
            "method": method,
            "version": "1.0",
            "about": About(title=method).model_dump(),
            "supervision": "",
            "selection": "none",
            "hyperparameters": {},
            "trained_with": {},
            "tasks": {
                name: {
                    "dataset_version": version,
                    "dataset_digest": digest.model_dump(),
                    "seeds": [
                        {
                            "seed": seed,
                            "budget": {"steps": 0, "images": 0, "seconds": 0.0, "device": ""},
                            "claimed": {},
                        }
                        for seed in range(seeds)
                    ],
                }
                for name, (version, digest) in digests.items()
            },
        }
        write_json(temporary / FILE, template)
    return folder / FILE


def check(folder: str | os.PathLike[str], *, published: Sequence[Result] = ()) -> Checked:
    """Look at everything in a submission.

    Args:
        folder: the submission.
        published: results that are on the board already, to compare names with.

    Returns:
        What is wrong, and what can be scored. Nothing is raised for what the submission holds.
    """
    folder = Path(folder)
    file = folder / FILE
    try:
        entries = _entries(folder)
        text = schema.content(file, LARGEST)
    except OffaxisError as error:
        return Checked([error], [], None)
    submission, tasks, problems = _parsed(file, text, published)
    if tasks is None:
        return Checked(problems, [], None)
    problems += _strays(folder, tasks, entries)
    if any(path.is_symlink() for path in entries):
        return Checked(problems, [], submission)
    runs = _Runs(folder, submission)
    for name, entry in tasks.items():
        problems += runs.of_task(name, entry)
        if runs.codes > TOTAL:
            return Checked(problems, [], submission)
    if runs.encoders > ENCODERS:
        most, received = f"at most {ENCODERS >> 20} MiB of encoders", f"{runs.encoders:,} bytes"
        problems.append(InvalidInput(str(folder), expected=most, received=received))
    return Checked(problems, runs.candidates, submission)


def _parsed(
    file: Path, text: bytes, published: Sequence[Result]
) -> tuple[Submission | None, dict[str, Entry] | None, list[OffaxisError]]:
    """Read what ``submission.json`` says: as a whole, else its tasks alone, if they can be read; and what is wrong."""
    parsed = schema.parse(Submission, text, str(file))
    if isinstance(parsed, Submission):
        problems = [*_incomplete(file, parsed.about, parsed.supervision, parsed.tasks)]
        problems += [*_collisions(parsed.method, published)] or _same_titles(file, parsed, published)
        return parsed, parsed.tasks, problems
    only = schema.parse(_OnlyTasks, text, str(file))
    if isinstance(only, list):
        return None, None, parsed
    written = schema.parse(_OnlyAbout, text, str(file))
    if isinstance(written, _OnlyAbout):
        parsed += _incomplete(file, written.about, written.supervision, only.tasks)
    return None, only.tasks, parsed


class _Runs:
    """Looks at the runs of a submission one after another.

    Attributes:
        candidates: those that can be scored.
        codes: bytes of all codes so far; nothing is read once they are more than `TOTAL`.
        encoders: bytes of all encoders so far.
    """

    def __init__(self, folder: Path, submission: Submission | None) -> None:
        self.candidates: list[Candidate] = []
        self.codes = self.encoders = 0
        self._folder, self._submission = folder, submission
        self._names: dict[str, str] = {}
        self._seen: dict[str, str] = {}
        self._ranked: dict[str, copies.Ranked] = {}

    def of_task(self, name: str, entry: Entry) -> Iterator[OffaxisError]:
        """Look at a task and its runs; yield what is wrong with them."""
        where = f"{self._folder / FILE}: tasks.{name}"
        try:
            task = protocol.task(name)
            evaluate.check_dataset(task, entry.dataset_version, entry.dataset_digest, where)
            if said := self._submission:
                evaluate.check_part(task, said.tier, said.hyperparameters, str(self._folder / FILE))
        except OffaxisError as error:
            yield error
            return
        if (other := self._names.setdefault(task.id, name)) != name:
            yield InvalidInput(
                where,
                expected="each task once",
                received=f"{task.id}, which tasks.{other} is, too",
                remedy="Keep one of them, under the full name of the dataset.",
            )
            return
        self._seen, self._ranked = {}, {}
        numbers = [seed.seed for seed in entry.seeds]
        for twice in sorted({number for number in numbers if numbers.count(number) > 1}):
            yield InvalidInput(f"{where}: seeds", expected="each seed once", received=f"seed {twice} more than once")
        for seed in entry.seeds:
            npz = self._folder / name / f"seed_{seed.seed}.npz"
            if said := self._submission:
                yield from evaluate.unknown_claims(seed.claimed, [said.tier], f"{where}: claimed of seed {seed.seed}")
            if encoder := encoder_file(npz):
                self.encoders += encoder.lstat().st_size
                yield from _graph(encoder)
            if not os.path.lexists(npz):
                yield self._missing(npz, encoder, seed.seed)
                continue
            yield from self._of_codes(npz, task, name, entry, seed)
            if self.codes > TOTAL:
                return

    def _missing(self, npz: Path, encoder: Path | None, seed: int) -> OffaxisError:
        """Say where codes that are not there come from."""
        expected, remedy = "an npz file", f"Encode rows.npy into it, or take seed {seed} out of {FILE}."
        if encoder is not None:
            expected = f"the codes that {encoder.name} gives"
            remedy = f"Write them: offaxis board submit encode {shlex.quote(str(self._folder))}"
        return DamagedFile(str(npz), expected=expected, received="no such file", remedy=remedy)

    def _of_codes(self, npz: Path, task: protocol.Task, name: str, entry: Entry, seed: Seed) -> Iterator[OffaxisError]:
        """Read the codes of a run; yield what is wrong with them, or keep the run as a candidate."""
        try:
            codes = evaluate.read_codes(npz, task)
        except OffaxisError as error:
            yield error
            return
        digest = evaluate.codes_digest(codes)
        self.codes += codes.nbytes
        if self.codes > TOTAL:
            most = f"at most {TOTAL >> 20} MiB of codes"
            yield InvalidInput(str(self._folder), expected=most, received="more than that")
            return
        other, received = self._seen.setdefault(digest, str(npz)), "the same codes as in"
        if other == str(npz):
            ranked = copies.ranked(codes)
            alike = (where for where, there in self._ranked.items() if copies.same(there, ranked))
            other, received = next(alike, other), "up to order, sign and scale of latents those of"
            self._ranked[str(npz)] = ranked
        if other != str(npz):
            yield InvalidInput(
                str(npz),
                expected="codes of a training of its own for each seed",
                received=f"{received} {other}",
                remedy="Train with another seed, or leave this one out.",
            )
        if self._submission is not None:
            run = _run_file(self._submission, name, entry, seed)
            read = functools.partial(evaluate.read_all, npz, task)
            self.candidates.append(Candidate(str(npz), run, read, encoder_file(npz)))


def encoder_file(codes: Path) -> Path | None:
    """Return the encoder beside a file of codes, ``seed_<k>.onnx``, where there is one."""
    file = codes.with_suffix(".onnx")
    return file if os.path.lexists(file) else None


def encode(
    folder: str | os.PathLike[str], *, progress: evaluate.Progress = lambda what, done, total: None
) -> list[Path]:
    """Write the codes that a submission's encoders give, where it has an encoder and no codes.

    Args:
        folder: the submission.
        progress: is told what is going on, in images.

    Returns:
        The files that were written, ``seed_<k>.npz``.

    Raises:
        DamagedFile: no submission, or an encoder that is no model in ONNX.
        InvalidInput: ``submission.json`` breaks the schema, or what `leaderboard.reading.encoders.Encoder` refuses.
        MissingExtra: onnx or onnxruntime is not installed.
    """
    folder = Path(folder)
    only = schema.validated(_OnlyTasks, schema.content(folder / FILE, LARGEST), str(folder / FILE))
    wanted = [
        (protocol.task(name), codes)
        for name, entry in only.tasks.items()
        for seed in entry.seeds
        for codes in [folder / name / f"seed_{seed.seed}.npz"]
        if encoder_file(codes) and not codes.exists()
    ]
    total, done = sum(len(task.indices) for task, _ in wanted), 0
    for task, codes in wanted:

        def told(count: int, what: str = codes.name) -> None:
            nonlocal done
            done += count
            progress(what, done, total)

        _encode(codes.with_suffix(".onnx"), task, codes, told)
    return [codes for _, codes in wanted]


def encode_run(
    folder: str | os.PathLike[str], *, progress: evaluate.Progress = lambda what, done, total: None
) -> Path | None:
    """Write the codes that a run folder's encoder gives, where it has an encoder and no codes.

    Args:
        folder: the run folder, or what is published of one.
        progress: is told what is going on, in images.

    Returns:
        The file that was written, ``codes.npz``; None where there are codes, or no encoder.

    Raises:
        DamagedFile: ``run.json`` or the encoder does not hold what it should.
        InvalidInput: what `leaderboard.reading.encoders.Encoder` refuses.
        MissingExtra: onnx or onnxruntime is not installed.
        UnknownName: the run's dataset is unknown.
    """
    codes, encoder = Path(folder) / "codes.npz", evaluate.encoder_file(folder)
    if encoder is None or os.path.lexists(codes):
        return None
    task = protocol.task(evaluate.read_record(Path(folder)).dataset)
    done = 0

    def told(count: int) -> None:
        nonlocal done
        done += count
        progress(codes.name, done, len(task.indices))

    _encode(encoder, task, codes, told)
    return codes


def _encode(encoder: Path, task: protocol.Task, codes: Path, told: Callable[[int], None]) -> None:
    """Write the codes of a task's rows that an encoder gives."""
    with encoders.Encoder(encoder) as running:
        found = running.encode(task.load(), task.indices, progress=told)
    with written_atomically(codes) as temporary, temporary.open("wb") as stream:
        np.savez(stream, indices=task.indices, codes=found)


def score(
    folder: str | os.PathLike[str],
    *,
    published: Sequence[Result] = (),
    fresh: str = "",
    tell: Callable[[str], None] = lambda sentence: None,
    allow: evaluate.Allow = lambda result: None,
    progress: evaluate.Progress = lambda what, done, total: None,
) -> list[Result]:
    """Recompute all scores of a submission.

    Args:
        folder: the submission.
        published: as in ``check``.
        fresh: text to draw fresh rows by, on which runs that have an encoder are verified; none are if it is empty.
        tell: is told why a run that has an encoder was not verified.
        allow: is given every result before the first is scored, as in ``evaluate.evaluate``.
        progress: is told what is going on.

    Returns:
        One result for each task. Nothing is written.

    Raises:
        OffaxisError: the first problem of ``check``, or what ``allow`` raises.
    """
    found = check(folder, published=published)
    if found.problems or found.submission is None:
        raise found.problems[0]
    tier = found.submission.tier
    scored = evaluate.score_all(found.candidates, tier=tier, fresh=fresh, tell=tell, allow=allow, progress=progress)
    return list(scored)


def alone(tasks: Iterable[str], tier: str, published: Sequence[Result]) -> list[str]:
    """Describe where there is nothing to compare a submission with, though there is in another tier.

    Args:
        tasks: those of the submission.
        tier: that of the submission.
        published: results that are on the board.

    Returns:
        One sentence for each such task.
    """
    sentences = []
    for task in sorted(tasks):
        tiers = sorted({name for result in published if result.task == task for name in result.tiers})
        if tiers and tier not in tiers:
            sentences.append(
                f"{task}: nothing is published in tier {tier} to compare with, but in {' and '.join(tiers)}. "
                f'The tier stands in {FILE}: "tier".'
            )
    return sentences


def unranked(candidates: Sequence[Candidate], published: Sequence[Result] = (), *, tier: str = "") -> list[str]:
    """Say on which tasks a method gets no rank, and why, as far as that is known before its scores are verified.

    Args:
        candidates: its runs, checked.
        published: results that are on the board: seeds of the same name, task and tier count, too.
        tier: of the protocol, in which they are to be scored; empty for run folders, which do not say it.

    Returns:
        One sentence for each task and method: what speaks against a rank or, where nothing does, that it takes a
        verification.
    """
    grouped: dict[tuple[str, str], list[Candidate]] = {}
    for candidate in candidates:
        grouped.setdefault((protocol.task(candidate.run.dataset).id, candidate.run.method), []).append(candidate)
    there = {(result.task, result.method): result for result in published}
    sentences = []
    for (task, method), group in sorted(grouped.items()):
        beside = there.get((task, method))
        seeds = {one.run.seed for one in group} | {run.seed for run in (beside.of(tier) if beside else ())}
        bare = sorted(one.run.seed for one in group if one.encoder is None)
        why = []
        if group[0].run.supervision == "reference":
            why = ["a reference has no rank"]
        else:
            if len(seeds) < protocol.SEEDS:
                why.append(f"it has {len(seeds)} of {protocol.SEEDS} seeds")
            if not verification.may_be_verified(protocol.task(task)):
                why.append("the task leaves too few rows to verify an encoder on")
            elif bare:
                numbers, here = ", ".join(map(str, bare)), "" if tier else ", unless it was trained here"
                why.append(f"no encoder in ONNX to verify seed{'s' * (len(bare) > 1)} {numbers} by{here}")
        then = f"will not be ranked: {'; '.join(why)}" if why else "will be ranked once its encoders are verified"
        sentences.append(f"{task}: {method} {then}.")
    return sentences


def outliers(scored: Sequence[Result], published: Sequence[Result]) -> list[str]:
    """Describe what a reviewer should look at twice, beside the reference rows of the same task and tier.

    Args:
        scored: results of a submission.
        published: results that are on the board.

    Returns:
        One sentence for each method whose name is on the board already, with what the two say otherwise; for each score
        of a table above that of the ground-truth factors or below that of the random encoder, each claim that is off by
        more than ``results.DRIFT``, and each mark.
    """
    published = tuple(published)
    sentences = list(_namesakes(scored, published))
    there = {(result.task, result.method): result for result in published}
    for result in scored:
        for tier, summaries in result.summary.items():
            for key in [key for key in protocol.COLUMNS if key in summaries]:
                found = summaries[key]
                for reference, sign, word in (("ground_truth", 1, "above"), ("random_encoder", -1, "below")):
                    other = there.get((result.task, reference))
                    level = other.summary.get(tier, {}).get(key) if other else None
                    if level and sign * (found.mean - level.mean) > results.DRIFT:
                        sentences.append(
                            f"{result.task}: {key} {found.mean:.3f} is {word} that of {reference}, {level.mean:.3f}."
                        )
        for run in result.runs:
            sentences += [f"{result.task}: seed {run.seed} is marked {mark}." for mark in run.marks]
            if leaks.MARK in run.marks:
                sentences.append(
                    f"{result.task}: {leaks.MARK} means that codes alone cannot tell these from the labels. With its "
                    f"encoder, seed_{run.seed}.onnx, the run can be verified, and the mark falls."
                )
            for key, claim in run.claimed.items():
                found_here = run.scores[key]
                if abs(claim - found_here) > results.DRIFT:
                    sentences.append(
                        f"{result.task}: {key} of seed {run.seed} was claimed as {claim:.3f} and is {found_here:.3f}."
                    )
    return sentences


def _namesakes(scored: Sequence[Result], published: Sequence[Result]) -> Iterator[str]:
    """Describe how methods differ from those of the same name that are published."""
    for method in sorted({result.method for result in scored}):
        ours = [result for result in scored if result.method == method]
        others = [result for result in published if result.method == method]
        if not others:
            continue
        differ: dict[str, tuple[str, str]] = {}
        for other in others:
            differ |= results_tree.retold(other.about, ours[0].about)
        said = [f"{name} was {then!r} and is {now!r}" for name, (then, now) in differ.items()]
        yield (
            f"{method} is the name of a method on the board: is this the same one, by the same people? "
            f"What is said of it {'differs: ' + '; '.join(said) if said else 'is the same'}."
        )
        by_row = {(other.task, tier): other for other in others for tier in other.tiers}
        for result in ours:
            for tier in result.tiers:
                row = by_row.get((result.task, tier))
                if row and (then := row.trust(tier)) != (now := result.trust(tier)):
                    yield f"{result.task}: {method} is {then} in tier {tier} on the board, and {now} here."


def _run_file(submission: Submission, name: str, entry: Entry, seed: Seed) -> RunFile:
    return RunFile(
        schema=results.SCHEMA,
        method=submission.method,
        dataset=name,
        dataset_version=entry.dataset_version,
        dataset_digest=entry.dataset_digest,
        seed=seed.seed,
        supervision=submission.supervision,
        selection=submission.selection,
        hyperparameters=submission.hyperparameters,
        budget=seed.budget,
        versions=submission.trained_with,
        about=submission.about,
        claimed=seed.claimed,
    )


def _entries(folder: Path) -> list[Path]:
    """List the folder, without following links; stop where there are too many entries."""
    if folder.is_symlink() or not folder.is_dir():
        raise DamagedFile(str(folder), expected="a submission's folder", received="no such folder")
    found: list[Path] = []
    waiting = [folder]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                found.append(Path(entry.path))
                if len(found) > ENTRIES:
                    raise DamagedFile(
                        str(folder), expected=f"at most {ENTRIES:,} files and folders", received="more than that"
                    )
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(Path(entry.path))
    return sorted(found)


def _strays(folder: Path, tasks: dict[str, Entry], entries: Sequence[Path]) -> Iterator[OffaxisError]:
    """Find what does not belong: links, devices, files that nothing names."""
    expected = {folder / FILE}
    folders: set[Path] = set()
    for name, entry in tasks.items():
        place = folder / name
        folders |= {place, place.parent}
        expected |= {place / f"seed_{seed.seed}{kind}" for seed in entry.seeds for kind in (".npz", ".onnx")}
        expected.add(place / "rows.npy")
    for path in entries:
        mode = path.lstat().st_mode
        if (stat.S_ISDIR(mode) and path in folders) or (stat.S_ISREG(mode) and path in expected):
            continue
        kind = "a link" if stat.S_ISLNK(mode) else "a folder" if stat.S_ISDIR(mode) else "a file"
        yield InvalidInput(
            ascii(str(path)),
            expected="submission.json, and rows.npy, seed_<k>.npz and seed_<k>.onnx in a folder for each task",
            received=kind if kind == "a link" else f"{kind} that submission.json does not name",
            remedy="Remove it.",
        )


def _graph(encoder: Path) -> Iterator[OffaxisError]:
    """Judge an encoder without running it."""
    try:
        graphs.inspect(encoders.content(encoder), str(encoder))
    except OffaxisError as error:
        yield error


def _incomplete(file: Path, about: About, supervision: str, tasks: dict[str, Entry]) -> Iterator[OffaxisError]:
    """Find what the template leaves to be filled in."""
    for field in ("title", "authors", "license"):
        if not getattr(about, field).strip():
            yield InvalidInput(f"{file}: about.{field}", expected="some text", received="nothing")
    for name, entry in tasks.items():
        for seed in entry.seeds:
            where = f"{file}: tasks.{name}: budget of seed {seed.seed}"
            yield from evaluate.implausible(seed.budget, supervision, where)


def _collisions(name: str, published: Sequence[Result]) -> Iterator[OffaxisError]:
    """Find a published method that a reader would take for one of this name, or a reference that bears it."""
    plain = name.replace("_", "")
    references = {result.method for result in published if result.runs[0].supervision == "reference"}
    references |= set(results.REFERENCES)
    for other in sorted(references | {result.method for result in published}):
        if other.replace("_", "") == plain and (other != name or other in results.REFERENCES):
            expected = f"a name that differs from {other!r} by more than underscores"
            why = ", a reference of the board" if other in references else ""
            yield InvalidInput("method", expected=expected + why, received=repr(name), remedy="Rename the method.")


def _same_titles(file: Path, submission: Submission, published: Sequence[Result]) -> Iterator[OffaxisError]:
    """Find another method on the board, or a reference, that a reader would take for one of this title."""
    others = {(result.method, result.title) for result in published} | {(name, name) for name in results.REFERENCES}
    title = submission.about.title
    for method, other in sorted(others):
        if method != submission.method and _plain(title) in (_plain(other), _plain(method)):
            yield InvalidInput(
                f"{file}: about.title",
                expected=f"another title than that of {method} on the board, {other!r}",
                received=repr(title),
                remedy="Give the method a title of its own.",
            )
            return


def _plain(title: str) -> str:
    """Return a title without case, accents, spaces and marks, and with Greek letters by their names."""
    letters = unicodedata.normalize("NFKD", title.casefold())
    names = (unicodedata.name(letter, "").removeprefix("GREEK SMALL LETTER ").lower() for letter in letters)
    spelled = (name if "\u0370" <= letter <= "\u03ff" else letter for letter, name in zip(letters, names, strict=True))
    return "".join(letter for letter in "".join(spelled) if letter.isalnum())


def json_schema() -> dict[str, object]:
    """Return the JSON Schema of ``submission.json``.

    Returns:
        A schema of the 2020-12 draft.
    """
    schema: dict[str, object] = Submission.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
