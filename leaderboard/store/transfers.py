"""The published transfer matrix: accuracies that classifiers reach on codes of a target dataset, by encoder and label.

Bonheme and Grzes, "How good are variational autoencoders at transfer learning?" (2023, arXiv 2304.10767), table 1 and
appendix A, as `leaderboard.analyses.transfer_accuracy` measures them. One file for each target, method and dataset that
the encoder was trained on: ``<root>/transfer/v1/<target>/<config>/<method>.<source>.json``. These are accuracies, not
the scores of a task: nothing is ranked by them.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal

from benchmark_data.errors import DamagedFile, InvalidInput
from benchmark_data.files import write_json
from leaderboard import protocol, schema
from leaderboard.record import Budget, Digests
from leaderboard.schema import Field, Line, Model, Name, Sha256, Versions, pydantic
from leaderboard.store import results_tree

NO_SOURCE = "none"
"""The source of an encoder that was not trained, such as a random one."""


Source = Annotated[str, Field(pattern=f"{schema.DATASET}$|^{NO_SOURCE}$")]


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
    target: Annotated[str, Field(pattern=schema.DATASET + "$")]
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
        """Return the mean accuracy on held-out rows over seeds; None where it was not measured."""
        found = [a.test for run in self.runs for a in run.accuracies if (a.classifier, a.label) == (classifier, label)]
        return sum(found) / len(found) if found else None


def path(root: str | os.PathLike[str], found: Transfer) -> Path:
    """Return the place of a file: ``<root>/transfer/<version>/<target>[/<config>]/<method>.<source>.json``."""
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
        one = schema.validated(Transfer, schema.content(file), str(file))
        if path(root, one) != file:
            raise DamagedFile(f"{file}: expected the path {path(root, one)}, as it says, received {file}.")
        found.append(one)
    return sorted(found, key=lambda one: (protocol.natural(one.target), one.method, protocol.natural(one.source)))


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
        with results_tree.locked(Path(root)):
            file = path(root, new)
            if file.exists():
                new = _merged(schema.validated(Transfer, schema.content(file), str(file)), new)
            write_json(file, new.model_dump(mode="json", by_alias=True))
            written.append(file)
    return written


def _merged(old: Transfer, new: Transfer) -> Transfer:
    """Put the seeds of two results together."""
    if (old.rows_digest, old.dataset_digest) != (new.rows_digest, new.dataset_digest):
        raise InvalidInput(
            f"{new.method} of {new.source} on {new.target}: expected accuracies on the rows that are on the board, "
            "received accuracies on other rows or pixels."
        )
    runs = {run.seed: run for run in (*old.runs, *new.runs)}
    content = new.model_dump(by_alias=True) | {"runs": [runs[seed].model_dump() for seed in sorted(runs)]}
    return schema.validated(Transfer, pydantic.TypeAdapter(dict).dump_json(content), f"{new.method} on {new.target}")
