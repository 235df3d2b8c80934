"""Checks of the arrays that metrics receive: refuse those that would lead to silently wrong scores. Internal."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmark_data.errors import InvalidInput, check_choice, is_whole
from leaderboard.doubts import LostSpread

if TYPE_CHECKING:
    from jaxtyping import Bool, Float64, Int64
    from jaxtyping import Real as Real
else:  # shapes in types are for readers and tests
    Real = Annotated

Codes = NDArray[np.float32] | NDArray[np.float64]
ConstantFactors = Literal["refuse", "drop"]

_LARGEST_CODE = 1e38
"""Codes beyond this overflow in float32, which the trees of DCI and the histogram of MIG use."""

_ROUNDING_SHARE = 1e-4
"""The largest error of rounding to float32, as a share of a latent's spread."""

_SMALLEST_MAGNITUDE = 1e-130
"""The variance of a latent below this may underflow to 0, though the latent varies."""


def check_codes(codes: Real[ArrayLike, "n L"], what: str = "codes") -> Codes:
    """Check one representation.

    Args:
        codes: real numbers, shape (n, L): one row per sample, one column per latent.
        what: what the array is called in an error message.

    Returns:
        float32 for float32 and float16, float64 for everything else; shape (n, L), C-contiguous. float32 is not
        converted because the reference uses float32 codes, on which the last bits of its histogram edges depend.

    Raises:
        InvalidInput: not a 2-d array of real, finite numbers with at least two rows and one column; or numbers too
            large or too small to compute metrics with.

    Example:
        >>> check_codes([[1, 2], [3, 4]]).dtype
        dtype('float64')
        >>> check_codes([1.0, 2.0])
        Traceback (most recent call last):
        ...
        benchmark_data.errors.InvalidInput: codes: expected a 2-d array (samples, latents), received shape (2,)...
    """
    array = _check_matrix(codes, what, "(samples, latents)")
    if array.dtype.kind not in "fiub":
        raise InvalidInput(f"{what}: expected real numbers, received dtype {array.dtype}.")
    dtype = np.float32 if array.dtype.kind == "f" and array.dtype.itemsize <= 4 else np.float64
    may_be_tiny = array.dtype.kind == "f" and dtype is np.float64
    limit = 2.0**53 if array.dtype.kind in "iu" else _LARGEST_CODE
    array = np.ascontiguousarray(array, dtype=dtype)
    # NaN and inf both fail the comparison, without a temporary array of the codes' size.
    if not (largest := max(array.max(), -array.min())) <= limit:
        if np.isfinite(largest):
            received, remedy = f"{largest:.3g}", "Rescale the codes."
        else:
            row, column = np.argwhere(~np.isfinite(array))[0]
            received = f"{array[row, column]} at row {row}, column {column}"
            remedy = "Look for a run that diverged; drop it or encode again."
        raise InvalidInput(f"{what}: expected finite numbers up to {limit:g}, received {received}. {remedy}")
    if may_be_tiny:
        _check_magnitudes(array, what)
    return array


def to_float32(codes: Real[ArrayLike, "n L"], what: str = "codes") -> NDArray[np.float32]:
    """Check codes and round them to float32, in which the board scores them.

    Args:
        codes: as for `check_codes`.
        what: what the array is called in an error message.

    Returns:
        float32, shape (n, L).

    Raises:
        InvalidInput: as `check_codes`; or rounding changes a latent by more than `_ROUNDING_SHARE` of its spread, as
            when a large constant is added.

    Example:
        >>> to_float32([[1e9], [1e9 + 1]])
        Traceback (most recent call last):
        ...
        benchmark_data.errors.InvalidInput: codes: expected latents whose differences float32 can represent, ...
    """
    exact = check_codes(codes, what)
    rounded, spread = exact.astype(np.float32, copy=False), np.ptp(exact, axis=0)
    is_lost = (np.abs(rounded - exact).max(axis=0) > _ROUNDING_SHARE * spread) & (spread > 0)
    if is_lost.any():
        raise InvalidInput(
            f"{what}: expected latents whose differences float32 can represent, received smaller differences in column "
            f"{is_lost.argmax()}. Subtract each latent's mean and divide by its standard deviation."
        )
    return rounded


