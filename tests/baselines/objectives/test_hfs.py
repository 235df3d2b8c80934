from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from baselines.nets.backend import tensorflow
from baselines.objectives.hfs import OBJECTIVE, support_distance
from benchmark_data import Factor, FactorSpace, InvalidInput

FIXTURE = json.loads((Path(__file__).parents[2] / "fixtures" / "objectives_since_2020.json").read_text())["hfs"]
SPACE = FactorSpace(Factor("x", range(12)))


@pytest.mark.parametrize("case", FIXTURE["cases"], ids=["every pair", "three pairs"])
def test_terms_and_gradients_are_the_reference_implementations(make_batch, case):
    mean, log_variance = (tensorflow.constant(FIXTURE[key], tensorflow.float32) for key in ("mean", "log_variance"))
    objective = OBJECTIVE(beta=FIXTURE["beta"], gamma=FIXTURE["gamma"])
    drawn = {"pairs": np.array(case["pairs"], np.int32)}
    terms = objective.terms(make_batch(mean, log_variance, inputs=drawn))
    assert float(terms["kl"].value) == pytest.approx(case["kl"], rel=1e-6)
    assert float(terms["support"].value) == pytest.approx(case["support"], rel=1e-6)
    assert sum(t.weight * float(t.value) for t in terms.values()) == pytest.approx(case["loss"], rel=1e-6)
    with tensorflow.GradientTape() as tape:
        tape.watch(mean)
        distance = support_distance(mean, drawn["pairs"])
    gradient = FIXTURE["gamma"] * tape.gradient(distance, mean) + mean / len(mean)  # and the KL divergence's
    np.testing.assert_allclose(gradient, case["gradient_of_mean"], rtol=1e-4, atol=1e-4)


def test_a_full_grid_of_codes_costs_nothing_and_a_diagonal_does():
    # On a diagonal (0, 0), (1, 1), (3, 3) the farthest combination is (0, 3) or (3, 0): 4 + 1 from (1, 1).
    grid = np.stack(np.meshgrid([0.0, 1, 3], [0.0, 1, 3]), axis=-1).reshape(-1, 2).astype(np.float32)
    pairs = np.array([[0, 1]], np.int32)
    assert float(support_distance(grid, pairs)) == 0
    assert float(support_distance(grid[::4], pairs)) == 5


def test_pairs_are_drawn_anew_without_repeats_and_no_more_than_there_are():
    rng = np.random.default_rng(0)
    drawn = [OBJECTIVE(pairs=4).inputs(np.arange(5), SPACE, 5, rng)["pairs"] for _ in range(200)]
    assert {pairs.shape for pairs in drawn} == {(4, 2)}
    assert all(len({tuple(pair) for pair in pairs}) == 4 for pairs in drawn)
    often = np.zeros((5, 5))
    np.add.at(often, tuple(np.concatenate(drawn).T), 1)
    assert (often[np.tril_indices(5)] == 0).all()
    assert often[np.triu_indices(5, 1)] / 200 == pytest.approx([0.4] * 10, abs=0.12)  # 4 of 10; 3.5 deviations
    assert OBJECTIVE().inputs(np.arange(5), SPACE, 3, rng)["pairs"].shape == (3, 2)


def test_settings_that_make_no_sense_are_refused():
    with pytest.raises(InvalidInput, match="'pairs': expected at least 1, received 0"):
        OBJECTIVE(pairs=0)
