"""What trains one run of a sweep: a task of Ray, or a process that takes tasks from its standard input.

``python -m baselines.worker`` reads a line for each task, a JSON list of `work`'s arguments, and answers each with a
line once it is over. It ends with its standard input, so that none outlives the sweep.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import rich.console
import rich.progress

from benchmark_data import files
from benchmark_data.errors import OffaxisError


def work(config: Mapping[str, Any], into: str, place: str, digest: str, encode: bool, threads: int) -> None:
    """Train a run, or go on with it. What goes wrong is recorded, not raised: the sweep's other runs go on.

    Args:
        config: the run's config, as JSON's types.
        into: the sweep's folder.
        place: the run's folder within it.
        digest: of the config.
        encode: write its codes, too.
        threads: to compute with, where this process has not begun to.
    """
    for name, value in thread_limits(threads).items():
        os.environ.setdefault(name, value)
    from baselines.config import RunConfig
    from baselines.train import Diverged, train

    failure(Path(into), digest).unlink(missing_ok=True)
    quiet = rich.progress.Progress(console=rich.console.Console(quiet=True), disable=True)
    try:
        run = train(RunConfig.from_json(dict(config)), Path(into) / place, progress=quiet)
        if encode and not (run.folder / "codes.npz").exists():
            run.encode_task()
    except OffaxisError as error:
        record_failure(Path(into), digest, str(error), diverged=isinstance(error, Diverged))
    except Exception as error:  # a backend's own, such as memory that ran out
        record_failure(Path(into), digest, f"{type(error).__name__}: {error}"[:2_000])


def failure(into: Path, digest: str) -> Path:
    """Give the file that says why a run of a sweep failed."""
    return into / "failed" / f"{digest}.json"


def record_failure(into: Path, digest: str, error: str, *, diverged: bool = False) -> None:
    """Write why a run of a sweep failed; a full disk keeps it from being written.

    Args:
        into: the sweep's folder.
        digest: of the run's config.
        error: the message.
        diverged: whether it would fail again.
    """
    with contextlib.suppress(OffaxisError):
        files.write_json(failure(into, digest), {"error": error, "diverged": diverged})


def thread_limits(threads: int) -> dict[str, str]:
    """Give the environment in which TensorFlow, jax and BLAS compute with so many threads.

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

    def read() -> None:
        for line in sys.stdin:
            tasks.put(line)
        os._exit(0)  # whoever gave the tasks is gone; what is half done goes on from its last snapshot

    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer
    threading.Thread(target=read, daemon=True).start()
    while True:
        work(*json.loads(tasks.get()))
        answers.write("over\n")
        answers.flush()


if __name__ == "__main__":
    main()
