"""Split rules against the published definitions, restated here in numpy on the datasets' own values."""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import pytest

import benchmark_data
from benchmark_data import draws, parallel
from benchmark_data.errors import InvalidInput, UnknownName
from benchmark_data.factors import Factor, FactorSpace
from benchmark_data.splits import _schott2022, composition, correlated, holdout, interpolation, recombination

GRIDS = {"dsprites": 0.2, "shapes3d": 0.15, "mpi3d/real": 0.1}
"""Schott et al.: dataset -> the share of each factor's values that is held out."""

KEPT = {"dsprites": ["shape"], "shapes3d": ["shape"], "mpi3d/real": ["object_shape", "object_size"]}
"""The factors all of whose values are in both parts."""


def held(name):
    space = benchmark_data.load(name).space
    return [(i, f.size) for i, f in enumerate(space.factors) if f.name not in KEPT[name]]


def every_label(name):
    space = benchmark_data.load(name).space
    return space.labels(np.arange(len(space)))


def any_of(labels, values):
    return np.any([np.isin(labels[:, column], ids) for column, ids in values.items()], axis=0)


@pytest.mark.parametrize("name", GRIDS)
def test_extrapolation_holds_out_the_last_values(name):
    test = any_of(every_label(name), {c: range(n - math.ceil(n * GRIDS[name]), n) for c, n in held(name)})
    np.testing.assert_array_equal(benchmark_data.split(name, "extrapolation").test, np.flatnonzero(test))


@pytest.mark.parametrize("name", GRIDS)
def test_interpolation_holds_out_values_between(name):
    """Of n values those stay that are nearest to points which numpy spreads evenly, rounded as numpy rounds."""
    values = {}
    for column, n in held(name):
        points = np.round(np.linspace(0, n - 1, n - math.ceil(n * GRIDS[name]))).astype(int)
        values[column] = sorted(set(range(n)) - set(points.tolist()))
        assert 0 not in values[column]
        assert n - 1 not in values[column]
    test = any_of(every_label(name), values)
    np.testing.assert_array_equal(benchmark_data.split(name, "interpolation").test, np.flatnonzero(test))


@pytest.mark.parametrize("name", GRIDS)
def test_composition_trains_where_a_factor_has_one_of_its_first_values(name):
    columns = held(name)
    part = 1 - (1 - (1 - GRIDS[name]) ** len(columns)) ** (1 / len(columns))
    train = any_of(every_label(name), {c: range(math.floor(n * part)) for c, n in columns})
    np.testing.assert_array_equal(benchmark_data.split(name, "composition").train, np.flatnonzero(train))


@pytest.mark.parametrize(
    ("name", "train"),
    # By hand: the product of the values that stay, such as 3 shapes, 4 of 6 scales, 32 of 40 and 25 of 32, twice.
    [("dsprites", 3 * 4 * 32 * 25**2), ("shapes3d", 8**3 * 6 * 4 * 12), ("mpi3d/real", 5 * 6 * 2 * 2 * 2 * 36**2)],
)
def test_counts_are_those_that_the_benchmarks_own_test_asks_of_the_published_files(name, train):
    """InDomainGeneralizationBenchmark, test_load_dataset.py: disjoint, complete, about 70% for testing."""
    total = len(benchmark_data.load(name))
    for rule in ("random", "interpolation", "extrapolation"):
        found = benchmark_data.split(name, rule)
        assert (len(found.train), len(found.test)) == (train, total - train)
        assert (round(len(found.test) / total, 1), round(len(found.train) / total, 1)) == (0.7, 0.3)


def test_a_stand_in_is_divided_as_the_original():
    for rule in ("composition", "recombination.to_range"):
        assert benchmark_data.split("room3d", rule).digests == benchmark_data.split("shapes3d", rule).digests


def test_in_composition_every_value_is_seen_in_training():
    labels = every_label("dsprites")[benchmark_data.split("dsprites", "composition").train]
    assert [len(np.unique(column)) for column in labels.T] == [3, 6, 40, 32, 32]


