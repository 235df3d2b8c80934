"""Sprites on few places: where they are, and what their moves cost."""

from __future__ import annotations

import numpy as np
import pytest

import benchmark_data
from benchmark_data.datasets import dsprites, dsprites_spaced
from benchmark_data.inspect.audit import audit

APART = benchmark_data.load("dsprites_spaced")


def test_the_grid():
    assert APART.id == "dsprites_spaced/spacing_16"
    assert APART.space.names == dsprites.SPACE.names
    assert APART.space.sizes == (3, 6, 39, 4, 4)
    assert len(APART) == 11_232


@pytest.mark.parametrize("spacing", dsprites_spaced.SPACINGS)
def test_places_are_centred_and_as_far_apart_as_they_say(spacing):
    """A square that stands straight has its middle at the place: 32 px is the middle of the image."""
    data = benchmark_data.load("dsprites_spaced", spacing=spacing)
    for place in range(4):
        image = data.images(data.space.index(np.array([[0, 5, 0, place, 3 - place]])))[0, ..., 0]
        rows, columns = np.nonzero(image)
        middles = [columns.mean() + 0.5, rows.mean() + 0.5]
        assert middles == pytest.approx([32 + spacing * (place - 1.5), 32 + spacing * (1.5 - place)], abs=0.51)


def test_at_16_no_sprite_leaves_its_place():
    images = APART.images(APART.space.index(np.array([[s, 5, o, 1, 2] for s in range(3) for o in range(39)])))
    outside = images.copy()
    outside[:, 32:48, 16:32] = 0
    assert images.any(axis=(1, 2, 3)).all()
    assert not outside.any()


def test_at_16_every_move_costs_twice_the_sprites_area():
    for row in (0, 5_000, 11_231):
        for name in ("posX", "posY"):
            images = APART.images(APART.space.traverse(row, name)) / 255
            area = images[0].mean()
            squares = np.square(images[:, None] - images[None]).mean(axis=(2, 3, 4))
            np.testing.assert_allclose(squares, 2 * area * (1 - np.eye(4)))


def test_closer_places_give_more_away():
    """Of positions all of it at 2 pixels and nothing at 16, so that of the whole dataset less and less."""
    found = {
        spacing: audit(benchmark_data.load("dsprites_spaced", spacing=spacing), traversals=20, pairs=200)
        for spacing in dsprites_spaced.SPACINGS
    }
    of_places = {spacing: each.factors[3].correlation.value for spacing, each in found.items()}
    assert of_places[2] > 0.99
    assert of_places[16] == 0
    whole = [each.giveaway.value for each in found.values()]
    assert whole == sorted(whole, reverse=True)
    assert whole[0] > 2 * whole[-1]


def test_how_many_images_differ():
    """The number that the defect states."""
    bits = np.packbits(APART.images(np.arange(len(APART))).reshape(len(APART), -1) > 0, axis=1)
    assert len(np.unique(bits, axis=0)) == 8_384
    assert "8,384" in APART.defects[0]
