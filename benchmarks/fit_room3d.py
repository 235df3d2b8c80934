"""How closely room3d resembles Shapes3D: against real scenes, and against the published pair distances.

Run: python benchmarks/fit_room3d.py SAMPLE.gif [--sheet comparison.png], or python benchmarks/fit_room3d.py IMAGES.npy

SAMPLE.gif is the animation in the README of github.com/google-deepmind/3d-shapes (commit de26b40): 53 scenes, each
enlarged 3.5 times with a palette. The scenes are brought back to 64 x 64 by averaging each pixel's copies. Which
factors they show was read off by eye and stands in `SCENES`.

IMAGES.npy holds real images, uint8 (n, 64, 64, 3), whose labels are not known. What is printed of them is the table of
room3d in docs/datasets.md.

Regions are told apart by colour, in the real and in the rendered scene alike: a pixel belongs to the floor, the wall or
the object whose hue, at some brightness, comes nearest to it, or to the sky. Scenes whose object has the hue of its
floor or wall cannot be told apart this way and count neither for the silhouette nor for a region.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from rich.console import Console
from rich.table import Table

import benchmark_data
from benchmark_data.datasets import room3d
from benchmark_data.inspect.distances import pair_distances
from benchmark_data.inspect.published import PUBLISHED

DATASET = benchmark_data.load("room3d")
ENLARGED, LEFT, TOP = 3.5, 1.5, 0.5
REGIONS = ("floor", "wall", "object", "sky")

SCENES = np.array(
    [(0, 6, 3, 0, 0, orientation) for orientation in range(15)]
    + [(0, 6, 3, 0, shape, 14) for shape in (1, 2, 3)]
    + [(0, 6, 3, scale, 3, 14) for scale in range(1, 8)]
    + [(0, 6, hue, 7, 3, 14) for hue in (4, 5, 6, 7, 8, 9, 0, 1, 2)]
    + [(0, hue, 2, 7, 3, 14) for hue in (7, 8, 9, 0, 1, 5)]
    + [(hue, 5, 2, 7, 3, 14) for hue in (1, 2, 3)]
    + [(0, hue, 2, 7, 3, 14) for hue in (2, 3, 4, 5)]
    + [(hue, 5, 2, 7, 3, 14) for hue in range(4, 10)]
)
"""Class ids of the scenes, in the order of the animation, shape (53, 6)."""


def real_scenes(path: Path) -> NDArray[np.float64]:
    """Read the animation: float64 in [0, 255], shape (53, 64, 64, 3)."""
    scenes = []
    with Image.open(path) as animation:
        for frame in range(animation.n_frames):
            animation.seek(frame)
            enlarged = np.asarray(animation.convert("RGB"), np.float64)
            rows, columns = (_weights(size, first) for size, first in zip(enlarged.shape, (TOP, LEFT), strict=False))
            scenes.append(np.einsum("ay,yxc,bx->abc", rows, enlarged, columns, optimize=True))
    return np.stack(scenes)


def _weights(size: int, first: float) -> NDArray[np.float64]:
    """Weights that average the copies of each of 64 pixels; the frame's border, 2 wide, is left out."""
    pixels = np.arange(size)
    belongs = np.floor((pixels + 0.5 - first) / ENLARGED) == np.arange(64)[:, None]
    belongs &= (pixels > 2) & (pixels < 224)
    return belongs / belongs.sum(1, keepdims=True)


def regions(image: NDArray[np.float64], hues: NDArray[np.int64]) -> NDArray[np.int64]:
    """Separate the regions apart: the index in `REGIONS` of each pixel, shape (64, 64)."""
    misfits = [_misfit(image, hue, region) for region, hue in zip(REGIONS, hues, strict=False)]
    return np.argmin([*misfits, np.abs(image - room3d.SKY).sum(-1)], axis=0)


def _misfit(image: NDArray[np.float64], hue: int, region: str) -> NDArray[np.float64]:
    """Return how far each pixel is from a region's hue at the nearest brightness, shape (h, w)."""
    brightness = np.linspace(0.25, 1.4, 47)[:, None, None, None]
    glosses = (0.0, room3d.GLOSS) if region == "object" else (0.0,)
    colour = room3d.CHANNELS[hue] / room3d.STEPS
    shades = np.concatenate([np.minimum(brightness * colour + gloss, 1) for gloss in glosses])
    nearest: NDArray[np.float64] = np.abs(image - 255 * shades).sum(-1).min(0)
    return nearest


