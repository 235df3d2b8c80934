"""Trained encoders that anyone can fetch: what of an export is published, and whether it belongs to the results.

``<root>/weights/<dataset>/<method>/seed_<k>/`` holds a run's encoder in ONNX with what is known of the run: `FILES`. It
is the encoder that the run's scores were verified by, byte for byte, so that whoever fetches it has what the board
vouches for. Codes and the weights of the other networks are left out for their size; the card has their digests, and
``offaxis train export`` makes them again.
"""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from benchmark_data.errors import DamagedFile, InvalidInput, OffaxisError
from benchmark_data.files import hash_of, parse_json, written_atomically
from leaderboard import protocol, record, schema
from leaderboard.reading import encoders
from leaderboard.store import results, results_tree
from leaderboard.store.results import Result, Scored

FOLDER = "weights"

ENCODER = "encoder.onnx"

RECORD = "run.json"

FILES = (ENCODER, RECORD, "config.json", "scores.json", "README.md")
"""What is published of an export."""

SMALL = 2**18
"""Bytes that each other file may have."""

MOST = 15 * 2**20
"""Bytes that all of them may have together: a board is a folder that people clone."""


@dataclasses.dataclass(frozen=True)
class Weights:
    """One run's encoder.

    Attributes:
        folder: where it lies.
        task: the task's name.
        method: the method's name.
        seed: of the training.
        tier: of the scores on the card.
        files: name -> size in bytes and SHA-256, in the order of `FILES`.
    """

    folder: Path
    task: str
    method: str
    seed: int
    tier: str
    files: dict[str, tuple[int, str]]

    def name(self, file: str) -> str:
        """Return what a file is called on the board: ``weights/sprites2d.beta_vae.seed_0.encoder.onnx``."""
        return f"{FOLDER}/{self.task.partition('@')[0].replace('/', '.')}.{self.method}.seed_{self.seed}.{file}"


def read_all(root: str | os.PathLike[str]) -> tuple[Weights, ...]:
    """Find the encoders that are published.

    Args:
        root: the results tree.

    Returns:
        All of them, by task, method and seed.

    Raises:
        DamagedFile: a folder lacks a file, holds another one, or a file does not hold what it should.
    """
    found = [_read(file.parent) for file in sorted((Path(root) / FOLDER).glob(f"**/{RECORD}"))]
    return tuple(sorted(found, key=lambda one: (protocol.natural(one.task), one.method, one.seed)))


def add(root: str | os.PathLike[str], folders: Iterable[str | os.PathLike[str]]) -> list[Weights]:
    """Publish the encoders of exports beside the results of their runs.

    Args:
        root: the results tree. It holds the runs, verified with these encoders.
        folders: as ``offaxis train export RUN --to DIR`` writes them.

    Returns:
        What was added.

    Raises:
        DamagedFile: a folder lacks a file, or a file does not hold what it should.
        InvalidInput: the tree has no such run, or one that was verified by another encoder or has other scores; or
            there would be more than `MOST` bytes.
    """
    root, added = Path(root), []
    with results_tree.locked(root):
        known = results_tree.read_all(root)
        there = {one.folder: _size(one) for one in read_all(root)}
        for given in map(Path, folders):
            one = _read(given, strict=False)
            if problem := _against(one, known):
                raise problem
            dataset = one.task.partition("@")[0]
            to = root / FOLDER / dataset / one.method / f"seed_{one.seed}"
            there[to] = _size(one)
            if sum(there.values()) > MOST:
                raise InvalidInput(
                    f"{root / FOLDER}",
                    expected=f"at most {MOST:,} bytes",
                    received=f"{sum(there.values()):,} with {given}",
                    remedy="Publish fewer encoders, or smaller ones.",
                )
            for name in sorted(FILES, key=lambda name: name == RECORD):  # last, for `read_all` goes by it
                content = (given / name).read_bytes()
                with written_atomically(to / name) as temporary:
                    temporary.write_bytes(content)
            added.append(dataclasses.replace(one, folder=to))
    return added


def check(root: str | os.PathLike[str], known: Sequence[Result]) -> Iterator[OffaxisError]:
    """Find published encoders that do not belong to the results.

    Args:
        root: the results tree.
        known: its results.

    Yields:
        What is wrong.
    """
    try:
        found = read_all(root)
    except OffaxisError as error:
        yield error
        return
    folders = {one.folder for one in found}
    for file in sorted((Path(root) / FOLDER).rglob("*")):
        if file.is_file() and file.parent not in folders:
            yield InvalidInput(
                str(file), expected=f"{RECORD} beside it", received="none", remedy="Remove it, or publish it again."
            )
    for one in found:
        if problem := _against(one, known):
            yield problem
    if (size := sum(map(_size, found))) > MOST:
        yield InvalidInput(f"{Path(root) / FOLDER}", expected=f"at most {MOST:,} bytes", received=f"{size:,}")


def _read(folder: Path, *, strict: bool = True) -> Weights:
    """Read what is in a folder; if ``strict``, nothing else may be there."""
    others = sorted(file.name for file in folder.iterdir() if file.name not in FILES) if strict else []
    if others:
        raise DamagedFile(str(folder), expected=f"only {', '.join(FILES)}", received=others[0], remedy="Remove it.")
    run = record.read(folder)
    files = {}
    for name in FILES:
        content = encoders.content(folder / name) if name == ENCODER else schema.content(folder / name, SMALL)
        files[name] = len(content), hash_of(folder / name)
    return Weights(folder, protocol.task(run.dataset).id, run.method, run.seed, _scores(folder)[0], files)


def _scores(folder: Path) -> tuple[str, dict[str, float]]:
    """Read the scores of an export: their tier, and score -> value."""
    file = folder / "scores.json"
    try:
        found = parse_json(schema.content(file, SMALL))
        tier, scores = str(found["tier"]), {str(key): float(value) for key, value in found["scores"].items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DamagedFile(str(file), expected="a tier and its scores", received=str(error)) from error
    return tier, scores


def _against(one: Weights, known: Iterable[Result]) -> OffaxisError | None:
    """Compare an encoder with the run that it is of."""
    what = f"{one.folder}: {one.method} on {one.task}, tier {one.tier}, seed {one.seed}"
    run = _run(one, known)
    if run is None:
        return InvalidInput(what, expected="a run among the results", received="none", remedy="Evaluate it first.")
    digest = one.files[ENCODER][1]
    if run.verification is None or run.verification.encoder_digest != digest:
        return InvalidInput(
            f"{what}: {ENCODER}",
            expected=f"the encoder that the run was verified by, {run.verification.encoder_digest[:16]}"
            if run.verification
            else "a run that was verified",
            received=digest[:16] if run.verification else "one that was not",
            remedy="Evaluate the run with this encoder beside its codes.",
        )
    scores = _scores(one.folder)[1]
    for key, value in run.scores.items():
        found = scores.get(key, math.nan)
        if not abs(found - value) <= results.DRIFT / 10:
            return InvalidInput(f"{what}: {key}", expected=f"{value:.6f}", received=f"{found:.6f}")
    return None


def _run(one: Weights, known: Iterable[Result]) -> Scored | None:
    """Find the run that an encoder is of."""
    for result in known:
        if (result.task, result.method) == (one.task, one.method):
            return next((run for run in result.of(one.tier) if run.seed == one.seed), None)
    return None


def _size(one: Weights) -> int:
    return sum(size for size, _ in one.files.values())
