"""Room3D: a solid on the floor of a coloured room, as a stand-in for Shapes3D.

The factor grid, values and order of rows of Shapes3D (Burgess and Kim 2018; Kim and Mnih, "Disentangling by
Factorising", ICML 2018), drawn here by a small ray caster. Its camera, room, solids and lights were fitted to the 53
scenes that Shapes3D's authors show in their repository; `benchmarks/fit_room3d.py` measures the fit. The images
are our own renderings.

The unit of length is a tenth of the distance at which the camera circles the middle of the room; z points up and the
floor is z = 0.

A pixel is the mean of 16 rays. Their geometry depends on scale, shape and orientation only, and a ray's colour on one
hue, whose channels have six possible values. So every geometry is cast once, into sums of 8-bit rays for each channel
value, and an image is an integer sum of looked-up maps: fast, and the same on every machine. Only pixels that the solid
and its shadow may reach are summed; the others are those of one of 1,500 empty rooms. All 480 geometries take 27 MB and
the rooms 18 MB; each is computed on first use.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmark_data import expected_effects
from benchmark_data.dataset import Dataset
from benchmark_data.factors import Factor, FactorSpace, Indices
from benchmark_data.sources import Rendered
from benchmark_data.types import Pixels

IMAGE = 64
RAYS = 4
"""Rays per pixel along each axis."""

HUES = [h / 10 for h in range(10)]
SHAPES = ("cube", "cylinder", "sphere", "capsule")
SCALES = np.linspace(0.75, 1.25, 8).tolist()
ANGLES = np.linspace(-30, 30, 15).tolist()
SPACE = FactorSpace(
    Factor("floor_hue", HUES, "cyclic"),
    Factor("wall_hue", HUES, "cyclic"),
    Factor("object_hue", HUES, "cyclic"),
    Factor("scale", SCALES, "ordinal"),
    Factor("shape", range(4), "categorical", labels=SHAPES),
    Factor("orientation", ANGLES, "ordinal", unit="deg"),
)

FOCAL = 70.9
"""Focal length: pixels covered by a length of 1 at a distance of 1."""
HORIZON = 32.3
"""Row of pixels at the eye's height."""
DISTANCE, HEIGHT = 10.0, 2.86
"""Distance of the eye from the middle of the room, which it faces, and its height above the floor."""
WALL, WALL_HEIGHT = 13.8, 7.78
"""Distance from the middle of the square room to its walls, and their height."""
SOLIDS = {"cube": (1.36, 2.72), "cylinder": (1.46, 2.90), "sphere": (1.63, 3.26), "capsule": (1.27, 5.03)}
"""Half the width and the height of each solid at scale 1. All stand in the middle of the floor."""

LAMP = np.array([-6.2, 2.6, 30.0])
"""Position of the lamp, which points straight down."""
LAMPLIGHT, FOCUS = 0.97, 10
"""The lamp's strength, and the exponent of the cosine of its falloff away from its axis."""
HEADLIGHT = 0.59
"""Light along the line of sight."""
AMBIENT = 0.35
GLOSS = 0.10
"""White that the lamp adds to the solid."""
SKY = (153, 226, 249)

STEPS = 5
CHANNELS = np.array(
    [(5, 0, 0), (5, 3, 0), (4, 5, 0), (1, 5, 0), (0, 5, 2), (0, 5, 5), (0, 2, 5), (1, 0, 5), (4, 0, 5), (5, 0, 3)]
)
"""Red, green and blue of each hue, fully saturated, in fifths: int, shape (10, 3)."""

Floats = NDArray[np.float64]
Colour = tuple[int, int, int]
"""Red, green and blue, in fifths."""
Window = tuple[slice, slice]
"""Rows and columns of pixels."""
_WHOLE_IMAGE = (slice(0, IMAGE), slice(0, IMAGE))


class _Camera(NamedTuple):
    """Vectors of shape (3,)."""

    eye: Floats
    right: Floats
    forward: Floats


class _Maps(NamedTuple):
    """Sums over a pixel's rays: ``sky`` (3, h, w) by channel, the others (6, h, w) by channel value in fifths."""

    sky: NDArray[np.int16]
    floor: NDArray[np.int16]
    wall: NDArray[np.int16]
    solid: NDArray[np.int16]


