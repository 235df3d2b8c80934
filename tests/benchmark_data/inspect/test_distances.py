"""Perceived distances: exact where XYSquares gives them exactly, near the published ones for dSprites."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

import benchmark_data
from benchmark_data import Factor, FactorSpace, FactorTable, InvalidInput, Rendered, UnknownName
from benchmark_data.inspect import distances
from benchmark_data.inspect.distances import Correlation, Matrices
from benchmark_data.inspect.published import PUBLISHED, RANDOM_PAIR

SPACING_8 = benchmark_data.load("xysquares/spacing_8")
STEP = 128 / 12288  # two squares of 64 pixels out of 64 * 64 * 3


def grey(values):
    """A dataset of one pixel whose image is its label."""
    space = FactorSpace(Factor("level", range(values)))
    return dataclasses.replace(
        SPACING_8,
        name="grey",
        config="",
        space=space,
        source=Rendered(lambda labels: labels.astype(np.uint8).reshape(-1, 1, 1, 1)),
        image_shape=(1, 1, 1),
        splits={},
    )


def test_every_factor_of_spacing_8_costs_the_same():
    """dataset_sources: 128/12288 along every factor, without variance (Michlo et al. 2023, table A1)."""
    found = distances.pair_distances(SPACING_8, pairs=300)
    assert list(found) == [*SPACING_8.space.names, RANDOM_PAIR]
    for name in SPACING_8.space.names:
        assert found[name] == (STEP, 0.0, 300)
        perceived = distances.matrices(SPACING_8, name, traversals=3).perceived
        assert np.array_equal(perceived, STEP * (1 - np.eye(8)))


def test_a_pair_more_than_a_batch_holds_is_measured():
    rows = np.arange(distances.BATCH + 1)
    images, others = (SPACING_8.images(r).astype(int) for r in (rows, rows[::-1]))
    expected = ((images - others) ** 2).sum(axis=(1, 2, 3))
    np.testing.assert_array_equal(distances.squared_distances(SPACING_8, rows, rows[::-1]), expected)


def test_random_pairs_of_spacing_8():
    """A channel differs in 63 of 64 pairs, and then by 128 of 12288 pixels."""
    mean, error, _ = distances.pair_distances(SPACING_8, pairs=4000)[RANDOM_PAIR]
    assert 0 < error < 1e-4
    assert mean == pytest.approx(3 * (63 / 64) * STEP, abs=4 * error)


def test_overlap_follows_the_spacing():
    """Squares s pixels apart share 8 - s columns: a move by k places costs 2 * 8 * min(8, k s) pixels."""
    for spacing in (1, 3):
        perceived = distances.matrices(benchmark_data.load("xysquares", spacing=spacing), "y_G", traversals=2).perceived
        moved = np.minimum(8, spacing * np.abs(np.subtract.outer(np.arange(8), np.arange(8))))
        assert perceived == pytest.approx(2 * 8 * moved / 12288)


@pytest.mark.parametrize(("spacing", "least", "most"), [(1, 0.99, 1.0), (4, 0.3, 0.9)])
def test_closer_places_correlate_better(spacing, least, most):
    found = distances.correlation(distances.matrices(benchmark_data.load("xysquares", spacing=spacing), "x_R"))
    assert least < found.pearson <= most + 1e-12


def test_dsprites_is_within_a_tenth_of_the_published_distances():
    """Mean pair distances as in table A1 of the extended paper."""
    found = distances.pair_distances(benchmark_data.load("dsprites"), pairs=3000)
    name, expected = distances.published("dsprites")
    assert name == "dsprites"
    assert set(found) == set(expected)
    for factor, value in expected.items():
        assert found[factor].mean == pytest.approx(value, rel=0.1), factor


def test_pairs_are_different_and_uniform():
    """With pixels equal to labels the mean over pairs of distinct values is known: E (u - v)^2 = n (n + 1) / 6."""
    found = distances.pair_distances(grey(5), pairs=20_000)
    for name in ("level", RANDOM_PAIR):
        assert found[name].mean * 255**2 == pytest.approx(5.0, rel=0.03)
    two = distances.pair_distances(grey(2), pairs=500)
    assert two["level"] == two[RANDOM_PAIR] == (1 / 255**2, 0.0, 500)


def test_standard_error_is_that_of_the_mean():
    means = [distances.pair_distances(grey(5), pairs=200, seed=seed)["level"].mean for seed in range(200)]
    errors = [distances.pair_distances(grey(5), pairs=200, seed=seed)["level"].error for seed in range(20)]
    assert np.std(means) == pytest.approx(np.mean(errors), rel=0.25)


def test_same_seed_same_figures():
    first, again, other = (distances.pair_distances(SPACING_8, pairs=50, seed=seed) for seed in (3, 3, 4))
    assert first == again
    assert first != other


def test_a_factor_of_one_value_has_no_pairs():
    space = FactorSpace(Factor("colour", (1,)), Factor("level", range(3)))
    dataset = dataclasses.replace(
        grey(3), space=space, source=Rendered(lambda labels: labels[:, 1].astype(np.uint8).reshape(-1, 1, 1, 1))
    )
    assert list(distances.pair_distances(dataset, pairs=5)) == ["level", RANDOM_PAIR]


def test_matrices_of_known_pixels():
    found = distances.matrices(grey(4), "level", traversals=7)
    steps = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
    assert np.array_equal(found.ground_truth, steps)
    assert found.perceived == pytest.approx(steps**2 / 255**2, rel=1e-12)


def test_matrices_agree_with_pairs():
    dataset = benchmark_data.load("dsprites")
    perceived = distances.matrices(dataset, "posX", traversals=300).perceived
    pairs = distances.pair_distances(dataset, pairs=3000)["posX"]
    assert perceived[np.triu_indices(32, 1)].mean() == pytest.approx(pairs.mean, rel=0.1)


def test_distances_that_are_equal_but_for_rounding_have_no_order():
    steps = np.abs(np.subtract.outer(np.arange(3.0), np.arange(3.0)))
    same = np.array([[0, 0.3, 0.1 + 0.2], [0.3, 0, 0.3], [0.1 + 0.2, 0.3, 0]])
    assert np.isnan(distances.correlation(Matrices(steps, same))).all()
    assert distances.correlation(Matrices(steps, same + 1e-9 * steps)).pearson == pytest.approx(1.0)


def test_correlation_by_hand():
    steps = np.abs(np.subtract.outer(np.arange(3.0), np.arange(3.0)))
    assert distances.correlation(Matrices(steps, steps**2)) == (
        pytest.approx(1.0),  # (1, 1, 2) against (1, 1, 4): a straight line through two different points
        pytest.approx(1.0),
    )
    assert distances.correlation(Matrices(steps, -steps)).pearson == pytest.approx(-1.0)


@pytest.mark.parametrize(
    "perceived",
    [np.array([[0, 1], [1, 0]]), np.array([[0, 2, 2], [2, 0, 2], [2, 2, 0]])],
    ids=["two values", "constant"],
)
def test_correlation_that_does_not_exist(perceived):
    steps = np.abs(np.subtract.outer(np.arange(len(perceived)), np.arange(len(perceived))))
    assert all(math.isnan(value) for value in distances.correlation(Matrices(steps, perceived)))


def test_correlation_is_a_pair_of_floats():
    found = distances.correlation(distances.matrices(grey(4), "level", traversals=1))
    assert isinstance(found, Correlation)
    assert [type(value) for value in found] == [float, float]


def test_tables_have_random_pairs_only():
    table = FactorTable(Factor("smiling", (0, 1), "binary"), rows=3, read=lambda: np.array([[0], [1], [0]]))
    dataset = dataclasses.replace(grey(3), space=table)
    assert list(distances.pair_distances(dataset, pairs=10)) == [RANDOM_PAIR]
    with pytest.raises(
        InvalidInput, match="factor traversals of grey: expected a dataset that holds every combination"
    ):
        distances.matrices(dataset, "smiling")


def test_a_full_grid_in_any_order_has_traversals():
    """As a folder of pictures has it: a table that holds each combination once."""
    grid = FactorSpace(Factor("shape", range(3)), Factor("level", range(4)))
    order = np.random.default_rng(0).permutation(12)
    labels = grid.labels(order)
    pixels = (3 * labels[:, 0] + 10 * labels[:, 1]).astype(np.uint8).reshape(-1, 1, 1, 1)
    names = {"shape": labels[:, 0], "level": labels[:, 1]}
    mine = benchmark_data.from_images("mine", pixels, names)
    assert list(distances.pair_distances(mine, pairs=10)) == ["shape", "level", RANDOM_PAIR]
    sorted_by_labels = benchmark_data.from_images(
        "mine", pixels[np.argsort(order)], {n: v[np.argsort(order)] for n, v in names.items()}
    )
    for factor, step in (("shape", 3), ("level", 10)):
        perceived = distances.matrices(mine, factor, traversals=3).perceived
        np.testing.assert_allclose(perceived, distances.matrices(sorted_by_labels, factor, traversals=3).perceived)
        assert perceived[0, 1] == pytest.approx((step / 255) ** 2)


def test_published_names_are_those_of_the_factors():
    found = {name: benchmark_data.configs(name) for name in benchmark_data.names()}
    known = {full_name for names in found.values() for full_name in names}
    for full_name in (set(PUBLISHED) | set(distances.STANDS_IN_FOR)) & known:
        _, expected = distances.published(full_name)
        assert set(expected) == {*benchmark_data.load(full_name).space.names, RANDOM_PAIR}
    assert distances.published("xysquares/spacing_1") == ("xysquares/spacing_1", {})


def test_bad_input():
    with pytest.raises(InvalidInput, match="images: expected uint8, received float64"):
        distances.mean_squared_errors(np.ones((2, 4, 4, 1)))
    with pytest.raises(InvalidInput, match="number of pairs: expected at least 2, received 1"):
        distances.pair_distances(SPACING_8, pairs=1)
    with pytest.raises(InvalidInput, match="number of traversals: expected at least 1, received 0"):
        distances.matrices(SPACING_8, "x_R", traversals=0)
    with pytest.raises(UnknownName, match=r"factor: expected one of .* received 'x_red'\. Did you mean 'x_R'"):
        distances.matrices(SPACING_8, "x_red")
    with pytest.raises(InvalidInput, match="pairs of grey: expected two images or more, received one image"):
        distances.pair_distances(grey(1))
