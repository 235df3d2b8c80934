"""Holdout: nine tenths of the rows to train on, one tenth to test on, at random.

For any dataset. The rule is of this project, and not of a paper. ``draws.permutation(seed, n)`` puts the n rows in
order, and the first ceil(n / 10) are for testing: the formula by which the sides of transfer pairs are divided
(`benchmark_data.variants.pairs.train_and_test_rows`).
"""

from __future__ import annotations

from benchmark_data.splits import _rule

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
        >>> divide(FactorSpace(Factor("x", range(20)))).test.tolist()
        [5, 16]
    """
    return _rule.parts_from_mask(_rule.random_mask(space, -(-len(space) // 10), seed))
