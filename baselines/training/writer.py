"""Write files in a background thread, in order. Internal."""

from __future__ import annotations

import collections
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any


class Writer:
    """Calls functions one after another, in the order in which they were given, in one thread.

    Use it in a ``with`` block, at whose end all is done. After the first error nothing more is called, and `check`,
    `wait` and the end of the block raise it; an exception that leaves the block goes first.

    Example:
        >>> done = []
        >>> with Writer() as writer:
        ...     for i in range(3):
        ...         _ = writer.do(done.append, i)
        >>> done
        [0, 1, 2]
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="writer")
        self._pending: collections.deque[Future[None]] = collections.deque()
        self._failed = False

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self.wait()
        finally:
            self._pool.shutdown()

    def do(self, function: Callable[..., None], *arguments: Any) -> Future[None]:
        """Have a function called, after all that were given before.

        Args:
            function: what to call.
            *arguments: its arguments, which nobody may change any more.

        Returns:
            When it is over; its ``result()`` waits.
        """
        future = self._pool.submit(self._call, function, *arguments)
        self._pending.append(future)
        return future

    def _call(self, function: Callable[..., None], *arguments: Any) -> None:
        if self._failed:
            return
        try:
            function(*arguments)
        except BaseException:
            self._failed = True
            raise

    def check(self) -> None:
        """Raise the error that a function has raised, if there is one; do not wait."""
        while self._pending and self._pending[0].done():
            self._pending.popleft().result()

    def wait(self) -> None:
        """Wait until all is done; raise the first error."""
        while self._pending:
            self._pending.popleft().result()
