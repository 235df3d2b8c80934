"""Optimiser steps on TensorFlow: one graph that updates variables in place. Internal."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from numpy.typing import NDArray

from baselines.engines.engine import Arrays, OneModel, decays
from baselines.model import Model
from baselines.nets.backend import tensorflow


class TensorFlowEngine(OneModel):
    """One model, with deterministic operations.

    XLA is off: on a CPU it runs the convolutional model at about half the speed.
    """

    def __init__(self, model: Model) -> None:
        super().__init__(model, lambda weight: tensorflow.Variable(tensorflow.zeros_like(weight)))
        optimisers = model.optimisers()

        @tensorflow.function(autograph=False, reduce_retracing=True)  # type: ignore[untyped-decorator]
        def step(batch: Mapping[str, Any]) -> dict[str, Any]:
            with tensorflow.GradientTape(watch_accessed_variables=False) as tape:
                tape.watch(self._weights)
                loss, history = model.loss(self._weights, batch)
            zero = tensorflow.UnconnectedGradients.ZERO
            gradients = tape.gradient(loss, self._weights, unconnected_gradients=zero)
            for weight, first_moment, second_moment, gradient, adam in zip(
                self._weights, self._first_moments, self._second_moments, gradients, optimisers, strict=True
            ):
                if decays(adam):
                    weight.assign_sub(adam.learning_rate * adam.weight_decay * weight)
                tensorflow.raw_ops.ResourceApplyAdam(
                    var=weight.handle,
                    m=first_moment.handle,
                    v=second_moment.handle,
                    beta1_power=adam.beta_1 ** batch["step"],
                    beta2_power=adam.beta_2 ** batch["step"],
                    lr=adam.learning_rate,
                    beta1=adam.beta_1,
                    beta2=adam.beta_2,
                    epsilon=adam.epsilon,
                    grad=tensorflow.convert_to_tensor(gradient),  # an embedding's is sparse
                )
            return {name: tensorflow.reshape(value, (1,)) for name, value in history.items()}

        self._trace = step
        self._step: Any = None

    def step(self, *batches: Arrays) -> dict[str, Any]:
        """Take one step of the model.

        All steps have the same shapes, so the graph of the first is called directly: looking it up at each step takes
        as long as a small model's backward pass.
        """
        (batch,) = batches
        tensors = {name: tensorflow.constant(array) for name, array in batch.items()}
        with _enable_determinism():
            if self._step is None:
                self._step = self._trace.get_concrete_function(tensors)
            history: dict[str, Any] = self._step(tensors)
        return history

    def _assign(self, variable: Any, array: NDArray[Any]) -> None:
        variable.assign(array)


@contextlib.contextmanager
def _enable_determinism() -> Iterator[None]:
    """Enable deterministic operations only here: TensorFlow would then reject others without a seed elsewhere."""
    from tensorflow.python.framework import config  # the public names can turn this on, not off

    was_enabled = config.is_op_determinism_enabled()
    config.enable_op_determinism()
    try:
        yield
    finally:
        if not was_enabled:
            config.disable_op_determinism()
