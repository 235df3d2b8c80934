"""Recombination: some combinations of values are left out of training, as a corner, a region or a half of the grid.

Montero et al., "The Role of Disentanglement in Generalisation", ICLR 2021, and the conditions of its published code:

- ``to_element``: one small corner of the grid, where every factor has certain values, is for testing;
- ``to_range``: one value of a factor is never seen with half of the values of another;
- ``extrapolation``: half of the values of one factor are never seen.

On the grids of dSprites, Shapes3D and MPI3D the conditions are the published ones, and there are more, named below. A
condition on values, such as an orientation between 120 and 240 degrees (exclusive), is written as class ids. On other
grids the element is the last value of the first factor without an order (of the first factor, if all have one), the
range is the upper half of the next factor that has an order, and the corner is the upper third of every factor, or its
last value if it has no order.

Rows that are in neither part of the published split (MPI3D's ``extrapolation``: the column 20 itself) are in neither
list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from benchmark_data.errors import UnknownName
from benchmark_data.factors import FactorSpace
from benchmark_data.splits import _rule, _schott2022

DRAWN = False

Values = Mapping[str, Sequence[int]]
"""Factor -> class ids."""


class Condition(NamedTuple):
    """The rows that are held out.

    Attributes:
        test: rows whose factors all have these values are for testing.
        neither: other rows whose factors all have these values are in neither part.
    """

    test: Values
    neither: Values = MappingProxyType({})


DSPRITES = ("shape", "scale", "orientation", "posX", "posY")

SHAPES3D = ("floor_hue", "wall_hue", "object_hue", "scale", "shape", "orientation")

SIZES = {
    DSPRITES: (3, 6, 40, 32, 32),
    SHAPES3D: (10, 10, 10, 8, 4, 15),
    _schott2022.MPI3D: (6, 6, 2, 3, 3, 40, 40),
}
"""Names of a published grid's factors -> their sizes."""

PUBLISHED: Mapping[tuple[str, ...], Mapping[str, Condition]] = {
    DSPRITES: {
        # An ellipse, scale above 0.6, orientation in (120, 240) degrees, both positions above 0.66.
        "to_element": Condition(
            {
                "shape": [1],
                "scale": range(2, 6),
                "orientation": range(14, 26),
                "posX": range(21, 32),
                "posY": range(21, 32),
            }
        ),
        "to_range": Condition({"shape": [0], "posX": range(16, 32)}),  # squares on the right
        "extrapolation": Condition({"posX": range(16, 32)}),
    },
    SHAPES3D: {
        # A cylinder, all hues from 0.8, scale from 1.1, orientation above 20 degrees.
        "to_element": Condition(
            {
                "floor_hue": [8, 9],
                "wall_hue": [8, 9],
                "object_hue": [8, 9],
                "scale": [5, 6, 7],
                "shape": [1],
                "orientation": [12, 13, 14],
            }
        ),
        "to_range": Condition({"shape": [3], "object_hue": range(5, 10)}),  # capsules in cyan to magenta
        "to_range_floor": Condition({"shape": [3], "floor_hue": range(5, 10)}),
        "to_range_hues": Condition({"object_hue": [8, 9], "wall_hue": [0, 1, 2]}),
        "extrapolation": Condition({"floor_hue": range(5, 10)}),
    },
    _schott2022.MPI3D: {
        # An olive, large cylinder, camera and background in the middle, both axes above 35.
        "to_element": Condition(
            {
                "object_color": [5],
                "object_shape": [2],
                "object_size": [1],
                "camera_height": [1],
                "background_color": [1],
                "horizontal_axis": range(36, 40),
                "vertical_axis": range(36, 40),
            }
        ),
        "to_range": Condition({"object_shape": [2], "horizontal_axis": range(20)}),  # cylinders
        "to_range_color": Condition({"object_color": [2], "horizontal_axis": range(20)}),  # red objects
        "extrapolation": Condition({"horizontal_axis": range(21, 40)}, neither={"horizontal_axis": [20]}),
        "extrapolation_color": Condition({"object_color": [4, 5]}),
    },
}
"""Names of a grid's factors -> variant -> condition."""


def variants(space: _rule.Space) -> tuple[str, ...]:
    """List the conditions on a grid.

    Args:
        space: a grid.

    Returns:
        Their names.

    Raises:
        InvalidInput: the space is no grid, or no factor has an order.
    """
    return tuple(_conditions(_rule.check_grid(space, "recombination")))


def divide(space: _rule.Space, *, variant: str = "", seed: int = 0) -> _rule.Parts:
    """Divide a grid.

    Args:
        space: a grid.
        variant: the condition.
        seed: ignored; the rule is deterministic.

    Returns:
        The rows.

    Raises:
        InvalidInput: the space is no grid, or no factor has an order.
        UnknownName: there is no such condition.

    Example:
        >>> from benchmark_data.factors import Factor, FactorSpace
        >>> space = FactorSpace(Factor("shape", range(2), "categorical"), Factor("x", range(4)))
        >>> divide(space, variant="to_range").test.tolist()
        [6, 7]
    """
    space = _rule.check_grid(space, "recombination")
    conditions = _conditions(space)
    if variant not in conditions:
        raise UnknownName("variant of split rule 'recombination'", variant, conditions)
    condition = conditions[variant]
    parts = _rule.parts_from_mask(_rule.values_mask(space, _class_ids_by_column(space, condition.test), every=True))
    if not condition.neither:
        return parts
    left_out = _rule.values_mask(space, _class_ids_by_column(space, condition.neither), every=True)
    return parts._replace(train=parts.train[~left_out[parts.train]])


def _class_ids_by_column(space: FactorSpace, values: Values) -> dict[int, list[int]]:
    return {space.column(name): list(ids) for name, ids in values.items()}


def _conditions(space: FactorSpace) -> Mapping[str, Condition]:
    """Return the published conditions on a grid, or the general ones."""
    if SIZES.get(space.names) == space.sizes:
        return PUBLISHED[space.names]
    factors = [factor for factor in space.factors if factor.size > 1]
    _schott2022.held_columns(space, "recombination")  # at least one has an order
    element = next((factor for factor in factors if not _rule.has_order(factor)), factors[0])
    range_factor = next((factor for factor in factors if _rule.has_order(factor) and factor is not element), element)
    upper = range(-(-range_factor.size // 2), range_factor.size)
    extrapolation = {"extrapolation": Condition({range_factor.name: upper})}
    if range_factor is element:
        return extrapolation
    corner = {
        factor.name: range(factor.size - max(1, factor.size // 3), factor.size)
        if _rule.has_order(factor)
        else [factor.size - 1]
        for factor in factors
    }
    return {
        "to_element": Condition(corner),
        "to_range": Condition({element.name: [element.size - 1], range_factor.name: upper}),
        **extrapolation,
    }
