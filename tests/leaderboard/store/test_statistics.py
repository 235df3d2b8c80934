"""Statistics against cases worked out by hand."""

import numpy as np
import pytest

from benchmark_data.errors import InvalidInput
from leaderboard.store import intervals, statistics


def test_iqm_cuts_a_quarter_at_each_end():
    # 8 scores: two are cut at each end; the mean of 3, 4, 5, 6 is 4.5.
    assert statistics.iqm([1, 2, 3, 4, 5, 6, 7, 100]) == 4.5
    # 5 scores: floor(5 / 4) = 1 is cut at each end; the mean of 2, 3, 10 is 5.
    assert statistics.iqm([10, 1, 100, 2, 3]) == 5
    # 2 scores: nothing is cut.
    assert statistics.iqm([1, 3]) == 2


def test_a_summary_has_no_interval_of_its_own():
    assert statistics.summary([0.3]) == (1, 0.3, 0.3, None, None)


@pytest.mark.parametrize("scores", [[], [float("nan")], [float("inf"), 0.1], [[0.1]], ["a", 0.2], [0.1, [0.2]]])
def test_scores_that_are_none(scores):
    with pytest.raises(InvalidInput, match="scores: expected at least 1 finite numbers"):
        statistics.summary(scores)
    with pytest.raises(InvalidInput, match="scores: expected at least 1 finite numbers"):
        intervals.mean_interval(scores)


def test_a_rank_correlation_is_not_told_of_three_pairs_or_of_equal_numbers():
    assert statistics.rank_correlation([1, 2, 3], [1, 2, 3]) is None
    assert statistics.rank_correlation([1, 1, 1, 1], [1, 2, 3, 4]) is None
    with pytest.raises(InvalidInput, match="pairs: expected as many of either, received 4 and 5"):
        statistics.rank_correlation([1, 2, 3, 4], [1, 2, 3, 4, 5])


def test_a_rank_correlation_of_four_pairs_in_order_is_still_open():
    # Four unrelated pairs are in order in one of 24 samples, which is more than 2.5%: so no relation is not excluded.
    found = statistics.rank_correlation([1, 2, 3, 4], [10, 20, 30, 40])
    assert (found.value, found.high) == (1, 1)
    assert found.low < 0
    # Of five it is one in 120.
    assert statistics.rank_correlation([1, 2, 3, 4, 5], [1, 2, 3, 4, 5]).low > 0


def test_intervals_of_rank_correlations_hold_about_as_often_as_they_say():
    rng, count = np.random.default_rng(3), 200
    for rho in (0.0, 0.8, 0.99):
        hits, true = 0, 6 / np.pi * np.arcsin(rho / 2)
        for _ in range(count):
            x = rng.standard_normal(8)
            found = statistics.rank_correlation(x, rho * x + np.sqrt(1 - rho**2) * rng.standard_normal(8))
            hits += found.low <= true <= found.high
        assert hits / count > 0.9
