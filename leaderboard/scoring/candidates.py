"""Candidates: runs whose codes are read and checked, and their scores.

A run folder holds ``run.json`` (`leaderboard.record`) and ``codes.npz``: ``indices`` int64 (n,), the rows of the task
in its order, and ``codes`` float (n, L), one row of latents for each. ``encoder.onnx`` is the encoder that made them,
where it is to be verified. Nothing in it is run or unpickled.
"""

from __future__ import annotations

import dataclasses
import datetime
import functools
import hashlib
import os
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmark_data.archives import npz
from benchmark_data.errors import InvalidInput, OffaxisError, UnknownName
from leaderboard import protocol, record
from leaderboard.arrays import to_float32
from leaderboard.doubts import warn_if_same
from leaderboard.reading import representations, units
from leaderboard.record import About, Digests, RunRecord
from leaderboard.schema import Settings, pydantic, to_errors
from leaderboard.scoring import copies, measure, verification
from leaderboard.store import results
from leaderboard.store.results import Result, Scored, Status

__all__ = ["Candidate", "load", "read_codes", "score"]

MAX_LATENTS = 2048
"""The most latents that are scored."""


@dataclasses.dataclass(frozen=True, eq=False)
class Candidate:
    """One run to score, checked.

    Args:
        where: its location, for messages.
        record: the record of the run.
        about: the description of its method.
        codes: the codes to score, float32 (n, L), in the order of the task's rows.
        submitted_codes: the codes as submitted, (n, L), or (n, L, d) for units of d numbers.
        encoder: the ONNX file of the encoder of the codes, if there is one.
    """

    where: str
    record: RunRecord
    about: About
    codes: NDArray[np.float32]
    submitted_codes: NDArray[Any]
    encoder: Path | None = None

    @property
    def task(self) -> protocol.Task:
        """The task that the codes are of."""
        return protocol.task(self.record.dataset)

    @functools.cached_property
    def digest(self) -> str:
        """SHA-256 of the codes as little-endian float32, row by row, in hexadecimal."""
        return hashlib.sha256(self.codes.astype("<f4").tobytes()).hexdigest()

    @functools.cached_property
    def ranked(self) -> copies.Ranked:
        """The ranks by which copies are found."""
        return copies.latent_ranks(self.codes)

    def renamed(self, method: str) -> Candidate:
        """Return it under another method's name, which becomes its title, too; itself if the name is empty."""
        if method in ("", self.record.method):
            return self
        return dataclasses.replace(
            self,
            record=self.record.model_copy(update={"method": method}),
            about=self.about.model_copy(update={"title": method}),
        )


def load(folder: str | os.PathLike[str]) -> Candidate:
    """Read a run folder and check it against its task.

    Args:
        folder: the run folder.

    Returns:
        The run, with its codes.

    Raises:
        DamagedFile: the folder lacks a file, or a file does not hold what it should.
        InvalidInput: codes of other rows, of another dataset or not finite; a run on the user's images; a reference's
            name; a budget that cannot be; or a claim of a score that nothing computes.
        UnknownName: the dataset is unknown.

    Warns:
        SameCodes: see `leaderboard.doubts.warn_if_same`.
    """
    folder = Path(folder)
    run_file, file = record.read(folder), str(folder / record.FILE)
    if (folder / "images.json").exists():
        raise InvalidInput(
            f"{folder}: expected a run on a dataset that the board has a task on, received one on your own "
            f"pictures, {run_file.dataset!r}. Without a task it has scores that you choose: offaxis board score "
            f"{shlex.quote(str(folder))} --metric mig, or leaderboard.evaluate in Python."
        )
    task = protocol.task(run_file.dataset)
    check_dataset(task, run_file.dataset_version, run_file.dataset_digest, file)
    _check_method_name(run_file, file)
    for problem in (
        *implausible_budget(run_file.budget, f"{file}: budget"),
        *unknown_claims(run_file.claimed, protocol.TIERS, f"{file}: claimed"),
    ):
        raise problem
    codes_file = representations.file_in_run_folder(folder, "codes.npz", "encode")
    return read_candidate(codes_file, task, run_file, run_file.about, folder / "encoder.onnx")


def read_candidate(codes: Path, task: protocol.Task, known: RunRecord, about: About, encoder: Path) -> Candidate:
    """Read the codes of a run, whose record is known, and find its encoder. Raise and warn as ``read_codes``."""
    scored, submitted = read_codes(codes, task)
    return Candidate(str(codes.parent), known, about, scored, submitted, encoder if os.path.lexists(encoder) else None)


