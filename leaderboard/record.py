"""The record of a training run: one set of fields for run folders, submissions and result files.

`RunRecord` describes a run before it is scored. ``run.json`` of a run folder is one, with ``about`` the method
(`RunFile`). ``submission.json`` has the same fields once for the method, the dataset and each seed.
`leaderboard.store.results.Scored` adds the scores.

Internal.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from benchmark_data.files import path_in_run, write_json
from leaderboard import schema
from leaderboard.schema import Bibtex, Field, Line, Link, Model, Name, Settings, Sha256, Text, Versions, pydantic

FILE = "run.json"
"""The record's file in a run folder."""

REFERENCES = ("ground_truth", "ica", "pca", "random_encoder")
"""Names of the untrained baselines (`baselines.untrained`), which are reserved for them."""

Supervision: TypeAlias = Literal["unsupervised", "weakly_supervised", "supervised", "pretrained", "reference"]
"""What a method sees in training besides images; ``reference`` for untrained baselines."""

METHOD_FIELDS = ("supervision", "selection", "hyperparameters")
"""The fields of a record that all runs of a submission share."""

Scores = Annotated[dict[Line, float], Field(max_length=200)]


class Digests(Model):
    """A dataset's quick digest: SHA-256 of the decoded pixels and of the class ids of 1,024 fixed rows."""

    pixels: Sha256
    factors: Sha256


class Budget(Model):
    """Training cost; all 0 for an encoder that was not trained here: untrained, hand-made or pretrained.

    The upper bounds exceed any training: 10^10 seconds are 300 years.

    Attributes:
        steps: parameter updates.
        images: images seen, with repeats; 0 if not counted.
        seconds: wall-clock time; 0 if not measured.
        device: the hardware.
    """

    steps: int = Field(ge=0, le=10**12)
    images: int = Field(ge=0, le=10**15)
    seconds: float = Field(ge=0, le=1e10)
    device: Line


class About(Model):
    """Description of a method. All fields may be empty.

    Attributes:
        title: the name as printed, such as ``β-VAE``.
        description: one paragraph.
        authors: of the method.
        paper: link.
        code: link.
        license: of the code, SPDX.
        bibtex: how to cite it.
    """

    title: Line = ""
    description: Text = ""
    authors: Line = ""
    paper: Link = ""
    code: Link = ""
    license: Line = ""
    bibtex: Bibtex = ""


class MethodFields(Model):
    """Fields with one value for all seeds of a method.

    Attributes:
        method: lower-case name, also of files and pages.
        supervision: what the method saw in training besides images.
        selection: how this model was selected among others, such as ``UDR over 6 betas``; ``none`` if it was not.
        hyperparameters: what distinguishes this method from its siblings.
        versions: package -> version, when training.
    """

    method: Name
    supervision: Supervision
    selection: Annotated[Line, Field(min_length=1)]
    hyperparameters: Settings
    versions: Versions


class DatasetFields(Model):
    """The data that was encoded.

    Attributes:
        dataset_version: the dataset's version.
        dataset_digest: its quick digest.
    """

    dataset_version: Annotated[str, Field(pattern=r"^\d+\.\d+\.\d+$")]
    dataset_digest: Digests


class SeedFields(Model):
    """One training.

    Attributes:
        seed: of the training.
        budget: training cost.
        claimed: score -> value that the authors measured, if any. It is shown next to the recomputed one, never ranked.
    """

    seed: int = Field(ge=0, lt=2**63)
    budget: Budget
    claimed: dict[Line, Annotated[float, Field(ge=-1e6, le=1e6)]] = Field(default_factory=dict, max_length=200)


class RunRecord(MethodFields, DatasetFields, SeedFields):
    """The record of a run before it is scored.

    Attributes:
        dataset: full name of the dataset that it was trained on, such as ``xysquares/spacing_4``.
    """

    dataset: Line


class RunFile(RunRecord):
    """Contents of ``run.json``. Other keys are ignored.

    Attributes:
        schema_version: 1; written as ``schema``.
        about: description of the method.
        computed: device, backend and code of the last steps.
        computed_before: the same for earlier steps.
    """

    model_config = pydantic.ConfigDict(extra="ignore")

    schema_version: Literal[1] = Field(alias="schema")
    about: About = About()
    computed: dict[str, Any] = Field(default_factory=dict)
    computed_before: list[dict[str, Any]] = Field(default_factory=list)


def read(folder: Path) -> RunFile:
    """Read the record of a run folder.

    Raises:
        DamagedFile: there is no such file, or it does not hold what it should.
    """
    file = path_in_run(folder, FILE)
    return schema.parse_or_raise(RunFile, schema.read_bytes(file), str(file))


def write(folder: Path, facts: Mapping[str, Any]) -> None:
    """Write the record of a run folder: plain values, which may have more keys than `RunFile`.

    Raises:
        InvalidInput: ``read`` would refuse the record, or the file cannot be written.
    """
    parsed = schema.parse(RunFile, json.dumps({"schema": 1, **facts}), str(folder / FILE))
    if isinstance(parsed, list):
        raise parsed[0]
    write_json(folder / FILE, {"schema": 1, **facts})
