"""Submissions: a folder of codes with metadata, in data formats that run no code.

A submission is a folder::

    submission.json               who, what, how (`Submission`)
    <dataset>/<config>/rows.npy   the rows to encode, written by ``offaxis board submit``; int64, in their order
    <dataset>/<config>/seed_0.npz ``indices`` int64 (n,), equal to the rows, and ``codes`` float (n, L), one row each
    <dataset>/<config>/seed_0.onnx the encoder that made them, if it is to be verified (`leaderboard.reading.graphs`)

`check` lists all errors. Nothing is unpickled, no link is followed, and nothing is read before its size is known.
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
from leaderboard.record import About, DatasetFields, MethodFields, RunRecord, SeedFields
from leaderboard.schema import NAME, Field, pydantic
from leaderboard.scoring import candidates
from leaderboard.scoring.candidates import Candidate
from leaderboard.store.results import Result

__all__ = ["Checked", "Submission", "check", "init"]

Progress: TypeAlias = Callable[[str, int, int], None]
"""Called with the current file, the number of images done and the total."""


def no_progress(what: str, done: int, total: int) -> None:
    """Report nothing."""


MAX_ENTRIES = 2_000
"""The most files and folders in a submission: some 35 tasks with 50 seeds."""

MAX_CODES_BYTES = 2**30
"""The most bytes of all codes of a submission, on disk and in memory: 1,700 runs of 10 latents."""

MAX_ENCODER_BYTES = 2**30
"""The most bytes of all encoders of a submission."""

FILE = "submission.json"
MAX_BYTES = 2**20
"""The most bytes of ``submission.json``."""


class Entry(DatasetFields):
    """One task: the data, and the runs ``seed_<seed>.npz``."""

    seeds: tuple[SeedFields, ...] = Field(min_length=1, max_length=1_000)


Task = Annotated[schema.Line, Field(pattern=schema.DATASET + "$")]
Tasks = Annotated[dict[Task, Entry], Field(min_length=1, max_length=200)]


class Submission(MethodFields):
    """Contents of ``submission.json``: fields of all runs, and for each task the dataset and the seeds.

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
        method_fields = {name: getattr(self, name) for name in MethodFields.model_fields}
        for dataset, entry in self.tasks.items():
            data_fields = {name: getattr(entry, name) for name in DatasetFields.model_fields}
            for seed in entry.seeds:
                seed_fields = {name: getattr(seed, name) for name in SeedFields.model_fields}
                yield RunRecord(dataset=dataset, **method_fields, **data_fields, **seed_fields)


FORM = {"schema": 1, "protocol": protocol.VERSION, "selection": "none", "hyperparameters": {}, "versions": {}}
SEED = {"budget": {"steps": 0, "images": 0, "seconds": 0.0, "device": ""}, "claimed": {}}
FILLED: Mapping[Any, object] = FORM | SEED | {"tier": "desk", "method": "method", "supervision": "unsupervised"}
"""Values that replace wrong fields while the rest of a submission is checked."""

Fill: TypeAlias = Callable[[dict[str, Any]], None] | None
"""Called with a new form, to fill in fields."""


class Checked(NamedTuple):
    """Result of `check`.

    Attributes:
        problems: all errors; the submission can be scored if there are none.
        candidates: the runs to score.
        submission: the contents of its file; None if it cannot be read.
    """

    problems: list[OffaxisError]
    candidates: list[Candidate]
    submission: Submission | None


