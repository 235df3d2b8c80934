"""One optimiser step on each backend: gradients of the model's loss, then Adam on every weight.

TensorFlow keeps weights and moments in variables that a graph updates in place; jax passes them through a compiled
function, which may be mapped over many models. Both hold all the state a run has beside the number of its last step.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from baselines.model import Model, check_shapes, varied
from baselines.nets import backend
from baselines.nets.backend import jax, ops, tensorflow
from baselines.objectives import Adam
from baselines.run_folder import State
from baselines.training.device_images import Pixels

Arrays = Mapping[str, NDArray[Any]]


class Copy(NamedTuple):
    """A model's state as it was after a step; further steps do not change it.

    Attributes:
        flaw: what in it is not finite: "weight", "moment", or "" if nothing is.
        bring: returns the state as numpy arrays. On a device's copy it waits until they are there, in whatever thread
            calls it, so that steps go on meanwhile.
    """

    flaw: str
    bring: Callable[[], State]


class Engine(Protocol):
    """Takes optimiser steps of one or more models and holds their states between them."""

    def step(self, *batches: Arrays) -> dict[str, Any]:
        """Take one step of every model.

        Args:
            *batches: for each model what `Model.loss` wants, as numpy arrays; ``rows`` int32 (n,) instead of ``images``
                where the engine has the pixels.

        Returns:
            The history's scalars before the update, each of shape (models,), on the device; ``np.asarray`` waits.
        """
        ...

    def copy(self, model: int = 0) -> Copy:
        """Copy a model's state. Those of all models are copied at once, on the device, where further steps follow."""
        ...

    def state(self, model: int = 0) -> State:
        """Copy a model's state to numpy arrays."""
        ...

    def load(self, state: State, source: str, model: int = 0) -> None:
        """Set a model's state.

        Raises:
            DamagedFile: names or shapes are not those of the model; ``source`` says where they came from.
        """
        ...


def start(*models: Model, pixels: Pixels | None = None) -> Engine:
    """Return the engine of Keras' backend, at the models' weights and zero moments.

    Args:
        *models: the models to train. Several, on jax alone, differ in nothing but seeds, weights, optimisers and
            strengths; see `baselines.training.loop.SHARED`.
        pixels: the dataset on the device, on jax alone.

    Returns:
        The engine.

    Raises:
        InvalidInput: the backend is neither TensorFlow nor jax.
    """
    return JaxEngine(*models, pixels=pixels) if backend.name() == "jax" else TensorFlowEngine(*models)


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
                if decays(adam):
                    weight.assign_sub(adam.learning_rate * adam.weight_decay * weight)
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
                    grad=tensorflow.convert_to_tensor(gradient),  # a table's is sparse
                )
            return {name: tensorflow.reshape(value, (1,)) for name, value in history.items()}

        self._trace = step
        self._step: Any = None

    def step(self, *batches: Arrays) -> dict[str, Any]:
        """Take one step of the one model.

        All steps have the same shapes, so that the graph of the first is called by itself: to look for the right graph
        each time takes as long as a small model's backward pass.
        """
        (batch,) = batches
        tensors = {name: tensorflow.constant(array) for name, array in batch.items()}
        if self._step is None:
            self._step = self._trace.get_concrete_function(tensors)
        history: dict[str, Any] = self._step(tensors)
        return history

    def copy(self, model: int = 0) -> Copy:
        """Copy the state, to numpy arrays at once: the next step changes the variables."""
        parts = (self._weights, self._first, self._second)
        state = State(*({n: v.numpy().copy() for n, v in zip(self._names, part, strict=True)} for part in parts))
        return Copy(_flaw([all(np.isfinite(a).all() for a in part.values()) for part in state]), lambda: state)

    def state(self, model: int = 0) -> State:
        """Copy the state to numpy arrays."""
        return self.copy().bring()

    def load(self, state: State, source: str, model: int = 0) -> None:
        """Set the state."""
        for part, arrays in zip((self._weights, self._first, self._second), state, strict=True):
            check_shapes({n: tuple(v.shape) for n, v in zip(self._names, part, strict=True)}, arrays, source)
            for name, variable in zip(self._names, part, strict=True):
                variable.assign(arrays[name])


