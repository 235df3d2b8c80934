"""The judge: metrics, comparisons and tables, computed from arrays and files that anyone may have written.

`leaderboard.evaluate` scores an encoder on tasks, `leaderboard.Monitor` inside a training loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmark_data import discovery

if TYPE_CHECKING:
    from leaderboard.evaluation import PUBLISHED, Evaluation, evaluate
    from leaderboard.monitor import BatchedMetric, Monitor

__all__ = ["PUBLISHED", "BatchedMetric", "Evaluation", "Monitor", "evaluate"]

__getattr__, __dir__ = discovery.on_demand(
    __name__,
    {
        "leaderboard.evaluation": ("PUBLISHED", "Evaluation", "evaluate"),
        "leaderboard.monitor": ("BatchedMetric", "Monitor"),
    },
)
