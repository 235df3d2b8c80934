"""One model, many models together, and a plain PyTorch loop, on one GPU: images/s, FLOP/s, memory, hours of a study.

    python benchmarks/gpu_training.py                           # on a GPU, at most eight minutes
    python benchmarks/gpu_training.py --torch /path/to/python   # where another Python has torch
    JAX_PLATFORMS=cpu python benchmarks/gpu_training.py --quick # to see that it runs

It needs jax, Keras and this package; TensorFlow is never imported. Every contender trains the papers' convolutional
β-VAE on XYSquares, batch 64, in a process of its own, one after another, so that each has the whole memory; what came
out is written to ``--results`` at once. Called again, it goes on where it was cut off, by ``--limit`` or otherwise.
``one`` and ``together`` are what ``baselines.train`` and ``baselines.train_together`` do between two lines of the
history: rows and noise drawn on the host in a thread, images fetched from the pixels on the device. ``torch`` is
``baselines.train`` on PyTorch, and ``pytorch`` the usual eager loop: the same layers, loss and Adam, with a batch that
is on the device already. FLOP are counted from the layers: two for each multiplication of weights, thrice for a
training step (forward, and the gradients of inputs and of weights), less the gradient of the first layer's input. The
peak that shares refer to is the best rate of square products, in float32 at the precision that jax uses for the
training, and in bfloat16. Give ``--results`` another name on another machine.
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
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

BATCH = 64
COLUMNS = (
    *("models", "precision", "images/s", "per model", "x PyTorch", "TFLOP/s", "of peak", "memory GB", "compile s"),
    "study hours",
)
STUDY = 300 * 300_000 * BATCH
"""Images that the papers' 300 runs of 300,000 steps see."""


