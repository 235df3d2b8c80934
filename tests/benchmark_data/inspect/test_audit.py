"""What an audit finds: numbers worked out by hand on tiny datasets, and XYSquares along its spacings."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math

import numpy as np
import pytest

import benchmark_data
from benchmark_data import Dataset, Factor, FactorSpace, InvalidInput, Rendered, draws, from_images
from benchmark_data.inspect import audit_text
from benchmark_data.inspect.audit import Estimate, audit

SPACINGS = (1, 2, 4, 8)


def made(*factors, draw):
    """A dataset of one row of grey pixels for each combination of factors; ``draw`` gives them as (n, pixels)."""
    space = FactorSpace(*factors)
    shape = draw(space.labels([0])).shape[1:]
    return Dataset(
        name="made",
        version="1.0.0",
        space=space,
        source=Rendered(lambda labels: draw(labels).astype(np.uint8).reshape(-1, 1, *shape, 1)),
        image_shape=(1, *shape, 1),
        description="",
        citation="",
        license="MIT",
        homepage="",
    )


def bars(labels):
    """Two pixels: the first is 51 times the first label, the second 102 times the second."""
    return labels * np.array([51, 102])


@pytest.fixture(scope="module")
def spacings():
    return {s: audit(benchmark_data.load("xysquares", spacing=s), traversals=20, pairs=500) for s in SPACINGS}


def test_two_bars_by_hand():
    """A step is 0.2 of a pixel, so that a pair k steps apart is at (0.2 k)^2 / 2 along a and (0.4 k)^2 / 2 along b."""
    found = audit(made(Factor("a", range(4)), Factor("b", range(3)), draw=bars), pairs=50)
    a, b = found.factors
    assert (a.traversals, b.traversals, found.sample, found.images) == (3, 4, 12, 12)
    # a: three pairs a step apart, two at two steps, one at three: 0.02 * (3 + 2 * 4 + 9) / 6.
    assert a.importance == pytest.approx((0.02 * 20 / 6,) * 3)
    # b: 0.08 * (2 + 4) / 3.
    assert b.importance == pytest.approx((0.16,) * 3)
    assert found.order() == [["b"], ["a"]]
    # Distances rise with steps, so that ranks agree.
    assert [a.correlation.value, b.correlation.value, found.giveaway.value] == pytest.approx([1, 1, 1])
    # Neighbours at 1 and others at (2 * 4 + 9) / 3 along a, 1 and 4 along b.
    assert a.overlap.value == pytest.approx(1 - 3 / 17)
    assert b.overlap.value == pytest.approx(1 - 1 / 4)
    assert (found.collisions, a.equal.value, b.equal.value) == (0, 0, 0)


def test_the_mean_is_weighted_by_importance_and_a_constant_factor_counts_as_0():
    """Any move of a changes two of four pixels by 150, a move of b by k changes one of them by 30 k."""

    def draw(labels):
        lit = np.eye(3)[labels[:, 0]] * 150
        return np.concatenate([lit, labels[:, 1:] * 30], axis=1)

    found = audit(made(Factor("a", range(3)), Factor("b", range(3)), draw=draw), pairs=50)
    a, b = found.factors
    assert a.correlation == (0, 0, 0)
    weight = 2 * 150**2 / 4, 30**2 * (1 + 1 + 4) / 3 / 4
    assert [a.importance.value, b.importance.value] == pytest.approx([w / 255**2 for w in weight])
    assert b.correlation.value == pytest.approx(1)
    assert found.giveaway.value == pytest.approx(weight[1] / sum(weight))
    assert a.overlap.value == pytest.approx(0)


def test_the_giveaway_falls_along_the_spacings_to_0(spacings):
    """Of the 28 pairs of places 8 - k are k apart, at min(8, k s): ranks by hand, ties at their mean."""
    found = [spacings[s].giveaway for s in SPACINGS]
    assert found[3] == (0, 0, 0)
    ranks_of_moves = {1: 4, 2: 10.5, 3: 16, 4: 20.5, 5: 24, 6: 26.5, 7: 28}
    ranks_of_costs = {
        1: ranks_of_moves,
        2: {1: 4, 2: 10.5, 3: 16} | dict.fromkeys(range(4, 8), 23.5),
        4: {1: 4} | dict.fromkeys(range(2, 8), 18),
    }
    moves = [k for k in range(1, 8) for _ in range(8 - k)]
    for spacing, estimate in zip(SPACINGS[:3], found, strict=False):
        costs = [ranks_of_costs[spacing][k] for k in moves]
        expected = np.corrcoef([ranks_of_moves[k] for k in moves], costs)[0, 1]
        assert estimate == pytest.approx((expected,) * 3)
    assert found[0].value > found[1].value > found[2].value > found[3].value


def test_every_square_is_as_important_as_any(spacings):
    for spacing, found in spacings.items():
        moved = sum((8 - k) * 2 * 8 * min(8, k * spacing) for k in range(1, 8)) / 28
        assert [one.importance.value for one in found.factors] == pytest.approx([moved / 12288] * 6)
        assert found.order() == [["x_R", "y_R", "x_G", "y_G", "x_B", "y_B"]]


def test_overlap_falls_along_the_spacings(spacings):
    """Spacing 4: neighbours at 4 columns, others at 8."""
    overlaps = [spacings[s].factors[0].overlap.value for s in SPACINGS]
    assert overlaps[2:] == pytest.approx([1 - 4 / 8, 0])
    assert overlaps[0] > overlaps[1] > overlaps[2] > overlaps[3]


def test_noise_gives_nothing_away_within_its_error():
    def draw(labels):
        return draws.bits(3, labels @ np.array([100, 10, 1]), 16) % np.uint64(256)

    found = audit(made(*(Factor(name, range(8)) for name in "abc"), draw=draw), pairs=500)
    assert found.giveaway.low == 0
    assert found.giveaway.high < 0.1
    # Any two images differ as much: in every factor alone as in all, so that pairs are above random ones half the time.
    for one in found.factors:
        assert one.correlation.low < 0 < one.correlation.high
        assert one.above_random.value == pytest.approx(0.5, abs=0.1)
    assert found.order() == [sorted("abc", key=lambda n: -found.factors["abc".index(n)].importance.value)]


def test_kinds():
    """A cycle of four is ordered round the circle; a categorical and a binary factor have no order."""

    def draw(labels):
        angle = labels[:, :1] * math.pi / 2
        return np.concatenate(
            [100 + 100 * np.cos(angle), 100 + 100 * np.sin(angle), labels[:, 1:] * 20], axis=1
        ).round()

    kinds = Factor("turn", range(4), "cyclic"), Factor("what", range(3), "categorical"), Factor("on", (0, 1), "binary")
    found = audit(made(*kinds, draw=draw), pairs=50)
    turn, what, on = found.factors
    # Quarter turns cost 2 * 100^2, half turns 4 * 100^2: ranks agree on the circle, with overlap 1/2.
    assert (turn.correlation.value, turn.overlap.value) == pytest.approx((1, 0.5))
    assert all(math.isnan(each) for one in (what, on) for each in (*one.correlation, *one.overlap))
    assert found.giveaway.value == pytest.approx(1)


def test_a_turn_whose_last_angle_is_the_first_is_a_circle_of_one_step_less():
    """As dSprites' orientation, whose 40th image is the first: both are 0 apart, and no neighbours."""

    def draw(labels):
        angle = labels[:, :1] * math.pi / 2
        return np.concatenate([100 + 100 * np.cos(angle), 100 + 100 * np.sin(angle)], axis=1).round()

    turn = Factor("turn", tuple(i * math.pi / 2 for i in range(5)), "cyclic", unit="rad")
    (found,) = audit(made(turn, draw=draw), pairs=50).factors
    assert (found.correlation.value, found.overlap.value) == pytest.approx((1, 0.5))
    assert found.equal.value == pytest.approx(1 / 10)


