"""Run tasks in parallel, in worker processes on this machine or on a Ray cluster, and pass datasets to them.

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
"""A dataset in the form passed to worker processes."""


def handle(dataset: Dataset) -> Handle:
    """Return what a worker process needs to open the dataset: its name if that suffices, else the dataset itself.

    A name is small, and the worker opens caches and tables for itself.
    """
    try:
        return dataset.id if benchmark_data.load(dataset.id) == dataset else dataset
    except OffaxisError:  # the name is the user's own and means something else
        return dataset


def open_handle(handle: Handle) -> Dataset:
    """Return the dataset that `handle` stands for."""
    return benchmark_data.load(handle) if isinstance(handle, str) else handle


def is_loadable_by_name(dataset: Dataset) -> bool:
    """Return whether a dataset's name and version identify its pixels: False for the user's own images.

    Those may change under the same name, so that only a digest of every row identifies them.
    """
    return isinstance(handle(dataset), str)


_ray_gpus: contextvars.ContextVar[float | None] = contextvars.ContextVar("ray", default=None)
"""The share of a GPU that each task requests of Ray, from 0; None if tasks do not run on Ray."""


@contextlib.contextmanager
def on_ray(address: str | None, *, gpus: float = 0.0) -> Iterator[None]:
    """Let `in_parallel` run its tasks on Ray instead of local worker processes.

    Each task depends on its arguments alone, so the results are the bytes of a local run, given the same versions of
    packages. If a node dies, Ray repeats its tasks, and those whose results only it held, on another one.

    Every node needs this package, and must have the folders that are written or read, and the cache of prepared
    datasets, under the same paths.

    Args:
        address: ``"local"`` to start Ray on this machine, the address of a running cluster, such as ``"auto"`` or
            ``"10.0.0.5:6379"``, or None for no Ray. An existing connection of this process is used.
        gpus: the GPUs that each task requests in addition to a core: a share, such as 0.25 for four tasks on each, or
            a whole number.

    Raises:
        MissingExtra: Ray is not installed.
        InvalidInput: no cluster answers at the address, none of its nodes has as many GPUs, or GPUs without Ray.
    """
    if not 0 <= gpus < math.inf or (gpus and address is None):
        expected = "at least 0" if address else "0 without --ray"
        raise InvalidInput(f"--gpus: expected {expected}, received {gpus:g}. Only --ray assigns GPUs to tasks.")
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
                f"--ray: expected local, or the address of a running cluster, received {address}. Start one with: "
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
    """Return the environment variables for nodes of a cluster: the folder of prepared datasets.

    Its path is absolute, since nodes have other working folders and perhaps other home folders.
    """
    return {store.CACHE: str(store.root())} if os.environ.get(store.CACHE) else {}


def in_parallel(function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
    """Call a function on many tasks in worker processes, one per core, or on Ray inside `on_ray`.

    Without Ray the workers are joblib's: they are not forks, which break the threads of TensorFlow and Arrow, they need
    no ``if __name__ == "__main__"`` in the caller's script, and ``joblib.parallel_config`` can move them to another
    machine.

    Args:
        function: the function; it and its arguments and results travel by pickle.
        tasks: its positional arguments, one tuple for each call. A single one runs in this process, as does everything
            on one core or if joblib is not installed.

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
    jobs = min(joblib.cpu_count(), len(tasks)) if joblib else 1
    if jobs <= 1:
        yield from (function(*task) for task in tasks)
        return
    try:
        yield from joblib.Parallel(n_jobs=jobs, return_as="generator", max_nbytes=None)(
            joblib.delayed(function)(*task) for task in tasks
        )
    except concurrent.futures.BrokenExecutor as error:
        raise OffaxisError(
            "A worker process was killed, possibly because memory ran out. Free some memory, then run the same command "
            "again: finished work is kept."
        ) from error


def _run_on_ray(function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]], gpus: float) -> Iterator[Any]:
    import ray

    # Spread over nodes, since each has its own cores, disk and network. Retried whenever a node dies.
    remote_function = ray.remote(num_gpus=gpus, max_retries=-1, scheduling_strategy="SPREAD")(function)
    pending = collections.deque(remote_function.remote(*task) for task in tasks)
    # After an error the remaining tasks end with the connection. They are not cancelled first: Ray 2.60's core aborts
    # this process if the answer to a cancelled task arrives during the shutdown.
    while pending:
        try:
            result = ray.get(pending.popleft())
        except ray.exceptions.RayTaskError as error:
            raise error.cause from error
        yield result