def ours(models: int, precision: str, seconds: float, settings: dict[str, Any]) -> dict[str, Any]:
    """Train models together for some seconds, three times; give the rates, memory, FLOP and the host's share."""
    import benchmark_data
    from baselines import RunConfig, engines
    from baselines.engines import devices, pixels
    from baselines.model import Model
    from baselines.nets import backend
    from baselines.training.batches import batches

    configs = [
        RunConfig(
            dataset="xysquares/spacing_8",
            objective="beta_vae",
            hyperparameters={"beta": float(2 ** (i % 5))},
            seed=i // 5,
            batch_size=BATCH,
            precision=precision,
            **settings,
        )
        for i in range(models)
    ]
    data = benchmark_data.load(configs[0].dataset)
    started = time.perf_counter()
    on_jax, on_gpu = backend.name() == "jax", bool(devices.usable_gpus())
    placed = pixels.place(data, drawn=len(data)) if on_jax else None
    filled = time.perf_counter() - started
    all_models = [Model(config, data.image_shape, precision=precision) for config in configs]
    engine = engines.start(*all_models, pixels=placed)
    rates = []
    with batches(configs, data, [0] * models, images=placed is None) as feed:
        started = time.perf_counter()
        backend.to_numpy(engine.step(*next(feed))["loss"])
        compiled = time.perf_counter() - started
        for _ in range(3):
            steps, started = 0, time.perf_counter()
            while time.perf_counter() - started < seconds / 3 or steps < 2:
                for _ in range(5 if seconds > 5 else 1):
                    history = engine.step(*next(feed))
                    steps += 1
                backend.to_numpy(history["loss"])
            rates.append(steps * models * BATCH / (time.perf_counter() - started))
    with batches(configs, data, [0] * models, images=placed is None) as feed:
        drawn, started = 0, time.perf_counter()
        while time.perf_counter() - started < min(seconds, 3):
            next(feed)
            drawn += 1
        host = drawn * models * BATCH / (time.perf_counter() - started)
    if on_jax:
        peak = (backend.jax.devices()[0].memory_stats() or {}).get("peak_bytes_in_use")
    else:
        peak = backend.torch.cuda.max_memory_allocated() if on_gpu else None
    return {
        "rate": statistics.median(rates),
        "peak": peak,
        "device": devices.describe_device(),
        "flop": flop(all_models[0]),
        "pixels": "on the host" if placed is None else f"{placed.nbytes / 1e9:.2f} GB in {filled:.0f} s",
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

    best = {"float32": 0.0, "bfloat16": 0.0}
    for name, kind in zip(best, (jnp.float32, jnp.bfloat16), strict=True):
        for side in (8192, 4096, 2048) if jax.devices()[0].platform != "cpu" else (1024, 512):
            a = jnp.ones((side, side), kind)
            product = jax.jit(lambda x: x @ x)
            product(a).block_until_ready()
            started = time.perf_counter()
            while time.perf_counter() - started < seconds / 6:
                began = time.perf_counter()
                product(a).block_until_ready()
                best[name] = max(best[name], 2 * side**3 / (time.perf_counter() - began))
    return best


def pytorch(seconds: float) -> dict[str, Any]:
    """Train one model with a plain PyTorch loop."""
    import torch
    from training import torch_model

    device = "cuda" if torch.cuda.is_available() else "cpu"
    steps, rates = torch_model(device), []
    steps(3)
    for _ in range(3):
        count, started = 0, time.perf_counter()
        while time.perf_counter() - started < seconds / 3 or count < 2:
            steps(20 if seconds > 5 else 1)
            count += 20 if seconds > 5 else 1
        rates.append(count * BATCH / (time.perf_counter() - started))
    peak = torch.cuda.max_memory_allocated() if device == "cuda" else None
    name = torch.cuda.get_device_name() if device == "cuda" else "cpu"
    return {"rate": statistics.median(rates), "peak": peak, "device": f"{name} (torch {torch.__version__})"}


def call(python: str, limit: float, *arguments: str) -> dict[str, Any] | None:
    """Measure one contender in a process of its own; None if it cannot run, or not in so many seconds."""
    contender = " ".join(arguments[arguments.index("--contender") + 1 :])
    try:
        done = subprocess.run(
            [python, __file__, *arguments], capture_output=True, text=True, check=False, timeout=max(limit, 1)
        )
    except subprocess.TimeoutExpired:
        print(f"{contender}: cut off", file=sys.stderr)
        return None
    if done.returncode:
        reason = done.stderr.strip().rpartition("\n")[2]
        print(f"{contender}: left out, {reason}", file=sys.stderr)
        return None
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def contenders(models: Sequence[int], precisions: Sequence[str]) -> list[str]:
    """List what is measured, what says most first."""
    ordered = sorted(models, key=lambda n: (n != 25, n))
    return [
        "matmul 0 -",
        *(f"ours {n} {precision}" for n in ordered[:1] for precision in precisions),
        "pytorch 1 float32",
        *(f"torch 1 {precision}" for precision in precisions),
        *(f"ours {n} {precision}" for precision in precisions for n in ordered[1:]),
    ]


def table(results: dict[str, Any]) -> Iterator[str]:
    """Write a table in Markdown: a line for each contender."""
    ours_ = {tuple(key.split()[1:]): row for key, row in results.items() if key.startswith("ours")}
    plain, rates = results.get("pytorch 1 float32"), results.get("matmul 0 -", {})
    first = next(iter(ours_.values()))
    yield f"{first['device']}; {first['flop'] / 1e9:.3f} GFLOP per image and training step; pixels {first['pixels']}."
    yield "Square products: " + ", ".join(f"{rate / 1e12:.3g} TFLOP/s in {name}" for name, rate in rates.items()) + "."
    yield ""
    yield f"| {' | '.join(COLUMNS)} |"
    yield "| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    rows = {(int(n), precision): row for (n, precision), row in ours_.items()}
    for (n, precision), row in sorted(rows.items(), key=lambda item: (item[0][1] != "float32", item[0][0])):
        yield _row(str(n), n, precision, row, row["flop"], plain, rates)
    for precision in ("float32", "bfloat16"):
        if row := results.get(f"torch 1 {precision}"):
            yield _row("1, on PyTorch", 1, precision, row, row["flop"], plain, rates)
    if plain:
        yield _row("1, plain PyTorch", 1, "float32", plain, first["flop"], plain, rates)


def _row(
    name: str, n: int, precision: str, row: dict[str, Any], flop: float, plain: Any, rates: dict[str, float]
) -> str:
    times = f"{row['rate'] / plain['rate']:.2f}" if plain else ""
    flops = row["rate"] * flop
    share = f"{flops / rates[precision]:.1%}" if rates.get(precision) else ""
    memory = f"{row['peak'] / 1e9:.2f}" if row["peak"] else ""
    compiled = f"{row['compiled']:.0f}" if "compiled" in row else ""
    cells = [name, precision, f"{row['rate']:,.0f}", f"{row['rate'] / n:,.0f}", times, f"{flops / 1e12:.3g}", share]
    return "| " + " | ".join([*cells, memory, compiled, f"{STUDY / row['rate'] / 3600:,.1f}"]) + " |"


def main() -> None:
    """Measure what was not measured before, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=int, nargs="*", default=[1, 5, 25, 100], help="how many to train together")
    parser.add_argument("--precisions", nargs="*", default=["float32", "bfloat16"])
    parser.add_argument("--seconds", type=float, default=10.0, help="seconds for each contender, without compilation")
    parser.add_argument("--limit", type=float, default=450.0, help="seconds for all")
    parser.add_argument("--results", metavar="FILE", default="gpu_training.json", help="what was measured so far")
    parser.add_argument("--torch", metavar="PYTHON", default=sys.executable, help="a Python with torch")
    parser.add_argument("--quick", action="store_true", help="tiny networks and a second for each, to see that it runs")
    parser.add_argument("--contender", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    on_torch = options.contender and options.contender[0] == "torch"
    os.environ["KERAS_BACKEND"] = "torch" if on_torch else "jax"
    settings: dict[str, Any] = {}
    if options.quick:
        options.seconds = min(options.seconds, 1.0)
        settings = {"architecture": "fc", "architecture_parameters": {"width": 16}}
    if options.contender:
        kind, models, precision = options.contender
        measure = {"matmul": matmul, "pytorch": pytorch}.get(kind)
        row = measure(options.seconds) if measure else ours(int(models), precision, options.seconds, settings)
        print(json.dumps(row))
        return
    started = time.monotonic()
    path = Path(options.results)
    record: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else {"quick": options.quick}
    if record["quick"] != options.quick:
        sys.exit(f"{path} was measured {'with' if record['quick'] else 'without'} --quick: give --results another name")
    common = ["--seconds", str(options.seconds), *(["--quick"] if options.quick else [])]
    todo = [name for name in contenders(options.models, options.precisions) if name not in record]
    for contender in todo:
        left = options.limit - (time.monotonic() - started)
        if left <= 0:
            print(f"{contender}: no time left", file=sys.stderr)
            continue
        python = options.torch if contender.startswith(("pytorch", "torch")) else sys.executable
        row = call(python, left, *common, "--contender", *contender.split())
        if row:
            record[contender] = row
            temporary = path.with_name(f"{path.name}.part")
            temporary.write_text(json.dumps(record, indent=2) + "\n", "utf-8")
            temporary.replace(path)
    measured = [row for key, row in record.items() if key.startswith("ours")]
    if not measured:
        sys.exit("no training was measured")
    assert not any(row["tensorflow"] for row in measured), "TensorFlow was loaded"
    print("\n".join(table(record)))
    print("\nstudy hours: the papers' 300 runs of 300,000 steps at this rate, on one such device")
    trained = {key.removeprefix("ours "): row for key, row in record.items() if key.startswith("ours")}
    hosts = ", ".join(f"{key} {row['host']:,.0f}" for key, row in trained.items())
    print(f"images/s that the host draws: {hosts}")
    if missing := [name for name in contenders(options.models, options.precisions) if name not in record]:
        print(f"not measured: {', '.join(missing)}. Call again to go on.")
    if options.quick:
        print("--quick: tiny networks; PyTorch's are not, and none of these figures means anything")


if __name__ == "__main__":
    main()
