import importlib.util
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import benchmark_data
from benchmark_data.datasets import room3d
from benchmark_data.inspect.published import PUBLISHED

DATASET = benchmark_data.load("room3d")
SCENES = Path(__file__).with_name("shapes3d_scenes.png")
SHOWN = np.array(
    [(0, 6, 3, 0, 0, orientation) for orientation in (0, 4, 7, 11, 14)]
    + [(0, 6, 3, 0, shape, 14) for shape in (1, 2, 3)]
    + [(0, 6, 3, 7, 3, 14)]
)


def test_the_grid_is_that_of_shapes3d():
    assert DATASET.space.names == ("floor_hue", "wall_hue", "object_hue", "scale", "shape", "orientation")
    assert DATASET.space.sizes == (10, 10, 10, 8, 4, 15)
    assert len(DATASET) == 480_000
    first, last = DATASET.values([0, len(DATASET) - 1])
    assert first.tolist() == [0, 0, 0, 0.75, 0, -30]
    assert last.tolist() == [0.9, 0.9, 0.9, 1.25, 3, 30]


def real_and_rendered():
    with Image.open(SCENES) as picture:
        real = np.stack(np.split(np.asarray(picture.convert("RGB")), len(SHOWN), axis=1))
    return real.astype(int), DATASET.images(DATASET.space.index(SHOWN)).astype(int)


def test_scenes_resemble_the_real_ones():
    real, rendered = real_and_rendered()
    assert np.abs(real - rendered).mean((1, 2, 3)).max() < 4


def test_the_page_says_how_far_it_is_from_real_images(real):
    root = Path(__file__).parents[3]
    spec = importlib.util.spec_from_file_location("fit_room3d", root / "benchmarks" / "fit_room3d.py")
    fit = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fit)
    table = "\n".join(fit.compared(np.load(real / "shapes3d_50.npy")))
    assert f"<!-- measured: room3d -->\n{table}\n<!-- end -->" in (root / "docs" / "datasets.md").read_text("utf-8")


def test_silhouettes_cover_the_real_ones():
    # In these scenes the solid is green, the floor red, the wall blue and the sky bluer than green.
    real, rendered = (
        (images[..., 1] > images[..., 0]) & (images[..., 1] > images[..., 2]) for images in real_and_rendered()
    )
    overlap = (real & rendered).sum((1, 2)) / (real | rendered).sum((1, 2))
    assert overlap.min() > 0.85
    assert overlap.mean() > 0.9


def test_distances_along_factors_are_those_of_shapes3d():
    rows = benchmark_data.draws.permutation(3, len(DATASET))[:10]
    published = {name: PUBLISHED["shapes3d"][name] for name in DATASET.space.names}
    measured = {}
    for name in published:
        steps = np.stack([DATASET.images(DATASET.space.traverse(row, name)).reshape(-1, 12288) / 255 for row in rows])
        # Twice the variance along a traversal, less the pairs of a step with itself.
        measured[name] = 2 * steps.var(1, ddof=1).mean()
    assert sorted(measured, key=measured.get) == sorted(published, key=published.get)
    for name, distance in published.items():
        assert measured[name] == pytest.approx(distance, rel=0.4), name


def test_nothing_of_solid_and_shadow_is_cut_off():
    for shape, (radius, height) in room3d.SOLIDS.items():
        for size in (0.75, 1.25):
            for orientation in (0, 7):
                camera = room3d._camera(orientation)
                rows, columns = room3d._window(camera, size * radius, size * height)
                room = room3d._cast(camera, room3d._WHOLE_IMAGE)
                whole = room3d._cast(camera, room3d._WHOLE_IMAGE, shape, size)
                for before, after in zip(room, whole, strict=True):
                    changed = before != after
                    changed[:, rows, columns] = False
                    assert not changed.any()


def test_maps_are_in_range_and_leave_no_gap():
    maps = room3d._cast(room3d._camera(0), room3d._WHOLE_IMAGE, "cube", 0.75)
    for region in (maps.floor, maps.wall, maps.solid):
        assert (np.diff(region.astype(int), axis=0) >= 0).all()  # more of a channel is never darker
        assert 0 < region.max() <= 255 * room3d.RAYS**2
    assert not np.stack([maps.floor[0], maps.wall[0]]).any()
    assert ((maps.sky[0] > 0) | (maps.floor[5] > 0) | (maps.wall[5] > 0) | (maps.solid[5] > 0)).all()


def test_solids_grow_with_scale_and_stand_on_the_floor():
    labels = np.array([(0, 6, 3, scale, shape, 7) for shape in range(4) for scale in range(8)])
    images = DATASET.images(DATASET.space.index(labels)).astype(int).reshape(4, 8, 64, 64, 3)
    solid = (images[..., 1] > images[..., 0]) & (images[..., 1] > images[..., 2])
    assert (np.diff(solid.sum((2, 3)), axis=1) > 0).all()
    lowest = 63 - solid.any(3)[:, :, ::-1].argmax(2)
    assert (lowest >= 51).all()


def test_an_image_depends_on_its_row_alone():
    rows = np.random.default_rng(0).integers(0, len(DATASET), 20)
    images = DATASET.images(rows)
    room3d._cast_room.cache_clear()
    room3d._cast_solid.cache_clear()
    assert np.array_equal(images[::-1], DATASET.images(rows[::-1]))


def test_contact_sheet(golden_sheet):
    golden_sheet(DATASET, "room3d")