@pytest.mark.parametrize("sizes", [(6, 39, 4, 4), (2, 30), (3, 3)])
def test_in_composition_every_value_is_seen_where_only_one_factor_is_large(sizes):
    space = FactorSpace(*(Factor(f"f{i}", range(size)) for i, size in enumerate(sizes)))
    labels = space.labels(composition.divide(space).train)
    assert tuple(len(np.unique(column)) for column in labels.T) == sizes


def test_composition_needs_two_factors_with_an_order():
    for other in (Factor("one", [0]), Factor("kind", range(3), "categorical")):
        with pytest.raises(InvalidInput, match="expected two or more factors with an order"):
            composition.divide(FactorSpace(Factor("x", range(6)), other))


def test_where_no_factor_would_keep_a_value_each_keeps_its_first():
    space = benchmark_data.load("xysquares").space
    assert _schott2022.composed(space) == {column: [0] for column in range(6)}
    assert len(composition.divide(space).test) == 7**6


@pytest.mark.parametrize("size", range(2, 60))
def test_exact_fractions_round_as_numpy_does(size):
    """`interpolated` works with fractions, so that no machine's arithmetic decides; numpy's halves go to even, too."""
    space = FactorSpace(Factor("x", range(size)))
    q = _schott2022.held_out_share((size,))
    kept = max(1, size - math.ceil(size * q))
    points = {int(point) for point in np.round(np.linspace(0, size - 1, kept))} if kept > 1 else {0}
    assert set(_schott2022.interpolated(space)[0]) == set(range(size)) - points
    assert len(interpolation.divide(space).train) == kept


# Montero et al. 2021: the conditions of the published code (scripts/configs/datasplits.py) on the files' values.
def montero(name, variant):
    space = benchmark_data.load(name).space
    labels = every_label(name)
    v = dict(zip(space.names, space.values(labels).T, strict=True))
    if name == "dsprites":
        third = 2 * np.pi / 3
        angle = (v["orientation"] > third + 1e-9) & (v["orientation"] < 2 * third - 1e-9)
        return {
            "to_element": (v["shape"] == 2) & (v["scale"] > 0.6) & angle & (v["posX"] > 0.66) & (v["posY"] > 0.66),
            "to_range": (v["shape"] == 1) & (v["posX"] > 0.5),
            "extrapolation": v["posX"] > 0.5,
        }[variant]
    if name == "shapes3d":
        hues = np.all([v[f"{part}_hue"] >= 0.8 for part in ("floor", "wall", "object")], axis=0)
        return {
            "to_element": hues & (v["scale"] >= 1.1) & (v["shape"] == 1) & (v["orientation"] > 20),
            "to_range": (v["shape"] == 3) & (v["object_hue"] >= 0.5),
            "to_range_floor": (v["shape"] == 3) & (v["floor_hue"] >= 0.5),
            "to_range_hues": (v["object_hue"] >= 0.8) & (v["wall_hue"] <= 0.2),
            "extrapolation": v["floor_hue"] >= 0.5,
        }[variant]
    corner = (v["object_color"] == 5) & (v["object_shape"] == 2) & (v["object_size"] == 1) & (v["camera_height"] == 1)
    far = (v["horizontal_axis"] > 35) & (v["vertical_axis"] > 35)
    return {
        "to_element": corner & (v["background_color"] == 1) & far,
        "to_range": (v["object_shape"] == 2) & (v["horizontal_axis"] < 20),
        "to_range_color": (v["object_color"] == 2) & (v["horizontal_axis"] < 20),
        "extrapolation": v["horizontal_axis"] > 20,
        "extrapolation_color": v["object_color"] > 3,
    }[variant]


@pytest.mark.parametrize(
    ("name", "variant"),
    [(name, variant) for name in GRIDS for variant in recombination.variants(benchmark_data.load(name).space)],
)
def test_recombination_holds_out_what_the_published_conditions_say(name, variant):
    test = montero(name, variant)
    found = benchmark_data.split(name, f"recombination.{variant}")
    np.testing.assert_array_equal(found.test, np.flatnonzero(test))
    train = ~test
    if (name, variant) == ("mpi3d/real", "extrapolation"):
        train = every_label(name)[:, 5] < 20
    np.testing.assert_array_equal(found.train, np.flatnonzero(train))


