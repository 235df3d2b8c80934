"""Base classes of the engines: a state that takes optimiser steps. Internal."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from baselines.model import Model, check_shapes
from baselines.nets.backend import ops, to_numpy
from baselines.objectives import Adam
from baselines.run_folder import State

Arrays = Mapping[str, NDArray[Any]]


class Copy(NamedTuple):
    """A copy of a model's state after a step; further steps do not change it.

    Attributes:
        flaw: what is not finite: "weight", "moment", or "" if all is finite.
        bring: returns the state as numpy arrays. If the copy is on a device, it blocks the calling thread until they
            are transferred, while steps continue.
    """

    flaw: str
    bring: Callable[[], State]


class Engine(abc.ABC):
    """Takes optimiser steps of one or more models and holds their states between them."""

    @abc.abstractmethod
    def step(self, *batches: Arrays) -> dict[str, Any]:
        """Take one step of every model.

        Args:
            *batches: for each model the batch for `Model.loss`, as numpy arrays; ``rows`` int32 (n,) instead of
                ``images`` if the engine has the pixels.

        Returns:
            The history's scalars before the update, each of shape (models,), on the device; `backend.to_numpy` waits
            for them.
        """

    @abc.abstractmethod
    def copy(self, model: int = 0) -> Copy:
        """Copy a model's state."""

    @abc.abstractmethod
    def load(self, state: State, source: str, model: int = 0) -> None:
        """Set a model's state and check its names and shapes; ``source`` is its origin, for messages."""


class OneModel(Engine):
    """An engine of one model, which updates the variables of its Keras layers in place."""

    def __init__(self, model: Model, zeros_like: Callable[[Any], Any]) -> None:
        self._names = model.names()
        self._weights = [v.value for v in model.variables()]
        self._first_moments, self._second_moments = ([zeros_like(w) for w in self._weights] for _ in range(2))

    @abc.abstractmethod
    def _assign(self, variable: Any, array: NDArray[Any]) -> None:
        """Set a variable."""

    def _state_variables(self) -> State:
        return State(
            *(
                dict(zip(self._names, variables, strict=True))
                for variables in (self._weights, self._first_moments, self._second_moments)
            )
        )

    def copy(self, model: int = 0) -> Copy:
        """Copy the state to numpy arrays immediately, since the next step changes the variables."""
        state = State(*({name: to_numpy(v) for name, v in part.items()} for part in self._state_variables()))
        return Copy(flaw([all(np.isfinite(a).all() for a in part.values()) for part in state]), lambda: state)

    def load(self, state: State, source: str, model: int = 0) -> None:
        """Set the state."""
        for part, arrays in zip(self._state_variables(), state, strict=True):
            check_shapes({name: tuple(v.shape) for name, v in part.items()}, arrays, source)
            for name, variable in part.items():
                self._assign(variable, arrays[name])


def flaw(finite: Iterable[Any]) -> str:
    """Return "weight" or "moment", the first that is not finite, or ""."""
    return next((name for name, valid in zip(("weight", "moment", "moment"), finite, strict=True) if not valid), "")


def adam_step(weight: Any, first: Any, second: Any, gradient: Any, adam: Adam, step: Any) -> tuple[Any, Any, Any]:
    """Take one step of Adam for one weight, with the formula of TensorFlow's kernel, and weight decay, if any.

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
    decayed = weight - adam.learning_rate * adam.weight_decay * weight if decays(adam) else weight
    return decayed - rate * first / (ops.sqrt(second) + adam.epsilon), first, second


def decays(adam: Adam) -> bool:
    """Return whether a weight decays; True for a decay that differs among a group's models, which is a tensor."""
    return not isinstance(adam.weight_decay, float) or adam.weight_decay != 0
