"""Extrapolation: the last values of every ordered factor are seen in testing only.

Schott et al., ICLR 2022, arXiv 2107.08221. An image is for testing if any of its factors has one of the factor's last
ceil(q size) values. `benchmark_data.splits._schott2022` defines the factors and q.
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
        InvalidInput: the space is no grid, or no factor has an order.

    Example:
        >>> from benchmark_data.factors import Factor, FactorSpace
        >>> divide(FactorSpace(Factor("shape", range(2), "categorical"), Factor("x", range(6)))).train.tolist()
        [0, 1, 6, 7]
    """
    space = _rule.check_grid(space, "extrapolation")
    return _rule.parts_from_mask(_rule.values_mask(space, _schott2022.extrapolated(space), every=False))
