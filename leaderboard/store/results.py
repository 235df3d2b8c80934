"""Results: the runs of a method on a task, what was scored of each, and under which conditions. Kept in a results tree.

Tables and pages are made from them alone.
"""

from __future__ import annotations

import datetime
import functools
from collections.abc import Iterable
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np

from benchmark_data import discovery
from benchmark_data.errors import OffaxisError
from leaderboard import properties, protocol, schema
from leaderboard.record import REFERENCES, About, RunRecord, Scores
from leaderboard.schema import Field, Line, Model, Name, Settings, Sha256, Text, Versions, pydantic, wrong_field
from leaderboard.store import statistics

ROUNDING = 1e-5
"""Tolerance between a score and the one computed from its rounded parts; relative for scores beyond 1 or -1."""

DRIFT = 1e-3
"""A score recomputed from the same codes may differ by this much; more means that the evaluation has changed."""

DISAGREES = "encoder_disagrees"
"""The mark of a run whose encoder failed verification (`leaderboard.scoring.verification.Disagreement`)."""

Status: TypeAlias = Literal["recomputed", "reproduced"]
"""``recomputed``: scored here from submitted codes. ``reproduced``: trained here, too."""

Trust: TypeAlias = Literal["claimed", "recomputed", "verified"]
"""Evidence for scores: ``claimed`` by others, such as papers (`leaderboard.store.reported`); ``recomputed`` here from
codes; ``verified``, also with codes that the encoder computed here, of images drawn after submission."""

VerifiedBy: TypeAlias = Literal["fresh_rows@v1", "fresh_rows@v2"]
"""Versions of the rule by which scores are verified (`leaderboard.scoring.verification`)."""

Parts = dict[Line, dict[Line, tuple[float, ...] | tuple[tuple[float, ...], ...]]]


@pydantic.dataclasses.dataclass(slots=True, kw_only=True, config=Model.model_config)
class Sample:
    """The numbers of rows that a metric was computed on, the first of the task's, and its keyword arguments.

    Without train rows, it was computed on the test rows alone (`leaderboard.protocol.Measurement`).
    """

    train: int = Field(ge=0)
    test: int = Field(ge=0)
    arguments: Settings


@pydantic.dataclasses.dataclass(slots=True, kw_only=True, config=Model.model_config)
class Compared:
    """One score of submitted codes, compared with that of codes of fresh images.

    Its fields are slots: a board holds many of these, and without slots they take four times as much memory.

    Attributes:
        codes: mean over the blocks of the task's rows.
        fresh: mean over as many blocks of fresh rows.
        margin: the largest difference that may be due to chance.
    """

    codes: float
    fresh: float
    margin: float = Field(ge=0)


