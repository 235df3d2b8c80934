"""What a display shows of runs that are being trained: one bar for all that are trained side by side.

Internal.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

import rich.progress

from baselines.config import RunConfig


def columns() -> tuple[rich.progress.ProgressColumn, ...]:
    """Return the columns that a display needs to show runs: images per second, and the loss."""
    return (
        rich.progress.TextColumn("{task.fields[rate]}", style="cyan"),
        rich.progress.TextColumn("{task.fields[loss]}"),
    )


def side_by_side(configs: Sequence[RunConfig], steps: Sequence[int]) -> list[list[int]]:
    """Sort runs of one program by the bar that shows them: those that start at one step and end at one.

    Args:
        configs: the runs.
        steps: the last step that each had done before.

    Returns:
        Positions, each in one group, in order.

    Example:
        >>> runs = [RunConfig(dataset="dsprites", objective="ae", seed=seed) for seed in range(3)]
        >>> side_by_side(runs, [0, 500, 0])
        [[0, 2], [1]]
    """
    found: dict[tuple[int, int], list[int]] = {}
    for i, (config, step) in enumerate(zip(configs, steps, strict=True)):
        found.setdefault((step, config.steps), []).append(i)
    return list(found.values())


def named(configs: Sequence[RunConfig]) -> str:
    """Name runs of one objective on one dataset that are shown together.

    Example:
        >>> named([RunConfig(dataset="dsprites", objective="ae", seed=seed) for seed in range(25)])
        'ae/0 to 24 (25 runs) dsprites'
    """
    seeds = [config.seed for config in configs]
    which = f"{min(seeds)} to {max(seeds)}" if min(seeds) < max(seeds) else f"{seeds[0]}"
    many = f" ({len(configs)} runs)" if len(configs) > 1 else ""
    return f"{configs[0].objective}/{which}{many} {configs[0].dataset}"


class Bar:
    """The bar of runs that are trained side by side.

    Args:
        progress: the display, which has the columns of `columns`.
        configs: the runs, which differ in nothing but seed and strengths.
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
        self._progress, self._first, self._start = progress, _mean(steps), time.perf_counter()
        self._images = configs[0].batch_size * configs[0].build_objective().n_views
        self._each = " each" if len(configs) > 1 else ""
        self._bar = progress.add_task(
            named(configs), total=configs[0].steps, completed=self._first, rate="", loss=_said(losses, 0)
        )

    def show(self, steps: Sequence[int], losses: Sequence[str], stopped: Sequence[bool]) -> None:
        """Show where the runs stand: their step, or the mean where one is ahead, and the range of their losses.

        Args:
            steps: the last step of each.
            losses: the loss of that step, as text; empty if there is none.
            stopped: which of them cannot go on. They count for nothing while another one can.
        """
        going = [i for i, over in enumerate(stopped) if not over] or range(len(steps))
        step = _mean([steps[i] for i in going])
        rate = max(0, step - self._first) * self._images / (time.perf_counter() - self._start)
        self._progress.update(
            self._bar,
            completed=step,
            rate=f"{rate:,.0f} img/s{self._each}",
            loss=f"stopped: {_range(losses)}" if all(stopped) else _said([losses[i] for i in going], sum(stopped)),
        )


def _mean(steps: Sequence[int]) -> int:
    return sum(steps) // len(steps)


def _said(losses: Sequence[str], stopped: int) -> str:
    held = _range(losses)
    return ", ".join(filter(None, [held and f"loss {held}", f"{stopped} stopped" if stopped else ""]))


def _range(losses: Sequence[str]) -> str:
    """Return the lowest and the highest loss, or the one that all have."""
    known = sorted(filter(None, losses), key=lambda text: (math.isnan(float(text)), float(text)))
    return " to ".join(dict.fromkeys([known[0], known[-1]])) if known else ""
