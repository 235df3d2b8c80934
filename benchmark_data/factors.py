"""Factors of variation and the grids and tables that they span."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmark_data.errors import InvalidInput, UnknownName

if TYPE_CHECKING:
    from jaxtyping import Float64, Int64, Integer

__all__ = ["Factor", "FactorSpace", "FactorTable", "Indices", "Kind", "with_values"]

Kind: TypeAlias = Literal["categorical", "ordinal", "cyclic", "binary"]
Indices: TypeAlias = NDArray[np.int64]


@dataclasses.dataclass(frozen=True)
class Factor:
    """One generative factor: a name and the values it takes, in the order of their class ids.

    Args:
        name: the name, as records spell it: ``label_<name>`` and ``value_<name>``.
        values: the value of each class id, exactly as the source states it; NaN for a class that has none.
        kind: ``categorical`` (no order), ``ordinal`` (ordered), ``cyclic`` (ordered, the last value next to the first)
            or ``binary`` (off, on).
        unit: the unit of ``values``, such as ``"rad"`` or ``"px"``; empty where there is none.
        labels: the name of each class id, such as ``("square", "ellipse", "heart")``; by default the values.

    Raises:
        InvalidInput: no values, values that are not numbers, or labels that are not one for each value, all different.
        UnknownName: the kind is none of the four.

    Example:
        >>> Factor("shape", (1, 2, 3), "categorical", labels=("square", "ellipse", "heart")).size
        3
    """

    name: str
    values: Sequence[float]
    kind: Kind = "ordinal"
    unit: str = ""
    labels: Sequence[str] = ()

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "values", tuple(float(v) for v in self.values))
        except (TypeError, ValueError) as error:
            raise InvalidInput(
                f"factor {self.name!r}: expected numbers as values, received {self.values!r:.80}. Number them, and "
                "name them by labels: values=range(3), kind='categorical', labels=('square', 'ellipse', 'heart')."
            ) from error
        object.__setattr__(self, "labels", tuple(map(str, self.labels)) or _format_values(self.values))
        if not self.values:
            raise InvalidInput(f"factor {self.name!r}: expected at least one value, received none.")
        if len(self.labels) != len(self.values) or len(set(self.labels)) != len(self.labels):
            raise InvalidInput(
                f"factor {self.name!r}: expected {len(self.values)} labels, all different, received {len(self.labels)} "
                f"labels, {len(set(self.labels))} different. Give one label for each value."
            )
        if self.kind not in get_args(Kind):
            raise UnknownName(f"kind of factor {self.name!r}", self.kind, get_args(Kind))

    @property
    def size(self) -> int:
        """The number of values."""
        return len(self.values)

    @property
    def circle(self) -> int:
        """The number of class ids in one full turn of a cyclic factor.

        That is `size`, or one less where the last value is the first one again: dSprites' orientation ends at 2 pi.

        Example:
            >>> Factor("hue", (0.0, 0.25, 0.5, 0.75), "cyclic", "turn").circle
            4
            >>> Factor("hue", (0.0, 0.25, 0.5, 0.75, 1.0), "cyclic", "turn").circle
            4
        """
        return self.size - math.isclose(abs(self.values[-1] - self.values[0]), _TURNS.get(self.unit, math.nan))

    def as_json(self) -> dict[str, Any]:
        """Return the factor for JSON, which has no NaN: a value is None where a class has none."""
        return {
            "name": self.name,
            "kind": self.kind,
            "size": self.size,
            "unit": self.unit,
            "values": [None if math.isnan(value) else value for value in self.values],
            "labels": list(self.labels),
        }


def _format_values(values: Sequence[float]) -> tuple[str, ...]:
    """Write numbers: six digits of those that are not whole, or all of them where six do not tell them apart."""
    for digits in (6, 17):
        texts = tuple(str(int(v)) if v.is_integer() and abs(v) < 1e15 else f"{v:.{digits}g}" for v in values)
        if len(set(texts)) == len(texts):
            break
    return texts


class _BaseFactors:
    """What a grid and a table have in common: named, ordered factors."""

    factors: tuple[Factor, ...]

    def __len__(self) -> int:
        raise NotImplementedError

    @property
    def names(self) -> tuple[str, ...]:
        """The factors' names, in column order."""
        return tuple(f.name for f in self.factors)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of values of each factor, in column order."""
        return tuple(f.size for f in self.factors)

    def column(self, name: str) -> int:
        """Return the column of the factor called ``name``.

        Raises:
            UnknownName: there is no such factor.
        """
        if name not in self.names:
            raise UnknownName("factor", name, self.names)
        return self.names.index(name)

    def labels(self, indices: Integer[ArrayLike, " n"]) -> Int64[Indices, "n F"]:
        """Return the class ids of rows.

        Args:
            indices: rows, int, shape (n,), each in [0, len); none are no rows.

        Returns:
            int64, shape (n, F).

        Raises:
            InvalidInput: not integers, or there is no such row.
        """
        rows, valid = check_integers("rows", indices), self._row_numbers()
        if rows.size and (rows.min() < valid.start or rows.max() >= valid.stop):
            missing_row = int(rows[(rows < valid.start) | (rows >= valid.stop)][0])
            raise InvalidInput(f"rows: expected rows from {valid.start} to {valid.stop - 1}, received {missing_row}.")
        return self._labels(rows.astype(np.int64, copy=False))

    def _row_numbers(self) -> range:
        """Return the numbers of the rows that are there."""
        return range(len(self))

    def _labels(self, rows: Indices) -> Indices:
        """Return the class ids of rows, int64 (n,), that are there."""
        raise NotImplementedError

    def values(self, labels: Integer[ArrayLike, "n F"]) -> Float64[NDArray[np.float64], "n F"]:
        """Turn class ids into values.

        Args:
            labels: class ids, int, shape (n, F).

        Returns:
            float64, shape (n, F), in the units of each factor.

        Raises:
            InvalidInput: the shape is wrong or an id is out of range.
        """
        labels = self.checked(labels)
        columns = [np.asarray(f.values)[labels[:, i]] for i, f in enumerate(self.factors)]
        return np.stack(columns, axis=1) if columns else np.empty(labels.shape)

    def checked(self, labels: Integer[ArrayLike, "n F"]) -> Int64[Indices, "n F"]:
        """Check an array of class ids."""
        array = np.asarray(labels)
        if array.dtype.kind not in "iu" or array.ndim != 2 or array.shape[1] != len(self.factors):
            raise InvalidInput(
                f"factors: expected integer class ids of shape (n, {len(self.factors)}): {', '.join(self.names)}, "
                f"received {array.dtype} of shape {array.shape}."
            )
        for i, factor in enumerate(self.factors):
            low, high = (int(array[:, i].min()), int(array[:, i].max())) if len(array) else (0, 0)
            if low < 0 or high >= factor.size:
                raise InvalidInput(
                    f"factor {factor.name!r}: expected class ids in [0, {factor.size - 1}], received ids in [{low}, "
                    f"{high}]."
                )
        return array.astype(np.int64, copy=False)

    def index(self, labels: Integer[ArrayLike, "n F"]) -> Int64[Indices, " n"]:
        """Return the rows that hold the given class ids."""
        raise NotImplementedError

    def traverse(self, index: int, factor: str) -> Indices:
        """Return the rows that differ from row ``index`` in one factor only, through all its values in order.

        Args:
            index: a row.
            factor: the name of the factor to vary.

        Returns:
            int64, shape (size of the factor,).

        Raises:
            UnknownName: there is no such factor.
            InvalidInput: there is no such row, or combinations of values are missing or occur twice.

        Example:
            >>> FactorSpace(Factor("shape", range(3), "categorical"), Factor("x", range(4))).traverse(5, "x").tolist()
            [4, 5, 6, 7]
        """
        column = self.column(factor)
        rows = np.repeat(self.labels([index]), self.sizes[column], axis=0)
        rows[:, column] = np.arange(self.sizes[column])
        return self.index(rows)

    def part(self, rows: range) -> FactorTable:
        """Return the factors of some rows by themselves, with those of their values alone that occur there.

        Args:
            rows: rows that follow one another. They keep their numbers.

        Returns:
            A table of these rows; ``full`` if they are a full grid of the values that they hold. See `with_values`
            for cyclic factors.

        Raises:
            InvalidInput: no rows, or rows that are not there.

        Example:
            >>> space = FactorSpace(Factor("shape", range(3), "categorical"), Factor("x", range(4)))
            >>> part = space.part(range(4, 12))
            >>> part.sizes, part.full, part.labels([4, 11]).tolist(), part.index([[1, 3]]).tolist()
            ((2, 4), True, [[0, 0], [1, 3]], [11])
        """
        if not len(rows) or rows.step != 1:
            raise InvalidInput(f"rows of a part: expected one or more consecutive rows, received {rows!r}.")
        labels = self.labels(np.arange(rows.start, rows.stop))
        uniques = [np.unique(column, return_inverse=True) for column in labels.T]
        factors = [with_values(factor, ids.tolist()) for factor, (ids, _) in zip(self.factors, uniques, strict=True)]
        columns = [codes for _, codes in uniques]
        return _TablePart(*factors, rows=len(rows), read=functools.partial(np.stack, columns, axis=1), start=rows.start)

    def _flat_index(self, labels: Indices) -> Indices:
        return np.ravel_multi_index(tuple(labels.T), self.sizes).astype(np.int64, copy=False)


def with_values(factor: Factor, ids: Sequence[int]) -> Factor:
    """Return a factor with some of its values.

    Args:
        factor: the factor.
        ids: class ids to keep, ascending, at least one.

    Returns:
        The factor; a cyclic one is ordinal where the values do not go all the way round, evenly spaced.

    Example:
        >>> hue = Factor("hue", [i / 4 for i in range(4)], "cyclic", "turn")
        >>> with_values(hue, [0, 2]).kind, with_values(hue, [0, 1]).kind
        ('cyclic', 'ordinal')
    """
    values, labels = [factor.values[i] for i in ids], [factor.labels[i] for i in ids]
    kind: Kind = "ordinal" if factor.kind == "cyclic" and not _is_full_circle(factor, ids) else factor.kind
    return dataclasses.replace(factor, values=values, labels=labels, kind=kind)


def _is_full_circle(factor: Factor, ids: Sequence[int]) -> bool:
    """Whether values of a cyclic factor go all the way round, evenly spaced, so that the last is beside the first."""
    first, last = ids[0], ids[-1]
    turn = ids[:-1] if last - first == factor.circle else ids  # both ends of it are one value
    return len(set(np.diff(turn, append=first + factor.circle).tolist())) == 1


_TURNS = {"rad": 2 * math.pi, "deg": 360.0, "turn": 1.0}
"""Once round, by unit. Of a factor that has both ends of it, as dSprites' orientation, the last value is the first."""


