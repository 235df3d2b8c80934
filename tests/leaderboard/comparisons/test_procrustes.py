from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.spatial

from leaderboard.comparisons import procrustes
from leaderboard.comparisons._pair import centred


def direct(x, y):
    """Equations 4 and 10 of Bonheme and Grześ (2022), as they stand, in float64."""
    x, y = x.astype(np.float64), y.astype(np.float64)
    x, y = x - x.mean(0), y - y.mean(0)
    x, y = x / np.linalg.norm(x), y / np.linalg.norm(y)
    distance = np.linalg.norm(x) ** 2 + np.linalg.norm(y) ** 2 - 2 * np.linalg.norm(y.T @ x, "nuc")
    return 1 - distance / 2


@pytest.mark.parametrize(("n", "p", "q"), [(50, 7, 4), (50, 7, 90), (20, 60, 45), (50, 1, 1), (20, 20, 60)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_procrustes_equals_the_formula(n, p, q, dtype):
    rng = np.random.default_rng(n + p)
    x = (rng.normal(size=(n, p)) * 5 + 3).astype(dtype)
    y = (np.tanh(x @ rng.normal(size=(p, q))) + rng.normal(size=(n, q))).astype(dtype)
    assert procrustes.compare(x, y) == pytest.approx(direct(x, y), abs=1e-6)


def test_layers_of_low_rank_stay_exact():
    """Nearly all singular values are 0, which is where squaring them loses most."""
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(700, 1))
    x = (hidden @ rng.normal(size=(1, 600))).astype(np.float32)
    y = ((hidden + 0.5 * rng.normal(size=(700, 1))) @ rng.normal(size=(1, 600))).astype(np.float32)
    assert min(x.shape[1], y.shape[1]) > procrustes._LARGEST_SVD
    assert procrustes.compare(x, y) == pytest.approx(direct(x, y), abs=5e-6)


@pytest.mark.parametrize(("p", "q"), [(700, 300), (200, 20), (40, 30)])
def test_leading_columns_give_a_lower_bound(p, q):
    rng = np.random.default_rng(p)
    hidden = rng.normal(size=(400, 50)) / np.arange(1, 51)
    x, y = (centred(hidden @ rng.normal(size=(50, width)) + rng.normal(size=(400, width)) / 9) for width in (p, q))
    a, b = procrustes.project_on_leading(x), procrustes.project_on_leading(y)
    assert a.shape == (400, min(p, 128))
    whole = procrustes.similarity(x, y)
    assert 0.8 * whole < procrustes.similarity(a, b) <= whole + 1e-12


def test_procrustes_of_a_layer_with_itself():
    x = centred(np.random.default_rng(0).normal(size=(40, 9)))
    assert procrustes.similarity(x, x) == pytest.approx(procrustes.similarity(x, x.copy()), abs=1e-12)
    assert procrustes.similarity(0 * x, 0 * x) == 0
    part = x[:, :4]
    assert procrustes.similarity(part, part) == pytest.approx(procrustes.similarity(part, part.copy()), abs=1e-12)


def test_procrustes_is_the_best_rotation():
    """The distance left after the best of many rotations is no smaller than the one that the similarity stands for."""
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(30, 2)), rng.normal(size=(30, 2))
    a, b = ((z - z.mean(0)) / np.linalg.norm(z - z.mean(0)) for z in (x, y))
    angles = np.linspace(0, 2 * np.pi, 20_000)
    turns = np.stack([np.cos(angles), -np.sin(angles), np.sin(angles), np.cos(angles)], -1).reshape(-1, 2, 2)
    turns = np.concatenate([turns, turns * [[1], [-1]]])
    left = min(np.linalg.norm(a - b @ turn) ** 2 for turn in turns)
    assert procrustes.compare(x, y) == pytest.approx(1 - left / 2, abs=1e-6)


def test_procrustes_is_scipys():
    """scipy gives the nuclear norm of centred, normalised matrices as the scale, and one minus its square."""
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(40, 5)) + 3, rng.normal(size=(40, 5))
    a, b = ((z - z.mean(0)) / np.linalg.norm(z - z.mean(0)) for z in (x, y))
    assert procrustes.compare(x, y) == pytest.approx(scipy.linalg.orthogonal_procrustes(a, b)[1], abs=1e-9)
    assert procrustes.compare(x, y) == pytest.approx(np.sqrt(1 - scipy.spatial.procrustes(x, y)[2]), abs=1e-9)


def test_procrustes_is_invariant_to_rotation_scale_and_shift():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 6))
    rotation, _ = np.linalg.qr(rng.normal(size=(6, 6)))
    assert procrustes.compare(x, 5 * x @ rotation - 3) == pytest.approx(1.0)
    assert procrustes.compare(x, np.zeros((40, 2))) == 0.0
