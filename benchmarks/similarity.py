"""How fast layers are compared, beside computing each pair by itself.

Two sets of 16 layers with the widths of the papers' convolutional model (table 3 of Bonheme and Grześ, 2022: the input
and 15 layers), random activations, 5,000 samples. Computing a pair by itself costs what its two Gram matrices cost, so
that pairs of a layer with its counterpart, one for each width, stand for all 256. What Procrustes costs depends on both
widths, so that one pair of each two widths stands for all of them. ``--all-pairs`` times every pair. The singular
values of a 32,768 x 32,768 product take hours; ``--shrink 8`` divides samples and widths by 8, which leaves all
proportions what they are.

    python benchmarks/similarity.py --samples 5000 --to similarity.csv
    python benchmarks/similarity.py --procrustes --samples 5000 --shrink 8 --to similarity.csv
"""

from __future__ import annotations

import argparse
import functools
import os
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import rich.console
from rounds import append

from leaderboard.comparisons import heatmap

COLUMNS = ("similarity", "samples", "contender", "wall_s", "processor_s", "peak_gib", "greatest_difference")


def widths(channels: int) -> list[int]:
    """Return the layers' widths: input, four convolutions, flatten, dense, mean, variance, sampled; and back."""
    picture = 64 * 64 * channels
    encoder = [picture, 32 * 32 * 32, 16 * 16 * 32, 8 * 8 * 64, 4 * 4 * 64, 1024, 256, 10, 10, 10]
    return [*encoder, 256, 1024, 8 * 8 * 64, 16 * 16 * 32, 32 * 32 * 32, picture]


def activations(sizes: list[int], n: int, seed: int) -> dict[str, np.ndarray]:
    """Make rectified layers of low rank with noise, float32; the first is the same for every seed."""
    hidden = np.random.default_rng(99).normal(size=(n, 40)).astype(np.float32)
    layers = {}
    for i, width in enumerate(sizes):
        rng = np.random.default_rng([seed if i else 0, i])
        layer = hidden @ rng.normal(size=(40, width)).astype(np.float32)
        layer += rng.standard_normal((n, width), np.float32)
        layers[f"{i} ({width})"] = np.maximum(layer, 0, out=layer)
    return layers


def direct_cka(x: np.ndarray, y: np.ndarray, dtype: type = np.float64) -> float:
    """Compute one pair by itself, in the cheaper of the formula's two forms."""
    x, y = (z.astype(dtype) - z.mean(axis=0, dtype=np.float64).astype(dtype) for z in (x, y))
    if max(x.shape[1], y.shape[1]) < len(x):
        inner, norms = np.square(x.T @ y).sum(), [np.linalg.norm(z.T @ z) for z in (x, y)]
    else:
        k, el = x @ x.T, y @ y.T
        inner, norms = (k * el).sum(), [np.linalg.norm(k), np.linalg.norm(el)]
    return float(inner / (norms[0] * norms[1]))


def _jax_cka() -> Callable[..., Any]:
    import jax
    import jax.numpy as jnp

    def cka(x: Any, y: Any) -> Any:
        x, y = x - x.mean(axis=0), y - y.mean(axis=0)
        times = functools.partial(jnp.matmul, precision="highest")
        if max(x.shape[1], y.shape[1]) < len(x):
            inner, norms = jnp.square(times(x.T, y)).sum(), [jnp.linalg.norm(times(z.T, z)) for z in (x, y)]
        else:
            k, el = times(x, x.T), times(y, y.T)
            inner, norms = (k * el).sum(), [jnp.linalg.norm(k), jnp.linalg.norm(el)]
        return inner / (norms[0] * norms[1])

    return jax.jit(cka)


def direct_procrustes(x: np.ndarray, y: np.ndarray, dtype: type = np.float64) -> float:
    """Compute one pair by itself, by the singular values of its p x q product."""
    x, y = (z.astype(dtype) - z.mean(axis=0, dtype=np.float64).astype(dtype) for z in (x, y))
    x, y = x / np.linalg.norm(x), y / np.linalg.norm(y)
    return float(np.linalg.svd(y.T @ x, compute_uv=False).sum())


