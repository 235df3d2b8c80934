"""``offaxis doctor``: what this installation has, and where it keeps things."""

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

app = console.command_line("What is installed here.")

BACKENDS = {"tensorflow": ("tensorflow", "tensorflow-cpu"), "jax": ("jax",), "torch": ("torch",)}
"""What Keras may compute with -> the packages that have it."""

ON_GPU = {
    "tensorflow": "import tensorflow as tf\nat = tf.ones(1).device\nprint('on' if 'GPU' in at else 'not on', at)",
    "jax": "import jax\nprint('on', jax.device_put(1.0, jax.devices('gpu')[0]).devices())",
    "torch": "import torch\nprint('on', torch.ones(1, device='cuda').device, torch.cuda.get_device_name())",
}
"""What puts a tensor on a GPU, with each backend."""

NODE = Path("/dev/nvidia0")
"""What the driver of a first GPU leaves."""


@app.command()
def doctor() -> None:
    """Show which extras, backends and GPUs there are, and where the cache is. It changes nothing."""
    from benchmark_data.archives import store

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    gpus = on_gpus()
    rows = [
        ("offaxis", f"{version('offaxis')}, Python {platform.python_version()}, {platform.platform()}"),
        ("cores", cores),
        *((f"extra {extra}", _installed(extra, missing, gpus)) for extra, missing in missing_of_extras().items()),
        *((f"backend {backend}", _backend(backend)) for backend in BACKENDS),
        *((f"GPU, {backend}", gpu) for backend, gpu in gpus.items()),
        (f"cache ({store.CACHE})", store.root()),
    ]
    console.table(rows)


def on_gpus() -> dict[str, str]:
    """Put a tensor on the GPU with each backend, in a process of its own; nothing where the machine has no GPU."""
    if not NODE.exists() and shutil.which("nvidia-smi") is None:
        return {}
    found = {}
    for backend, program in ON_GPU.items():
        if any(map(version, BACKENDS[backend])):
            done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=False)
            last = done.stdout.strip().rpartition("\n")[2]
            found[backend] = last if last.startswith("on ") else "no tensor could be put on it; docs/gpu.md helps"
    return found


def _installed(extra: str, missing: list[str], gpus: dict[str, str]) -> str:
    if missing:
        return f"lacks {', '.join(missing)}: pip install 'offaxis[{extra}]'"
    needed = {"gpu": "jax", "tensorflow-gpu": "tensorflow"}.get(extra, "")
    unused = needed and not gpus.get(needed, "").startswith("on ")
    return f"installed, but {needed} put no tensor on a GPU" if unused else "ready"


def _backend(name: str) -> str:
    found = next((f"{package} {version(package)}" for package in BACKENDS[name] if version(package)), "not installed")
    return found + ("; KERAS_BACKEND chooses it" if os.environ.get("KERAS_BACKEND") == name else "")


def missing_of_extras() -> dict[str, list[str]]:
    """Return what is not installed of each extra of this package, the extras that it includes among them.

    Of packages that an extra takes from one platform or another, one must be there.
    """
    extras: dict[str, list[str]] = {}
    for requirement in importlib.metadata.requires("offaxis") or []:
        extra = re.search(r"""extra == ['"]([\w-]+)['"]""", requirement)
        if extra and extra[1] not in ("all", "test"):
            extras.setdefault(extra[1], []).append(requirement)
    return {extra: list(dict.fromkeys(_missing(extra, extras))) for extra in sorted(extras)}


def _missing(extra: str, extras: dict[str, list[str]]) -> list[str]:
    missing: list[str] = []
    of_platforms: list[str] = []
    for requirement in extras[extra]:
        name, included, marker = re.match(r"([\w.-]+)(?:\[([\w,-]+)\])?[^;]*;?(.*)", requirement).groups()  # type: ignore[union-attr]
        if name == "offaxis":
            for other in included.split(","):
                missing += _missing(other, extras)
        elif "platform_" in marker:
            of_platforms.append(name)
        elif not version(name):
            missing.append(name)
    return missing + ([] if any(map(version, of_platforms)) else of_platforms[:1])


def version(package: str) -> str:
    """Return a package's version; empty where it is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""
