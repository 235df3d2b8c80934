"""Format an audit as a table and as sentences. Internal."""

from __future__ import annotations

import math

from benchmark_data.inspect.audit import Audit, Estimate, relative_importance

HEADINGS = ("learned", "factor", "values", "distance", "ratio", "above", "correlation", "overlap", "equal")


def table(audit: Audit) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Format an audit as a table.

    Args:
        audit: the result of `benchmark_data.inspect.audit.audit`.

    Returns:
        The headings, and a row for each factor in the order in which a VAE is expected to learn them.
    """
    ranks = {name: str(rank) for rank, group in enumerate(audit.order(), 1) for name in group}
    ranked = sorted(audit.factors, key=lambda entry: -entry.importance.value if entry.traversals else math.inf)
    return HEADINGS, [
        (
            ranks.get(entry.factor.name, "-"),
            entry.factor.name,
            str(entry.factor.size),
            _rounded(entry.importance.value, 4),
            _rounded(relative_importance(entry, audit), 2),
            _rounded(entry.above_random.value, 2),
            _format_interval(entry.correlation),
            _rounded(entry.overlap.value, 2),
            _rounded(entry.equal.value, 3),
        )
        for entry in ranked
    ]


def summary(audit: Audit) -> list[str]:
    """Format an audit's results on the whole dataset as sentences.

    Args:
        audit: the result of `benchmark_data.inspect.audit.audit`.

    Returns:
        One or more sentences.
    """
    order = ", then ".join(" = ".join(group) for group in audit.order())
    is_whole_dataset = audit.sample == audit.images
    lines = [
        f"giveaway: {_format_interval(audit.giveaway)}",
        f"expected order of learning: {order or 'unknown'}",
        f"random pairs: mean distance {_format_interval(audit.random, 4)}",
        f"collisions: {audit.collisions:,} of {audit.sample:,} images equal one with other labels"
        + (" (the whole dataset)" if is_whole_dataset else f" (a sample of {audit.images:,})"),
    ]
    unseen = [entry.factor.name for entry in audit.factors if not entry.traversals]
    if unseen:
        names = ", ".join(unseen)
        lines.append(f"not measured, since no two images differ only in it: {names}; remove columns such as ids")
    unordered = [
        entry.factor.name
        for entry in audit.factors
        if entry.traversals and entry.factor.kind not in ("ordinal", "cyclic")
    ]
    if unordered:
        lines.append(f"no correlation or overlap, since their values have no order: {', '.join(unordered)}")
    if few := [f"{entry.factor.name} {entry.few}" for entry in audit.factors if entry.few]:
        lines.append(
            "few traversals with an order, so the giveaway and its interval may not generalise to further images: "
            f"{', '.join(few)}; add images, or use a grid of values"
        )
    if math.isnan(audit.giveaway.value):
        measured = [entry.factor for entry in audit.factors if entry.traversals]
        ordered = [factor.name for factor in measured if factor.size > 2 and factor.kind in ("ordinal", "cyclic")]
        lines.append(
            "no giveaway, since it needs images at two distances along one factor, such as three values in a row, and "
            f"there are none in {', '.join(ordered)}; add images or values"
            if ordered
            else "no giveaway, since no measured factor has an order"
        )
    return lines


def _rounded(value: float, digits: int) -> str:
    """Format a number; NaN as "-"."""
    return "-" if math.isnan(value) else f"{round(value, digits) + 0.0:.{digits}f}"


def _format_interval(estimate: Estimate, digits: int = 2) -> str:
    """Format an estimate with its interval."""
    if math.isnan(estimate.value):
        return "-"
    return f"{_rounded(estimate.value, digits)} [{_rounded(estimate.low, digits)}, {_rounded(estimate.high, digits)}]"
