"""Holdout: nine tenths of the rows to train on, one tenth to test on, at random.

For any dataset. The rule is of this project, and not of a paper. ``draws.permutation(seed, n)`` orders the n rows, and
the first ceil(n / 10) are for testing, as for the sides of transfer pairs
(`benchmark_data.variants.pairs.train_and_test_rows`).
"""

from __future__ import annotations

from benchmark_data.splits import _rule

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
        >>> divide(FactorSpace(Factor("x", range(20)))).test.tolist()
        [5, 16]
    """
    return _rule.parts_from_mask(_rule.random_mask(space, -(-len(space) // 10), seed))
