from __future__ import annotations

import numpy as np
import pytest

from baselines.objectives.regression import OBJECTIVE
from benchmark_data import Factor, FactorSpace, InvalidInput

SPACE = FactorSpace(
    Factor("colour", (0,), "ordinal"), Factor("x", range(5), "ordinal"), Factor("y", range(3), "ordinal")
)


def test_factors_that_vary_are_scaled_to_the_same_range(make_batch):
    targets = OBJECTIVE().inputs(np.array([0, 7, 14]), SPACE, 9, np.random.default_rng(0))["targets"]
    np.testing.assert_allclose(targets, [[-1, -1], [0, 0], [1, 1]])
    assert OBJECTIVE().code_size(9, SPACE.sizes) == 2
    batch = make_batch(targets + 0.5, targets, inputs={"targets": targets})
    assert float(OBJECTIVE().terms(batch)["squared_error"].value) == pytest.approx(0.25)


def test_a_dataset_without_factors_that_vary_is_refused():
    with pytest.raises(InvalidInput, match="expected a dataset with factors that vary, received none"):
        OBJECTIVE().code_size(2, (1, 1))