class FactorSpace(_BaseFactors):
    """A full grid: every combination of the factors' values, the last factor varying fastest.

    Row ``i`` of the grid is ``numpy.unravel_index(i, sizes)``.

    Args:
        *factors: the factors, slowest first. Names must differ.

    Raises:
        InvalidInput: no factors, or two of the same name.

    Example:
        >>> space = FactorSpace(Factor("shape", range(3), "categorical"), Factor("x", range(4)))
        >>> space.sizes, len(space)
        ((3, 4), 12)
        >>> space.labels([5, 11]).tolist()
        [[1, 1], [2, 3]]
        >>> space.index([[1, 1], [2, 3]]).tolist()
        [5, 11]
    """

    full: ClassVar[bool] = True
    """Whether every combination of values has exactly one row."""

    def __init__(self, *factors: Factor) -> None:
        self.factors = factors
        if not factors or len(set(self.names)) != len(factors):
            raise InvalidInput(f"factors: expected one or more with different names, received {list(self.names)!r}.")

    def __repr__(self) -> str:
        return f"FactorSpace({', '.join(f'{f.name}={f.size}' for f in self.factors)})"

    def __len__(self) -> int:
        return math.prod(self.sizes)

    def _labels(self, rows: Indices) -> Indices:
        return np.stack(np.unravel_index(rows, self.sizes), axis=1).astype(np.int64, copy=False)

    def index(self, labels: Integer[ArrayLike, "n F"]) -> Int64[Indices, " n"]:
        """Return the rows that hold the given class ids.

        Args:
            labels: class ids, int, shape (n, F).

        Returns:
            int64, shape (n,).

        Raises:
            InvalidInput: the shape is wrong or an id is out of range.
        """
        return self._flat_index(self.checked(labels))