def read_codes(file: str | os.PathLike[str], task: protocol.Task) -> tuple[NDArray[np.float32], NDArray[Any]]:
    """Read codes and check that they are those of a task's rows.

    Args:
        file: an npz file with ``indices`` and ``codes``, (n, L), or (n, L, d) for units of d numbers.
        task: the task.

    Returns:
        float32, shape (rows of the task, L), all finite; units are reduced by ``leaderboard.reading.units.reduce``. And
        the codes as the file holds them.

    Raises:
        DamagedFile: not an npz file, or an array is missing, too large, or of another type or shape.
        InvalidInput: other rows than the task's, no latents or too many, or a value that is not finite.

    Warns:
        SameCodes: see `leaderboard.doubts.warn_if_same`.
    """
    n = len(task.indices)
    layout = {"indices": npz.ArraySpec("iu", (n,)), "codes": npz.ArraySpec("f", (n, None), other_shape=(n, None, None))}
    arrays = npz.read_named(file, layout)
    indices, submitted = arrays["indices"], arrays["codes"]
    misplaced = np.flatnonzero(indices != task.indices)
    if len(misplaced):
        is_permuted = np.array_equal(np.sort(indices), np.sort(task.indices))
        other_task = protocol.task_id_of_rows(indices)
        received = f"the rows of {other_task}: {indices[misplaced[0]]}" if other_task else str(indices[misplaced[0]])
        remedy = (
            "They are the right rows in another order: reorder the codes with them."
            if is_permuted
            else "Encode the rows that `leaderboard.protocol.task(...).indices` gives, in that order."
        )
        raise InvalidInput(
            f"{file}: indices: expected the rows of {task.id}: {task.indices[misplaced[0]]} at position "
            f"{misplaced[0]}, received {received}. {remedy}"
        )
    if not 1 <= submitted.shape[1] <= MAX_LATENTS:
        raise InvalidInput(f"{file}: codes: expected 1 to {MAX_LATENTS} latents, received {submitted.shape[1]}.")
    codes = to_float32(units.reduce(submitted, f"{file}: codes", train=len(task.train)), f"{file}: codes")
    warn_if_same(codes, str(file))
    return codes, submitted


def _check_method_name(known: RunRecord, what: str) -> None:
    """Refuse the name of a reference, and one that differs from it by underscores alone."""
    for name in record.REFERENCES:
        collides = known.method.replace("_", "") == name.replace("_", "")
        if collides and (known.method != name or known.supervision != "reference"):
            raise InvalidInput(
                f"{what}: method: expected another name than that of a reference, received "
                f"{known.method!r}{f', which is {name!r} but for underscores' * (known.method != name)}. Rename the "
                "method."
            )


def implausible_budget(budget: record.Budget, what: str) -> Iterator[InvalidInput]:
    """Find a budget of fewer images than steps, each of which takes one; 0 images are none that were counted.

    Example:
        >>> budgets = [record.Budget(steps=steps, images=64, seconds=1.0, device="") for steps in (0, 1, 64, 65)]
        >>> [len(list(implausible_budget(budget, "budget"))) for budget in budgets]
        [0, 0, 0, 1]
    """
    if 0 < budget.images < budget.steps:
        yield InvalidInput(
            f"{what}: expected at least as many images as steps, {budget.steps:,}: each step sees one or more, repeats "
            f"counted, received {budget.images:,} images. Write 0 images if they were not counted."
        )


def check_dataset(task: protocol.Task, version: str, digest: Digests, what: str) -> None:
    """Refuse codes that were made from another version of a dataset, other pixels or other factors than are here."""
    local_version, local_digest = dataset_digest(task)
    for field, received, expected in (
        ("dataset_version", version, local_version),
        ("dataset_digest.pixels", digest.pixels, local_digest.pixels),
        ("dataset_digest.factors", digest.factors, local_digest.factors),
    ):
        if received != expected:
            raise InvalidInput(
                f"{what}: {field}: expected {expected}, that of {task.dataset} here, received {received}. The codes "
                "were made from other data. Encode again with this version of the dataset."
            )


def dataset_digest(task: protocol.Task) -> tuple[str, Digests]:
    """Return the version and the quick digest of a task's dataset; of a published one it is worked out once."""
    return _dataset_digest(task) if task.user_dataset is None else _dataset_digest.__wrapped__(task)


