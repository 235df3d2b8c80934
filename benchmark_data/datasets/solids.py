"""Solids: five shaded solids, each image at a random rotation, as a stand-in for Symsol_reduced.

The five shapes without marks of SYMSOL (Murphy, Esteves, Jampani, Ramalingam and Makadia, "Implicit-PDF: Non-Parametric
Representation of Probability Distributions on the Rotation Manifold", ICML 2021) in the format and the number of images
of Symsol_reduced (Bonheme and Grześ, "How good are variational autoencoders at transfer learning?", arXiv 2304.10767):
64 x 64 grey images and one label. The images are our own renderings.

Every solid is convex, so every visible face is drawn whole. A row of pixels is then a step function: it starts at the
background and jumps at each edge from the shade of the face on the left to that of the face on the right. The renderer
only finds the crossings and sums the jumps.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmark_data import draws, expected_effects
from benchmark_data.dataset import Dataset
from benchmark_data.factors import Factor, FactorTable, Indices
from benchmark_data.types import Pixels, Source
from benchmark_data.variants import pairs

ROWS = 112_791
"""The number of images of Symsol_reduced."""
SHAPES = ("tet", "cube", "icosa", "cone", "cyl")
SEED = int.from_bytes(b"solids")
"""Not a small number, since those are used to shuffle rows (`benchmark_data.draws`)."""
IMAGE = 64
RADIUS = 30.0
"""Pixels from the centre to the outline of the unit sphere, which contains every solid."""
DISTANCE = 5.0
"""Distance from the eye to the centre of the solid, whose corners are within 1 of the centre."""
LIGHT = np.array([-0.36, 0.48, 0.80])
"""Unit vector to the light, which is left, above, and towards the eye."""
AMBIENT, DIFFUSE = 64, 176
SIDES = 96
"""Facets of the cone and the cylinder, narrower than a pixel, so that they look round."""
SUBROWS = 4
"""Scan lines per row of pixels; along a line, areas are exact."""
SUBCOLUMNS = 2**20
"""Crossings of edges and lines are rounded to this fraction of a pixel."""
CHUNK = 32
"""Images drawn at a time, to fit a core's cache."""

Floats = NDArray[np.float64]


class _Solid(NamedTuple):
    """Corners (V, 3), unit face normals (F, 3), plane offsets (F,), edges (E, 4): from, to, face on the left, right."""

    corners: Floats
    normals: Floats
    offsets: Floats
    edges: Indices


def _label_table() -> Indices:
    """Return the class ids of all rows, int64 (n, 1): the shapes alternate, so that every range of rows is balanced."""
    return np.arange(ROWS)[:, None] % len(SHAPES)


def rotations(indices: Indices) -> Floats:
    """Return the rotation of each row, uniform over all rotations.

    A normal vector in four dimensions has a uniform direction; as a quaternion, that is a uniform rotation.

    Args:
        indices: rows, int64, shape (n,).

    Returns:
        Rotation matrices, float64, shape (n, 3, 3), which depend on `SEED` and the row alone.
    """
    q = draws.normal(SEED, indices, 4)
    w, x, y, z = (q / np.sqrt((q * q).sum(1, keepdims=True))).T
    matrix: Floats = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    return matrix.transpose(2, 0, 1)


def render(shape: str, turns: Floats) -> Pixels:
    """Draw one shape at several rotations.

    Args:
        shape: one of `SHAPES`.
        turns: rotation matrices, float64, shape (n, 3, 3). The eye looks along -z, with y up.

    Returns:
        uint8, shape (n, 64, 64, 1), antialiased: 0 outside, `AMBIENT` to `AMBIENT + DIFFUSE` on the faces.

    Example:
        >>> image = render("cube", np.eye(3)[None])[0, ..., 0]
        >>> image[32, 32].item() == round(AMBIENT + DIFFUSE * LIGHT[2]), image[0, 0].item()
        (True, 0)
    """
    solid = _solid(shape)
    corners = solid.corners @ turns.transpose(0, 2, 1)
    normals = solid.normals @ turns.transpose(0, 2, 1)
    visible = normals[..., 2] * DISTANCE > solid.offsets
    # Integers, so that sums of jumps are integers too and round the same way everywhere.
    shades = np.where(visible, np.rint(AMBIENT + DIFFUSE * np.maximum(normals @ LIGHT, 0)), 0)

    scale = RADIUS * np.sqrt(DISTANCE**2 - 1) / (DISTANCE - corners[..., 2])
    x = IMAGE / 2 + scale * corners[..., 0]
    y = SUBROWS * (IMAGE / 2 - scale * corners[..., 1])
    draw = _compile_loops() or _draw_with_numpy
    chunks = [slice(first, first + CHUNK) for first in range(0, len(turns), CHUNK)]
    return np.concatenate([draw(x[chunk], y[chunk], shades[chunk], solid.edges) for chunk in chunks])


