"""Trained encoders that anyone can fetch: each belongs to a run that was verified by it, byte for byte.

``<root>/weights/<dataset>/<method>/seed_<k>/`` holds a run's encoder in ONNX and its ``run.json``, so that
``offaxis board verify`` takes the folder. Scores and digests stand in the run's result.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from benchmark_data.errors import DamagedFile, InvalidInput, OffaxisError
from benchmark_data.files import bounded, hash_of, is_unfinished, written_atomically
from leaderboard import protocol, record
from leaderboard.reading import graphs
from leaderboard.store import results_tree
from leaderboard.store.results import Result

FOLDER = "weights"

ENCODER = "encoder.onnx"

FILES = (ENCODER, record.FILE)
"""What is published of a run; the record is written last, for `read_all` goes by it."""

MOST = 10 * 2**20
"""Bytes that all of them may have together: a board is a folder that people clone."""


@dataclasses.dataclass(frozen=True)
class Weights:
    """One run's encoder.

    Attributes:
        folder: where it lies.
        task: the task's name.
        method: the method's name.
        seed: of the training.
        tier: of the run that was verified by it.
        files: name -> size in bytes and SHA-256, in the order of `FILES`.
    """

    folder: Path
    task: str
    method: str
    seed: int
    tier: str
    files: dict[str, tuple[int, str]]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(size for size, _ in self.files.values())

    def name(self, file: str) -> str:
        """Return what a file is called on the board: ``weights/sprites2d.beta_vae.seed_0.encoder.onnx``."""
        return f"{FOLDER}/{self.task.partition('@')[0].replace('/', '.')}.{self.method}.seed_{self.seed}.{file}"


def read(folder: Path, known: Iterable[Result]) -> Weights:
    """Read an encoder and find the run that was verified by it.

    Args:
        folder: holds `FILES`, and perhaps more.
        known: results.

    Raises:
        DamagedFile: a file is missing or does not hold what it should.
        InvalidInput: no such run among the results was verified by this encoder.
    """
    of = record.read(folder)
    bounded(folder / ENCODER, graphs.LARGEST, what="a model in ONNX")
    files = {name: ((folder / name).stat().st_size, hash_of(folder / name)) for name in FILES}
    task, digest = protocol.task(of.dataset).id, files[ENCODER][1]
    for result in known:
        for run in result.runs if (result.task, result.method) == (task, of.method) else ():
            if run.seed == of.seed and run.verification and run.verification.encoder_digest == digest:
                return Weights(folder, task, of.method, of.seed, run.tier, files)
    raise InvalidInput(
        f"{folder / ENCODER}: expected an encoder that seed {of.seed} of {of.method} on {task} was verified by, "
        f"received one with SHA-256 {digest[:16]}. Evaluate the run with this encoder next to its codes."
    )


def read_all(root: str | os.PathLike[str], known: Sequence[Result]) -> tuple[Weights, ...]:
    """Find the encoders that are published.

    Args:
        root: the results tree.
        known: its results.

    Returns:
        All of them, by task, method and seed.

    Raises:
        DamagedFile: a folder lacks a file, or a file does not hold what it should.
        InvalidInput: an encoder does not belong to the results.
    """
    found = [read(file.parent, known) for file in sorted((Path(root) / FOLDER).glob(f"**/{record.FILE}"))]
    return tuple(sorted(found, key=lambda one: (protocol.natural(one.task), one.method, one.seed)))


def add(root: str | os.PathLike[str], folders: Iterable[str | os.PathLike[str]]) -> list[Weights]:
    """Publish the encoders of runs beside their results.

    Args:
        root: the results tree. It holds the runs, verified with these encoders.
        folders: run folders with an encoder, or as ``offaxis train export RUN --to DIR`` writes them.

    Returns:
        What was added.

    Raises:
        DamagedFile: a folder lacks a file, or a file does not hold what it should.
        InvalidInput: the tree has no such run that was verified by the encoder; or there would be more than `MOST`
            bytes.
    """
    root, added = Path(root), []
    with results_tree.locked(root):
        known = results_tree.read_all(root)
        there = {one.folder: one.size for one in read_all(root, known)}
        for given in map(Path, folders):
            one = read(given, known)
            to = root / FOLDER / one.task.partition("@")[0] / one.method / f"seed_{one.seed}"
            there[to] = one.size
            if sum(there.values()) > MOST:
                raise _too_many(root, sum(there.values()))
            for name in FILES:
                with written_atomically(to / name) as temporary:
                    temporary.write_bytes((given / name).read_bytes())
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
    size = 0
    for file in sorted((Path(root) / FOLDER).rglob("*")):
        if is_unfinished(file):
            continue
        if file.is_file() and (file.name not in FILES or not (file.parent / record.FILE).exists()):
            yield DamagedFile(f"{file}: expected {' and '.join(FILES)} alone, received another file. Remove it.")
        elif file.name == record.FILE:
            try:
                size += read(file.parent, known).size
            except OffaxisError as error:
                yield error
    if size > MOST:
        yield _too_many(Path(root), size)


def _too_many(root: Path, size: int) -> InvalidInput:
    return InvalidInput(
        f"{root / FOLDER}: expected at most {MOST:,} bytes, received {size:,}. Publish fewer encoders, or smaller ones."
    )
