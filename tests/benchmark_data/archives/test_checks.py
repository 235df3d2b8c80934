"""Statistics of pixels beside published ones: what is near enough is taken, and what lies to either side is refused."""

from __future__ import annotations

import numpy as np
import pytest

import benchmark_data
from benchmark_data import Factor, FactorSpace
from benchmark_data.archives import checks
from benchmark_data.archives.checks import PublishedStatistics
from benchmark_data.errors import DamagedFile
from benchmark_data.inspect.distances import RANDOM_PAIR

GRID = FactorSpace(Factor("a", range(2)), Factor("b", range(2)))
IMAGES = np.array([0, 51, 102, 153, 255], np.uint8).reshape(5, 1, 1, 1)
"""The first four span the grid: those that differ in a are 0.4 apart, whose square is 0.16."""

MEANS = np.array([0.5, 0.2, 0.3])


@pytest.mark.parametrize(
    ("published", "is_taken"),
    [
        ({"means": (0.5, 0.205, 0.295), "tolerance": 0.01}, True),
        ({"means": (0.5, 0.2, 0.32), "tolerance": 0.01}, False),
        ({"means": (0.5, 0.2, 0.28), "tolerance": 0.01}, False),
        ({"distances": {"a": 0.165, "b": 0.04}, "grid": GRID}, True),
        ({"distances": {"a": 0.17}, "grid": GRID}, False),
        ({"distances": {"a": 0.15}, "grid": GRID}, False),
    ],
)
def test_what_is_near_enough(published, is_taken):
    dataset = benchmark_data.from_images("mine", IMAGES)
    statistics = PublishedStatistics(**published)
    if is_taken:
        assert statistics.check(dataset, MEANS)
    else:
        with pytest.raises(DamagedFile, match="The source file is not the published one"):
            statistics.check(dataset, MEANS)


def test_few_pairs_may_lie_farther_from_the_published_distance(monkeypatch):
    dataset = benchmark_data.from_images("mine", IMAGES)
    # Over all pairs of two different rows the mean is 0.296.
    statistics = PublishedStatistics(distances={RANDOM_PAIR: 0.296 * 1.2})
    with pytest.raises(DamagedFile, match=r"a mean squared error of 0\.3552 between images that differ in"):
        statistics.check(dataset, MEANS)
    monkeypatch.setattr(checks, "PAIRS", 20)
    assert statistics.check(dataset, MEANS)
