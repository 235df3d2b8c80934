"""Random numbers that are a pure function of (seed, index): the same on every machine, in any order of access.

The generator is SplitMix64 used as a hash (Steele, Lea and Flood, "Fast splittable pseudorandom number generators",
OOPSLA 2014): draw ``j`` of index ``i`` under seed ``s`` is ``mix(mix(mix(s) + i) + j)``, with each sum and product
modulo 2**64. numpy's own distributions may change between versions; this does not, so that pixels, digests and
published index lists stay what they are.

`sample` and `permutation` order indices by draw 0. What a row holds must therefore not be drawn under a seed by which
rows may be shuffled, such as 0: a split would be by content.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmark_data.errors import InvalidInput, is_whole

if TYPE_CHECKING:
    from jaxtyping import Float64, Int64, Integer, UInt64

__all__ = ["bits", "normal", "permutation", "sample", "uniform"]

_GAMMA = np.uint64(0x9E3779B97F4A7C15)


def _mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    x = x + _GAMMA
    x ^= x >> np.uint64(30)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(27)
    x *= np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return x


def bits(seed: int, indices: Integer[ArrayLike, " n"], count: int) -> UInt64[NDArray[np.uint64], "n count"]:
    """Draw 64 random bits ``count`` times for every index.

    Args:
        seed: the seed, an integer in [0, 2**64).
        indices: non-negative integers, shape (n,).
        count: draws per index.

    Returns:
        uint64, shape (n, count).

    Raises:
        InvalidInput: the seed is not such an integer.

    Example:
        >>> bits(0, [5, 7], 2)[0].tolist() == bits(0, [5], 2)[0].tolist()
        True
    """
    check_seed(seed)
    states = _mix(_mix(np.array([seed], np.uint64)) + np.asarray(indices, np.uint64))
    return _mix(np.add.outer(states, np.arange(count, dtype=np.uint64)))


def check_seed(seed: int) -> None:
    """Refuse what is no seed, before anything is drawn.

    Args:
        seed: an integer in [0, 2**64).

    Raises:
        InvalidInput: it is not.
    """
    if not is_whole(seed) or not 0 <= seed < 2**64:
        raise InvalidInput(f"seed: expected an integer in [0, 2**64), received {seed!r}.")


def uniform(seed: int, indices: Integer[ArrayLike, " n"], count: int) -> Float64[NDArray[np.float64], "n count"]:
    """Draw uniform numbers in [0, 1) for every index.

    Args:
        seed: the seed, an integer in [0, 2**64).
        indices: non-negative integers, shape (n,).
        count: draws per index.

    Returns:
        float64 multiples of 2**-53, shape (n, count).

    Raises:
        InvalidInput: as `bits`.

    Example:
        >>> bool((uniform(1, range(1000), 3) < 1).all())
        True
    """
    return np.ldexp((bits(seed, indices, count) >> np.uint64(11)).astype(np.float64), -53)


def normal(seed: int, indices: Integer[ArrayLike, " n"], count: int) -> Float64[NDArray[np.float64], "n count"]:
    """Draw standard normal numbers for every index, by the Box-Muller transform.

    Args:
        seed: the seed, an integer in [0, 2**64).
        indices: non-negative integers, shape (n,).
        count: draws per index.

    Returns:
        float64, shape (n, count). Equal everywhere up to the last bits of the platform's log, sin and cos.

    Raises:
        InvalidInput: as `bits`.

    Example:
        >>> normal(1, range(1000), 3).std().round(1).item()
        1.0
    """
    pairs = (count + 1) // 2
    u = uniform(seed, indices, 2 * pairs)
    radius = np.sqrt(-2.0 * np.log1p(-u[:, :pairs]))
    angle = 2.0 * np.pi * u[:, pairs:]
    return np.concatenate([radius * np.cos(angle), radius * np.sin(angle)], axis=1)[:, :count]


def permutation(seed: int, n: int) -> Int64[NDArray[np.int64], " n"]:
    """Shuffle ``range(n)``.

    Args:
        seed: the seed, an integer in [0, 2**64).
        n: the length, at least 0.

    Returns:
        int64, shape (n,): each of 0 .. n - 1 once. The first k are a sample of k without replacement (`sample`).

    Raises:
        InvalidInput: as `bits`.

    Example:
        >>> sorted(permutation(3, 5).tolist())
        [0, 1, 2, 3, 4]
    """
    return sample(seed, n, n)


def sample(seed: int, n: int, count: int) -> Int64[NDArray[np.int64], " k"]:
    """Draw from ``range(n)`` without replacement: what `permutation` begins with, without shuffling the rest.

    Args:
        seed: the seed, an integer in [0, 2**64).
        n: the length of the range, at least 0.
        count: how many numbers to draw, at least 0; all n if it is larger.

    Returns:
        int64, shape (min(count, n),).

    Raises:
        InvalidInput: as `bits`.

    Example:
        >>> sample(3, 100, 4).tolist() == permutation(3, 100)[:4].tolist()
        True
    """
    keys = bits(seed, np.arange(n), 1)[:, 0]  # of different numbers they differ: the hash is one to one
    chosen = np.argpartition(keys, count)[:count] if count < n else np.arange(n)
    return chosen[np.argsort(keys[chosen])].astype(np.int64, copy=False)
