"""One optimiser step on each backend: gradients of the model's loss, then Adam on every weight.

TensorFlow keeps weights and moments in variables that a graph updates in place; jax passes them through a compiled
function. Both hold all the state a run has beside the number of its last step.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from baselines import backend
from baselines.backend import jax, ops, tensorflow
from baselines.model import Model, check_shapes
from baselines.objective import Adam

Arrays = Mapping[str, NDArray[Any]]


class State(NamedTuple):
    """A run's state after a step: float32 arrays by the weights' names.

    Attributes:
        weights: the weights.
        first: Adam's first moments.
        second: Adam's second moments.
    """

    weights: Arrays
    first: Arrays
    second: Arrays


class Engine(Protocol):
    """Takes optimiser steps and holds the state between them."""

    def step(self, batch: Arrays) -> dict[str, Any]:
        """Take one step.

        Args:
            batch: what `Model.loss` wants, as numpy arrays.

        Returns:
            The history's scalars before the update, on the device; ``float`` waits for them.
        """
        ...

    def state(self) -> State:
        """Copy the state to numpy arrays."""
        ...

    def load(self, state: State, source: str) -> None:
        """Set the state.

        Raises:
            DamagedFile: names or shapes are not those of the model; ``source`` says where they came from.
        """
        ...


def start(model: Model) -> Engine:
    """Give the engine of Keras' backend, at the model's weights and zero moments.

    Args:
        model: the model to train.

    Returns:
        The engine.

    Raises:
        InvalidInput: the backend is neither TensorFlow nor jax.
    """
    return JaxEngine(model) if backend.name() == "jax" else TensorFlowEngine(model)


class TensorFlowEngine:
    """Variables, updated in place by one graph, with deterministic operations.

    XLA is left off: on a CPU it runs the convolutional model at about half the speed.
    """

    def __init__(self, model: Model) -> None:
        tensorflow.config.experimental.enable_op_determinism()
        self._names = model.names()
        self._weights = [v.value for v in model.variables()]
        self._first, self._second = (
            [tensorflow.Variable(tensorflow.zeros_like(w)) for w in self._weights] for _ in range(2)
        )
        optimisers = model.optimisers()

        @tensorflow.function(autograph=False, reduce_retracing=True)  # type: ignore[untyped-decorator]
        def step(batch: Mapping[str, Any]) -> dict[str, Any]:
            with tensorflow.GradientTape(watch_accessed_variables=False) as tape:
                tape.watch(self._weights)
                loss, history = model.loss(self._weights, batch)
            zero = tensorflow.UnconnectedGradients.ZERO
            gradients = tape.gradient(loss, self._weights, unconnected_gradients=zero)
            for weight, first, second, gradient, adam in zip(
                self._weights, self._first, self._second, gradients, optimisers, strict=True
            ):
                tensorflow.raw_ops.ResourceApplyAdam(
                    var=weight.handle,
                    m=first.handle,
                    v=second.handle,
                    beta1_power=adam.beta_1 ** batch["step"],
                    beta2_power=adam.beta_2 ** batch["step"],
                    lr=adam.learning_rate,
                    beta1=adam.beta_1,
                    beta2=adam.beta_2,
                    epsilon=adam.epsilon,
                    grad=gradient,
                )
            return history

        self._step = step

    def step(self, batch: Arrays) -> dict[str, Any]:
        """Take one step."""
        history: dict[str, Any] = self._step({name: tensorflow.constant(array) for name, array in batch.items()})
        return history

    def state(self) -> State:
        """Copy the state to numpy arrays."""
        parts = (self._weights, self._first, self._second)
        return State(*({n: v.numpy().copy() for n, v in zip(self._names, part, strict=True)} for part in parts))

    def load(self, state: State, source: str) -> None:
        """Set the state."""
        for part, arrays in zip((self._weights, self._first, self._second), state, strict=True):
            check_shapes({n: tuple(v.shape) for n, v in zip(self._names, part, strict=True)}, arrays, source)
            for name, variable in zip(self._names, part, strict=True):
                variable.assign(arrays[name])


class JaxEngine:
    """A pure function of (state, batch), compiled, which may reuse the old state's memory."""

    def __init__(self, model: Model) -> None:
        self._names = model.names()
        weights = [ops.convert_to_tensor(w) for w in model.weights().values()]
        self._state = (weights, [ops.zeros_like(w) for w in weights], [ops.zeros_like(w) for w in weights])
        optimisers = model.optimisers()

        def step(state: tuple[list[Any], ...], batch: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
            gradients, history = jax.grad(model.loss, has_aux=True)(state[0], batch)
            updated = [
                adam_step(w, m, v, g, adam, batch["step"])
                for w, m, v, g, adam in zip(*state, gradients, optimisers, strict=True)
            ]
            return tuple(list(part) for part in zip(*updated, strict=True)), history

        self._step = jax.jit(step, donate_argnums=0)

    def step(self, batch: Arrays) -> dict[str, Any]:
        """Take one step."""
        self._state, history = self._step(self._state, dict(batch))
        return dict(history)

    def state(self) -> State:
        """Copy the state to numpy arrays."""
        return State(*({n: np.array(a) for n, a in zip(self._names, part, strict=True)} for part in self._state))

    def load(self, state: State, source: str) -> None:
        """Set the state."""
        for part, arrays in zip(self._state, state, strict=True):
            check_shapes({n: tuple(a.shape) for n, a in zip(self._names, part, strict=True)}, arrays, source)
        weights, first, second = ([ops.convert_to_tensor(part[n]) for n in self._names] for part in state)
        self._state = (weights, first, second)


def adam_step(weight: Any, first: Any, second: Any, gradient: Any, adam: Adam, step: Any) -> tuple[Any, Any, Any]:
    """Take one step of Adam for one weight, with the formula of TensorFlow's own kernel.

    Args:
        weight: the weight.
        first: its first moment.
        second: its second moment, of the same shape.
        gradient: the loss's gradient.
        adam: the optimiser's settings.
        step: the number of this step, from 1.

    Returns:
        The new weight and moments.
    """
    first = adam.beta_1 * first + (1 - adam.beta_1) * gradient
    second = adam.beta_2 * second + (1 - adam.beta_2) * ops.square(gradient)
    rate = adam.learning_rate * ops.sqrt(1 - adam.beta_2**step) / (1 - adam.beta_1**step)
    return weight - rate * first / (ops.sqrt(second) + adam.epsilon), first, second
