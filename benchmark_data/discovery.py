"""Find datasets, objectives and metrics in folders, by file name, without a registry. Internal.

Also lazy imports of a package's public names, so that a command's help needs no numpy.
"""

from __future__ import annotations

import importlib.util
import pkgutil
import reprlib
import sys
import traceback
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, TypeVar

from benchmark_data.errors import InvalidInput, OffaxisError, UnknownName

T = TypeVar("T")


def names(package: str) -> tuple[str, ...]:
    """List the public modules of a package folder, without importing them.

    Args:
        package: dotted name of the package, such as ``"benchmark_data.datasets"``.

    Returns:
        The module names in alphabetical order, without those that start with an underscore.

    Example:
        >>> "xysquares" in names("benchmark_data.datasets")
        True
    """
    folder = importlib.import_module(package).__path__
    return tuple(sorted(m.name for m in pkgutil.iter_modules(folder) if not m.name.startswith("_")))


def find(package: str, name: str, *, kind: str) -> ModuleType:
    """Import one module of a package folder.

    Args:
        package: dotted name of the package.
        name: the module's name.
        kind: the word for such a module in error messages: ``"dataset"``, ``"objective"``, ``"metric"``.

    Returns:
        The module.

    Raises:
        UnknownName: there is no such module; the message suggests the nearest name and lists all.
        InvalidInput: it cannot be imported.

    Example:
        >>> find("benchmark_data.datasets", "xysquare", kind="dataset")
        Traceback (most recent call last):
        ...
        benchmark_data.errors.UnknownName: dataset: expected one of ..., received 'xysquare'. Did you mean 'xysquares'?
    """
    is_loaded = f"{package}.{name}" in sys.modules  # a thousand configs need not list the folder a thousand times
    if (not is_loaded or name.startswith("_")) and name not in names(package):
        raise UnknownName(kind, name, names(package))
    # Of what another thread is importing, Python waits for the end.
    return call(f"{kind} {name}", importlib.import_module, f"{package}.{name}")


def call(
    what: str, code: Callable[..., T], *arguments: Any, returns: str = "", sound: Callable[[T], bool] | None = None
) -> T:
    """Call a function of a plug-in; its errors then name the plug-in.

    Args:
        what: the plug-in, such as ``"metric mig"``.
        code: the function.
        *arguments: its arguments.
        returns: what it should return, in words.
        sound: checks the returned value; False makes it an error.

    Returns:
        The returned value.

    Raises:
        InvalidInput: it raised an error other than the project's own or MemoryError, or the value is not ``sound``.
    """
    try:
        result = code(*arguments)
    except (OffaxisError, MemoryError):  # the latter is no fault of the code
        raise
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        raised = f"{type(error).__name__}: {error} (line {frame.lineno} of {frame.filename})"
        raise InvalidInput(f"{what}: its code raised {raised}. Correct the code.") from error
    if sound and not sound(result):
        received = reprlib.repr(result)
        raise InvalidInput(f"{what}: expected its code to return {returns}, received {received}. Correct the code.")
    return result


def on_demand(
    package: str, given: Mapping[str, tuple[str, ...]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return a package's ``__getattr__``, which imports names and submodules on first use, and ``__dir__`` (PEP 562).

    Args:
        package: the package's name.
        given: file -> the names that the package exports from it.

    Returns:
        The two functions.

    Example:
        >>> load, names = on_demand("benchmark_data", {"benchmark_data.factors": ("Factor",)})
        >>> load("Factor").__module__, "Factor" in names()
        ('benchmark_data.factors', True)
    """
    files = {name: file for file, exported in given.items() for name in exported}

    def get_attribute(name: str) -> Any:
        if name in files:
            value = getattr(importlib.import_module(files[name]), name)
        elif not name.startswith("_") and importlib.util.find_spec(f"{package}.{name}"):
            value = importlib.import_module(f"{package}.{name}")
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        setattr(sys.modules[package], name, value)  # next time without a call
        return value

    return get_attribute, lambda: sorted({*vars(sys.modules[package]), *files})