def test_recombination_on_another_grid():
    space = FactorSpace(Factor("kind", range(2), "categorical"), Factor("x", range(4)), Factor("y", range(3)))
    labels = space.labels(np.arange(24))
    corner = recombination.divide(space, variant="to_element").test
    assert labels[corner].tolist() == [[1, 3, 2]]  # the last kind, the upper third of 4 and of 3 values
    ranged = labels[recombination.divide(space, variant="to_range").test]
    assert np.unique(ranged, axis=0).tolist() == [[1, x, y] for x, y in itertools.product((2, 3), range(3))]
    beyond = labels[recombination.divide(space, variant="extrapolation").test]
    assert sorted(set(beyond[:, 1].tolist())) == [2, 3]
    assert len(beyond) == 12
    alone = FactorSpace(Factor("kind", range(2), "categorical"), Factor("on", (0, 1), "binary"))
    unordered_mpi3d = FactorSpace(*(Factor(name, range(2), "categorical") for name in _schott2022.MPI3D))
    for unordered in (alone, unordered_mpi3d):
        with pytest.raises(InvalidInput, match="expected a factor whose values have an order"):
            recombination.variants(unordered)
    assert recombination.variants(FactorSpace(Factor("x", range(4)))) == ("extrapolation",)
    with pytest.raises(UnknownName, match=r"variant of split rule 'recombination': .* Did you mean 'to_range'"):
        recombination.divide(space, variant="to_rang")


def test_a_grid_of_other_sizes_is_another_grid():
    """Whose values 16 to 31 of 64 are not the right half."""
    dsprites = benchmark_data.load("dsprites").space.factors
    space = FactorSpace(*dsprites[:3], Factor("posX", range(64)), Factor("posY", range(64)))
    held = space.labels(recombination.divide(space, variant="extrapolation").test)
    assert np.unique(held[:, 1]).tolist() == [3, 4, 5]
    assert len(np.unique(held[:, 3])) == 64


def test_weights_are_the_published_formula():
    """exp(-(a - b)^2 / (2 sigma^2)) on values scaled to [0, 1], multiplied over pairs: Träuble et al., equation 2."""
    space = benchmark_data.load("xyobject").space
    found = correlated.weights(space, (("x", "y"), ("scale", "color")), 0.2)
    rows = [0, 7, 12_345, 74_999]
    x, y, scale, color = (space.labels(rows) / (np.array(space.sizes) - 1)).T
    expected = np.exp(-((x - y) ** 2) / 0.08) * np.exp(-((scale - color) ** 2) / 0.08)
    np.testing.assert_allclose(found[rows], expected, rtol=1e-12)