def render(labels: Indices, *, channels: Indices = CHANNELS) -> Pixels:
    """Draw a solid in a room.

    Args:
        labels: int64, shape (n, 6): floor hue, wall hue, object hue, scale, shape, orientation.
        channels: red, green and blue of each hue in fifths, int, shape (hues, 3).

    Returns:
        uint8, shape (n, 64, 64, 3).

    Example:
        >>> image = render(np.array([[0, 6, 3, 0, 0, 7]]))[0]
        >>> [image[row, 32].tolist() for row in (0, 30, 45)]  # sky, blue wall, green cube
        [[153, 226, 249], [0, 109, 255], [48, 240, 0]]
    """
    images = np.empty((len(labels), IMAGE, IMAGE, 3), np.uint8)
    colours = [(red, green, blue) for red, green, blue in channels.tolist()]
    for image, (*hues, scale, shape, orientation) in zip(images, labels.tolist(), strict=True):
        floor_colour, wall_colour, solid_colour = (colours[hue] for hue in hues)
        window, maps = _cast_solid(scale, shape, orientation)
        image[...] = _draw_empty_room(floor_colour, wall_colour, orientation)
        image[window] = _mean_of_rays(maps, floor_colour, wall_colour, solid_colour)
    return images


def _mean_of_rays(maps: _Maps, floor_colour: Colour, wall_colour: Colour, solid_colour: Colour) -> NDArray[np.int16]:
    """Add the maps and average each pixel's 16 rays, halves rounded up: [0, 255], shape (h, w, 3)."""
    sums: NDArray[np.int16] = maps.floor.take(floor_colour, axis=0)
    sums += maps.wall.take(wall_colour, axis=0)
    sums += maps.solid.take(solid_colour, axis=0)
    sums += maps.sky
    sums += RAYS * RAYS // 2
    sums >>= 4
    return sums.transpose(1, 2, 0)


@functools.cache
def _draw_empty_room(floor_colour: Colour, wall_colour: Colour, orientation: int) -> Pixels:
    """Draw the empty room."""
    return _mean_of_rays(_cast_room(orientation), floor_colour, wall_colour, (0, 0, 0)).astype(np.uint8, order="C")


@functools.cache
def _cast_room(orientation: int) -> _Maps:
    """Cast the empty room."""
    return _cast(_camera(orientation), _WHOLE_IMAGE)


@functools.cache
def _cast_solid(scale: int, shape: int, orientation: int) -> tuple[Window, _Maps]:
    """Cast the part of the picture that the solid and its shadow may reach."""
    camera, shape_name, size = _camera(orientation), SHAPES[shape], SCALES[scale]
    window = _window(camera, *(size * extent for extent in SOLIDS[shape_name]))
    return window, _cast(camera, window, shape_name, size)


def _camera(orientation: int) -> _Camera:
    angle = np.deg2rad(ANGLES[orientation])
    forward = np.array([-np.sin(angle), np.cos(angle), 0.0])
    return _Camera(np.array([0, 0, HEIGHT]) - DISTANCE * forward, np.array([np.cos(angle), np.sin(angle), 0]), forward)


def _window(camera: _Camera, radius: float, height: float) -> Window:
    """Find the rows and columns that contain the solid's bounding box and the box's shadow."""
    top = np.array([(x, y, height) for x in (-radius, radius) for y in (-radius, radius)])
    shadow = LAMP + (top - LAMP) * LAMP[2] / (LAMP[2] - height)
    from_eye = np.concatenate([top, top * (1, 1, 0), shadow]) - camera.eye
    depth = from_eye @ camera.forward
    across = IMAGE / 2 + FOCAL * (from_eye @ camera.right) / depth
    down = HORIZON - FOCAL * from_eye[:, 2] / depth
    rows, columns = (
        slice(max(int(np.floor(offset.min())), 0), min(int(np.ceil(offset.max())), IMAGE)) for offset in (down, across)
    )
    return rows, columns