class FactorTable(_BaseFactors):
    """A plain table of labels, for data that is no full grid: attributes of photographs, say.

    Args:
        *factors: what the columns mean.
        rows: the number of rows, known without reading anything.
        read: called once, when class ids are first needed; returns all of them, int, shape (rows, F). A subclass that
            computes class ids in `_labels` passes ``self._all_labels``.

    Raises:
        InvalidInput: two factors of the same name.

    Example:
        >>> table = FactorTable(Factor("smiling", (0, 1), "binary"), rows=3, read=lambda: np.array([[0], [1], [0]]))
        >>> table.labels([1, 2]).tolist()
        [[1], [0]]
    """

    def __init__(self, *factors: Factor, rows: int, read: Callable[[], NDArray[np.integer]]) -> None:
        self.factors = factors
        if len(set(self.names)) != len(factors):
            raise InvalidInput(f"factors: expected different names, received {list(self.names)!r}.")
        self._row_count = rows
        self._read = read

    def __repr__(self) -> str:
        return f"FactorTable({', '.join(self.names)}, rows={len(self)})"

    def __len__(self) -> int:
        return self._row_count

    def __getstate__(self) -> dict[str, Any]:
        """Leave the table out: the process that unpickles this reads it again."""
        return {name: value for name, value in vars(self).items() if name not in ("_table", "_grid_rows", "full")}

    @functools.cached_property
    def _table(self) -> Indices:
        table = self.checked(self._read())
        if len(table) != len(self):
            raise InvalidInput(f"label table: expected {len(self)} rows, received {len(table)} rows.")
        return table

    def _labels(self, rows: Indices) -> Indices:
        return self._table[rows]

    def _all_labels(self) -> Indices:
        return self._labels(np.asarray(self._row_numbers(), np.int64))

    @functools.cached_property
    def full(self) -> bool:
        """Whether every combination of values has exactly one row: a full grid, whose rows have another order."""
        return math.prod(self.sizes) == len(self) and len(np.unique(self._flat_index(self._table))) == len(self)

    def index(self, labels: Integer[ArrayLike, "n F"]) -> Int64[Indices, " n"]:
        """Return the rows that hold the given class ids, of a table that is full; see `FactorSpace.index`.

        Example:
            >>> table = FactorTable(Factor("x", (0, 1)), rows=2, read=lambda: np.array([[1], [0]]))
            >>> table.index([[0], [1], [0]]).tolist()
            [1, 0, 1]
        """
        if not self.full:
            raise InvalidInput(f"label table: expected each combination of values once, received {self!r}.")
        return self._grid_rows[self._flat_index(self.checked(labels))]

    @functools.cached_property
    def _grid_rows(self) -> Indices:
        """The row of each combination, in the order of a grid."""
        return np.argsort(self._flat_index(self._table)).astype(np.int64, copy=False)


