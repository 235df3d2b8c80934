from __future__ import annotations

import numpy as np

from baselines.objectives.ae import OBJECTIVE


def test_nothing_but_the_reconstruction(make_batch):
    assert OBJECTIVE().terms(make_batch(np.ones((2, 3)), np.ones((2, 3)))) == {}
    assert not OBJECTIVE.stochastic