class JaxEngine:
    """Models side by side: one pure function of (states, batches), mapped over the models (``jax.vmap``) and compiled.

    Every array of the state has a leading axis for the models, so that the products of all of them are one batched
    product. What happens in one model, NaN for example, touches no other. The function may reuse the old state's
    memory.

    Where the machine has several devices the models are divided among them: the arrays are sharded on their leading
    axis, and each device runs the function for its own models, without a word to the others. Groups that do not come
    out even are filled up with copies of the last model, whose results nobody looks at.

    Args:
        *models: the models.
        pixels: the dataset's pixels; every device gets a copy.

    Attributes:
        devices: how many devices have models.
    """

    def __init__(self, *models: Model, pixels: Pixels | None = None) -> None:
        self._names = models[0].names()
        self.devices, share = spread(len(models), len(jax.local_devices()))
        self._count, self._filled = len(models), self.devices * share - len(models)
        mesh = jax.sharding.Mesh(np.array(jax.local_devices()[: self.devices]), ("models",))
        own, all_ = jax.sharding.PartitionSpec("models"), jax.sharding.PartitionSpec()
        self._own = jax.sharding.NamedSharding(mesh, own)
        weights = [self._put(list(w)) for w in zip(*(m.weights().values() for m in models), strict=True)]
        self._state = (weights, *([self._put([np.zeros_like(w[0])] * len(models)) for w in weights] for _ in range(2)))
        self._copied = jax.jit(_copied)
        self._copies: tuple[NDArray[np.bool_], Callable[[], tuple[list[NDArray[np.float32]], ...]]] | None = None
        self._pixels = pixels
        self._held = jax.device_put(pixels.held, jax.sharding.NamedSharding(mesh, all_)) if pixels else None
        strengths = _varying([m.objective for m in models])
        optimisers = [_varying(adams) for adams in zip(*(m.optimisers() for m in models), strict=True)]
        self._varying = jax.tree.map(self._put, (strengths, optimisers))

        def one(state: tuple[list[Any], ...], batch: Arrays, varying: tuple[Any, Any]) -> tuple[Any, dict[str, Any]]:
            model = models[0].varied(varying[0])
            gradients, history = jax.grad(model.loss, has_aux=True)(state[0], batch)
            updated = [
                adam_step(w, m, v, g, varied(adam, own), batch["step"])
                for w, m, v, g, adam, own in zip(*state, gradients, model.optimisers(), varying[1], strict=True)
            ]
            return tuple(list(part) for part in zip(*updated, strict=True)), history

        def step(
            state: tuple[list[Any], ...], batch: dict[str, Any], varying: Any, held: Any
        ) -> tuple[Any, dict[str, Any]]:
            if pixels is not None:
                rows = batch.pop("rows")
                batch["images"] = pixels.gather(held, rows)
            stepped: tuple[Any, dict[str, Any]] = jax.vmap(one)(state, batch, varying)
            return stepped

        # Without check_vma: it would take the transpose of a convolution for a sum over the devices.
        divided = jax.shard_map(step, mesh=mesh, in_specs=(own, own, own, all_), out_specs=own, check_vma=False)
        self._step = jax.jit(divided, donate_argnums=0)

    def _stack(self, arrays: Sequence[Any]) -> NDArray[Any]:
        """Stack arrays, one for each model, with copies of the last one for what fills the devices up."""
        return np.stack([*arrays, *[arrays[-1]] * self._filled])

    def _put(self, arrays: Sequence[Any]) -> Any:
        """Put arrays, one for each model, on the models' devices, as one with a leading axis."""
        return jax.device_put(self._stack(arrays), self._own)

    def step(self, *batches: Arrays) -> dict[str, Any]:
        """Take one step of every model."""
        self._state, history = self._step(*self.arguments(*batches))
        self._copies = None
        return {name: value[: self._count] for name, value in history.items()} if self._filled else dict(history)

    def arguments(self, *batches: Arrays) -> tuple[Any, ...]:
        """Return the compiled function's arguments: the batches are all that a step takes to the device."""
        stacked = {name: self._stack([batch[name] for batch in batches]) for name in batches[0]}
        return self._state, jax.device_put(stacked, self._own), self._varying, self._held

    def copy(self, model: int = 0) -> Copy:
        """Copy a model's state, on the device; the first that is brought brings those of all models.

        Only what tells finite states from others is waited for, a few bytes, so that the device rests no longer than
        it takes to ask for the next step.
        """
        if self._copies is None:
            copies, finite = self._copied(self._state)
            self._copies = (
                np.asarray(finite),
                functools.cache(lambda: tuple([np.asarray(a) for a in part] for part in copies)),
            )
        finite, bring = self._copies
        return Copy(
            _flaw(finite[:, model]),
            lambda: State(*({n: a[model] for n, a in zip(self._names, part, strict=True)} for part in bring())),
        )

    def state(self, model: int = 0) -> State:
        """Copy a model's state to numpy arrays."""
        return self.copy(model).bring()

    def load(self, state: State, source: str, model: int = 0) -> None:
        """Set a model's state."""
        for part, arrays in zip(self._state, state, strict=True):
            check_shapes({n: tuple(a.shape[1:]) for n, a in zip(self._names, part, strict=True)}, arrays, source)
        weights, first, second = (
            [jax.device_put(a.at[model].set(arrays[n]), self._own) for n, a in zip(self._names, part, strict=True)]
            for part, arrays in zip(self._state, state, strict=True)
        )
        self._state, self._copies = (weights, first, second), None


