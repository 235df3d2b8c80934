"""Work that threads do ahead of the one who needs it."""

from __future__ import annotations

import collections
import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

A = TypeVar("A")
R = TypeVar("R")


@contextlib.contextmanager
def ahead(function: Callable[[A], R], arguments: Iterable[A], *, count: int, workers: int = 1) -> Iterator[Iterator[R]]:
    """Call a function for one argument after another, in threads, ahead of the one who goes through the results.

    Args:
        function: what to call.
        arguments: its arguments, taken as they are needed.
        count: how many results may wait.
        workers: threads.

    Yields:
        The results in order. An error comes where its result would have.

    Example:
        >>> with ahead(lambda x: x * x, range(4), count=2) as squares:
        ...     list(squares)
        [0, 1, 4, 9]
    """
    pool = ThreadPoolExecutor(workers, thread_name_prefix="ahead")

    def results() -> Iterator[R]:
        left = iter(arguments)
        pending: collections.deque[Future[R]] = collections.deque()
        while True:
            pending.extend(pool.submit(function, each) for each in itertools.islice(left, count - len(pending)))
            if not pending:
                return
            yield pending.popleft().result()

    try:
        yield results()
    finally:
        pool.shutdown(cancel_futures=True)