class _TablePart(FactorTable):
    """Some rows of another table, which keep their numbers."""

    def __init__(self, *factors: Factor, rows: int, read: Callable[[], NDArray[np.integer]], start: int) -> None:
        super().__init__(*factors, rows=rows, read=read)
        self._start = start

    def _row_numbers(self) -> range:
        return range(self._start, self._start + len(self))

    def _labels(self, rows: Indices) -> Indices:
        return super()._labels(rows - self._start)

    def index(self, labels: Integer[ArrayLike, "n F"]) -> Int64[Indices, " n"]:
        return super().index(labels) + self._start


def check_integers(what: str, indices: object) -> NDArray[np.integer]:
    """Check that a selection of rows is a list of integers. Which rows there are is for the caller to say.

    Example:
        >>> check_integers("rows", range(2, 5)).tolist()
        [2, 3, 4]
    """
    try:
        array = np.asarray(indices)
    except ValueError as error:  # lists of different lengths
        raise InvalidInput(f"{what}: expected integers of shape (n,), received {error}.") from error
    if array.shape == (0,):
        return np.empty(0, np.int64)
    if array.ndim == 1 and array.dtype.kind in "iu":
        return array
    received, remedy = f"{array.dtype} of shape {array.shape}", "Pass a list, a range or an array of integers."
    if isinstance(indices, slice):
        received, remedy = repr(indices), "Pass range(start, stop, step)."
    elif array.dtype == bool:
        received, remedy = f"a mask of shape {array.shape}", "Pass numpy.flatnonzero(mask)."
    elif array.dtype.kind in "iu":
        remedy = "For one image, pass a list of one row." if array.ndim == 0 else "Pass rows.ravel()."
    elif array.dtype.kind == "f":
        remedy = "Round and cast them to int64."
    raise InvalidInput(f"{what}: expected integers of shape (n,), received {received}. {remedy}")
