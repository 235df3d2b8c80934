from __future__ import annotations

import numpy as np
import pytest

from baselines.objectives.annealed_vae import OBJECTIVE
from benchmark_data import InvalidInput


@pytest.mark.parametrize(("step", "capacity"), [(0, 0.0), (50, 5.0), (100, 10.0), (1000, 10.0)])
def test_the_capacity_grows_linearly_and_stops(make_batch, step, capacity):
    # two latents at N(3, 1): KL 9 in all, below and above the capacity
    batch = make_batch(np.full((4, 2), 3.0), np.zeros((4, 2)), step=step)
    terms = OBJECTIVE(gamma=7.0, c_max=10.0, iteration_threshold=100).terms(batch)
    assert terms["capacity_gap"].weight == 7.0
    assert float(terms["capacity_gap"].value) == pytest.approx(abs(9.0 - capacity), rel=1e-6)
    assert (terms["kl"].weight, float(terms["kl"].value)) == (0.0, 9.0)


def test_against_numpy_on_random_posteriors(make_batch, posterior):
    mean, log_variance, _ = posterior
    kl = 0.5 * (mean**2 + np.exp(log_variance) - log_variance - 1).sum(1).mean()
    terms = OBJECTIVE(gamma=1000.0, c_max=25.0, iteration_threshold=100_000).terms(make_batch(*posterior, step=30_000))
    loss = sum(term.weight * float(term.value) for term in terms.values())
    assert loss == pytest.approx(1000 * abs(kl - 7.5), rel=1e-5)


def test_a_threshold_of_no_steps_is_refused():
    with pytest.raises(InvalidInput, match="'iteration_threshold': expected at least 1, received 0"):
        OBJECTIVE(iteration_threshold=0)
