"""Scores inside a training loop, on a task's first rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmark_data import draws
from benchmark_data.dataset import Dataset
from benchmark_data.errors import InvalidInput, check_count, is_whole
from leaderboard import properties, protocol
from leaderboard.arrays import to_float32
from leaderboard.doubts import warn_if_continuous, warn_if_same
from leaderboard.encoding import Encoder, Input, as_numpy, check_input
from leaderboard.reading import units
from leaderboard.scoring import measure

__all__ = ["BatchedMetric", "Monitor"]


class Monitor:
    """Scores an encoder on a task's first rows, for training loops.

    The images are drawn once, when the monitor is made. Scores of so few rows are for watching a training: the board's
    come from `leaderboard.evaluate`, on all rows of the task.

    Args:
        task: name of a dataset, such as ``"xysquares/spacing_8"``; or a folder or a dataset of your own.
        metrics: names of files in ``leaderboard/metrics``; ``"all"`` for those that can be computed from the codes.
        samples: numbers of train rows and held-out rows. Default: 2,000 and 1,000, or all that exist. Few rows bias
            scores: MIG of the factors themselves at XYSquares' spacing 8 is 0.98 with 1,000, 0.92 with 200.
        input: what the encoder is called with, as in `leaderboard.encoding.Encoder`.
        batch_size: images per call of the encoder.

    Raises:
        UnknownName: there is no such task or metric.
        InvalidInput: ``samples`` is no pair of numbers from 2 to what the task has, or another argument is invalid.
        Unavailable: the dataset must be prepared first.

    Example:
        >>> monitor = Monitor("xysquares/spacing_8", metrics=["mig"], samples=(200, 100))
        >>> scores = monitor(lambda images: images.max(axis=1).argmax(axis=1))  # after each epoch
        >>> sorted(scores)
        ['mig']
    """

    def __init__(
        self,
        task: str | Dataset,
        metrics: str | Sequence[str] = ("mig", "dci"),
        samples: tuple[int, int] | None = None,
        *,
        input: Input | None = None,
        batch_size: int = 256,
    ) -> None:
        check_count("batch_size", batch_size, 1)
        check_input(input)
        scored_task = protocol.task_of(task)
        if samples is None:
            samples = (min(2_000, len(scored_task.train)), min(1_000, len(scored_task.test)))
        if not (isinstance(samples, tuple | list) and len(samples) == 2):
            raise InvalidInput(f"samples: expected two numbers, of train rows and of test rows, received {samples!r}.")
        for part, count, pool in zip(("train", "test"), samples, (scored_task.train, scored_task.test), strict=True):
            if not (is_whole(count) and 2 <= count <= len(pool)):
                raise InvalidInput(
                    f"samples: expected 2 to {len(pool)} {part} rows of {scored_task.dataset}, received {count!r}."
                )
        self._split, self._is_divided = samples[0], scored_task.is_divided
        self._modules, self._metric_names = measure.metrics_by_name(metrics), metrics
        dataset = scored_task.load()
        rows = [*scored_task.train[: samples[0]], *scored_task.test[: samples[1]]]
        self._images, self._factors = dataset.images(rows), protocol.labels(dataset, np.array(rows), scored_task.scored)
        names = scored_task.scored
        if scored_task.user_dataset is not None:
            warn_if_continuous(self._factors, names, scored_task.dataset)
            names = dataset.space.names
        measure.warn_if_left_out(dataset.labels(rows[: samples[0]], names), names, scored_task.dataset)
        self._input, self._batch_size = input, batch_size

    def __call__(self, encode: Any) -> dict[str, float]:
        """Encode the rows and score the codes.

        Args:
            encode: as `leaderboard.encoding.Encoder` takes it.

        Returns:
            Score -> value: ``mig``, ``dci.disentanglement`` and so on.

        Raises:
            InvalidInput: the encoder does not return codes, or a metric cannot be computed from them.
        """
        encoder = Encoder(encode, input=self._input, batch_size=self._batch_size)
        raw_codes = encoder(self._images)
        encoder.check(self._images, raw_codes)
        split, is_divided = self._split, self._is_divided
        codes = to_float32(units.reduce(raw_codes, train=split))
        warn_if_same(codes)
        scores: dict[str, float] = {}
        for name, metric in self._modules.items():
            sample, arguments = measure.split_rows(metric, codes, self._factors, train=split, trained_on=is_divided)
            with measure.refusals(name, self._metric_names):
                scores |= _compute_scores(name, metric, *sample, **arguments)
        return scores


class BatchedMetric:
    """A metric that takes codes batch by batch, with the methods of TorchMetrics: ``update``, ``compute``, ``reset``.

    Args:
        metric: name of a file in ``leaderboard/metrics``. One that needs held-out rows takes a third, drawn at
            random.

    Raises:
        UnknownName: there is no such metric.
        InvalidInput: ``metric`` is not a single name.

    Example:
        >>> metric = BatchedMetric("mig")
        >>> metric.update(np.arange(40)[:, None] % 2, np.arange(40)[:, None] % 2)
        >>> {name: round(value, 3) for name, value in metric.compute().items()}
        {'mig': 1.0}
    """

    def __init__(self, metric: str) -> None:
        if not isinstance(metric, str) or metric == "all":
            raise InvalidInput(f"metric: expected the name of one, such as 'mig', received {metric!r}.")
        ((self._name, self._metric),) = measure.metrics_by_name(metric).items()
        self.reset()

    def reset(self) -> None:
        """Forget all batches."""
        self._batches: list[tuple[NDArray[Any], NDArray[Any]]] = []

    def update(self, codes: ArrayLike, factors: ArrayLike) -> None:
        """Take a copy of a batch.

        Args:
            codes: real numbers (n, L), an array or tensor.
            factors: class ids (n, F), likewise.

        Raises:
            InvalidInput: codes and factors differ in their number of rows, or the width is not that of the first batch.
        """
        batch = as_numpy(codes).copy(), as_numpy(factors).copy()
        codes_shape, factors_shape = (array.shape for array in batch)
        if not codes_shape or codes_shape[:1] != factors_shape[:1]:
            raise InvalidInput(
                f"factors: expected one row for each of the codes, of shape {codes_shape}, received {factors_shape}."
            )
        for what, array, first in zip(("codes", "factors"), batch, (self._batches or [batch])[0], strict=True):
            if array.shape[1:] != first.shape[1:]:
                shapes = f"{first.shape[1:]}, then {array.shape[1:]}"
                raise InvalidInput(f"{what}: expected batches of one width, received {shapes}. The batch is ignored.")
        self._batches.append(batch)

    def compute(self) -> dict[str, float]:
        """Compute the metric on all batches together.

        Returns:
            Score -> value, named as those of `Monitor`.

        Raises:
            InvalidInput: there is no batch, or the metric cannot be computed from them.
        """
        if not self._batches:
            raise InvalidInput("There are no codes yet. Call update(codes, factors) first.")
        codes, factors = map(np.concatenate, zip(*self._batches, strict=True))
        if measure.has_argument(self._metric, measure.TEST_NAMES[0]):
            order = draws.permutation(0, len(codes))  # batches may come in the order of factors
            sample, arguments = measure.split_rows(self._metric, codes[order], factors[order])
        else:
            sample, arguments = (codes, factors), measure.drop_constant(self._metric)
        scores = _compute_scores(self._name, self._metric, *sample, **arguments)
        if properties.read(self._metric).uses_factors:
            measure.warn_if_left_out(sample[1], [f"factor {index}" for index in range(factors.shape[1])], self._name)
        return scores


def _compute_scores(name: str, metric: Any, *sample: Any, **arguments: Any) -> dict[str, float]:
    """Compute a metric, and name its scores as the board does."""
    scores = measure.compute_metric(name, metric.score, *sample, **arguments)
    return {protocol.key(name, key): value for key, value in scores.items()}
