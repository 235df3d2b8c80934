"""Call metrics on codes: one, or those of a tier, on a task's rows or on any others. Internal."""

from __future__ import annotations

import contextlib
import functools
import importlib.metadata
import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmark_data import discovery
from benchmark_data.errors import InvalidInput, OffaxisWarning
from benchmark_data.factors import Indices
from leaderboard import protocol
from leaderboard.arrays import Codes, varying

TEST_NAMES = ("codes_test", "factors_test")
"""A metric's arguments for held-out rows."""


def metrics_by_name(names: str | Sequence[str] | None) -> dict[str, Any]:
    """Find metrics by name.

    Args:
        names: names of files in ``leaderboard/metrics``; mig and dci if None, every metric if ``"all"``.

    Returns:
        Name -> the metric's module.

    Raises:
        UnknownName: there is no such metric.
        InvalidInput: they are not strings, or there are none.
    """
    requested = ["mig", "dci"] if names is None else [names] if isinstance(names, str) else names
    if not isinstance(requested, Sequence) or not requested or not all(isinstance(name, str) for name in requested):
        raise InvalidInput(f"metrics: expected names, such as ['mig', 'dci'], or 'all', received {names!r}.")
    metric_names = discovery.names("leaderboard.metrics") if list(requested) == ["all"] else requested
    return {name: discovery.find("leaderboard.metrics", name, kind="metric") for name in metric_names}


def is_every(names: str | Sequence[str] | None) -> bool:
    """Return whether all metrics are requested; those that refuse the codes are then left out."""
    return names == "all" or list(names or []) == ["all"]


class LeftOut(OffaxisWarning):
    """A metric refuses the codes and all metrics were requested, or a factor does not vary."""


def warn_if_left_out(labels: NDArray[np.int64], names: Sequence[str], what: str) -> None:
    """Warn of factors that are constant in the training rows of metrics, and so are not scored; refuse if all are."""
    if constant := [name for name, varies in zip(names, varying(labels), strict=True) if not varies]:
        if len(constant) == len(names):
            raise InvalidInput(f"{what}: expected a factor that varies in the rows that metrics learn from.")
        message = f"{what}: {', '.join(constant)}: one value in the rows that metrics learn from. Left out."
        warnings.warn(message, LeftOut, stacklevel=3)


@contextlib.contextmanager
def refusals(name: str, asked: str | Sequence[str] | None) -> Iterator[None]:
    """Turn a metric's refusal of the codes into a warning if all metrics were requested."""
    try:
        yield
    except InvalidInput as error:
        if not is_every(asked):
            raise
        warnings.warn(f"{name} is left out: {error}", LeftOut, stacklevel=3)


def compute_metric(name: str, compute: Callable[..., Any], *sample: Any, **arguments: Any) -> Any:
    """Compute a metric, or its parts: numbers by name.

    Raises:
        InvalidInput: the metric refuses the codes; or its code raised an error, or did not return numbers by name.
    """
    compute, returns = functools.partial(compute, **arguments), "numbers by name, and no NaN"
    return discovery.call(f"metric {name}", compute, *sample, returns=returns, sound=_are_numbers)


def _are_numbers(returned: Any) -> bool:
    """Return whether a metric returned numbers by name without NaN. A total correlation may be infinite."""
    arrays = [np.asarray(value) for value in returned.values()] if isinstance(returned, Mapping) else [np.array(None)]
    return all(array.dtype.kind in "fiub" and not np.isnan(array).any() for array in arrays)


def has_argument(metric: Any, argument: str) -> bool:
    """Return whether the score of a metric, a module, has an argument of this name."""
    return argument in inspect.signature(metric.score).parameters


def train_count(n: int) -> int:
    """Return the number of training rows if n rows are not divided yet: the first two thirds; the rest is held out.

    Example:
        >>> train_count(10)
        6
    """
    return 2 * n // 3


def drop_constant(metric: Any) -> dict[str, Any]:
    """Return the argument by which a metric's module leaves out constant factors; empty if it has none."""
    return {"constant_factors": "drop"} if has_argument(metric, "constant_factors") else {}


