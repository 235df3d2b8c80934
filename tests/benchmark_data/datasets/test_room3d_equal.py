"""Rooms in four hues: their colours, and how far apart they are."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import benchmark_data
from benchmark_data.datasets import room3d, room3d_equal
from benchmark_data.inspect import distances
from benchmark_data.inspect.audit import audit
from benchmark_data.variants.adversarial import redrawn

DATASET = benchmark_data.load("room3d_equal")
GOLDEN = Path(__file__).parents[2] / "golden" / "room3d_equal.png"
HUES = DATASET.space.names[:3]


def test_the_grid():
    assert DATASET.space.names == room3d.SPACE.names
    assert DATASET.space.sizes == (4, 4, 4, 8, 4, 15)
    assert len(DATASET) == 30_720


def test_the_colours_are_a_regular_tetrahedron():
    squared = np.square(room3d_equal.CHANNELS[:, None] - room3d_equal.CHANNELS).sum(axis=-1)
    np.testing.assert_array_equal(squared, 18 * (1 - np.eye(4)))


@pytest.mark.parametrize(("brightest", "nearness"), [(4, 1 / 24), (4, 1 / 30), (5, 1 / 30)])
def test_the_colours_are_those_that_are_chosen(brightest, nearness):
    """Of all colours in fifths near each hue; also where more are allowed, or fewer."""
    colours = np.array([c for c in itertools.product(range(brightest + 1), repeat=3) if min(c) < max(c)])
    red, green, blue = colours.T
    turns = np.arctan2(math.sqrt(3) * (green - blue), 2 * red - green - blue) / (2 * math.pi)
    apart = [np.abs((turns - hue + 0.5) % 1 - 0.5) for hue in room3d_equal.HUES]
    ways = [np.flatnonzero(near <= nearness).tolist() for near in apart]
    assert [0 < len(way) < len(colours) for way in ways] == [True] * 4
    found = redrawn(np.square(colours[:, None] - colours).sum(axis=-1), ways)
    np.testing.assert_array_equal(colours[list(found.candidates)], room3d_equal.CHANNELS)
    assert (found.misfit, found.scale) == (0, 18)


@pytest.mark.parametrize("name", HUES)
def test_hues_are_equally_far_apart_in_the_images(name):
    """Up to what rounding and light that saturates do; the neighbours of room3d's hues are twice as near as others."""
    perceived = distances.matrices(DATASET, name, traversals=20).perceived
    apart = perceived[np.triu_indices(4, 1)]
    assert np.abs(apart / apart.mean() - 1).max() < 0.01
    usual = distances.matrices(benchmark_data.load("room3d"), name, traversals=5).perceived
    assert usual[0, 1] < 0.5 * usual[0].max()


def test_it_gives_less_away_than_room3d():
    """Hues are what pixels show most; size and orientation, which they show less, are given away as before."""
    found, usual = (audit(benchmark_data.load(n), traversals=20, pairs=200) for n in ("room3d_equal", "room3d"))
    assert 0.05 < found.giveaway.value < 0.25
    assert usual.giveaway.value > 0.95


def test_room3d_is_drawn_as_before():
    """Its own hues, given as channels, are its default."""
    labels = np.array([[9, 0, 4, 3, 2, 11], [1, 5, 8, 7, 0, 0]])
    np.testing.assert_array_equal(room3d.render(labels), room3d.render(labels, channels=room3d.CHANNELS))
    rendered = room3d_equal.render(np.array([[2, 1, 3, 0, 0, 7]]))[0].astype(int)
    assert (rendered[62, 2, 0], rendered[62, 2, 1]) == (
        0,
        rendered[62, 2, 2],
    )  # dark cyan: no red, as much green as blue


def test_known_images(request):
    rows = np.arange(1_500, 30_720, 5_000)
    picture = np.concatenate(list(DATASET.images(rows)), axis=1)
    if request.config.getoption("--update-golden"):
        Image.fromarray(picture).save(GOLDEN, optimize=True)
    with Image.open(GOLDEN) as golden:
        # light is computed in floating point; a value next to a rounding boundary may fall to the other side
        assert np.abs(np.asarray(golden).astype(int) - picture).max() <= 1
