"""Compare sprites2d with the 320 dSprites images of the animation in google-deepmind/dsprites-dataset.

    python benchmarks/fit_sprites2d.py dsprites.gif

Each frame has a known place in the grid, since the animation is a path on which one factor moves at a time: see `path`.
Also counts the white pixels of the whole grid, which dSprites' published mean gives to the pixel, and times rendering.
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np
import rich.console
import rich.table
from PIL import Image, ImageSequence

from benchmark_data.datasets.sprites2d import DATASET, SPACE, render
from benchmark_data.factors import Indices

DSPRITES_MEAN = 0.042494423521889584
"""Mean pixel in [0, 1] over dSprites, as published with disent (nmichlo/disent, `DSpritesData`)."""


def path() -> Indices:
    """Return the class ids of the animation's frames.

    The heart grows, shrinks, grows, turns, moves down, right, up and left, and shrinks; then the ellipse and the square
    grow, shrink, grow, turn and shrink. Every phase shows both its ends.
    """
    grow, turn, move = np.arange(6), np.arange(40), np.arange(32)
    square, ellipse, heart = range(3)
    phases = [(heart, scale, 0, 0, 0) for scale in (grow, grow[::-1], grow)]
    phases += [(heart, 5, turn, 0, 0), (heart, 5, 0, 0, move), (heart, 5, 0, move, 31)]
    phases += [(heart, 5, 0, 31, move[::-1]), (heart, 5, 0, move[::-1], 0), (heart, grow[::-1], 0, 0, 0)]
    for shape in (ellipse, square):
        phases += [(shape, scale, 0, 0, 0) for scale in (grow, grow[::-1], grow)]
        phases += [(shape, 5, turn, 0, 0), (shape, grow[::-1], 0, 0, 0)]
    return np.concatenate([np.stack(np.broadcast_arrays(*phase), axis=1) for phase in phases])


def main() -> None:
    """Print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("gif", help="dsprites.gif of the google-deepmind/dsprites-dataset repository")
    with Image.open(parser.parse_args().gif) as animation:
        real = np.stack([np.asarray(frame.convert("L")) for frame in ImageSequence.Iterator(animation)]) > 0
    labels = path()
    assert len(real) == len(labels), f"expected {len(labels)} frames, received {len(real)}"
    ours = render(labels)[..., 0] > 0

    out = rich.console.Console()
    table = rich.table.Table("shape", "frames", "different", "mean IoU", "lowest IoU", "equal in every pixel")
    overlap = (real & ours).sum((1, 2)) / (real | ours).sum((1, 2))
    for shape, name in enumerate(SPACE.factors[0].labels):
        chosen = labels[:, 0] == shape
        equal = (real == ours).all((1, 2))[chosen]
        table.add_row(
            name,
            str(chosen.sum()),
            str(len(np.unique(real[chosen], axis=0))),
            f"{overlap[chosen].mean():.4f}",
            f"{overlap[chosen].min():.4f}",
            f"{equal.sum()} = {equal.mean():.1%}",
        )
    out.print(table)

    white = sum(int(np.count_nonzero(images)) for _, images in DATASET.batches(size=1024))
    pixels = len(DATASET) * 64 * 64
    out.print(
        f"white pixels in the whole grid: {white:,}, dSprites {DSPRITES_MEAN * pixels:,.0f}; "
        f"white fraction {white / pixels:.9f}, dSprites {DSPRITES_MEAN:.9f}"
    )
    batches = [np.random.default_rng(seed).integers(0, SPACE.sizes, (256, len(SPACE.sizes))) for seed in range(41)]
    seconds = []
    for batch in batches:
        start = time.perf_counter()
        render(batch)
        seconds.append(time.perf_counter() - start)
    out.print(f"rendering, batches of 256, median of {len(batches)}: {256 / statistics.median(seconds):,.0f} images/s")


if __name__ == "__main__":
    main()
