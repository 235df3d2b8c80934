"""Audit the datasets of a results tree whose giveaway is not known of their version, and keep what is found with it.

python benchmarks/giveaways.py leaderboard/published
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path

from benchmark_data.dataset import Dataset
from benchmark_data.files import write_json
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


def write(root: str | os.PathLike[str], measured: Iterable[giveaways.Giveaway]) -> Path:
    """Add entries to a results tree, replacing those of the same datasets.

    Args:
        root: the results tree.
        measured: the entries.

    Returns:
        The file.

    Raises:
        DamagedFile: the existing file breaks the schema.
        InvalidInput: the folder cannot be written.
    """
    root = Path(root)
    with results_tree.lock(root):
        merged = giveaways.read(root) | {giveaway.dataset: giveaway for giveaway in measured}
        stored = giveaways.Giveaways(datasets=tuple(merged[name] for name in sorted(merged)))
        write_json(root / giveaways.FILE, stored.model_dump(mode="json"))
    return root / giveaways.FILE


if __name__ == "__main__":
    published = giveaways.read(sys.argv[1])
    for name in sorted({result.dataset for result in results_tree.read_all(sys.argv[1])}):
        dataset = ranking.known_dataset(name)
        if dataset is None or not dataset.prepared or isinstance(dataset.source, Divided):
            continue
        if name not in published or published[name].version != dataset.version:
            print(write(sys.argv[1], [audited(dataset)]), name)
