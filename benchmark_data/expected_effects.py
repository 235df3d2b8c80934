"""How each factor changes the image, declared in a dataset's file, so that a test can compare labels with pixels.

Labels in the wrong column, or counted from the wrong end, look valid: images are fine, every class occurs, a model
trains. Only the factor's effect on the image reveals the error. So a dataset declares it, once per factor::

    DATASET = Dataset(..., effects={"x": effects.right(), "y": effects.down(), "radius": effects.larger()})

and `tests/contracts/label_check.py` measures it: the measure of an ordinal factor must increase with its class id, that
of a cyclic one turn with its value, and that of a categorical one follow the declared order. A factor that no simple
measure of one image shows has a sentence instead of an effect, which explains why.

Internal.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchmark_data.types import Pixels

Measure: TypeAlias = Callable[[Pixels], NDArray[np.float64]]
"""Maps images, uint8 (n, H, W, C), to a number for each, float64 (n,)."""

Mask: TypeAlias = Callable[[Pixels], NDArray[np.bool_]]
"""Maps images, uint8 (n, H, W, C), to the pixels to measure, bool (n, H, W)."""

AS_PUBLISHED = (
    "The labels are the archive's own: they are read with the images, and `prepare` checks their order and values, and "
    "published distances between images along each factor where there are any."
)
"""Why a factor of a published archive may have no effect declared."""


@dataclasses.dataclass(frozen=True)
class Effect:
    """The effect of a factor on an image.

    Args:
        summary: how the image changes as the class id increases, such as ``"moves right"``.
        measure: maps images, uint8 (n, H, W, C), to a number for each; for a cyclic factor an angle in turns. A
            module-level function or a `functools.partial` of one, so that a dataset can be pickled.
        order: for a categorical factor its labels, from the lowest measure to the highest; empty for the order of the
            class ids.
        where: class ids of other factors, by name, at which the effect is visible; the others are random.

    Example:
        >>> red = Effect("gets more red", lambda images: images[..., 0].mean(axis=(1, 2)))
        >>> red.measure(np.full((1, 2, 2, 3), 7, np.uint8)).tolist()
        [7.0]
    """

    summary: str
    measure: Measure
    order: tuple[str, ...] = ()
    where: Mapping[str, int] = dataclasses.field(default_factory=dict)


def foreground(images: Pixels) -> NDArray[np.bool_]:
    """Find the foreground: pixels whose difference from the border's median is above half the largest difference.

    Args:
        images: uint8, shape (n, H, W, C).

    Returns:
        bool, shape (n, H, W).

    Example:
        >>> image = np.zeros((1, 4, 4, 1), np.uint8)
        >>> image[0, 1, 2] = 200
        >>> np.argwhere(foreground(image)[0]).tolist()
        [[1, 2]]
    """
    top_row, bottom_row, left_column, right_column = images[:, 0], images[:, -1], images[:, :, 0], images[:, :, -1]
    border = np.median(np.concatenate([top_row, bottom_row, left_column, right_column], axis=1), axis=1)
    distance = np.abs(images - border[:, None, None]).max(axis=-1)
    return distance > distance.max(axis=(1, 2), keepdims=True) / 2


def bright(images: Pixels) -> NDArray[np.bool_]:
    """Find the pixels with a channel of at least 128.

    Args:
        images: uint8, shape (n, H, W, C).

    Returns:
        bool, shape (n, H, W).
    """
    return np.asarray((images >= 128).any(axis=-1))


def channel(images: Pixels, *, number: int) -> NDArray[np.bool_]:
    """Find the foreground of one channel; pass it as ``of=functools.partial(channel, number=0)``.

    Args:
        images: uint8, shape (n, H, W, C).
        number: the channel.

    Returns:
        bool, shape (n, H, W).
    """
    return foreground(images[..., number : number + 1])


def right(of: Mask = foreground) -> Effect:
    """Declare that the foreground moves to the right as the factor's value increases.

    Args:
        of: finds the pixels.

    Returns:
        The effect.
    """
    return Effect("moves right", functools.partial(_centre, of=of, axis=1))


def down(of: Mask = foreground) -> Effect:
    """Declare that the foreground moves down the image; see `right`."""
    return Effect("moves down", functools.partial(_centre, of=of, axis=0))


def larger(of: Mask = foreground) -> Effect:
    """Declare that the foreground covers more pixels as the factor's value increases.

    Args:
        of: finds the pixels.

    Returns:
        The effect.
    """
    return Effect("covers more pixels", functools.partial(area, of=of))


def brighter() -> Effect:
    """Declare that the brightest pixel gets brighter as the factor's value increases.

    Returns:
        The effect, for `Dataset.effects`.
    """
    return Effect("gets brighter", brightness)


def hue(of: Mask = foreground) -> Effect:
    """Declare that the hue of the foreground turns round the colour circle with a cyclic factor's value.

    Args:
        of: finds the pixels.

    Returns:
        The effect.
    """
    return Effect("changes hue", functools.partial(mean_hue, of=of))


def as_published(names: Iterable[str]) -> dict[str, Effect | str]:
    """Return, for each factor of a published archive, the reason why no effect is declared.

    Args:
        names: the factors.

    Returns:
        ``effects`` for the archive's dataset.
    """
    return dict.fromkeys(names, AS_PUBLISHED)


def area(images: Pixels, of: Mask = foreground) -> NDArray[np.float64]:
    """Count the pixels of the foreground.

    Args:
        images: uint8, shape (n, H, W, C).
        of: finds the pixels.

    Returns:
        Pixels, float64, shape (n,).
    """
    return np.asarray(of(images).sum(axis=(1, 2)), np.float64)


def brightness(images: Pixels) -> NDArray[np.float64]:
    """Return the highest value of any channel of any pixel.

    Args:
        images: uint8, shape (n, H, W, C).

    Returns:
        float64 in [0, 255], shape (n,).
    """
    return np.asarray(images.max(axis=(1, 2, 3)), np.float64)


def mean_hue(images: Pixels, of: Mask = foreground) -> NDArray[np.float64]:
    """Compute the hue of the mean colour of the foreground, as an angle in the plane orthogonal to the grey axis.

    Args:
        images: uint8, shape (n, H, W, 3).
        of: finds the pixels.

    Returns:
        Turns in [-0.5, 0.5], float64, shape (n,); 0 is red, 1/3 green.
    """
    mask = of(images)[..., None]
    red, green, blue = ((images * mask).sum(axis=(1, 2)) / np.maximum(1, mask.sum(axis=(1, 2)))).T
    return np.arctan2(math.sqrt(3) * (green - blue), 2 * red - green - blue) / (2 * math.pi)


def direction(images: Pixels, of: Mask = foreground) -> NDArray[np.float64]:
    """Compute the direction of a shape's far end from third moments; undefined for shapes with half-turn symmetry.

    Args:
        images: uint8, shape (n, H, W, C).
        of: finds the pixels.

    Returns:
        Turns in [-0.5, 0.5], anticlockwise from the right, float64, shape (n,).
    """
    mask = of(images)
    row, column = (axis - _centroid(mask, axis)[:, None, None] for axis in np.mgrid[: mask.shape[1], : mask.shape[2]])
    weight = mask * (row**2 + column**2)
    return np.arctan2(-(weight * row).sum((1, 2)), (weight * column).sum((1, 2))) / (2 * math.pi)


def _centre(images: Pixels, *, of: Mask, axis: int) -> NDArray[np.float64]:
    mask = of(images)
    return _centroid(mask, np.mgrid[: mask.shape[1], : mask.shape[2]][axis])


def _centroid(mask: NDArray[np.bool_], coordinates: NDArray[np.int64]) -> NDArray[np.float64]:
    return (mask * coordinates).sum(axis=(1, 2)) / np.maximum(1, mask.sum(axis=(1, 2)))