def init(
    folder: str | os.PathLike[str], method: str, tasks: Iterable[str], *, tier: str, seeds: int, fill: Fill = None
) -> Path:
    """Write the folder of a submission to be filled in: its form, and the rows of each task.

    Args:
        folder: a path that is free.
        method: the method's name, lower case.
        tasks: tasks or datasets.
        tier: a tier of the protocol.
        seeds: the number of seeds, which begin at 0.
        fill: called with the form before it is written, to change it.

    Returns:
        The path of ``submission.json``.

    Raises:
        InvalidInput: the folder exists or cannot be written, no tasks, no seeds, a malformed name or that of an
            untrained baseline, or a task that the tier does not take.
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
    selected_tasks = [protocol.task(name) for name in tasks]
    if not re.fullmatch(NAME, method):
        raise InvalidInput(
            f"method: expected a lower-case name of letters, digits and underscores, received {method!r}."
        )
    for problem in _find_collisions(method, ()):
        raise problem
    if not selected_tasks:
        raise InvalidInput("tasks of a submission: expected at least one, received none.")
    check_count("seeds of a submission", seeds, 1)
    for task in selected_tasks:
        candidates.check_part(task, tier, {}, f"{folder / FILE}")
    digests = {task.dataset: candidates.dataset_digest(task) for task in selected_tasks}
    with written_atomically(folder) as temporary:
        for task in selected_tasks:
            task_folder = temporary / task.dataset
            task_folder.mkdir(parents=True, exist_ok=True)
            np.save(task_folder / "rows.npy", task.indices, allow_pickle=False)
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
    """Check everything in a submission.

    Args:
        folder: the submission.
        published: results on the board, whose names are taken.
        encode: if given, codes that are missing are first written by running the encoders (files appear in the folder),
            and this is called with their progress in images; if None, missing codes are a problem.

    Returns:
        The errors, which are not raised, and the runs that can be scored.
    """
    folder = Path(folder)
    file = folder / FILE
    try:
        entries = _list_entries(folder)
        text = schema.read_bytes(file, MAX_BYTES)
        parsed = schema.parse(Submission, text, str(file))
    except OffaxisError as error:
        return Checked([error], [], None)
    except OSError as error:
        return Checked([DamagedFile(f"{error.filename}: {error.strerror}. Make it readable.")], [], None)
    problems, submission = (parsed, _parse_without_wrong_fields(text)) if isinstance(parsed, list) else ([], parsed)
    if submission is None:
        return Checked(problems, [], None)
    problems += [
        InvalidInput(f"{file}: about.{field}: expected some text, received nothing.")
        for field in ("title", "authors", "license")
        if not "".join(getattr(submission.about, field).split()).strip(INVISIBLE)
        and not any(f"about.{field}:" in str(problem) for problem in problems)
    ]
    problems += [*_find_collisions(submission.method, published)] or _find_same_titles(file, submission, published)
    runs: list[Candidate] = []
    if not any(path.is_symlink() for path in entries):
        tasks, task_problems = _check_tasks(file, submission)
        problems += task_problems
        size_problems = [*_find_oversize(folder, entries)]
        problems += size_problems
        code_bytes = 0
        for run_record in [] if size_problems else submission.records():
            candidate = _read_candidate(folder, run_record, submission, encode) if run_record.dataset in tasks else []
            if not isinstance(candidate, Candidate):
                problems += candidate
                continue
            code_bytes += candidate.submitted_codes.nbytes
            if code_bytes > MAX_CODES_BYTES:  # deflated, they were less
                problems.append(_oversize_error(folder, MAX_CODES_BYTES, "codes", code_bytes))
                break
            runs.append(candidate)
        for task in tasks:
            problems += candidates.repeated_codes([run for run in runs if run.record.dataset == task])
    problems += _find_strays(folder, submission.tasks, entries)
    return Checked(problems, runs, None if isinstance(parsed, list) else submission)


def _parse_without_wrong_fields(text: bytes) -> Submission | None:
    """Parse a file that breaks the schema, its wrong fields left out or as in `FILLED`; None if that fails."""
    try:
        content = parse_json(text)
        return Submission.model_validate_json(text)
    except pydantic.ValidationError as error:
        wrong_fields = [detail["loc"] for detail in error.errors(include_url=False)]
    except (ValueError, RecursionError):
        return None
    try:
        for location in wrong_fields:
            replaceable = [depth for depth, part in enumerate(location) if part in FILLED]
            *outer_keys, key = location[: replaceable[0] + 1] if replaceable else location
            parent = functools.reduce(operator.getitem, outer_keys, content)
            parent.pop(key, None)
            if replaceable:
                parent[key] = FILLED[key]
        return Submission.model_validate_json(json.dumps(content))
    except (ValueError, TypeError, LookupError, AttributeError):
        return None


def _find_oversize(folder: Path, entries: Sequence[Path]) -> Iterator[OffaxisError]:
    """Find codes or encoders of more bytes than are read."""
    for suffix, limit, what in ((".npz", MAX_CODES_BYTES, "codes"), (".onnx", MAX_ENCODER_BYTES, "encoders")):
        size = sum(path.lstat().st_size for path in entries if path.suffix == suffix)
        if size > limit:
            yield _oversize_error(folder, limit, what, size)


def _oversize_error(folder: Path, limit: int, what: str, size: int) -> InvalidInput:
    return InvalidInput(f"{folder}: expected at most {limit >> 20} MiB of {what}, received {size:,} bytes.")


def _check_tasks(file: Path, submission: Submission) -> tuple[list[str], list[OffaxisError]]:
    """Return the tasks of a submission whose datasets are those here, and all errors of its tasks and seeds."""
    known_tasks: list[str] = []
    problems: list[OffaxisError] = []
    for name, entry in submission.tasks.items():
        where = f"{file}: tasks.{name}"
        try:
            task = protocol.task(name)
            candidates.check_dataset(task, entry.dataset_version, entry.dataset_digest, where)
            candidates.check_part(task, submission.tier, submission.hyperparameters, str(file))
        except OffaxisError as error:
            problems.append(error)
            continue
        known_tasks.append(name)
        if name != task.dataset:
            problems.append(InvalidInput(f"{where}: expected the full name of the dataset, {task.dataset}."))
        seed_numbers = [seed.seed for seed in entry.seeds]
        for repeated in sorted({number for number in seed_numbers if seed_numbers.count(number) > 1}):
            received = f"seed {repeated} more than once"
            problems.append(InvalidInput(f"{where}: seeds: expected each seed once, received {received}."))
        for seed in entry.seeds:
            claim_label = f"{where}: claimed of seed {seed.seed}"
            problems += candidates.unknown_claims(seed.claimed, [submission.tier], claim_label)
            problems += candidates.implausible_budget(seed.budget, f"{where}: budget of seed {seed.seed}")
    return known_tasks, problems


def _read_candidate(
    folder: Path, run: RunRecord, submission: Submission, encode: Progress | None
) -> Candidate | list[OffaxisError]:
    """Read a run of a submission, with ``encode`` after writing missing codes; or return its errors."""
    codes_file = folder / run.dataset / f"seed_{run.seed}.npz"
    encoder_file = codes_file.with_suffix(".onnx")
    problems: list[OffaxisError] = []
    try:
        if os.path.lexists(encoder_file):
            encoders.check(encoder_file)
            if encode and not os.path.lexists(codes_file):
                _encode_task(encoder_file, protocol.task(run.dataset), codes_file, encode)
    except OffaxisError as error:
        problems.append(error)
        if not os.path.lexists(codes_file):
            return problems
    try:
        if not os.path.lexists(codes_file):
            raise _missing_codes_error(folder, codes_file, run.seed)
        candidate = candidates.read_candidate(
            codes_file, protocol.task(run.dataset), run, submission.about, encoder_file
        )
    except OffaxisError as error:
        problems.append(error)
    return problems or dataclasses.replace(candidate, where=str(codes_file))


def _missing_codes_error(folder: Path, codes_file: Path, seed: int) -> OffaxisError:
    """Return an error that states how to write missing codes."""
    expected = "an npz file"
    remedy = f"Add {codes_file.stem}.onnx, encode rows.npy into this file, or remove seed {seed} from {FILE}."
    if os.path.lexists(codes_file.with_suffix(".onnx")):
        expected = f"the codes of {codes_file.stem}.onnx"
        remedy = f"Write them: offaxis board submit {shlex.quote(str(folder))}"
    return DamagedFile(f"{codes_file}: expected {expected}, received no such file. {remedy}")


def encode_run(folder: str | os.PathLike[str], *, progress: Progress = no_progress) -> Path | None:
    """Write the codes of a run folder by running its encoder, if it has an encoder and no codes.

    Args:
        folder: the run folder, or a published copy of one.
        progress: called with the file and the numbers of images done and in all.

    Returns:
        The file that was written, ``codes.npz``; None if there are codes, or no encoder.

    Raises:
        DamagedFile: ``run.json`` or the encoder does not hold what it should.
        InvalidInput: what `leaderboard.reading.encoders.OnnxEncoder` refuses.
        MissingExtra: onnx or onnxruntime is not installed.
        UnknownName: the run's dataset is unknown.
    """
    codes_file, encoder_file = Path(folder) / "codes.npz", Path(folder) / "encoder.onnx"
    if os.path.lexists(codes_file) or not os.path.lexists(encoder_file):
        return None
    _encode_task(encoder_file, protocol.task(record.read(Path(folder)).dataset), codes_file, progress)
    return codes_file


def _encode_task(encoder_file: Path, task: protocol.Task, codes_file: Path, progress: Progress) -> None:
    """Encode a task's rows and write the codes."""
    done = 0

    def count_encoded(count: int) -> None:
        nonlocal done
        done += count
        progress(codes_file.name, done, len(task.indices))

    with encoders.OnnxEncoder(encoder_file) as onnx_encoder:
        codes = onnx_encoder.encode(task.load(), task.indices, progress=count_encoded)
    with written_atomically(codes_file) as temporary, temporary.open("wb") as stream:
        np.savez(stream, indices=task.indices, codes=codes)


