"""Batches of random posteriors, for the objectives' numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from baselines.nets.backend import tensorflow
from baselines.objectives import Batch, Posterior


def no_network(network: str, inputs: Any, *, stop_gradient: bool = False) -> Any:
    raise AssertionError(f"no network {network}")


@pytest.fixture
def make_batch() -> Callable[..., Batch]:
    def make(
        mean: Any,
        log_variance: Any,
        codes: Any = None,
        *,
        step: int = 1,
        inputs: Mapping[str, Any] | None = None,
        call: Any = no_network,
        sizes: tuple[int, ...] = (),
    ) -> Batch:
        mean, log_variance = np.asarray(mean, np.float32), np.asarray(log_variance, np.float32)
        kl = 0.5 * (mean**2 + np.exp(log_variance) - log_variance - 1).sum(axis=1)
        codes = mean if codes is None else np.asarray(codes, np.float32)
        return Batch(Posterior(mean, log_variance), codes, kl, np.float32(step), inputs or {}, call, sizes)

    return make


@pytest.fixture
def posterior() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean, log-variance and codes of 12 images with 5 latents."""
    rng = np.random.default_rng(0)
    mean, log_variance = rng.normal(size=(12, 5)), rng.normal(size=(12, 5))
    return mean, log_variance, mean + np.exp(log_variance / 2) * rng.normal(size=(12, 5))


def gradients_of(function: Callable[..., Any], *arrays: Any) -> tuple[float, list[np.ndarray]]:
    """A function's value and its gradients by some arrays, in float32."""
    tensors = [tensorflow.constant(np.asarray(array, np.float32)) for array in arrays]
    with tensorflow.GradientTape() as tape:
        tape.watch(tensors)
        value = function(*tensors)
    return float(value), [gradient.numpy() for gradient in tape.gradient(value, tensors)]


@pytest.fixture
def check_reference() -> Callable[..., None]:
    """Compares a loss and its gradients by both views with what the authors' code gave."""

    def check(function: Callable[..., Any], case: Mapping[str, Any], *views: Any, scale: float = 1.0) -> None:
        value, found = gradients_of(function, *views)
        expected = case.get("gradient") or [*case["gradient_of_first"], *case["gradient_of_second"]]
        assert value == pytest.approx(scale * case["loss"], rel=1e-6)
        np.testing.assert_allclose(np.concatenate(found), scale * np.array(expected), rtol=1e-4, atol=1e-6)

    return check
