"""Audit the datasets of a results tree whose giveaway is not known of their version, and keep what is found with it.

python benchmarks/giveaways.py leaderboard/published
"""

from __future__ import annotations

import sys

from benchmark_data.dataset import Dataset
from benchmark_data.inspect import audit
from benchmark_data.variants.splitting import Divided
from leaderboard.report import families
from leaderboard.store import giveaways, results_tree


def audited(dataset: Dataset, *, traversals: int = 200, pairs: int = 5_000, seed: int = 0) -> giveaways.Giveaway:
    """Audit a dataset as ``benchmark_data.inspect.audit.audit`` does, and return what is kept, in six decimals."""
    found = audit.audit(dataset, traversals=traversals, pairs=pairs, seed=seed)
    told = found.giveaway.value == found.giveaway.value
    value, low, high = (round(end, 6) if told else None for end in found.giveaway)
    return giveaways.Giveaway(
        dataset=found.dataset,
        version=found.version,
        giveaway=value,
        low=low,
        high=high,
        order=tuple(map(tuple, found.order())),
        importance={one.factor.name: round(one.importance.value, 6) for one in found.factors if one.traversals},
        seed=seed,
        traversals=traversals,
        pairs=pairs,
    )


if __name__ == "__main__":
    known = giveaways.read(sys.argv[1])
    for name in sorted({result.dataset for result in results_tree.read_all(sys.argv[1])}):
        dataset = families.dataset(name)
        if dataset is None or not dataset.prepared or isinstance(dataset.source, Divided):
            continue
        if name not in known or known[name].version != dataset.version:
            print(giveaways.write(sys.argv[1], [giveaways.audited(dataset)]), name)
