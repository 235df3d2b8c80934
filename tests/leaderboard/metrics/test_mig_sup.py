from __future__ import annotations

import numpy as np
import pytest

from benchmark_data import InvalidInput
from leaderboard.metrics import mig_sup


def test_it_equals_the_reference(recorded):
    for name, expected, (codes, factors, *_) in recorded("carbonneau2022"):
        for bins in (10, 20):
            found = mig_sup.score(codes, factors, bins=bins, normalised_by="latents")
            assert found["mig_sup"] == pytest.approx(expected[f"mig_sup_{bins}"], abs=1e-6), name


GRID = np.stack(np.meshgrid(range(2), range(4), indexing="ij"), -1).reshape(-1, 2)


def test_a_latent_of_two_factors_by_hand():
    # a + 2 b: eight values, all in bins of their own, know both factors whole: a gap of 0 in units of the factor's
    # entropy, and of (ln 4 - ln 2) / ln 8 = 1 / 3 in units of the latent's
    codes = (GRID @ [[1.0], [2.0]]).astype(float)
    assert mig_sup.score(codes[:, [0, 0]], GRID, bins=8) == mig_sup.score(codes, GRID, bins=8)
    both = GRID @ [[4.0], [1.0]]
    assert mig_sup.score(both, GRID, bins=8)["mig_sup"] == pytest.approx(0.0, abs=1e-12)
    assert mig_sup.score(both, GRID, bins=8, normalised_by="latents")["mig_sup"] == pytest.approx(1 / 3)


@pytest.mark.parametrize("unit", ["factors", "latents"])
def test_a_single_factor_and_a_constant_latent(unit):
    codes = np.hstack([GRID, 0 * GRID[:, :1]])  # gaps of 1, 0 and 0
    assert mig_sup.score(codes, GRID[:, :1], normalised_by=unit)["mig_sup"] == pytest.approx(1 / 3)


def test_an_unknown_unit_is_refused():
    with pytest.raises(InvalidInput, match="normalised_by: expected 'factors' or 'latents', received 'bits'"):
        mig_sup.score(GRID, GRID, normalised_by="bits")
