"""Observers of a run, which ``train`` tells each line of the history: TensorBoard, and Weights & Biases.

An observer takes the step and the history's scalars of that step. Those here belong to a ``with`` statement, which
closes what they opened; they open nothing before the first line, so that a finished run leaves no trace. After a resume
they are told again what came after the last snapshot, with the same values.

>>> from baselines.training import loggers
>>> from baselines import train
>>> with loggers.tensorboard("runs/mine") as observe:  # doctest: +SKIP
...     train(config, "runs/mine", observers=[observe])
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from baselines.config import RunConfig
from baselines.nets import backend
from baselines.training.loop import Observer
from benchmark_data.errors import MissingExtra

__all__ = ["tensorboard", "wandb"]


@contextlib.contextmanager
def tensorboard(folder: str | os.PathLike[str]) -> Iterator[Observer]:
    """Write TensorBoard's event files into a run folder; see them with ``tensorboard --logdir``.

    TensorFlow writes them, whatever backend trains; TensorBoard itself need not be installed.

    Args:
        folder: the run folder; the files go to ``tensorboard`` in it.

    Yields:
        The observer.

    Raises:
        MissingExtra: TensorFlow is not installed.
    """
    try:
        summary = backend.tensorflow.summary
    except MissingExtra as error:
        raise MissingExtra("TensorBoard's event files", "tensorflow", "tensorflow") from error
    scalar = backend.tensorflow.compat.v1.SummaryMetadata(plugin_data={"plugin_name": "scalars"}, data_class=1)
    writer = functools.cache(lambda: summary.create_file_writer(str(Path(folder) / "tensorboard")))

    def observe(step: int, scalars: Mapping[str, float]) -> None:
        with writer().as_default():
            for name, value in scalars.items():
                summary.write(name, backend.tensorflow.constant(value, "float32"), step, scalar)
        writer().flush()  # a process that is killed leaves what was told so far

    try:
        yield observe
    finally:
        if writer.cache_info().currsize:
            writer().close()


@contextlib.contextmanager
def wandb(config: RunConfig, folder: str | os.PathLike[str], *, project: str) -> Iterator[Observer]:
    """Send the history to Weights & Biases. Its own settings, such as ``WANDB_MODE=offline``, hold.

    Args:
        config: the run's config, which is sent too. The same run in the same folder, made longer or not, is one run
            there.
        folder: the run folder, where Weights & Biases keeps its own files.
        project: the project's name.

    Yields:
        The observer.

    Raises:
        MissingExtra: the package wandb is not installed.
    """
    try:
        package = importlib.import_module("wandb")
    except ModuleNotFoundError as error:
        raise MissingExtra("Weights & Biases", "wandb") from error
    settings = config.as_json()
    longer = ("steps", "snapshots", "start_from", "start_weights")  # these change when a run goes on
    known = [str(Path(folder).absolute()), {name: value for name, value in settings.items() if name not in longer}]
    identity = hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()[:16]
    name = f"{config.objective}/{config.seed} {config.dataset}"
    with contextlib.ExitStack() as stack:

        @functools.cache
        def run() -> Any:
            begun = package.init(
                project=project, id=identity, resume="allow", name=name, config=settings, dir=str(folder)
            )
            return stack.enter_context(begun)  # which finishes it, as failed after an exception

        yield lambda step, scalars: run().log(dict(scalars), step=step)