def _check_magnitudes(array: NDArray[np.float64], what: str) -> None:
    """Refuse columns whose squares underflow; those of integers and float32 do not."""
    small = np.flatnonzero((np.abs(array[0]) < _SMALLEST_MAGNITUDE) & (np.abs(array[-1]) < _SMALLEST_MAGNITUDE))
    magnitudes = np.maximum(array[:, small].max(axis=0), -array[:, small].min(axis=0)) if len(small) else np.empty(0)
    for column, largest in zip(small, magnitudes, strict=True):
        if 0 < largest < _SMALLEST_MAGNITUDE:
            raise InvalidInput(
                f"{what}: expected each column to be all 0 or to reach {_SMALLEST_MAGNITUDE:g}, received at most "
                f"{largest:.3g} in column {column}. Rescale the codes."
            )


def check_factors(factors: Real[ArrayLike, "n F"], what: str = "factors") -> Int64[NDArray[np.int64], "n F"]:
    """Check the factors' class ids.

    Args:
        factors: integers, shape (n, F): one row per sample, one column per factor; any integers below 2**62 in
            magnitude. Booleans and floats with whole numbers are accepted, too.
        what: what the array is called in an error message.

    Returns:
        int64, shape (n, F).

    Raises:
        InvalidInput: not a 2-d array of whole numbers with at least two rows and one column.

    Example:
        >>> check_factors([[0, 0.5], [1, 0]])
        Traceback (most recent call last):
        ...
        benchmark_data.errors.InvalidInput: factors: expected whole numbers, the class ids, received 0.5 ...
    """
    array = _check_matrix(factors, what, "(samples, factors)")
    if array.dtype.kind not in "fiub":
        raise InvalidInput(f"{what}: expected whole numbers, the class ids, received dtype {array.dtype}.")
    if array.dtype.kind == "f":
        bad = ~(np.abs(array) < np.float64(2**53)) | (array != np.rint(array))
        if bad.any():
            row, column = np.argwhere(bad)[0]
            raise InvalidInput(
                f"{what}: expected whole numbers, the class ids, received {array[row, column]} at row {row}, column "
                f"{column}. Pass class ids, not physical values."
            )
    if (largest := max(int(array.max()), -int(array.min()))) >= 2**62:  # so that differences are int64, too
        raise InvalidInput(f"{what}: expected class ids below 2**62 in magnitude, received {largest}.")
    return np.ascontiguousarray(array, dtype=np.int64)


def check_codes_factors(
    codes: Real[ArrayLike, "n L"], factors: Real[ArrayLike, "n F"], *, constant_factors: ConstantFactors = "refuse"
) -> tuple[Codes, NDArray[np.int64]]:
    """Check codes and the factors of the same samples. Every metric begins with this.

    Args:
        codes: real numbers, shape (n, L).
        factors: class ids, shape (n, F).
        constant_factors: ``"refuse"`` or ``"drop"`` factors that have one value in the sample, which cannot be scored.

    Returns:
        Codes, float32 or float64 (n, L), and factors, int64 (n, F'), where F' is F minus the dropped ones.

    Raises:
        InvalidInput: as ``check_codes`` and ``check_factors``; or the rows do not match, an array is transposed, or a
            factor is constant.

    Example:
        >>> codes, factors = check_codes_factors([[0.1], [0.2]], [[0, 5], [1, 5]], constant_factors="drop")
        >>> factors.shape
        (2, 1)
        >>> import numpy as np
        >>> check_codes_factors(np.zeros((10, 500)), np.zeros((500, 3), int))
        Traceback (most recent call last):
        ...
        benchmark_data.errors.InvalidInput: codes: expected shape (500, latents), one row per sample, received shape
        (10, 500). It looks transposed: pass codes.T.
    """
    codes, factors = check_rows(codes, factors)
    kept = _kept_factors(factors, constant_factors)
    return codes, factors if kept.all() else np.ascontiguousarray(factors[:, kept])