@functools.lru_cache(maxsize=256)  # not of the user's own datasets, whose pixels it would keep in memory
def _dataset_digest(task: protocol.Task) -> tuple[str, Digests]:
    dataset = task.load()
    return dataset.version, Digests(**dataset.digest()._asdict())


def check_part(task: protocol.Task, tier: str, hyperparameters: Settings, what: str) -> None:
    """Refuse, in the tier ``held_out``, a run that says of itself that it was trained on what a rule holds out.

    Only what is recorded is known. ``split`` is the part that was trained on. Our own runs leave it out where they were
    trained on all parts, and record ``train_share``. A run that records neither is taken at its word.
    """
    if tier != "held_out":
        return
    if not task.is_divided:
        raise InvalidInput(
            f"tier held_out of {task.dataset}: expected a dataset that a split rule divides, such as "
            "dsprites/composition, received one whose held-out rows are drawn from all. Score in another tier, or "
            "train on the part train of a split: offaxis data info NAME --splits."
        )
    if "start_weights" in hyperparameters:
        raise InvalidInput(
            f"{what}: hyperparameters.start_weights: expected a run with weights of its own in the tier held_out, "
            "received one that starts from another's, which may have seen the held-out rows."
        )
    part = hyperparameters.get("split", "" if "train_share" in hyperparameters else "train")
    if part != "train":
        received = repr(part) if part else "none with a train_share, so that it is the share of all rows"
        raise InvalidInput(
            f"{what}: hyperparameters.split: expected 'train' in the tier held_out: that only this part of "
            f"{task.dataset} was trained on, received {received}. Rows that were trained on are not held out. Train on "
            "the part train, or score in another tier."
        )


def unknown_claims(claimed: Mapping[str, float], tiers: Iterable[str], what: str) -> Iterator[UnknownName]:
    """Find claims of scores that no tier of some computes, which would be compared with nothing.

    Example:
        >>> claimed = {"mig": 0.1, "r_squared": 0.5}
        >>> [len(list(unknown_claims(claimed, tiers, "claimed"))) for tiers in (["smoke"], ["smoke", "held_out"])]
        [1, 0]
    """
    known_keys = {key: None for tier in tiers for key in measure.keys(tier)} if claimed else {}
    for key in sorted(claimed.keys() - known_keys.keys()):
        yield UnknownName(what, key, known_keys)


class Group(NamedTuple):
    """Runs of one method on one task, which become one result.

    Attributes:
        planned: the result, without scores, for checks before anything is scored.
        candidates: the runs, by seed.
    """

    planned: Result
    candidates: tuple[Candidate, ...]


def grouped(candidates: Iterable[Candidate], tier: str, *, status: Status = "recomputed") -> list[Group]:
    """Group runs by the result that they belong to, and refuse what cannot be scored together.

    Args:
        candidates: the runs.
        tier: of the protocol.
        status: ``"recomputed"`` from codes that someone handed in, or ``"reproduced"`` by training here.

    Returns:
        The groups, by task and method.

    Raises:
        InvalidInput: no runs; the same seed twice; the same codes for two seeds; settings that differ between the seeds
            of a method; or what ``check_part`` refuses.
        UnknownName: there is no such tier.
    """
    protocol.tier(tier)
    by_method: dict[tuple[str, str], dict[int, Candidate]] = {}
    for candidate in candidates:
        by_seed = by_method.setdefault((candidate.task.id, candidate.record.method), {})
        if candidate.record.seed in by_seed:
            raise InvalidInput(
                f"{candidate.where}: seed: expected another seed of {candidate.record.method} on "
                f"{candidate.record.dataset} than {candidate.record.seed}, received the same as in "
                f"{by_seed[candidate.record.seed].where}. Give one folder for each seed, and "
                "score another setting by itself, under a name of its own: --method."
            )
        check_part(candidate.task, tier, candidate.record.hyperparameters, str(Path(candidate.where) / record.FILE))
        by_seed[candidate.record.seed] = candidate
    if not by_method:
        raise InvalidInput("runs: expected at least one, received none.")
    groups = []
    for (task, method), by_seed in sorted(by_method.items()):
        group = tuple(by_seed[seed] for seed in sorted(by_seed))
        for problem in repeated_codes(group):
            raise problem
        runs = [_unscored_run(candidate, tier, status) for candidate in group]
        groups.append(Group(results.result(task, method, runs, about=group[-1].about), group))
    return groups


