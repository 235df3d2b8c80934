"""Submissions: codes that anyone hands in, with what must be known of them. Data, never code.

A submission is a folder::

    submission.json               who, what, how (`Submission`)
    <dataset>/<config>/rows.npy   the rows to encode, written by ``offaxis board submit``; int64, in their order
    <dataset>/<config>/seed_0.npz ``indices`` int64 (n,), equal to the rows, and ``codes`` float (n, L), one row each
    <dataset>/<config>/seed_0.onnx the encoder that made them, if it is to be verified (`leaderboard.reading.graphs`)

Whatever is wrong is listed at once. Nothing is unpickled, no link is followed, and nothing is read before its size is
known.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import operator
import os
import re
import shlex
import stat
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from benchmark_data.errors import DamagedFile, InvalidInput, OffaxisError, check_count
from benchmark_data.files import parse_json, write_json, written_atomically
from leaderboard import protocol, record, schema
from leaderboard.reading import encoders
from leaderboard.record import About, OfData, OfMethod, OfSeed, RunRecord
from leaderboard.schema import NAME, Field, pydantic
from leaderboard.scoring import candidates
from leaderboard.scoring.candidates import Candidate
from leaderboard.store.results import Result

__all__ = ["Checked", "Submission", "check", "init", "score"]

Progress: TypeAlias = Callable[[str, int, int], None]
"""Is called with what is being done now, how many steps are done and how many there are."""


def no_progress(what: str, done: int, total: int) -> None:
    """Tell nobody."""


ENTRIES = 2_000
"""The most files and folders that a submission may hold: some 35 tasks with 50 seeds."""

TOTAL = 2**30
"""Bytes of all codes of a submission together, on disk and in memory: 1,700 runs of 10 latents."""

ENCODERS = 2**30
"""Bytes of all encoders of a submission together."""

FILE = "submission.json"
LARGEST = 2**20
"""Bytes of ``submission.json``."""


class Entry(OfData):
    """One task: the data, and the runs ``seed_<seed>.npz``."""

    seeds: tuple[OfSeed, ...] = Field(min_length=1, max_length=1_000)


Task = Annotated[schema.Line, Field(pattern=schema.DATASET + "$")]
Tasks = Annotated[dict[Task, Entry], Field(min_length=1, max_length=200)]


class Submission(OfMethod):
    """What ``submission.json`` holds: what all runs have in common, and of each task the data and the seeds.

    Attributes:
        schema_version: of this layout; written as ``schema``.
        protocol: version of the protocol that the rows are from.
        tier: a tier of the protocol.
        about: title, authors and license must be filled in; paper, code and BibTeX should be.
        tasks: full name of the dataset -> runs.
    """

    schema_version: Literal[1] = Field(default=1, alias="schema")
    protocol: Literal["v1"]
    tier: Literal["desk", "held_out", "smoke", "study"]
    about: About
    tasks: Tasks

    def records(self) -> Iterator[RunRecord]:
        """Yield the record of each run."""
        shared = {name: getattr(self, name) for name in OfMethod.model_fields}
        for dataset, entry in self.tasks.items():
            data = {name: getattr(entry, name) for name in OfData.model_fields}
            for seed in entry.seeds:
                own = {name: getattr(seed, name) for name in OfSeed.model_fields}
                yield RunRecord(dataset=dataset, **shared, **data, **own)


FORM = {"schema": 1, "protocol": protocol.VERSION, "selection": "none", "hyperparameters": {}, "versions": {}}
SEED = {"budget": {"steps": 0, "images": 0, "seconds": 0.0, "device": ""}, "claimed": {}}
FILLED: Mapping[Any, object] = FORM | SEED | {"tier": "desk", "method": "method", "supervision": "unsupervised"}
"""What stands in for a wrong field while the rest of a submission is checked."""

Fill: TypeAlias = Callable[[dict[str, Any]], None] | None
"""Is called with a new form, to fill in what is known."""


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


def init(
    folder: str | os.PathLike[str], method: str, tasks: Iterable[str], *, tier: str, seeds: int, fill: Fill = None
) -> Path:
    """Write a submission's folder, to be filled: the file with what is known, and the rows of each task.

    Args:
        folder: a path that is free.
        method: the method's name, lower case.
        tasks: tasks or datasets.
        tier: a tier of the protocol.
        seeds: how many, from 0 on.
        fill: is called with the form before it is written.

    Returns:
        The path of ``submission.json``.

    Raises:
        InvalidInput: the folder exists or cannot be written, no tasks, no seeds, a malformed name or one of a
            reference, or what ``candidates.check_part`` refuses.
        UnknownName: an unknown task or tier.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp()) / "mine"
        >>> form = init(folder, "my_vae", ["xysquares/spacing_8"], tier="desk", seeds=5)
        >>> sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*.*"))
        ['submission.json', 'xysquares/spacing_8/rows.npy']
    """
    folder = Path(folder)
    protocol.tier(tier)
    chosen = [protocol.task(name) for name in tasks]
    if not re.fullmatch(NAME, method):
        raise InvalidInput(
            f"method: expected a lower-case name of letters, digits and underscores, received {method!r}."
        )
    for problem in _collisions(method, ()):
        raise problem
    if not chosen:
        raise InvalidInput("tasks of a submission: expected at least one, received none.")
    check_count("seeds of a submission", seeds, 1)
    for task in chosen:
        candidates.check_part(task, tier, {}, f"{folder / FILE}")
    digests = {task.dataset: candidates.dataset_digest(task) for task in chosen}
    with written_atomically(folder) as temporary:
        for task in chosen:
            place = temporary / task.dataset
            place.mkdir(parents=True, exist_ok=True)
            np.save(place / "rows.npy", task.indices, allow_pickle=False)
        form = FORM | {"tier": tier, "method": method, "about": About(title=method).model_dump(), "supervision": ""}
        form["tasks"] = {
            name: {
                "dataset_version": version,
                "dataset_digest": digest.model_dump(),
                "seeds": [{"seed": seed} | SEED for seed in range(seeds)],
            }
            for name, (version, digest) in digests.items()
        }
        if fill:
            fill(form)
        write_json(temporary / FILE, form)
    return folder / FILE


def check(
    folder: str | os.PathLike[str], *, published: Sequence[Result] = (), encode: Progress | None = None
) -> Checked:
    """Look at everything in a submission.

    Args:
        folder: the submission.
        published: results that are on the board already, to compare names with.
        encode: if given, codes that are missing are first written by running the encoders (files appear in the folder),
            and this is called with their progress in images; if None, missing codes are a problem.

    Returns:
        What is wrong, and what can be scored. Nothing is raised for what the submission holds.
    """
    folder = Path(folder)
    file = folder / FILE
    try:
        entries = _entries(folder)
        text = schema.content(file, LARGEST)
        stated = schema.parse(Submission, text, str(file))
    except OffaxisError as error:
        return Checked([error], [], None)
    except OSError as error:
        return Checked([DamagedFile(f"{error.filename}: {error.strerror}. Make it readable.")], [], None)
    problems, found = (stated, _mended(text)) if isinstance(stated, list) else ([], stated)
    if found is None:
        return Checked(problems, [], None)
    problems += [
        InvalidInput(f"{file}: about.{field}: expected some text, received nothing.")
        for field in ("title", "authors", "license")
        if not "".join(getattr(found.about, field).split()).strip(INVISIBLE)
        and not any(f"about.{field}:" in str(one) for one in problems)
    ]
    problems += [*_collisions(found.method, published)] or _same_titles(file, found, published)
    problems += _strays(folder, found.tasks, entries)
    runs: list[Candidate] = []
    if not any(path.is_symlink() for path in entries):
        named, wrong = _named(file, found)
        problems += wrong
        too_much = [*_sizes(folder, entries)]
        problems += too_much
        held = 0
        for run in [] if too_much else found.records():
            candidate = _candidate(folder, run, found, encode) if run.dataset in named else []
            if not isinstance(candidate, Candidate):
                problems += candidate
                continue
            held += candidate.given.nbytes
            if held > TOTAL:  # deflated, they were less
                problems.append(_too_much(folder, TOTAL, "codes", held))
                break
            runs.append(candidate)
        for task in named:
            problems += candidates.trained_twice([one for one in runs if one.record.dataset == task])
    return Checked(problems, runs, None if isinstance(stated, list) else found)


def _mended(text: bytes) -> Submission | None:
    """Return a file that breaks the schema with its wrong fields left out or as in `FILLED`; None if that fails."""
    try:
        stated = parse_json(text)
        return Submission.model_validate_json(text)
    except pydantic.ValidationError as error:
        wrong = [detail["loc"] for detail in error.errors(include_url=False)]
    except (ValueError, RecursionError):
        return None
    try:
        for place in wrong:
            known = [depth for depth, part in enumerate(place) if part in FILLED]
            *outer, last = place[: known[0] + 1] if known else place
            inner = functools.reduce(operator.getitem, outer, stated)
            inner.pop(last, None)
            if known:
                inner[last] = FILLED[last]
        return Submission.model_validate_json(json.dumps(stated))
    except (ValueError, TypeError, LookupError, AttributeError):
        return None


def _sizes(folder: Path, entries: Sequence[Path]) -> Iterator[OffaxisError]:
    """Refuse more bytes than are read of a submission."""
    for suffix, most, what in ((".npz", TOTAL, "codes"), (".onnx", ENCODERS, "encoders")):
        size = sum(path.lstat().st_size for path in entries if path.suffix == suffix)
        if size > most:
            yield _too_much(folder, most, what, size)


def _too_much(folder: Path, most: int, what: str, size: int) -> InvalidInput:
    return InvalidInput(f"{folder}: expected at most {most >> 20} MiB of {what}, received {size:,} bytes.")


def _named(file: Path, submission: Submission) -> tuple[set[str], list[OffaxisError]]:
    """Return the tasks of a submission whose data are those here, and all that is wrong with its tasks and seeds."""
    named: set[str] = set()
    found: list[OffaxisError] = []
    for name, entry in submission.tasks.items():
        where = f"{file}: tasks.{name}"
        try:
            task = protocol.task(name)
            candidates.check_dataset(task, entry.dataset_version, entry.dataset_digest, where)
            candidates.check_part(task, submission.tier, submission.hyperparameters, str(file))
        except OffaxisError as error:
            found.append(error)
            continue
        named.add(name)
        if name != task.dataset:
            found.append(InvalidInput(f"{where}: expected the full name of the dataset, {task.dataset}."))
        numbers = [seed.seed for seed in entry.seeds]
        for twice in sorted({number for number in numbers if numbers.count(number) > 1}):
            received = f"seed {twice} more than once"
            found.append(InvalidInput(f"{where}: seeds: expected each seed once, received {received}."))
        for seed in entry.seeds:
            claims = f"{where}: claimed of seed {seed.seed}"
            found += candidates.unknown_claims(seed.claimed, [submission.tier], claims)
            found += candidates.implausible(seed.budget, f"{where}: budget of seed {seed.seed}")
    return named, found


def _candidate(
    folder: Path, record: RunRecord, submission: Submission, encode: Progress | None
) -> Candidate | list[OffaxisError]:
    """Read a run of a submission, after its codes are written if they are wanted; or say what is wrong with it."""
    codes = folder / record.dataset / f"seed_{record.seed}.npz"
    encoder = codes.with_suffix(".onnx")
    problems: list[OffaxisError] = []
    try:
        if os.path.lexists(encoder):
            encoders.check(encoder)
            if encode and not os.path.lexists(codes):
                _encode(encoder, protocol.task(record.dataset), codes, encode)
    except OffaxisError as error:
        problems.append(error)
        if not os.path.lexists(codes):
            return problems
    try:
        if not os.path.lexists(codes):
            raise _missing(folder, codes, record.seed)
        found = candidates.candidate(codes, protocol.task(record.dataset), record, submission.about, encoder)
    except OffaxisError as error:
        problems.append(error)
    return problems or dataclasses.replace(found, where=str(codes))


def _missing(folder: Path, codes: Path, seed: int) -> OffaxisError:
    """Say where codes that are not there come from."""
    expected, remedy = "an npz file", f"Encode rows.npy into it, or take seed {seed} out of {FILE}."
    if os.path.lexists(codes.with_suffix(".onnx")):
        expected = f"the codes that {codes.stem}.onnx gives"
        remedy = f"Write them: offaxis board submit {shlex.quote(str(folder))}"
    return DamagedFile(f"{codes}: expected {expected}, received no such file. {remedy}")


def encode_run(folder: str | os.PathLike[str], *, progress: Progress = no_progress) -> Path | None:
    """Write the codes that a run folder's encoder gives, where it has an encoder and no codes.

    Args:
        folder: the run folder, or what is published of one.
        progress: is called with what is going on, in images.

    Returns:
        The file that was written, ``codes.npz``; None where there are codes, or no encoder.

    Raises:
        DamagedFile: ``run.json`` or the encoder does not hold what it should.
        InvalidInput: what `leaderboard.reading.encoders.OnnxEncoder` refuses.
        MissingExtra: onnx or onnxruntime is not installed.
        UnknownName: the run's dataset is unknown.
    """
    codes, encoder = Path(folder) / "codes.npz", Path(folder) / "encoder.onnx"
    if os.path.lexists(codes) or not os.path.lexists(encoder):
        return None
    _encode(encoder, protocol.task(record.read(Path(folder)).dataset), codes, progress)
    return codes


def _encode(encoder: Path, task: protocol.Task, codes: Path, progress: Progress) -> None:
    """Write the codes of a task's rows that an encoder gives."""
    done = 0

    def told(count: int) -> None:
        nonlocal done
        done += count
        progress(codes.name, done, len(task.indices))

    with encoders.OnnxEncoder(encoder) as running:
        found = running.encode(task.load(), task.indices, progress=told)
    with written_atomically(codes) as temporary, temporary.open("wb") as stream:
        np.savez(stream, indices=task.indices, codes=found)


