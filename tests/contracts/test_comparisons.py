"""What every comparison of representations does with hard input: a clear error or a correct value."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark_data import InvalidInput
from leaderboard.comparisons import cka, cka_interval, heatmap, mutual_knn, procrustes, udr


def layers(similarity, x, y):
    return float(heatmap.compare_layers({"x": x}, {"y": y}, similarity=similarity).iloc[0, 0])


COMPARISONS = {
    "cka": cka.compare,
    "debiased cka": functools.partial(cka.compare, debiased=True),
    "cka of an interval": lambda x, y: cka_interval.compare(x, y, resamples=2).value,
    "mutual knn": mutual_knn.compare,
    "procrustes": procrustes.compare,
    "udr": udr.compare,
    "udr by rank": functools.partial(udr.compare, similarity="spearman"),
    "layers by cka": functools.partial(layers, "cka"),
    "layers by debiased cka": functools.partial(layers, "cka_debiased"),
    "layers by procrustes": functools.partial(layers, "procrustes"),
    "layers by the smaller": functools.partial(layers, "smaller"),
}
AXES_MATTER = {"udr", "udr by rank"}
NOT_SYMMETRIC = {"udr"}

every = pytest.mark.parametrize("name", COMPARISONS)
few = settings(max_examples=5, deadline=None, derandomize=True)


def sample(seed=0, n=40, p=5, q=7):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, p))
    return x, x @ rng.normal(size=(p, q)) + rng.normal(size=(n, q))


@every
def test_a_python_float_in_range_and_the_arrays_as_they_were(name):
    x, y = sample()
    kept = x.copy(), y.copy()
    value = COMPARISONS[name](x, y)
    assert type(value) is float
    assert 0 < value <= 1
    assert COMPARISONS[name](x, y) == value
    np.testing.assert_array_equal(x, kept[0])
    np.testing.assert_array_equal(y, kept[1])


@every
@few
@given(seed=st.integers(0, 99), power=st.integers(-20, 20), shift=st.floats(-5, 5))
def test_scale_and_place_do_not_matter_nor_which_comes_first(name, seed, power, shift):
    x, y = sample(seed)
    expected = COMPARISONS[name](x, y)
    assert COMPARISONS[name](x * 2.0**power, y + shift) == pytest.approx(expected, abs=1e-5)
    if name not in NOT_SYMMETRIC:
        assert COMPARISONS[name](y, x) == pytest.approx(expected, abs=1e-6)


@every
@few
@given(seed=st.integers(0, 99))
def test_rotations_do_not_matter_but_to_udr(name, seed):
    x, y = sample(seed)
    turn, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(5, 5)))
    expected, turned = COMPARISONS[name](x, y), COMPARISONS[name](x @ turn, y)
    assert (turned == pytest.approx(expected, abs=1e-5)) == (name not in AXES_MATTER)


@every
def test_itself_is_most_alike(name):
    x, y = sample()
    alike, other = COMPARISONS[name](x, x), COMPARISONS[name](x, y)
    assert alike > other
    if not name.startswith("udr"):
        assert alike == pytest.approx(1.0, abs=1e-6)


@every
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_are_refused(name, value):
    x, y = sample()
    y[3, 1] = value
    with pytest.raises(InvalidInput, match=r"y: expected finite numbers.* at row 3, column 1"):
        COMPARISONS[name](x, y)


@every
def test_a_constant_representation_is_like_nothing(name):
    x, _ = sample()
    for constant in (np.zeros((40, 3)), np.full((40, 3), 0.1, np.float32)):
        assert COMPARISONS[name](x, constant) == 0.0
        assert COMPARISONS[name](constant, constant) == 0.0


@every
def test_a_single_column_and_more_columns_than_samples(name):
    x, _ = sample()
    rng = np.random.default_rng(1)
    for other in (x[:, :1], rng.normal(size=(40, 1)), rng.normal(size=(40, 90))):
        value = COMPARISONS[name](x, other)
        assert np.isfinite(value)
        assert -1 <= value <= 1


@every
def test_memory_layout_and_precision_of_storage_change_nothing(name):
    x, y = (z.astype(np.float16) for z in sample())
    expected = COMPARISONS[name](x.astype(np.float32), y.astype(np.float32))
    assert COMPARISONS[name](x, y) == expected
    wide = np.zeros((40, 10), np.float32)
    wide[:, ::2] = x
    assert COMPARISONS[name](wide[:, ::2], np.asfortranarray(y)) == expected


@every
def test_integers_and_booleans_are_numbers_and_words_are_not(name):
    x, y = sample()
    assert np.isfinite(COMPARISONS[name]((x > 0), np.rint(3 * y).astype(np.int32)))
    with pytest.raises(InvalidInput, match="y: expected real numbers, received dtype"):
        COMPARISONS[name](x, np.full((40, 2), "a"))
    with pytest.raises(InvalidInput, match="y: expected real numbers, received dtype complex128"):
        COMPARISONS[name](x, y * 1j)


@every
def test_other_samples_are_refused(name):
    x, y = sample()
    with pytest.raises(InvalidInput, match=r"y: expected \d+ rows, as in .*, received \d+"):
        COMPARISONS[name](x, y[:-2])


@pytest.mark.parametrize("name", ["cka", "debiased cka", "procrustes"])
def test_a_transposed_representation_is_named(name):
    x, y = sample()
    with pytest.raises(InvalidInput, match=r"y: expected 40 rows, as in x, received 7.* One of them looks transposed"):
        COMPARISONS[name](x, y.T)
