"""One model, many models together, and a plain PyTorch loop, on one device: images/s, FLOP/s, memory, hours of a study.

    python benchmarks/gpu_training.py                           # on a GPU, about five minutes
    python benchmarks/gpu_training.py --torch /path/to/python   # where another Python has torch
    JAX_PLATFORMS=cpu python benchmarks/gpu_training.py --quick # to see that it runs

It needs jax, Keras and this package; TensorFlow is never imported. Every contender trains the papers' convolutional
β-VAE on XYSquares, batch 64, in a process of its own, one after another, so that each has the whole memory. ``one`` and
``together`` are what ``baselines.train`` and ``baselines.train_together`` do between two lines of the history: rows and
noise drawn on the host in a thread, images fetched from the pixels on the device. ``pytorch`` is the usual eager loop:
the same layers, loss and Adam, with a batch that is on the device already. FLOP are counted from the layers: two for
each multiplication of weights, thrice for a training step (forward, and the gradients of inputs and of weights), less
the gradient of the first layer's input. The matmul rate is the best of square products of float32 matrices, at the
precision that jax uses for the training.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import time
from typing import Any

BATCH = 64
STUDY = 300 * 300_000 * BATCH
"""Images that the papers' 300 runs of 300,000 steps see."""


def ours(models: int, seconds: float, settings: dict[str, Any]) -> dict[str, Any]:
    """Train models together for some seconds, three times; give the rates, memory, FLOP and the host's share."""
    import jax
    import numpy as np

    import benchmark_data
    from baselines import RunConfig
    from baselines.model import Model
    from baselines.nets import backend
    from baselines.training import device_images, engines
    from baselines.training.loop import batches

    configs = [
        RunConfig(
            dataset="xysquares/spacing_8",
            objective="beta_vae",
            hyperparameters={"beta": float(2 ** (i % 5))},
            seed=i // 5,
            batch_size=BATCH,
            **settings,
        )
        for i in range(models)
    ]
    data = benchmark_data.load(configs[0].dataset)
    started = time.perf_counter()
    on_gpu = jax.devices()[0].platform != "cpu"
    held = device_images.place(data, limit=None if on_gpu else 0, drawn=len(data))
    filled = time.perf_counter() - started
    all_models = [Model(config, data.image_shape) for config in configs]
    engine = engines.start(*all_models, pixels=held)
    rates = []
    with batches(configs, data, [0] * models, images=held is None) as feed:
        started = time.perf_counter()
        np.asarray(engine.step(*next(feed))["loss"])
        compiled = time.perf_counter() - started
        for _ in range(3):
            steps, started = 0, time.perf_counter()
            while time.perf_counter() - started < seconds / 3 or steps < 2:
                for _ in range(5 if seconds > 5 else 1):
                    history = engine.step(*next(feed))
                    steps += 1
                np.asarray(history["loss"])
            rates.append(steps * models * BATCH / (time.perf_counter() - started))
    with batches(configs, data, [0] * models, images=held is None) as feed:
        drawn, started = 0, time.perf_counter()
        while time.perf_counter() - started < min(seconds, 3):
            next(feed)
            drawn += 1
        host = drawn * models * BATCH / (time.perf_counter() - started)
    memory = jax.devices()[0].memory_stats() or {}
    return {
        "rate": statistics.median(rates),
        "peak": memory.get("peak_bytes_in_use"),
        "device": backend.device(),
        "flop": flop(all_models[0]),
        "pixels": f"{held.held.nbytes / 1e9:.2f} GB in {filled:.0f} s" if held else "on the host",
        "compiled": compiled,
        "host": host,
        "tensorflow": "tensorflow" in sys.modules,
    }


def flop(model: Any) -> float:
    """Count the operations of a training step for one image, from the layers that hold a kernel."""
    total, first = 0.0, True
    for network in (model.encoder, model.decoder):
        for layer in network.layers:
            if not hasattr(layer, "kernel"):
                continue
            output, inputs, size = layer.output.shape[1:], layer.input.shape[1:], math.prod(layer.kernel.shape)
            places = math.prod((inputs if "Transpose" in type(layer).__name__ else output)[:-1])
            total += 2 * size * places * (2 if first else 3)
            first = False
    return total


def matmul(seconds: float) -> dict[str, Any]:
    """Measure the rate of square products, in FLOP/s."""
    import jax
    import jax.numpy as jnp

    best = {"float32 at jax's default precision": 0.0, "bfloat16": 0.0}
    for name, kind in zip(best, (jnp.float32, jnp.bfloat16), strict=True):
        for side in (8192, 4096, 2048) if jax.devices()[0].platform != "cpu" else (1024, 512):
            a = jnp.ones((side, side), kind)
            product = jax.jit(lambda x: x @ x)
            product(a).block_until_ready()
            started = time.perf_counter()
            while time.perf_counter() - started < seconds / 6:
                once = time.perf_counter()
                product(a).block_until_ready()
                best[name] = max(best[name], 2 * side**3 / (time.perf_counter() - once))
    return best


