"""What an audit says, as the rows of a table and as sentences. Internal."""

from __future__ import annotations

import math

from benchmark_data.inspect.audit import Audit, Estimate, relative

HEADINGS = ("learned", "factor", "values", "distance", "ratio", "above", "correlation", "overlap", "equal")


def table(found: Audit) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Write an audit as a table.

    Args:
        found: what `benchmark_data.inspect.audit.audit` gave.

    Returns:
        The headings, and a row for each factor in the order in which a VAE is expected to learn them.
    """
    places = {name: str(place) for place, group in enumerate(found.order(), 1) for name in group}
    ranked = sorted(found.factors, key=lambda one: -one.importance.value if one.traversals else math.inf)
    return HEADINGS, [
        (
            places.get(one.factor.name, "-"),
            one.factor.name,
            str(one.factor.size),
            _written(one.importance.value, 4),
            _written(relative(one, found), 2),
            _written(one.above_random.value, 2),
            _interval(one.correlation),
            _written(one.overlap.value, 2),
            _written(one.equal.value, 3),
        )
        for one in ranked
    ]


def summary(found: Audit) -> list[str]:
    """Write an audit's numbers on the whole dataset as sentences.

    Args:
        found: what `benchmark_data.inspect.audit.audit` gave.

    Returns:
        One or more sentences.
    """
    order = ", then ".join(" = ".join(group) for group in found.order())
    whole = found.sample == found.images
    lines = [
        f"giveaway: {_interval(found.giveaway)}",
        f"expected to be learned: {order or 'nothing is known of the order'}",
        f"random pairs: mean distance {_interval(found.random, 4)}",
        f"collisions: {found.collisions:,} of {found.sample:,} images equal one with other labels"
        + (" (the whole dataset)" if whole else f" (a sample of {found.images:,})"),
    ]
    unseen = [one.factor.name for one in found.factors if not one.traversals]
    if unseen:
        names = ", ".join(unseen)
        lines.append(f"not measured, since no two images differ in it alone: {names}; leave out columns such as ids")
    unordered = [
        one.factor.name for one in found.factors if one.traversals and one.factor.kind not in ("ordinal", "cyclic")
    ]
    if unordered:
        lines.append(f"no correlation and no overlap, since their values have no order: {', '.join(unordered)}")
    if few := [f"{one.factor.name} {one.few}" for one in found.factors if one.few]:
        lines.append(
            "few images in a row, so that the giveaway and its interval say little of others of their kind: traversals "
            f"with an order: {', '.join(few)}; more images, or a grid of values"
        )
    if math.isnan(found.giveaway.value):
        measured = [one.factor for one in found.factors if one.traversals]
        ordered = [factor.name for factor in measured if factor.size > 2 and factor.kind in ("ordinal", "cyclic")]
        lines.append(
            "no giveaway, since the order of values takes images at two distances along one factor, such as three in a "
            f"row, and there are none in {', '.join(ordered)}: more images, or more values"
            if ordered
            else "no giveaway, since no factor that was measured has an order"
        )
    return lines


def _written(value: float, digits: int) -> str:
    """Write a number; "-" where there is none."""
    return "-" if math.isnan(value) else f"{round(value, digits) + 0.0:.{digits}f}"


def _interval(found: Estimate, digits: int = 2) -> str:
    """Write an estimate with its interval."""
    if math.isnan(found.value):
        return "-"
    return f"{_written(found.value, digits)} [{_written(found.low, digits)}, {_written(found.high, digits)}]"
