"""Perceived distances of every rendered dataset, and the pictures of them that docs/datasets.md shows.

    python benchmarks/distances.py

It writes docs/distances.csv and docs/images/distances_*.png: minutes on two cores.
"""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd

import benchmark_data
from benchmark_data.errors import Unavailable
from benchmark_data.inspect import distances
from leaderboard import figures

DOCS = Path(__file__).parents[1] / "docs"
NAMES = ["xysquares", "xyobject", "dsprites", "dsprites_perturbed", "dsprites_noisy", "dsprites_spaced", "solids"]
NAMES += ["room3d", "room3d_perturbed", "room3d_noisy", "room3d_equal", "solids_dsprites"]
PAIRS, TRAVERSALS = 1_000, 20
SHOWN = ("xysquares", "dsprites", "room3d", "dsprites_spaced")


def measure(
    dataset: benchmark_data.Dataset,
) -> tuple[list[dict[str, object]], dict[str, distances.Matrices]]:
    """Return a row for each factor and one for random pairs, and the matrices of each factor of a full grid."""
    varying = [factor.name for factor in dataset.space.factors if factor.size > 1 and dataset.space.full]
    matrices = {factor: distances.matrices(dataset, factor, traversals=TRAVERSALS) for factor in varying}
    published_for, published = distances.published(dataset.id)
    rows = []
    for factor, distance in distances.pair_distances(dataset, pairs=PAIRS).items():
        agreement = distances.correlation(matrices[factor]) if factor in matrices else None
        rows.append(
            {
                "dataset": dataset.id,
                "version": dataset.version,
                "factor": factor,
                "mean_distance": distance.mean,
                "standard_error": distance.error,
                "pairs": distance.pairs,
                "published_for": published_for if factor in published else "",
                "published_distance": published.get(factor),
                "pearson": agreement and agreement.pearson,
                "spearman": agreement and agreement.spearman,
            }
        )
    return rows, matrices


def draw(by_config: dict[str, dict[str, distances.Matrices]], name: str) -> None:
    """Draw ground-truth distances to the left and those of each config beside them, a row per factor; light is far."""
    factors = list(next(iter(by_config.values())))
    figure, axes = figures.panels(len(factors), 1 + len(by_config), width=1.1, height=1.1)
    for line, factor in zip(axes, factors, strict=True):
        truth = next(iter(by_config.values()))[factor].ground_truth
        perceived = {config.rpartition("/")[2]: matrices[factor] for config, matrices in by_config.items()}
        for panel, matrix in zip(line, [truth, *(matrices.perceived for matrices in perceived.values())], strict=True):
            panel.imshow(matrix, vmin=0, interpolation="nearest")
            panel.set(xticks=[], yticks=[])
            panel.set_xlabel(f"max {matrix.max():.3g}", fontsize=6)
        for panel, matrices in zip(line[1:], perceived.values(), strict=True):
            pearson = distances.correlation(matrices).pearson
            panel.set_title("" if math.isnan(pearson) else f"r = {pearson:.2f}", fontsize=6)
        line[0].set_ylabel(factor, fontsize=7)
    for panel, title in zip(axes[0], ["ground truth", *perceived], strict=True):
        panel.set_title(f"{title}\n{panel.get_title()}", fontsize=7)
    figures.save(figure, DOCS / "images" / f"distances_{name}.png")


def main() -> None:
    """Measure all of them."""
    rows, matrices = [], {}
    for config in (config for name in NAMES for config in benchmark_data.configs(name)):
        try:
            new_rows, matrices[config] = measure(benchmark_data.load(config))
        except Unavailable as error:
            print(f"left out: {error}")
        else:
            rows += new_rows
    pd.DataFrame(rows).to_csv(DOCS / "distances.csv", index=False, lineterminator="\n")
    for name in SHOWN:
        draw({config: matrices[config] for config in matrices if config.partition("/")[0] == name}, name)


if __name__ == "__main__":
    main()
