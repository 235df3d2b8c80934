"""Reconstruction losses: the meaning of the decoder's output, and its distance from the image.

Each is a function of images in [0, 1] and the decoder's output, both (n, H, W, C), and returns one value per image,
summed over pixels and channels. With the reduction ``"mean"``, a run divides it by H W C and takes the mean KL over the
latents instead of the sum; Michlo et al. (IJCAI 2023) state their β for this. With L latents, β H W C / L is equivalent
for sums: the losses differ only by the factor H W C, which affects Adam if gradients are as small as its epsilon.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from baselines.nets.backend import Tensor, ops
from benchmark_data.errors import UnknownName

BLUR = 63
"""Side of the box blur's kernel, in pixels."""

ALPHA = BLUR**2
"""Weight of the blurred loss: 3969."""


class Reconstruction(NamedTuple):
    """A reconstruction loss.

    Attributes:
        loss: (images, output), each (n, H, W, C), to (n,), summed over H, W, C.
        image: converts the output to an image in [0, 1].
    """

    loss: Callable[[Tensor, Tensor], Tensor]
    image: Callable[[Tensor], Tensor]


def _sum_pixels(x: Tensor) -> Tensor:
    return ops.sum(x, axis=(1, 2, 3))


def bernoulli(images: Tensor, logits: Tensor) -> Tensor:
    """Compute the negative log-likelihood of Bernoulli pixels: the sigmoid cross-entropy, stable for large logits.

    Args:
        images: (n, H, W, C) in [0, 1].
        logits: the decoder's output.

    Returns:
        Nats, shape (n,).
    """
    return _sum_pixels(ops.softplus(logits) - logits * images)


def mse(images: Tensor, output: Tensor) -> Tensor:
    """Compute the squared error.

    Args:
        images: (n, H, W, C) in [0, 1].
        output: the decoder's output, with no activation.

    Returns:
        Shape (n,), summed over pixels.
    """
    return _sum_pixels(ops.square(images - output))


def blur(images: Tensor) -> Tensor:
    """Replace every pixel by the mean of the 63 x 63 pixels around it, zero outside the image, channel by channel.

    The paper convolves by FFT; a box is separable, so that two products with a banded matrix compute the same.

    Args:
        images: float32, shape (n, H, W, C).

    Returns:
        The same shape.
    """
    for _ in range(2):  # blurs along the first axis of positions, and swaps the two
        _, side, other_side, channels = images.shape
        blurred = ops.matmul(_box_matrix(side), ops.reshape(images, (-1, side, other_side * channels)))
        images = ops.transpose(ops.reshape(blurred, (-1, side, other_side, channels)), (0, 2, 1, 3))
    return images


def _box_matrix(side: int) -> NDArray[np.float32]:
    positions = np.arange(side)
    return np.where(np.abs(positions[:, None] - positions) <= BLUR // 2, np.float32(1 / BLUR), np.float32(0))


def box_blur(images: Tensor, output: Tensor) -> Tensor:
    """Compute the squared error, and α = 3969 times that of the blurred images (Michlo et al. 2023, section 6.1).

    Args:
        images: (n, H, W, C) in [0, 1].
        output: the decoder's output, with no activation.

    Returns:
        Shape (n,).
    """
    return mse(images, output) + ALPHA * _sum_pixels(ops.square(blur(images - output)))


RECONSTRUCTIONS = {
    "bernoulli": Reconstruction(bernoulli, lambda logits: ops.sigmoid(logits)),
    "mse": Reconstruction(mse, lambda output: ops.clip(output, 0.0, 1.0)),
    "box_blur": Reconstruction(box_blur, lambda output: ops.clip(output, 0.0, 1.0)),
}
"""Every reconstruction loss by name."""


def find(name: str) -> Reconstruction:
    """Return a reconstruction loss by name.

    Raises:
        UnknownName: there is no such loss; the message suggests the nearest name and lists all.
    """
    if name not in RECONSTRUCTIONS:
        raise UnknownName("reconstruction", name, RECONSTRUCTIONS)
    return RECONSTRUCTIONS[name]
