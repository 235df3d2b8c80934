from __future__ import annotations

import re

import numpy as np
import pytest

from benchmark_data import InvalidInput
from benchmark_data.errors import check_count
from leaderboard.arrays import check_codes, check_codes_factors, check_factors, check_train_test, to_float32
from leaderboard.doubts import LostSpread, SameCodes, warn_if_lost, warn_if_same

CODES = np.linspace(0, 1, 60).reshape(20, 3)
FACTORS = np.stack([np.arange(20) % 2, np.arange(20) % 5], axis=1)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("float16", "float32"),
        ("float32", "float32"),
        (">f4", "float32"),
        ("float64", "float64"),
        ("int8", "float64"),
        ("bool", "float64"),
    ],
)
def test_codes_keep_their_precision_and_become_contiguous(given, kept):
    checked = check_codes(np.asfortranarray(CODES.astype(given))[::2, ::-1])
    assert checked.dtype == kept
    assert checked.flags.c_contiguous
    np.testing.assert_array_equal(checked, CODES.astype(given)[::2, ::-1])


@pytest.mark.parametrize("given", ["int8", "uint64", "float16", "float32", "bool"])
def test_factors_become_int64(given):
    checked = check_factors((FACTORS % 2).astype(given))
    assert checked.dtype == np.int64
    np.testing.assert_array_equal(checked, FACTORS % 2)


def with_value(array, value):
    array = array.astype(float)
    array[4, 1] = value
    return array


class Tensor:
    """What numpy cannot take, as PyTorch says it."""

    def __init__(self, error):
        self.error = error

    def __array__(self, dtype=None, copy=None):
        raise self.error


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        (np.zeros(3), r"codes: expected a 2-d array \(samples, latents\), received shape \(3,\)\. Reshape one column"),
        (np.zeros((3, 2, 2)), r"received shape \(3, 2, 2\)\. Flatten each sample"),
        (np.zeros((0, 3)), r"codes: expected at least two rows and one column, received shape \(0, 3\)"),
        (np.zeros((5, 0)), r"received shape \(5, 0\)"),
        ([[1, 2], [3]], r"codes: expected a 2-d array \(samples, latents\), received setting an array"),
        (np.array([["a"], ["b"]]), "codes: expected real numbers, received dtype <U1"),
        (np.array([[None], [1]]), "codes: expected real numbers, received dtype object"),
        (np.array([[1j], [1]]), "codes: expected real numbers, received dtype complex128"),
        (
            np.ma.masked_array([[1.0], [2.0]], mask=[[True], [False]]),
            "codes: expected a plain array, received a masked",
        ),
        (with_value(CODES, np.nan), r"codes: expected finite numbers up to 1e\+38, received nan at row 4, column 1"),
        (with_value(CODES, -np.inf), r"received -inf at row 4, column 1\. Look for a run that diverged"),
        (FACTORS + 2**60, r"codes: expected finite numbers up to 9\.0072e\+15, received 1\.15e\+18\. Rescale"),
        (with_value(CODES, 1e40), r"codes: expected finite numbers up to 1e\+38, received 1e\+40\. Rescale"),
        (
            CODES * [1, 1e-300, 1],
            r"codes: expected each column to be all 0 or to reach 1e-130, received at most .*e-301 in column 1",
        ),
        (Tensor(RuntimeError("it requires grad.")), r"received Tensor: it requires grad\. Convert a PyTorch tensor"),
        (Tensor(TypeError("ScalarType BFloat16")), r"received Tensor: ScalarType BFloat16\. .*\.float\(\)\.cpu"),
    ],
)
def test_codes_that_cannot_be_scored(codes, message):
    with pytest.raises(InvalidInput, match=message):
        check_codes(codes)


@pytest.mark.parametrize(
    ("factors", "message"),
    [
        (np.zeros(3, int), r"factors: expected a 2-d array \(samples, factors\), received shape \(3,\)"),
        (
            with_value(FACTORS, 0.25),
            r"factors: expected whole numbers.*received 0\.25 at row 4, column 1\. Pass class ids",
        ),
        (with_value(FACTORS, np.nan), r"factors: expected whole numbers.*received nan at row 4, column 1"),
        (np.array([["a"], ["b"]]), "factors: expected whole numbers, the class ids, received dtype <U1"),
        (
            np.array([[2**63], [0]], np.uint64),
            r"factors: expected class ids below 2\*\*62 in magnitude, received 9223372036854775808",
        ),
        (np.array([[2**63], [0]], ">u8"), r"factors: expected class ids below 2\*\*62 in magnitude"),
        (np.array([[-(2**63)], [0]]), r"factors: expected class ids below 2\*\*62 in magnitude"),
    ],
)
def test_factors_that_cannot_be_used(factors, message):
    with pytest.raises(InvalidInput, match=message):
        check_factors(factors)


@pytest.mark.parametrize(
    ("codes", "factors", "message"),
    [
        (
            CODES.T,
            FACTORS,
            r"codes: expected shape \(20, latents\).*received shape \(3, 20\).*transposed: pass codes\.T",
        ),
        (CODES, FACTORS.T, r"factors: expected shape \(20, factors\).*\(2, 20\).*transposed: pass factors\.T"),
        (CODES.T, FACTORS[:, :1].T, r"factors: .*received shape \(1, 20\)\. Rows are samples: pass factors\.T"),
        (CODES.T[:2], FACTORS.T, r"factors: expected at least as many samples as factors.*both arrays look transposed"),
        (np.zeros((2, 3)), np.zeros((2, 5), int), r"factors: expected at least as many samples as factors.*Rows are"),
        (CODES[:7], FACTORS, r"codes: expected 20 rows, as in factors, received 7\. Encode the same samples"),
    ],
)
def test_arrays_that_do_not_match(codes, factors, message):
    with pytest.raises(InvalidInput, match=message):
        check_codes_factors(codes, factors)


