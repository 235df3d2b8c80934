from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import benchmark_data
from baselines.nets.backend import ops
from baselines.objectives.lejepa import OBJECTIVE, sigreg
from benchmark_data import InvalidInput

CASE = json.loads((Path(__file__).parents[2] / "fixtures" / "beyond_pixels.json").read_text())["lejepa"]


def test_loss_and_gradients_are_those_of_the_authors_code(make_batch, check_reference):
    directions = np.array(CASE["directions"])
    seen = (directions / np.linalg.norm(directions, axis=0)).astype(np.float32)

    def loss(first, second):
        batch = make_batch(np.zeros((2, 1)), np.zeros((2, 1)), inputs={"directions": seen})
        batch = type(batch)(**{**vars(batch), "codes": ops.concatenate([first, second])})
        terms = OBJECTIVE().terms(batch)
        assert float(terms["sigreg"].value) == pytest.approx(CASE["sigreg"], rel=1e-5)
        assert float(terms["invariance"].value) == pytest.approx(CASE["invariance"], rel=1e-5)
        return sum(term.weight * term.value for term in terms.values())

    check_reference(loss, CASE, CASE["first"], CASE["second"])


def test_a_normal_sample_has_the_least_statistic():
    rng, direction = np.random.default_rng(0), np.ones((1, 1), np.float32)
    normal = rng.normal(size=(4000, 1)).astype(np.float32)
    at_normal = float(sigreg(normal, direction))
    for other in (2 * normal, normal + 1, rng.uniform(-1.7, 1.7, (4000, 1)).astype(np.float32)):
        assert float(sigreg(other, direction)) > 5 * at_normal


def test_directions_have_length_1():
    space = benchmark_data.load("xysquares").space
    drawn = OBJECTIVE(directions=7).inputs(np.arange(8), space, 6, np.random.default_rng(0))["directions"]
    np.testing.assert_allclose(np.linalg.norm(drawn, axis=0), np.ones(7), rtol=1e-6)
    with pytest.raises(InvalidInput, match=r"'gaussian': expected at most 1, received 1\.5"):
        OBJECTIVE(gaussian=1.5)
