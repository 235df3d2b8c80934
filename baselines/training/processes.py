"""Train the tasks of a sweep in worker processes of this machine; one that dies is replaced. Internal."""

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
"""How often a run is begun whose worker dies, in one call."""

PATIENCE = 30.0
"""Seconds that workers have to write a snapshot when the sweep is stopped."""

Task: TypeAlias = tuple[list[worker.Assignment], str, bool]
"""What `worker.train_runs` takes, but for what to compute with."""


def train(tasks: Sequence[Task], jobs: int | None, threads: int | None, device: str, in_all: int) -> None:
    """Train in so many worker processes, one for each core if None, each with so many threads.

    Threads are shared out among the tasks of the sweep ``in_all``, so that a run has as many when it is resumed alone.
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
                    if stop_event.is_set():  # it began while the others were ended
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
                if len(runs) > 1:  # together they may need more memory than there is: one by one, then
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
    """End workers: those that train come to the end of their step and write a snapshot first.

    One that takes too long, or all of them after a second Ctrl-C, is killed; it goes on from its snapshot before.
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
    """Choose the cores of each worker: as many as it has threads, where they fill the machine; else none in particular.

    Workers that wander evict each other's weights from the caches. Where cores are left over, something else may run
    on them, such as another sweep, which would choose the same cores: there the system finds a free one.
    """
    if not hasattr(os, "sched_getaffinity"):  # not on macOS and Windows
        return [set() for _ in range(jobs)]
    usable = sorted(os.sched_getaffinity(0))
    if jobs * threads != len(usable):
        return [set() for _ in range(jobs)]
    return [set(usable[i * threads : (i + 1) * threads]) for i in range(jobs)]


def _start_worker(threads: int, cores: set[int]) -> subprocess.Popen[str]:
    """Start a worker, out of reach of the terminal's Ctrl+C: this process ends it."""
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "baselines.training.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **worker.thread_limits(threads)},
        text=True,
        start_new_session=True,
    )
    if cores:
        with contextlib.suppress(ProcessLookupError):  # it died at once, which its answer will tell
            os.sched_setaffinity(process.pid, cores)
    return process


def _run_task(process: subprocess.Popen[str], task: tuple[Any, ...]) -> bool:
    """Give a worker a task and wait for it; return whether it lived to answer."""
    if process.stdin is None or process.stdout is None:
        return False
    try:
        process.stdin.write(json.dumps(task) + "\n")
        process.stdin.flush()
        return bool(process.stdout.readline())
    except OSError:  # a broken pipe
        return False