def _draw_with_numpy(x: Floats, y: Floats, shades: Floats, edges: Indices) -> Pixels:
    """Draw projected solids. If numba is installed, `_draw_with_loops` is used instead.

    Args:
        x: x of the corners, in pixels, shape (n, V).
        y: y of the corners, in scan lines, shape (n, V).
        shades: shades of the faces, 0 if hidden, shape (n, F).
        edges: edges of the `_Solid`.

    Returns:
        uint8, shape (n, 64, 64, 1).
    """
    start, end, left, right = edges.T
    image, edge = np.nonzero(shades[:, left] != shades[:, right])
    start, end, left, right = start[edge], end[edge], left[edge], right[edge]
    start_y, end_y = y[image, start], y[image, end]
    slope = (x[image, end] - x[image, start]) / np.where(start_y == end_y, 1, end_y - start_y)
    jump = (shades[image, right] - shades[image, left]) * np.where(end_y < start_y, 1, -1)

    # One entry for each line that an edge crosses: the lines whose middle is between its ends.
    first_line = np.ceil(np.minimum(start_y, end_y) - 0.5).astype(np.int64)
    line_count = np.ceil(np.maximum(start_y, end_y) - 0.5).astype(np.int64) - first_line
    entry = np.repeat(np.arange(len(edge)), line_count)
    line = first_line[entry] + np.arange(len(entry)) - (np.cumsum(line_count) - line_count)[entry]
    crossing = x[image, start][entry] + (line + 0.5 - start_y[entry]) * slope[entry]
    # On a grid of binary fractions sums are exact: a value half-way between two greys rounds the same way everywhere.
    crossing = np.rint(crossing * SUBCOLUMNS) / SUBCOLUMNS
    column = np.floor(crossing).astype(np.int64)
    pixel = (image[entry] * IMAGE + line // SUBROWS) * IMAGE + column
    spill = jump[entry] * (crossing - column)
    jumps = np.bincount(pixel, jump[entry] - spill, len(x) * IMAGE * IMAGE)
    jumps[1:] += np.bincount(pixel, spill, len(jumps))[:-1]
    sums = jumps.reshape(-1, IMAGE, IMAGE, 1).cumsum(axis=2)
    return np.rint(sums / SUBROWS).astype(np.uint8)


def _draw_with_loops(x: Floats, y: Floats, shades: Floats, edges: Indices) -> Pixels:
    """Repeat the operations of `_draw_with_numpy` in loops, to the same bits, to be compiled by numba."""
    images = np.empty((len(x), IMAGE, IMAGE, 1), np.uint8)
    jumps = np.empty((IMAGE, IMAGE + 1))
    for image in range(len(x)):
        jumps[:] = 0
        for edge in range(len(edges)):
            start, end, left, right = edges[edge]
            jump = shades[image, right] - shades[image, left]
            if jump == 0:
                continue
            start_y, end_y = y[image, start], y[image, end]
            slope = (x[image, end] - x[image, start]) / (1 if start_y == end_y else end_y - start_y)
            if end_y >= start_y:
                jump = -jump
            first_line = int(np.ceil(min(start_y, end_y) - 0.5))
            for line in range(first_line, int(np.ceil(max(start_y, end_y) - 0.5))):
                crossing = np.rint((x[image, start] + (line + 0.5 - start_y) * slope) * SUBCOLUMNS) / SUBCOLUMNS
                column = int(np.floor(crossing))
                spill = jump * (crossing - column)
                jumps[line // SUBROWS, column] += jump - spill
                jumps[line // SUBROWS, column + 1] += spill
        for row in range(IMAGE):
            total = 0.0
            for column in range(IMAGE):
                total += jumps[row, column]
                images[image, row, column, 0] = np.uint8(np.rint(total / SUBROWS))
    return images


@functools.cache
def _compile_loops() -> Callable[[Floats, Floats, Floats, Indices], Pixels] | None:
    """Compile `_draw_with_loops` if numba is installed."""
    try:
        import numba
    except ImportError:
        return None
    try:
        function: Callable[..., Pixels] = numba.njit(cache=True)(_draw_with_loops)
    except RuntimeError:  # numba found no folder for its cache
        function = numba.njit(_draw_with_loops)
    return function


@functools.cache
def _solid(shape: str) -> _Solid:
    corners, faces = _SHAPE_BUILDERS[shape]()
    centres = np.array([corners[face].mean(0) for face in faces])
    normals = np.array([np.cross(corners[b] - corners[a], corners[c] - corners[b]) for a, b, c, *_ in faces])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    # Seen from outside, a face is to the left of its edges if they run anticlockwise.
    inside_out = (normals * centres).sum(1) < 0
    normals[inside_out] *= -1
    loops = [face[::-1] if flip else face for face, flip in zip(faces, inside_out, strict=True)]
    left_face = {(a, b): f for f, loop in enumerate(loops) for a, b in zip(loop, [*loop[1:], loop[0]], strict=True)}
    edges = [(a, b, f, left_face[b, a]) for (a, b), f in left_face.items() if a < b]
    return _Solid(corners, normals, (normals * centres).sum(1), np.array(edges))


def _platonic_solid(corners: Floats, sides: int) -> tuple[Floats, list[list[int]]]:
    """Find the faces: loops of ``sides`` corners, each an edge from the next, in a common supporting plane."""
    corners = corners / np.linalg.norm(corners, axis=1, keepdims=True)
    distances = np.linalg.norm(corners[:, None] - corners, axis=2)
    is_edge = np.isclose(distances, distances[distances > 1e-9].min())
    faces = []
    for loop in itertools.permutations(range(len(corners)), sides):
        if loop[0] == min(loop) and loop[1] < loop[-1] and all(is_edge[loop, (*loop[1:], loop[0])]):
            projections = corners @ corners[list(loop)].sum(0)
            if np.isclose(projections[list(loop)], projections.max()).all():
                faces.append(list(loop))
    return corners, faces


def _tet() -> tuple[Floats, list[list[int]]]:
    return _platonic_solid(np.array([(1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1)], float), 3)


def _cube() -> tuple[Floats, list[list[int]]]:
    return _platonic_solid(np.array(list(itertools.product((-1, 1), repeat=3)), float), 4)


def _icosa() -> tuple[Floats, list[list[int]]]:
    golden = (1 + 5**0.5) / 2
    rectangle = np.array([(0, a, b * golden) for a in (-1, 1) for b in (-1, 1)])
    return _platonic_solid(np.concatenate([np.roll(rectangle, turn, axis=1) for turn in range(3)]), 3)


def _circle(radius: float, height: float) -> Floats:
    angle = 2 * np.pi * np.arange(SIDES) / SIDES
    return np.stack([radius * np.cos(angle), radius * np.sin(angle), np.full(SIDES, height)], axis=1)


def _cone() -> tuple[Floats, list[list[int]]]:
    """A cone of height 1.5 on a base of radius 0.87: the cone of an equilateral triangle."""
    corners = np.concatenate([_circle(0.75**0.5, -0.5), [(0, 0, 1)]])
    return corners, [list(range(SIDES)), *([i, (i + 1) % SIDES, SIDES] for i in range(SIDES))]


def _cyl() -> tuple[Floats, list[list[int]]]:
    """A cylinder as high as it is wide."""
    half = 0.5**0.5
    corners = np.concatenate([_circle(half, -half), _circle(half, half)])
    caps = [list(range(SIDES)), list(range(SIDES, 2 * SIDES))]
    return corners, [*caps, *([i, (i + 1) % SIDES, SIDES + (i + 1) % SIDES, SIDES + i] for i in range(SIDES))]


_SHAPE_BUILDERS = {"tet": _tet, "cube": _cube, "icosa": _icosa, "cone": _cone, "cyl": _cyl}


class _Solids(Source):
    """Pixels that depend on the row, for the rotation, and the label, for the shape."""

    def images(self, indices: Indices, labels: Indices) -> Pixels:
        """Render a batch."""
        images = np.empty((len(indices), IMAGE, IMAGE, 1), np.uint8)
        turns = rotations(indices)
        for label in np.unique(labels):
            of_this_shape = labels[:, 0] == label
            images[of_this_shape] = render(SHAPES[label], turns[of_this_shape])
        return images


def solid_mask(images: Pixels) -> NDArray[np.bool_]:
    """Find the pixels of a solid, shape (n, 64, 64), in images of shape (n, 64, 64, 1)."""
    return images[..., 0] > 0


DATASET = Dataset(
    name="solids",
    version="2.0.0",
    space=FactorTable(
        Factor("shape", range(len(SHAPES)), "categorical", labels=SHAPES),
        rows=ROWS,
        read=_label_table,
    ),
    source=_Solids(),
    image_shape=(IMAGE, IMAGE, 1),
    description=(
        "A tetrahedron, cube, icosahedron, cone or cylinder inscribed in the same sphere, lit from the upper left, "
        "grey on black, 64 x 64, each image at its own random rotation. The one factor is the shape, row modulo 5; the "
        "rotation is not a factor. A stand-in for Symsol_reduced, in its format and number of images, that needs no "
        "download. It is its own dataset: its images, lights and camera are not those of SYMSOL or Symsol_reduced, "
        "and results on it are not results on them."
    ),
    citation=f"""@inproceedings{{murphy2021implicit,
  title = {{Implicit-{{PDF}}: Non-Parametric Representation of Probability Distributions on the Rotation Manifold}},
  author = {{Murphy, Kieran A and Esteves, Carlos and Jampani, Varun and Ramalingam, Srikumar and Makadia, Ameesh}},
  booktitle = {{Proceedings of the 38th International Conference on Machine Learning}},
  year = {{2021}},
  eprint = {{2106.05965}},
  archivePrefix = {{arXiv}}
}}
{pairs.CITATION}""",
    license="MIT",
    homepage="https://implicit-pdf.github.io",
    effects={
        "shape": dataclasses.replace(
            expected_effects.larger(of=solid_mask), order=("tet", "cone", "cube", "cyl", "icosa")
        )
    },
)