def check_rows(
    codes: Real[ArrayLike, "n L"], factors: Real[ArrayLike, "n F"], *, what: tuple[str, str] = ("codes", "factors")
) -> tuple[Codes, Int64[NDArray[np.int64], "n F"]]:
    """Check codes and the factors of the same samples; unlike `check_codes_factors`, factors may be constant.

    Args:
        codes: real numbers, shape (n, L).
        factors: class ids, shape (n, F).
        what: what the two arrays are called in an error message.

    Returns:
        Codes, float32 or float64 (n, L), and factors, int64 (n, F).

    Raises:
        InvalidInput: as ``check_codes`` and ``check_factors``; or the rows do not match, or an array is transposed.

    Example:
        >>> [array.shape for array in check_rows([[0.1], [0.2]], [[5, 5], [5, 5]])]
        [(2, 1), (2, 2)]
    """
    codes_name, factors_name = what
    z = check_codes(codes, codes_name)
    try:
        v = check_factors(factors, factors_name)
    except InvalidInput as error:
        if (z == np.rint(z)).all() and _can_be_codes(factors):
            raise InvalidInput(
                f"{codes_name}, {factors_name}: expected the codes, then the factors' class ids, received whole "
                f"numbers in {codes_name} and others in {factors_name}. Pass the codes first, then class ids."
            ) from error
        raise
    n, f = v.shape
    if z.shape[0] == n and f <= n:
        return z, v
    if z.shape[1] == n:
        raise InvalidInput(
            f"{codes_name}: expected shape ({n}, latents), one row per sample, received shape {z.shape}. It looks "
            f"transposed: pass {codes_name.split()[-1]}.T."
        )
    if z.shape[0] == f:
        raise InvalidInput(
            f"{factors_name}: expected shape ({f}, factors), one row per sample, received shape {v.shape}. It looks "
            f"transposed: pass {factors_name.split()[-1]}.T."
        )
    if f > n:
        remedy = "Rows are samples: both arrays look transposed." if z.shape[1] == f else "Rows are samples."
        raise InvalidInput(
            f"{factors_name}: expected at least as many samples as factors, received shape {v.shape}. {remedy}"
        )
    raise InvalidInput(
        f"{codes_name}: expected {n} rows, as in {factors_name}, received {z.shape[0]}. Encode the same samples, in "
        "the same order."
    )


def check_train_test(
    codes: Real[ArrayLike, "n L"],
    factors: Real[ArrayLike, "n F"],
    codes_test: Real[ArrayLike, "m L"],
    factors_test: Real[ArrayLike, "m F"],
    *,
    constant_factors: ConstantFactors = "refuse",
) -> tuple[Codes, NDArray[np.int64], Codes, NDArray[np.int64]]:
    """Check a training part and a held-out part.

    Args:
        codes: real numbers, shape (n, L), the training part.
        factors: class ids, shape (n, F).
        codes_test: real numbers, shape (m, L), the held-out part.
        factors_test: class ids, shape (m, F). Classes that the training part lacks are allowed, and count as errors.
        constant_factors: what to do with a factor that is constant in the training part: ``"refuse"`` or ``"drop"``.

    Returns:
        The four arrays, as from ``check_codes_factors``.

    Raises:
        InvalidInput: as ``check_codes_factors``; or the two parts differ in latents or factors.

    Example:
        >>> check_train_test([[0.1], [0.2]], [[0], [1]], [[0.1, 0.0], [0.2, 0.0]], [[0], [1]])
        Traceback (most recent call last):
        ...
        benchmark_data.errors.InvalidInput: codes_test: expected 1 latents, as in codes, received 2...
    """
    codes, factors = check_rows(codes, factors)
    codes_test, factors_test = check_rows(codes_test, factors_test, what=("codes_test", "factors_test"))
    for what, kind, train, test in (
        ("codes_test", "latents, as in codes", codes, codes_test),
        ("factors_test", "factors, as in factors", factors, factors_test),
    ):
        if train.shape[1] != test.shape[1]:
            raise InvalidInput(
                f"{what}: expected {train.shape[1]} {kind}, received {test.shape[1]}. Take both parts from one encoder "
                "and one dataset."
            )
    kept = _kept_factors(factors, constant_factors)
    return codes, factors[:, kept], codes_test, factors_test[:, kept]


def check_seed(seed: int) -> None:
    """Check a seed.

    Args:
        seed: an integer in [0, 2**32), the range of scikit-learn's generators.

    Raises:
        InvalidInput: another number, or no integer.

    Example:
        >>> check_seed(-1)
        Traceback (most recent call last):
        ...
        benchmark_data.errors.InvalidInput: seed: expected an integer from 0 to 4294967295, received -1...
    """
    if not is_whole(seed) or not 0 <= seed < 2**32:
        raise InvalidInput(f"seed: expected an integer from 0 to {2**32 - 1}, received {seed!r}.")


