"""What does each latent do? Decoded images along each latent, one row per latent.

Figure 7 of Michlo, Klein and James, "Overlooked implications of the reconstruction loss for VAE disentanglement"
(2023). The images are decoded elsewhere; this draws them, and measures how much each latent changes them.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from benchmark_data.errors import InvalidInput
from leaderboard import figures
from leaderboard.analyses._pixels import unit
from leaderboard.arrays import Real, as_plain_array


def measure(images: Real[ArrayLike, "latents steps H W C"]) -> pd.DataFrame:
    """Measure how much images change along each latent.

    Args:
        images: decoded images, shape (latents, steps, H, W, C), uint8 or floats in [0, 1].

    Returns:
        A row per latent: ``latent``; ``change``, the mean squared error between the two ends; and ``path``, the sum
        over steps of the mean squared error between neighbours.

    Raises:
        InvalidInput: another shape, or numbers outside [0, 1].

    Example:
        >>> ramp = np.linspace(0, 1, 3).reshape(1, 3, 1, 1, 1)
        >>> measure(np.concatenate([ramp, 0 * ramp])).values.tolist()
        [[0.0, 1.0, 0.5], [1.0, 0.0, 0.0]]
    """
    pixels = check_images(images).reshape(*np.shape(images)[:2], -1)
    return pd.DataFrame(
        {
            "latent": np.arange(len(pixels)),
            "change": ((pixels[:, -1] - pixels[:, 0]) ** 2).mean(axis=1),
            "path": (np.diff(pixels, axis=1) ** 2).mean(axis=2).sum(axis=1),
        }
    )


def draw(
    images: ArrayLike,
    path: str | os.PathLike[str],
    *,
    names: Sequence[str] | None = None,
    values: Sequence[float] | None = None,
) -> None:
    """Draw the grid: a row per latent, its value increasing to the right.

    Args:
        images: decoded images, shape (latents, steps, H, W, C), uint8 or floats in [0, 1]; one or three channels.
        path: the PNG file to write.
        names: of the rows, by default the latents' numbers.
        values: the latents' value in each column, written above.

    Raises:
        InvalidInput: another shape, numbers outside [0, 1], other counts of names or values, or the file cannot be
            written.
        MissingExtra: matplotlib is not installed.
    """
    pixels = check_images(images)
    latents, steps, height, width, channels = pixels.shape
    names = [f"z{i}" for i in range(latents)] if names is None else names
    for what, argument, count in (("names", names, latents), ("values", values, steps)):
        if argument is not None and len(argument) != count:
            raise InvalidInput(f"{what}: expected {count}, received {len(argument)}.")
    sheet = pixels.swapaxes(1, 2).reshape(latents * height, steps * width, channels)
    figure, axes = figures.panels(1, 1, width=0.75 * steps, height=0.75 * latents * height / width)
    panel = axes[0, 0]
    panel.imshow(sheet.squeeze(2) if channels == 1 else sheet, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
    panel.hlines(np.arange(1, latents) * height - 0.5, -0.5, steps * width - 0.5, color="0.5", linewidth=0.6)
    panel.vlines(np.arange(1, steps) * width - 0.5, -0.5, latents * height - 0.5, color="0.5", linewidth=0.6)
    panel.set_yticks((np.arange(latents) + 0.5) * height - 0.5, list(names), fontsize=8)
    panel.set_xticks([])
    if values is not None:
        panel.set_xticks((np.arange(steps) + 0.5) * width - 0.5, [f"{v:g}" for v in values], fontsize=8)
        panel.xaxis.tick_top()
    panel.tick_params(length=0)
    figures.save(figure, path)


def check_images(images: ArrayLike) -> NDArray[np.float64]:
    """Check a grid of images.

    Args:
        images: shape (rows, columns, H, W, C), uint8 or floats in [0, 1]; one or three channels.

    Returns:
        float64 in [0, 1], of the same shape.

    Raises:
        InvalidInput: another shape, no images, or numbers outside [0, 1].
    """
    array = as_plain_array(images, "images")
    if array.ndim != 5 or 0 in array.shape or array.shape[4] not in (1, 3):
        raise InvalidInput(
            f"images: expected shape (rows, columns, H, W, C) with C 1 or 3, received shape {array.shape}."
        )
    pixels = unit(array)
    if pixels.min() < 0 or pixels.max() > 1:
        raise InvalidInput(
            f"images: expected uint8, or floats in [0, 1], received {array.dtype} in [{pixels.min():.3g}, "
            f"{pixels.max():.3g}]. Take the sigmoid of logits; clip what a decoder without activation overshoots."
        )
    return pixels
