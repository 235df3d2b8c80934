"""The published transfer matrix: accuracies that classifiers reach on codes of a target dataset, by encoder and label.

Bonheme and Grzes, "How good are variational autoencoders at transfer learning?" (2023, arXiv 2304.10767), table 1 and
appendix A, as `leaderboard.analyses.transfer_accuracy` measures them. One file for each target, method and dataset that
the encoder was trained on: ``<root>/transfer/v1/<target>/<config>/<method>.<source>.json``. These are accuracies, not the
scores of a task: nothing is ranked by them.
"""

from __future__ import annotations

import csv
import dataclasses
import datetime
import functools
import io
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmark_data.errors import DamagedFile, InvalidInput
from benchmark_data.files import write_json
from leaderboard import protocol
from leaderboard.analyses import transfer_accuracy
from leaderboard.metrics.downstream import Classifier
from leaderboard.report import ranking
from leaderboard.scoring import evaluate
from leaderboard.store import results
from leaderboard.store.results import Budget, Digests, Field, Line, Model, Name, Sha256, Versions, pydantic

NO_SOURCE = "none"
"""The source of an encoder that was not trained, such as a random one."""

Source = Annotated[str, Field(pattern=f"{results.DATASET}$|^{NO_SOURCE}$")]


class Accuracy(Model):
    """What one classifier reaches on one label.

    Attributes:
        classifier: ``"gbt"`` or ``"logistic"``; ``"constant"`` always says the most frequent class.
        label: factor of the target.
        train: accuracy on the rows it was fitted to.
        test: on held-out rows.
    """

    classifier: Literal["gbt", "logistic", "constant"]
    label: Line
    train: float = Field(ge=0, le=1)
    test: float = Field(ge=0, le=1)


class Seed(Model):
    """One encoder.

    Attributes:
        seed: of the training.
        budget: what training cost; None for an encoder of which nothing is known.
        codes_digest: SHA-256 of the codes as little-endian float32.
        date: of the evaluation, UTC.
        scored_with: package -> version.
        accuracies: by classifier and label.
    """

    seed: int = Field(ge=0, lt=2**63)
    budget: Budget | None
    codes_digest: Sha256
    date: datetime.date
    scored_with: Versions
    accuracies: tuple[Accuracy, ...] = Field(min_length=1)


class Transfer(Model):
    """One method, trained on one dataset, on one target.

    Attributes:
        schema_version: of this layout; written as ``schema``.
        protocol: version of the target's task, whose rows are encoded.
        target: full name of the dataset whose labels are read.
        source: full name of the dataset that the encoders were trained on, or ``"none"``.
        method: of the training, or the reference.
        title: the method's name as it is printed.
        dataset_version: of the target.
        dataset_digest: quick digest of the target.
        rows_digest: of the rows that were encoded.
        train: how many of them the classifiers were fitted to.
        test: how many were held out.
        runs: the encoders, by seed.
    """

    schema_version: Literal[1] = Field(default=1, alias="schema")
    protocol: Annotated[str, Field(pattern=r"^v[0-9]+$")]
    target: Annotated[str, Field(pattern=results.DATASET + "$")]
    source: Source
    method: Name
    title: Line = ""
    dataset_version: Annotated[str, Field(pattern=r"^\d+\.\d+\.\d+$")]
    dataset_digest: Digests
    rows_digest: Sha256
    train: int = Field(gt=0)
    test: int = Field(gt=0)
    runs: tuple[Seed, ...] = Field(min_length=1)

    @pydantic.model_validator(mode="after")
    def _consistent(self) -> Transfer:
        seeds = [run.seed for run in self.runs]
        kinds = {frozenset((a.classifier, a.label) for a in run.accuracies) for run in self.runs}
        if seeds != sorted(set(seeds)) or len(kinds) != 1 or len(next(iter(kinds))) != len(self.runs[0].accuracies):
            raise ValueError("each seed once, in order, and each classifier and label once for every seed")
        return self

    def mean(self, classifier: str, label: str) -> float | None:
        """Give the mean accuracy on held-out rows over seeds; None where it was not measured."""
        found = [a.test for run in self.runs for a in run.accuracies if (a.classifier, a.label) == (classifier, label)]
        return sum(found) / len(found) if found else None