def _list_entries(folder: Path) -> list[Path]:
    """List the folder, without following links; stop where there are too many entries."""
    if folder.is_symlink() or not folder.is_dir():
        raise DamagedFile(f"{folder}: expected a submission's folder, received no such folder.")
    paths: list[Path] = []
    pending = [folder]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                paths.append(Path(entry.path))
                if len(paths) > MAX_ENTRIES:
                    raise DamagedFile(
                        f"{folder}: expected at most {MAX_ENTRIES:,} files and folders, received more than that."
                    )
                if entry.is_dir(follow_symlinks=False):
                    pending.append(Path(entry.path))
    return sorted(paths)


def _find_strays(folder: Path, tasks: dict[str, Entry], entries: Sequence[Path]) -> Iterator[OffaxisError]:
    """Find links, devices, and files that ``submission.json`` does not name."""
    expected = {folder / FILE}
    folders: set[Path] = set()
    for name, entry in tasks.items():
        task_folder = folder / name
        folders |= {task_folder, task_folder.parent}
        expected |= {task_folder / f"seed_{seed.seed}{suffix}" for seed in entry.seeds for suffix in (".npz", ".onnx")}
        expected.add(task_folder / "rows.npy")
    for path in filter(os.path.lexists, entries):  # encoding removes what a killed process left behind
        mode = path.lstat().st_mode
        if (stat.S_ISDIR(mode) and path in folders) or (stat.S_ISREG(mode) and path in expected):
            continue
        kind = "a link" if stat.S_ISLNK(mode) else "a folder" if stat.S_ISDIR(mode) else "a file"
        received = kind if kind == "a link" else f"{kind} that submission.json does not name"
        yield InvalidInput(
            f"{str(path)!a}: expected submission.json, and rows.npy, seed_<k>.npz and seed_<k>.onnx in a folder "
            f"for each task, received {received}. Remove it."
        )