def test_pixels_that_come_back_give_no_order_away():
    """Neighbours lie 100 and 99 levels apart, the ends 1: distances fall with steps."""
    levels = np.array([0, 100, 1])
    bent = audit(made(Factor("a", range(3)), draw=lambda labels: levels[labels]), pairs=50)
    # Ranks 3, 2, 1 against 1.5, 1.5, 3.
    assert bent.factors[0].correlation.value == pytest.approx(-math.sqrt(3) / 2)
    assert bent.giveaway == (0, 0, 0)


def test_no_order_no_giveaway():
    found = audit(made(Factor("what", range(3), "categorical"), draw=lambda labels: labels * 50), pairs=50)
    assert math.isnan(found.giveaway.value)
    assert found.as_json()["giveaway"] == {"value": None, "low": None, "high": None}
    assert "no giveaway, since no measured factor has an order" in audit_text.summary(found)


def test_an_order_takes_three_images_that_differ_in_it_alone():
    pixels = np.arange(4, dtype=np.uint8).reshape(4, 1, 1, 1) * 50
    found = audit(from_images("mine", pixels, {"x": [0, 1, 2, 3], "y": [0, 0, 1, 1]}), pairs=50)
    assert math.isnan(found.giveaway.value)
    (sentence,) = [line for line in audit_text.summary(found) if line.startswith("no giveaway")]
    assert (
        "two distances along one factor, such as three values in a row, and there are none in x; add images" in sentence
    )


