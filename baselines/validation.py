"""Check the fields of a frozen dataclass: the types of its annotations, and known names. Internal."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import operator
import typing
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from benchmark_data.errors import InvalidInput, UnknownName

T = TypeVar("T")

_TYPE_NAMES = {int: "an integer", float: "a number", str: "a string", bool: "true or false"}


def build(cls: type[T], values: Mapping[str, Any], *, kind: str) -> T:
    """Make an instance of a dataclass from plain values, such as those from JSON.

    Args:
        cls: a dataclass. Fields annotated int, float, str or bool are checked here; others by the class.
        values: field name -> value. Missing fields keep their defaults.
        kind: the word for a field in error messages.

    Returns:
        The instance.

    Raises:
        UnknownName: there is no such field; the message suggests the nearest name and lists all.
        InvalidInput: a value has the wrong type, is not finite, or a field without default is missing.

    Example:
        >>> from baselines.objectives.beta_vae import OBJECTIVE
        >>> build(OBJECTIVE, {"beta": 2}, kind="hyperparameter of beta_vae")
        OBJECTIVE(beta=2.0)
        >>> build(OBJECTIVE, {"bta": 2}, kind="hyperparameter of beta_vae")
        Traceback (most recent call last):
        ...
        benchmark_data.errors.UnknownName: hyperparameter of beta_vae: expected one of beta, received 'bta'.
        Did you mean 'beta'?
    """
    fields = {f.name: f for f in dataclasses.fields(cls)}  # type: ignore[arg-type]
    for name in values:
        if name not in fields:
            raise UnknownName(kind, name, fields)
    for name, field in fields.items():
        if name not in values and field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise InvalidInput(f"{kind}: expected a value for {name!r}, received none.")
    field_types = types(cls)  # type: ignore[arg-type]
    return cls(**{name: typed(f"{kind} {name!r}", value, field_types[name]) for name, value in values.items()})


@functools.cache
def types(cls: type) -> dict[str, Any]:
    """Return the types in a dataclass's annotations, by field."""
    return typing.get_type_hints(cls)


def typed(what: str, value: Any, wanted: Any) -> Any:
    """Check the type of a plain value; integers are accepted as floats, and numpy's scalars as Python's.

    Args:
        what: what the value is, for the message.
        value: the value.
        wanted: int, float, str or bool; any other type is not checked here.

    Returns:
        The value as a Python type, as a float if ``wanted`` is float.

    Raises:
        InvalidInput: the type is wrong, or the number is not finite.

    Example:
        >>> typed("beta", np.int64(4), float)
        4.0
    """
    if wanted not in _TYPE_NAMES:
        return value
    if isinstance(value, np.generic):
        value = value.item()
    if wanted is float and type(value) is int:
        value = float(value) if abs(value) < 2**1023 else math.inf
    if type(value) is not wanted or (wanted is float and not math.isfinite(value)):
        raise InvalidInput(f"{what}: expected {_TYPE_NAMES[wanted]}, received {value!r}.")
    return value + 0.0 if wanted is float else value  # -0.0 becomes 0.0, whose run is the same


_LIMITS: dict[str, tuple[str, Callable[[float, float], bool]]] = {
    "least": ("at least {:.9g}", operator.ge),
    "most": ("at most {:.9g}", operator.le),
    "above": ("more than {:.9g}", operator.gt),
}


def within(what: str, value: float, **limits: float) -> None:
    """Check a number against its limits.

    Args:
        what: what the value is, for the message.
        value: the value.
        **limits: ``least`` and ``most``, inclusive, or ``above``, exclusive.

    Raises:
        InvalidInput: the value is outside the limits, or NaN.

    Example:
        >>> within("share", 1.5, least=0, most=1)
        Traceback (most recent call last):
        ...
        benchmark_data.errors.InvalidInput: share: expected at most 1, received 1.5.
    """
    for name, limit in limits.items():
        template, is_within = _LIMITS[name]
        if not is_within(value, limit):
            expected = "a positive number" if (name, limit) == ("above", 0) else template.format(limit)
            raise InvalidInput(f"{what}: expected {expected}, received {value}.")


def seed(value: Any) -> int:
    """Check a seed.

    Args:
        value: the seed.

    Returns:
        An integer in [0, 2**63), as records hold it.

    Raises:
        InvalidInput: it is not an integer, or out of range.
    """
    number: int = typed("seed", value, int)
    within("seed", number, least=0)
    if number >= 2**63:
        raise InvalidInput(f"seed: expected less than 2**63, received {number}.")
    return number


def setting(option: str, text: str) -> tuple[str, Any]:
    """Parse a key and a value from the command line.

    Args:
        option: the option, for the message.
        text: such as ``beta=4`` or ``architecture=fc``.

    Returns:
        The key, and the value decoded from JSON, or else the text itself.

    Raises:
        InvalidInput: there is no key or no equals sign.

    Example:
        >>> setting("--set", "beta=4"), setting("--set", "architecture=fc")
        (('beta', 4), ('architecture', 'fc'))
    """
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise InvalidInput(f"{option}: expected KEY=VALUE, received {text!r}.")
    try:
        return key, json.loads(value)
    except (ValueError, RecursionError):
        return key, value
