"""Audit the datasets of a results tree whose giveaway is not known of their version, and keep what is found with it.

python benchmarks/giveaways.py leaderboard/published
"""

from __future__ import annotations

import sys

from benchmark_data.variants.splitting import Divided
from leaderboard.report import families
from leaderboard.store import giveaways, results_tree

if __name__ == "__main__":
    known = giveaways.read(sys.argv[1])
    for name in sorted({result.dataset for result in results_tree.read_all(sys.argv[1])}):
        dataset = families.dataset(name)
        if dataset is None or not dataset.prepared or isinstance(dataset.source, Divided):
            continue
        if name not in known or known[name].version != dataset.version:
            print(giveaways.write(sys.argv[1], [giveaways.audited(dataset)]), name)