def score(folder: str | os.PathLike[str], *, published: Sequence[Result] = (), fresh: str = "") -> list[Result]:
    """Recompute all scores of a submission.

    Args:
        folder: the submission.
        published: as in ``check``.
        fresh: text to draw fresh rows by, on which runs that have an encoder are verified; none are if it is empty.

    Returns:
        One result for each task. Nothing is written.

    Raises:
        OffaxisError: the first problem of ``check``, or what ``candidates.grouped`` refuses.
    """
    found = check(folder, published=published)
    if found.problems or found.submission is None:
        raise found.problems[0]
    groups = candidates.grouped(found.candidates, found.submission.tier)
    return [candidates.score_group(group, fresh)[0] for group in groups]


def _entries(folder: Path) -> list[Path]:
    """List the folder, without following links; stop where there are too many entries."""
    if folder.is_symlink() or not folder.is_dir():
        raise DamagedFile(f"{folder}: expected a submission's folder, received no such folder.")
    found: list[Path] = []
    waiting = [folder]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                found.append(Path(entry.path))
                if len(found) > ENTRIES:
                    raise DamagedFile(
                        f"{folder}: expected at most {ENTRIES:,} files and folders, received more than that."
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
        given = kind if kind == "a link" else f"{kind} that submission.json does not name"
        yield InvalidInput(
            f"{str(path)!a}: expected submission.json, and rows.npy, seed_<k>.npz and seed_<k>.onnx in a folder "
            f"for each task, received {given}. Remove it."
        )


def _collisions(name: str, published: Sequence[Result]) -> Iterator[OffaxisError]:
    """Find a published method that a reader would take for one of this name, or a reference that bears it."""
    plain = name.replace("_", "")
    references = {result.method for result in published if result.runs[0].supervision == "reference"}
    references |= set(record.REFERENCES)
    for other in sorted(references | {result.method for result in published}):
        if other.replace("_", "") == plain and (other != name or other in record.REFERENCES):
            expected = f"a name that differs from {other!r} by more than underscores"
            why = ", a reference of the board" if other in references else ""
            yield InvalidInput(f"method: expected {expected + why}, received {name!r}. Rename the method.")


def _same_titles(file: Path, submission: Submission, published: Sequence[Result]) -> Iterator[OffaxisError]:
    """Find another method on the board, or a reference, that a reader would take for one of this title."""
    others = {(result.method, result.title) for result in published} | {(name, name) for name in record.REFERENCES}
    title = submission.about.title
    for method, other in sorted(others):
        if method != submission.method and {_plain(title), _plain(title.translate(LOOKS))} & {
            _plain(other),
            _plain(method),
        }:
            yield InvalidInput(
                f"{file}: about.title: expected another title than that of {method} on the board, {other!r}, received "
                f"{title!r}. Give the method a title of its own."
            )
            return


LOOKS = str.maketrans(
    # Cyrillic, then Greek, by what they look like.
    "\u0410\u0412\u0415\u0405\u0406\u0408\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0425\u0423\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455"
    "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u03bf\u03bd"
    # What looks like a Greek beta: sharp s, Cyrillic, Latin and Coptic.
    "\u00df\u0432\ua7b5\u2c83",
    "ABESIJKMHOPCTXYaeopcyxijsABEZHIKMNOPTYXov\u03b2\u03b2\u03b2\u03b2",
)
"""Letters that look like those of another alphabet: like Latin ones, or like a beta."""


INVISIBLE = "\u115f\u1160\u2800\u3164\uffa0"
"""Letters that print nothing."""


def _plain(title: str) -> str:
    """Return a title without case, accents, spaces and marks, and with Greek letters by their names."""
    letters = unicodedata.normalize("NFKD", title).casefold()  # letters of mathematics have no case before
    names = (unicodedata.name(letter, "").removeprefix("GREEK SMALL LETTER ").lower() for letter in letters)
    spelled = (name if "\u0370" <= letter <= "\u03ff" else letter for letter, name in zip(letters, names, strict=True))
    return "".join(letter for letter in "".join(spelled) if letter.isalnum())
