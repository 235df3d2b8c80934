"""Rows of images, for the papers' traversals, reconstructions and perturbed data."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from baselines.reproduction.entries import Outcome
from leaderboard.analyses import traversals


def draw(result: Outcome, path: Path) -> None:
    """Draw a row of images for each name; grey images are converted to three channels next to coloured ones."""
    images = list(result.images.values())
    if images[0].shape[-1] == 1 or len({image.shape for image in images}) > 1:
        images = [np.broadcast_to(image, (*image.shape[:-1], 3)) for image in images]
    traversals.draw(np.stack(images), path, names=list(result.images))
