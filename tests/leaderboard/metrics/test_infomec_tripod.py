from __future__ import annotations

import numpy as np
import pytest

from benchmark_data.errors import InvalidInput
from leaderboard.metrics import infomec, infomec_tripod

KEYS = ("infom", "infoc", "infoe")


def test_it_equals_the_reference(recorded):
    """To 1e-5 where neighbours are sought after the reference's unseeded noise; see ``test_infomec``."""
    for name, expected, (codes, factors, *_) in recorded("hsu2024"):
        found = infomec_tripod.score(codes.astype(np.float64), factors)
        assert {key: found[key] for key in KEYS} == pytest.approx(expected["iqr"], abs=1e-5), name
        assert found["active_latents"] == expected["iqr_active"]
        found = infomec_tripod.score(np.round(codes.astype(np.float64) * 3) / 3, factors, discrete=True)
        assert {key: found[key] for key in KEYS} == pytest.approx(expected["discrete_iqr"], abs=1e-6), name
        assert found["active_latents"] == expected["discrete_iqr_active"]


def test_a_latent_that_moves_for_a_few_outliers_is_pruned_here_and_kept_there():
    factors = np.arange(200)[:, None] % 2
    codes = np.hstack([factors, np.zeros((200, 1))]).astype(float)
    codes[:5, 1] = 1.0
    assert infomec.score(codes, factors, discrete=True)["active_latents"] == 2.0
    assert infomec_tripod.score(codes, factors, discrete=True)["active_latents"] == 1.0
    assert infomec_tripod.score(codes, factors, discrete=True)["infoc"] == pytest.approx(1.0)


def test_an_idle_latent_whose_values_hardly_repeat_is_not_discrete():
    """It would give the whole of InfoE."""
    rng = np.random.default_rng(0)
    factors, codes = rng.integers(0, 4, (400, 2)), rng.integers(0, 3, (400, 2)).astype(float)
    idle = 1e-3 * rng.normal(size=(400, 1))
    assert infomec_tripod.score(np.hstack([codes, 0 * idle]), factors, discrete=True)["infoe"] < 0.05
    with pytest.raises(InvalidInput, match=r"expected discrete codes, .* received 400 values in 400 rows of latent 2"):
        infomec_tripod.score(np.hstack([codes, idle]), factors, discrete=True)


def test_no_active_latent_scores_nothing():
    assert set(infomec_tripod.score(np.zeros((10, 2)), np.arange(10)[:, None] % 2).values()) == {0.0}
