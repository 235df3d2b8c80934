from __future__ import annotations

import numpy as np
import pytest

from leaderboard.metrics import edi


def test_it_equals_the_reference(recorded):
    for name, expected, (codes, factors, *_) in recorded("julka2024"):
        wanted = expected["entropy_20"]
        assert edi.score(codes, factors) == pytest.approx(
            {
                "modularity": wanted["disentanglement"],
                "compactness": wanted["completeness"],
                "explicitness": wanted["informativeness"],
            },
            abs=1e-6,
        ), name


def test_by_hand():
    # Two latents know the factor whole, a third knows nothing: 1 - sqrt((1 + 0) / 2).
    factors = np.array([[0], [0], [1], [1]])
    codes = np.hstack([factors, factors, 0 * factors])
    found = edi.score(codes, factors)
    assert found == {
        "modularity": 1.0,
        "compactness": pytest.approx(1 - np.sqrt(0.5)),
        "explicitness": pytest.approx(1.0),
    }
