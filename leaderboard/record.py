"""The record of a training run: one set of fields for run folders, submissions and result files.

`RunRecord` holds what is known of a run before it is scored. ``run.json`` of a run folder is one, with ``about`` the
method (`RunFile`). ``submission.json`` gives the same fields once for the method, the dataset and each seed.
`leaderboard.store.results.Scored` extends it by the scores.

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
"""Names of the project's reference rows (`baselines.untrained`), which nothing else may bear."""

Supervision: TypeAlias = Literal["unsupervised", "weakly_supervised", "supervised", "pretrained", "reference"]
"""What a method may see."""

Scores = Annotated[dict[Line, float], Field(max_length=200)]


class Digests(Model):
    """A dataset's quick digest: SHA-256 of the decoded pixels and of the class ids of 1,024 fixed rows."""

    pixels: Sha256
    factors: Sha256


class Budget(Model):
    """What training cost; all 0 for an encoder that was not trained here: untrained, hand-made or pretrained.

    The bounds are what no training reaches: 10^10 seconds are 300 years.

    Attributes:
        steps: parameter updates.
        images: images seen, repeats counted; 0 where nobody counted.
        seconds: wall-clock time; 0 where nobody measured it.
        device: what it ran on.
    """

    steps: int = Field(ge=0, le=10**12)
    images: int = Field(ge=0, le=10**15)
    seconds: float = Field(ge=0, le=1e10)
    device: Line


class About(Model):
    """What a reader wants to know of a method. All of it may be empty.

    Attributes:
        title: the name as it is printed, such as ``β-VAE``.
        description: one paragraph.
        authors: who proposed it.
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
    """What all seeds of a method have in common.

    Attributes:
        method: lower-case name; it becomes the name of files and pages.
        supervision: what the method saw in training.
        selection: how this model was chosen among others, such as ``UDR over 6 betas``; ``none`` where it was not.
        hyperparameters: what distinguishes this method from its siblings.
        versions: package -> version, when training.
    """

    method: Name
    supervision: Supervision
    selection: Annotated[Line, Field(min_length=1)]
    hyperparameters: Settings
    versions: Versions


class DatasetFields(Model):
    """What the codes were made from.

    Attributes:
        dataset_version: of the data.
        dataset_digest: its quick digest.
    """

    dataset_version: Annotated[str, Field(pattern=r"^\d+\.\d+\.\d+$")]
    dataset_digest: Digests


class SeedFields(Model):
    """One training.

    Attributes:
        seed: of the training.
        budget: what it cost.
        claimed: score -> what the authors measured, if they did. It is shown with ours, and never ranked.
    """

    seed: int = Field(ge=0, lt=2**63)
    budget: Budget
    claimed: dict[Line, Annotated[float, Field(ge=-1e6, le=1e6)]] = Field(default_factory=dict, max_length=200)


class RunRecord(MethodFields, DatasetFields, SeedFields):
    """All that is known of a run before it is scored.

    Attributes:
        dataset: full name of the dataset that it was trained on, such as ``xysquares/spacing_4``.
    """

    dataset: Line


class RunFile(RunRecord):
    """What ``run.json`` holds. Keys that are not listed are left alone.

    Attributes:
        schema_version: 1; written as ``schema``.
        about: what a reader wants to know of the method.
        computed: on which device, with which backend and code the last steps were taken.
        computed_before: the same of earlier steps.
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
    """Write the record of a run folder: plain values, with more keys for programs that know them.

    Raises:
        InvalidInput: they are no record that ``read`` takes, or the file cannot be written.
    """
    parsed = schema.parse(RunFile, json.dumps({"schema": 1, **facts}), str(folder / FILE))
    if isinstance(parsed, list):
        raise parsed[0]
    write_json(folder / FILE, {"schema": 1, **facts})
