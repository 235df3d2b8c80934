"""The published data: one JSON file for each method on each task, ``<root>/v1/<dataset>/<config>/<method>.json``.

Every run in a file carries its own provenance, so that a file stays true when runs are merged into it. Tables and pages
are made from these files alone.
"""

from __future__ import annotations

import contextlib
import datetime
import difflib
import gc
import hashlib
import itertools
import math
import os
import re
import reprlib
from collections.abc import Container, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

import numpy as np
import scipy.special

from benchmark_data import discovery
from benchmark_data.errors import DamagedFile, InvalidInput, MissingExtra, OffaxisError, needs
from benchmark_data.files import RepeatedKey, bounded, exclusive, parse_json, write_json
from leaderboard import properties, protocol
from leaderboard.properties import Column
from leaderboard.store import statistics

try:
    import pydantic as pydantic  # the other modules take it from here, so that its absence is told in one place
    import pydantic_core
    from pydantic import Field as Field
except ImportError as error:  # pragma: no cover - exercised in a subprocess
    raise MissingExtra("reading results", error.name or "pydantic", "board") from error

needs("reading results", "board", "filelock")

SCHEMA: Literal[1] = 1
"""Version of the result file's layout."""

ROUNDING = 1e-5
"""A score may differ by this much from what its parts come to, which are rounded; beyond 1 and -1 by this share."""

DRIFT = 1e-3
"""A score recomputed from the same codes may differ by this much; more means that the evaluation has changed."""

DISAGREES = "encoder_disagrees"
"""The mark of a run whose encoder does not give the scores of its codes."""

LARGEST = 16 * 2**20
"""Bytes of a JSON file that is read."""

Status: TypeAlias = Literal["recomputed", "reproduced"]
"""``recomputed``: scored here from codes that were handed in. ``reproduced``: trained here, too."""

Trust: TypeAlias = Literal["claimed", "recomputed", "verified"]
"""Who computed the scores from what: ``claimed``, someone else, as papers do (`leaderboard.store.reported`);
``recomputed``, we from codes; ``verified``, and we encoded images ourselves that nobody could choose beforehand."""

VerifiedBy: TypeAlias = Literal["fresh_rows@v1", "fresh_rows@v2"]
"""Versions of the rule by which scores are verified (`leaderboard.scoring.verification`)."""

BLOCKS = 6
"""Blocks of rows whose scores are compared, of the task's rows and of fresh ones."""

ERROR = 0.001
"""How often an honest run is refused."""

REFERENCES = ("ground_truth", "pca", "random_encoder")
"""Names of the project's reference rows (`baselines.references`), which nothing else may bear."""

Supervision: TypeAlias = Literal["unsupervised", "weakly_supervised", "supervised", "reference"]
"""What a method may see."""

DATASET = r"^[a-z0-9_]+(/[a-z0-9_]+([.-][a-z0-9_]+)*)?"
"""How the full name of a dataset begins, as a regular expression. No part of it can lead out of a folder."""

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_]{0,63}$")]
Text = Annotated[str, Field(max_length=4_000, pattern=r"^([^\p{Cc}\p{Cf}]|[\n\t])*$")]
Line = Annotated[str, Field(max_length=200, pattern=r"^[^\p{Cc}\p{Cf}\u2028\u2029]*$")]
"""One line without control characters, among which are those that turn the direction of writing."""
_COMMANDS = frozenset(
    re.findall(
        r"\w+",
        """
        b c d H k L l O o r t u v i j ss ae AE oe OE aa AA dh DH dj DJ th TH ng NG textcommabelow
        emph textit textbf textsc textrm textsf texttt textsuperscript textsubscript text
        mathrm mathbf mathit mathcal mathbb mathsf ensuremath url TeX LaTeX textendash textemdash textquoteright
        textquoteleft textasciitilde textbackslash textunderscore ldots dots times cdot infty ell sim pm circ to in ast
        alpha beta gamma delta epsilon varepsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon
        phi varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega
        """,
    )
)
"""TeX commands that print something and do nothing else: accents, letters, fonts and symbols."""


def _prints_only(bibtex: str) -> str:
    """Refuse TeX commands that could read a file, write one or define something, for whoever cites the method."""
    for command in re.findall(r"\\([A-Za-z@]+)", bibtex):
        if command not in _COMMANDS:
            raise _wrong(
                "bibtex", "no TeX command but accents, letters, fonts and symbols", f"\\{command}", "Leave it out."
            )
    if "^^" in bibtex:
        raise _wrong(
            "bibtex", "characters as they are", "^^, which spells others in TeX", "Write the character itself."
        )
    return bibtex


Bibtex = Annotated[Text, pydantic.AfterValidator(_prints_only)]
"""BibTeX that prints a reference and does nothing else."""
Link = Annotated[str, Field(max_length=500, pattern=r"^(https?://[^\s\"'<>\\]+)?$")]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Scalar: TypeAlias = bool | int | float | Line | None
Settings = Annotated[dict[Line, Scalar | list[Scalar]], Field(max_length=200)]
Versions = Annotated[dict[Line, Line], Field(max_length=200)]
M = TypeVar("M", bound="Model")

