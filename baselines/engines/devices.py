"""Devices: the GPUs of a machine, those that the backend can use, and the choice between GPUs and CPU.

A GPU that the backend was not built for is easily overlooked: training works, only slowly. So a run prints its device
and, if a GPU is idle, what to install.
"""

from __future__ import annotations

import contextlib
import functools
import os
import subprocess
import warnings
from pathlib import Path
from typing import Any, NamedTuple, get_args

from baselines.config import Device
from baselines.nets import backend
from baselines.nets.backend import jax, ops, tensorflow, torch
from benchmark_data.errors import InvalidInput, OffaxisWarning, UnknownName

GPU_DEVICE_FILE = Path("/dev/nvidia0")
"""Device files of the driver of a first GPU, for when ``nvidia-smi`` is not installed, as in many containers."""

CPU_FLAGS = Path("/proc/cpuinfo")

INSTALL = {
    "jax": "pip install 'offaxis[gpu]'",
    "torch": "pip uninstall --yes torch && pip install 'offaxis[torch]'",
    "tensorflow": "pip uninstall --yes tensorflow-cpu tensorflow && pip install 'offaxis[tensorflow-gpu]'",
}
"""The command that installs a backend for NVIDIA's GPUs. TensorFlow with and without CUDA are two packages with the
same files, so that one must be removed first."""


class SlowDevice(OffaxisWarning):
    """A run computes more slowly than it could: on a CPU with a GPU idle, or in bfloat16 without hardware support."""


class Gpus(NamedTuple):
    """The NVIDIA GPUs of a machine.

    Attributes:
        names: their names, in order.
        driver: the driver's version; empty if unknown.
    """

    names: tuple[str, ...]
    driver: str


def installed_gpus() -> Gpus | None:
    """Find the NVIDIA GPUs of this machine, including those that the backend cannot use.

    Returns:
        The GPUs; None if there are none or ``CUDA_VISIBLE_DEVICES`` hides them all.
    """
    if os.environ.get("CUDA_VISIBLE_DEVICES", "all").strip() in ("", "-1"):
        return None
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        completed = subprocess.run(
            ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            timeout=20,
            check=True,
        )
        rows = [line.rpartition(",") for line in completed.stdout.splitlines() if "," in line]
        if rows:
            return Gpus(tuple(name.strip() for name, _, _ in rows), rows[0][2].strip())
    return Gpus(("an NVIDIA GPU",), "") if GPU_DEVICE_FILE.exists() else None


@functools.cache
def _driver_version() -> str:
    gpus = installed_gpus()
    return gpus.driver if gpus else ""


def usable_gpus() -> list[str]:
    """List the names of the GPUs that the backend uses; for PyTorch at most one, tested with a tensor."""
    if backend.name() == "torch":
        return [str(torch.cuda.get_device_name())] if ops.zeros(1).is_cuda else []
    if backend.name() == "jax":
        return [str(device.device_kind) for device in jax.local_devices() if device.platform != "cpu"]
    details = tensorflow.config.experimental.get_device_details
    return [str(details(device).get("device_name", "GPU")) for device in tensorflow.config.get_visible_devices("GPU")]


def describe_device() -> str:
    """Return the name of the device that models run on, with the backend, for a run's budget.

    Example:
        >>> describe_device()
        '... (tensorflow)'
    """
    return f"{(usable_gpus() or [backend.describe_host()])[0]} ({backend.name()})"


def check(device: str) -> None:
    """Raise `UnknownName` unless this is the name of a `Device`."""
    if device not in get_args(Device):
        raise UnknownName("--device", device, get_args(Device), "For CUDA, use gpu." if "cuda" in device else "")


def choose(device: str) -> None:
    """Choose the CPU or GPUs for this process. Call it before anything is computed.

    Args:
        device: ``"cpu"``, ``"gpu"``, or ``"auto"``: GPUs if the backend can use them.

    Raises:
        UnknownName: another name.
        InvalidInput: ``"gpu"``, and the backend has none; or ``"cpu"``, and it already uses a GPU.
    """
    check(device)
    if device == "cpu":
        os.environ["KERAS_TORCH_DEVICE"] = "cpu"  # Keras reads it when it is loaded
        with contextlib.suppress(RuntimeError):  # raised by TensorFlow if it is already running
            if backend.name() == "jax":
                jax.config.update("jax_platforms", "cpu")
            elif backend.name() == "tensorflow":
                tensorflow.config.set_visible_devices([], "GPU")
        if gpu_names := usable_gpus():
            raise InvalidInput(
                f"--device cpu: expected a process that has not used a GPU yet, received one that uses {gpu_names[0]}. "
                "Start a new process."
            )
    if device == "gpu" and not usable_gpus():
        gpus = installed_gpus()
        received = f"{gpus.names[0]} and a {backend.name()} without CUDA" if gpus else "a machine without one"
        remedy = f"Install it with: {INSTALL[backend.name()]}" if gpus else "Omit --device."
        raise InvalidInput(f"--device gpu: expected a GPU that {backend.name()} can use, received {received}. {remedy}")


