"""``offaxis doctor``: installed extras, backends and GPUs, and the cache folder."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

from benchmark_data import console

app = console.command_line("Show the installed extras, backends and GPUs.")

BACKENDS = {"tensorflow": ("tensorflow", "tensorflow-cpu"), "jax": ("jax",), "torch": ("torch",)}
"""Backend of Keras -> the packages that provide it."""

ON_GPU = {
    "tensorflow": "import tensorflow as tf\nat = tf.ones(1).device\nprint('on' if 'GPU' in at else 'not on', at)",
    "jax": "import jax\nprint('on', jax.device_put(1.0, jax.devices('gpu')[0]).devices())",
    "torch": "import torch\nprint('on', torch.ones(1, device='cuda').device, torch.cuda.get_device_name())",
}
"""Code that puts a tensor on a GPU, for each backend."""

GPU_DEVICE_FILE = Path("/dev/nvidia0")
"""Device files of the driver of a first GPU."""


@app.command()
def doctor() -> None:
    """Show which extras, backends and GPUs there are, and where the cache is. It changes nothing."""
    from benchmark_data.archives import store

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    gpus = on_gpus()
    rows = [
        ("offaxis", f"{version('offaxis')}, Python {platform.python_version()}, {platform.platform()}"),
        ("cores", cores),
        *((f"extra {extra}", _describe_extra(extra, missing, gpus)) for extra, missing in missing_of_extras().items()),
        *((f"backend {backend}", _describe_backend(backend)) for backend in BACKENDS),
        *((f"GPU, {backend}", gpu) for backend, gpu in gpus.items()),
        (f"cache ({store.CACHE})", store.root()),
    ]
    console.table(rows)


def on_gpus() -> dict[str, str]:
    """Put a tensor on the GPU with each backend, each in a new process; return {} on a machine without a GPU."""
    if not GPU_DEVICE_FILE.exists() and shutil.which("nvidia-smi") is None:
        return {}
    reports = {}
    for backend, program in ON_GPU.items():
        if any(map(version, BACKENDS[backend])):
            process = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=False)
            line = process.stdout.strip().rpartition("\n")[2]
            reports[backend] = line if line.startswith("on ") else "this backend cannot use it; see docs/gpu.md"
    return reports


def _describe_extra(extra: str, missing: list[str], gpus: dict[str, str]) -> str:
    if missing:
        cpu_build = "tensorflow-cpu" if missing == ["tensorflow"] and version("tensorflow-cpu") else ""
        first = f"pip uninstall {cpu_build}, which has the same files, then " if cpu_build else ""
        return f"lacks {', '.join(missing)}: {first}pip install 'offaxis[{extra}]'"
    backend = {"gpu": "jax", "tensorflow-gpu": "tensorflow"}.get(extra, "")
    unused = backend and not gpus.get(backend, "").startswith("on ")
    return f"installed, but {backend} cannot use the GPU" if unused else "ready"


def _describe_backend(name: str) -> str:
    status = next((f"{package} {version(package)}" for package in BACKENDS[name] if version(package)), "not installed")
    return status + ("; selected by KERAS_BACKEND" if os.environ.get("KERAS_BACKEND") == name else "")


def missing_of_extras() -> dict[str, list[str]]:
    """Return the missing packages of each extra, with those of the extras that it includes.

    Of packages that an extra requires on one platform or another, one must be installed.
    """
    extras: dict[str, list[str]] = {}
    for requirement in importlib.metadata.requires("offaxis") or []:
        extra = re.search(r"""extra == ['"]([\w-]+)['"]""", requirement)
        if extra and extra[1] not in ("all", "test"):
            extras.setdefault(extra[1], []).append(requirement)
    return {extra: list(dict.fromkeys(_list_missing(extra, extras))) for extra in sorted(extras)}


def _list_missing(extra: str, extras: dict[str, list[str]]) -> list[str]:
    missing: list[str] = []
    platform_packages: list[str] = []
    for requirement in extras[extra]:
        name, included, marker = re.match(r"([\w.-]+)(?:\[([\w,-]+)\])?[^;]*;?(.*)", requirement).groups()  # type: ignore[union-attr]
        if name == "offaxis":
            for included_extra in included.split(","):
                missing += _list_missing(included_extra, extras)
        elif "platform_" in marker:
            platform_packages.append(name)
        elif not version(name):
            missing.append(name)
    return missing + ([] if any(map(version, platform_packages)) else platform_packages[:1])


def version(package: str) -> str:
    """Return a package's version; empty if it is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""
