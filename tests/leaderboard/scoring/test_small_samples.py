from __future__ import annotations

import re

import numpy as np
import pytest

from benchmark_data import UnknownName
from leaderboard.metrics import mig
from leaderboard.scoring import small_samples


def sample(seed, n):
    rng = np.random.default_rng(seed)
    factors = np.stack([rng.integers(0, 3, n), rng.integers(0, 6, n)], axis=1)
    return (factors @ [[1.0, 0.2], [0.1, 0.7]] + 0.5 * rng.normal(size=(n, 2))).astype(np.float32), factors


def test_a_small_sample_is_doubted_with_its_curve_and_a_large_one_is_not():
    codes, factors = sample(0, 4000)
    found = small_samples.doubt("mig", codes[:80], factors[:80])
    assert re.fullmatch(r"mig: 0\.\d+ with 20, .* with 40, .* with 80 samples; .* needs more\.", found)
    assert f"{mig.score(codes[:80], factors[:80])['mig']:.3f} with 80" in found
    assert "with 20 samples" in small_samples.doubt("mig", codes[:20], factors[:20])
    assert small_samples.doubt("mig", codes, factors) == ""


def test_scores_that_are_known_are_not_computed_again(monkeypatch):
    codes, factors = sample(0, 160)
    seen = []
    real = mig.score
    monkeypatch.setattr(mig, "score", lambda z, v, **more: seen.append(len(z)) or real(z, v, **more))
    assert "0.500 with 160 samples" in small_samples.doubt("mig", codes, factors, whole={"mig": 0.5})
    assert seen == [20, 40, 80]
    assert "mig: 0.500 with 12 samples" in small_samples.doubt("mig", codes[:12], factors[:12], whole={"mig": 0.5})


def test_a_constant_factor_is_left_out_and_held_out_rows_are_passed_on():
    codes, factors = sample(0, 150)
    beside = np.insert(factors, 1, 5, axis=1)
    found = [
        small_samples.doubt("sap", codes, table, codes_test=codes[:50], factors_test=table[:50])
        for table in (beside, factors)
    ]
    assert found[0] == found[1] != ""


def test_an_unknown_metric():
    with pytest.raises(UnknownName, match=r"received 'mgi'\. Did you mean 'mig'"):
        small_samples.doubt("mgi", *sample(0, 30))
