"""Optimiser steps on jax: one compiled function of states and batches, mapped over models. Internal."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from baselines.engines.engine import Arrays, Copy, Engine, adam_step, flaw
from baselines.model import Model, check_shapes, with_tensors
from baselines.nets.backend import jax
from baselines.run_folder import State


class JaxEngine(Engine):
    """Several models: one pure function of (states, batches), mapped over the models (``jax.vmap``) and compiled.

    Every array of the state has a leading axis for the models, so that their products are one batched product. A NaN in
    one model does not affect the others. The function may reuse the old state's memory.

    The models are divided among all devices: the arrays are sharded on their leading axis, and each device runs the
    function for its models, without communication. Groups that cannot be divided evenly are padded with copies of the
    last model, whose results are dropped.

    Args:
        *models: the models.
        pixels: the dataset's pixels, from `baselines.engines.pixels.place`; every device gets a copy.

    Attributes:
        devices: the number of devices with models.
    """

    def __init__(self, *models: Model, pixels: Any = None) -> None:
        self._names = models[0].names()
        self.devices, models_per_device = spread(len(models), len(jax.local_devices()))
        self._model_count, self._padding = len(models), self.devices * models_per_device - len(models)
        mesh = jax.sharding.Mesh(np.array(jax.local_devices()[: self.devices]), ("models",))
        shard, whole = jax.sharding.PartitionSpec("models"), jax.sharding.PartitionSpec()
        self._sharding = jax.sharding.NamedSharding(mesh, shard)
        weights = [self._put(list(w)) for w in zip(*(m.weights().values() for m in models), strict=True)]
        self._state = (weights, *([self._put([np.zeros_like(w[0])] * len(models)) for w in weights] for _ in range(2)))
        self._copy_states = jax.jit(_copy_states)
        self._copies: tuple[NDArray[np.bool_], Callable[[], tuple[list[NDArray[np.float32]], ...]]] | None = None
        self._pixels = None if pixels is None else jax.device_put(pixels, jax.sharding.NamedSharding(mesh, whole))
        strengths = _varying_floats([m.objective for m in models])
        optimisers = [_varying_floats(adams) for adams in zip(*(m.optimisers() for m in models), strict=True)]
        self._varying = jax.tree.map(self._put, (strengths, optimisers))

        def update(state: tuple[list[Any], ...], batch: Arrays, varying: tuple[Any, Any]) -> tuple[Any, dict[str, Any]]:
            model = models[0].varied(varying[0])
            gradients, history = jax.grad(model.loss, has_aux=True)(state[0], batch)
            self._columns = list(history)  # in the objective's order, which jit does not keep
            updated = [
                adam_step(w, m, v, g, with_tensors(adam, fields), batch["step"])
                for w, m, v, g, adam, fields in zip(*state, gradients, model.optimisers(), varying[1], strict=True)
            ]
            return tuple(list(part) for part in zip(*updated, strict=True)), history

        def step(
            state: tuple[list[Any], ...], batch: dict[str, Any], varying: Any, device_pixels: Any
        ) -> tuple[Any, dict[str, Any]]:
            if device_pixels is not None:
                batch["images"] = device_pixels[batch.pop("rows")]
            return jax.vmap(update)(state, batch, varying)

        # Without check_vma, which would mistake the transpose of a convolution for a sum over the devices.
        mapped = jax.shard_map(step, mesh=mesh, in_specs=(shard, shard, shard, whole), out_specs=shard, check_vma=False)
        self._step = jax.jit(mapped, donate_argnums=0)

    def _stack(self, arrays: Sequence[Any]) -> NDArray[Any]:
        """Stack arrays, one for each model, padded with copies of the last one."""
        return np.stack([*arrays, *[arrays[-1]] * self._padding])

    def _put(self, arrays: Sequence[Any]) -> Any:
        """Put arrays, one for each model, on the models' devices, as one array with a leading axis."""
        return jax.device_put(self._stack(arrays), self._sharding)

    def step(self, *batches: Arrays) -> dict[str, Any]:
        """Take one step of every model."""
        self._state, history = self._step(*self.arguments(*batches))
        self._copies = None
        return {name: history[name][: self._model_count] if self._padding else history[name] for name in self._columns}

    def arguments(self, *batches: Arrays) -> tuple[Any, ...]:
        """Return the compiled function's arguments; a step transfers only the batches to the device."""
        stacked = {name: self._stack([batch[name] for batch in batches]) for name in batches[0]}
        return self._state, jax.device_put(stacked, self._sharding), self._varying, self._pixels

    def copy(self, model: int = 0) -> Copy:
        """Copy a model's state on the device; the first call of `Copy.bring` transfers those of all models.

        This waits only for the few bytes that indicate which states are finite, so that the device is idle only until
        the next step is submitted.
        """
        if self._copies is None:
            copies, finite = self._copy_states(self._state)
            self._copies = (
                np.asarray(finite),
                functools.cache(lambda: tuple([np.asarray(a) for a in part] for part in copies)),
            )
        finite, bring = self._copies
        return Copy(
            flaw(finite[:, model]),
            lambda: State(*({n: a[model] for n, a in zip(self._names, part, strict=True)} for part in bring())),
        )

    def load(self, state: State, source: str, model: int = 0) -> None:
        """Set a model's state."""
        for part, arrays in zip(self._state, state, strict=True):
            check_shapes({n: tuple(a.shape[1:]) for n, a in zip(self._names, part, strict=True)}, arrays, source)
        weights, first_moments, second_moments = (
            [jax.device_put(a.at[model].set(arrays[n]), self._sharding) for n, a in zip(self._names, part, strict=True)]
            for part, arrays in zip(self._state, state, strict=True)
        )
        self._state, self._copies = (weights, first_moments, second_moments), None


def _copy_states(state: tuple[list[Any], ...]) -> tuple[tuple[list[Any], ...], Any]:
    """Copy the states of models; return also which are finite: bool (3, models) for weights and both moments."""
    finite = [[jax.numpy.isfinite(a).reshape(len(a), -1).all(1) for a in part] for part in state]
    return jax.tree.map(jax.numpy.copy, state), jax.numpy.stack([jax.numpy.stack(part).all(0) for part in finite])


def spread(models: int, devices: int) -> tuple[int, int]:
    """Divide models among devices: as few as possible on each, and then on as few devices as possible.

    Args:
        models: the number of models.
        devices: the number of devices.

    Returns:
        The number of devices with models, and the number of models on each.

    Example:
        >>> spread(25, 8), spread(5, 4), spread(2, 8)
        ((7, 4), (3, 2), (2, 1))
    """
    share = math.ceil(models / devices)
    return math.ceil(models / share), share


def _varying_floats(settings: Sequence[Any]) -> dict[str, NDArray[np.float32]]:
    """Find the floats in which dataclasses of one kind differ: float32 arrays (models,) by name."""
    columns = {f.name: [getattr(instance, f.name) for instance in settings] for f in dataclasses.fields(settings[0])}
    return {
        name: np.array(values, np.float32)
        for name, values in columns.items()
        if isinstance(values[0], float) and len(set(values)) > 1
    }