def test_rows_are_drawn_by_their_weights():
    space = FactorSpace(Factor("a", range(10)), Factor("b", range(10)), Factor("c", range(300)))
    parts = correlated.divide(space, variant="a-b-0.2")
    rest, test, _ = holdout.divide(space)
    np.testing.assert_array_equal(parts.test, test)
    assert len(parts.train) == len(rest) == 27_000
    expected = np.bincount(rest // 300, parts.weights[rest], minlength=100)
    expected *= len(rest) / expected.sum()
    drawn = np.bincount(parts.train // 300, minlength=100)
    kept = expected > 5
    # Chi-squared of about 70 cells: its mean is their number, its standard deviation sqrt(2 times that).
    chi = ((drawn - expected)[kept] ** 2 / expected[kept]).sum()
    assert abs(chi - kept.sum()) < 5 * math.sqrt(2 * kept.sum())


def test_correlated_rows_can_be_drawn_again_in_plain_integers():
    space = FactorSpace(Factor("a", range(4)), Factor("b", range(5)))
    parts = correlated.divide(space, variant="a-b-0.4", seed=3)
    order = draws.permutation(3, 20).tolist()
    rest = sorted(order[2:])
    weights = [round(2**24 * math.exp(-((a / 3 - b / 4) ** 2) / (2 * 0.4**2))) for a in range(4) for b in range(5)]
    ends = list(itertools.accumulate(weights[row] for row in rest))
    rows = []
    for k in range(18):
        number = int(draws.bits(3, [k], 2)[0, 1]) % ends[-1]
        rows.append(next(row for row, end in zip(rest, ends, strict=True) if number < end))
    assert parts.train.tolist() == sorted(rows)


@pytest.mark.parametrize("sigma", ["0.1", "0.2", "0.4"])
def test_smaller_sigmas_correlate_more(sigma):
    rows = benchmark_data.split("xyobject", f"correlated.x-y-{sigma}").train
    x, y = benchmark_data.load("xyobject").labels(rows, ["x", "y"]).T
    # By hand, for the uniform density times the Gaussian on the unit square: 0.94, 0.79 and 0.42.
    u = np.linspace(0, 1, 25)
    joint = np.exp(-((u[:, None] - u) ** 2) / (2 * float(sigma) ** 2))
    joint /= joint.sum()
    mean = (joint.sum(axis=1) * u).sum()
    expected = ((u[:, None] - mean) * (u - mean) * joint).sum() / ((u - mean) ** 2 * joint.sum(axis=1)).sum()
    assert np.corrcoef(x, y)[0, 1] == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize(
    ("variant", "message"),
    [
        ("x-y", r"expected pairs of factors and sigma, such as x-y-0.1, x-y-0.2, received 'x-y'"),
        ("0.1", "expected pairs of factors and sigma"),
        ("x-y-scale-0.1", "expected pairs of factors and sigma"),
        ("x-y-0", "expected pairs of factors and sigma"),
        ("x-y-0_1", "expected pairs of factors and sigma"),  # 1 to Python
        ("x-y-0.10", "expected pairs of factors and sigma"),  # another name for the same rows
        ("x-y-.1", "expected pairs of factors and sigma"),
        ("x-x-0.1", "expected pairs of two different factors, received 'x-x-0.1'"),
        ("x-z-0.1", r"factor of split rule 'correlated': expected one of color, scale, x, y, received 'z'"),
    ],
)
def test_a_wrong_variant_of_correlated(variant, message):
    with pytest.raises((InvalidInput, UnknownName), match=message):
        benchmark_data.split("xyobject", f"correlated.{variant}")


def test_a_factor_that_no_variant_of_correlated_can_name():
    """Names that differ in case only and names with hyphens would mean another factor than the one that is written."""
    columns = [Factor(name, range(4)) for name in ("X", "x", "pos-x", "y", "z")]
    space = FactorSpace(*columns)
    assert correlated.variants(space) == ("y-z-0.1", "y-z-0.2", "y-z-0.4")
    with pytest.raises(UnknownName, match="expected one of y, z, received 'x'"):
        correlated.divide(space, variant="x-y-0.1")
    for few in (columns[:4], columns[4:]):
        with pytest.raises(InvalidInput, match="expected two or more factors that vary, with names that have no hyp"):
            correlated.divide(FactorSpace(*few), variant="")


def test_what_has_no_value_correlates_with_nothing():
    space = FactorSpace(Factor("a", (0, math.nan, 2), "categorical"), Factor("b", range(20)))
    with pytest.raises(
        InvalidInput, match="factor 'a' of split rule 'correlated': expected a finite value for each class"
    ):
        correlated.divide(space, variant="a-b-0.1")


def test_a_sigma_that_leaves_no_row():
    """Of two rows one is held out; where that is the one whose factors agree, the other has no weight."""
    space = FactorSpace(Factor("a", (0,)), Factor("b", range(2)))
    seed = next(seed for seed in range(64) if holdout.divide(space, seed=seed).test.tolist() == [0])
    with pytest.raises(InvalidInput, match=r"expected a larger value, since all weights round to 0, received 0\.01"):
        correlated.divide(space, variant="a-b-0.01", seed=seed)
    with pytest.raises(InvalidInput, match="all weights round to 0"):  # one row, which is held out
        correlated.divide(FactorSpace(Factor("a", (0,)), Factor("b", (0,))), variant="a-b-0.1")


def test_a_divided_dataset_that_is_made_again_bears_its_name():
    again = benchmark_data.split("xyobject/plain", "composition").dataset
    assert parallel.handle(again) == "xyobject/plain.composition"
    other = dataclasses.replace(again, splits={})
    assert parallel.handle(other) is other