class Verification(Model):
    """The evidence that a run's scores are those of its encoder (`leaderboard.scoring.verification`).

    Attributes:
        version: of the rule.
        seed: text that seeds the draw of fresh rows, chosen after the encoder was submitted.
        encoder_digest: SHA-256 of the encoder's file.
        rows: the number of fresh rows.
        rows_digest: SHA-256 of them as little-endian int64.
        deviation: root mean square difference of submitted codes from the encoder's, as a share of their spread.
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
    def _check_margins(self) -> Verification:
        for key, compared in self.scores.items():
            if not abs(compared.codes - compared.fresh) <= compared.margin:
                raise wrong_field(
                    f"scores.{key}", f"{compared.codes:.4f} within {compared.margin:.4f}", f"{compared.fresh:.4f}"
                )
        return self


class Scored(RunRecord):
    """One seed of a method, scored, with everything that the scores depend on.

    Attributes:
        tier: of the protocol; names of files and pages contain it.
        status: whether only the scores were computed here, or the model was also trained here.
        scores: ``<metric>.<score>``, or ``<metric>`` where the two are the same.
        marks: warnings for readers, such as ``encoder_disagrees``.
        date: of the evaluation, UTC.
        rows_digest: of the task's row list.
        codes_digest: SHA-256 of the codes as little-endian float32.
        latents: columns of the codes.
        units: version of the rule that reduced each unit of several numbers to one latent
            (`leaderboard.reading.units`); empty for codes that are latents already.
        verification: how the scores were verified; None where they were recomputed from codes alone.
        parts: metric -> part -> numbers that its scores are computed from, such as the gap of each factor; for metrics
            that define ``parts`` and ``combine``.
        samples: metric -> the numbers of rows and the arguments.
        scored_with: package -> version, when scoring.
    """

    tier: Name
    status: Status
    scores: Scores
    marks: tuple[Line, ...] = ()
    date: datetime.date
    rows_digest: Sha256
    codes_digest: Sha256
    latents: int = Field(gt=0)
    parts: Parts = Field(default_factory=dict)
    samples: dict[str, Sample]
    scored_with: Versions
    units: Line = ""
    verification: Verification | None = None

    @pydantic.model_serializer(mode="wrap")
    def _omit_empty_additions(self, write: pydantic.SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out fields of later versions that are empty, so that older files keep their bytes."""
        fields: dict[str, Any] = write(self)
        return {k: v for k, v in fields.items() if v or k not in ("units", "verification")}

    @pydantic.model_validator(mode="after")
    def _check_scores(self) -> Scored:
        for key, value in self.scores.items():
            column = protocol.COLUMNS.get(key)
            if column and not column.low <= value <= column.high:
                raise wrong_field(f"scores.{key}", f"a number in [{column.low:g}, {column.high:g}]", f"{value:g}")
        if self.verification and self.verification.scores.keys() != self.scores.keys():
            raise wrong_field(
                "verification.scores", f"those of the run, {sorted(self.scores)}", str(sorted(self.verification.scores))
            )
        metrics = {key.partition(".")[0] for key in self.scores}
        if metrics != set(self.samples):
            raise wrong_field("samples", f"an entry for each of {sorted(metrics)}", str(sorted(self.samples)))
        for metric, parts in self.parts.items():
            _check_part_ranges(metric, parts)
            for name, expected in _combine_parts(metric, parts).items():
                key = protocol.key(metric, name)
                stored = self.scores.get(key)
                if stored is None or not abs(stored - expected) <= ROUNDING * max(1.0, abs(expected)):
                    raise wrong_field(f"scores.{key}", f"{expected:.6f}, as computed from its parts", str(stored))
        return self


def _check_part_ranges(metric: str, parts: dict[str, Any]) -> None:
    """Refuse parts of a score outside the ranges that its metric states."""
    for name, (low, high) in properties.part_ranges(metric).items():
        numbers = np.ravel(parts.get(name, ()))
        outside = numbers[(numbers < low) | (numbers > high)]
        if len(outside):
            raise wrong_field(f"parts.{metric}.{name}", f"numbers in [{low:g}, {high:g}]", f"{outside[0]:g}")


def _combine_parts(metric: str, parts: dict[str, Any]) -> dict[str, float]:
    """Compute the scores of a metric from their parts."""
    try:
        with np.errstate(divide="raise"):
            return discovery.find("leaderboard.metrics", metric, kind="metric").combine(parts)
    except (OffaxisError, AttributeError, LookupError, ValueError, TypeError, ArithmeticError) as error:
        raise wrong_field(f"parts.{metric}", "the parts of that metric", str(error)) from error


