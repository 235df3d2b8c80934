"""All inner products of many layers' Gram matrices in one pass, with bounded memory."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmark_data.errors import InvalidInput
from leaderboard.arrays import Codes

_STRIP_WIDTH = 2**16
"""Entries of a flattened tile that are converted to float64 at a time."""

_MEAN_TOLERANCE = 1e-12
"""Squared error of column means, in units of the squared range, up to which no second subtraction is needed."""


class _Layer(NamedTuple):
    """A layer and the numbers that centre and scale it.

    Attributes:
        x: the layer, (n, p).
        mean: of each column, in the layer's dtype.
        mean_error: rounding error of the means, float32 (p,); None if it is negligible against the spread.
        scale: a power of two that keeps squares in range.
    """

    x: Codes
    mean: Codes
    mean_error: NDArray[np.float32] | None
    scale: float

    def centre_rows(self, rows: slice, buffer: NDArray[np.float32] | None = None) -> NDArray[np.float32]:
        """Centre some rows, float32; in a flat buffer, since new memory costs more than the subtraction."""
        x = self.x[rows]
        centred = np.empty(x.shape, np.float32) if buffer is None else buffer[: x.size].reshape(x.shape)
        np.subtract(x, self.mean, out=centred, casting="same_kind")  # exact near the mean
        if self.mean_error is not None:
            centred -= self.mean_error
        if self.scale != 1:
            centred *= np.float32(self.scale)
        return centred


def inner_products(layers: Sequence[Codes], *, debiased: bool = False, memory: float = 1.0) -> NDArray[np.float64]:
    """Compute the Frobenius inner product of every two layers' centred Gram matrices, up to one factor per layer.

    Gram matrices are symmetric, and their size does not depend on the layer's width. They are computed tile by tile
    below the diagonal, each tile for all layers, so that all inner products of a tile are one matrix product and no
    whole Gram matrix is stored. Tiles are float32; sums over them are float64. If all layers together have fewer
    columns than samples, the p x q products of the layers are used instead.

    Args:
        layers: arrays of shape (n, p_i), finite.
        debiased: centre so that the products are those of the unbiased Hilbert-Schmidt criterion (Song et al., 2012).
        memory: GiB of scratch space to use in addition to the layers.

    Returns:
        float64, shape (m, m), symmetric. A constant layer's row is 0.

    Raises:
        InvalidInput: too little memory.
    """
    n, m = len(layers[0]), len(layers)
    widths = [x.shape[1] for x in layers]
    if not debiased and sum(widths) <= n and 8 * sum(widths) * (n + sum(widths)) <= memory * 2**30:
        blocks = [_prepare_layer(x).centre_rows(slice(None)).astype(np.float64) for x in layers]
        z = np.concatenate(blocks, axis=1)
        squared = np.square(z.T @ z)
        starts = np.cumsum([0, *widths[:-1]])
        return np.asarray(np.add.reduceat(np.add.reduceat(squared, starts, axis=0), starts, axis=1))
    result = np.zeros((m, m))
    size = tile_size(n, m, max(widths), memory)
    for weight, stack in tiles(layers, size, debiased=debiased):
        result += weight * products(stack)
    return result


def tiles(layers: Sequence[Codes], size: int, *, debiased: bool = False) -> Iterator[tuple[int, NDArray[np.float32]]]:
    """Compute the tiles of the layers' centred Gram matrices on and below the diagonal.

    Args:
        layers: as in ``inner_products``.
        size: rows of a tile.
        debiased: as in ``inner_products``.

    Yields:
        The tile's multiplicity in the whole matrix, 1 on the diagonal and 2 below it, and the flattened tiles of all
        layers: float32 (m, k), overwritten by the next tile.
    """
    n, m = len(layers[0]), len(layers)
    prepared = [_prepare_layer(x) for x in layers]
    shifts = [_unbiased_shift(layer) for layer in prepared] if debiased else []
    slices = [slice(start, min(start + size, n)) for start in range(0, n, size)]
    widest = min(size, n) * max(x.shape[1] for x in layers)
    left_buffer, right_buffer = (np.empty(widest, np.float32) for _ in range(2))
    stack = np.empty(m * min(size, n) ** 2, np.float32)
    for i, rows in enumerate(slices):
        for columns in slices[: i + 1]:
            shape = (m, rows.stop - rows.start, columns.stop - columns.start)
            layer_tiles = stack[: math.prod(shape)].reshape(shape)
            for layer, tile in zip(prepared, layer_tiles, strict=True):
                left = layer.centre_rows(rows, left_buffer)
                right = left if rows == columns else layer.centre_rows(columns, right_buffer)
                np.matmul(left, right.T, out=tile)
            for tile, shift in zip(layer_tiles, shifts, strict=False):
                tile += shift[rows, None]
                tile += shift[columns]
                if rows == columns:
                    tile *= 1 - np.eye(len(tile), dtype=np.float32)
            yield 1 if rows == columns else 2, layer_tiles.reshape(m, -1)


def products(x: NDArray[np.float32]) -> NDArray[np.float64]:
    """Multiply a stack of flattened tiles (m, k) by itself, summing in float64 over strips: float64 (m, m)."""
    result = np.zeros((len(x), len(x)))
    for start in range(0, x.shape[1], _STRIP_WIDTH):
        strip = x[:, start : start + _STRIP_WIDTH].astype(np.float64)
        result += strip @ strip.T
    return result


def tile_size(n: int, m: int, width: int, memory: float) -> int:
    """Choose the rows of a tile.

    Args:
        n: samples.
        m: layers.
        width: of the widest layer.
        memory: GiB for one float32 tile of each layer, a float64 strip of all, and two blocks of the widest layer.

    Returns:
        Rows, such that tiles are of about equal size.

    Raises:
        InvalidInput: too little memory for tiles of 64 rows.
    """
    size = n
    while size > 64 and _scratch_bytes(size, m, width) > memory * 2**30:
        size -= max(1, size // 16)
    if _scratch_bytes(size, m, width) > memory * 2**30:
        least_memory = _scratch_bytes(size, m, width) / 2**30
        raise InvalidInput(f"memory: expected at least {least_memory:.2f} GiB, received {memory:g}.")
    return math.ceil(n / math.ceil(n / size))


def _scratch_bytes(size: int, m: int, width: int) -> int:
    """Bytes of scratch space with tiles of a size."""
    return 4 * m * size * size + 8 * m * _STRIP_WIDTH + 8 * size * width


def _prepare_layer(x: Codes) -> _Layer:
    """Compute the means and the scale."""
    high, low = x.max(axis=0).astype(np.float64), x.min(axis=0).astype(np.float64)
    largest = max(float(high.max()), -float(low.min()))
    in_range = largest == 0 or 1e-12 < largest < 1e12
    if x.dtype == np.float64 and not in_range:  # nor may float32 hold them, before they are scaled
        return _prepare_layer(np.ldexp(x, -math.frexp(largest)[1]))
    # float32 columns sum without rounding in float64, so that a constant one becomes exactly 0; float64 ones may not.
    shift: NDArray[Any] = x[0] if x.dtype == np.float64 else np.zeros(x.shape[1])
    parts = [x[start : start + 1024] for start in range(0, len(x), 1024)]
    sums = [np.add.reduce(part - shift if shift.any() else part, axis=0, dtype=np.float64) for part in parts]
    from_shift = np.sum(sums, axis=0) / len(x)
    mean: NDArray[Any] = (shift + from_shift).astype(x.dtype)
    mean_error = from_shift - (mean - shift)
    # Columns that are off by d and have the standard deviations s change CKA by 2 Σd² / sqrt(Σs⁴) at most; a column's
    # range is s sqrt(2n) at most.
    needs_residual = mean_error @ mean_error > _MEAN_TOLERANCE * np.linalg.norm((high - low) ** 2)
    scale = 1.0 if in_range else 2.0 ** -min(max(math.frexp(largest)[1], -120), 120)
    return _Layer(x, mean, mean_error.astype(np.float32) if needs_residual else None, scale)


def _unbiased_shift(layer: _Layer) -> NDArray[np.float32]:
    """Return for each sample the shift of its row and column from the centred Gram matrix to the unbiased one.

    Without its diagonal, a row of a centred Gram matrix sums to minus its diagonal entry, so that the shift follows
    from the samples' squared norms.
    """
    n = len(layer.x)
    blocks = (layer.centre_rows(slice(start, start + 1024)) for start in range(0, n, 1024))
    squares = np.concatenate([np.einsum("ij,ij->i", block, block, dtype=np.float64) for block in blocks])
    return np.asarray(squares / (n - 2) - squares.sum() / (2 * (n - 1) * (n - 2))).astype(np.float32)
