from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import mutual_info_score

from leaderboard.information import class_ids, discretise, entropy, mutual_information


@pytest.mark.parametrize("column", [[5, 5, -2, 9], [10**15, 0, 10**15, 3]])
def test_class_ids_keep_the_order(column):
    column = np.array(column)
    ids, count = class_ids(column)
    values, expected = np.unique(column, return_inverse=True)
    assert count == len(values)
    np.testing.assert_array_equal(ids, expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("offset", [0.0, 1.0, 1e6])
@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e-6])
@pytest.mark.parametrize("bins", [2, 20, 97])
def test_bins_are_numpys_wherever_it_has_any(dtype, offset, scale, bins):
    """Down to ranges of a few floats, where edges coincide and numpy refuses to make so many bins."""
    codes = (np.random.default_rng(0).normal(size=(500, 3)) * scale + offset).astype(dtype)
    low, high = codes.min(axis=0), codes.max(axis=0)
    edges = np.linspace(low, high, bins + 1).astype(dtype)
    codes = np.concatenate([codes, edges, np.nextafter(edges, low)])
    binned = discretise(codes, bins)
    assert binned.min() >= 0
    assert binned.max() <= bins - 1
    for row, z in zip(binned, codes.T, strict=True):
        try:
            edges = np.histogram(z, bins)[1]
        except ValueError:  # too many bins for so few floats
            continue
        if z.min() < z.max():
            np.testing.assert_array_equal(row, np.digitize(z, edges[:-1]) - 1)


def test_a_range_that_a_float_cannot_divide_is_one_bin():
    tiny = np.array([0, 1e-45, 2e-45], np.float32)
    assert tiny.max() > 0
    assert discretise(tiny[:, None]).tolist() == [[0, 0, 0]]
    assert discretise(np.array([[0.0], [5e-324]])).tolist() == [[0, 0]]
    assert discretise(np.float32([[0.0], [40e-45]])).tolist() == [[0, 19]]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_each_of_a_few_neighbouring_floats_has_a_bin(dtype):
    (binned,) = discretise((1 + np.arange(5) * np.finfo(dtype).eps).astype(dtype)[:, None])
    assert (np.diff(binned) > 0).all()
    assert 0 <= binned[0] <= binned[-1] <= 19


def test_values_on_an_edge_go_up_and_the_greatest_stays_in_the_last_bin():
    codes = np.arange(21, dtype=np.float32)[:, None]
    assert discretise(codes, 20)[0].tolist() == [*range(20), 19]
    assert discretise(np.full((4, 1), 0.1)).tolist() == [[0, 0, 0, 0]]


@pytest.mark.parametrize("n", [30, 3000])
def test_mutual_information_is_scikit_learns(n):
    rng = np.random.default_rng(n)
    column = rng.integers(0, 7, n) * 3 - 5
    bins = np.stack([column % 4, rng.integers(0, 20, n), np.zeros(n, int), (column + rng.integers(0, 2, n)) % 5])
    expected = [mutual_info_score(column, row) for row in bins]
    np.testing.assert_allclose(mutual_information(bins, column), expected, atol=1e-12)
    assert mutual_information(bins, column)[2] == 0.0


def test_entropy_by_hand():
    assert entropy(np.array([0, 0, 1, 3])) == pytest.approx(1.5 * np.log(2))
