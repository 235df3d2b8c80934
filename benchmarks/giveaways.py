"""Audit the datasets of a results tree whose giveaway is not known of their version, and keep what is found with it.

python benchmarks/giveaways.py leaderboard/published
"""

from __future__ import annotations

import sys

from benchmark_data.dataset import Dataset
from benchmark_data.inspect import audit
from benchmark_data.variants.splitting import Divided
from leaderboard.report import ranking
from leaderboard.store import giveaways, results_tree


def audited(dataset: Dataset, *, traversals: int = 200, pairs: int = 5_000, seed: int = 0) -> giveaways.Giveaway:
    """Audit a dataset as ``benchmark_data.inspect.audit.audit`` does, and return what is kept, in six decimals."""
    report = audit.audit(dataset, traversals=traversals, pairs=pairs, seed=seed)
    is_number = report.giveaway.value == report.giveaway.value
    value, low, high = (round(end, 6) if is_number else None for end in report.giveaway)
    return giveaways.Giveaway(
        dataset=report.dataset,
        version=report.version,
        giveaway=value,
        low=low,
        high=high,
        order=tuple(map(tuple, report.order())),
        importance={row.factor.name: round(row.importance.value, 6) for row in report.factors if row.traversals},
        seed=seed,
        traversals=traversals,
        pairs=pairs,
    )


if __name__ == "__main__":
    published = giveaways.read(sys.argv[1])
    for name in sorted({result.dataset for result in results_tree.read_all(sys.argv[1])}):
        dataset = ranking.known_dataset(name)
        if dataset is None or not dataset.prepared or isinstance(dataset.source, Divided):
            continue
        if name not in published or published[name].version != dataset.version:
            print(giveaways.write(sys.argv[1], [audited(dataset)]), name)
