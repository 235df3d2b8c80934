"""One optimiser step on each backend: gradients of the model's loss, then Adam on every weight. Internal.

TensorFlow and PyTorch update weights and moments in place; jax passes them through a compiled function, which may be
mapped over many models. An engine holds all of a run's state except the number of its last step.
"""

from __future__ import annotations

from typing import Any

from baselines.engines.engine import Engine
from baselines.engines.jax_engine import JaxEngine
from baselines.engines.tensorflow_engine import TensorFlowEngine
from baselines.engines.torch_engine import TorchEngine
from baselines.model import Model
from baselines.nets import backend


def start(*models: Model, pixels: Any = None) -> Engine:
    """Return the engine of Keras' backend, at the models' weights and zero moments.

    Args:
        *models: the models to train. Several, on jax only, may differ in seeds, weights, optimisers and strengths; see
            `baselines.training.loop.SHARED_KEYS`.
        pixels: the dataset on the device, on jax only.
    """
    if backend.name() == "jax":
        return JaxEngine(*models, pixels=pixels)
    return TorchEngine(*models) if backend.name() == "torch" else TensorFlowEngine(*models)
