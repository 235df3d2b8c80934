import numpy as np
import pytest
from scipy.spatial import ConvexHull

import benchmark_data
from benchmark_data.datasets import solids

DATASET = benchmark_data.load("solids")


def test_the_table_has_the_count_of_symsol_reduced_and_balanced_shapes():
    assert len(DATASET) == 112_791
    assert DATASET.space.names == ("shape",)
    assert DATASET.space.factors[0].labels == ("tet", "cube", "icosa", "cone", "cyl")
    assert np.bincount(DATASET.labels(np.arange(len(DATASET)))[:, 0]).tolist() == [22559, 22558, 22558, 22558, 22558]
    assert DATASET.labels([0, 6, 112_790])[:, 0].tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("shape", "corners", "faces", "edges"), [("tet", 4, 4, 6), ("cube", 8, 6, 12), ("icosa", 12, 20, 30)]
)
def test_platonic_solids_are_complete(shape, corners, faces, edges):
    solid = solids._solid(shape)
    assert (len(solid.corners), len(solid.normals), len(solid.edges)) == (corners, faces, edges)


@pytest.mark.parametrize("shape", solids.SHAPES)
def test_faces_close_the_solid(shape):
    solid = solids._solid(shape)
    assert len(solid.corners) - len(solid.edges) + len(solid.normals) == 2  # Euler
    assert np.allclose(np.linalg.norm(solid.corners, axis=1), 1)
    # Every corner lies on or behind every face.
    assert (solid.corners @ solid.normals.T <= solid.offsets + 1e-12).all()


def cast(corners, samples):
    """Trace rays from the eye through ``samples`` x ``samples`` points per pixel into the hull of the corners."""
    hull = ConvexHull(corners).equations
    at = (np.arange(64 * samples) + 0.5) / samples - 32
    focal = solids.RADIUS * np.sqrt(solids.DISTANCE**2 - 1)
    rays = np.stack([*np.broadcast_arrays(at[None, :] / focal, -at[:, None] / focal, -1.0)], axis=-1)
    towards = rays @ hull[:, :3].T
    meet = -(hull[:, 2] * solids.DISTANCE + hull[:, 3]) / towards
    enter = np.where(towards < 0, meet, -np.inf)
    hit = enter.max(-1) <= np.where(towards > 0, meet, np.inf).min(-1)
    light = np.maximum(hull[:, :3] @ solids.LIGHT, 0)[enter.argmax(-1)]
    shade = np.where(hit, np.rint(solids.AMBIENT + solids.DIFFUSE * light), 0)
    return shade.reshape(64, samples, 64, samples).mean((1, 3))


@pytest.mark.parametrize("row", [0, 1, 2, 3, 4, 112_790])
def test_images_agree_with_a_ray_caster(row):
    shape = solids.SHAPES[row % 5]
    turn = solids.rotations(np.array([row]))[0]
    error = DATASET.images([row])[0, ..., 0] - cast(solids._solid(shape).corners @ turn.T, 6)
    # Pixels inside a face agree; those on an outline up to what six samples in a row miss.
    assert np.abs(error).mean() < 0.5
    assert np.abs(error).max() < 40
    assert abs(error.mean()) < 0.05


def test_rotations_are_proper_and_uniform():
    turns = solids.rotations(np.arange(20_000))
    assert np.allclose(turns @ turns.transpose(0, 2, 1), np.eye(3))
    assert np.allclose(np.linalg.det(turns), 1)
    # Of a uniform rotation each entry has mean 0 and variance 1/3; the tolerance is about five standard errors.
    assert np.abs(turns.mean(0)).max() < 0.021
    assert np.abs((turns**2).mean(0) - 1 / 3).max() < 0.011


def test_an_image_depends_on_its_row_alone():
    rows = np.array([112_790, 3, 7, 3])
    images = DATASET.images(rows)
    assert np.array_equal(images[1], images[3])
    assert np.array_equal(images, np.concatenate([DATASET.images([row]) for row in rows]))


def test_solids_stay_inside_the_image_and_stand_out_of_the_background():
    images = DATASET.images(np.arange(500))
    assert not images[:, [0, -1]].any()
    assert not images[:, :, [0, -1]].any()
    assert images.max() == 240
    assert (images[:, 28:36, 28:36] >= solids.AMBIENT).all()


@pytest.mark.parametrize("shape", solids.SHAPES)
def test_pixels_do_not_depend_on_the_compiler(shape, monkeypatch):
    pytest.importorskip("numba", reason="numba is not installed: pip install 'offaxis[fast]'")
    turns = solids.rotations(np.arange(100))
    compiled = solids.render(shape, turns)
    monkeypatch.setattr(solids, "_compile_loops", lambda: None)
    assert np.array_equal(compiled, solids.render(shape, turns))


def test_contact_sheet(golden_sheet):
    golden_sheet(DATASET, "solids")