def test_few_images_in_a_row_are_said():
    """One triple along y, and no more than pairs along x: the correlation of y is of the triple alone."""
    pixels = np.arange(7, dtype=np.uint8).reshape(7, 1, 1, 1) * 30
    found = audit(from_images("mine", pixels, {"x": [0, 0, 0, 1, 2, 3, 4], "y": [0, 1, 2, 0, 3, 4, 5]}), pairs=50)
    (y,) = [one for one in found.factors if one.factor.name == "y"]
    assert y.few == 1
    (sentence,) = [line for line in audit_text.summary(found) if line.startswith("few traversals with an order")]
    assert ": y 1; add images" in sentence
    grid = made(Factor("a", range(4)), Factor("b", range(3)), draw=bars)
    asked = audit(grid, pairs=50, traversals=2)
    assert not any("few traversals" in line for line in audit_text.summary(asked)), "as many as were asked for"


def test_factors_within_half_the_width_of_both_intervals_share_a_place():
    """Half-widths of 0.3 and 0.4 allow a difference of 0.5."""
    bars_audit = audit(made(Factor("a", range(4)), Factor("b", range(3)), draw=bars), pairs=50)

    def order(value):
        importances = Estimate(value, value - 0.3, value + 0.3), Estimate(1, 0.6, 1.4)
        measured = zip(bars_audit.factors, importances, strict=True)
        factors = tuple(dataclasses.replace(entry, importance=importance) for entry, importance in measured)
        return dataclasses.replace(bars_audit, factors=factors).order()

    assert (order(1.49), order(1.51)) == ([["a", "b"]], [["a"], ["b"]])


def test_a_factor_is_compared_with_the_first_of_the_group_before_it():
    """Half-widths of 0.3 allow a difference of 0.42: 1.0 is near 1.4, and not near 1.8, which leads their group."""
    found = audit(made(*(Factor(name, range(3)) for name in "abc"), draw=lambda labels: labels * 51), pairs=50)
    importances = [Estimate(value, value - 0.3, value + 0.3) for value in (1.8, 1.4, 1.0)]

    def order(*traversals):
        factors = tuple(
            dataclasses.replace(entry, importance=importance, traversals=count)
            for entry, importance, count in zip(found.factors, importances, traversals, strict=True)
        )
        return dataclasses.replace(found, factors=factors).order()

    assert order(9, 9, 9) == [["a", "b"], ["c"]]
    assert order(9, 9, 1) == order(1, 9, 9) == [["a", "b", "c"]], "an error that is unknown"


def test_factors_of_one_traversal_have_no_order():
    """Two differences of two images: which factor changes more elsewhere, nobody knows."""
    images = np.stack([np.full((4, 5), level, np.uint8) for level in (0, 200, 100)])
    found = audit(benchmark_data.from_images("mine", images, {"a": ["x", "y", "x"], "b": ["x", "x", "y"]}), pairs=10)
    assert [entry.traversals for entry in found.factors] == [1, 1]
    assert found.order() == [["a", "b"]]


def test_collisions():
    """The second factor changes nothing: all 6 images have an equal with another label, along b alone."""
    found = audit(made(Factor("a", range(3)), Factor("b", range(2)), draw=lambda labels: labels[:, :1] * 50), pairs=50)
    a, b = found.factors
    assert (found.collisions, found.sample) == (6, 6)
    assert (a.equal.value, b.equal.value) == (0, 1)
    assert b.importance == (0, 0, 0)
    assert found.order() == [["a"], ["b"]]
    blank = audit(made(Factor("a", range(3)), draw=lambda labels: labels * 0), pairs=50)
    assert (blank.giveaway, blank.collisions) == ((0, 0, 0), 3)
    assert math.isnan(blank.factors[0].overlap.value)


def test_a_table_is_measured_where_rows_differ_in_one_factor_alone():
    """Rows 0, 1 and 2 differ in x alone, 2 and 3 in y alone, 5 in both. Row 4 is row 0 again, which is no collision."""
    labels = {"x": [0, 1, 3, 3, 0, 9], "y": [0, 0, 0, 1, 0, 2], "z": [0, 0, 0, 0, 0, 0]}
    pixels = np.array([0, 51, 153, 204, 0, 102], np.uint8).reshape(-1, 1, 1, 1)
    found = audit(from_images("mine", pixels, labels), pairs=50)
    x, y = found.factors
    assert (x.factor.name, x.traversals, y.factor.name, y.traversals) == ("x", 1, "y", 1)
    # Pixels of x = 0, 1 and 3 are 0.2, 0.4 and 0.6 apart; class ids are 0, 1 and 2.
    assert x.importance.value == pytest.approx((0.04 + 0.16 + 0.36) / 3)
    assert y.importance.value == pytest.approx(0.04)
    assert x.correlation.value == pytest.approx(math.sqrt(3) / 2)  # ranks 1.5, 1.5, 3 against 1, 2, 3
    assert math.isnan(y.correlation.value)  # one pair has no ranks
    assert found.collisions == 0


