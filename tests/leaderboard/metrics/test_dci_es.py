from __future__ import annotations

import numpy as np
import pytest

from benchmark_data import InvalidInput
from leaderboard.metrics import dci_es

SPREADS = 3
"""Spreads of the reference's three random states by which ours may differ: forests cut off are other forests."""


def test_scores_are_within_the_spread_of_the_reference(recorded):
    for name, expected, (codes, factors, codes_test, factors_test) in recorded("eastwood2023"):
        found = dci_es.score(codes[:300], factors[:300], codes_test=codes_test[:150], factors_test=factors_test[:150])
        values = [expected[f"classes_{seed}"]["explicitness"] for seed in range(3)]
        spread = max(max(values) - min(values), 0.005)
        assert abs(found["explicitness"] - np.mean(values)) <= SPREADS * spread, (name, found, values)
        # The best of twelve forests of their own is luckier on 150 rows than the best of twelve cuts of one: the
        # difference seen is 0.001 to 0.02, of which the standard error of an accuracy on 6 x 150 rows is 0.016.
        best = np.mean([expected[f"classes_{seed}"]["informativeness"] for seed in range(3)])
        assert -0.016 <= best - found["informativeness"] <= 0.032, (name, found, best)


def test_the_curve_is_scored_as_the_reference_does(recorded):
    for name, expected, _ in recorded("eastwood2023"):
        one = expected["classes_0"]
        losses = np.array(one["losses"])
        found = dci_es._score_curves(losses, dci_es.DEPTHS, np.full(6, 7 / 8))
        assert found["explicitness"] == pytest.approx(one["explicitness"], abs=1e-6), name
        assert found["informativeness"] == pytest.approx(one["informativeness"], abs=1e-6), name


@pytest.mark.parametrize("on_a_threshold", [False, True])
def test_a_forest_cut_off_at_its_full_depth_is_the_forest(on_a_threshold):
    from sklearn.ensemble import RandomForestClassifier

    rng = np.random.default_rng(0)
    factors = rng.integers(0, 4, size=(200, 1))
    codes = (factors + rng.normal(size=(200, 3))).astype(np.float32)
    z, z_test, v, v_test = codes[:120], codes[120:], factors[:120], factors[120:]
    if on_a_threshold:  # thresholds are odd, and float32 takes the held-out codes for odd numbers
        z, z_test = 2 * z.round(), 2 * z_test.round().astype(float) + 1 + 1e-12
    forest = RandomForestClassifier(n_estimators=10, max_depth=5, random_state=0).fit(z, v[:, 0])
    losses = dci_es._depth_losses(z, v[:, 0], z_test, v_test[:, 0], [1, 5], 10, 0)
    assert losses[1] == pytest.approx(1 - forest.score(z_test, v_test[:, 0]), abs=1e-12)


def test_codes_that_know_nothing_have_nothing_to_gain_from_capacity():
    rng = np.random.default_rng(0)
    factors, noise = rng.integers(0, 4, size=(400, 1)), np.zeros((400, 2))
    found = dci_es.score(noise, factors, codes_test=noise, factors_test=factors, trees=5)
    assert found["explicitness"] == pytest.approx(1.0)
    assert found["informativeness"] < 0.4


def test_bad_input():
    x, v = np.eye(4), np.eye(4)[:, :1]
    for options, message in (
        ({"depths": [3]}, r"depths: expected at least two integers that ascend from 1 or more, received \[3\]"),
        ({"depths": [3, 2]}, "depths: expected at least two integers that ascend"),
        ({"depths": [1, 2.5]}, "depths: expected at least two integers that ascend"),
        ({"trees": 0}, "trees: expected at least 1, received 0"),
    ):
        with pytest.raises(InvalidInput, match=message):
            dci_es.score(x, v, codes_test=x, factors_test=v, **options)
