"""Metrics, comparisons and the leaderboard, computed from arrays and files of any origin.

`leaderboard.evaluate` scores an encoder on tasks, `leaderboard.Monitor` inside a training loop.
"""

from typing import TYPE_CHECKING

from benchmark_data import discovery

if TYPE_CHECKING:
    from leaderboard.evaluation import Evaluation, evaluate
    from leaderboard.monitor import BatchedMetric, Monitor
    from leaderboard.store.results_tree import PUBLISHED

__all__ = ["PUBLISHED", "BatchedMetric", "Evaluation", "Monitor", "evaluate"]

__getattr__, __dir__ = discovery.on_demand(
    __name__,
    {
        "leaderboard.evaluation": ("Evaluation", "evaluate"),
        "leaderboard.monitor": ("BatchedMetric", "Monitor"),
        "leaderboard.store.results_tree": ("PUBLISHED",),
    },
)
