from __future__ import annotations

import numpy as np
import pytest

import benchmark_data
from benchmark_data import InvalidInput, UnknownName
from benchmark_data.datasets import dsprites_spaced
from benchmark_data.factors import with_values
from benchmark_data.inspect.distances import mean_squared_errors
from benchmark_data.variants.adversarial import Choice, along, chosen, constant, linear, redrawn

STRIPS = np.minimum(np.abs(np.arange(13)[:, None] - np.arange(13)), 4.0)
"""Distances of strips of four pixels at 13 places: they grow until the strips no longer overlap."""


def test_places_that_do_not_overlap_are_equally_far_apart_and_neighbours_are_not():
    assert chosen(STRIPS, 4) == Choice((0, 4, 8, 12), 0.0, 4.0)
    assert chosen(STRIPS, 4, wanted=linear) == Choice((0, 1, 2, 3), 0.0, 1.0)


def test_of_choices_that_fit_alike_the_farthest_apart_is_taken():
    # any two are as wanted; the places 0 and 4 are the first that do not overlap
    assert chosen(STRIPS, 2) == Choice((0, 4), 0.0, 4.0)


@pytest.mark.parametrize(("unit", "asked"), [(1.0, 1.0), (1e-5, 1.0), (1.0, 1e9), (1e-12, 1e5)])
def test_units_do_not_matter(unit, asked):
    line = unit * np.abs(np.arange(17.0)[:, None] - np.arange(17))
    found = chosen(line, 4, wanted=lambda spacing: asked * spacing)
    assert (found.candidates, found.misfit) == ((0, 5, 10, 15), 0.0)
    assert found.scale == pytest.approx(5 * unit / asked)


def test_any_function_of_the_spacing():
    # spacing 1 at 2 pixels, spacings 2 and 3 without overlap
    found = chosen(STRIPS, 4, wanted=lambda spacing: np.minimum(2 * spacing, 4))
    assert found == Choice((0, 2, 4, 6), 0.0, 1.0)


def test_what_cannot_be_had_is_told():
    """Three greys cannot be equally far apart. For squares (1, 4, 1): scale 2, rest 18 - 4 * 3 = 6 of 18."""
    greys = np.square(np.arange(3)[:, None] - np.arange(3.0))
    found = chosen(greys, 3)
    assert found.scale == 2
    assert found.misfit == pytest.approx(np.sqrt(6 / 18), abs=1e-6)


def test_images_that_are_all_equal_fit_nothing():
    assert chosen(np.zeros((3, 3)), 2) == Choice((0, 1), 1.0, 0.0)


def test_each_value_drawn_in_the_way_that_fits():
    """Points on a plane for three values, each in two ways; one combination is an equilateral triangle."""
    points = np.array([(0, 0), (5, 5), (2, 0), (3, 0), (1, np.sqrt(3)), (1, 9)])
    squared = np.square(points[:, None] - points).sum(axis=-1)
    for ways in ([(0, 1), (2, 3), (4, 5)], np.arange(6).reshape(3, 2)):
        assert redrawn(squared, ways) == Choice((0, 2, 4), 0.0, pytest.approx(4))


def test_the_best_of_many_batches_is_found(monkeypatch):
    monkeypatch.setattr("benchmark_data.variants.adversarial.BATCH", 7)
    assert chosen(STRIPS, 4) == Choice((0, 4, 8, 12), 0.0, 4.0)


def test_places_of_dsprites_spaced_are_those_that_are_chosen():
    """Of 49 places of the widest ellipse: apart by its width or more for constant distances, by 2 px for linear."""
    places = np.arange(8.0, 57.0, 1.0)
    labels = np.tile([1, 5, 0], (len(places), 1))
    images = dsprites_spaced.draw_sprites(labels, np.stack([places, np.full(len(places), 32.0)], axis=1))
    apart = mean_squared_errors(images)
    assert apart.max() == pytest.approx(apart[0, 48])  # the first and the last do not overlap
    width = int(images[0].any(axis=(0, 2)).sum())
    assert 12 < width <= max(dsprites_spaced.SPACINGS)
    found = chosen(apart, 4)
    assert found.misfit == 0
    assert np.diff(found.candidates).min() >= width
    linear_ones = chosen(apart, 4, wanted=linear)
    assert linear_ones.misfit == 0
    assert np.diff(linear_ones.candidates).tolist() == [min(dsprites_spaced.SPACINGS)] * 3


def test_the_values_of_a_factor_as_they_are():
    data = benchmark_data.load("xysquares/spacing_4")
    apart = along(data, "x_R", traversals=3)
    assert chosen(apart, 4).candidates == (0, 2, 4, 6)  # 8 pixels apart: no overlap
    assert chosen(apart, 4).scale == pytest.approx(128 / 12288)
    with pytest.raises(UnknownName, match="x_Red"):
        along(data, "x_Red")


@pytest.mark.parametrize(
    ("ids", "kind"),
    [
        (range(10), "cyclic"),
        ([1, 3, 5, 7, 9], "cyclic"),
        ([0, 5], "cyclic"),
        ([0, 1, 2], "ordinal"),
        ([0, 3, 6, 9], "ordinal"),  # steps of 3 and one of 1
    ],
)
def test_evenly_spaced_values_of_a_circle_are_a_circle(ids, kind):
    room = benchmark_data.load("room3d")
    assert with_values(room.space.factors[room.space.column("wall_hue")], list(ids)).kind == kind


def test_a_full_turn_may_be_left_out_where_it_is_the_start_again():
    sprites = benchmark_data.load("dsprites")
    for ids, kind in (
        (range(40), "cyclic"),
        (range(39), "cyclic"),
        (range(0, 39, 3), "cyclic"),
        (range(0, 40, 3), "cyclic"),
        (range(38), "ordinal"),
        (range(0, 40, 2), "ordinal"),  # steps of 2 and, from 38 to 39, which is 0, one of 1
    ):
        assert with_values(sprites.space.factors[2], list(ids)).kind == kind


def test_what_is_no_choice_is_refused():
    with pytest.raises(InvalidInput, match=r"number of values to choose: expected 2 to the 13 candidates, received 14"):
        chosen(STRIPS, 14)
    with pytest.raises(InvalidInput, match=r"expected 2 to the 13 candidates, received 4\.0"):
        chosen(STRIPS, 4.0)
    with pytest.raises(
        InvalidInput, match=r"distances of candidates: expected a symmetric .*, received shape \(2, 3\)"
    ):
        chosen(np.zeros((2, 3)), 2)
    with pytest.raises(InvalidInput, match="received another matrix"):
        chosen([[0, 1], [2, 0]], 2)
    with pytest.raises(InvalidInput, match="wanted distances: expected positive numbers"):
        chosen(STRIPS, 3, wanted=lambda spacing: spacing - 1)
    with pytest.raises(InvalidInput, match=r"at most 5,000,000 ways to choose 8 of them.*every second one"):
        chosen(np.zeros((64, 64)), 8)
    with pytest.raises(InvalidInput, match="ways to draw values: expected candidates in"):
        redrawn(STRIPS, [(0, 1), (13,)])


def test_a_value_that_no_candidate_draws_is_refused():
    with pytest.raises(InvalidInput, match=r"ways to draw values: expected .*, received \[\[0, 1\], \[\]\]"):
        redrawn(STRIPS, [(0, 1), ()])


def test_the_named_functions_are_what_they_say():
    spacing = np.array([1.0, 2.0, 5.0])
    assert constant(spacing).tolist() == [1, 1, 1]
    assert linear(spacing).tolist() == [1, 2, 5]