_SHARED_FIELDS = (
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
"""The fields that must be equal for all seeds of a method in one tier."""


class Result(Model):
    """The results of one method on one task.

    Attributes:
        schema_version: of this layout; written as ``schema``.
        task: such as ``xysquares/spacing_4@v1``.
        method: the file's name.
        about: the description of the method.
        runs: one for each tier and seed, in that order.
        quarantine: why the result is not to be trusted; empty if it is. It stays readable and is not ranked.
    """

    schema_version: Literal[1] = Field(default=1, alias="schema")
    task: Annotated[str, Field(pattern=schema.DATASET + r"@v[0-9]+$")]
    method: Name
    about: About = About()
    runs: tuple[Scored, ...] = Field(min_length=1)
    quarantine: Text = ""

    @pydantic.model_validator(mode="after")
    def _check_runs(self) -> Result:
        keys = [(run.tier, run.seed) for run in self.runs]
        if keys != sorted(set(keys)):
            raise wrong_field("runs", "one run for each tier and seed, in order", str(keys))
        if self.method in REFERENCES and any(run.supervision != "reference" for run in self.runs):
            raise wrong_field(
                "method", "another name than that of a reference", repr(self.method), "Rename the method."
            )
        for run in self.runs:
            if (run.method, run.dataset) != (self.method, self.dataset):
                raise wrong_field(
                    f"runs: seed {run.seed}", f"{self.method} on {self.dataset}", f"{run.method} on {run.dataset}"
                )
        for tier in self.tiers:
            runs = self.runs_in(tier)
            seed_by_digest: dict[str, int] = {}
            for run in runs:
                if (other := seed_by_digest.setdefault(run.codes_digest, run.seed)) != run.seed:
                    raise wrong_field(
                        f"runs of tier {tier}: codes_digest of seed {run.seed}",
                        "codes of a separate training for each seed",
                        f"those of seed {other}",
                    )
            for run in runs[1:]:
                for field in _SHARED_FIELDS:
                    first_value, other_value = getattr(runs[0], field), getattr(run, field)
                    if first_value != other_value:
                        raise wrong_field(
                            f"runs of tier {tier}: {field} of seed {run.seed}",
                            f"{first_value!r}, as of seed {runs[0].seed}",
                            repr(other_value),
                            "Seeds of one method must have equal settings; give the other setting another method "
                            "name, as with `offaxis board score --method`.",
                        )
                if run.scores.keys() != runs[0].scores.keys():
                    raise wrong_field(
                        f"scores of seed {run.seed}", str(sorted(runs[0].scores)), str(sorted(run.scores))
                    )
        return self

    def of_runs(self, runs: Iterable[Scored]) -> Result:
        """Return the result of other runs of the same method on the same task."""
        return result(self.task, self.method, runs, about=self.about, quarantine=self.quarantine)

    @functools.cached_property
    def summary(self) -> dict[str, dict[str, statistics.Summary]]:
        """Tier -> score -> summary of the runs."""
        summaries = {}
        for tier in self.tiers:
            runs = self.runs_in(tier)
            summaries[tier] = {key: statistics.summary([run.scores[key] for run in runs]) for key in runs[0].scores}
        return summaries

    @property
    def dataset(self) -> str:
        """The dataset's full name."""
        return self.task.partition("@")[0]

    @property
    def title(self) -> str:
        """The method's title, as printed."""
        return self.about.title or self.method

    @property
    def tiers(self) -> tuple[str, ...]:
        """The tiers with runs."""
        return tuple(sorted({run.tier for run in self.runs}))

    def runs_in(self, tier: str) -> tuple[Scored, ...]:
        """Return the runs of a tier, by seed."""
        return tuple(run for run in self.runs if run.tier == tier)

    def trained_here(self, tier: str) -> bool:
        """Return whether every run of a tier was trained here, not only scored."""
        return all(run.status == "reproduced" for run in self.runs_in(tier))

    def trust(self, tier: str) -> Trust:
        """Return ``verified`` if every run of a tier is, else ``recomputed``."""
        return "verified" if all(run.verification for run in self.runs_in(tier)) else "recomputed"


def result(
    task: str, method: str, runs: Iterable[Scored], *, about: About | None = None, quarantine: str = ""
) -> Result:
    """Build a result from runs.

    Args:
        task: the task's name.
        method: the method's name.
        runs: its runs, in any order.
        about: the description of the method.
        quarantine: the reason why it is not to be trusted.

    Returns:
        The result.

    Raises:
        InvalidInput: the runs do not belong together, or a name is malformed.
    """
    ordered = tuple(sorted(runs, key=lambda run: (run.tier, run.seed)))
    try:
        return Result(task=task, method=method, about=about or About(), runs=ordered, quarantine=quarantine)
    except pydantic.ValidationError as error:
        raise schema.to_errors(error, f"{method} on {task}", Result)[0] from error
