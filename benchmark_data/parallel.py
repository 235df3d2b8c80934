"""Tasks in parallel: worker processes on this machine or the nodes of a Ray cluster, and how a dataset gets to them.

Internal.
"""

from __future__ import annotations

import collections
import concurrent.futures
import contextlib
import contextvars
import math
import os
import socket
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

import benchmark_data
from benchmark_data.archives import store
from benchmark_data.dataset import Dataset
from benchmark_data.errors import InvalidInput, OffaxisError, needs

try:
    import joblib
except ImportError:  # everything then runs in this process
    joblib = None

Handle: TypeAlias = str | Dataset
"""A dataset as a worker process gets it."""


def handle(dataset: Dataset) -> Handle:
    """Return what a worker process needs to find the dataset: its name where that is enough, else the dataset itself.

    A name is small, and the worker opens caches and tables for itself.
    """
    try:
        return dataset.id if benchmark_data.load(dataset.id) == dataset else dataset
    except OffaxisError:  # of whatever a name of one's own is taken for
        return dataset


def open_handle(handle: Handle) -> Dataset:
    """Return the dataset that `handle` stands for."""
    return benchmark_data.load(handle) if isinstance(handle, str) else handle


def is_loadable_by_name(dataset: Dataset) -> bool:
    """Return whether a dataset's name and version stand for its pixels: not those of the user's own images.

    Those may be corrected under the same name, so that only a digest of every row tells them from others.
    """
    return isinstance(handle(dataset), str)


_ray_gpus: contextvars.ContextVar[float | None] = contextvars.ContextVar("ray", default=None)
"""What each task asks of Ray: a share of a GPU, from 0; None where tasks do not go to Ray."""


@contextlib.contextmanager
def on_ray(address: str | None, *, gpus: float = 0.0) -> Iterator[None]:
    """Let `in_parallel` run its tasks on Ray instead of this process's own workers.

    Each task depends on its arguments alone, so the bytes that come out are those of a local run, given the same
    versions of packages. When a node dies, Ray runs what it was at, and what only it held, again on another one.

    Every node needs this package, and must see the folders that are written or read, and the cache of prepared
    datasets, under the same paths.

    Args:
        address: ``"local"`` for a Ray of one's own on this machine, the address of a running cluster, such as
            ``"auto"`` or ``"10.0.0.5:6379"``, or None for no Ray. Where this process is connected to Ray already,
            that connection is used.
        gpus: what each task asks for beside a core: a share of a GPU, such as 0.25 for four tasks on each, or whole
            GPUs.

    Raises:
        MissingExtra: Ray is not installed.
        InvalidInput: no cluster answers at the address, or none of its nodes has as many GPUs.
    """
    if not 0 <= gpus < math.inf or (gpus and address is None):
        expected = "at least 0" if address else "0 where tasks do not go to Ray"
        raise InvalidInput(f"--gpus: expected {expected}, received {gpus:g}. GPUs are what --ray shares out.")
    if address is None:
        yield
        return
    needs("--ray", "cluster", "ray", "joblib")
    import ray

    was_connected = ray.is_initialized()
    if not was_connected:
        local_options = {"num_cpus": joblib.cpu_count(), "include_dashboard": False} if address == "local" else {}
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # Ray would report to its makers
        host, colon, port = address.rpartition(":")
        try:
            if colon and "/" not in host:  # Ray itself would wait for minutes
                socket.create_connection((host, int(port)), timeout=10).close()
            ray.init(
                address=address,
                runtime_env={"env_vars": _environment()},
                log_to_driver=False,
                logging_level="ERROR",
                **local_options,
            )
        except (OSError, ValueError) as error:
            raise InvalidInput(
                f"--ray: expected local, or the address of a cluster that runs, received {address}. Start one with: "
                "ray start --head"
            ) from error
    token = _ray_gpus.set(gpus)
    try:
        max_gpus = max((node["Resources"].get("GPU", 0.0) for node in ray.nodes() if node["Alive"]), default=0.0)
        if gpus > max_gpus:  # Ray would wait for such a node for ever
            raise InvalidInput(f"--gpus: expected at most {max_gpus:g}, which a node has, received {gpus:g}.")
        yield
    finally:
        _ray_gpus.reset(token)
        if not was_connected:
            ray.shutdown()


def _environment() -> dict[str, str]:
    """Return what a cluster's nodes, which were started elsewhere, cannot know: where prepared datasets are.

    The folder is named in full, since a node has a working folder and perhaps a home folder of its own.
    """
    return {store.CACHE: str(store.root())} if os.environ.get(store.CACHE) else {}


def in_parallel(function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]], jobs: int | None) -> Iterator[Any]:
    """Call a function on many tasks in worker processes, or on Ray inside `on_ray`.

    Without Ray the workers are joblib's: they start afresh rather than as forks of a process in which TensorFlow or
    Arrow run threads, they need no ``if __name__ == "__main__"`` in the caller's script, and
    ``joblib.parallel_config`` can put them on another machine.

    Args:
        function: the function; it and its arguments and results travel by pickle.
        tasks: its positional arguments, one tuple for each call.
        jobs: how many processes; one per core if None. One task or one job runs in this process, as does everything
            where joblib is not installed. Ray uses the cores of its nodes.

    Yields:
        The results, in the order of the tasks.

    Raises:
        OffaxisError: a worker process was killed.
    """
    tasks = list(tasks)
    gpus = _ray_gpus.get()
    if gpus is not None:
        yield from _run_on_ray(function, tasks, gpus)
        return
    jobs = min(jobs or joblib.cpu_count(), len(tasks)) if joblib else 1
    if jobs <= 1:
        yield from (function(*task) for task in tasks)
        return
    try:
        yield from joblib.Parallel(n_jobs=jobs, return_as="generator", max_nbytes=None)(
            joblib.delayed(function)(*task) for task in tasks
        )
    except concurrent.futures.BrokenExecutor as error:
        raise OffaxisError(
            "A worker process was killed, as where the machine has no memory left. Run the same again, which keeps "
            "whatever was finished, with less running beside it."
        ) from error


def _run_on_ray(function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]], gpus: float) -> Iterator[Any]:
    import ray

    # Spread over nodes, since each has its own cores, disk and network. Retried as often as nodes die.
    remote_function = ray.remote(num_gpus=gpus, max_retries=-1, scheduling_strategy="SPREAD")(function)
    pending = collections.deque(remote_function.remote(*task) for task in tasks)
    # What is left after an error ends with the connection. To cancel it first would be a race that Ray 2.60 loses: its
    # core aborts this process when the answer to a cancelled task comes in during the shutdown.
    while pending:
        try:
            result = ray.get(pending.popleft())
        except ray.exceptions.RayTaskError as error:
            raise error.cause from error
        yield result