def advice(device: str, precision: str) -> list[str]:
    """Return advice for faster training.

    Args:
        device: the chosen device.
        precision: the run's precision.

    Returns:
        Sentences; empty if there is no advice.
    """
    if usable_gpus():
        return []
    sentences = []
    gpus = installed_gpus() if device == "auto" else None
    if gpus and not (backend.name() == "jax" and jax.config.jax_platforms == "cpu"):
        sentences.append(
            f"{gpus.names[0]} is not used, since {backend.name()} was installed without CUDA. "
            f"Install it with: {INSTALL[backend.name()]}"
        )
    if precision == "bfloat16" and not _computes_bfloat16():
        sentences.append(
            "this processor has neither AVX512_BF16 nor AMX: it emulates bfloat16, which is slower than float32"
        )
    return sentences


def warn(precision: str) -> None:
    """Warn with `advice`, for training from Python. Python shows such a warning once per location."""
    for sentence in advice("auto", precision):
        warnings.warn(sentence, SlowDevice, stacklevel=3)


def _computes_bfloat16() -> bool:
    """Return whether the CPU has bfloat16 multiplication; True if unknown."""
    try:
        flags = CPU_FLAGS.read_text("utf-8").split()
    except OSError:
        return True
    return "flags" not in flags or any(flag in flags for flag in ("avx512_bf16", "amx_bf16"))


def device_summary() -> str:
    """Describe device and backend in one line, the first of a command's output.

    Example:
        >>> device_summary()
        '... CPU cores, ..., with tensorflow 2...'
    """
    gpus = usable_gpus()
    device_text = backend.describe_host() if not gpus else gpus[0] if len(gpus) == 1 else f"{len(gpus)} x {gpus[0]}"
    driver = f" (driver {_driver_version()})" if gpus and _driver_version() else ""
    return f"{device_text}{driver}, with {backend.name()} {backend.versions(backend.name())[backend.name()]}"


@functools.cache
def threads() -> int:
    """Return the maximum number of CPU threads of an operation, which affects the rounding of sums.

    The value of the first call is cached, since a running process does not change it.
    """
    if backend.name() == "torch":
        return int(torch.get_num_threads())
    is_jax = backend.name() == "jax"
    configured = 0 if is_jax else tensorflow.config.threading.get_intra_op_parallelism_threads()
    variable = os.environ.get("NPROC" if is_jax else "TF_NUM_INTRAOP_THREADS", "")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return configured or int(variable if variable.isdecimal() else 0) or cores or 1


def record(precision: str) -> dict[str, Any]:
    """Return the record in ``run.json`` of how a run was computed.

    Args:
        precision: the run's precision.

    Returns:
        ``backend``; ``device``, its name; ``devices``, their number; ``driver``, empty without a GPU; ``threads`` of
        the CPU; ``precision``; ``tensorfloat32``, whether float32 products may be rounded to 10 bits of mantissa, as by
        default on newer GPUs; ``deterministic``, whether the same run on the same device with the same number of
        threads has the same bits.
    """
    gpus = usable_gpus()
    if backend.name() == "jax":
        count = len(jax.local_devices())
        tensorfloat32 = jax.config.jax_default_matmul_precision in (None, "default", "fastest", "tensorfloat32")
        deterministic = not gpus or "--xla_gpu_deterministic_ops=true" in os.environ.get("XLA_FLAGS", "")
    elif backend.name() == "torch":
        count = 1
        tensorfloat32 = bool(gpus) and (torch.backends.cuda.matmul.allow_tf32 or torch.backends.cudnn.allow_tf32)
        deterministic = not gpus
    else:
        count = len(gpus) or 1
        tensorfloat32 = tensorflow.config.experimental.tensor_float_32_execution_enabled()
        deterministic = True  # the engine enables it
    return {
        "backend": backend.name(),
        "device": gpus[0] if gpus else backend.describe_host(),
        "devices": count,
        "driver": _driver_version() if gpus else "",
        "threads": threads(),
        "precision": precision,
        "tensorfloat32": bool(gpus) and bool(tensorfloat32),
        "deterministic": deterministic,
    }
