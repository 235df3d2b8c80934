"""Optimiser steps on PyTorch: a traced graph of the gradients, then Adam on all weights at once. Internal."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from baselines.engines.engine import Arrays, OneModel
from baselines.model import Model
from baselines.nets.backend import torch


class TorchEngine(OneModel):
    """One model, on the device of its layers, with deterministic operations if PyTorch has them.

    The first step traces loss and gradients, with Keras' layers and PyTorch's automatic differentiation, into one list
    of kernel calls, which every further step runs. Without it, Keras' layers take a fifth to a third longer than the
    same layers in plain PyTorch; with it, as long or less (docs/performance.md).
    """

    def __init__(self, model: Model) -> None:
        from torch.fx.experimental.proxy_tensor import make_fx
        from torch.optim.adam import adam as fused_adam

        super().__init__(model, torch.zeros_like)
        self._model, self._optimisers = model, model.optimisers()
        self._weights = [weight.detach() for weight in self._weights]  # the same memory
        self._device = self._weights[0].device
        self._step_counts = [torch.zeros((), device=self._device) for _ in self._weights]
        self._indices_by_adam: dict[Any, list[int]] = {}
        for i, (adam, frozen) in enumerate(zip(self._optimisers, model.frozen(), strict=True)):
            if not frozen:
                self._indices_by_adam.setdefault(adam, []).append(i)
        self._fused_adam: Any = fused_adam
        self._trace: Any = make_fx(lambda *arguments: self._compute_gradients(*arguments))
        self._graph: Any = None

    def step(self, *batches: Arrays) -> dict[str, Any]:
        """Take one step of the model."""
        (batch,) = batches
        mode, memory = torch.get_deterministic_debug_mode(), torch.utils.deterministic
        was_filling = memory.fill_uninitialized_memory
        torch.set_deterministic_debug_mode("warn")
        memory.fill_uninitialized_memory = False  # no kernel here reads uninitialised memory
        try:
            tensors = {name: torch.from_numpy(np.asarray(a)).to(self._device) for name, a in batch.items()}
            with torch.no_grad():
                if self._graph is None:
                    with torch.enable_grad():
                        self._graph = self._trace(self._weights, tensors)
                gradients, history = self._graph(self._weights, tensors)  # type: tuple[list[Any], dict[str, Any]]
                for adam, indices in self._indices_by_adam.items():
                    self._update_weights(adam, indices, gradients, int(batch["step"]))
        finally:  # restore the settings for the program's other computations
            torch.set_deterministic_debug_mode(mode)
            memory.fill_uninitialized_memory = was_filling
        return history

    def _compute_gradients(self, weights: list[Any], batch: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Return the loss's gradient with respect to each weight, and the history's scalars, each of shape (1,)."""
        leaves = [weight.detach().requires_grad_() for weight in weights]
        loss, history = self._model.loss(leaves, batch)
        raw = torch.autograd.grad(loss, leaves, allow_unused=True) if loss.requires_grad else [None] * len(leaves)
        # The fused kernel reads memory in order, whatever the strides; a convolution's gradient is a transposed view.
        gradients = [torch.zeros_like(w) if g is None else g.contiguous() for w, g in zip(leaves, raw, strict=True)]
        return gradients, {name: value.detach().reshape(1) for name, value in history.items()}

    def _update_weights(self, adam: Any, indices: list[int], gradients: list[Any], step: int) -> None:
        """Update the weights of one optimiser, with one kernel for all of them and the formula of `adam_step`.

        PyTorch adds epsilon after the bias correction of the root, so that its epsilon is rescaled to be equivalent.
        """
        weights, first_moments, second_moments, chosen_gradients, step_counts = (
            [part[i] for i in indices]
            for part in (self._weights, self._first_moments, self._second_moments, gradients, self._step_counts)
        )
        if adam.weight_decay:
            torch._foreach_mul_(weights, 1 - adam.learning_rate * adam.weight_decay)
        for count in step_counts:
            count.fill_(step - 1)
        self._fused_adam(
            *(weights, chosen_gradients, first_moments, second_moments, [], step_counts),
            fused=True,
            amsgrad=False,
            maximize=False,
            lr=adam.learning_rate,
            beta1=adam.beta_1,
            beta2=adam.beta_2,
            eps=adam.epsilon / math.sqrt(1 - adam.beta_2**step),
            weight_decay=0.0,
        )

    def _assign(self, variable: Any, array: NDArray[Any]) -> None:
        with torch.no_grad():
            variable.copy_(torch.from_numpy(np.array(array)))
