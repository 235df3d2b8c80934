"""Shared by the splits of Schott et al.: the factors that are held out, and how many values of each.

Schott et al., "Visual Representation Learning Does Not Generalize Strongly Within the Same Domain", ICLR 2022,
arXiv 2107.08221. A share q of the values of each factor with an order is held out for testing: 0.2 on dSprites, 0.15 on
Shapes3D, 0.1 on MPI3D, so that about 30% of the images remain for training. These are the smallest multiples of 0.05
that leave at most a third for training under extrapolation; q is chosen by the same rule on other grids.

On MPI3D the paper's code also holds out values of the colours of the object and of the background, but none of the
object's size, which has two values. dSprites' orientation and the hues of Shapes3D are treated as ordinal, not cyclic.
"""

from __future__ import annotations

import math
from fractions import Fraction

from benchmark_data.errors import InvalidInput
from benchmark_data.factors import FactorSpace
from benchmark_data.splits import _rule

MPI3D = (
    *("object_color", "object_shape", "object_size", "camera_height", "background_color"),
    *("horizontal_axis", "vertical_axis"),
)

MPI3D_HELD = ("object_color", "camera_height", "background_color", "horizontal_axis", "vertical_axis")

MAX_TRAIN_SHARE = Fraction(1, 3)
"""The largest share of a grid for training under extrapolation."""


def held_columns(space: FactorSpace, rule: str) -> list[int]:
    """List the columns of the factors with held-out values.

    Raises:
        InvalidInput: no factor of the grid has an order.
    """
    columns = [column for column, factor in enumerate(space.factors) if _rule.has_order(factor)]
    if not columns:
        raise InvalidInput(f"split rule {rule!r}: expected a factor whose values have an order, received {space!r}.")
    return [space.column(name) for name in MPI3D_HELD] if space.names == MPI3D else columns


def held_out_share(sizes: tuple[int, ...]) -> Fraction:
    """Return the share q of held-out values, given the sizes of the factors.

    Example:
        >>> [float(held_out_share(sizes)) for sizes in ((6, 40, 32, 32), (10, 10, 10, 8, 15), (6, 3, 3, 40, 40))]
        [0.2, 0.15, 0.1]
    """
    steps = (Fraction(step, 20) for step in range(1, 20))
    return next(
        q
        for q in steps
        if math.prod(Fraction(size - held_out_count(size, q), size) for size in sizes) <= MAX_TRAIN_SHARE
        or q == Fraction(19, 20)
    )


def held_out_count(size: int, q: Fraction) -> int:
    """Return how many values of a factor are held out: the share q of them, rounded up, but never all."""
    return min(math.ceil(size * q), size - 1)


def extrapolated(space: FactorSpace, rule: str = "extrapolation") -> dict[int, list[int]]:
    """Return the values held out for extrapolation: column -> the last class ids."""
    columns = held_columns(space, rule)
    q = held_out_share(tuple(space.sizes[column] for column in columns))
    return {
        column: list(range(space.sizes[column] - held_out_count(space.sizes[column], q), space.sizes[column]))
        for column in columns
    }


def interpolated(space: FactorSpace) -> dict[int, list[int]]:
    """Return the values held out for interpolation: column -> class ids, spread as evenly as possible.

    The train values are the nearest to m evenly spaced points from the first value to the last, where m is the number
    of values that are not held out; halves are rounded to the even class id.
    """
    columns = held_columns(space, "interpolation")
    q = held_out_share(tuple(space.sizes[column] for column in columns))
    values = {}
    for column in columns:
        size = space.sizes[column]
        kept_count = size - held_out_count(size, q)
        kept_ids = {round(Fraction(i * (size - 1), max(1, kept_count - 1))) for i in range(kept_count)}
        values[column] = sorted(set(range(size)) - kept_ids)
    return values


def composed(space: FactorSpace) -> dict[int, list[int]]:
    """Return the values of which each train image has at least one: column -> the first class ids.

    For each of n factors they are floor(size (1 - (1 - (1 - q)^n)^(1/n))) values, which without the floor leaves as
    many images for training as extrapolation. If fewer than two factors would have any, each has its first: with values
    of one factor alone, training would lack that factor's other values.

    Raises:
        InvalidInput: fewer than two factors of the grid have an order.
    """
    columns = held_columns(space, "composition")
    if len(columns) < 2:
        raise InvalidInput(f"split rule 'composition': expected two or more factors with an order, received {space!r}.")
    q = float(held_out_share(tuple(space.sizes[column] for column in columns)))
    n = len(columns)
    first_share = 1 - (1 - (1 - q) ** n) ** (1 / n)
    counts = {column: math.floor(space.sizes[column] * first_share) for column in columns}
    if sum(map(bool, counts.values())) < 2:
        counts = dict.fromkeys(columns, 1)
    return {column: list(range(count)) for column, count in counts.items() if count}
