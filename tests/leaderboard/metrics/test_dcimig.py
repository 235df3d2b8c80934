from __future__ import annotations

import numpy as np
import pytest

from leaderboard.metrics import dcimig


def test_it_equals_the_reference(recorded):
    for name, expected, (codes, factors, *_) in recorded("carbonneau2022"):
        for bins in (10, 20):
            found = dcimig.score(codes, factors, bins=bins)["dcimig"]
            assert found == pytest.approx(expected[f"dcimig_{bins}"], abs=1e-6), name


GRID = np.stack(np.meshgrid(range(2), range(4), indexing="ij"), -1).reshape(-1, 2)


def test_by_hand():
    # The first factor's entropy is ln 2, the second's ln 4: a latent that is one of them gains a third or two.
    assert dcimig.score(GRID[:, :1], GRID)["dcimig"] == pytest.approx(1 / 3)
    assert dcimig.score(GRID[:, 1:], GRID)["dcimig"] == pytest.approx(2 / 3)
    # A latent that is both has a gap of ln 4 - ln 2 for the second.
    assert dcimig.score(GRID @ [[4.0], [1.0]], GRID, bins=8)["dcimig"] == pytest.approx(1 / 3)
    assert dcimig.score(0 * GRID, GRID) == {"dcimig": 0.0}
