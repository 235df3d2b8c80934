"""Random: random train rows, as few as for the harder rules, for comparison with them.

Schott et al., ICLR 2022, arXiv 2107.08221, compare composition, interpolation and extrapolation with this rule. On a
grid as many rows are for training as under extrapolation, about 30%; if no factor has an order, three tenths.
``draws.permutation(seed, n)`` orders the rows, and the first are for training. The paper's rows are others, drawn by
numpy's shuffle.
"""

from __future__ import annotations

from benchmark_data.errors import InvalidInput
from benchmark_data.factors import FactorSpace
from benchmark_data.splits import _rule, _schott2022

DRAWN = True


def divide(space: _rule.Space, *, variant: str = "", seed: int = 0) -> _rule.Parts:
    """Split a factor space.

    Args:
        space: a grid or a table.
        variant: ignored; the rule has no variants.
        seed: seed of the permutation.

    Returns:
        The rows.

    Example:
        >>> from benchmark_data.factors import Factor, FactorSpace
        >>> parts = divide(FactorSpace(Factor("x", range(20)), Factor("y", range(10))))
        >>> len(parts.train), len(parts.test)
        (55, 145)
    """
    return _rule.parts_from_mask(~_rule.random_mask(space, _count_train_rows(space), seed))


def _count_train_rows(space: _rule.Space) -> int:
    """Return the number of train rows."""
    if isinstance(space, FactorSpace):
        try:
            values = _schott2022.extrapolated(space, "random")
            return int((~_rule.values_mask(space, values, every=False)).sum())
        except InvalidInput:
            pass
    return max(1, 3 * len(space) // 10)