def test_swapped_arguments_are_recognised():
    """As in ``mig.score(factors, codes)``."""
    with pytest.raises(
        InvalidInput, match=r"codes, factors: expected .*, received whole .*Pass the codes first, then class ids"
    ):
        check_codes_factors(FACTORS, CODES)
    with pytest.raises(InvalidInput, match="factors: expected whole numbers, the class ids"):
        check_codes_factors(CODES, CODES)
    with pytest.raises(InvalidInput, match="factors: expected whole numbers, the class ids, received nan"):
        check_codes_factors(FACTORS, np.full(CODES.shape, np.nan))


def test_more_latents_than_samples_is_no_error():
    codes, _ = check_codes_factors(np.zeros((20, 300)), FACTORS)
    assert codes.shape == (20, 300)


def test_constant_factors():
    factors = np.hstack([FACTORS, np.full((20, 2), 3)])
    with pytest.raises(InvalidInput, match=r"factors: expected at least two values.*one value in columns 2, 3\. Pass"):
        check_codes_factors(CODES, factors)
    _, kept = check_codes_factors(CODES, factors, constant_factors="drop")
    np.testing.assert_array_equal(kept, FACTORS)
    with pytest.raises(InvalidInput, match=r"expected a factor with at least two .*, received .*columns 0, 1\.\s*$"):
        check_codes_factors(CODES, factors[:, 2:], constant_factors="drop")
    with pytest.raises(InvalidInput, match="constant_factors: expected 'refuse' or 'drop', received 'ignore'"):
        check_codes_factors(CODES, factors, constant_factors="ignore")


def test_train_and_test_parts():
    factors = np.hstack([FACTORS, np.zeros((20, 1), int)])
    _, train, _, test = check_train_test(CODES, factors, CODES[:5], factors[:5] + 9, constant_factors="drop")
    assert train.shape == (20, 2)
    np.testing.assert_array_equal(test, FACTORS[:5] + 9)
    held_out = np.hstack([FACTORS[[0, 0, 0]], [[0], [1], [1]]])  # the training part decides
    *_, test = check_train_test(CODES, factors, CODES[:3], held_out, constant_factors="drop")
    np.testing.assert_array_equal(test, FACTORS[[0, 0, 0]])
    with pytest.raises(InvalidInput, match="codes_test: expected 3 latents, as in codes, received 2"):
        check_train_test(CODES, FACTORS, CODES[:, :2], FACTORS)
    with pytest.raises(InvalidInput, match="factors_test: expected 2 factors, as in factors, received 1"):
        check_train_test(CODES, FACTORS, CODES, FACTORS[:, :1])
    with pytest.raises(InvalidInput, match="codes_test: expected 20 rows, as in factors_test, received 4"):
        check_train_test(CODES, FACTORS, CODES[:4], FACTORS)


@pytest.mark.parametrize(
    ("codes", "latents"),
    [
        (CODES + np.array([0, 1e8, 0]), "1 of 3 latents (the first: 1)"),
        (CODES * 1e-7, "3 of 3 latents (the first: 0)"),
        ((CODES * 50 + 1e8).astype(np.float32), "3 of 3 latents (the first: 0)"),
    ],
)
def test_a_spread_that_classifiers_do_not_see_is_told(codes, latents):
    with pytest.warns(LostSpread, match=re.escape(f"the range of {latents} is below 1e-06")):
        warn_if_lost(codes)


@pytest.mark.parametrize(
    "codes", [CODES, CODES + 1e4, CODES * 1e-5, CODES * [1, 1e-8, 1], CODES * [1, 1e-8, 1] + 0.3, np.ones((4, 2))]
)
def test_constant_latents_and_such_beside_others_are_no_cause_for_a_warning(codes):
    warn_if_lost(check_codes(codes))


def test_codes_that_are_the_same_in_all_rows_are_told():
    with pytest.warns(SameCodes, match=r"a: 3,000 rows have 3 different codes; was the right model encoded"):
        warn_if_same(np.arange(6_000).reshape(3_000, 2) // 2 % 3 * 1e-4, "a")
    warn_if_same(np.arange(3_000)[:, None] % 4)
    with pytest.warns(SameCodes, match=r"seed_3\.npz: the codes are the same in all rows"):
        warn_if_same(np.ones((4, 2)), "seed_3.npz")
    warn_if_same(CODES * [0, 0, 1])


@pytest.mark.parametrize(
    ("count", "message"),
    [
        (20.0, r"bins: expected an integer, at least 2, received 20\.0"),
        ("20", "received '20'"),
        (True, "received True"),
        (1, "bins: expected at least 2, received 1"),
    ],
)
def test_what_is_no_number_of_bins(count, message):
    with pytest.raises(InvalidInput, match=message):
        check_count("bins", count, 2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_a_tensor_that_numpy_can_take_is_codes(dtype):
    """Its own dtype is none of numpy's."""
    values = CODES.astype(dtype)

    class Plain:
        dtype = "torch.double"

        def __array__(self, dtype=None, copy=None):
            return values

    found = check_codes(Plain())
    assert found.dtype == (np.float32 if dtype is np.float32 else np.float64)
    assert np.array_equal(found, values)


def test_rounding_may_take_little_of_a_latent():
    """A constant that float32 has not may be rounded; a latent that varies beside a large one may not."""
    codes = np.column_stack([np.full(50, 0.1), np.arange(50) / 7, 1e9 + np.arange(50)])
    assert to_float32(codes[:, :2]).dtype == np.float32
    with pytest.raises(InvalidInput, match="received smaller differences in column 2"):
        to_float32(codes)
