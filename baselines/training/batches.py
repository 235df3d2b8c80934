"""The train rows of a run, and the batch of each step, prefetched in a thread. Internal."""

from __future__ import annotations

import collections
import contextlib
import functools
import itertools
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from baselines.config import RunConfig
from baselines.model import generator
from baselines.objectives import Objective
from benchmark_data import draws
from benchmark_data.dataset import Dataset
from benchmark_data.errors import UnknownName
from benchmark_data.factors import FactorSpace, FactorTable, Indices
from benchmark_data.variants import splitting

AHEAD = 4
"""Steps whose batches are prepared while the device works."""

Batches: TypeAlias = list[dict[str, NDArray[Any]]]
"""The result of `draw_batch` for each of the runs trained together."""


def training_rows(dataset: Dataset, share: float, split: str = "") -> Indices:
    """Return the train rows, int64 (m,), in a random order that does not depend on a run's seed.

    Args:
        dataset: the dataset.
        share: the share of the rows, in (0, 1]; at least one row.
        split: the split whose rows are used; all rows if empty.

    Raises:
        UnknownName: there is no such split.

    Example:
        >>> import benchmark_data
        >>> len(training_rows(benchmark_data.load("xysquares/spacing_1"), 0.9))
        235929
    """
    if split and split not in dataset.splits:
        raise UnknownName(f"split of {dataset.id}", split, [*dataset.splits, *splitting.split_rules()])
    rows = dataset.splits[split] if split else range(len(dataset))
    return _shuffle_rows(rows, max(1, int(share * len(rows))))


@functools.lru_cache(maxsize=1)  # of all runs that are trained together, and of the check before
def _shuffle_rows(rows: range, count: int) -> Indices:
    """Shuffle rows, and return the first of them, read-only."""
    shuffled: Indices = rows.start + draws.permutation(0, len(rows))[:count]
    shuffled.flags.writeable = False
    return shuffled


def drawable_factors(config: RunConfig, objective: Objective, dataset: Dataset) -> FactorSpace | FactorTable:
    """Return the dataset's factors, or the split's for an objective on pairs, since both images are of the split."""
    split_rows = dataset.splits[config.split] if config.split else range(len(dataset))
    uses_all_factors = objective.n_views == 1 or len(split_rows) == len(dataset)
    return dataset.space if uses_all_factors else dataset.space.part(split_rows)


def draw_batch(
    config: RunConfig,
    objective: Objective,
    dataset: Dataset,
    rows: Indices,
    step: int,
    *,
    images: bool = True,
    space: FactorSpace | FactorTable | None = None,
) -> dict[str, NDArray[Any]]:
    """Draw a step's batch, which depends on the config and the step alone.

    Args:
        config: the run's config.
        objective: its objective.
        dataset: its dataset.
        rows: the train rows.
        step: the step, from 1.
        images: return images; otherwise their rows.
        space: the factors of the rows that may be drawn, from `drawable_factors`; the dataset's if None.

    Returns:
        ``images`` uint8 (n, H, W, C), or ``rows`` int32 (n,); ``noise`` float32 (n, code size), ``step`` float32 () and
        the objective's inputs.
    """
    rng = generator(config.seed, step)
    batch_rows = objective.rows(rows, space or dataset.space, config.batch_size, rng).ravel()
    code_size = objective.code_size(config.latents, dataset.space.sizes)
    return {
        "noise": rng.standard_normal((len(batch_rows), code_size), np.float32),
        "step": np.array(step, np.float32),
        **objective.inputs(batch_rows, dataset.space, config.latents, rng),
        **({"images": dataset.images(batch_rows)} if images else {"rows": batch_rows.astype(np.int32)}),
    }


@contextlib.contextmanager
def batches(
    configs: Sequence[RunConfig], dataset: Dataset, done: Sequence[int], *, images: bool = True
) -> Iterator[Iterator[Batches]]:
    """Prefetch the batches of runs that are trained together, in a thread.

    Args:
        configs: the runs' configs.
        dataset: their dataset.
        done: the last completed step of each run.
        images: as for `draw_batch`.

    Yields:
        An iterator over the batches of all runs' next steps, until all are finished; a run that finishes early gets the
        batch of its last step again. An error in a batch is raised in its place.
    """
    objectives = [config.build_objective() for config in configs]
    run_rows = [training_rows(dataset, config.train_share, config.split) for config in configs]
    spaces = [drawable_factors(c, objective, dataset) for c, objective in zip(configs, objectives, strict=True)]

    def draw(offset: int) -> Batches:
        return [
            draw_batch(config, objective, dataset, rows, min(last + offset, config.steps), images=images, space=space)
            for config, objective, rows, last, space in zip(configs, objectives, run_rows, done, spaces, strict=True)
        ]

    offsets = iter(range(1, 1 + max(config.steps - last for config, last in zip(configs, done, strict=True))))
    pool = ThreadPoolExecutor(1, thread_name_prefix="batches")

    def prefetch() -> Iterator[Batches]:
        pending: collections.deque[Future[Batches]] = collections.deque()
        while True:
            pending.extend(pool.submit(draw, offset) for offset in itertools.islice(offsets, AHEAD - len(pending)))
            if not pending:
                return
            yield pending.popleft().result()

    try:
        yield prefetch()
    finally:
        pool.shutdown(cancel_futures=True)