def compared(images: NDArray[np.uint8]) -> list[str]:
    """Compare real images with the nearest ones of room3d: hues of the nearest colours, then the nearest geometry.

    Args:
        images: uint8, shape (n, 64, 64, 3). The outermost line on each side is left out.

    Returns:
        A table in Markdown: mean absolute difference of each region and channel, in grey levels of 255.
    """
    geometries = np.stack(np.unravel_index(np.arange(480), DATASET.space.sizes[3:]), axis=1)
    patches = (np.s_[58:62, 2:14], np.s_[22:36, 4:22], np.s_[44:50, 29:35])  # of floor, wall and object
    real = images[:, 1:-1, 1:-1].astype(int)
    labels = []
    for whole, inside in zip(images, real, strict=True):
        hues = [_hue(whole[patch], region) for patch, region in zip(patches, REGIONS, strict=False)]
        candidates = np.column_stack([np.tile(hues, (480, 1)), geometries])
        labels.append(candidates[np.abs(room3d.render(candidates)[:, 1:-1, 1:-1] - inside).mean((1, 2, 3)).argmin()])
    difference = np.abs(room3d.render(np.stack(labels))[:, 1:-1, 1:-1] - real)
    # The same scenes with a red floor, a green wall and a blue object.
    marked = np.column_stack([np.tile([0, 1, 2], (len(labels), 1)), np.stack(labels)[:, 3:]])
    painted = room3d.render(marked, channels=room3d.STEPS * np.eye(3, dtype=int))[:, 1:-1, 1:-1]
    ids = np.where((painted == room3d.SKY).all(-1), 3, painted.argmax(-1))
    lines = ["| region | share of pixels | red | green | blue | all |", "| --- | ---: | ---: | ---: | ---: | ---: |"]
    for name, mask in [*((name, ids == region) for region, name in enumerate(REGIONS)), ("all", ids >= 0)]:
        means = [*difference[mask].mean(0), difference[mask].mean()]
        lines.append(f"| {name} | {mask.mean():.0%} | " + " | ".join(f"{mean:.2f}" for mean in means) + " |")
    return lines


def _hue(patch: NDArray[np.uint8], region: str) -> int:
    """Return the hue that, at some brightness for each pixel, comes nearest to a patch."""
    misfits = [_misfit(patch.astype(float), hue, region).sum() for hue in range(len(room3d.CHANNELS))]
    return int(np.argmin(misfits))


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("animation", type=Path, help="the animation, or an .npy file of images")
    parser.add_argument("--sheet", type=Path, help="write the scenes side by side: real, rendered, difference")
    arguments = parser.parse_args()
    console = Console()
    if arguments.animation.suffix == ".npy":
        console.print("\n".join(compared(np.load(arguments.animation))), highlight=False)
        return

    real = real_scenes(arguments.animation)
    if len(real) != len(SCENES):
        parser.error(f"{arguments.animation}: expected {len(SCENES)} scenes, received {len(real)}")
    rendered = DATASET.images(DATASET.space.index(SCENES)).astype(np.float64)
    seen = np.stack([regions(image, hues) for image, hues in zip(real, SCENES[:, :3], strict=True)])
    drawn = np.stack([regions(image, hues) for image, hues in zip(rendered, SCENES[:, :3], strict=True)])
    error = np.abs(real - rendered).mean(-1)
    apart = (SCENES[:, 2] != SCENES[:, 0]) & (SCENES[:, 2] != SCENES[:, 1])
    both, either = (seen == 2) & (drawn == 2), (seen == 2) | (drawn == 2)
    overlap = both.sum((1, 2)) / either.sum((1, 2))

    fit = Table(title="room3d against the real scenes: colour errors are mean absolute, of 255")
    for heading in ("shape", "scenes", "silhouettes", "IoU mean", "IoU least", *REGIONS, "all"):
        fit.add_column(heading, justify="left" if heading == "shape" else "right")
    for name, mask in [
        *((name, SCENES[:, 4] == shape) for shape, name in enumerate(room3d.SHAPES)),
        ("all", np.full(len(SCENES), True)),
    ]:
        fit.add_row(
            name,
            str(mask.sum()),
            str((mask & apart).sum()),
            f"{overlap[mask & apart].mean():.3f}",
            f"{overlap[mask & apart].min():.3f}",
            *(f"{error[mask & apart][seen[mask & apart] == region].mean():.2f}" for region in range(len(REGIONS))),
            f"{error[mask].mean():.2f}",
        )
    console.print(fit)

    distances = Table(title="Mean squared distance of pairs that differ in one factor")
    for heading in ("factor", "Shapes3D, published", "room3d", "ratio"):
        distances.add_column(heading, justify="left" if heading == "factor" else "right")
    measured = pair_distances(DATASET, pairs=20_000)
    for factor, published in PUBLISHED["shapes3d"].items():
        mean = measured[factor].mean
        distances.add_row(factor, f"{published:.4f}", f"{mean:.4f}", f"{mean / published:.2f}")
    console.print(distances)

    if arguments.sheet:
        difference = np.clip(127.5 + (rendered - real) / 2, 0, 255)
        sheet = np.concatenate([np.concatenate(row, axis=1) for row in (real, rendered, difference)])
        picture = Image.fromarray(np.rint(sheet).astype(np.uint8))
        picture.resize((3 * picture.width, 3 * picture.height), Image.Resampling.NEAREST).save(arguments.sheet)


if __name__ == "__main__":
    main()
