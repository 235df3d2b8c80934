"""The errors that a user can cause: what is wrong, and what to do.

Every command prints them as one line without a traceback and exits with status 2.
"""

from __future__ import annotations

import difflib
import importlib.util
import numbers
from collections.abc import Callable, Iterable

__all__ = ["DamagedFile", "InvalidInput", "MissingExtra", "OffaxisError", "Unavailable", "UnknownName"]


class OffaxisError(Exception):
    """An error that the user can fix.

    Args:
        message: what is wrong and what to do, in one or two sentences.

    Example:
        >>> print(OffaxisError("codes must be a 2-d array, not of shape (3,). Reshape them to (n, 1)."))
        codes must be a 2-d array, not of shape (3,). Reshape them to (n, 1).
    """

    def __init__(self, message: str) -> None:
        super().__init__(printable(message.rstrip()))

    def __str__(self) -> str:
        return str(self.args[0])

    def __reduce__(self) -> tuple[Callable[..., OffaxisError], tuple[object, ...]]:
        return _restore_error, (type(self), str(self))  # the arguments of a subclass are not its message


def _restore_error(kind: type[OffaxisError], message: str) -> OffaxisError:
    """Make an error again in another process."""
    error = kind.__new__(kind, message)
    OffaxisError.__init__(error, message)
    return error


def printable(text: str) -> str:
    r"""Return text with all that could move a terminal or turn the direction of writing spelled out.

    Everything that may hold a stranger's words goes through here before it is printed or put into a report: messages of
    errors, and what `benchmark_data.console` prints.

    Args:
        text: any text. Line feeds stay.

    Returns:
        The same where it is harmless, in any script.

    Example:
        >>> print(printable("caf\u00e9 \x1b[2J \u202e"))
        café \x1b[2J \u202e
    """
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() or letter == "\n" else ascii(letter)[1:-1] for letter in text)


class InvalidInput(OffaxisError, ValueError):
    """A value, shape, dtype or selection that cannot be used."""


class UnknownName(OffaxisError, LookupError):
    """An unknown name. The message suggests the closest match and lists the choices, or the closest of many."""

    LISTED = 24

    def __init__(self, kind: str, name: object, names: Iterable[str], remedy: str = "") -> None:
        names = sorted(names)
        # Such as dci of dci.disentanglement.
        prefixes = (match for match in names if str(name).startswith(f"{match}."))
        similar = [*prefixes, *(match for match in nearest(str(name), names, count=2, cutoff=0.5) if match != name)]
        listed = names if len(names) <= self.LISTED else nearest(str(name), names, count=8, cutoff=0)
        more = f" and {len(names) - len(listed)} more" if len(listed) < len(names) else ""
        hint = remedy or (f"Did you mean {similar[0]!r}?" if similar else "")
        super().__init__(f"{kind}: expected one of {', '.join(listed) or '(none)'}{more}, received {name!r}. {hint}")


def nearest(name: str, names: Iterable[str], *, count: int, cutoff: float) -> list[str]:
    """Find the names that are most similar to a name, ignoring case.

    Args:
        name: the name that was received.
        names: the names to choose from.
        count: the maximum number of names.
        cutoff: the minimum similarity, from 0 (nothing in common) to 1 (equal except for case).

    Returns:
        The names, the most similar first.

    Example:
        >>> nearest("posx", ["posY", "posX", "shape"], count=2, cutoff=0.5)
        ['posX', 'posY']
    """
    by_folded = {candidate.casefold(): candidate for candidate in names}
    return [by_folded[match] for match in difflib.get_close_matches(name.casefold(), by_folded, count, cutoff)]


class OffaxisWarning(UserWarning):
    """What a user should look at, though it stops nothing. Commands print it in one line."""


class DamagedFile(OffaxisError):
    """A file or folder on disk that does not hold what it should."""


class Unavailable(OffaxisError):
    """Data that is not on this machine: an archive that was not prepared, or that no mirror provides."""


class MissingExtra(OffaxisError, ImportError):
    """An optional dependency that is not installed: part of an extra, or a package of its own."""

    def __init__(self, feature: str, package: str, extra: str = "") -> None:
        install = f"'offaxis[{extra}]'" if extra else package
        super().__init__(
            f"{feature}: expected the package {package}, received no such package. "
            f"Install it with: pip install {install}"
        )


def is_whole(value: object) -> bool:
    """Return whether something is an integer, of Python or numpy.

    Args:
        value: anything.

    Returns:
        True for integers; False for all else, and for True and False.

    Example:
        >>> import numpy as np
        >>> is_whole(20), is_whole(np.int64(20)), is_whole(20.0), is_whole("20"), is_whole(True)
        (True, True, False, False, False)
    """
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def check_count(what: str, count: int, least: int) -> None:
    """Refuse what is no number of things, such as bins, or too few of them.

    Args:
        what: the argument's name.
        count: an integer.
        least: how many there must be.

    Raises:
        InvalidInput: no integer, or fewer.

    Example:
        >>> check_count("bins", 20.0, 2)
        Traceback (most recent call last):
        ...
        benchmark_data.errors.InvalidInput: bins: expected an integer, at least 2, received 20.0...
    """
    if not is_whole(count):
        raise InvalidInput(f"{what}: expected an integer, at least {least}, received {count!r}.")
    if count < least:
        raise InvalidInput(f"{what}: expected at least {least}, received {count}.")


def check_choice(what: str, choice: object, known: tuple[str, ...]) -> None:
    """Refuse what is none of some words.

    Args:
        what: the argument's name.
        choice: what was given.
        known: the words.

    Raises:
        InvalidInput: it is another one.

    Example:
        >>> check_choice("pooling", "least", ("average", "greatest"))
        Traceback (most recent call last):
        ...
        benchmark_data.errors.InvalidInput: pooling: expected 'average' or 'greatest', received 'least'.
    """
    if choice not in known:
        raise InvalidInput(f"{what}: expected {' or '.join(map(repr, known))}, received {choice!r}.")


def needs(feature: str, extra: str, *modules: str) -> None:
    """Check that modules of an extra are installed, without loading them.

    Args:
        feature: what needs them, for the message.
        extra: the extra that brings them; empty where they are asked for by themselves.
        *modules: the names of packages, as they are imported; to look for a module within one would load it.

    Raises:
        MissingExtra: one of them is not there; the message says what to install.

    Example:
        >>> needs("arithmetic", "sums", "math")
        >>> needs("arithmetic", "sums", "abacus")
        Traceback (most recent call last):
        ...
        benchmark_data.errors.MissingExtra: arithmetic: expected the package abacus, received no such package. Install
        it with: pip install 'offaxis[sums]'
    """
    for module in modules:
        if importlib.util.find_spec(module) is None:
            raise MissingExtra(feature, _DISTRIBUTIONS.get(module, module), extra)


_DISTRIBUTIONS = {"sklearn": "scikit-learn", "yaml": "pyyaml"}
"""What a package is called where it is installed from, if that is not what is imported."""
