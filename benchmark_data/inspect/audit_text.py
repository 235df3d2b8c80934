"""What an audit says, as the rows of a table and as sentences. Internal."""

from __future__ import annotations

import math

from benchmark_data.inspect.audit import Audit, Estimate, relative

HEADINGS = ("learned", "factor", "values", "distance", "ratio", "above", "correlation", "overlap", "equal")


def table(audit: Audit) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Write an audit as a table.

    Args:
        audit: what `benchmark_data.inspect.audit.audit` gave.

    Returns:
        The headings, and a row for each factor in the order in which a VAE is expected to learn them.
    """
    ranks = {name: str(rank) for rank, group in enumerate(audit.order(), 1) for name in group}
    ranked = sorted(
        audit.factors, key=lambda factor_audit: -factor_audit.importance.value if factor_audit.traversals else math.inf
    )
    return HEADINGS, [
        (
            ranks.get(factor_audit.factor.name, "-"),
            factor_audit.factor.name,
            str(factor_audit.factor.size),
            _format_number(factor_audit.importance.value, 4),
            _format_number(relative(factor_audit, audit), 2),
            _format_number(factor_audit.above_random.value, 2),
            _format_interval(factor_audit.correlation),
            _format_number(factor_audit.overlap.value, 2),
            _format_number(factor_audit.equal.value, 3),
        )
        for factor_audit in ranked
    ]


def summary(audit: Audit) -> list[str]:
    """Write an audit's numbers on the whole dataset as sentences.

    Args:
        audit: what `benchmark_data.inspect.audit.audit` gave.

    Returns:
        One or more sentences.
    """
    order = ", then ".join(" = ".join(group) for group in audit.order())
    is_whole_dataset = audit.sample == audit.images
    lines = [
        f"giveaway: {_format_interval(audit.giveaway)}",
        f"expected to be learned: {order or 'nothing is known of the order'}",
        f"random pairs: mean distance {_format_interval(audit.random, 4)}",
        f"collisions: {audit.collisions:,} of {audit.sample:,} images equal one with other labels"
        + (" (the whole dataset)" if is_whole_dataset else f" (a sample of {audit.images:,})"),
    ]
    unseen = [factor_audit.factor.name for factor_audit in audit.factors if not factor_audit.traversals]
    if unseen:
        names = ", ".join(unseen)
        lines.append(f"not measured, since no two images differ in it alone: {names}; leave out columns such as ids")
    unordered = [
        factor_audit.factor.name
        for factor_audit in audit.factors
        if factor_audit.traversals and factor_audit.factor.kind not in ("ordinal", "cyclic")
    ]
    if unordered:
        lines.append(f"no correlation and no overlap, since their values have no order: {', '.join(unordered)}")
    if few := [f"{factor_audit.factor.name} {factor_audit.few}" for factor_audit in audit.factors if factor_audit.few]:
        lines.append(
            "few images in a row, so that the giveaway and its interval say little of others of their kind: traversals "
            f"with an order: {', '.join(few)}; more images, or a grid of values"
        )
    if math.isnan(audit.giveaway.value):
        measured = [factor_audit.factor for factor_audit in audit.factors if factor_audit.traversals]
        ordered = [factor.name for factor in measured if factor.size > 2 and factor.kind in ("ordinal", "cyclic")]
        lines.append(
            "no giveaway, since the order of values takes images at two distances along one factor, such as three in a "
            f"row, and there are none in {', '.join(ordered)}: more images, or more values"
            if ordered
            else "no giveaway, since no factor that was measured has an order"
        )
    return lines


def _format_number(value: float, digits: int) -> str:
    """Write a number; "-" where there is none."""
    return "-" if math.isnan(value) else f"{round(value, digits) + 0.0:.{digits}f}"


def _format_interval(estimate: Estimate, digits: int = 2) -> str:
    """Write an estimate with its interval."""
    if math.isnan(estimate.value):
        return "-"
    return (
        f"{_format_number(estimate.value, digits)} "
        f"[{_format_number(estimate.low, digits)}, {_format_number(estimate.high, digits)}]"
    )
