"""A small dSprites, from a file, for the datasets that are made from it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from benchmark_data.datasets import dsprites_archive
from benchmark_data.sources import Derived

SIZES = (3, 2, 2, 2, 2)


@pytest.fixture
def sprites(shrink, tmp_path):
    """48 sprites, all the same rectangle, prepared from an npz file in the published form."""
    small = shrink(dsprites_archive.DATASET, SIZES)
    labels = small.labels(range(len(small)))
    images = np.zeros((len(small), 64, 64), np.uint8)
    images[:, 20:40, 10:50] = 1
    np.savez(
        tmp_path / dsprites_archive.NPZ.name,
        imgs=images,
        latents_classes=np.ascontiguousarray(np.pad(labels, ((0, 0), (1, 0)))),
        latents_values=np.pad(small.space.values(labels), ((0, 0), (1, 0)), constant_values=1.0),
    )
    small.prepare(manual_dir=tmp_path)
    return small


@pytest.fixture
def inside(sprites):
    """Where the sprites are: bool, shape (48, 64, 64)."""
    return sprites.images(range(len(sprites)))[..., 0] == 255


@pytest.fixture
def on_sprites(sprites):
    """Put a dataset that is derived from dSprites on the small one."""

    def make(dataset):
        source = Derived(sprites, dataset.source.change)
        return dataclasses.replace(dataset, source=source, space=sprites.space, splits={})

    return make
