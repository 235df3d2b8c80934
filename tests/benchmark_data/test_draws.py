"""Counter-based random numbers: pinned values, independence of order, uniformity."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from benchmark_data import draws
from benchmark_data.errors import InvalidInput

MASK = 2**64 - 1


def mix(x):
    """SplitMix64 on Python's own integers, after Steele, Lea and Flood (2014)."""
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def test_the_generator_is_splitmix64():
    """The first output of SplitMix64 for seed 0, as its published implementations give it."""
    assert mix(0) == 0xE220A8397B1DCDAF


@pytest.mark.parametrize("seed", [0, 1, 2**64 - 1])
def test_bits_follow_the_definition(seed):
    indices = [0, 1, 5, 2**40]
    expected = [[mix((mix((mix(seed) + i) & MASK) + j) & MASK) for j in range(3)] for i in indices]
    assert draws.bits(seed, indices, 3).tolist() == expected


def test_pinned_values():
    """Published index lists and digests rest on these. They must never change."""
    assert draws.bits(0, [0, 1], 2).tolist() == [
        [0x238275BC38FCBE91, 0x421DAF3033E887A3],
        [0x94926C2E801CB6F9, 0xAC1A201F5AE37988],
    ]
    assert draws.uniform(42, [0, 7], 2).tolist() == [
        [0.3869742762400409, 0.7129353372857994],
        [0.08054066123479331, 0.544466049394383],
    ]
    assert draws.permutation(0, 10).tolist() == [5, 2, 0, 3, 8, 7, 1, 6, 4, 9]
    assert draws.permutation(1, 10).tolist() == [9, 6, 3, 4, 7, 8, 0, 1, 2, 5]
    assert draws.normal(3, [0], 3)[0] == pytest.approx([-0.8944263469148683, 0.29095393265199154, 0.020620578418120504])


@pytest.mark.parametrize("draw", [draws.bits, draws.uniform, draws.normal])
def test_a_draw_depends_on_seed_and_index_alone(draw):
    together = draw(5, range(100), 4)
    assert together.shape == (100, 4)
    for order in ([99, 0, 50], [50, 50]):
        assert np.array_equal(draw(5, order, 4), together[order])
    assert not np.array_equal(draw(6, range(100), 4), together)
    assert len(np.unique(together)) == 400


def test_more_draws_do_not_change_the_first():
    for draw in (draws.bits, draws.uniform):
        assert np.array_equal(draw(5, range(10), 3), draw(5, range(10), 8)[:, :3])


def test_uniform_is_uniform():
    u = draws.uniform(11, range(20_000), 3)
    assert u.min() >= 0
    assert u.max() < 1
    for column in u.T:
        assert scipy.stats.kstest(column, "uniform").pvalue > 0.001
    assert np.abs(np.corrcoef(u.T) - np.eye(3)).max() < 0.03
    assert np.abs(np.corrcoef(u[:-1, 0], u[1:, 0])[0, 1]) < 0.03


def test_every_bit_is_fair():
    bits = draws.bits(2, range(4000), 2).ravel()
    ones = ((bits[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)).sum(axis=0, dtype=np.int64)
    assert np.abs(ones - 4000).max() < 5 * np.sqrt(8000) / 2


def test_normal_is_normal():
    z = draws.normal(4, range(20_000), 3)
    for column in z.T:
        assert scipy.stats.kstest(column, "norm").pvalue > 0.001
    assert np.abs(np.corrcoef(z.T) - np.eye(3)).max() < 0.03


@pytest.mark.parametrize("n", [1, 2, 1000])
def test_permutation_holds_everything_once(n):
    order = draws.permutation(9, n)
    assert order.dtype == np.int64
    assert sorted(order.tolist()) == list(range(n))


@pytest.mark.parametrize("count", [0, 1, 37, 5_000, 49_900, 50_000, 50_001])
def test_a_sample_is_what_a_permutation_begins_with(count):
    drawn = draws.sample(9, 50_000, count)
    assert drawn.dtype == np.int64
    assert drawn.tolist() == draws.permutation(9, 50_000)[:count].tolist()


def test_permutations_are_uniform():
    """All 6 orders of 3 things come up about equally often."""
    orders = np.array([draws.permutation(seed, 3) for seed in range(3000)]) @ [9, 3, 1]
    counts = np.unique(orders, return_counts=True)[1]
    assert len(counts) == 6
    assert scipy.stats.chisquare(counts).pvalue > 0.001


@pytest.mark.parametrize("seed", [-1, 2**64, 0.5, "1", None, True])
def test_a_seed_is_an_integer_of_64_bits(seed):
    with pytest.raises(InvalidInput, match=r"seed: expected an integer in \[0, 2\*\*64\), received"):
        draws.uniform(seed, [0], 1)
