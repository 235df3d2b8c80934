"""Keras, loaded on first use, and functions that depend on its backend.

This module is cheap to import, so that configurations can be read and checked, and ``--help`` printed, without loading
TensorFlow. ``KERAS_BACKEND`` chooses the backend, as everywhere in Keras; the default is the first of `BACKENDS` that
is installed. Settings for GPUs are in `baselines.engines.devices`.
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
"""The backends with an engine, the default first: docs/performance.md compares them."""


class _LazyModule:
    """A module that is imported when its first attribute is accessed."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute == "__wrapped__":  # inspect looks it up on every object, which must not import the module
            raise AttributeError(attribute)
        return getattr(_load(self._name), attribute)


@functools.cache
def _load(name: str) -> Any:
    # TensorFlow's native code logs to standard error; important errors are also raised as exceptions.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    # By default TensorFlow uses oneDNN only on processors with AVX-512; its kernels are also faster with AVX2.
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
    # Allocate GPU memory on demand, so that processes can share a GPU; by default both backends reserve most of it.
    os.environ.setdefault("TF_FORCE_GPU_ALLOW_GROWTH", "true")
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    if sys.platform == "darwin":  # by default Keras uses Apple's GPU, on which PyTorch's operations are untested
        os.environ.setdefault("KERAS_TORCH_DEVICE", "cpu")
    if name.startswith("keras"):  # before Keras imports its default backend, which may not be installed
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
    """Defer Ctrl-C to the end of the block: a library that catches it during import would let the training continue."""
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
    """Check that a backend has an engine here; Keras supports others."""
    if backend not in BACKENDS:
        raise UnknownName("KERAS_BACKEND", backend, BACKENDS)
    return backend


def to_numpy(tensor: Tensor) -> NDArray[Any]:
    """Copy a tensor or variable to a numpy array; Keras' function warns for PyTorch's tensors and for variables."""
    value = tensor.value if isinstance(tensor, keras.Variable) else tensor
    return np.array(np.asarray(value.detach().cpu() if hasattr(value, "detach") else value))


def one_hot(classes: Tensor, count: int) -> Tensor:
    """Encode class ids as float32 0 and 1, with a last axis for the classes.

    On PyTorch, Keras' function reads the ids, which are unknown while an engine traces a step.
    """
    if name() != "torch" or keras.utils.is_keras_tensor(classes):
        return ops.one_hot(classes, count, dtype="float32")
    return ops.cast(ops.equal(ops.expand_dims(classes, -1), ops.arange(count)), "float32")


def no_gradients() -> contextlib.AbstractContextManager[Any]:
    """Return a context without gradients, such as PyTorch's ``no_grad``."""
    return torch.no_grad() if name() == "torch" else contextlib.nullcontext()


@contextlib.contextmanager
def layers_in(precision: str) -> Iterator[None]:
    """Build Keras layers that compute in a precision, with float32 weights, inside a ``with`` block.

    Image channels are last there, whatever the user's Keras settings.

    Args:
        precision: ``"float32"`` or ``"bfloat16"``.
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
    """Return the versions of Python, of Offaxis and of the packages that affect a run's results.

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