def pytorch(seconds: float) -> dict[str, Any]:
    """Train one model with a plain PyTorch loop."""
    import torch
    from training import torch_model

    device = "cuda" if torch.cuda.is_available() else "cpu"
    steps, rates = torch_model(device), []
    steps(3)
    for _ in range(3):
        taken, started = 0, time.perf_counter()
        while time.perf_counter() - started < seconds / 3 or taken < 2:
            steps(20 if seconds > 5 else 1)
            taken += 20 if seconds > 5 else 1
        rates.append(taken * BATCH / (time.perf_counter() - started))
    peak = torch.cuda.max_memory_allocated() if device == "cuda" else None
    name = torch.cuda.get_device_name() if device == "cuda" else "cpu"
    return {"rate": statistics.median(rates), "peak": peak, "device": f"{name} (torch {torch.__version__})"}


def call(python: str, *arguments: str) -> dict[str, Any] | None:
    """Measure one contender in a process of its own; None if it cannot run."""
    done = subprocess.run([python, __file__, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        why = done.stderr.strip().rpartition("\n")[2]
        print(f"{' '.join(arguments[arguments.index('--contender') + 1 :])}: left out, {why}", file=sys.stderr)
        return None
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=int, nargs="*", default=[1, 5, 25], help="how many to train together")
    parser.add_argument("--seconds", type=float, default=20.0, help="seconds for each contender, without compilation")
    parser.add_argument("--torch", metavar="PYTHON", default=sys.executable, help="a Python with torch")
    parser.add_argument("--quick", action="store_true", help="tiny networks and a second for each, to see that it runs")
    parser.add_argument("--contender", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    os.environ.setdefault("KERAS_BACKEND", "jax")
    settings: dict[str, Any] = {}
    if options.quick:
        options.seconds = min(options.seconds, 1.0)
        settings = {"architecture": "fc", "architecture_parameters": {"width": 16}}
    if options.contender:
        kind, models = options.contender
        measure = {"matmul": matmul, "pytorch": pytorch}.get(kind)
        found = measure(options.seconds) if measure else ours(int(models), options.seconds, settings)
        print(json.dumps(found))
        return
    same = ["--seconds", str(options.seconds), *(["--quick"] if options.quick else [])]
    rates = call(sys.executable, *same, "--contender", "matmul", "0") or {}
    together = {n: call(sys.executable, *same, "--contender", "ours", str(n)) for n in options.models}
    plain = call(options.torch, *same, "--contender", "pytorch", "1")
    found = {n: row for n, row in together.items() if row}
    if not found:
        sys.exit("nothing could be measured")
    first = next(iter(found.values()))
    peak = next(iter(rates.values()), math.nan)
    assert not any(row["tensorflow"] for row in found.values()), "TensorFlow was loaded"
    print(f"{first['device']}; {first['flop'] / 1e9:.3f} GFLOP per image and training step; pixels {first['pixels']}")
    for name, rate in rates.items():
        print(f"matmul {name}: {rate / 1e12:.3g} TFLOP/s")
    print(f"{'':14}{'images/s':>10}{'per model':>11}{'x pytorch':>11}{'TFLOP/s':>9}{'of matmul':>11}", end="")
    print(f"{'peak GB':>9}{'compile s':>11}{'drawn/s':>10}{'study hours':>13}")
    rows = {f"{n} together" if n > 1 else "one": (n, row) for n, row in found.items()}
    if plain:
        rows["pytorch, one"] = (1, {**plain, "flop": first["flop"]})
    for name, (n, row) in rows.items():
        times = f"{row['rate'] / plain['rate']:.2f}" if plain else "-"
        flops = row["rate"] * row["flop"]
        memory = f"{row['peak'] / 1e9:.2f}" if row["peak"] else "-"
        compiled = f"{row['compiled']:.0f}" if "compiled" in row else "-"
        host = f"{row['host']:,.0f}" if "host" in row else "-"
        print(f"{name:14}{row['rate']:10,.0f}{row['rate'] / n:11,.0f}{times:>11}{flops / 1e12:9.3g}", end="")
        print(f"{flops / peak:11.1%}{memory:>9}{compiled:>11}{host:>10}{STUDY / row['rate'] / 3600:13,.1f}")
    print("study hours: the papers' 300 runs of 300,000 steps at this rate, on one such device")
    if options.quick:
        print("--quick: tiny networks; PyTorch's are not, and none of these figures means anything")


if __name__ == "__main__":
    main()
