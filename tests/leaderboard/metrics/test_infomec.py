from __future__ import annotations

import numpy as np
import pytest

from benchmark_data.errors import InvalidInput
from leaderboard.metrics import infomec

KEYS = ("infom", "infoc", "infoe")


def test_continuous_codes_equal_the_reference(recorded):
    """Neighbours are found after noise of 1e-10 without a fixed seed, by which two of the reference's own seeds differ
    by up to 4e-6 here; regression has no noise."""
    for name, expected, (codes, factors, *_) in recorded("hsu2023"):
        found = infomec.score(codes.astype(np.float64), factors)
        for seed in ("range_0", "range_1"):
            assert {key: found[key] for key in KEYS} == pytest.approx(expected[seed], abs=1e-5), name
            assert found["infoe"] == pytest.approx(expected[seed]["infoe"], abs=1e-6), name
        assert found["active_latents"] == expected["range_active"]


def test_discrete_codes_equal_the_reference(recorded):
    for name, expected, (codes, factors, *_) in recorded("hsu2023"):
        found = infomec.score(np.round(codes.astype(np.float64) * 3) / 3, factors, discrete=True)
        assert {key: found[key] for key in KEYS} == pytest.approx(expected["discrete"], abs=1e-6), name
        assert found["active_latents"] == expected["discrete_active"]


GRID = np.tile(np.stack(np.meshgrid(range(2), range(2), indexing="ij"), -1).reshape(-1, 2), (10, 1))


def test_by_hand():
    # The first latent is the first factor, the second knows both whole: (1 + 1/2) / 2 scaled from 1/2, 1 to 0, 1. The
    # first factor is in both latents, the second in one: the same.
    codes = np.stack([GRID[:, 0], GRID @ [2, 1]], axis=1)
    found = infomec.score(codes, GRID, discrete=True)
    assert found == {
        "infom": pytest.approx(0.5),
        "infoc": pytest.approx(0.5),
        "infoe": pytest.approx(1.0, abs=1e-3),
        "active_latents": 2.0,
    }


def test_a_single_latent_a_single_factor_and_none():
    single = infomec.score(GRID[:, :1], GRID, discrete=True)
    assert (single["infom"], single["infoc"]) == (pytest.approx(1.0), pytest.approx(0.5))  # the other factor: nowhere
    assert infomec.score(GRID, GRID[:, :1], discrete=True)["infom"] == pytest.approx(0.5)  # the other latent: nothing
    assert set(infomec.score(0 * GRID, GRID).values()) == {0.0}


@pytest.mark.parametrize("copies", [7, 13, 23])
def test_copies_of_one_latent_are_no_less_than_even(copies):
    factor = np.tile(np.arange(3), 40)[:, None]
    found = infomec.score(np.repeat(factor, copies, 1) * 1.0, np.repeat(factor, copies, 1), discrete=True)
    assert found["infom"] == found["infoc"] == 0.0


def test_values_that_hardly_repeat_are_not_discrete():
    codes = np.stack([GRID[:, 0], np.arange(40) * 0.1], axis=1)
    with pytest.raises(
        InvalidInput, match=r"codes: expected discrete codes, .* received 40 values in 40 rows of latent 1"
    ):
        infomec.score(codes, GRID, discrete=True)
    assert infomec.score(np.minimum(codes, 1.85), GRID, discrete=True)["active_latents"] == 2.0  # 20 values


def test_a_latent_of_a_small_range_is_pruned():
    codes = np.random.default_rng(0).normal(size=(200, 3)) * [1.0, 0.1, 0.04]
    assert infomec.score(codes, np.arange(200)[:, None] % 2)["active_latents"] == 2.0


def test_noise_may_look_modular_and_compact_but_not_explicit():
    """What little is estimated of noise may be about one factor: InfoM and InfoC mean something where InfoE is high."""
    noises = [infomec.score(np.random.default_rng(seed).normal(size=GRID.shape), GRID) for seed in range(10)]
    assert max(scores["infom"] for scores in noises) > 0.9
    assert max(scores["infoc"] for scores in noises) > 0.9
    assert max(scores["infoe"] for scores in noises) < 0.3


def test_a_class_for_each_row_leaves_no_neighbours():
    factors = np.stack([np.arange(20) % 2, np.arange(20)], axis=1)
    with pytest.raises(InvalidInput, match=r"two rows or more, .* received as many classes as rows in column 1"):
        infomec.score(np.random.default_rng(0).normal(size=(20, 2)), factors)