def in_use(codes: Float64[NDArray[np.float64], "n L"], least_deviation: float) -> Bool[NDArray[np.bool_], " L"]:
    """Return which latents are in use, for scores that ignore the unused latents of a VAE.

    Args:
        codes: float64, shape (n, L).
        least_deviation: the standard deviation below which a latent counts as unused, in units of the codes.

    Returns:
        bool, shape (L,).

    Warns:
        LostSpread: latents vary, but none that much, as in codes of norm 1 with many latents.

    Example:
        >>> in_use(np.array([[0.0, 1.0, 0.00], [1.0, 1.0, 0.01]]), 0.05)
        array([ True, False, False])
    """
    result = (codes.std(axis=0, ddof=1) >= least_deviation) & varying(codes)
    if varying(codes).any() and not result.any():
        text = f"codes: every standard deviation is below {least_deviation:g} and counts as unused; rescale the codes."
        warnings.warn(text, LostSpread, stacklevel=3)
    return result


def varying(table: Real[NDArray[Any], "n k"]) -> Bool[NDArray[np.bool_], " k"]:
    """Return which columns have more than one value.

    Args:
        table: codes or class ids, shape (n, k).

    Returns:
        bool, shape (k,).

    Example:
        >>> varying(np.array([[1.0, 2.0], [1.0, 3.0]])).tolist()
        [False, True]
    """
    return np.asarray((table != table[0]).any(axis=0))


def standardise(codes: Float64[NDArray[np.float64], "n L"], *others: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Scale each latent to mean 0 and standard deviation 1; a constant one becomes 0.

    Args:
        codes: float64, shape (n, L).
        *others: codes of other samples, float64, shape (m, L), to transform with the mean and scale of the first.

    Returns:
        float64, with the shapes of the arguments.

    Example:
        >>> standardise(np.array([[1.0, 5.0], [3.0, 5.0]]), np.array([[2.0, 9.0]]))
        [array([[-1.,  0.],
               [ 1.,  0.]]), array([[0., 0.]])]
    """
    mean, deviation = codes.mean(axis=0), codes.std(axis=0)
    deviation[~varying(codes)] = np.inf
    return [(z - mean) / deviation for z in (codes, *others)]


def as_plain_array(array: ArrayLike, what: str, wanted: str = "an array") -> NDArray[Any]:
    """Convert to a numpy array; refuse masked arrays and objects that are no array."""
    if isinstance(array, np.ma.MaskedArray):
        raise InvalidInput(f"{what}: expected a plain array, received a masked array. Drop the masked rows.")
    try:
        return np.asarray(array)
    except ValueError as error:  # ragged lists
        raise InvalidInput(f"{what}: expected {wanted}, received {error}.") from error
    except (RuntimeError, TypeError) as error:  # tensors that need gradients, lie on a device or are of bfloat16
        raise InvalidInput(
            f"{what}: expected {wanted}, received {type(array).__name__}: {str(error).rstrip('.')}. Convert a PyTorch "
            "tensor: tensor.detach().float().cpu().numpy()."
        ) from error


def _check_matrix(array: ArrayLike, what: str, axes: str) -> NDArray[Any]:
    array = as_plain_array(array, what, f"a 2-d array {axes}")
    if array.ndim != 2:
        remedy = "Reshape one column to (n, 1)." if array.ndim == 1 else "Flatten each sample to one row."
        raise InvalidInput(f"{what}: expected a 2-d array {axes}, received shape {array.shape}. {remedy}")
    if array.shape[0] < 2 or array.shape[1] < 1:
        remedy = f" Rows are samples: pass {what.split()[-1]}.T if it is one column." if array.shape[1] > 1 else ""
        raise InvalidInput(f"{what}: expected at least two rows and one column, received shape {array.shape}.{remedy}")
    return array


def _can_be_codes(array: ArrayLike) -> bool:
    """Return whether an array that is no table of class ids could be codes."""
    try:
        check_codes(array)
    except InvalidInput:
        return False
    return True


def _kept_factors(factors: NDArray[np.int64], constant_factors: ConstantFactors) -> NDArray[np.bool_]:
    check_choice("constant_factors", constant_factors, ("refuse", "drop"))
    kept = varying(factors)
    if not kept.any() or (constant_factors == "refuse" and not kept.all()):
        constant = np.flatnonzero(~kept).tolist()
        wanted = "at least two values of each factor" if kept.any() else "a factor with at least two values"
        remedy = "Pass constant_factors='drop' to leave them out." if kept.any() else ""
        raise InvalidInput(
            f"factors: expected {wanted}, received one value in column{'s' * (len(constant) > 1)} "
            f"{', '.join(map(str, constant))}. {remedy}"
        )
    return kept
