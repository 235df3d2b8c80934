from __future__ import annotations

import numpy as np
import pytest

from benchmark_data import InvalidInput
from leaderboard.metrics import beta_vae


def grid():
    return np.tile(np.stack(np.meshgrid(range(3), range(4), range(5), indexing="ij"), -1).reshape(-1, 3), (4, 1))


def run(codes, factors, **more):
    sizes = {"points": 500, "points_test": 300}
    return beta_vae.score(codes, factors, codes_test=codes, factors_test=factors, **sizes, **more)


def test_aligned_codes_are_told_apart_and_noise_is_not():
    factors = grid()
    noise = np.random.default_rng(0).normal(size=(len(factors), 4))
    assert run(factors * 1.0, factors)["beta_vae"] == 1.0
    assert run(noise, factors)["beta_vae"] == pytest.approx(1 / 3, abs=0.12)


def test_the_score_is_of_held_out_points():
    factors = grid()
    noise = np.random.default_rng(0).normal(size=(len(factors), 4))
    held_out = {"codes_test": noise[:, :3], "factors_test": factors}
    found = beta_vae.score(factors, factors, **held_out, points=500, points_test=300)
    assert found["train_accuracy"] == 1.0
    assert found["beta_vae"] < 0.6
    same = beta_vae.score(noise, factors, codes_test=noise, factors_test=factors, points=300, points_test=300)
    assert same["beta_vae"] != same["train_accuracy"], "other draws, even of the same rows"


def test_noise_says_nothing_of_a_factor_of_many_values_with_few_rows_each():
    """A row that was paired with itself would differ in nothing, most often where the factor of 183 values is fixed."""
    rng = np.random.default_rng(0)
    factors = np.stack([rng.integers(0, size, 2_000) for size in (4, 24, 183)], axis=1)
    assert run(rng.normal(size=(2_000, 10)), factors)["beta_vae"] == pytest.approx(1 / 3, abs=0.1)


def test_a_rotation_may_keep_the_score():
    """The weakness that the FactorVAE score was made to mend."""
    factors = grid()
    rotation, _ = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))
    assert run((factors / [1, 1.5, 2]) @ rotation, factors)["beta_vae"] > 0.8


def test_a_factor_that_is_constant_in_the_held_out_part_alone():
    factors = grid()
    held_out = factors[factors[:, 2] == 1]
    for constant_factors in ("refuse", "drop"):
        with pytest.raises(InvalidInput, match=r"factors_test: expected at least two .*, received one value in 1 of 3"):
            beta_vae.score(
                factors, factors, codes_test=held_out, factors_test=held_out, constant_factors=constant_factors
            )


def test_what_cannot_be_scored():
    factors = grid()
    with pytest.raises(InvalidInput, match="factors: expected at least two factors that vary, received one"):
        run(factors, factors[:, :1])
    with pytest.raises(InvalidInput, match="points: expected at least 1, received 0"):
        beta_vae.score(factors, factors, codes_test=factors, factors_test=factors, points=0)
    with pytest.raises(InvalidInput, match=r"codes: expected pairs that differ by 1e\+30 at most, .* Rescale"):
        run((factors * 1e30).astype(np.float32), factors)
