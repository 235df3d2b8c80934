"""Whether a score still moves with the number of samples, of which ``offaxis board score`` warns."""

from __future__ import annotations

import re

import numpy as np

from benchmark_data import draws
from leaderboard.commands import metrics
from leaderboard.metrics import mig, sap
from leaderboard.scoring import measure


def sample(seed, n):
    rng = np.random.default_rng(seed)
    factors = np.stack([rng.integers(0, 3, n), rng.integers(0, 6, n)], axis=1)
    return (factors @ [[1.0, 0.2], [0.1, 0.7]] + 0.5 * rng.normal(size=(n, 2))).astype(np.float32), factors


def doubts(name, module, codes, factors, held_out=None, whole=None):
    chosen, options = measure.split_rows(module, codes, factors, held_out or (codes, factors))
    return metrics._sample_size_doubts(name, module, chosen, options, whole or module.score(*chosen, **options))


def test_a_small_sample_is_doubted_with_its_curve_and_a_large_one_is_not():
    codes, factors = sample(0, 4000)
    (found,) = doubts("mig", mig, codes[:80], factors[:80])
    assert re.fullmatch(r"mig: 0\.\d+ with 20, .* with 40, .* with 80 samples: use more before .*", found)
    assert f"{mig.score(codes[:80], factors[:80])['mig']:.3f} with 80" in found
    assert "with 20 samples" in doubts("mig", mig, codes[:20], factors[:20])[0]
    assert doubts("mig", mig, codes, factors) == []


def test_scores_that_are_known_are_not_computed_again(monkeypatch):
    codes, factors = sample(0, 160)
    seen = []
    real = mig.score
    monkeypatch.setattr(mig, "score", lambda z, v, **more: seen.append(len(z)) or real(z, v, **more))
    assert "0.500 with 160 samples" in doubts("mig", mig, codes, factors, whole={"mig": 0.5})[0]
    assert seen == [20, 40, 80]
    assert "mig: 0.500 with 12 samples" in doubts("mig", mig, codes[:12], factors[:12], whole={"mig": 0.5})[0]


def test_a_constant_factor_is_left_out_and_held_out_rows_are_passed_on():
    codes, factors = sample(0, 150)
    beside = np.insert(factors, 1, 5, axis=1)
    found = [doubts("sap", sap, codes, table, (codes[:50], table[:50])) for table in (beside, factors)]
    assert found[0] == found[1] != []


def test_parts_that_cannot_be_scored_are_named():
    codes = np.arange(40.0)[:, None]
    rare = codes.astype(int) == draws.permutation(0, 40)[-1]  # of one value in the half
    (found,) = doubts("mig", mig, codes, rare.astype(int), whole={"mig": 0.5})
    assert found.startswith("mig: smaller samples cannot be scored")


def test_factors_that_differ_by_chance_are_not_called_sorted():
    """Of 200 training rows 90 are ones, of 100 held-out rows 55: 0.1 apart, 1.6 standard errors of 0.061."""
    ones = np.concatenate([np.arange(200) < 90, np.arange(100) < 55]).astype(int)[:, None]
    assert metrics._ordered_factor_doubts(ones, ["a"]) == []
    (said,) = metrics._ordered_factor_doubts(np.sort(ones, axis=0), ["a"])
    assert said.startswith("rows are sorted by a")


def test_one_row_is_in_no_order():
    assert metrics._ordered_factor_doubts(np.zeros((1, 1), int), ["a"]) == []


def test_of_repeated_rows_those_that_are_held_out_are_counted():
    assert metrics._repeated_row_doubts(np.array([0, 0, 1, 2, 0, 3])) == [
        "1 of 2 held-out rows are training rows, too: pass each once."
    ]