def _cast(camera: _Camera, window: Window, shape: str = "", size: float = 1.0) -> _Maps:
    """Cast the rays of a window into the room and, if a shape is given, the solid in it."""
    down, across = ((np.arange(span.start * RAYS, span.stop * RAYS) + 0.5) / RAYS for span in window)
    eye, right, forward = (vector[:, None, None] for vector in camera)
    ray = (
        forward
        + right * (across - IMAGE / 2) / FOCAL
        + np.array([0, 0, 1])[:, None, None] * ((HORIZON - down)[:, None] / FOCAL)
    )

    # The eye is inside the room, so that a ray leaves through the nearer of the two walls ahead.
    to_walls = (np.copysign(WALL, ray[:2]) - eye[:2]) / ray[:2]
    distance = to_walls.min(0)
    hit_height = HEIGHT + distance * ray[2]
    on_floor, on_sky = hit_height < 0, hit_height > WALL_HEIGHT
    distance *= HEIGHT / (HEIGHT - np.minimum(hit_height, 0))
    normal = np.concatenate([np.where((to_walls == to_walls.min(0)) & ~on_floor, -np.sign(ray[:2]), 0), on_floor[None]])
    on_solid = np.zeros_like(on_floor)
    if shape:
        entry = _entry_distance(shape, size, eye, ray)
        on_solid = entry < distance
        distance = np.where(on_solid, entry, distance)
        normal[:, on_solid] = _normal(shape, size, (eye + distance * ray)[:, on_solid])
    point = eye + distance * ray
    on_floor, on_wall, on_sky = on_floor & ~on_solid, ~(on_floor | on_sky | on_solid), on_sky & ~on_solid

    to_lamp = LAMP[:, None, None] - point
    lamp_distance = np.sqrt((to_lamp * to_lamp).sum(0))
    lamp_light = np.maximum((to_lamp * normal).sum(0) / lamp_distance, 0) * (to_lamp[2] / lamp_distance) ** FOCUS
    if shape:
        lamp_light[on_floor] *= np.isinf(_entry_distance(shape, size, point[:, on_floor], to_lamp[:, on_floor]))
    light = AMBIENT + HEADLIGHT * np.maximum(-(forward * normal).sum(0), 0) + LAMPLIGHT * lamp_light
    channel = np.arange(STEPS + 1)[:, None, None] / STEPS
    colour = np.rint(255 * np.minimum(light * channel + GLOSS * (on_solid & (lamp_light > 0)), 1))

    def sum_rays(values: NDArray[np.floating | np.integer]) -> NDArray[np.int16]:
        rays = values.reshape(len(values), len(down) // RAYS, RAYS, -1, RAYS)
        return np.asarray(rays.sum((2, 4)), np.int16)

    return _Maps(
        sum_rays(np.array(SKY)[:, None, None] * on_sky),
        sum_rays(colour * on_floor),
        sum_rays(colour * on_wall),
        sum_rays(colour * on_solid),
    )


def _entry_distance(shape: str, size: float, origin: Floats, ray: Floats) -> Floats:
    """Return where rays enter a solid.

    Args:
        shape: one of `SHAPES`.
        size: its scale.
        origin: outside the solid, float64, shape (3, ...).
        ray: directions, float64, shape (3, ...).

    Returns:
        Multiples of ``ray``, float64, shape (...); infinite where the ray misses.
    """
    radius, height = (size * extent for extent in SOLIDS[shape])

    def slab(axis: int, low: float, high: float) -> tuple[Floats, Floats]:
        a, b = (low - origin[axis]) / ray[axis], (high - origin[axis]) / ray[axis]
        return np.minimum(a, b), np.maximum(a, b)

    def ball(dims: int, centre_z: float = 0.0) -> tuple[Floats, Floats]:
        start, step = origin[:dims] - np.array([0, 0, centre_z])[:dims].reshape(dims, *[1] * (ray.ndim - 1)), ray[:dims]
        a, b, c = (step * step).sum(0), (start * step).sum(0), (start * start).sum(0) - radius * radius
        root = b * b - a * c
        hit, root = root > 0, np.sqrt(np.maximum(root, 0))
        return np.where(hit, (-b - root) / a, np.inf), np.where(hit, (-b + root) / a, -np.inf)

    # A solid is the union of pieces, and a piece the intersection of its slabs and balls.
    pieces = {
        "cube": lambda: [[slab(0, -radius, radius), slab(1, -radius, radius), slab(2, 0, height)]],
        "cylinder": lambda: [[ball(2), slab(2, 0, height)]],
        "sphere": lambda: [[ball(3, radius)]],
        "capsule": lambda: [
            [ball(2), slab(2, radius, height - radius)],
            [ball(3, radius)],
            [ball(3, height - radius)],
        ],
    }[shape]()
    entries = []
    for piece in pieces:
        enter = functools.reduce(np.maximum, [enter for enter, _ in piece])
        leave = functools.reduce(np.minimum, [leave for _, leave in piece])
        entries.append(np.where(enter < leave, enter, np.inf))
    return functools.reduce(np.minimum, entries)


def _normal(shape: str, size: float, point: Floats) -> Floats:
    """Return the outward normals, float64 (3, n), at points of a solid's surface, float64 (3, n)."""
    radius, height = (size * extent for extent in SOLIDS[shape])
    x, y, z = point[0], point[1], point[2] - height / 2
    if shape == "cube":
        offset = np.array([x, y, z])
        return np.where(np.abs(offset) == np.abs(offset).max(0), np.sign(offset), 0)
    if shape == "cylinder":
        side = np.hypot(x, y) / radius > np.abs(z) / (height / 2)
        return np.where(side, np.array([x / radius, y / radius, 0 * z]), np.array([0 * x, 0 * y, np.sign(z)]))
    core = height / 2 - radius
    return np.array([x, y, z - np.clip(z, -core, core)]) / radius


def floor_mask(images: Pixels) -> NDArray[np.bool_]:
    """Mark the lower left corner, where only the floor is visible: bool (n, 64, 64)."""
    return _patch_mask(images, slice(58, 64), slice(0, 8))


def wall_mask(images: Pixels) -> NDArray[np.bool_]:
    """Mark a patch at the left edge, where only walls are visible: bool (n, 64, 64)."""
    return _patch_mask(images, slice(30, 37), slice(0, 8))


def solid_mask(images: Pixels) -> NDArray[np.bool_]:
    """Mark the middle of the smallest solid: bool (n, 64, 64)."""
    return _patch_mask(images, slice(44, 50), slice(30, 35))


def _patch_mask(images: Pixels, rows: slice, columns: slice) -> NDArray[np.bool_]:
    mask = np.zeros(images.shape[:3], bool)
    mask[:, rows, columns] = True
    return mask


def blue_minus_red(images: Pixels) -> NDArray[np.float64]:
    """Compute how much more blue than red there is: float64 (n,). It grows with a blue solid on a red floor."""
    return np.asarray((images[..., 2] * 1.0 - images[..., 0]).mean(axis=(1, 2)))


def blue_in_the_middle(images: Pixels) -> NDArray[np.float64]:
    """Compute how much more blue than green there is in the middle columns: float64 (n,), for a blue solid."""
    middle = images[:, :, 30:34] * 1.0
    return np.asarray((middle[..., 2] - middle[..., 1]).mean(axis=(1, 2)))


def green_right(images: Pixels) -> NDArray[np.float64]:
    """Compute how much more green there is on the right half than on the left: float64 (n,), for green walls."""
    green = images[..., 1] * 1.0 - images[..., 0]
    return np.asarray(green[:, :, 32:].mean(axis=(1, 2)) - green[:, :, :32].mean(axis=(1, 2)))


def effects_of(
    hues: Mapping[str, int], colour: str, orientation: expected_effects.Effect
) -> dict[str, expected_effects.Effect]:
    """Return the effects of a room's factors; those that need hues hold at ``hues``, where the solid is ``colour``."""
    order = ("cube", "sphere", "cylinder", "capsule")
    return {
        "floor_hue": expected_effects.hue(floor_mask),
        "wall_hue": expected_effects.hue(wall_mask),
        "object_hue": expected_effects.hue(solid_mask),
        "scale": expected_effects.Effect(f"shows more of a {colour} solid", blue_minus_red, where=hues),
        "shape": expected_effects.Effect("fills more of the middle", blue_in_the_middle, order, {**hues, "scale": 7}),
        "orientation": orientation,
    }


_EFFECT_HUES = {"floor_hue": 0, "wall_hue": 3, "object_hue": 7}  # red, green and blue
EFFECTS = effects_of(
    _EFFECT_HUES, "blue", expected_effects.Effect("brings the right wall nearer", green_right, where=_EFFECT_HUES)
)

DATASET = Dataset(
    name="room3d",
    version="1.0.0",
    space=SPACE,
    source=Rendered(render),
    image_shape=(IMAGE, IMAGE, 3),
    description=(
        "A cube, cylinder, sphere or capsule stands in the middle of a square room under a pale blue sky, lit by a "
        "lamp that casts its shadow, and seen from 15 directions. Ten hues each for the floor, the walls and the "
        "solid, and eight scales: the factor grid and the values of Shapes3D, with a camera and lights fitted to the "
        "scenes that its authors show. A stand-in for Shapes3D that needs no download. It is its own dataset: its "
        "pixels are not those of Shapes3D (whose walls and floor bear a faint texture), and results on it are not "
        "results on Shapes3D."
    ),
    citation="""@misc{3dshapes18,
  title = {3D Shapes Dataset},
  author = {Burgess, Chris and Kim, Hyunjik},
  howpublished = {https://github.com/deepmind/3dshapes-dataset/},
  year = {2018}
}
@inproceedings{kim2018disentangling,
  title = {Disentangling by Factorising},
  author = {Kim, Hyunjik and Mnih, Andriy},
  booktitle = {Proceedings of the 35th International Conference on Machine Learning},
  year = {2018}
}""",
    license="MIT",
    homepage="https://github.com/deepmind/3d-shapes",
    effects=EFFECTS,
)
