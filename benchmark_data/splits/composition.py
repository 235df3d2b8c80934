"""Composition: every value is seen in training, but not every combination of values.

Schott et al., ICLR 2022, arXiv 2107.08221. An image is for training if any of its factors has one of the factor's first
values, and for testing otherwise. Each value occurs in both parts, or in training only.
`benchmark_data.splits._schott2022` defines the factors and the number of values.
"""

from __future__ import annotations

from benchmark_data.splits import _rule, _schott2022

DRAWN = False


def divide(space: _rule.Space, *, variant: str = "", seed: int = 0) -> _rule.Parts:
    """Divide a grid.

    Args:
        space: a grid.
        variant: ignored; the rule has no variants.
        seed: ignored; the rule is deterministic.

    Returns:
        The rows.

    Raises:
        InvalidInput: the space is no grid, or fewer than two factors have an order.

    Example:
        >>> from benchmark_data.factors import Factor, FactorSpace
        >>> divide(FactorSpace(Factor("x", range(4)), Factor("y", range(4)))).test.tolist()
        [5, 6, 7, 9, 10, 11, 13, 14, 15]
    """
    space = _rule.check_grid(space, "composition")
    return _rule.parts_from_mask(~_rule.values_mask(space, _schott2022.composed(space), every=False))