Scores = Annotated[dict[Line, float], Field(max_length=200)]
Parts = dict[Line, dict[Line, tuple[float, ...] | tuple[tuple[float, ...], ...]]]


_KNOWN = object()
"""The context of a validation of what was found sound before: its numbers are not worked out once more."""


class Model(pydantic.BaseModel):
    """What every part of a file is: frozen, typed strictly, with no unknown keys and no NaN."""

    model_config = pydantic.ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Digests(Model):
    """A dataset's quick digest: SHA-256 of the decoded pixels and of the class ids of 1,024 fixed rows."""

    pixels: Sha256
    factors: Sha256


class Budget(Model):
    """What training cost.

    Attributes:
        steps: parameter updates.
        images: images seen, repeats counted.
        seconds: wall-clock time.
        device: what it ran on.
    """

    steps: int = Field(ge=0, le=2**53)
    images: int = Field(ge=0, le=2**53)
    seconds: float = Field(ge=0, le=1e12)
    device: Line


class About(Model):
    """What a reader wants to know of a method. All of it may be empty.

    Attributes:
        title: the name as it is printed, such as ``β-VAE``.
        description: one paragraph.
        authors: who proposed it.
        paper: link.
        code: link.
        license: of the code, SPDX. Files may call it ``licence``.
        bibtex: how to cite it.
    """

    title: Line = ""
    description: Text = ""
    authors: Line = ""
    paper: Link = ""
    code: Link = ""
    license: Line = Field(default="", validation_alias=pydantic.AliasChoices("license", "licence"))
    bibtex: Bibtex = ""


class Sample(Model):
    """How a metric was called: rows from the front of the task's lists, and keyword arguments.

    No train rows: it was called on the test rows alone (`leaderboard.protocol.Measurement`).
    """

    train: int = Field(ge=0)
    test: int = Field(ge=0)
    arguments: Settings


class Compared(Model):
    """One score of codes that were handed in, beside that of codes of fresh images.

    Attributes:
        codes: mean over the blocks of the task's rows.
        fresh: mean over as many blocks of fresh rows.
        margin: how far apart the two may be by chance.
    """

    codes: float
    fresh: float
    margin: float = Field(ge=0)


def quantile(scores: int, *, blocks: int = BLOCKS, error: float = ERROR) -> float:
    """Return how many standard errors apart two means over blocks may be, by chance alone.

    Args:
        scores: how many scores of a run are compared.
        blocks: whose scores each mean is of.
        error: how often any score of the same distribution is taken for another (Bonferroni).

    Returns:
        The quantile of Student's t with 2 (blocks - 1) degrees of freedom.
    """
    return float(scipy.special.stdtrit(2 * blocks - 2, 1 - error / (2 * scores)))


def widest_margin(column: Column | None, codes: float, fresh: float, scores: int) -> float:
    """Return the widest margin that blocks with such means can have, by the range of the score.

    No values in [low, high] with mean m vary more than those that lie at its ends: by (high - m) (m - low). Recorded
    means are rounded to six decimals.

    Args:
        column: the score; None if it is not known.
        codes: mean over the blocks of the task's rows.
        fresh: mean over the blocks of fresh rows.
        scores: how many scores are compared.

    Returns:
        The margin; infinity for a score without a range.

    Example:
        >>> [round(widest_margin(protocol.COLUMNS["mig"], codes, 1 - codes, 5), 3) for codes in (0.0, 0.5)]
        [0.005, 1.802]
    """
    if column is None or not math.isfinite(column.high - column.low):
        return math.inf
    rounded = 2e-6 * (column.high - column.low)
    varies = rounded + sum(max(0.0, (column.high - mean) * (mean - column.low)) for mean in (codes, fresh))
    return quantile(scores) * math.sqrt(varies / (BLOCKS - 1)) + DRIFT


class Verification(Model):
    """How an encoder was found to give the scores that its codes have (`leaderboard.scoring.verification`).

    Attributes:
        version: of the rule.
        seed: text that the fresh rows were drawn by, made when the encoder could not be changed any more.
        encoder_digest: SHA-256 of the encoder's file.
        rows: how many fresh rows there were.
        rows_digest: SHA-256 of them as little-endian int64.
        deviation: how far the codes that were handed in are from the encoder's, in parts of their spread.
        scores: score -> what was compared.
        date: of the comparison, UTC.
        verified_with: package -> version.
    """

    version: VerifiedBy
    seed: Annotated[Line, Field(min_length=1)]
    encoder_digest: Sha256
    rows: int = Field(gt=0)
    rows_digest: Sha256
    deviation: float = Field(ge=0)
    scores: dict[Line, Compared] = Field(min_length=1)
    date: datetime.date
    verified_with: Versions

    @pydantic.model_validator(mode="after")
    def _agree(self) -> Verification:
        for key, compared in self.scores.items():
            if not abs(compared.codes - compared.fresh) <= compared.margin:
                raise _wrong(
                    f"scores.{key}", f"{compared.codes:.4f} within {compared.margin:.4f}", f"{compared.fresh:.4f}"
                )
            widest = widest_margin(protocol.COLUMNS.get(key), compared.codes, compared.fresh, len(self.scores))
            if not compared.margin <= widest:
                raise _wrong(
                    f"scores.{key}.margin", f"at most {widest:.4f}, that of any blocks", f"{compared.margin:g}"
                )
        return self