def _find_collisions(name: str, published: Sequence[Result]) -> Iterator[OffaxisError]:
    """Find published methods and untrained baselines whose name differs only in underscores, or is a baseline's."""
    bare_name = name.replace("_", "")
    references = {*record.REFERENCES, *(r.method for r in published if r.runs[0].supervision == "reference")}
    for other in sorted(references | {result.method for result in published}):
        if other.replace("_", "") == bare_name and (other != name or other in record.REFERENCES):
            expected = f"a name that differs from {other!r} by more than underscores"
            why = ", a reference of the board" if other in references else ""
            yield InvalidInput(f"method: expected {expected + why}, received {name!r}. Rename the method.")


def _find_same_titles(file: Path, submission: Submission, published: Sequence[Result]) -> Iterator[OffaxisError]:
    """Find another method on the board, or an untrained baseline, whose title looks the same."""
    others = {(result.method, result.title) for result in published} | {(name, name) for name in record.REFERENCES}
    title = submission.about.title
    for method, other_title in sorted(others):
        if method != submission.method and {_normalised_title(title), _normalised_title(title.translate(LOOKS))} & {
            _normalised_title(other_title),
            _normalised_title(method),
        }:
            yield InvalidInput(
                f"{file}: about.title: expected another title than that of {method} on the board, {other_title!r}, "
                f"received {title!r}. Give the method a title of its own."
            )
            return


LOOKS = str.maketrans(
    # Cyrillic, then Greek letters that look like Latin ones.
    "\u0410\u0412\u0415\u0405\u0406\u0408\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0425\u0423\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455"
    "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u03bf\u03bd"
    # Letters that look like a Greek beta: sharp s, Cyrillic, Latin and Coptic.
    "\u00df\u0432\ua7b5\u2c83",
    "ABESIJKMHOPCTXYaeopcyxijsABEZHIKMNOPTYXov\u03b2\u03b2\u03b2\u03b2",
)
"""Letters that look like those of another alphabet: like Latin ones, or like a beta."""


INVISIBLE = "\u115f\u1160\u2800\u3164\uffa0"
"""Letters that are invisible in print."""


def _normalised_title(title: str) -> str:
    """Return a title without case, accents, spaces and marks, with Greek letters spelled out."""
    letters = unicodedata.normalize("NFKD", title).casefold()  # letters of mathematics have no case before
    names = (unicodedata.name(letter, "").removeprefix("GREEK SMALL LETTER ").lower() for letter in letters)
    spelled = (name if "\u0370" <= letter <= "\u03ff" else letter for letter, name in zip(letters, names, strict=True))
    return "".join(letter for letter in "".join(spelled) if letter.isalnum())
