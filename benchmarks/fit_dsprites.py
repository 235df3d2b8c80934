"""Compare `dsprites` with real images of dSprites, and with the number of white pixels of all of them.

    python benchmarks/fit_dsprites.py dsprites_64834.npz

The file holds `rows`, row numbers of dSprites, and `images`, uint8 (n, 512), the 64 x 64 bits of each image. dSprites'
published mean gives the number of white pixels in the whole set exactly. Also times rendering.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path

import numpy as np
import rich.console
import rich.table

from benchmark_data.datasets import dsprites

MEAN = 0.042494423521889584
"""Mean pixel in [0, 1] over dSprites, as published with disent (nmichlo/disent, `DSpritesData`)."""


def main() -> None:
    """Print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("real", type=Path, help="an npz file with rows and images")
    real = np.load(parser.parse_args().real)
    shapes = dsprites.SPACE.labels(real["rows"])[:, 0]
    table = rich.table.Table("shape", "images", "that differ", "pixels that differ", "white pixels", "images/s")
    dataset = dsprites.DATASET
    packed = [np.packbits(images > 0, axis=None) for _, images in dataset.batches(real["rows"], batch_size=1024)]
    wrong = np.bitwise_count(np.concatenate(packed).reshape(-1, 512) ^ real["images"]).sum(axis=1)
    white = sum(int(np.count_nonzero(images)) for _, images in dataset.batches(batch_size=1024))
    rates = []
    for seed in range(41):
        labels = np.random.default_rng(seed).integers(0, dataset.space.sizes, (256, 5))
        start = time.perf_counter()
        dsprites.render(labels)
        rates.append(256 / (time.perf_counter() - start))
    for shape, name in enumerate(dataset.space.factors[0].labels):
        selected = wrong[shapes == shape]
        table.add_row(name, f"{len(selected):,}", str(np.count_nonzero(selected)), str(selected.sum()))
    counts = (f"{len(wrong):,}", str(np.count_nonzero(wrong)), str(wrong.sum()))
    table.add_row("all", *counts, f"{white:,}", f"{statistics.median(rates):,.0f}")
    table.caption = f"dSprites has {MEAN * 737_280 * 64 * 64:,.0f} white pixels"
    rich.console.Console().print(table)


if __name__ == "__main__":
    main()
