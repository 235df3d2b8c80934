from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

from baselines.nets.backend import ops
from baselines.objectives.infonce_pairs import OBJECTIVE, info_nce
from benchmark_data import Factor, FactorSpace, InvalidInput

CASE = json.loads((Path(__file__).parents[2] / "fixtures" / "beyond_pixels.json").read_text())["infonce_pairs"]


@pytest.mark.parametrize("power", [1, 2, 3])
def test_loss_and_gradients_are_those_of_the_authors_code(power, make_batch, check_reference):
    objective = OBJECTIVE(power=float(power), temperature=CASE["temperature"])

    def loss(first, second):
        batch = make_batch(np.zeros((2, 1)), np.zeros((2, 1)))
        posterior = batch.posterior._replace(mean=ops.concatenate([first, second]))
        return objective.terms(type(batch)(**{**vars(batch), "posterior": posterior}))["info_nce"].value

    check_reference(loss, CASE[str(power)], CASE["first"], CASE["second"])


def test_a_guess_among_n_has_the_entropy_of_n():
    assert float(info_nce(np.zeros((16, 16), np.float32))) == pytest.approx(np.log(16), rel=1e-6)


@pytest.mark.parametrize("power", [1.0, 2.0, 4.0])
def test_steps_have_the_distribution_of_the_power(power):
    space = FactorSpace(Factor("x", range(32), "ordinal"))
    rows = np.full(10, 16)
    first, second = OBJECTIVE(power=power).rows(rows, space, 40_000, np.random.default_rng(0))
    away = np.delete(np.arange(32) - 16, 16)
    wanted = scipy.stats.gennorm.pdf(away, power, scale=np.log(32))
    found = np.delete(np.bincount(second, minlength=32), 16) / 40_000
    assert (first == 16).all()
    assert np.abs(found - wanted / wanted.sum()).max() < 4 * np.sqrt(0.25 / 40_000)


@pytest.mark.parametrize("rate", [0.1, 100.0])
def test_at_a_large_power_a_step_is_all_that_the_scale_lets_in(rate):
    """At p = 1000 every class nearer than log(8) / rate is as likely, and none beyond; but one step is taken at least.

    (100 / log 8)^1000 is more than the largest float64.
    """
    space = FactorSpace(Factor("x", range(8), "ordinal"))
    objective = OBJECTIVE(power=1000.0, data_rate=rate)
    first, second = objective.rows(np.full(1, 4), space, 4_000, np.random.default_rng(0))
    counts = np.bincount(second, minlength=8)
    likely = np.array([0, 0, 0, 1, 0, 1, 0, 0] if rate > 1 else [1, 1, 1, 1, 0, 1, 1, 1]) / (2 if rate > 1 else 7)
    assert (first == 4).all()
    assert np.abs(counts / 4_000 - likely).max() < 4 * np.sqrt(0.25 / 4_000)


def test_what_cannot_be_contrasted_is_refused():
    with pytest.raises(InvalidInput, match="'power'"):
        OBJECTIVE(power=0.5)
    with pytest.raises(InvalidInput, match="'temperature': expected a positive number, received 0"):
        OBJECTIVE(temperature=0.0)