class Run(Model):
    """One seed of a method, scored, with everything that decided the scores.

    Attributes:
        seed: of the training.
        tier: of the protocol; it becomes part of the names of files and pages.
        status: who vouches for the scores.
        scores: ``<metric>.<score>``, or ``<metric>`` where the two are the same.
        claimed: what the authors say the scores are, where they say so.
        marks: what a reader should be warned of, such as ``codes_equal_labels``.
        date: of the evaluation, UTC.
        dataset_version: semantic version of the data.
        dataset_digest: the quick digest of the data that the codes were made from, equal to that of the data here.
        rows_digest: of the task's row list.
        codes_digest: SHA-256 of the codes as little-endian float32.
        latents: columns of the codes.
        units: version of the rule that made one latent of each unit of several numbers (`leaderboard.reading.units`);
            empty for codes that are latents already.
        verification: how the scores were verified; None where they were recomputed from codes alone.
        parts: metric -> part -> numbers that its scores are made of, such as the gap of each factor; for metrics that
            say what those are (``parts`` and ``combine`` in their files).
        samples: metric -> how it was called.
        supervision: what the method may see.
        selection: how this model was chosen among others; ``none`` where it was not.
        hyperparameters: what tells this method from its siblings.
        budget: what training cost.
        trained_with: package -> version, when training.
        scored_with: package -> version, when scoring.
    """

    seed: int = Field(ge=0, lt=2**63)
    tier: Name
    status: Status
    scores: Scores
    claimed: Scores = Field(default_factory=dict)
    marks: tuple[Line, ...] = ()
    date: datetime.date
    dataset_version: Annotated[str, Field(pattern=r"^\d+\.\d+\.\d+$")]
    dataset_digest: Digests
    rows_digest: Sha256
    codes_digest: Sha256
    latents: int = Field(gt=0)
    parts: Parts = Field(default_factory=dict)
    samples: dict[str, Sample]
    supervision: Supervision
    selection: Line
    hyperparameters: Settings
    budget: Budget
    trained_with: Versions
    scored_with: Versions
    units: Line = ""
    verification: Verification | None = None

    @property
    def trust(self) -> Trust:
        """``verified``, or else ``recomputed``."""
        return "verified" if self.verification else "recomputed"

    @pydantic.model_serializer(mode="wrap")
    def _written(self, write: pydantic.SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what was not there before and says nothing, so that files that were written keep their bytes."""
        written: dict[str, Any] = write(self)
        return {k: v for k, v in written.items() if v or k not in ("units", "verification")}

    @pydantic.model_validator(mode="after")
    def _identities(self, how: pydantic.ValidationInfo) -> Run:
        if how.context is _KNOWN:
            return self
        for key, value in self.scores.items():
            column = protocol.COLUMNS.get(key)
            if column and not column.low <= value <= column.high:
                raise _wrong(f"scores.{key}", f"a number in [{column.low:g}, {column.high:g}]", f"{value:g}")
        if self.verification and self.verification.scores.keys() != self.scores.keys():
            raise _wrong(
                "verification.scores", f"those of the run, {sorted(self.scores)}", str(sorted(self.verification.scores))
            )
        metrics = {key.partition(".")[0] for key in self.scores}
        if metrics != set(self.samples):
            raise _wrong("samples", f"an entry for each of {sorted(metrics)}", str(sorted(self.samples)))
        for metric, parts in self.parts.items():
            _in_range(metric, parts)
            for name, expected in _combined(metric, parts).items():
                key = protocol.key(metric, name)
                written = self.scores.get(key)
                if written is None or not abs(written - expected) <= ROUNDING * max(1.0, abs(expected)):
                    raise _wrong(f"scores.{key}", f"{expected:.6f}, what its parts come to", str(written))
        return self


def _in_range(metric: str, parts: dict[str, Any]) -> None:
    """Refuse parts of a score that its metric says cannot be."""
    for name, (low, high) in properties.part_ranges(metric).items():
        numbers = np.ravel(parts.get(name, ()))
        outside = numbers[(numbers < low) | (numbers > high)]
        if len(outside):
            raise _wrong(f"parts.{metric}.{name}", f"numbers in [{low:g}, {high:g}]", f"{outside[0]:g}")


def _combined(metric: str, parts: dict[str, Any]) -> dict[str, float]:
    """Compute the scores of a metric from their parts."""
    try:
        combined: dict[str, float] = discovery.find("leaderboard.metrics", metric, kind="metric").combine(parts)
        return combined
    except (OffaxisError, AttributeError, KeyError, ValueError, TypeError) as error:
        raise _wrong(f"parts.{metric}", "what the metric of that name is made of", str(error)) from error


class Summary(Model):
    """Mean, interquartile mean and 95% bootstrap interval of the mean over seeds; no interval for a single seed."""

    seeds: int = Field(gt=0)
    mean: float
    iqm: float
    low: float | None
    high: float | None


_SHARED = (
    "supervision",
    "selection",
    "hyperparameters",
    "dataset_version",
    "dataset_digest",
    "rows_digest",
    "samples",
    "status",
    "units",
)
"""What all seeds of a method in one tier must have in common."""


class Result(Model):
    """What is known of one method on one task.

    Attributes:
        schema_version: of this layout; written as ``schema``.
        task: such as ``xysquares/spacing_4@v1``.
        method: the file's name.
        about: what a reader wants to know.
        runs: one for each tier and seed, in that order.
        summary: tier -> score -> what the runs come to.
        quarantine: why the result is not to be trusted; empty where it is. It stays readable and is not ranked.
    """

    schema_version: Literal[1] = Field(default=SCHEMA, alias="schema")
    task: Annotated[str, Field(pattern=DATASET + r"@v[0-9]+$")]
    method: Name
    about: About = About()
    runs: tuple[Run, ...] = Field(min_length=1)
    summary: dict[str, dict[str, Summary]]
    quarantine: Text = ""

    @pydantic.model_validator(mode="after")
    def _consistent(self, how: pydantic.ValidationInfo) -> Result:
        if how.context is _KNOWN:
            return self
        keys = [(run.tier, run.seed) for run in self.runs]
        if keys != sorted(set(keys)):
            raise _wrong("runs", "one run for each tier and seed, in order", str(keys))
        if self.method in REFERENCES and any(run.supervision != "reference" for run in self.runs):
            raise _wrong("method", "another name than that of a reference", repr(self.method), "Rename the method.")
        for tier in self.tiers:
            runs = self.of(tier)
            seeds: dict[str, int] = {}
            for run in runs:
                if (other := seeds.setdefault(run.codes_digest, run.seed)) != run.seed:
                    raise _wrong(
                        f"runs of tier {tier}: codes_digest of seed {run.seed}",
                        "codes of a training of its own for each seed",
                        f"those of seed {other}",
                    )
            for run in runs[1:]:
                for field in _SHARED:
                    first, given = getattr(runs[0], field), getattr(run, field)
                    if first != given:
                        raise _wrong(
                            f"runs of tier {tier}: {field} of seed {run.seed}",
                            f"{first!r}, as of seed {runs[0].seed}",
                            repr(given),
                            "Seeds of one method differ in nothing else; give the other setting another method name, "
                            "as with `evaluate --method`.",
                        )
                if run.scores.keys() != runs[0].scores.keys():
                    raise _wrong(f"scores of seed {run.seed}", str(sorted(runs[0].scores)), str(sorted(run.scores)))
        expected_of = summarise(self.runs)
        for tier in sorted(expected_of.keys() | self.summary.keys()):
            scores, said = expected_of.get(tier, {}), self.summary.get(tier, {})
            for key in sorted(scores.keys() | said.keys()):
                expected, written = scores.get(key), said.get(key)
                if expected is None or written is None or not _close(expected, written):
                    wanted = f"{expected or 'nothing'}, what the runs come to"
                    raise _wrong(f"summary.{tier}.{key}", wanted, str(written))
        return self

    @property
    def dataset(self) -> str:
        """The dataset's full name."""
        return self.task.partition("@")[0]

    @property
    def title(self) -> str:
        """The method's name as it is printed."""
        return self.about.title or self.method

    @property
    def tiers(self) -> tuple[str, ...]:
        """The tiers that there are runs of."""
        return tuple(sorted({run.tier for run in self.runs}))

    def of(self, tier: str) -> tuple[Run, ...]:
        """Return the runs of a tier, by seed."""
        return tuple(run for run in self.runs if run.tier == tier)

    def trained_here(self, tier: str) -> bool:
        """Return whether every run of a tier was trained here, not only scored."""
        return all(run.status == "reproduced" for run in self.of(tier))

    def trust(self, tier: str) -> Trust:
        """Return ``verified`` where every run of a tier is, or else ``recomputed``."""
        return "verified" if all(run.trust == "verified" for run in self.of(tier)) else "recomputed"


def summarise(runs: Iterable[Run]) -> dict[str, dict[str, Summary]]:
    """Summarise runs by tier and score.

    Args:
        runs: runs of one method on one task.

    Returns:
        tier -> score -> summary.
    """
    runs = tuple(runs)
    return {
        tier: {
            key: Summary.model_construct(**found._asdict())
            for key, found in _summaries([run for run in runs if run.tier == tier]).items()
        }
        for tier in sorted({run.tier for run in runs})
    }


def _summaries(runs: Sequence[Run]) -> dict[str, statistics.Summary]:
    """Summarise the scores that the first of some runs has."""
    values = {key: [run.scores[key] for run in runs if key in run.scores] for key in runs[0].scores}
    alike = {len(of_key) for of_key in values.values()}
    found: dict[str, statistics.Summary] = {}
    for count in sorted(alike):
        keys = [key for key, of_key in values.items() if len(of_key) == count]
        found |= zip(keys, statistics.summaries([values[key] for key in keys]), strict=True)
    return {key: found[key] for key in values}


def result(task: str, method: str, runs: Iterable[Run], *, about: About | None = None, quarantine: str = "") -> Result:
    """Make a result of runs.

    Args:
        task: the task's name.
        method: the method's name.
        runs: its runs, in any order.
        about: what a reader wants to know of the method.
        quarantine: why it is not to be trusted.

    Returns:
        The result, with its summary.

    Raises:
        InvalidInput: the runs do not belong together, or a name is malformed.
    """
    ordered = tuple(sorted(runs, key=lambda run: (run.tier, run.seed)))
    try:
        return Result(
            schema=SCHEMA,
            task=task,
            method=method,
            about=about or About(),
            runs=ordered,
            summary=summarise(ordered),
            quarantine=quarantine,
        )
    except pydantic.ValidationError as error:
        raise problems(error, f"{method} on {task}", Result)[0] from error


def path(root: str | os.PathLike[str], task: str, method: str) -> Path:
    """Return the place of a result: ``<root>/<version>/<dataset>[/<config>]/<method>.json``.

    Args:
        root: the results tree.
        task: the task's name.
        method: the method's name.

    Returns:
        The path, whether or not there is a file.

    Example:
        >>> path("results", "xysquares/spacing_4@v1", "pca").as_posix()
        'results/v1/xysquares/spacing_4/pca.json'
    """
    return Path(root, *_parts(task, method))


def _parts(task: str, method: str) -> tuple[str, ...]:
    dataset, _, version = task.partition("@")
    return version, *dataset.split("/"), f"{method}.json"


def read(file: str | os.PathLike[str], *, known: Container[str] = ()) -> Result:
    """Read one result.

    Args:
        file: its JSON file.
        known: SHA-256 of files that were read before by the same programs: their types are checked once more, but not
            whether scores are what their parts and seeds come to.

    Returns:
        The result.

    Raises:
        DamagedFile: the file is missing, too large or no JSON, or breaks the schema or an identity; or its name or its
            folders do not agree with what it holds. The message names the first field that is wrong.
    """
    file = Path(file)
    text = content(file)
    sound = bool(known) and hashlib.sha256(text).hexdigest() in known
    found = Result.model_validate_json(text, context=_KNOWN) if sound else validated(Result, text, str(file))
    for run in found.runs[1:]:  # what seeds have in common takes the memory of one
        for name, first in found.runs[0].__dict__.items():
            if isinstance(first, dict | Model) and getattr(run, name) == first:
                run.__dict__[name] = first
    expected = _parts(found.task, found.method)
    there = file.parts if len(file.parts) >= len(expected) else file.absolute().parts
    if there[-len(expected) :] != expected:
        raise DamagedFile(
            str(file),
            expected=f"the path to end in {'/'.join(expected)}, as its task and method say",
            received=file.name,
            remedy="Move the file, or mend the fields.",
        )
    return found


def wrong(file: str | os.PathLike[str]) -> list[OffaxisError]:
    """List everything that is wrong with a result file.

    Args:
        file: its JSON file.

    Returns:
        All that breaks the schema, field by field, or else what ``read`` raises; nothing if it can be read.
    """
    try:
        read(file)
    except OffaxisError as first:
        try:
            found = parse(Result, content(Path(file)), str(file))
        except OffaxisError:
            return [first]
        return found if isinstance(found, list) else [first]
    return []


def files(root: str | os.PathLike[str]) -> list[Path]:
    """List the result files of a tree.

    Args:
        root: the results tree.

    Returns:
        Paths, sorted.

    Raises:
        DamagedFile: there is no such folder.
    """
    root = Path(root)
    if not root.is_dir():
        raise DamagedFile(
            str(root), expected="a results folder", received="no such folder", remedy="Make one with `evaluate --into`."
        )
    return sorted(p for p in root.glob("v*/**/*.json") if not p.name.startswith("."))


def is_place(file: Path) -> bool:
    """Return whether a file lies where results lie: a JSON file in the folder of a protocol's version.

    Example:
        >>> is_place(Path("tree/v1/sprites2d/pca.json")), is_place(Path("tree/transfer/v1/sprites2d/pca/solids.json"))
        (True, False)
    """
    folders = [folder.name for folder in file.absolute().parents]
    within = any(re.fullmatch(r"v\d+", name) for name in folders)
    return file.suffix == ".json" and within and "transfer" not in folders


def by_dataset(root: str | os.PathLike[str]) -> dict[str, list[Path]]:
    """List the result files of a tree by dataset, as their folders say; ``read`` checks that these tell the truth.

    Args:
        root: the results tree.

    Returns:
        Full name of the dataset -> paths, sorted.

    Raises:
        DamagedFile: there is no such folder.
    """
    found: dict[str, list[Path]] = {}
    for file in files(root):
        found.setdefault("/".join(file.relative_to(root).parts[1:-1]), []).append(file)
    return {name: found[name] for name in sorted(found)}


def read_all(root: str | os.PathLike[str], *, known: Container[str] = ()) -> list[Result]:
    """Read every result of a tree.

    Args:
        root: the results tree.
        known: see ``read``.

    Returns:
        Results in the order of task and method.

    Raises:
        DamagedFile: there is no such folder, or a file is damaged.
    """
    with uncollected():
        found = [read(file, known=known) for file in files(root)]
    return sorted(found, key=lambda result: (result.task, result.method))


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Keep the garbage collector still while a ``with`` block makes thousands of things that stay.

    It would walk all of them again and again, and find nothing: results refer to nothing that refers to them.

    Yields:
        Nothing.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            if not gc.get_freeze_count():  # what was made goes among the oldest things, unseen; else it is walked now
                gc.freeze()
                gc.unfreeze()
            gc.enable()


def write(root: str | os.PathLike[str], results: Iterable[Result], *, replace: bool = False) -> list[Path]:
    """Write results into a tree, merging their runs into what is there.

    Writers take turns by a lock on the tree, and each file is replaced in one step: many may write at the same time
    and nothing is lost.

    Args:
        root: the results tree. It is made where it is missing.
        results: what to write. Each is written before the next one is taken.
        replace: let a run take the place of one with the same tier and seed that came from other codes, and what is
            said of a method that of what the tree says of it.

    Returns:
        The files, in the order of the results.

    Raises:
        InvalidInput: the runs do not fit those in the tree (see ``merge``), or the folder cannot be written.
        DamagedFile: a file that is there cannot be read.
    """
    root = Path(root)
    written = []
    for new in results:
        with locked(root):
            file = path(root, new.task, new.method)
            old = read(file) if file.exists() else None
            write_json(file, _merged(root, old, new, replace=replace).model_dump(mode="json", by_alias=True))
            written.append(file)
    return written


def check_write(root: str | os.PathLike[str], new: Result, *, replace: bool = False) -> None:
    """Refuse what ``write`` would, as far as it is known before runs are scored.

    Args:
        root: the results tree. It is made where it is missing.
        new: what is to be written, of runs without scores and samples.
        replace: as in ``write``.

    Raises:
        InvalidInput: as ``write``.
        DamagedFile: as ``write``.
    """
    root = Path(root)
    with locked(root):
        file = path(root, new.task, new.method)
        old = read(file) if file.exists() else None
        if old:
            unscored: dict[str, Any] = {"scores": {}, "parts": {}, "samples": {}, "verification": None}
            old = old.model_copy(update={"runs": tuple(run.model_copy(update=unscored) for run in old.runs)})
        _merged(root, old, new, replace=replace)


def _merged(root: Path, old: Result | None, new: Result, *, replace: bool) -> Result:
    """Put a new result together with what a tree holds of the same method and task, if it holds any."""
    if old:
        return merge(old, new, replace=replace)
    if not replace:
        _said_alike(new, _sound(other for other in files(root) if other.name == f"{new.method}.json"))
    return new


def quarantine(file: str | os.PathLike[str], reason: str) -> Result:
    """Describe why a result is not to be trusted. It stays readable and is not ranked.

    Args:
        file: its JSON file.
        reason: why; empty to trust it again.

    Returns:
        The result as it is now.

    Raises:
        DamagedFile: the file cannot be read.
        InvalidInput: the reason is too long, or the file cannot be written.
    """
    file = Path(file)
    root = file.absolute().parents[len(path(".", read(file).task, "x").parts) - 1]
    with locked(root):
        found = read(file)
        found = result(found.task, found.method, found.runs, about=found.about, quarantine=reason)
        write_json(file, found.model_dump(mode="json", by_alias=True))
    return found


def locked(root: Path) -> contextlib.AbstractContextManager[None]:
    """Keep other writers out of a tree while a ``with`` block runs.

    Args:
        root: the results tree. It is made where it is missing.

    Returns:
        What ``with`` takes.

    Raises:
        InvalidInput: the folder cannot be written.
    """
    return exclusive(root / ".lock", what=root)


def merge(old: Result, new: Result, *, replace: bool = False) -> Result:
    """Put the runs of two results of the same method and task together.

    A run that is there already, from the same codes and with the same scores, stays as it is, so that evaluating twice
    changes nothing; but for what was found when its encoder was run, which it takes over where it had no verification:
    that, or the mark that the encoder disagrees. With ``replace`` it is the new one that takes over the verification.

    Args:
        old: what is there.
        new: what comes in. It may say nothing of the method, or what is said of it already.
        replace: let a run take the place of one with the same tier and seed, and what is said of the method, too.

    Returns:
        The two together.

    Raises:
        InvalidInput: another task or method; something else said of the method; other codes for a seed that is there;
            scores of the same codes that have moved by more than ``DRIFT``; or settings that differ between seeds.
    """
    what = f"{new.method} on {new.task}"
    if (old.task, old.method) != (new.task, new.method):
        raise InvalidInput(what, expected="the same task and method", received=f"{old.method} on {old.task}")
    if not replace:
        _said_alike(new, [old])
    kept = {(run.tier, run.seed): run for run in old.runs}
    for run in new.runs:
        there = kept.get((run.tier, run.seed))
        if there is None:
            kept[run.tier, run.seed] = run
        elif replace:
            same = there.codes_digest == run.codes_digest and next(drifted(there, run), None) is None
            lost = same and there.verification and not run.verification and DISAGREES not in run.marks
            taken: dict[str, Any] = {"verification": there.verification, "marks": ()} if lost else {}
            kept[run.tier, run.seed] = run.model_copy(update=taken)
        elif there.codes_digest != run.codes_digest:
            raise InvalidInput(
                f"{what}: seed {run.seed}",
                expected="the codes that are on the board for it",
                received="other codes",
                remedy="Give it another seed or method name, or replace the old run (--replace).",
            )
        else:
            if moved := next(drifted(there, run), None):
                key, before, after = moved
                raise InvalidInput(
                    f"{what}: {key} of seed {run.seed}",
                    expected=f"{before:.4f} within {DRIFT:g}, as published for the same codes",
                    received=f"{after:.4f}",
                    remedy="The evaluation has changed. That takes a new protocol version, or --replace for a mistake.",
                )
            if not there.verification and (run.verification or run.marks != there.marks):
                marks = () if run.verification else tuple(dict.fromkeys((*there.marks, *run.marks)))
                taken = {"verification": run.verification, "marks": marks}
                kept[run.tier, run.seed] = there.model_copy(update=taken)
    about = old.about.model_copy(update={k: v for k, v in new.about.model_dump().items() if v})
    return result(old.task, old.method, kept.values(), about=about, quarantine=old.quarantine)


def retold(before: About, after: About) -> dict[str, tuple[str, str]]:
    """List what two descriptions of a method say otherwise; where one says nothing they do not differ.

    Args:
        before: one description.
        after: the other.

    Returns:
        Field -> (before, after), in the order of the fields.

    Example:
        >>> retold(About(title="A", code="https://a.org"), About(title="B"))
        {'title': ('A', 'B')}
    """
    fields = ((name, getattr(before, name), getattr(after, name)) for name in About.model_fields)
    return {name: (then, now) for name, then, now in fields if then and now and now != then}


def _sound(found: Iterable[Path]) -> Iterator[Result]:
    """Read result files one by one, and leave out those that are damaged, which `check` names."""
    for file in found:
        with contextlib.suppress(DamagedFile):
            yield read(file)


def _said_alike(new: Result, there: Iterable[Result]) -> None:
    """Refuse something else said of a method than what every result of a tree says of it already."""
    first: tuple[Result, dict[str, tuple[str, str]]] | None = None
    for old in there:
        changes = retold(old.about, new.about)
        if not changes:
            return
        first = first or (old, changes)
    if first:
        old, changes = first
        field, (before, after) = next(iter(changes.items()))
        lines = itertools.zip_longest(before.split("\n"), after.split("\n"), fillvalue="no line more")
        number, (before, after) = next((i, pair) for i, pair in enumerate(lines, 1) if pair[0] != pair[1])
        where = f"{field}, line {number}" if field == "bibtex" else field
        raise InvalidInput(
            f"{new.method} on {new.task}: about.{where}",
            expected=f"{_shortly.repr(before)}, as the results say of {new.method} on {old.task}",
            received=_shortly.repr(after),
            remedy="Give another method another name. If it is the same and this is meant: --replace.",
        )


def drifted(before: Run, after: Run) -> Iterator[tuple[str, float, float]]:
    """List the scores that two evaluations have in common and that differ by more than ``DRIFT``.

    Args:
        before: one run.
        after: the other.

    Yields:
        (score, before, after), by score.
    """
    for key in sorted(before.scores.keys() & after.scores.keys()):
        if abs(before.scores[key] - after.scores[key]) > DRIFT:
            yield key, before.scores[key], after.scores[key]


def content(file: Path, largest: int = LARGEST) -> bytes:
    """Read a file that a stranger may have put there.

    Args:
        file: the path.
        largest: how many bytes it may have.

    Returns:
        The bytes.

    Raises:
        DamagedFile: no regular file, too large, or it cannot be read.
    """
    return bounded(file, largest, what="a JSON file")


def validated(model: type[M], text: str | bytes, what: str) -> M:
    """Check JSON against a schema.

    Args:
        model: the schema.
        text: JSON.
        what: what it is called in an error message.

    Returns:
        The content as the schema's type.

    Raises:
        DamagedFile: with the first problem; it says how many more there are.
    """
    found = parse(model, text, what)
    if not isinstance(found, list):
        return found
    first = found[0]
    more = f" ({len(found) - 1} more problems.)" if len(found) > 1 else ""
    raise DamagedFile(first.what, expected=first.expected, received=first.received, remedy=first.remedy + more)


def parse(model: type[M], text: str | bytes, what: str) -> M | list[OffaxisError]:
    """Check JSON against a schema, and list all that is wrong.

    Args:
        model: the schema.
        text: JSON.
        what: what it is called in an error message.

    Returns:
        The content as the schema's type; or its problems, at least one.
    """
    try:
        parse_json(text)  # pydantic would keep the last of two values of a key
    except RepeatedKey as error:
        return [InvalidInput(what, expected="each key once", received=str(error), remedy="Keep one of them.")]
    except (ValueError, RecursionError):
        pass  # pydantic says where
    try:
        return model.model_validate_json(text)
    except pydantic.ValidationError as error:
        return problems(error, what, model)


def problems(error: pydantic.ValidationError, what: str, model: type[Model]) -> list[OffaxisError]:
    """Put everything that pydantic found into the project's form.

    Args:
        error: what pydantic raised.
        what: what was checked.
        model: the schema it was checked against.

    Returns:
        One error for each problem, in the order of the file.
    """
    return [_problem(detail, what, model) for detail in error.errors(include_url=False) if not _follows(detail)]


def _follows(detail: pydantic_core.ErrorDetails) -> bool:
    """Whether a list is too short for its wrong items alone, of which pydantic tells one by one."""
    return detail["type"] == "too_short" and len(detail["input"]) >= detail["ctx"]["min_length"]


def _problem(detail: pydantic_core.ErrorDetails, what: str, model: type[Model]) -> OffaxisError:
    field = ".".join(str(part) for part in detail["loc"])
    context = detail.get("ctx", {})
    expected = detail["msg"].removeprefix("Input should be ").removeprefix("Input should ")
    received, remedy = _shortly.repr(detail["input"]), ""
    match detail["type"]:
        case "offaxis":
            field, expected, received, remedy = (context[k] for k in ("field", "expected", "received", "remedy"))
        case "json_invalid":
            field, expected, received = "", "valid JSON", str(context["error"])
        case "missing":
            expected, received = "a value", "nothing"
        case "extra_forbidden":
            known = _fields(model)
            near = difflib.get_close_matches(str(detail["loc"][-1]), known, n=1, cutoff=0.5)
            expected, received = "no such field", received
            remedy = f"Did you mean {near[0]!r}?" if near else "Remove it."
        case "string_pattern_mismatch":
            expected = f"text that matches {context['pattern']}"
        case "too_short" | "too_long" | "string_too_short" | "string_too_long":
            expected, received = f"a length of {_bound(context)}", str(len(detail["input"]))
        case "greater_than_equal" | "greater_than" | "less_than_equal" | "less_than":
            expected = _bound(context)
        case "int_type" | "int_parsing" | "int_from_float":
            expected = "an integer"
        case "float_type" | "float_parsing":
            expected = "a number"
        case "string_type":
            expected = "a text"
        case "tuple_type" | "list_type":
            expected = "an array"
    return InvalidInput(f"{what}: {field}" if field else what, expected=expected, received=received, remedy=remedy)


def _bound(context: dict[str, Any]) -> str:
    """Put a bound that pydantic names in words."""
    words = {"min_length": "at least", "max_length": "at most", "ge": "at least", "gt": "more than", "le": "at most"}
    return next(f"{word} {context[name]}" for name, word in (words | {"lt": "less than"}).items() if name in context)


_shortly = reprlib.Repr()
_shortly.maxstring = _shortly.maxother = 80


def _fields(model: type[Model]) -> set[str]:
    """Return the names of all fields of a schema and of its parts."""
    schema = model.model_json_schema()
    parts = [schema, *schema.get("$defs", {}).values()]
    return {name for part in parts for name in part.get("properties", {})}


def _wrong(field: str, expected: str, received: str, remedy: str = "") -> pydantic_core.PydanticCustomError:
    return pydantic_core.PydanticCustomError(
        "offaxis",
        "{field}: expected {expected}, received {received}",
        {"field": field, "expected": expected, "received": received, "remedy": remedy},
    )


def _close(a: Summary, b: Summary) -> bool:
    """Return whether two summaries agree up to the last bits, which depend on the machine."""
    pairs = ((getattr(a, name), getattr(b, name)) for name in Summary.model_fields)
    return all(x == y or (x is not None and y is not None and abs(x - y) < 1e-9) for x, y in pairs)
