"""What is said of a factor that does something else than is declared. The contract of datasets runs it over all."""

from __future__ import annotations

import dataclasses

import numpy as np

import benchmark_data
from benchmark_data.expected_effects import Effect
from tests.contracts import label_check


def test_where_most_places_show_nothing_that_is_said_and_not_a_correlation_that_is_fine():
    """Of sprites of the greatest scale alone the mean over places moves right; five of six places hold others."""
    base = benchmark_data.load("dsprites")
    largest = base.images(base.space.index([[0, 5, 0, 16, 16]])).astype(bool).sum()

    def right(images):
        drawn = images[..., 0].astype(bool)
        column = (drawn * np.arange(64)).sum(axis=(1, 2)) / drawn.sum(axis=(1, 2))
        return np.where(drawn.sum(axis=(1, 2)) >= 0.95 * largest, column, 0.0)

    data = dataclasses.replace(base, effects={**base.effects, "posX": Effect("moves right", right)})
    (problem,) = label_check.problems(data)
    assert problem.startswith(
        "posX: declared as 'moves right', which it does not do. Place by place the rank correlation"
    )
    assert "expected at least 0.5, and nothing varies at " in problem
