"""Shared by all commands: one-line errors, exit codes, progress bars.

Exit codes: 0 success; 1 a check failed (a digest differs, a submission is invalid); 2 an error that the user can fix
(a wrong name, a missing file); 130 interrupted.

Internal.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Annotated, Any

import rich.console
import rich.progress
import rich.table
import rich.text
import typer

from benchmark_data.errors import OffaxisError, OffaxisWarning, printable

if os.environ.get("COLUMNS") == "0":  # of a shell that knows no width; nothing would be printed
    del os.environ["COLUMNS"]

out = rich.console.Console()
"""Results go here: standard output."""

err = rich.console.Console(stderr=True)
"""Errors and progress go here: standard error."""

REPORT_SECONDS = 10.0
"""Seconds between two lines of a display whose output is no terminal."""

RATE_WINDOW_SECONDS = 300.0
"""Seconds over which rates and the time left are estimated: a step of some tasks takes minutes."""


def say(what: object, *, style: str | None = None) -> None:
    """Print one line to standard output, without wrapping or markup.

    Args:
        what: a text, or a path.
        style: its colour on a terminal; the default colour if None.

    Example:
        >>> say("runs/[0]")
        runs/[0]
    """
    out.print(printable(str(what)), style=style, soft_wrap=True, markup=False, highlight=False)


def tell(what: object, *, style: str | None = None) -> None:
    """Print one line to standard error, without wrapping or markup, for people rather than scripts.

    Args:
        what: a text.
        style: its colour on a terminal; the default colour if None.
    """
    err.print(printable(str(what)), style=style, soft_wrap=True, markup=False, highlight=False)


def warn(what: object) -> None:
    """Print a line that begins with ``warning:`` to standard error."""
    tell(f"warning: {what}", style="yellow")


def table(rows: Iterable[Sequence[object]], *columns: str, title: str = "", whole: bool = False) -> None:
    """Print a table to standard output; the first column is not wrapped if it leaves a third of the width.

    Args:
        rows: a cell for each column, converted by `str`.
        *columns: the headings; a leading ``>`` aligns a column to the right. Without any, no heading is shown.
        title: printed above the table.
        whole: never wrap or cut a column; lines may then be wider than the console.

    Example:
        >>> table([("shape", 3), ("scale", 6)], "factor", ">values")
        factor values
        shape       3
        scale       6
    """
    rich_table = rich.table.Table(
        title=rich.text.Text(title) if title else None,
        title_justify="left",
        box=None,
        pad_edge=False,
        collapse_padding=True,
        show_header=bool(columns),
    )
    cells = [[printable(str(cell)) for cell in row] for row in rows]
    first_fits = max((len(row[0]) for row in cells), default=0) <= 2 * out.width // 3
    for index, heading in enumerate(columns or [""] * max(map(len, cells), default=0)):
        rich_table.add_column(
            rich.text.Text(heading.removeprefix(">")),
            justify="right" if heading.startswith(">") else "left",
            no_wrap=whole or (index == 0 and first_fits),
            overflow="fold",
        )
    for row in cells:
        rich_table.add_row(*map(rich.text.Text, row))
    if whole:
        rich_table.width = out.measure(rich_table, options=out.options.update_width(10_000)).maximum
    out.print(rich_table, highlight=False, crop=not whole)


def interruption(how: str) -> typer.Exit:
    """Print how to resume an interrupted command, on standard error.

    Args:
        how: the sentence.

    Returns:
        The exception for the command to raise, with exit code 130.
    """
    tell(how, style="yellow")
    return typer.Exit(130)


def run(app: typer.Typer, name: str | None = None) -> None:
    """Run a command-line application; report user errors in one line, without a traceback.

    Args:
        app: the application, made with ``command_line``.
        name: its name in help texts; the name it was started by if None.
    """
    original = warnings.showwarning

    def show_warning(message: Warning | str, category: type[Warning], *location: Any, **options: Any) -> None:
        warn(message) if issubclass(category, OffaxisWarning) else original(message, category, *location, **options)

    warnings.showwarning = show_warning
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # as standard error's: a pipe may lack some letters
    try:
        app(prog_name=name)
    except (OffaxisError, MemoryError) as error:  # numpy says how much memory it asked for
        tell(f"error: {str(error) or 'not enough memory.'}", style="red")
        sys.exit(2)
    except OSError as error:  # a full disk, a name that is too long, a folder without permission
        if error.filename is None and error.errno is None:
            raise
        location = f"{os.fsdecode(error.filename)}: " if error.filename else ""
        tell(f"error: {location}{error.strerror}. Check the name, the permissions and the free space.", style="red")
        sys.exit(2)
    finally:
        warnings.showwarning = original


def command_line(summary: str, *, top: bool = False, **settings: Any) -> typer.Typer:
    """Make a command-line application with the project's defaults.

    Args:
        summary: the purpose of the command; the first line of ``--help``.
        top: whether it is the program itself, which has ``--version`` and shell completion.
        **settings: further arguments of `typer.Typer`.

    Returns:
        An application to add commands to.
    """
    return typer.Typer(
        help=summary,
        no_args_is_help=True,
        add_completion=top,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
        callback=_take_global_options if top else None,
        **settings,
    )


Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
"""The option ``--json`` of commands that list and describe."""


def _print_version(requested: bool) -> None:
    if requested:
        import importlib.metadata  # a sixth of the time of the program's help

        say(f"offaxis {importlib.metadata.version('offaxis')}")
        raise typer.Exit


def _take_global_options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Take the options before a command's name."""


