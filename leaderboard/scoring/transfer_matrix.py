"""Accuracies for the transfer matrix, from codes of a target; `leaderboard.store.transfers` keeps them. Internal."""

from __future__ import annotations

import datetime
import functools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmark_data.errors import InvalidInput
from leaderboard import protocol, record, schema
from leaderboard.analyses import transfer_accuracy
from leaderboard.metrics.downstream import Classifier
from leaderboard.record import Budget
from leaderboard.schema import pydantic
from leaderboard.scoring import candidates
from leaderboard.scoring.measure import versions
from leaderboard.store import transfers
from leaderboard.store.transfers import Accuracy, Seed, Transfer


class Encoded(NamedTuple):
    """Codes of a target by one encoder.

    Attributes:
        method: of the training, or the reference.
        source: what it was trained on, or ``"none"``.
        seed: of the training.
        codes: float32, shape (rows of the target's task, L).
        title: the method's name as it is printed.
        budget: what training cost, where it is known.
    """

    method: str
    source: str
    seed: int
    codes: NDArray[np.float32]
    title: str = ""
    budget: Budget | None = None


def of_run(folder: str | os.PathLike[str], codes: str | os.PathLike[str] = "", target: str = "") -> Encoded:
    """Read what a run's encoder makes of a target.

    Args:
        folder: the run folder.
        codes: an npz file with its codes of the target's rows; the run's own codes where not given.
        target: the dataset whose rows were encoded; the run's own where not given.

    Returns:
        The codes, and what is known of their encoder. A random encoder was trained on nothing.

    Raises:
        DamagedFile: see ``candidates.load`` and ``candidates.read_codes``.
        InvalidInput: see there; or the run is on another dataset than the target, and no codes of the target are given.
        UnknownName: there is no such dataset.
    """
    run = record.read(Path(folder))
    target = protocol.task(target).dataset if target else run.dataset
    if not codes and run.dataset != target:
        raise InvalidInput(
            f"{folder}: expected a run on {target}, or its codes of that, received one on {run.dataset}. Encode them "
            f"(offaxis train encode RUN --dataset {target} --into FILE), and give RUN=FILE."
        )
    found = candidates.read_codes(codes, protocol.task(target)) if codes else candidates.load(folder).codes
    source = transfers.NO_SOURCE if run.method == "random_encoder" else run.dataset
    budget = run.budget if run.budget.steps else None
    return Encoded(run.method, source, run.seed, found, run.about.title or run.method, budget)


def measure(
    target: str,
    encoded: Iterable[Encoded],
    *,
    classifiers: Sequence[Classifier] = transfer_accuracy.CLASSIFIERS,
    progress: Callable[[str], None] = lambda what: None,
) -> Iterator[Transfer]:
    """Measure accuracies on a target.

    Args:
        target: the dataset whose labels are read.
        encoded: codes of its task's rows.
        classifiers: of ``"gbt"`` and ``"logistic"``.
        progress: is told what is being fitted, before it is.

    Yields:
        One result for each method and source, as soon as it is measured. Nothing is written.

    Raises:
        InvalidInput: no codes, the same seed twice, a malformed name, or a label that has one value.
        UnknownName: there is no such dataset.
    """
    task = protocol.task(target)
    test = transfer_accuracy.held_out(task.indices, len(task.load()))
    labels = task.labels()
    version, digest = candidates.dataset_digest(task.dataset)
    grouped: dict[tuple[str, str], list[Encoded]] = {}
    for one in encoded:
        seeds = grouped.setdefault((one.method, one.source), [])
        if one.seed in [other.seed for other in seeds]:
            raise InvalidInput(f"seeds of {one.method} of {one.source}: expected each once, received {one.seed} twice.")
        seeds.append(one)
    if not grouped:
        raise InvalidInput("codes: expected those of at least one encoder, received none.")
    for (method, source), seeds in sorted(grouped.items()):
        runs = []
        for one in sorted(seeds, key=lambda one: one.seed):
            told = functools.partial(_tell, progress, one)
            table = transfer_accuracy.measure(
                {source: one.codes}, labels, task.scored, classifiers=classifiers, test=test, progress=told
            )
            runs.append(_seed(one, table.to_dict("records")))
        try:
            yield Transfer(
                schema=1,
                protocol=task.version,
                target=task.dataset,
                source=source,
                method=method,
                title=seeds[0].title,
                dataset_version=version,
                dataset_digest=digest,
                rows_digest=task.digest,
                train=int((~test).sum()),
                test=int(test.sum()),
                runs=tuple(runs),
            )
        except pydantic.ValidationError as error:
            raise schema.problems(error, f"transfer to {target}", Transfer)[0] from error


def _seed(one: Encoded, rows: Iterable[Mapping[Any, Any]]) -> Seed:
    return Seed(
        seed=one.seed,
        budget=one.budget,
        codes_digest=candidates.codes_digest(one.codes),
        date=datetime.datetime.now(datetime.UTC).date(),
        scored_with=versions(),
        accuracies=tuple(
            Accuracy(
                classifier=row["classifier"], label=row["label"], train=float(row["train"]), test=float(row["test"])
            )
            for row in rows
        ),
    )


def _tell(progress: Callable[[str], None], one: Encoded, what: str) -> None:
    progress(f"{what.partition(' ')[0]} on {one.method} of {one.source}, seed {one.seed}")
