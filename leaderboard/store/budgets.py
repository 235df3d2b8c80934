"""What training cost, in words."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from leaderboard.store.results import Scored


def budget(runs: Sequence[Scored], *, full: bool = True) -> str:
    """Describe what training cost, with ranges of steps and images and the median time where runs differ.

    Args:
        runs: the runs.
        full: say how many images and on what device, too.

    Returns:
        Such as ``3,000 steps, 192,000 images, 61 s (median) on 2 cores``; ``none`` where nothing was trained.
    """

    def span(values: Sequence[float]) -> str:
        low, high = f"{min(values):,.0f}", f"{max(values):,.0f}"
        return low if low == high else f"{low} to {high}"

    budgets = [run.budget for run in runs]
    if not any(b.steps or b.images for b in budgets):
        return "none"
    counted = [b.images for b in budgets if b.images]
    seconds = [b.seconds for b in budgets if b.seconds]
    devices = ", ".join(sorted({b.device for b in budgets if b.device}))
    parts = [
        f"{span([b.steps for b in budgets])} steps",
        f"{span(counted)} images" if full and counted else "",
        f"{statistics.median(seconds):,.0f} s{' (median)' * (len(set(seconds)) > 1)}" if seconds else "",
    ]
    return ", ".join(filter(None, parts)) + (f" on {devices}" if devices and full else "")
