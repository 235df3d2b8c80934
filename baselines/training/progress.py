"""Progress display of training: one bar for all runs that are trained together.

Internal.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

import rich.progress

from baselines.config import RunConfig
from benchmark_data import console


def display() -> rich.progress.Progress:
    """Make a display of runs, for a ``with`` block: their steps, images per second, and the loss."""
    return console.progress(
        rich.progress.TextColumn("{task.fields[rate]}", style="cyan"),
        rich.progress.TextColumn("{task.fields[loss]}"),
    )


def describe(configs: Sequence[RunConfig]) -> str:
    """Return the label of runs of one objective on one dataset.

    Example:
        >>> describe([RunConfig(dataset="dsprites", objective="ae", seed=seed) for seed in range(25)])
        'ae/0 to 24 (25 runs) dsprites'
    """
    seeds = [config.seed for config in configs]
    seed_range = f"{min(seeds)} to {max(seeds)}" if min(seeds) < max(seeds) else f"{seeds[0]}"
    run_count = f" ({len(configs)} runs)" if len(configs) > 1 else ""
    return f"{configs[0].objective}/{seed_range}{run_count} {configs[0].dataset}"


class Bar:
    """The bar of runs that are trained together.

    Args:
        progress: the display, from `display`.
        configs: the runs, of one objective on one dataset.
        steps: the last step of each so far.
        losses: the loss of that step, as text; empty if there is none.
    """

    def __init__(
        self,
        progress: rich.progress.Progress,
        configs: Sequence[RunConfig],
        steps: Sequence[int],
        losses: Sequence[str],
    ) -> None:
        self._progress, self._first_steps, self._start_time = progress, list(steps), time.perf_counter()
        self._images_per_step = configs[0].images_per_step
        self._rate_suffix = " each" if len(configs) > 1 else ""
        total = _mean_step([config.steps for config in configs])
        self._task = progress.add_task(
            describe(configs), total=total, completed=_mean_step(steps), rate="", loss=_summary(losses, 0)
        )

    def show(self, steps: Sequence[int], losses: Sequence[str], stopped: Sequence[bool]) -> None:
        """Show the runs' step, or its mean if they differ, and the range of their losses.

        Args:
            steps: the last step of each.
            losses: the loss of that step, as text; empty if there is none.
            stopped: which of them cannot continue; they are ignored while another one can.
        """
        active = [i for i, is_stopped in enumerate(stopped) if not is_stopped] or range(len(steps))
        step = _mean_step([steps[i] for i in active])
        done = max(0, step - _mean_step([self._first_steps[i] for i in active]))
        rate = done * self._images_per_step / (time.perf_counter() - self._start_time)
        self._progress.update(
            self._task,
            completed=step,
            rate=f"{rate:,.0f} img/s{self._rate_suffix}",
            loss=f"stopped: {_range(losses)}" if all(stopped) else _summary([losses[i] for i in active], sum(stopped)),
        )


def _mean_step(steps: Sequence[int]) -> int:
    return sum(steps) // len(steps)


def _summary(losses: Sequence[str], stopped: int) -> str:
    loss_range = _range(losses)
    return ", ".join(filter(None, [loss_range and f"loss {loss_range}", f"{stopped} stopped" if stopped else ""]))


def _range(losses: Sequence[str]) -> str:
    """Return the lowest and the highest loss, or one if they are equal."""
    recorded = sorted(filter(None, losses), key=lambda text: (math.isnan(float(text)), float(text)))
    return " to ".join(dict.fromkeys([recorded[0], recorded[-1]])) if recorded else ""