def progress(*columns: rich.progress.ProgressColumn) -> rich.progress.Progress:
    """Make a progress display: description, bar, done of total, rate or the given columns, time elapsed and left.

    On a narrow terminal only the description is cut, never a number. If standard error is no terminal, a line is
    written every `REPORT_SECONDS` seconds instead, and all of them once at the end.

    Args:
        *columns: shown instead of the rate, such as a rate in images and a loss.

    Returns:
        A display to use in a ``with`` block. It writes to standard error.
    """
    return _make_display(
        rich.progress.MofNCompleteColumn(table_column=_uncut_column()),
        *(columns or (_Rate(table_column=_uncut_column()),)),
        rich.progress.TimeElapsedColumn(table_column=_uncut_column()),
        rich.progress.TimeRemainingColumn(table_column=_uncut_column()),
    )


@contextlib.contextmanager
def working(description: str) -> Iterator[Callable[[str, int, int], None]]:
    """Show one bar for work of several steps, which disappears at the end.

    Args:
        description: the first description.

    Yields:
        A function to call in each step with its description, the number done and the total.
    """
    with progress() as bars:
        bars.live.transient = True
        bar = bars.add_task(description, total=None)
        yield lambda what, done, total: bars.update(bar, description=what, completed=done, total=total)


def transfers() -> rich.progress.Progress:
    """Make a display of transfers: description, bar, bytes, rate and time left.

    Returns:
        A display to use in a ``with`` block. It writes to standard error.
    """
    return _make_display(
        rich.progress.DownloadColumn(table_column=_uncut_column()),
        rich.progress.TransferSpeedColumn(table_column=_uncut_column()),
        rich.progress.TimeRemainingColumn(table_column=_uncut_column()),
    )


def _make_display(*columns: rich.progress.ProgressColumn) -> rich.progress.Progress:
    return _Display(
        _Description("{task.description}", markup=False, table_column=rich.table.Column()),
        rich.progress.BarColumn(max(4, min(40, err.width // 8)), table_column=_uncut_column()),
        *columns,
        console=err,
        speed_estimate_period=RATE_WINDOW_SECONDS,
    )


def _uncut_column() -> rich.table.Column:
    """Return a column that is cut only if no other can be."""
    return rich.table.Column(no_wrap=True)


class _Display(rich.progress.Progress):
    """A display that prints a line every `REPORT_SECONDS` seconds if its output is no terminal."""

    _reporter: threading.Thread | None = None

    def start(self) -> None:
        super().start()
        if self._reporter is None and not (self.console.is_terminal or self.console.is_jupyter):
            self._stop_event = threading.Event()
            self._reporter = threading.Thread(target=self._report_progress, name="progress", daemon=True)
            self._reporter.start()

    def stop(self) -> None:
        if self._reporter is not None:
            self._stop_event.set()
            self._reporter.join()
            self._reporter = None
        super().stop()

    def _report_progress(self) -> None:
        while not self._stop_event.wait(REPORT_SECONDS):
            statuses = [self._describe_task(task) for task in self.tasks if task.visible and not task.finished]
            if statuses:
                self.console.print(" | ".join(statuses), soft_wrap=True, markup=False, highlight=False)

    def _describe_task(self, task: rich.progress.Task) -> str:
        """Return a task's columns as words, without the bar."""
        words = []
        for column in self.columns:
            if isinstance(column, str | rich.progress.BarColumn):
                continue
            text = str(column(task)).strip()
            if isinstance(column, rich.progress.TimeElapsedColumn):
                text = f"in {text}"
            elif isinstance(column, rich.progress.TimeRemainingColumn):
                text = f"{text} left" if task.time_remaining is not None else ""
            words.append(text)
        return " ".join(filter(None, words))


class _Rate(rich.progress.ProgressColumn):
    """The rate per second, or per minute if it is below one per second."""

    def render(self, task: rich.progress.Task) -> rich.text.Text:
        speed = task.finished_speed or task.speed
        if not speed:
            return rich.text.Text("")
        return rich.text.Text(f"{speed:,.0f}/s" if speed >= 1 else f"{60 * speed:.1f}/min")


class _Description(rich.progress.TextColumn):
    """Text that is cut, with three dots, where its column is narrow."""

    def render(self, task: rich.progress.Task) -> rich.text.Text:
        text = super().render(task)
        text.no_wrap, text.overflow = True, "ellipsis"
        return text
