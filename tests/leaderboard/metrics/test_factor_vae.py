from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from benchmark_data import InvalidInput
from leaderboard.doubts import LostSpread
from leaderboard.metrics import _batches, factor_vae


def grid(repeats=4):
    values = np.stack(np.meshgrid(range(3), range(4), range(5), indexing="ij"), -1).reshape(-1, 3)
    return np.tile(values, (repeats, 1))


def run(codes, factors, **more):
    return factor_vae.score(codes, factors, codes_test=codes, factors_test=factors, votes=600, votes_test=400, **more)


def test_aligned_codes_win_every_vote_and_noise_one_in_three():
    factors = grid()
    noise = np.random.default_rng(0).normal(size=(len(factors), 6))
    assert run(factors[:, [2, 0, 1]] * [1.0, -3.0, 10.0], factors)["factor_vae"] == 1.0
    assert run(noise, factors)["factor_vae"] == pytest.approx(1 / 3, abs=0.1)


def test_a_latent_per_factor_but_one_scores_what_is_left():
    """Where the factor without a latent is fixed, the vote goes to another factor's latent, which names that factor."""
    factors = grid()
    codes = factors[:, :2] + 0.01 * np.random.default_rng(0).normal(size=(len(factors), 2))
    assert run(codes, factors)["factor_vae"] == pytest.approx(2 / 3, abs=0.08)


def test_copies_of_latents_change_nothing():
    factors = grid()
    assert run(np.hstack([factors, factors]) * 1.0, factors)["factor_vae"] == 1.0


def test_latents_that_hardly_vary_have_no_vote():
    factors = grid()
    flat = np.random.default_rng(0).normal(size=(len(factors), 2)) * 0.049
    with pytest.warns(LostSpread, match=r"codes: every standard deviation is below 0\.05 and counts as unused"):
        assert run(flat, factors) == {"factor_vae": 0.0, "train_accuracy": 0.0, "active_latents": 0.0}
    assert run(np.zeros_like(flat), factors)["active_latents"] == 0.0, "constant: nothing that could be scaled up"
    found = run(np.hstack([factors.astype(float), flat]), factors)
    assert found == {"factor_vae": 1.0, "train_accuracy": 1.0, "active_latents": 3.0}
    assert run(flat, factors, least_deviation=0.0)["active_latents"] == 2.0


def test_the_seed_is_the_only_randomness():
    factors = grid()
    codes = np.random.default_rng(1).normal(size=(len(factors), 3))
    assert run(codes, factors, seed=1) == run(codes, factors, seed=1)
    assert run(codes, factors, seed=1) != run(codes, factors, seed=2)


def test_what_cannot_be_scored():
    factors = grid()
    with pytest.raises(InvalidInput, match="factors: expected at least two factors that vary, received one"):
        run(factors, factors[:, :1])
    with pytest.raises(InvalidInput, match="batch: expected at least 2, received 1"):
        run(factors, factors, batch=1)
    with pytest.raises(InvalidInput, match="votes_test: expected at least 1, received 0"):
        factor_vae.score(factors, factors, codes_test=factors, factors_test=factors, votes_test=0)
    with pytest.raises(InvalidInput, match="least_deviation: expected a number, at least 0, received nan"):
        factor_vae.score(factors, factors, codes_test=factors, factors_test=factors, least_deviation=float("nan"))


def test_a_factor_that_is_constant_in_the_held_out_part_alone():
    factors = grid()
    held_out = factors[factors[:, 2] == 1]
    for constant_factors in ("refuse", "drop"):
        with pytest.raises(InvalidInput, match=r"factors_test: expected at least two .*, received one value in 1 of 3"):
            factor_vae.score(
                factors, factors, codes_test=held_out, factors_test=held_out, constant_factors=constant_factors
            )


def test_a_batch_shares_the_value_of_its_factor_and_varies_in_the_others():
    factors = grid() * 7 - 3
    seen = set()
    for fixed, rows in _batches.draw_fixed_factor_batches(factors, 600, 64, seed=0):
        for f, batch in zip(fixed, factors[rows], strict=True):
            shared = (batch == batch[0]).all(axis=0)
            assert shared.tolist() == [g == f for g in range(3)]
            seen.add((f, batch[0, f]))
    assert len(seen) == 3 + 4 + 5


def test_a_batch_draws_each_row_that_it_may_equally_often():
    factors = grid(1)
    rows = np.concatenate(
        [r[fixed == 2].ravel() for fixed, r in _batches.draw_fixed_factor_batches(factors, 3000, 64, seed=3)]
    )
    counts = np.bincount(rows, minlength=60)
    # About 200 batches fix each of the 5 values, give or take 7%, which dominates the spread.
    assert counts.min() > 0.75 * counts.mean()
    assert counts.max() < 1.25 * counts.mean()


def test_pairs_share_the_value_of_their_factor_pair_by_pair():
    factors = grid()
    for fixed, first, second in _batches.draw_paired_batches(factors, 50, 64, seed=0):
        for f, a, b in zip(fixed, factors[first], factors[second], strict=True):
            assert (a == b).all(axis=0).tolist() == [g == f for g in range(3)]
            assert len(np.unique(a[:, f])) > 1


def test_many_latents_take_little_memory():
    factors = grid()
    codes = np.random.default_rng(0).normal(size=(len(factors), 500)).astype(np.float32)
    tracemalloc.start()
    run(codes, factors)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100 * 2**20
