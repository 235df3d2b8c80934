from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import mutual_info_score

from benchmark_data import InvalidInput
from leaderboard.metrics import mig


def test_mig_equals_the_reference(reference):
    expected, codes, factors, _, _ = reference
    assert mig.score(codes, factors)["mig"] == pytest.approx(expected["mig"], abs=1e-9)


def straightforward(codes, factors, bins=20):
    """The formula as disentanglement_lib writes it, on scikit-learn."""
    binned = [np.digitize(z, np.histogram(z, bins)[1][:-1]) for z in codes.T]
    gaps = []
    for v in factors.T:
        known = sorted((mutual_info_score(v, b) for b in binned), reverse=True)
        gaps.append((known[0] - known[1]) / mutual_info_score(v, v))
    return np.mean(gaps)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shift", [0.0, 1e3])
@pytest.mark.parametrize("bins", [2, 7, 20, 100])
def test_mig_equals_the_formula_on_other_bins_and_dtypes(dtype, shift, bins):
    rng = np.random.default_rng(bins)
    factors = rng.integers(0, 5, size=(777, 3)) * 7 - 3
    codes = (factors @ rng.normal(size=(3, 6)) + rng.normal(size=(777, 6)) + shift).astype(dtype)
    assert mig.score(codes, factors, bins=bins)["mig"] == pytest.approx(
        straightforward(codes, factors, bins), abs=1e-12
    )


def test_perfect_constant_and_copied_codes():
    factors = np.stack(np.meshgrid(range(4), range(5), indexing="ij"), -1).reshape(-1, 2)
    assert mig.score(factors, factors)["mig"] == pytest.approx(1.0)
    assert mig.score(np.zeros((20, 3)), factors)["mig"] == 0.0
    assert mig.score(np.hstack([factors, factors]), factors)["mig"] == 0.0


def test_a_single_latent_is_compared_with_nothing():
    factors = np.stack(np.meshgrid(range(4), range(5), indexing="ij"), -1).reshape(-1, 2)
    assert mig.parts(factors[:, :1], factors)["gaps"].tolist() == [pytest.approx(1.0), 0.0]


@pytest.mark.parametrize("values", [2, 6, 7, 10, 11])
def test_the_factor_itself_is_not_known_more_than_fully(values):
    factors = np.arange(10)[:, None] % values
    assert mig.score(factors.astype(np.float64), factors) == {"mig": 1.0}


def test_a_constant_factor_is_refused_or_dropped():
    factors = np.stack([np.arange(20) % 4, np.full(20, 7)], axis=1)
    with pytest.raises(
        InvalidInput, match=r"at least two values of each factor, received one value in column 1\. Pass"
    ):
        mig.score(factors, factors)
    assert mig.score(factors, factors, constant_factors="drop")["mig"] == pytest.approx(1.0)


def test_one_bin_is_refused():
    with pytest.raises(InvalidInput, match="bins: expected at least 2, received 1"):
        mig.score(np.eye(4), np.arange(4)[:, None] % 2, bins=1)
    for bins in (20.0, "20"):
        with pytest.raises(InvalidInput, match="bins: expected an integer, at least 2, received "):
            mig.score(np.eye(4), np.arange(4)[:, None] % 2, bins=bins)
