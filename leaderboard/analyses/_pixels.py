"""Arrays with more than two axes, for all analyses."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmark_data.errors import InvalidInput
from leaderboard.arrays import as_plain_array


def flat(array: ArrayLike, what: str = "activations") -> NDArray[Any]:
    """Flatten everything after the first axis.

    Args:
        array: shape (n, ...).
        what: what the array is called in an error message.

    Returns:
        The same numbers, shape (n, p).

    Raises:
        InvalidInput: there is no axis to flatten, or there are no samples.

    Example:
        >>> flat(np.zeros((5, 2, 3))).shape
        (5, 6)
    """
    array = as_plain_array(array, what)
    if array.ndim < 2 or 0 in array.shape:
        raise InvalidInput(f"{what}: expected an array (samples, ...), received shape {array.shape}.")
    return array.reshape(len(array), -1)


def unit(images: ArrayLike, what: str = "images") -> NDArray[np.float64]:
    """Convert images to float64, uint8 to [0, 1].

    Args:
        images: uint8, or finite floats, of any shape.
        what: what the array is called in an error message.

    Returns:
        float64, of the same shape. Floats keep their range.

    Raises:
        InvalidInput: another dtype, NaN or infinity.

    Example:
        >>> unit(np.array([[0, 255]], np.uint8))
        array([[0., 1.]])
    """
    array = as_plain_array(images, what)
    if array.dtype != np.uint8 and array.dtype.kind != "f":
        raise InvalidInput(f"{what}: expected uint8, or floats in [0, 1], received dtype {array.dtype}.")
    pixels: NDArray[np.float64] = array / 255.0 if array.dtype == np.uint8 else array.astype(np.float64)
    if not np.isfinite(pixels).all():
        raise InvalidInput(f"{what}: expected finite numbers, received NaN or infinity.")
    return pixels
