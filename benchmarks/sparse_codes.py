"""A sparse autoencoder of wide features: many units of which few are in use for one image.

TopK keeps the k largest units of each image (Gao et al., "Scaling and evaluating sparse autoencoders", 2024, section
2.3); L1 adds the sum of the units to the loss (Bricken et al., "Towards monosemanticity", 2023). Both subtract a bias
that the decoder adds, and keep the decoder's directions at length 1. Features are scaled before, so that strengths mean
the same for every encoder: mean 0, and a mean squared length of their number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from baselines import validation
from benchmark_data.errors import InvalidInput, check_choice
from leaderboard.arrays import check_codes

Kind = Literal["topk", "l1"]
Encode = Callable[[ArrayLike], NDArray[np.float32]]
_DECAYS = (0.9, 0.999)


def fit(
    features: ArrayLike,
    *,
    units: int,
    kind: Kind = "topk",
    active: int = 8,
    strength: float = 0.1,
    steps: int = 2_000,
    batch_size: int = 256,
    learning_rate: float = 1e-3,
    seed: int = 0,
) -> Encode:
    """Fit a sparse autoencoder by Adam.

    Args:
        features: real numbers, shape (n, D), of the images to fit to.
        units: how many units a code has.
        kind: ``"topk"`` or ``"l1"``.
        active: k of TopK, at most ``units``.
        strength: weight of the L1 norm of the units, beside a squared error that is summed over the features.
        steps: optimiser steps.
        batch_size: images of each.
        learning_rate: Adam's step size.
        seed: of the first weights and of the batches.

    Returns:
        A function from features, shape (m, D), to codes, float32 (m, units), not negative.

    Raises:
        InvalidInput: features that ``leaderboard.arrays.check_codes`` refuses, an unknown kind, or a number out of
            range.

    Example:
        >>> features = np.random.default_rng(0).normal(size=(500, 20))
        >>> codes = fit(features, units=10, active=3, steps=50)(features)
        >>> codes.shape, int((codes > 0).sum(axis=1).max())
        ((500, 10), 3)
    """
    check_choice("kind of a sparse autoencoder", kind, ("topk", "l1"))
    for name, value in (("units", units), ("active", active), ("batch_size", batch_size), ("steps", steps)):
        validation.within(name, value, least=1)
    validation.within("strength", strength, least=0)
    validation.within("learning_rate", learning_rate, above=0)
    if kind == "topk" and active > units:
        raise InvalidInput(f"active: expected at most {units}, the number of units, received {active}.")
    array = check_codes(features, "features").astype(np.float32)
    mean = array.mean(axis=0)
    scale = np.sqrt(np.square(array - mean).mean()) or 1.0
    x, rng = (array - mean) / scale, np.random.default_rng(validation.seed(seed))
    decoder = rng.standard_normal((units, x.shape[1]), np.float32)
    decoder /= np.linalg.norm(decoder, axis=1, keepdims=True)
    weights = [decoder.T.copy(), np.zeros(units, np.float32), decoder, np.zeros(x.shape[1], np.float32)]
    moments = [[np.zeros_like(w), np.zeros_like(w)] for w in weights]
    k, l1 = (active, 0.0) if kind == "topk" else (units, strength)
    for step in range(1, steps + 1):
        gradients = _gradients(x[rng.integers(len(x), size=batch_size)], weights, k, l1)
        for weight, gradient, (first, second) in zip(weights, gradients, moments, strict=True):
            first += (1 - _DECAYS[0]) * (gradient - first)
            second += (1 - _DECAYS[1]) * (gradient**2 - second)
            root = np.sqrt(second / (1 - _DECAYS[1] ** step)) + 1e-8
            weight -= learning_rate * first / (1 - _DECAYS[0] ** step) / root
        weights[2] /= np.linalg.norm(weights[2], axis=1, keepdims=True)

    def encode(others: ArrayLike) -> NDArray[np.float32]:
        return _units((check_codes(others, "features").astype(np.float32) - mean) / scale, weights, k)

    return encode


def _units(x: NDArray[np.float32], weights: list[NDArray[np.float32]], k: int) -> NDArray[np.float32]:
    """Return the units in use, float32 (n, units): the k largest of each row, as far as they are above 0."""
    into, bias, _, centre = weights
    z = np.maximum((x - centre) @ into + bias, 0)
    if k < z.shape[1]:
        np.put_along_axis(z, np.argpartition(z, -k, axis=1)[:, :-k], 0, axis=1)
    return z


def _gradients(
    x: NDArray[np.float32], weights: list[NDArray[np.float32]], k: int, l1: float
) -> tuple[NDArray[np.floating], ...]:
    """Return the gradients of the squared error and the L1 norm, mean over the rows, by each weight."""
    into, _, out, centre = weights
    z = _units(x, weights, k)
    error = 2 * (z @ out + centre - x) / len(x)
    back = (error @ out.T + l1 / len(x)) * (z > 0)
    return (x - centre).T @ back, back.sum(axis=0), z.T @ error, error.sum(axis=0) - (back @ into.T).sum(axis=0)
