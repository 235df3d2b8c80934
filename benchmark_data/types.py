"""The parts of every dataset: images, further arrays, and the source of both."""

from __future__ import annotations

import abc
import reprlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from benchmark_data.errors import InvalidInput, UnknownName
from benchmark_data.factors import Indices

__all__ = ["Estimate", "Extra", "Pixels", "ReadOnly", "Source"]

K = TypeVar("K")
V = TypeVar("V")

Pixels: TypeAlias = NDArray[np.uint8]
"""Pixels in [0, 255], shape (n, H, W, C)."""


class ReadOnly(dict[K, V]):
    """A dictionary that cannot be changed: the whole process shares datasets, and a digest stands for a config.

    Example:
        >>> ReadOnly({"spacing": 4}).update(spacing=5)
        Traceback (most recent call last):
        ...
        benchmark_data.errors.InvalidInput: expected no change of {'spacing': 4}; dataclasses.replace makes a copy ...
    """

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        received = reprlib.repr(dict(self))
        raise InvalidInput(f"expected no change of {received}; dataclasses.replace makes a copy with other values.")

    __setitem__ = __delitem__ = __ior__ = update = pop = popitem = clear = setdefault = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (dict(self),)


class Extra(NamedTuple):
    """An array of a dataset in addition to images and factors: rotations, rows of a base dataset.

    ``shape`` is the shape of one row, without the row axis; ``dtype`` a numpy name; ``meaning`` a phrase.
    """

    shape: tuple[int, ...]
    dtype: str
    meaning: str


class Estimate(NamedTuple):
    """A number with its 95% interval. All are NaN where nothing is defined.

    Attributes:
        value: the estimate.
        low: lower end of the interval.
        high: upper end.
    """

    value: float
    low: float
    high: float


class Source(abc.ABC):
    """Where a dataset's pixels come from: the base class of all sources.

    A source returns images by row. One that must fetch them first reports so in `ready` and does it in `prepare`;
    `extras` names further arrays, and `extra` returns them.
    """

    @property
    def ready(self) -> bool:
        """Whether images can be read now."""
        return True

    @property
    def extras(self) -> Mapping[str, Extra]:
        """Further arrays, by name."""
        return {}

    @abc.abstractmethod
    def images(self, indices: Indices, labels: Indices) -> Pixels:
        """Return images.

        Every source gets both arguments: a renderer uses the labels, an archive the indices.

        Args:
            indices: rows of the dataset, int64, shape (n,), already checked.
            labels: their class ids, int64, shape (n, F).

        Returns:
            uint8, shape (n, H, W, C).
        """

    def extra(self, name: str, indices: Indices) -> NDArray[Any]:
        """Return rows of a further array.

        Args:
            name: one of `extras`.
            indices: rows of the dataset, int64, shape (n,), already checked.

        Returns:
            Shape (n, *shape), of the extra's dtype.

        Raises:
            UnknownName: the source has no such array.
        """
        raise UnknownName("extra array", name, self.extras)

    def prepare(self, *, manual_dir: Path | None = None, keep_downloads: bool = True) -> None:  # noqa: B027  a default
        """Make images available, where they are not. Does nothing by default.

        Args:
            manual_dir: a folder with the user's own copies of source files.
            keep_downloads: keep what was downloaded.
        """