def repeated_codes(group: Sequence[Candidate]) -> Iterator[InvalidInput]:
    """Find codes that are those of another seed of the group (not stored ones), up to order, sign, scale of latents."""
    for number, candidate in enumerate(group):
        for earlier in group[:number]:
            equal = candidate.digest == earlier.digest
            # A reference that nothing is trained for, such as PCA, may give the same latents in another order.
            if equal or (
                candidate.record.supervision != "reference" and copies.same_training(candidate.ranked, earlier.ranked)
            ):
                yield InvalidInput(
                    f"{candidate.where}: expected codes of a training of its own for each seed, received "
                    f"{'' if equal else 'up to order, sign and scale of latents '}the same codes as in "
                    f"{earlier.where}. Train with another seed, or leave this one out."
                )
                break


def score(candidate: Candidate, tier: str, *, status: Status = "recomputed") -> Scored:
    """Score a run.

    Args:
        candidate: the run.
        tier: of the protocol.
        status: as in ``grouped``.

    Returns:
        Its record with the scores. It is not verified; see ``verified``.

    Raises:
        InvalidInput: a metric cannot work on these codes, or a score is out of its range.
        UnknownName: there is no such tier.
    """
    run_record, task = candidate.record, candidate.task
    measurements = protocol.tier(tier).measurements
    measured = measure.score_codes(candidate.codes, task.labels(), measurements, train=len(task.train))
    scored_fields = {
        "scores": measured.scores,
        "parts": measured.parts,
        "samples": {m.metric: sample(m, task) for m in measurements},
        "claimed": {key: claim for key, claim in run_record.claimed.items() if key in measured.scores},
    }
    try:
        return Scored(**(vars(_unscored_run(candidate, tier, status)) | scored_fields))
    except pydantic.ValidationError as error:
        where = f"scores of {run_record.method} on {run_record.dataset}, seed {run_record.seed}"
        raise to_errors(error, where, Scored)[0] from error


def verified(candidate: Candidate, run: Scored, seed: str) -> tuple[Scored, str]:
    """Verify the scores of a run by its encoder, on fresh rows that a text draws.

    The text must be made when the encoder could not be changed any more. Returns the scores with how they were
    verified, and no text; or as they were, marked where the encoder gives others, and why they are not verified.
    """
    if candidate.encoder is None:
        return run, ""
    tier = protocol.tier(run.tier)
    try:
        outcome = verification.verify(candidate.encoder, candidate.submitted_codes, candidate.task, tier, seed=seed)
    except verification.Disagreement as error:
        return run.model_copy(update={"marks": (*run.marks, results.DISAGREES)}), f"not verified: {error}"
    except OffaxisError as error:
        return run, f"not verified: {error}"
    return run.model_copy(update={"verification": outcome, "marks": ()}), ""


def score_group(group: Group, fresh: str = "") -> tuple[Result, list[str]]:
    """Score the runs of a group, and verify those that have an encoder if there is a text to draw fresh rows by.

    Returns the result, and why runs that have an encoder were not verified.
    """
    runs, notes = [], []
    for candidate, planned in zip(group.candidates, group.planned.runs, strict=True):
        run = score(candidate, planned.tier, status=planned.status)
        if fresh:
            run, note = verified(candidate, run, fresh)
            notes += [note] if note else []
        runs.append(run)
    return group.planned.of_runs(runs), notes


def sample(measurement: protocol.Measurement, task: protocol.Task) -> results.Sample:
    """Describe on how much of a task a metric is computed: the number of rows, and the metric's arguments."""
    return results.Sample(
        train=min(measurement.train, len(task.train)),
        test=min(measurement.test, len(task.test)),
        arguments=dict(measurement.arguments),
    )


def _unscored_run(candidate: Candidate, tier: str, status: Status) -> Scored:
    """Describe a run before it is scored."""
    record_fields = {name: getattr(candidate.record, name) for name in RunRecord.model_fields}
    return Scored.model_construct(
        **record_fields,
        tier=tier,
        status=status,
        scores={},
        samples={},
        date=datetime.datetime.now(datetime.UTC).date(),
        rows_digest=candidate.task.digest,
        codes_digest=candidate.digest,
        latents=candidate.codes.shape[1],
        units=units.version(candidate.submitted_codes),
        scored_with=measure.versions(),
    )
