"""Keras, loaded when it is first used, and what depends on which backend runs it.

Importing this module costs nothing, so that configurations can be read and checked, and ``--help`` printed, without
loading TensorFlow. ``KERAS_BACKEND`` chooses the backend, as everywhere in Keras. By default it is the first of
`BACKENDS` that is installed. What a GPU needs of each is in `baselines.engines.devices`.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
import os
import platform
import signal
import sys
import threading
from collections.abc import Iterator
from importlib import metadata
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchmark_data.errors import MissingExtra, UnknownName

__all__ = ["BACKENDS", "Tensor", "keras", "layers_in", "ops"]

Tensor: TypeAlias = Any
"""A tensor of Keras' backend."""

BACKENDS = ("tensorflow", "torch", "jax")
"""The backends that there is an engine for, the default first: docs/performance.md compares them."""


class _LazyModule:
    """A module that is imported when its first attribute is asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute == "__wrapped__":  # what inspect asks of everything: no reason to import
            raise AttributeError(attribute)
        return getattr(_load(self._name), attribute)


@functools.cache
def _load(name: str) -> Any:
    # TensorFlow's native code logs to standard error; what matters of it comes as an exception as well.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    # By itself TensorFlow uses oneDNN on processors with AVX-512 alone; its kernels are the faster ones with AVX2 too.
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
    # On a GPU take memory as it is needed, so that processes can share one; by themselves both take most of it at once.
    os.environ.setdefault("TF_FORCE_GPU_ALLOW_GROWTH", "true")
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    if sys.platform == "darwin":  # by itself Keras takes Apple's GPU, on which nobody has tried PyTorch's operations
        os.environ.setdefault("KERAS_TORCH_DEVICE", "cpu")
    if name.startswith("keras"):  # before Keras looks for a backend that may not even be installed
        installed = (backend for backend in BACKENDS if importlib.util.find_spec(backend))
        os.environ.setdefault("KERAS_BACKEND", next(installed, BACKENDS[0]))
        _check_backend(os.environ["KERAS_BACKEND"])
    try:
        with _defer_interrupt(), _silence_stderr():
            return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise MissingExtra("training", error.name or name, "torch" if error.name == "torch" else "train") from error


@contextlib.contextmanager
def _defer_interrupt() -> Iterator[None]:
    """Put off Ctrl-C to the end of the block: a library that catches it while it loads would let the training go on."""
    previous_handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(previous_handler):
        yield
        return
    received: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: received.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous_handler)
    if received:
        signal.raise_signal(signal.SIGINT)


@contextlib.contextmanager
def _silence_stderr() -> Iterator[None]:
    """Silence standard error: TensorFlow reports its build options there before it reads any setting."""
    if sys.stderr is None:  # closed, as for some daemons
        yield
        return
    sys.stderr.flush()
    saved_stderr = os.dup(2)
    try:
        with open(os.devnull, "wb") as devnull:
            os.dup2(devnull.fileno(), 2)
        yield
    finally:
        os.dup2(saved_stderr, 2)
        os.close(saved_stderr)


keras: Any = _LazyModule("keras")
"""The package ``keras``."""

ops: Any = _LazyModule("keras.ops")
"""The module ``keras.ops``: numpy's functions on the backend's tensors."""

tensorflow: Any = _LazyModule("tensorflow")
"""The package ``tensorflow``. Use it only where the backend is TensorFlow."""

jax: Any = _LazyModule("jax")
"""The package ``jax``. Use it only where the backend is jax."""

torch: Any = _LazyModule("torch")
"""The package ``torch``. Use it only where the backend is PyTorch."""


def name() -> str:
    """Return the name of Keras' backend, one of `BACKENDS`."""
    return _check_backend(keras.backend.backend())


def _check_backend(backend: str) -> str:
    """Check that there is an engine for a backend: Keras has others."""
    if backend not in BACKENDS:
        raise UnknownName("KERAS_BACKEND", backend, BACKENDS)
    return backend


def to_numpy(tensor: Tensor) -> NDArray[Any]:
    """Copy a tensor or variable to a numpy array; Keras' own function warns of PyTorch's tensors and of variables."""
    value = tensor.value if isinstance(tensor, keras.Variable) else tensor
    return np.array(np.asarray(value.detach().cpu() if hasattr(value, "detach") else value))


def one_hot(classes: Tensor, count: int) -> Tensor:
    """Turn class ids into float32 numbers of 0 and 1, with a last axis for the classes.

    On PyTorch Keras' own looks at the ids, which are not known while an engine traces a step.
    """
    if name() != "torch" or keras.utils.is_keras_tensor(classes):
        return ops.one_hot(classes, count, dtype="float32")
    return ops.cast(ops.equal(ops.expand_dims(classes, -1), ops.arange(count)), "float32")


def no_gradients() -> contextlib.AbstractContextManager[Any]:
    """Return a context in which nothing is kept for gradients, as PyTorch keeps it unless told otherwise."""
    return torch.no_grad() if name() == "torch" else contextlib.nullcontext()


@contextlib.contextmanager
def layers_in(precision: str) -> Iterator[None]:
    """Let Keras' layers that are built inside compute in a precision; their weights are float32 in any case.

    Images have their channels last there, whatever the user's Keras is set to.

    Args:
        precision: ``"float32"`` or ``"bfloat16"``.

    Yields:
        Nothing: it is a context.
    """
    policy, data_format, floatx = keras.config.dtype_policy(), keras.config.image_data_format(), keras.config.floatx()
    keras.config.set_floatx("float32")
    keras.config.set_image_data_format("channels_last")
    keras.config.set_dtype_policy({"float32": "float32", "bfloat16": "mixed_bfloat16"}[precision])
    try:
        yield
    finally:
        keras.config.set_dtype_policy(policy)
        keras.config.set_image_data_format(data_format)
        keras.config.set_floatx(floatx)


def describe_host() -> str:
    """Describe this machine's processors.

    Example:
        >>> describe_host()
        '... CPU cores, ...'
    """
    return f"{os.cpu_count()} CPU cores, {platform.machine()}"


def versions(*packages: str) -> dict[str, str]:
    """Return the versions of Python, of Offaxis and of the packages that a run's numbers depend on.

    Args:
        *packages: names of modules.

    Returns:
        Version by name.

    Example:
        >>> sorted(versions("numpy"))
        ['numpy', 'offaxis', 'python']
    """
    package_versions = {package: str(importlib.import_module(package).__version__) for package in packages}
    return {"python": platform.python_version(), "offaxis": metadata.version("offaxis"), **package_versions}
