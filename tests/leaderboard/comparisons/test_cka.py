from __future__ import annotations

import numpy as np
import pytest

import benchmark_data
from benchmark_data import InvalidInput
from leaderboard.comparisons import cka


def direct(x, y):
    """Section 2.2 of Bonheme and Grześ (2022), as it stands, in float64."""
    x, y = x.astype(np.float64), y.astype(np.float64)
    x, y = x - x.mean(0), y - y.mean(0)
    norm = np.linalg.norm
    return norm(y.T @ x) ** 2 / (norm(x.T @ x) * norm(y.T @ y))


def unbiased(x, y):
    """Song et al. (2012), equation 5, with its sums written out."""
    n = len(x)

    def hsic(k, el):
        k, el = k - np.diag(np.diag(k)), el - np.diag(np.diag(el))
        ones = np.ones(n)
        middle = (ones @ k @ ones) * (ones @ el @ ones) / ((n - 1) * (n - 2))
        return (np.trace(k @ el) + middle - 2 / (n - 2) * (ones @ k @ el @ ones)) / (n * (n - 3))

    k, el = x @ x.T, y @ y.T
    return hsic(k, el) / np.sqrt(hsic(k, k) * hsic(el, el))


@pytest.mark.parametrize(("n", "p", "q"), [(50, 7, 4), (50, 7, 90), (20, 60, 45), (50, 1, 1)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_cka_equals_the_formulas(n, p, q, dtype):
    rng = np.random.default_rng(n + p)
    x = (rng.normal(size=(n, p)) * 5 + 3).astype(dtype)
    y = (np.tanh(x @ rng.normal(size=(p, q))) + rng.normal(size=(n, q))).astype(dtype)
    assert cka.compare(x, y) == pytest.approx(direct(x, y), abs=1e-6)
    expected = unbiased(x.astype(np.float64), y.astype(np.float64))
    assert cka.compare(x, y, debiased=True) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("debiased", [False, True])
def test_cka_is_invariant_to_rotation_scale_and_shift(debiased):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 6))
    rotation, _ = np.linalg.qr(rng.normal(size=(6, 6)))
    assert cka.compare(x, 1e-12 * x @ rotation + 7, debiased=debiased) == pytest.approx(1.0, abs=1e-3)
    assert cka.compare(x, 1e20 * x @ rotation, debiased=debiased) == pytest.approx(1.0)
    assert max(cka.compare(x[:n], 3 * x[:n], debiased=debiased) for n in range(10, 40)) <= 1, "rounding included"
    y = rng.normal(size=(40, 3))
    assert cka.compare(x, y, debiased=debiased) == pytest.approx(cka.compare(y, x, debiased=debiased))


@pytest.mark.parametrize("copies", [1, 2])
def test_debiased_cka_of_samples_that_are_equally_far_apart_is_zero(copies):
    """The unbiased criterion of such a layer is 0, in exact fractions; what floats leave of it is rounding."""
    x = benchmark_data.load("xysquares/spacing_8")
    square = x.images(x.space.traverse(0, "x_R")).reshape(8, -1) / 255
    for layer in (square, np.eye(8), 0.7 * np.eye(8) + 0.1, np.eye(8) * [1, 0, 0, 0, 0, 0, 0, 0]):
        for other in (np.arange(8.0)[:, None] ** copies, np.eye(8)[::-1]):
            assert cka.compare(layer, other, debiased=True) == 0.0


def test_debiased_cka_of_unrelated_layers_is_near_zero_where_cka_is_not():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(50, 300)), rng.normal(size=(50, 200))
    assert cka.compare(x, y) > 0.7
    assert abs(cka.compare(x, y, debiased=True)) < 0.05


def test_orthogonal_and_constant_representations_give_zero():
    x = np.array([[1.0], [-1.0], [1.0], [-1.0]])
    y = np.array([[1.0], [1.0], [-1.0], [-1.0]])
    assert cka.compare(x, y) == 0.0
    assert cka.compare(x, np.full((4, 3), 0.1)) == 0.0
    assert isinstance(cka.compare(x, y), float)


def test_arrays_that_cannot_be_compared():
    with pytest.raises(
        InvalidInput, match=r"y: expected 5 rows, as in x, received 3\. Compare layers on the same samples"
    ):
        cka.compare(np.zeros((5, 2)), np.zeros((3, 2)))
    with pytest.raises(InvalidInput, match="One of them looks transposed"):
        cka.compare(np.zeros((5, 2)), np.zeros((3, 5)))
    with pytest.raises(InvalidInput, match="y: expected finite numbers"):
        cka.compare(np.eye(3), np.full((3, 2), np.nan))
    with pytest.raises(InvalidInput, match="x: expected at least 4 samples, received 3"):
        cka.compare(np.eye(3), np.eye(3), debiased=True)


def test_debiased_cka_is_a_ratio_of_unbiased_criteria():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(90, 6)) + 5
    y = np.tanh(x @ rng.normal(size=(6, 4))) * 100 + rng.normal(size=(90, 4))

    def hsic(a, b):
        a, b = a - a.mean(0), b - b.mean(0)
        n, k, el = len(a), a @ a.T, b @ b.T
        k, el = k - np.diag(np.diag(k)), el - np.diag(np.diag(el))
        rest = k.sum() * el.sum() / ((n - 1) * (n - 2)) - 2 / (n - 2) * k.sum(0) @ el.sum(0)
        return ((k * el).sum() + rest) / (n * (n - 3))

    expected = hsic(x, y) / np.sqrt(hsic(x, x) * hsic(y, y))
    for scale in (1, 1e-55, 1e-70, 1e35):
        assert cka.compare(x * scale, y * scale, debiased=True) == pytest.approx(expected, abs=1e-9)
    assert cka.compare(x, np.ones((90, 2)), debiased=True) == 0.0
