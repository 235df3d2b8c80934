"""Candidates: read, check and score the codes of runs.

A run folder holds ``run.json`` (`leaderboard.record`) and ``codes.npz``: ``indices`` int64 (n,), the rows of the task
in its order, and ``codes`` float (n, L), one row of latents for each. ``encoder.onnx``, needed for verification only,
is their encoder. Reading a folder runs and unpickles nothing.
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
from leaderboard.store import results, results_tree
from leaderboard.store.results import Result, Scored, Status

__all__ = ["Candidate", "load", "read_codes", "score"]

MAX_LATENTS = 2048
"""The most latents that codes may have."""


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
        """The ranks of the latents, to find copies."""
        return copies.latent_ranks(self.codes)

    def renamed(self, method: str) -> Candidate:
        """Return the run with another method name, which is also its title; itself if the name is empty.

        Raises:
            InvalidInput: the name is that of an untrained baseline, or differs from it only in underscores.
        """
        if method in ("", self.record.method):
            return self
        known = self.record.model_copy(update={"method": method})
        _check_method_name(known, self.where)
        return dataclasses.replace(self, record=known, about=self.about.model_copy(update={"title": method}))


def load(folder: str | os.PathLike[str]) -> Candidate:
    """Read a run folder and check it against its task.

    Args:
        folder: the run folder.

    Returns:
        The run, with its codes.

    Raises:
        DamagedFile: the folder lacks a file, or a file does not hold what it should.
        InvalidInput: codes of other rows, of another dataset or not finite; a run on the user's images; the name of an
            untrained baseline; or an implausible budget.
        UnknownName: the dataset is unknown, or no tier computes a claimed score.

    Warns:
        SameCodes: see `leaderboard.doubts.warn_if_same`.
    """
    folder = Path(folder)
    run_file, file = record.read(folder), str(folder / record.FILE)
    if representations.is_on_own_images(folder):
        raise InvalidInput(
            f"{folder}: expected a run on a dataset of the board, received one on your own pictures, "
            f"{run_file.dataset!r}. To score it by metrics of your choice: offaxis board score "
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
    """Read the codes of a run with a given record, and find its encoder. Raises and warns like ``read_codes``."""
    scored, submitted = read_codes(codes, task)
    return Candidate(str(codes.parent), known, about, scored, submitted, encoder if os.path.lexists(encoder) else None)


def read_codes(file: str | os.PathLike[str], task: protocol.Task) -> tuple[NDArray[np.float32], NDArray[Any]]:
    """Read codes and check that they are those of a task's rows.

    Args:
        file: an npz file with ``indices`` and ``codes``, (n, L), or (n, L, d) for units of d numbers.
        task: the task.

    Returns:
        float32, shape (rows of the task, L), all finite, units reduced by ``leaderboard.reading.units.reduce``; and
        the codes as in the file.

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
            else "Encode the rows of `leaderboard.protocol.task(...).indices`, in that order."
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
    """Refuse the name of an untrained baseline, and names that differ from it only in underscores."""
    for name in record.REFERENCES:
        collides = known.method.replace("_", "") == name.replace("_", "")
        if collides and (known.method != name or known.supervision != "reference"):
            raise InvalidInput(
                f"{what}: method: expected another name than that of a reference, received "
                f"{known.method!r}{f', which differs from {name!r} only in underscores' * (known.method != name)}. "
                "Rename the method."
            )


def implausible_budget(budget: record.Budget, what: str) -> Iterator[InvalidInput]:
    """Find a budget of fewer images than steps, since each step uses one or more; 0 images means not counted.

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
    """Refuse codes of another version of a dataset, or of other pixels or factors, than are here."""
    local_version, local_digest = dataset_digest(task)
    for field, received, expected in (
        ("dataset_version", version, local_version),
        ("dataset_digest.pixels", digest.pixels, local_digest.pixels),
        ("dataset_digest.factors", digest.factors, local_digest.factors),
    ):
        if received != expected:
            raise InvalidInput(
                f"{what}: {field}: expected {expected}, as in the installed {task.dataset}, received {received}. The "
                "codes were made from other data. Encode again with this version of the dataset."
            )


def dataset_digest(task: protocol.Task) -> tuple[str, Digests]:
    """Return the version and the quick digest of a task's dataset, cached for published ones."""
    return _dataset_digest(task) if task.user_dataset is None else _dataset_digest.__wrapped__(task)


@functools.lru_cache(maxsize=256)  # not of the user's own datasets, whose pixels it would keep in memory
def _dataset_digest(task: protocol.Task) -> tuple[str, Digests]:
    dataset = task.load()
    return dataset.version, Digests(**dataset.digest()._asdict())