def path(root: str | os.PathLike[str], found: Transfer) -> Path:
    """Give the place of a file: ``<root>/transfer/<version>/<target>[/<config>]/<method>.<source>.json``."""
    name = f"{found.method}.{found.source.replace('/', '-')}.json"
    return Path(root, "transfer", found.protocol, *found.target.split("/"), name)


def read_all(root: str | os.PathLike[str]) -> list[Transfer]:
    """Read the transfer matrix of a results tree.

    Args:
        root: the results tree.

    Returns:
        By target, method and source; nothing where the tree has none.

    Raises:
        DamagedFile: a file breaks the schema, or bears another name than its content says.
    """
    found = []
    for file in sorted(Path(root, "transfer").rglob("*.json")):
        one = results.validated(Transfer, results.content(file), str(file))
        if path(root, one) != file:
            raise DamagedFile(str(file), expected=f"the path {path(root, one)}, as it says", received=str(file))
        found.append(one)
    return sorted(found, key=lambda one: (ranking.natural(one.target), one.method, ranking.natural(one.source)))


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
        DamagedFile: see ``evaluate.read_run`` and ``evaluate.read_codes``.
        InvalidInput: see there; or the run is on another dataset than the target, and no codes of the target are given.
        UnknownName: there is no such dataset.
    """
    run = evaluate.read_record(Path(folder))
    target = protocol.task(target).dataset if target else run.dataset
    if not codes and run.dataset != target:
        raise InvalidInput(
            str(folder),
            expected=f"a run on {target}, or its codes of that",
            received=f"one on {run.dataset}",
            remedy=f"Encode them (offaxis-train encode RUN --dataset {target} --into FILE), and give RUN=FILE.",
        )
    found = evaluate.read_codes(codes, protocol.task(target)) if codes else evaluate.read_run(folder)[1]
    source = NO_SOURCE if run.method == "random_encoder" else run.dataset
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
    version, digest = evaluate.dataset_digest(task.dataset)
    grouped: dict[tuple[str, str], list[Encoded]] = {}
    for one in encoded:
        seeds = grouped.setdefault((one.method, one.source), [])
        if one.seed in [other.seed for other in seeds]:
            raise InvalidInput(
                f"seeds of {one.method} of {one.source}", expected="each once", received=f"{one.seed} twice"
            )
        seeds.append(one)
    if not grouped:
        raise InvalidInput("codes", expected="those of at least one encoder", received="none")
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
            raise results.problems(error, f"transfer to {target}", Transfer)[0] from error


def _seed(one: Encoded, rows: Iterable[Mapping[Any, Any]]) -> Seed:
    return Seed(
        seed=one.seed,
        budget=one.budget,
        codes_digest=evaluate.codes_digest(one.codes),
        date=datetime.datetime.now(datetime.UTC).date(),
        scored_with=evaluate.versions(),
        accuracies=tuple(
            Accuracy(
                classifier=row["classifier"], label=row["label"], train=float(row["train"]), test=float(row["test"])
            )
            for row in rows
        ),
    )


def _tell(progress: Callable[[str], None], one: Encoded, what: str) -> None:
    progress(f"{what.partition(' ')[0]} on {one.method} of {one.source}, seed {one.seed}")


def write(root: str | os.PathLike[str], found: Iterable[Transfer]) -> list[Path]:
    """Write results into a tree; seeds join those that are there, and the same seed is replaced.

    Args:
        root: the results tree. It is made where it is missing.
        found: what to write. Each is written before the next one is taken.

    Returns:
        The files.

    Raises:
        InvalidInput: what is there was measured on other rows, or the folder cannot be written.
        DamagedFile: a file that is there cannot be read.
    """
    written = []
    for new in found:
        with results.locked(Path(root)):
            file = path(root, new)
            if file.exists():
                new = _merged(results.validated(Transfer, results.content(file), str(file)), new)
            write_json(file, new.model_dump(mode="json", by_alias=True))
            written.append(file)
    return written


def _merged(old: Transfer, new: Transfer) -> Transfer:
    """Put the seeds of two results together."""
    if (old.rows_digest, old.dataset_digest) != (new.rows_digest, new.dataset_digest):
        raise InvalidInput(
            f"{new.method} of {new.source} on {new.target}",
            expected="accuracies on the rows that are on the board",
            received="accuracies on other rows or pixels",
        )
    runs = {run.seed: run for run in (*old.runs, *new.runs)}
    content = new.model_dump(by_alias=True) | {"runs": [runs[seed].model_dump() for seed in sorted(runs)]}
    return results.validated(Transfer, pydantic.TypeAdapter(dict).dump_json(content), f"{new.method} on {new.target}")


@dataclasses.dataclass(frozen=True)
class Encoder:
    """One encoder in the matrix: source, method, and its accuracies in the order of the columns."""

    source: str
    method: str
    title: str
    seeds: int
    cells: tuple[float | None, ...]


@dataclasses.dataclass(frozen=True)
class Matrix:
    """Accuracies of a classifier: an encoder in a row, a label of a target in a column.

    Attributes:
        classifier: such as ``"gbt"``.
        title: the same in words.
        targets: (target, its columns), in order: its labels, and the average before them where there are several.
        lines: the encoders; the most frequent class comes last.
    """

    classifier: str
    title: str
    targets: tuple[tuple[str, tuple[str, ...]], ...]
    lines: tuple[Encoder, ...]


def matrices(found: Sequence[Transfer]) -> list[Matrix]:
    """Lay the transfer matrix out: for each classifier, sources against targets and their labels.

    Args:
        found: as from ``read_all``.

    Returns:
        One matrix for each classifier that was used.
    """
    labels: dict[str, dict[str, None]] = {}
    for one in found:
        labels.setdefault(one.target, {}).update(dict.fromkeys(a.label for a in one.runs[0].accuracies))
    targets = tuple((target, (*(["average"] if len(of) > 1 else []), *of)) for target, of in labels.items())
    titles = {one.method: one.title for one in found if one.title}  # codes that came without a run have none
    encoders = {(one.source, one.method): titles.get(one.method, one.method) for one in found}
    order = sorted(encoders, key=lambda key: (key[0] == NO_SOURCE, ranking.natural(key[0]), key[1]))
    used = {a.classifier for one in found for a in one.runs[0].accuracies}
    made = []
    for classifier in [c for c in transfer_accuracy.CLASSIFIERS if c in used]:
        lines = []
        for source, method in order:
            here = {one.target: one for one in found if (one.source, one.method) == (source, method)}
            cells = [_cells(here.get(target), classifier, of) for target, of in labels.items()]
            seeds = max(len(one.runs) for one in here.values())
            lines.append(Encoder(source, method, encoders[source, method], seeds, tuple(c for of in cells for c in of)))
        floor = [
            _cells(next(one for one in found if one.target == target), "constant", of) for target, of in labels.items()
        ]
        lines.append(Encoder("", "", transfer_accuracy.MAJORITY, 0, tuple(c for of in floor for c in of)))
        made.append(Matrix(classifier, transfer_accuracy.TITLES[classifier].capitalize(), targets, tuple(lines)))
    return made


def _cells(found: Transfer | None, classifier: str, labels: Collection[str]) -> list[float | None]:
    """Give the value of each label, and the average before them where there are several."""
    each = [found.mean(classifier, label) if found else None for label in labels]
    known = [value for value in each if value is not None]
    average = [sum(known) / len(known) if known else None] if len(labels) > 1 else []
    return [*average, *each]


def caption(found: Sequence[Transfer]) -> str:
    """Say on how many rows accuracies were measured and what training cost.

    Args:
        found: as from ``read_all``.

    Returns:
        One or two sentences.
    """
    sizes = sorted({f"{one.target} {one.train:,} and {one.test:,}" for one in found})
    budgets = [run.budget for one in found for run in one.runs if run.budget]
    cost = f" Training: {ranking.spent(budgets)}." if budgets else " Nothing is known of what training cost."
    return f"Rows to fit to and held out: {'; '.join(sizes)}.{cost}"


def comma_separated(found: Sequence[Transfer]) -> str:
    """Render accuracies as CSV, one to a line.

    Args:
        found: as from ``read_all``.

    Returns:
        CSV with a header.
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(("target", "source", "method", "seed", "classifier", "label", "train", "test"))
    for one in found:
        for run in one.runs:
            for a in run.accuracies:
                where = (one.target, one.source, one.method, run.seed, a.classifier, a.label)
                writer.writerow((*where, f"{a.train:.6f}", f"{a.test:.6f}"))
    return stream.getvalue()
