"""Random: as few rows to train on as the harder rules leave, at random, for comparison with them.

Schott et al., ICLR 2022, arXiv 2107.08221: the reference that composition, interpolation and extrapolation are compared
with. On a grid as many rows are for training as under extrapolation, about 30%; where nothing can be extrapolated,
three tenths. ``draws.permutation(seed, n)`` puts the rows in order, and the first are for training. The paper's own
list is another one: it is drawn by numpy's shuffle.
"""

from __future__ import annotations

from benchmark_data.errors import InvalidInput
from benchmark_data.factors import FactorSpace
from benchmark_data.splits import _rule, _schott2022

DRAWN = True


def divide(space: _rule.Space, *, variant: str = "", seed: int = 0) -> _rule.Parts:
    """Divide a factor space.

    Args:
        space: a grid or a table.
        variant: none.
        seed: of the order.

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
    """Return how many rows are for training."""
    if isinstance(space, FactorSpace):
        try:
            values = _schott2022.extrapolated(space, "random")
            return int((~_rule.values_mask(space, values, every=False)).sum())
        except InvalidInput:
            pass
    return max(1, 3 * len(space) // 10)
