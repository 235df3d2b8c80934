"""Ctrl-C and SIGTERM: training stops after the current step, with a snapshot and a message how to resume."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stopped(KeyboardInterrupt):
    """Training was stopped, with a snapshot of its last step.

    Args:
        where: a sentence about what stopped at which step.
        again: how to resume.
    """

    def __init__(self, where: str, again: str) -> None:
        super().__init__(where, again)
        self.where = where

    def __str__(self) -> str:
        return "{} To continue: {}".format(*self.args)


@contextlib.contextmanager
def catch_stop_signals() -> Iterator[threading.Event]:
    """Take the first Ctrl-C or SIGTERM as a request to stop; the second ends the process immediately.

    Ignored signals stay ignored, as under ``nohup``. Outside the main thread, which receives all signals, this does
    nothing. In nested blocks, only the inner one receives the request.

    Yields:
        An event, set by the request, to be checked after each step.
    """
    request = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield request
        return
    previous_handlers: dict[signal.Signals, Any] = {}

    def record_signal(number: int, _: FrameType | None) -> None:
        request.set()
        for caught_signal in previous_handlers:
            signal.signal(caught_signal, signal.SIG_DFL)
        with contextlib.suppress(OSError):  # not through `sys.stderr`, which the signal may have interrupted
            show_cursor = "\x1b[?25h" if os.isatty(2) else ""
            hint = " Press Ctrl-C again to end at once." if number == signal.SIGINT else ""
            os.write(2, f"\n{show_cursor}Stopping after this step, with a snapshot.{hint}\n".encode())

    try:
        for stop_signal in SIGNALS:
            handler = signal.getsignal(stop_signal)
            if handler is not None and handler != signal.SIG_IGN:
                previous_handlers[stop_signal] = handler
                signal.signal(stop_signal, record_signal)
        yield request
    finally:
        for stop_signal, handler in previous_handlers.items():
            signal.signal(stop_signal, handler)


@contextlib.contextmanager
def sigterm_as_interrupt() -> Iterator[None]:
    """Raise `KeyboardInterrupt` on SIGTERM, as on Ctrl-C, so that open files are closed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    previous_handler = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous_handler)


def stop_error(folders: Sequence[Path], steps: Sequence[int], *, again: bool) -> Stopped:
    """Return the error for stopped runs, with the command to resume them.

    Args:
        folders: the run folders.
        steps: the last completed step of each.
        again: whether only the same call resumes all: some have not begun, or images are the user's own.

    Returns:
        The error to raise.

    Example:
        >>> print(stop_error([Path("runs/a b")], [979], again=False))
        stopped after step 979, with a snapshot. To continue: offaxis train resume 'runs/a b'
    """
    several = len(folders) > 1
    where = f"stopped {len(folders)} runs, each" if several else f"stopped after step {steps[0]},"
    continuation = "make the same call again" if again or several else command("resume", str(folders[0]))
    return Stopped(f"{where} with a snapshot.", continuation)


def command(*words: str) -> str:
    """Return a command line of the group `train`, quoted for the shell."""
    return shlex.join(["offaxis", "train", *words])


def rerun_command() -> str:
    """Return the command line of this process, quoted for the shell."""
    return shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])
