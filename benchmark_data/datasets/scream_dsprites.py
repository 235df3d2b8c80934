"""Scream dSprites: sprites as negatives on random crops of Munch's painting, which are not a factor.

Locatello et al., "Challenging Common Assumptions in the Unsupervised Learning of Disentangled Representations", ICML
2019, and disentanglement_lib, which draws a new crop and tint at each access. Here they depend on the row alone, so
that the same scan of the painting yields the same pixels.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmark_data import draws
from benchmark_data.archives.archive import Archive, Distribution
from benchmark_data.archives.containers import damage, damaged_file_on_error
from benchmark_data.archives.downloads import Download
from benchmark_data.archives.store import Writer, open_image
from benchmark_data.datasets import color_dsprites, dsprites
from benchmark_data.factors import Factor, Indices
from benchmark_data.sources import OfBase
from benchmark_data.types import Pixels

SEED = int.from_bytes(b"scream")
"""Not a small number, since those are used to shuffle rows (`benchmark_data.draws`)."""

JPEG = Download(
    name="The_Scream.jpg",
    urls=("https://upload.wikimedia.org/wikipedia/commons/f/f4/The_Scream.jpg",),
    note="Wikimedia Commons, where another scan may replace it. No hash is published; the one found is recorded.",
)


def read(archive: Archive, files: Mapping[str, Path], writer: Writer) -> None:
    """Reduce the painting to the declared height, and crop its middle to the declared width."""
    import PIL.Image

    (path,) = files.values()
    height, width, _ = archive.image_shape
    with damaged_file_on_error(path), open_image(path.read_bytes(), path) as image:
        reduced_width = round(image.width * height / image.height)
        if not width <= reduced_width < height or image.height < height:
            raise damage(
                path, f"an upright scan, at least {width} x {height} pixels", f"{image.width} x {image.height} pixels"
            )
        pixels = image.convert("RGB").resize((reduced_width, height), PIL.Image.Resampling.BICUBIC)
    start = (reduced_width - width) // 2
    writer.images(np.zeros(1, np.int64), np.asarray(pixels)[None, :, start : start + width])


# The painting is 0.81 times as wide as high; scans differ by a few columns, of which the middle is kept.
PAINTING = Archive(
    id="scream_dsprites",
    version="1.0.0",
    image_shape=(274, 208, 3),
    factors=(Factor("painting", (0,), "categorical"),),
    rows=1,
    distributions=(Distribution((JPEG,), read),),
)


@dataclasses.dataclass(frozen=True)
class OnPainting(OfBase):
    """Sprites as negatives on crops of a painting.

    Args:
        base: dSprites.
        painting: an archive of one image.
    """

    painting: Archive

    @property
    def ready(self) -> bool:
        """Whether both the sprites and the painting are prepared."""
        return super().ready and self.painting.ready

    def prepare(self, **options: Any) -> None:
        """Prepare the painting and the sprites."""
        self.painting.prepare(**options)
        super().prepare(**options)

    def images(self, indices: Indices, labels: Indices) -> Pixels:
        """Draw a crop and a tint for each row, and invert the sprite's pixels."""
        row = np.zeros(1, np.int64)
        return put_on_painting(self.base.images(indices), indices, self.painting.images(row, row[:, None])[0])


def put_on_painting(sprites: Pixels, indices: Indices, painting: Pixels) -> Pixels:
    """Put sprites on a painting: (crop + tint) / 2, and 1 minus that within the sprite.

    Args:
        sprites: uint8 of 0 and 255, shape (n, 64, 64, 1).
        indices: rows, int64, shape (n,), which determine crops and tints.
        painting: uint8, shape (H, W, 3).

    Returns:
        uint8, shape (n, 64, 64, 3).

    Example:
        >>> grey = np.full((70, 70, 3), 100, np.uint8)
        >>> plain = put_on_painting(np.zeros((1, 64, 64, 1), np.uint8), np.array([0]), grey)
        >>> negative = put_on_painting(np.full((1, 64, 64, 1), 255, np.uint8), np.array([0]), grey)
        >>> np.unique(plain + negative).tolist()
        [255]
    """
    size = sprites.shape[1]
    random_numbers = draws.uniform(SEED, indices, 5)
    corners = (random_numbers[:, :2] * (np.array(painting.shape[:2]) - size)).astype(np.int64)
    tints = np.round(255 * random_numbers[:, 2:]).astype(np.uint16)
    crops = np.lib.stride_tricks.sliding_window_view(painting, (size, size), axis=(0, 1))
    chosen_crops = crops[corners[:, 0], corners[:, 1]].transpose(0, 2, 3, 1)
    background: Pixels = ((chosen_crops + tints[:, None, None, :]) // 2).astype(np.uint8)
    # The sprite's pixels are 255, so that exclusive or yields 255 minus the background.
    return background ^ sprites


DATASET = dataclasses.replace(
    dsprites.DATASET,
    name="scream_dsprites",
    version="2.0.0",
    source=OnPainting(dsprites.DATASET, PAINTING),
    image_shape=(64, 64, 3),
    effects=dict.fromkeys(
        dsprites.DATASET.space.names,
        "The labels are those of dSprites, row by row; on a crop of a painting no simple measure finds the sprite.",
    ),
    description=(
        "dSprites as negatives on crops of Edvard Munch's The Scream, each crop in a tint of its own. Crop and tint "
        "are nuisances, no factors; they are drawn once for each row."
    ),
    citation=f"{dsprites.DATASET.citation}\n\n{color_dsprites.CITATION}",
    defects=(
        *dsprites.DATASET.defects,
        "disentanglement_lib draws crops anew at each access, and crops a few columns more of the painting.",
        "The pixels depend on the scan of the painting; its SHA-256 is recorded when it is prepared.",
    ),
)
