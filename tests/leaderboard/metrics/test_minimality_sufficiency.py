from __future__ import annotations

import numpy as np
import pytest

from leaderboard.metrics import minimality_sufficiency


def test_both_equal_the_reference(recorded):
    for name, expected, (codes, factors, *_) in recorded("almudevar2024"):
        assert minimality_sufficiency.score(codes, factors) == pytest.approx(expected, abs=1e-6), name


def test_both_are_one_where_factors_depend_on_each_other():
    factors = np.array([[0, 0], [1, 1], [2, 1], [3, 1]])
    assert minimality_sufficiency.score(factors, factors) == {"minimality": 1.0, "sufficiency": 1.0}


def test_by_hand():
    # Four values that tell one bit: ln 2 / ln 4 of the latent; the constant one counts as 0.
    codes = np.array([[0.0, 7.0], [1.0, 7.0], [2.0, 7.0], [3.0, 7.0]])
    found = minimality_sufficiency.score(codes, np.array([[0], [0], [1], [1]]))
    assert found == {"minimality": pytest.approx(0.25), "sufficiency": pytest.approx(1.0)}