def split_rows(
    metric: Any,
    codes: Any,
    factors: Any,
    held_out: tuple[Any, Any] | None = None,
    *,
    train: int | None = None,
    trained_on: bool = False,
) -> tuple[tuple[Any, Any], dict[str, Any]]:
    """Divide codes into training and held-out rows, as arguments of a metric.

    Args:
        metric: its module.
        codes: real numbers, shape (n, L).
        factors: class ids, shape (n, F).
        held_out: codes and factors of held-out rows, if separate; None to hold out the last rows.
        train: the number of training rows before those; by default two thirds.
        trained_on: whether encoders were trained on all but the held-out rows, as on a part of a split: a metric
            without arguments for held-out rows is then computed on these alone.

    Returns:
        The first two arguments of the metric, codes and factors, and its keyword arguments.
    """
    if held_out is None:
        train = train or train_count(len(codes))
        held_out = codes[train:], factors[train:]
        codes, factors = codes[:train], factors[:train]
    options = drop_constant(metric)
    if has_argument(metric, TEST_NAMES[0]):
        return (codes, factors), options | dict(zip(TEST_NAMES, held_out, strict=True))
    return held_out if trained_on else (codes, factors), options


class Measured(NamedTuple):
    """The scores of a tier's metrics.

    Args:
        scores: score -> value.
        parts: metric -> part -> numbers that scores are computed from, rounded; for metrics that define ``parts``.
    """

    scores: dict[str, float]
    parts: dict[str, dict[str, Any]]


def score_codes(
    codes: Codes, factors: Indices, measurements: Sequence[protocol.Measurement], *, train: int
) -> Measured:
    """Score codes of any rows.

    Args:
        codes: float32 or float64, shape (rows, L): train rows, then test rows.
        factors: class ids, int64 (rows, F).
        measurements: the metrics and their numbers of train and test rows, such as those of a tier.
        train: the number of train rows.

    Returns:
        The scores and their parts.

    Raises:
        InvalidInput: a metric cannot be computed from these codes.

    Example:
        >>> factors = np.stack(np.unravel_index(np.arange(60) % 12, (4, 3)), axis=1)
        >>> measured = score_codes(factors.astype(np.float32), factors, [protocol.Measurement("mig")], train=40)
        >>> round(measured.scores["mig"], 2)
        1.0
    """
    scores: dict[str, float] = {}
    parts: dict[str, dict[str, Any]] = {}
    for measurement in measurements:
        metric = discovery.find("leaderboard.metrics", measurement.metric, kind="metric")
        has_parts = hasattr(metric, "combine")
        compute = metric.parts if has_parts else metric.score
        train_rows, test_rows = slice(0, min(measurement.train, train)), slice(train, train + measurement.test)
        has_test_rows = measurement.test > 0
        if not measurement.train:  # on the held-out rows alone
            has_test_rows = has_argument(metric, TEST_NAMES[0])
            end = min(train + measurement.test, len(codes))
            middle = train + train_count(end - train) if has_test_rows else end
            train_rows, test_rows = slice(train, middle), slice(middle, end)
        test_part = dict(zip(TEST_NAMES, (codes[test_rows], factors[test_rows]), strict=True)) if has_test_rows else {}
        sample, name = (codes[train_rows], factors[train_rows]), measurement.metric
        # Held-out rows may have one value of a factor of which training rows have several.
        arguments = {**measurement.arguments, **({} if measurement.train else drop_constant(metric))}
        numbers = compute_metric(name, compute, *sample, **test_part, **arguments)
        if has_parts:
            parts[name] = {part: _rounded(values) for part, values in numbers.items()}
            numbers = metric.combine(numbers)
        scores |= {protocol.key(name, score): value for score, value in numbers.items()}
    return Measured(scores, parts)


@functools.cache  # a submission may claim scores of thousands of seeds
def keys(tier: str) -> tuple[str, ...]:
    """List the scores that a tier's metrics return.

    Args:
        tier: its name.

    Returns:
        The keys of scores, in the order of the metrics, found by scoring codes of eight classes.
    """
    factors = np.stack(np.unravel_index(np.arange(128) % 8, (2, 4)), axis=1)
    return tuple(score_codes(factors.astype(np.float32), factors, protocol.tier(tier).measurements, train=64).scores)


def _rounded(part: NDArray[np.float64]) -> Any:
    """Round numbers to six decimals, those below 0.1 to six digits, as nested tuples."""
    if part.ndim > 1:
        return tuple(_rounded(row) for row in part)
    return tuple(round(x, 6) if abs(x) >= 0.1 else float(f"{x:.6g}") for x in part.tolist())


def versions(packages: Sequence[str] = ("offaxis", "numpy", "scipy", "scikit-learn", "numba")) -> dict[str, str]:
    """Return the versions of the packages that scores depend on.

    Args:
        packages: names of distributions.

    Returns:
        Name -> version, for those that are installed.
    """
    installed = {}
    for package in packages:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            installed[package] = importlib.metadata.version(package)
    return installed
