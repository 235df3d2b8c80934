"""Factors, the grids that they span, and plain tables of labels."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import benchmark_data
from benchmark_data import Factor, FactorSpace, FactorTable, InvalidInput, UnknownName

SPACE = FactorSpace(
    Factor("shape", (1, 2, 3), "categorical", labels=("square", "ellipse", "heart")),
    Factor("angle", (0, math.pi), "cyclic", unit="rad"),
    Factor("x", np.linspace(0, 1, 4).tolist()),
)


def test_a_factor_is_what_it_was_told():
    factor = SPACE.factors[0]
    assert (factor.name, factor.kind, factor.unit, factor.size) == ("shape", "categorical", "", 3)
    assert factor.values == (1.0, 2.0, 3.0)
    assert factor.labels == ("square", "ellipse", "heart")
    assert SPACE.factors[2].kind == "ordinal"


def test_labels_are_the_values_by_default():
    assert Factor("x", (0, 0.5, 1e-3)).labels == ("0", "0.5", "0.001")
    assert Factor("x", (1, 1 / 3, math.nan)).labels == ("1", "0.333333", "nan")


def test_labels_that_are_numbers_are_written_out():
    assert Factor("x", (0, 1), labels=np.array([5, 6])).as_json()["labels"] == ["5", "6"]


def test_labels_of_close_values_differ():
    assert Factor("x", (999_999, 1_000_000, 1_000_001)).labels == ("999999", "1000000", "1000001")
    assert Factor("x", (0, 1_000_000.25, 1_000_000.5)).labels == ("0", "1000000.25", "1000000.5")
    assert Factor("x", range(10**6, 10**6 + 3_000)).labels[-1] == "1002999"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (((),), "factor 'x': expected at least one value, received none"),
        (((1, 2), "ordinal", "", ("a",)), "expected 2 labels, all different, received 1 labels, 1 different"),
        (((1, 2), "ordinal", "", ("a", "a")), "expected 2 labels, all different, received 2 labels, 1 different"),
        (((1, 1),), "expected 2 labels, all different, received 2 labels, 1 different"),
        ((("red", "green"),), r"expected numbers as values, received \('red', 'green'\). Number them, and name"),
        ((5,), "expected numbers as values, received 5"),
    ],
)
def test_a_factor_that_makes_no_sense(arguments, message):
    with pytest.raises(InvalidInput, match=message):
        Factor("x", *arguments)


def test_an_unknown_kind_gives_the_near_match():
    with pytest.raises(UnknownName, match=r"kind of factor 'x': expected one of .* Did you mean 'cyclic'\?"):
        Factor("x", (1, 2), "cyclical")


def test_factors_compare_by_value():
    assert Factor("x", [0, 1]) == Factor("x", (0.0, 1.0))
    assert Factor("x", [0, 1]) != Factor("x", [0, 2])


def test_the_last_factor_varies_fastest():
    assert SPACE.sizes == (3, 2, 4)
    assert len(SPACE) == 24
    assert SPACE.labels([0, 1, 4, 8, 23]).tolist() == [[0, 0, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0], [2, 1, 3]]
    assert SPACE.labels(range(24)).dtype == np.int64
    assert repr(SPACE) == "FactorSpace(shape=3, angle=2, x=4)"


sizes = st.lists(st.integers(1, 9), min_size=1, max_size=5)


@given(sizes, st.data())
@settings(max_examples=50, deadline=None)
def test_index_and_labels_are_inverse(sizes, data):
    space = FactorSpace(*(Factor(f"f{i}", range(n)) for i, n in enumerate(sizes)))
    rows = np.array(data.draw(st.lists(st.integers(0, len(space) - 1), min_size=1, max_size=20)))
    labels = space.labels(rows)
    assert np.array_equal(space.index(labels), rows)
    assert np.array_equal(rows, labels @ np.append(np.cumprod(sizes[:0:-1])[::-1], 1))


def test_values_are_those_of_the_class_ids():
    assert SPACE.values([[2, 1, 3], [0, 0, 1]]) == pytest.approx(np.array([[3, math.pi, 1], [1, 0, 1 / 3]]))


def test_traverse_changes_one_factor():
    rows = SPACE.traverse(23, "angle")
    assert SPACE.labels(rows).tolist() == [[2, 0, 3], [2, 1, 3]]
    assert SPACE.traverse(0, "shape").tolist() == [0, 8, 16]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (
            [[0, 0]],
            r"factors: expected integer class ids of shape \(n, 3\): shape, angle, x, received int64 of shape \(1, 2\)",
        ),
        ([0, 0, 0], r"received int64 of shape \(3,\)"),
        ([[0.0, 0, 0]], r"received float64 of shape \(1, 3\)"),
        ([[0, 2, 0]], r"factor 'angle': expected class ids in \[0, 1\], received ids in \[2, 2\]"),
        ([[0, 0, 1], [0, 0, -1]], r"factor 'x': expected class ids in \[0, 3\], received ids in \[-1, 1\]"),
    ],
)
@pytest.mark.parametrize("ask", ["index", "values", "checked"])
def test_bad_class_ids(labels, message, ask):
    with pytest.raises(InvalidInput, match=message):
        getattr(SPACE, ask)(labels)


@pytest.mark.parametrize("row", [-1, 6, 10**9])
@pytest.mark.parametrize("table", [False, True])
def test_a_row_that_is_not_there(row, table):
    space = FactorSpace(Factor("a", range(2)), Factor("b", range(3)))
    known = FactorTable(*space.factors, rows=6, read=lambda: space.labels(np.arange(6))) if table else space
    with pytest.raises(InvalidInput, match=f"rows: expected rows from 0 to 5, received {row}"):
        known.labels([0, row])
    if not table:
        with pytest.raises(InvalidInput, match="rows: expected rows from 0 to 5"):
            space.traverse(row, "a")


@pytest.mark.parametrize("name", ["xyobject", "xyobject/plain.composition", "solids", "solids_dsprites"])
def test_every_space_checks_rows_alike(name):
    """A grid, a divided dataset, a table, a pair."""
    space = benchmark_data.load(name).space
    count = len(space)
    assert space.labels([count - 1]).shape == (1, len(space.factors))
    assert space.labels([]).shape == (0, len(space.factors))
    for rows, message in (
        ([-1], f"rows from 0 to {count - 1}, received -1"),
        ([0, count], f"rows from 0 to {count - 1}, received {count}"),
        ([1.9], r"integers of shape \(n,\), received float64 of shape \(1,\)"),
        ([True], r"integers of shape \(n,\), received a mask of shape \(1,\)"),
        ([[0]], r"integers of shape \(n,\), received int64 of shape \(1, 1\)"),
    ):
        with pytest.raises(InvalidInput, match=f"rows: expected {message}"):
            space.labels(rows)


def test_a_part_keeps_the_numbers_of_its_rows():
    part = FactorSpace(Factor("a", range(2)), Factor("b", range(3))).part(range(2, 5))
    assert pickle.loads(pickle.dumps(part)).labels([2]).tolist() == [[0, 2]]  # noqa: S301
    assert part.labels([2, 4]).tolist() == [[0, 2], [1, 1]]
    for row in (1, 5, -1):
        with pytest.raises(InvalidInput, match=f"rows: expected rows from 2 to 4, received {row}"):
            part.labels([row])


def test_an_unknown_factor_gives_the_near_match():
    for ask in (SPACE.column, lambda name: SPACE.traverse(0, name)):
        with pytest.raises(UnknownName, match=r"factor: expected one of angle, shape, x, received 'shap'.* 'shape'\?"):
            ask("shap")


@pytest.mark.parametrize("factors", [(), (Factor("x", (1,)), Factor("x", (1, 2)))])
def test_a_space_needs_factors_with_different_names(factors):
    with pytest.raises(InvalidInput, match="factors: expected one or more with different names"):
        FactorSpace(*factors)


def test_a_table_needs_different_names_too():
    with pytest.raises(InvalidInput, match=r"factors: expected different names, received \['x', 'x'\]"):
        FactorTable(Factor("x", (0, 1)), Factor("x", (0, 1)), rows=1, read=lambda: np.array([[0, 1]]))


def test_a_table_is_read_once_and_only_when_asked():
    reads = []

    def read():
        reads.append(1)
        return np.array([[0, 1], [1, 0], [1, 1]], np.int16)

    table = FactorTable(Factor("a", (0, 1), "binary"), Factor("b", (0, 1), "binary"), rows=3, read=read)
    assert len(table) == 3
    assert table.names == ("a", "b")
    assert repr(table) == "FactorTable(a, b, rows=3)"
    assert not reads
    assert table.labels([2, 0]).tolist() == [[1, 1], [0, 1]]
    assert table.labels([1]).dtype == np.int64
    assert len(reads) == 1


def test_a_part_has_the_values_that_occur_there_and_the_rows_of_the_whole():
    squares = SPACE.part(range(8))
    assert (squares.sizes, len(squares), squares.full) == ((1, 2, 4), 8, True)
    assert squares.factors[0].labels == ("square",)
    rest = SPACE.part(range(8, 24))
    assert (rest.sizes, rest.full, rest.factors[0].values) == ((2, 2, 4), True, (2.0, 3.0))
    rows = np.arange(8, 24)
    np.testing.assert_array_equal(rest.index(rest.labels(rows)), rows)
    np.testing.assert_array_equal(rest.values(rest.labels(rows)), SPACE.values(SPACE.labels(rows)))
    assert not SPACE.part(range(6)).full, "a square at the second angle has two places of four"
    half = SPACE.part(range(4))
    assert half.sizes == (1, 1, 4)
    for wrong in (range(7, 8), range(24, 25)):
        with pytest.raises(InvalidInput, match="rows: expected rows from"):
            rest.labels(wrong)
    for wrong in (range(3, 3), range(0, 8, 2)):
        with pytest.raises(InvalidInput, match="rows of a part: expected one or more consecutive rows"):
            SPACE.part(wrong)


def test_a_circle_may_go_backwards():
    assert [Factor("turn", values, "cyclic", "deg").circle for values in (range(0, 361, 90), range(360, -1, -90))] == [
        4,
        4,
    ]


def test_a_part_of_a_circle_is_a_line_there():
    space = FactorSpace(Factor("hue", [i / 4 for i in range(4)], "cyclic", "turn"), Factor("x", range(2)))
    assert [space.part(rows).factors[0].kind for rows in (range(8), range(4))] == ["cyclic", "ordinal"]


def test_a_table_with_every_combination_once_is_a_grid_in_another_order():
    grid = FactorSpace(Factor("a", (0, 1)), Factor("b", (0, 1, 2)))
    rows = np.random.default_rng(0).permutation(6)
    table = FactorTable(*grid.factors, rows=6, read=lambda: grid.labels(rows))
    assert grid.full
    assert table.full
    assert table.index(table.labels(range(6))).tolist() == list(range(6))
    assert [table.labels(table.traverse(2, name)).tolist() for name in ("a", "b")] == [
        [[a, table.labels([2])[0, 1]] for a in range(2)],
        [[table.labels([2])[0, 0], b] for b in range(3)],
    ]
    twice = FactorTable(*grid.factors, rows=6, read=lambda: grid.labels([0, 1, 2, 3, 4, 4]))
    some = FactorTable(*grid.factors, rows=5, read=lambda: grid.labels(range(5)))
    for lacking in (twice, some):
        assert not lacking.full
        with pytest.raises(InvalidInput, match="label table: expected each combination of values once, received Fac"):
            lacking.index([[0, 0]])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([[0], [1]], "label table: expected 3 rows, received 2 rows"),
        ([[0], [1], [2]], r"factor 'a': expected class ids in \[0, 1\]"),
        ([[0.0], [1], [1]], "expected integer class ids"),
    ],
)
def test_a_table_that_does_not_fit(content, message):
    table = FactorTable(Factor("a", (0, 1), "binary"), rows=3, read=lambda: np.array(content))
    with pytest.raises(InvalidInput, match=message):
        table.labels([0])
