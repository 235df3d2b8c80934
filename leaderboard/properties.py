"""Properties that each metric declares in its own file, for tests and pages.

A file in ``leaderboard/metrics`` has, in addition to ``score``::

    PROPERTIES = Properties(
        asks="is each factor encoded by one latent alone?",
        source="Chen et al. 2018, equation 6",
        chance="near 0",
    )

The defaults of the rest are those of a score in [0, 1] that is invariant to the order, sign, scale and copies of
latents. A metric must declare what differs; the contract tests check what it declares, and the table in
``docs/metrics.md`` and the columns of the board are made from it.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from types import ModuleType
from typing import Any, Literal, NamedTuple, TypeAlias

from benchmark_data import discovery
from benchmark_data.errors import InvalidInput, UnknownName

__all__ = ["Column", "Properties"]

Copied: TypeAlias = Literal["same", "zero", "no higher", "infinite"]
"""What a copy of every latent does to a score."""


class Column(NamedTuple):
    """One column of a table.

    Args:
        key: the score: ``<metric>.<name>``, or just the metric where the two are the same.
        title: what stands above the column.
        summary: what the score means, in one sentence.
        low: the least value it can have.
        high: the greatest value it can have; higher is better.
        tenth: verification scores six blocks, each a tenth of the rows; the mean of these scores may differ from the
            score of all rows by this much.
    """

    key: str
    title: str
    summary: str
    low: float = 0.0
    high: float = 1.0
    tenth: float = math.inf

    def within(self, ends: tuple[float, float] | None) -> tuple[float, float] | None:
        """Cut an interval at the ends of the range.

        Args:
            ends: its ends, two values of the score; None where there is no interval.

        Returns:
            The same two values, each within [low, high]; None where there is no interval.

        Example:
            >>> Column("mig", "MIG", "").within((-0.1, 0.4)), Column("mig", "MIG", "").within(None)
            ((0.0, 0.4), None)
        """
        return ends and (max(ends[0], self.low), min(ends[1], self.high))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Properties:
    """Declared properties of a metric. Its main score is the first that it returns.

    Args:
        asks: the question that the score answers, for the table in ``docs/metrics.md``.
        source: the paper, with its year, and the equation or section.
        chance: the score by chance, in words.
        range: the minimum and the maximum of every score.
        ideal: the main score of codes that are the factors; in words where it needs some, such as ``"1 for factors of
            many values"``.
        unbounded: scores that may lie outside ``range``, such as counts.
        uses_factors: False for a score of the codes alone.
        with_idle_latents: the main score of perfect codes to which as many constant latents are added.
        binary_factors: whether the ideal begins with that of factors of two values.
        copied_latent: the effect of a copy of every latent: one word for all scores, or one by the score's name, where
            other scores are not checked. ``"zero"`` is for a gap to the second best.
        rotation_lowers: whether a rotation of two latents that are the factors lowers the main score.
        scale_dependent: scores that change when all codes are multiplied by a number.
        scale_matters: empty, or what else may change then, which the contract tests do not compute.
        numbering_matters: empty, or why the score treats class ids as numbers, so that renumbering the classes changes
            it.
        factor_order_matters: empty, or why the order of the factors' columns changes the score.
        noise_scores: empty, or why noise on a small sample may score as high as informative codes do.
        tolerance: how far scores may differ where they should be equal: ties that trees break at random, a solver that
            stops.
        many_rows: False where 200,000 rows take minutes.
        many_classes: False where a factor of 183 classes takes minutes.
        many_rows_tolerance: how far scores of 200,000 rows may be from those of 20,000.
        quick: arguments that only make the metric faster, for tests.
        columns: the columns of the board, should its protocol measure the metric.
        part_ranges: part of the score, as of ``parts`` -> the minimum and the maximum of its numbers.

    Raises:
        InvalidInput: a source without a year, or a range whose ends are in the wrong order.

    Example:
        >>> Properties(asks="is it so?", source="Author et al. 2020, equation 3", chance="near 0").range
        (0.0, 1.0)
    """

    asks: str
    source: str
    chance: str
    range: tuple[float, float] = (0.0, 1.0)
    ideal: float | str = 1.0
    unbounded: tuple[str, ...] = ()
    uses_factors: bool = True
    with_idle_latents: float = 1.0
    binary_factors: bool = False
    copied_latent: Copied | Mapping[str, Copied] = "same"
    rotation_lowers: bool = False
    scale_dependent: tuple[str, ...] = ()
    scale_matters: str = ""
    numbering_matters: str = ""
    factor_order_matters: str = ""
    noise_scores: str = ""
    tolerance: float = 1e-6
    many_rows: bool = True
    many_classes: bool = True
    many_rows_tolerance: float = 0.02
    quick: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    columns: tuple[Column, ...] = ()
    part_ranges: Mapping[str, tuple[float, float]] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        if not any(word.strip("(),.").isdigit() and len(word.strip("(),.")) == 4 for word in self.source.split()):
            raise InvalidInput(
                "source of a metric: expected a paper and its year, such as 'Chen et al. 2018, equation 6', received "
                f"{self.source!r}."
            )
        if not self.range[0] < self.range[1]:
            raise InvalidInput(f"range of a metric: expected (minimum, maximum), received {self.range}.")

    @property
    def interval(self) -> str:
        """The range in mathematical notation."""
        low, high = self.range
        left_end = f"[{low:g}" if math.isfinite(low) else "(-∞"
        return f"{left_end}, {high:g}]" if math.isfinite(high) else f"{left_end}, ∞)"


def find(name: str, package: str = "leaderboard.metrics") -> Properties:
    """Return the declared properties of a metric.

    Args:
        name: the metric's file name.
        package: the folder that it is in.

    Returns:
        Its properties.

    Raises:
        UnknownName: there is no such metric.
        InvalidInput: the file declares none.

    Example:
        >>> find("mig").source
        'Chen et al. 2018, equation 6'
    """
    return read(discovery.find(package, name, kind="metric"))


def score_range(key: str) -> tuple[float, float]:
    """Return the least and the greatest value of a score, infinite where it has none.

    Example:
        >>> score_range("dci.disentanglement"), score_range("mig"), score_range("r_squared")
        ((0.0, 1.0), (0.0, 1.0), (-inf, 1.0))
    """
    metric, _, score = key.partition(".")
    try:
        declared = find(metric)
    except (InvalidInput, UnknownName):
        return -math.inf, math.inf
    return (-math.inf, math.inf) if (score or metric) in declared.unbounded else declared.range


def part_ranges(name: str) -> Mapping[str, tuple[float, float]]:
    """Return the ranges of the parts of a metric's scores.

    Args:
        name: the metric's file name.

    Returns:
        Part -> its least and greatest number; empty for an unknown metric, or one that declares no parts.

    Example:
        >>> part_ranges("mig")
        {'gaps': (0.0, 1.0)}
    """
    try:
        return find(name).part_ranges
    except (InvalidInput, UnknownName):
        return {}


def read(module: ModuleType) -> Properties:
    """Return the properties that a module holds; see `find`."""
    declared = getattr(module, "PROPERTIES", None)
    if not isinstance(declared, Properties):
        received = "none" if declared is None else f"a {type(declared).__name__}"
        raise InvalidInput(
            f"{module.__name__.rpartition('.')[2]}.py: expected PROPERTIES, which declare its question, source and "
            f"invariances, received {received}. Write below the imports: PROPERTIES = Properties(asks='is ...?', "
            "source='Author et al. 2020, equation 3', chance='near 0'); leaderboard/properties.py lists the rest and "
            "its defaults."
        )
    return declared
