"""How close to the processor's limits is a training step? Every layer, forward and backward, beside them.

    OMP_NUM_THREADS=1 TF_NUM_INTRAOP_THREADS=1 python benchmarks/roofline.py --architecture conv --batch 64

The limits are measured by the same library: the best rate of square float32 products of matrices, and the rate at which
a large array is copied (a byte read and a byte written count as two). A layer is a graph of its own that runs on its
true shapes, forward, and forward and backward, whose difference is the backward pass. Its operations are counted from
the shapes: two for each multiplication and addition, twice as many in the backward pass, since a gradient goes to the
inputs and to the weights (only to the weights in the first layer). Its bytes are its inputs, weights and outputs, once
each. The roofline is the shorter time that the limits allow, and the share is that over the time it took, both in
processor seconds, which other work on the machine changes least. The time of a call of an empty graph is taken off, for
a step is one call; what is shorter than that cannot be told.
"""

from __future__ import annotations

import argparse
import functools
import math
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

SHORT = 1e-4
"""Seconds below which a layer cannot be told from a call."""


def seconds(work: Callable[[], object], least: float) -> float:
    """Return the processor seconds of a call: the median of five groups of calls, ``least`` seconds in all."""
    work()
    began = time.process_time()
    work()
    calls = max(1, math.ceil(least / 5 / max(time.process_time() - began, 1e-6)))
    times = []
    for _ in range(5):
        began = time.process_time()
        for _ in range(calls):
            work()
        times.append((time.process_time() - began) / calls)
    return statistics.median(times)


def limits(least: float) -> tuple[float, float]:
    """Measure the limits: float32 operations and bytes per processor second."""
    from baselines.nets.backend import tensorflow

    n = 2048
    rng = np.random.default_rng(0)
    a, b = (tensorflow.constant(rng.normal(size=(n, n)).astype(np.float32)) for _ in range(2))
    product = tensorflow.function(tensorflow.matmul).get_concrete_function(a, b)
    big = tensorflow.constant(rng.normal(size=2**25).astype(np.float32))
    copy = tensorflow.function(lambda x: x + 1.0).get_concrete_function(big)
    return 2 * n**3 / seconds(lambda: product(a, b), least), 2 * 2**27 / seconds(lambda: copy(big), least)


def operations(layer: Any, shape_in: tuple[int, ...], shape_out: tuple[int, ...]) -> int:
    """Count the multiplications and additions of a layer's forward pass, from its shapes.

    Args:
        layer: a Keras layer.
        shape_in: shape of its input, with the batch.
        shape_out: shape of its output.

    Returns:
        How many; 0 for a layer without products.
    """
    kernels = [tuple(v.shape) for v in layer.trainable_variables if len(v.shape) > 1]
    if not kernels:
        return 0
    (kernel,) = kernels
    if len(kernel) == 2:
        return 2 * shape_in[0] * math.prod(kernel)
    transposed = math.prod(shape_out[1:3]) > math.prod(shape_in[1:3])
    places = shape_in if transposed else shape_out
    return 2 * math.prod(places[:3]) * math.prod(kernel)


def layers(architecture: str, batch: int) -> list[tuple[str, Any, tuple[int, ...]]]:
    """Build both networks; list their layers with products: name, layer, shape of the input."""
    from baselines.nets import architectures

    networks = getattr(architectures, architecture)((64, 64, 3), 10, np.random.default_rng(0))
    entries = []
    for network in networks:
        for layer in network.layers:
            if any(len(v.shape) > 1 for v in layer.trainable_variables):
                entries.append((layer.name, layer, (batch, *layer.input.shape[1:])))
    return entries


def measure(layer: Any, shape_in: tuple[int, ...], first: bool, least: float) -> tuple[float, float, tuple[int, ...]]:
    """Return the processor seconds of a layer's forward and backward pass, and the shape of its output."""
    from baselines.nets.backend import tensorflow

    x = tensorflow.constant(np.random.default_rng(0).normal(size=shape_in).astype(np.float32))
    weights = [v.value for v in layer.trainable_variables]
    shape_out = tuple(layer(x).shape)
    error = tensorflow.constant(np.random.default_rng(1).normal(size=shape_out).astype(np.float32))

    def both(array: Any) -> Any:
        with tensorflow.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(weights if first else [array, *weights])
            out = layer(array)
        return out, tape.gradient(out, weights if first else [array, *weights], output_gradients=error)

    graphs = ((tensorflow.shape, tensorflow.constant(0.0)), (layer, x), (both, x))
    compiled = ((tensorflow.function(graph, autograph=False).get_concrete_function(arg), arg) for graph, arg in graphs)
    empty, forward, total = (seconds(functools.partial(graph, arg), least) for graph, arg in compiled)
    return forward - empty, total - forward, shape_out


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--architecture", default="conv")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--least", type=float, default=0.5, help="processor seconds of each measurement")
    options = parser.parse_args()
    rate, bandwidth = limits(2 * options.least)
    print(f"float32 products {rate / 1e9:.0f} GFLOP/s, copies {bandwidth / 1e9:.1f} GB/s, per processor second;")
    print(f"{options.architecture}, batch {options.batch}, load {os.getloadavg()[0]:.1f}")
    print(f"{'':22}{'MFLOP':>9}{'per byte':>8}{'ms':>9}{'GFLOP/s':>9}{'of rate':>9}{'of roof':>9}")
    total = np.zeros(3)
    for index, (name, layer, shape_in) in enumerate(layers(options.architecture, options.batch)):
        forward, backward, shape_out = measure(layer, shape_in, index == 0, options.least)
        work = operations(layer, shape_in, shape_out)
        sizes = [math.prod(shape_in), math.prod(shape_out), sum(math.prod(v.shape) for v in layer.trainable_variables)]
        moved = 4 * sum(sizes)
        passes = (
            ("forward", forward, work, moved),
            ("backward", backward, work * (1 if index == 0 else 2), moved + 4 * sum(sizes[:: 2 if index else 3])),
        )
        for direction, took, flop, byte in passes:
            roof = max(flop / rate, byte / bandwidth)
            total += (max(took, 0.0), flop / rate, roof)
            print(f"{f'{name} {direction}':22}{flop / 1e6:9.1f}{flop / byte:8.0f}", end="")
            if took < SHORT:
                print("  too short to tell", flush=True)
                continue
            print(f"{1e3 * took:9.2f}{flop / took / 1e9:9.0f}{flop / rate / took:9.0%}{roof / took:9.0%}", flush=True)
    print(f"all layers: {1e3 * total[0]:.1f} ms, {total[1] / total[0]:.0%} of the rate, ", end="")
    print(f"{total[2] / total[0]:.0%} of the roof")


if __name__ == "__main__":
    main()