def check_part(task: protocol.Task, tier: str, hyperparameters: Settings, what: str) -> None:
    """Refuse, in the tier ``held_out``, a run that was trained on held-out rows according to its hyperparameters.

    ``split`` is the part that it was trained on. Runs of this project trained on all parts record ``train_share`` and
    no ``split``. A run that records neither is accepted.
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
            f"{what}: hyperparameters.start_weights: expected a run with random initial weights in the tier held_out, "
            "received one that starts from the weights of another run, which may have seen the held-out rows. Score "
            "in another tier."
        )
    part = hyperparameters.get("split", "" if "train_share" in hyperparameters else "train")
    if part != "train":
        received = repr(part) if part else "none, with a train_share, which is a share of all rows"
        raise InvalidInput(
            f"{what}: hyperparameters.split: expected 'train' in the tier held_out: that only this part of "
            f"{task.dataset} was trained on, received {received}. Rows that were trained on are not held out. Train on "
            "the part train, or score in another tier."
        )


def unknown_claims(claimed: Mapping[str, float], tiers: Iterable[str], what: str) -> Iterator[UnknownName]:
    """Find claimed scores that none of some tiers computes, so that they cannot be checked.

    Example:
        >>> claimed = {"mig": 0.1, "r_squared": 0.5}
        >>> [len(list(unknown_claims(claimed, tiers, "claimed"))) for tiers in (["smoke"], ["smoke", "held_out"])]
        [1, 0]
    """
    known_keys = {key: None for tier in tiers for key in measure.keys(tier)} if claimed else {}
    for key in sorted(claimed.keys() - known_keys.keys()):
        yield UnknownName(what, key, known_keys)


class Group(NamedTuple):
    """The runs of one method on one task.

    Attributes:
        planned: the result, without scores, for checks before anything is scored.
        candidates: the runs, by seed.
    """

    planned: Result
    candidates: tuple[Candidate, ...]


def grouped(candidates: Iterable[Candidate], tier: str, *, status: Status = "recomputed") -> list[Group]:
    """Group runs by task and method, and refuse runs that cannot be scored together.

    Args:
        candidates: the runs.
        tier: of the protocol.
        status: ``"recomputed"`` from submitted codes, or ``"reproduced"`` by training here.

    Returns:
        The groups, by task and method.

    Raises:
        InvalidInput: no runs; the same seed twice; the same codes for two seeds; settings that differ between the seeds
            of a method; or, in the tier ``held_out``, a run that was not trained on the part ``train`` of a split.
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
                f"{by_seed[candidate.record.seed].where}. Pass one folder per seed, and score other settings "
                "separately, under another name: --method."
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
        for other in group:
            remedy = "A method has one description."
            results_tree.check_same_description(other.where, other.about, group[0].where, group[0].about, remedy)
        runs = [_unscored_run(candidate, tier, status) for candidate in group]
        groups.append(Group(results.result(task, method, runs, about=group[-1].about), group))
    return groups


def repeated_codes(group: Sequence[Candidate]) -> Iterator[InvalidInput]:
    """Find codes equal to those of another seed of the group, up to order, sign and scale of latents."""
    for number, candidate in enumerate(group):
        for earlier in group[:number]:
            equal = candidate.digest == earlier.digest
            # An untrained baseline, such as PCA, may return the same latents in another order.
            if equal or (
                candidate.record.supervision != "reference" and copies.same_training(candidate.ranked, earlier.ranked)
            ):
                yield InvalidInput(
                    f"{candidate.where}: expected codes of a separate training for each seed, received "
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
        Its record with the scores, not verified.

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


def score_by(
    metrics: str | Sequence[str] | None, candidate: Candidate, task: protocol.Task, tier: str
) -> dict[str, float]:
    """Return the scores of codes by metrics that a user chose (None: the tier's), also on a dataset of the user's."""
    tier_measurements = {measurement.metric: measurement for measurement in protocol.tier(tier).measurements}
    scores: dict[str, float] = {}
    for name, metric in measure.metrics_by_name(list(tier_measurements) if metrics is None else metrics).items():
        takes_both = measure.has_argument(metric, measure.TEST_NAMES[0])
        default = protocol.Measurement(name, test=protocol.TEST if takes_both else 0)
        if tier == "held_out" and not takes_both:  # the train rows were trained on
            default = protocol.Measurement(name, train=0, test=protocol.TEST)
        measurement = tier_measurements.get(name, default)
        arguments = {**measurement.arguments, **measure.drop_constant(metric)}
        chosen = [dataclasses.replace(measurement, arguments=arguments)]
        with measure.refusals(name, metrics):
            scores |= measure.score_codes(candidate.codes, task.labels(), chosen, train=len(task.train)).scores
    return scores


def verified(candidate: Candidate, run: Scored, seed: str) -> tuple[Scored, str]:
    """Verify the scores of a run by its encoder, on fresh rows drawn by ``seed``, chosen after the encoder is fixed.

    Returns the run with its verification, and an empty text; or unverified, marked if the encoder disagrees, and the
    reason (empty if it has no encoder).
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
    """Score the runs of a group; if ``fresh``, the seed of fresh rows, is not empty, verify those with an encoder.

    Returns the result, and the reasons why runs with an encoder were not verified.
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
    """Return the numbers of a task's rows that a metric is computed on, and its arguments."""
    return results.Sample(
        train=min(measurement.train, len(task.train)),
        test=min(measurement.test, len(task.test)),
        arguments=dict(measurement.arguments),
    )


def _unscored_run(candidate: Candidate, tier: str, status: Status) -> Scored:
    """Return the record of a run before it is scored."""
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