def timed(run: Callable[[], Any]) -> tuple[Any, float, float]:
    """Return a result with its wall-clock and processor seconds."""
    begin, begin_processor = time.perf_counter(), time.process_time()
    result = run()
    return result, time.perf_counter() - begin, time.process_time() - begin_processor


def main() -> None:
    """Run the comparisons and print what they gave."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=5_000)
    parser.add_argument("--channels", type=int, default=1, help="1 as dSprites and SmallNORB, 3 as Cars3D")
    parser.add_argument("--memory", type=float, default=1.0, help="GiB of scratch space")
    parser.add_argument("--all-pairs", action="store_true", help="time each of the 256 pairs directly")
    parser.add_argument("--procrustes", action="store_true", help="Procrustes instead of CKA")
    parser.add_argument("--shrink", type=int, default=1, help="divide samples and widths by this")
    parser.add_argument("--to", type=Path, metavar="CSV", help="a record to which the figures are appended")
    options = parser.parse_args()
    out = rich.console.Console(width=120, highlight=False)
    out.print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start")
    samples = options.samples // options.shrink
    sizes = [max(1, size // options.shrink) for size in widths(options.channels)]
    x, y = (activations(sizes, samples, seed) for seed in (1, 2))
    total = sum(a.nbytes for a in (*x.values(), *y.values())) / 2**30
    out.print(f"{len(sizes)} x {len(sizes)} layers, {samples:,} samples, activations {total:.2f} GiB")
    similarity = "procrustes" if options.procrustes else "cka"
    compare = functools.partial(
        heatmap.compare_layers,
        x,
        y,
        similarity=similarity,
        memory=options.memory,
    )
    frame, wall, processor = timed(compare)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    out.print(f"all pairs at once: {wall:.1f} s, processor {processor:.1f} s, peak memory {peak:.2f} GiB")

    figures = [("all pairs at once", f"{wall:.4g}", f"{processor:.4g}", f"{peak:.2f}", "")]
    direct, dtypes = direct_cka, [np.float64, np.float32]
    if options.procrustes:
        direct, dtypes = direct_procrustes, [np.float64]
    pairs = timed_pairs(sizes, every=options.all_pairs, by_shape=options.procrustes)
    for dtype in dtypes:
        direct_wall = direct_processor = greatest = 0.0
        for (i, j), stands_for in pairs.items():
            a, b = list(x.values())[i], list(y.values())[j]
            value, w, p = timed(functools.partial(direct, a, b, dtype))
            direct_wall, direct_processor = direct_wall + w * stands_for, direct_processor + p * stands_for
            greatest = max(greatest, abs(value - frame.iloc[i, j]))
        out.print(
            f"each pair by itself in {dtype.__name__}: {direct_wall:.0f} s, processor {direct_processor:.0f} s"
            f" ({len(pairs)} pairs timed, standing for {len(sizes) ** 2}); greatest difference {greatest:.1e}; ratio"
            f" {direct_wall / wall:.1f} in wall-clock time, {direct_processor / processor:.1f} in processor time; load"
            f" {os.getloadavg()[0]:.1f}"
        )
        by_itself = f"each pair directly, {dtype.__name__}"
        figures.append((by_itself, f"{direct_wall:.4g}", f"{direct_processor:.4g}", "", f"{greatest:.1e}"))
    append(options.to, COLUMNS, ((similarity, samples, *line) for line in figures))


def timed_pairs(sizes: list[int], *, every: bool, by_shape: bool) -> dict[tuple[int, int], float]:
    """Choose the pairs of layers that are timed, and say for how many pairs each stands."""
    all_pairs = [(i, j) for i in range(len(sizes)) for j in range(len(sizes))]
    if every:
        return dict.fromkeys(all_pairs, 1)
    shapes: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    if not by_shape:  # half the sum over both layers, over all pairs, is the sum over layers times their number
        for i, size in enumerate(sizes):
            shapes.setdefault((size,), []).append((i, i))
        return {pairs[0]: len(pairs) * len(sizes) for pairs in shapes.values()}
    for i, j in all_pairs:
        shapes.setdefault(tuple(sorted((sizes[i], sizes[j]))), []).append((i, j))
    return {pairs[0]: len(pairs) for pairs in shapes.values()}


if __name__ == "__main__":
    main()
