"""Train the tasks of a sweep in worker processes on this machine; dead workers are replaced. Internal."""

from __future__ import annotations

import collections
import concurrent.futures
import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

from baselines.training import worker
from benchmark_data.errors import needs

ATTEMPTS = 3
"""How often one call starts a run whose worker dies."""

PATIENCE = 30.0
"""Seconds for workers to write a snapshot when the sweep is stopped."""

Task: TypeAlias = tuple[list[worker.Assignment], str, bool]
"""The first arguments of `worker.train_runs`, without threads and device."""


def train(tasks: Sequence[Task], jobs: int | None, threads: int | None, device: str, in_all: int) -> None:
    """Train in ``jobs`` worker processes, one per core if None, with ``threads`` each.

    The default divides the cores by the sweep's number of tasks, ``in_all``, so that a run resumed alone has as many.
    """
    needs("training many runs", "train", "joblib")
    import joblib

    waiting = collections.deque(tasks)
    if not tasks:
        return
    thread_count = threads or max(1, joblib.cpu_count() // min(jobs or joblib.cpu_count(), in_all))
    jobs = min(jobs or joblib.cpu_count(), len(tasks))
    core_sets = _choose_cores(jobs, thread_count)
    processes: list[subprocess.Popen[str]] = []
    stop_event = threading.Event()

    def serve(cores: set[int]) -> None:
        process = None
        while waiting and not stop_event.is_set():
            try:
                task = waiting.popleft()
            except IndexError:  # another thread took the last one
                break
            for _ in range(ATTEMPTS):
                if process is None:
                    process = _start_worker(thread_count, cores)
                    processes.append(process)
                    if stop_event.is_set():  # it started while the others were being ended
                        process.kill()
                        return
                if _run_task(process, (*task, thread_count, device)):
                    break
                status = process.wait()
                process = None
                if stop_event.is_set():
                    return
            else:
                runs, into, encode = task
                if len(runs) > 1:  # together they may need too much memory: retry one by one
                    waiting.extend(([run], into, encode) for run in runs)
                    continue
                worker.record_failure(Path(into), runs[0][2], f"its worker died {ATTEMPTS} times, last with {status}")

    try:
        with concurrent.futures.ThreadPoolExecutor(jobs, thread_name_prefix="sweep") as pool:
            try:
                for future in concurrent.futures.as_completed([pool.submit(serve, cores) for cores in core_sets]):
                    future.result()
            finally:
                stop_event.set()
                _end_workers(processes)
    finally:
        for process in processes:
            process.communicate()


def _end_workers(processes: Sequence[subprocess.Popen[str]]) -> None:
    """End workers, after those that train have finished their step and written a snapshot.

    One that takes too long is killed, and all are after a second Ctrl-C; their runs resume from an earlier snapshot.
    """
    for process in processes:
        process.terminate()
    deadline = time.monotonic() + PATIENCE
    try:
        for process in processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, deadline - time.monotonic()))
    finally:
        for process in processes:
            process.kill()


def _choose_cores(jobs: int, threads: int) -> list[set[int]]:
    """Choose the cores of each worker, one per thread, if workers use all cores; otherwise do not pin workers.

    Workers that migrate evict each other's weights from the caches. If cores are left over, other programs may use
    them, such as a second sweep, which would choose the same cores.
    """
    if not hasattr(os, "sched_getaffinity"):  # not on macOS and Windows
        return [set() for _ in range(jobs)]
    usable = sorted(os.sched_getaffinity(0))
    if jobs * threads != len(usable):
        return [set() for _ in range(jobs)]
    return [set(usable[i * threads : (i + 1) * threads]) for i in range(jobs)]


def _start_worker(threads: int, cores: set[int]) -> subprocess.Popen[str]:
    """Start a worker that does not receive the terminal's Ctrl+C: this process ends it."""
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "baselines.training.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL if sys.stderr is None else None,  # a closed one would become the pipe of answers
        env={**os.environ, **worker.thread_limits(threads)},
        text=True,
        start_new_session=True,
    )
    if cores:
        with contextlib.suppress(ProcessLookupError):  # it died immediately, which `_run_task` detects
            os.sched_setaffinity(process.pid, cores)
    return process


def _run_task(process: subprocess.Popen[str], task: tuple[Any, ...]) -> bool:
    """Send a worker a task and wait for its answer; return whether it answered before it died."""
    if process.stdin is None or process.stdout is None:
        return False
    try:
        print(json.dumps(task), file=process.stdin, flush=True)
        return bool(process.stdout.readline())
    except OSError:  # a broken pipe
        return False