def _copied(state: tuple[list[Any], ...]) -> tuple[tuple[list[Any], ...], Any]:
    """Copy states of models side by side; say which are finite: bool (3, models) for weights and both moments."""
    finite = [[jax.numpy.isfinite(a).reshape(len(a), -1).all(1) for a in part] for part in state]
    return jax.tree.map(jax.numpy.copy, state), jax.numpy.stack([jax.numpy.stack(part).all(0) for part in finite])


def _flaw(finite: Iterable[Any]) -> str:
    """Name the first of weights and moments that are not finite."""
    return next((name for name, all_ in zip(("weight", "moment", "moment"), finite, strict=True) if not all_), "")


def spread(models: int, devices: int) -> tuple[int, int]:
    """Divide models among devices, so that the fullest has as few as can be and no device is used in vain.

    Args:
        models: how many models.
        devices: how many devices there are.

    Returns:
        How many devices have models, and how many each has.

    Example:
        >>> spread(25, 8), spread(5, 4), spread(2, 8)
        ((7, 4), (3, 2), (2, 1))
    """
    share = math.ceil(models / devices)
    return math.ceil(models / share), share


def _varying(settings: Sequence[Any]) -> dict[str, NDArray[np.float32]]:
    """Find the floats in which dataclasses of one kind differ: float32 arrays (models,) by name."""
    columns = {f.name: [getattr(each, f.name) for each in settings] for f in dataclasses.fields(settings[0])}
    return {
        name: np.array(values, np.float32)
        for name, values in columns.items()
        if isinstance(values[0], float) and len(set(values)) > 1
    }


def adam_step(weight: Any, first: Any, second: Any, gradient: Any, adam: Adam, step: Any) -> tuple[Any, Any, Any]:
    """Take one step of Adam for one weight, with the formula of TensorFlow's own kernel, and of its decay, if any.

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
    kept = weight - adam.learning_rate * adam.weight_decay * weight if decays(adam) else weight
    return kept - rate * first / (ops.sqrt(second) + adam.epsilon), first, second


def decays(adam: Adam) -> bool:
    """Return whether a weight decays; a strength that differs among the models of a group is no number and may."""
    return not isinstance(adam.weight_decay, float) or adam.weight_decay != 0