def test_each_of_several_images_with_the_same_labels_is_used():
    """Three images each of x = 0 and x = 1, at 0 and 51: each is compared once, and the one of x = 2 once."""
    pixels = np.array([0, 0, 51, 51, 0, 51, 102], np.uint8).reshape(-1, 1, 1, 1)
    (x,) = audit(from_images("mine", pixels, {"x": [0, 0, 1, 1, 0, 1, 2]}), pairs=20).factors
    assert x.traversals == 3
    # Two traversals of 0 and 1 alone; one of all three: (0.04 + 0.04 + 0.16) / 3.
    assert x.importance.value == pytest.approx((0.04 + 0.04 + 0.08) / 3)


def test_a_factor_that_never_differs_alone_is_named():
    pixels = np.arange(4, dtype=np.uint8).reshape(-1, 1, 1, 1)
    found = audit(from_images("mine", pixels, {"x": [0, 1, 2, 3], "y": [0, 1, 2, 3]}), pairs=50)
    assert [one.traversals for one in found.factors] == [0, 0]
    assert found.order() == []
    assert (
        "not measured, since no two images differ only in it: x, y; remove columns such as ids"
        in audit_text.summary(found)
    )
    assert "expected order of learning: unknown" in audit_text.summary(found)


def test_many_values_are_thinned():
    """200 values of one factor: 64 of them are compared, evenly spaced."""
    found = audit(made(Factor("a", range(200)), draw=lambda labels: labels), pairs=50)
    (a,) = found.factors
    values = np.linspace(0, 199, 64).round()
    squares = [(low - high) ** 2 for low, high in itertools.combinations(values, 2)]
    assert a.importance.value == pytest.approx(np.mean(squares) / 255**2)
    assert a.correlation.value == pytest.approx(1)


def test_many_columns_do_not_overflow():
    """30 columns of 10 values are 10**30 combinations. Rows 0 and 1 alone differ in one column, the last."""
    labels = {f"c{i}": [0, int(i == 29), *range(1, 10)] for i in range(30)}
    pixels = np.arange(11, dtype=np.uint8).reshape(-1, 1, 1, 1)
    found = audit(from_images("mine", pixels, labels), pairs=20)
    assert [one.traversals for one in found.factors] == [0] * 29 + [1]
    assert found.factors[-1].importance.value == pytest.approx(1 / 255**2)


def test_the_interval_covers_the_truth():
    """The mean distance along b depends on a; the whole dataset's is known, and 40 of 400 traversals estimate it."""
    data = made(
        Factor("a", range(20)), Factor("c", range(20)), Factor("b", range(3)), draw=lambda v: v[:, 2:] * v[:, :1]
    )
    whole = audit(data, traversals=400, pairs=20).factors[2].importance
    assert whole.value == pytest.approx(np.mean(np.arange(20) ** 2) * 2 / 255**2)
    found = [audit(data, traversals=40, pairs=20, seed=seed).factors[2].importance for seed in range(40)]
    assert sum(one.low <= whole.value <= one.high for one in found) >= 34  # 38 of 40 expected; 33 or fewer: p = 0.003


def test_json(spacings):
    found = spacings[4]
    text = json.dumps(found.as_json(), allow_nan=False)
    assert json.loads(text)["factors"]["y_B"]["overlap"]["value"] == pytest.approx(0.5)


def test_the_same_seed_the_same_numbers():
    data = benchmark_data.load("xyobject")
    first, again, other = (audit(data, traversals=3, pairs=10, seed=seed).as_json() for seed in (1, 1, 2))
    assert first == again != other


@pytest.mark.parametrize("options", [{"traversals": 1}, {"pairs": 1}])
def test_too_few(options):
    with pytest.raises(InvalidInput, match=rf"number of {next(iter(options))}: expected at least 2, received 1"):
        audit(benchmark_data.load("xysquares"), **options)


def test_nothing_to_audit():
    data = from_images("mine", np.zeros((3, 2, 2, 1), np.uint8), {"x": [1, 1, 1]})
    with pytest.raises(InvalidInput, match=r"audit of mine: .* received 3 images, 0 such factors"):
        audit(data)
