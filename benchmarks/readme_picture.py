"""Draw docs/images/squares.png, the picture of README: XYSquares at two spacings, and what the demo's β-TCVAE draws.

    python benchmarks/readme_picture.py [RUNS]

Trains seed 0 of the demo on either spacing, a minute of a core, unless the folder RUNS holds the runs.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

import baselines
from baselines import demo

COLUMNS = 9
SCALE = 2
MARGIN = 26
TARGET = Path(__file__).parents[1] / "docs" / "images" / "squares.png"


def main(folder: Path) -> None:
    """Train and draw."""
    rows, labels = [], []
    for spacing in (1, 8):
        name = f"xysquares/spacing_{spacing}"
        config = baselines.RunConfig(dataset=name, steps=demo.STEPS, **demo.SETTINGS)
        run = baselines.train(config, folder / f"spacing_{spacing}")
        images = run.dataset.images(np.linspace(0, len(run.dataset) - 1, COLUMNS + 2).astype(int)[1:-1])
        drawn = run.decode(run.encode(images).mean)
        explained = run.explained()
        rows += [images, (np.clip(drawn, 0, 1) * 255).round().astype(np.uint8)]
        labels += [f"spacing {spacing}: images", f"what the VAE draws ({explained:.0%} of the variance)"]
    tile = 64 * SCALE + 4
    sheet = Image.new("RGB", (COLUMNS * tile + 4, len(rows) * (tile + MARGIN)), "white")
    pen, font = ImageDraw.Draw(sheet), ImageFont.load_default(16)
    for y, (images, label) in enumerate(zip(rows, labels, strict=True)):
        pen.text((6, y * (tile + MARGIN) + 4), label, fill="black", font=font)
        for x, image in enumerate(images):
            picture = Image.fromarray(image).resize((64 * SCALE, 64 * SCALE), Image.Resampling.NEAREST)
            sheet.paste(picture, (x * tile + 4, y * (tile + MARGIN) + MARGIN))
    sheet.save(TARGET, optimize=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(Path(temporary))
