"""Train runs of a sweep, in a Ray task or in a process that reads tasks from its standard input. Internal.

``python -m baselines.training.worker`` reads a line for each task, a JSON list of `train_runs`'s arguments, and answers
each with a line once it is done. It exits when its standard input closes, so that no worker outlives the sweep.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import queue
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import rich.console
import rich.progress

from benchmark_data import files
from benchmark_data.errors import OffaxisError

Assignment: TypeAlias = tuple[Mapping[str, Any], str, str]
"""A run of a sweep: its config in JSON types, its folder within the sweep's, and the config's digest."""


def train_runs(
    runs: Sequence[Assignment], into: str, encode: bool, threads: int, device: str = "auto", share: float = 1.0
) -> None:
    """Train or resume runs together. Errors are recorded, not raised, so that the sweep's other runs continue.

    Args:
        runs: one, or several for one program. If training them together fails, they are trained one by one.
        into: the sweep's folder.
        encode: write their codes, too.
        threads: the number of threads; ignored if this process has already loaded its backend.
        device: the device; see `baselines.engines.devices.choose`.
        share: the share of a GPU's memory; less than 1 if several workers use one GPU.
    """
    for name, value in thread_limits(threads).items():
        os.environ.setdefault(name, value)
    if share < 1:  # jax allocates this share; a tenth remains for CUDA itself
        os.environ.setdefault("XLA_PYTHON_CLIENT_MEM_FRACTION", f"{0.9 * share:.3f}")
    from baselines.config import RunConfig
    from baselines.engines import devices
    from baselines.run_folder import has_codes
    from baselines.training.loop import Diverged, train_together

    no_progress = rich.progress.Progress(console=rich.console.Console(quiet=True), disable=True)
    configs = [RunConfig.from_json(dict(config)) for config, _, _ in runs]
    for _, _, digest in runs:
        failure_path(Path(into), digest).unlink(missing_ok=True)
    try:
        devices.choose(device)
        outcomes = train_together(configs, [Path(into) / run_path for _, run_path, _ in runs], progress=no_progress)
    except Exception as error:
        outcomes, message = [], _error_message(error)
    if not outcomes and len(runs) == 1:
        record_failure(Path(into), runs[0][2], message)
    for run in runs if not outcomes and len(runs) > 1 else ():  # one of them caused it, or the memory is too small
        gc.collect()  # which the failed program still takes
        train_runs([run], into, encode, threads, device, share)
    for (_, _, digest), outcome in zip(runs, outcomes, strict=False):
        if isinstance(outcome, Diverged):
            record_failure(Path(into), digest, str(outcome), diverged=True)
        elif encode and not has_codes(outcome.folder):
            try:
                outcome.encode_task()
            except Exception as error:
                record_failure(Path(into), digest, _error_message(error))


def _error_message(error: Exception) -> str:
    """Return the message of an `OffaxisError`, or type and message of a backend's error, such as out of memory."""
    return str(error) if isinstance(error, OffaxisError) else f"{type(error).__name__}: {error}"[:2_000]


def failure_path(into: Path, digest: str) -> Path:
    """Return the file that records why a run of a sweep failed."""
    return into / "failed" / f"{digest}.json"


def record_failure(into: Path, digest: str, error: str, *, diverged: bool = False) -> None:
    """Record why a run of a sweep failed, unless the disk is full.

    Args:
        into: the sweep's folder.
        digest: digest of the run's config.
        error: the message.
        diverged: whether it would fail again.
    """
    with contextlib.suppress(OffaxisError):
        files.write_json(failure_path(into, digest), {"error": error, "diverged": diverged})


def thread_limits(threads: int) -> dict[str, str]:
    """Return the environment variables that limit the threads of TensorFlow, jax and BLAS.

    Example:
        >>> thread_limits(2)["OMP_NUM_THREADS"]
        '2'
    """
    count = str(threads)
    variables = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "TF_NUM_INTRAOP_THREADS")
    return {**dict.fromkeys(variables, count), "TF_NUM_INTEROP_THREADS": "1", "NPROC": count}


def main() -> None:
    """Take tasks from standard input until it ends."""
    tasks: queue.SimpleQueue[str] = queue.SimpleQueue()

    def read_tasks() -> None:
        for line in sys.stdin:
            tasks.put(line)
        os._exit(0)  # the sweep has ended; an unfinished run resumes from its last snapshot

    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # libraries must not print among the answers
    threading.Thread(target=read_tasks, daemon=True).start()
    while True:
        try:
            train_runs(*json.loads(tasks.get()))
        except KeyboardInterrupt:  # the sweep is stopped; snapshots are written
            os._exit(130)
        answers.write("over\n")
        answers.flush()


if __name__ == "__main__":
    main()
