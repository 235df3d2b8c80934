"""Exit codes and one-line errors, as every command has them."""

from __future__ import annotations

import errno
import importlib.metadata
import os
import re
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import rich.console
import rich.progress
import typer
from typer.testing import CliRunner

from benchmark_data import InvalidInput, console

HOSTILE = "\x1b[2Ja\u202eb\u2066 \udcff caf\u00e9"
SHOWN = r"\x1b[2Ja\u202eb\u2066 \udcff caf" "\u00e9"

app = console.command_line("A command of this test.")


@app.command()
def fine() -> None:
    """Do it."""
    console.out.print("a result")


@app.command()
def bad() -> None:
    """Meet an error of the user's making."""
    raise InvalidInput(f"rows [red]: expected {'integers ' * 30}, received floats. Round them.")


@app.command()
def differs() -> None:
    """Fail a check."""
    raise typer.Exit(1)


@app.command()
def interrupted() -> None:
    """Meet Ctrl-C."""
    raise KeyboardInterrupt


@app.command()
def long() -> None:
    """Open a file that no file system takes."""
    open("x" * 300).close()


@app.command()
def full() -> None:
    """Write to a full disk, whose error names no file."""
    raise OSError(errno.ENOSPC, "No space left on device")


@app.command()
def large() -> None:
    """Ask for more memory than there is."""
    np.empty(2**50)


@app.command()
def hostile() -> None:
    """Print what a stranger wrote."""
    console.say(HOSTILE)
    console.table([(HOSTILE, 1)], "name", "number")
    console.warn(HOSTILE)
    raise InvalidInput(HOSTILE)


@app.command()
def broken() -> None:
    """Meet an error of ours."""
    raise ZeroDivisionError("ours")


@pytest.fixture
def command(monkeypatch, capsys):
    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["command", *arguments])
        with pytest.raises(SystemExit) as stopped:
            console.run(app)
        return (stopped.value.code or 0, *capsys.readouterr())

    return run


def test_results_go_to_standard_output(command):
    assert command("fine") == (0, "a result\n", "")


def test_a_users_error_is_one_line_and_2(command):
    code, out, err = command("bad")
    assert (code, out) == (2, "")
    assert err == f"error: rows [red]: expected {'integers ' * 30}, received floats. Round them.\n"


def test_too_little_memory_is_one_sentence_and_2(command):
    code, out, err = command("large")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("error: Unable to allocate 8.00 PiB")


def test_what_the_system_refuses_is_one_sentence_and_2(command):
    code, out, err = command("long")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.endswith("x: File name too long. Check the name, the permissions and the free space.\n")
    error = "error: No space left on device. Check the name, the permissions and the free space.\n"
    assert command("full") == (2, "", error)


def test_a_strangers_words_cannot_move_a_terminal(command):
    _, out, err = command("hostile")
    assert (out.count(SHOWN), err.count(SHOWN)) == (2, 2)
    assert all(line.isprintable() for line in (out + err).splitlines())


def test_a_table_without_headings_is_whole_on_a_narrow_terminal(monkeypatch, capsys):
    """A long path, as of the cache, ended in three dots."""
    monkeypatch.setattr(console, "out", rich.console.Console(width=40))
    path = f"/{'x' * 99}"
    console.table([("cache", path), ("cores", 2)])
    assert "".join(capsys.readouterr().out.split()) == f"cache{path}cores2"


def test_a_whole_table_is_wider_than_the_console(monkeypatch, capsys):
    """Where it was cut, 0.43 was printed as 0.4, and two names of factors were the same."""
    monkeypatch.setattr(console, "out", rich.console.Console(width=80))
    names = ["size_of_the_object_in_the_foreground", "size_of_the_object_in_the_background"]
    rows = [(name, *["0.43 [0.40, 0.46]"] * 4) for name in names]
    console.table(rows, "factor", *[f">{letter}" for letter in "abcd"], title="A title", whole=True)
    title, headings, *lines = capsys.readouterr().out.splitlines()
    assert (title.strip(), headings.split()) == ("A title", ["factor", *"abcd"])
    assert [line.split(None, 1)[0] for line in lines] == names
    assert [line.count("0.43 [0.40, 0.46]") for line in lines] == [4, 4]


def test_a_failed_check_is_1(command):
    assert command("differs") == (1, "", "")


def test_an_interruption_is_130(command):
    code, out, err = command("interrupted")
    assert (code, out) == (130, "")
    assert "Traceback" not in err


WARNING = """
import warnings
from benchmark_data import console
from benchmark_data.errors import OffaxisWarning
app = console.command_line("For a test.")
@app.command()
def odd():
    warnings.warn("[red] look here", OffaxisWarning)
    warnings.warn("there", UserWarning)
console.run(app)
"""


def test_a_warning_of_ours_is_one_line():
    """Without the place in the code, which tells a user nothing; warnings of others are shown as ever."""
    done = subprocess.run([sys.executable, "-c", WARNING], capture_output=True, text=True, check=True)
    first, second = done.stderr.splitlines()[:2]
    assert first == "warning: [red] look here"
    assert second.endswith("UserWarning: there")


@pytest.mark.parametrize(
    ("print_it", "line"),
    [
        (console.say, "[red] {}"),
        (console.tell, "[red] {}"),
        (console.warn, "warning: [red] {}"),
        (console.interruption, "[red] {}"),
    ],
)
def test_what_is_printed_is_one_line_as_it_is(print_it, line, capsys):
    text = " ".join(30 * ["a word"])
    exit_ = print_it(f"[red] {text}")
    out, err = capsys.readouterr()
    assert (out if print_it is console.say else err) == line.format(text) + "\n"
    assert not (err if print_it is console.say else out)
    assert (exit_ is None) != (print_it is console.interruption)
    assert exit_ is None or exit_.exit_code == 130


def test_an_error_of_ours_is_not_hidden(monkeypatch):
    monkeypatch.setattr("sys.argv", ["command", "broken"])
    with pytest.raises(ZeroDivisionError, match="ours"):
        console.run(app)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fin"], "No such command 'fin'"),
        (["fine", "--loud"], "No such option"),
        (["fine", "x"], "unexpected extra arg"),
    ],
)
def test_wrong_usage_is_2(command, arguments, message):
    code, _, err = command(*arguments)
    assert code == 2
    assert message in err


def test_help_says_what_it_is_for(command):
    for option in ("-h", "--help"):
        code, out, _ = command(option)
        assert code == 0
        assert "A command of this test." in out
        assert "Meet Ctrl-C." in out


def test_no_command_shows_the_help(command):
    code, out, err = command()
    assert code == 2
    assert "Usage" in out + err


def test_progress_goes_to_standard_error(capsys):
    with console.progress() as bars:
        task = bars.add_task("counting", total=3)
        bars.advance(task, 3)
    out, err = capsys.readouterr()
    assert out == ""
    assert "counting" in err
    assert "3/3" in err


@pytest.mark.parametrize("name", ["short", "dsprites_perturbed/pca32_eps10: rows written and hashed"])
def test_progress_fits_80_columns(name, monkeypatch):
    """With the columns that `baselines.train` adds; what is too long is the description, and no number is cut."""
    monkeypatch.setattr(console, "err", rich.console.Console(width=80, force_terminal=True, color_system=None))
    added = [rich.progress.TextColumn("{task.fields[rate]}"), rich.progress.TextColumn("{task.fields[loss]}")]
    bars = console.progress(*added)
    bars.add_task(name, total=300_000, completed=123_456, rate="12,345 img/s", loss="loss 1.234e+04")
    with console.err.capture() as shown:
        console.err.print(bars.get_renderable())
    (line,) = shown.get().splitlines()
    assert len(line) <= 80
    assert line.startswith(name[:8])
    assert ("…" in line) == (name != "short")
    assert re.search(r"━ +123456/300000 12,345 img/s loss 1.234e\+04 0:00:00 -:--:--\s*$", line)


def test_transfers_fit_80_columns(monkeypatch):
    monkeypatch.setattr(console, "err", rich.console.Console(width=80, force_terminal=True, color_system=None))
    bars = console.transfers()
    name = "smallnorb-5x46789x9x18x6x2x96x96-training-dat.mat.gz from cs.nyu.edu"
    bars.add_task(name, total=131_896_188, completed=65_000_000)
    with console.err.capture() as shown:
        console.err.print(bars.get_renderable())
    (line,) = shown.get().splitlines()
    assert len(line) <= 80
    assert re.match(r"smallnorb-5x46789x9x.*… ━+.* 65\.0/131\.9 MB \? -:--:--\s*$", line)


def test_as_a_real_process():
    """The installed way in, with real streams and a real exit status."""
    done = subprocess.run(
        [sys.executable, "-m", "baselines.program", "data", "info", "sprite2d"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert "Did you mean 'dsprites'?" in done.stderr
    assert "Traceback" not in done.stderr


def test_letters_that_a_stream_lacks_are_written_by_number():
    done = subprocess.run(
        [sys.executable, "-m", "baselines.program", "train", "list"],
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "cp1252"},
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert rb"Grze\u015b" in done.stdout


def test_without_a_terminal_a_line_says_now_and_then_where_things_stand(capsys, monkeypatch):
    monkeypatch.setattr(console, "REPORT_SECONDS", 0.01)
    with console.progress(rich.progress.TextColumn("{task.fields[rate]}")) as bars:
        tasks = [bars.add_task(f"run {i}", total=9, completed=i, rate=f"{i} img/s") for i in range(2)]
        said = ""
        while said.count("\n") < 3:  # it says the same again where nothing happened
            time.sleep(0.01)
            said += capsys.readouterr().err
        line = r"run 0 0/9 0 img/s in 0:00:\d\d \| run 1 1/9 1 img/s in 0:00:\d\d"
        assert re.fullmatch(line, said.splitlines()[-1])
        for task in tasks:
            bars.update(task, completed=9)
    assert "9/9" in capsys.readouterr().err
    assert not [thread for thread in threading.enumerate() if thread.name == "progress"]


@pytest.mark.parametrize(("done", "seconds", "shown"), [(24_000, 2, "12,000/s"), (3, 60, "3.0/min")])
def test_every_display_tells_the_rate_and_the_time_left(done, seconds, shown):
    """24,000 in 2 seconds are 12,000 a second; 3 in 60 seconds are 3 a minute. As much again takes as long again."""
    now = 0.0
    bars = console.progress()
    bars.get_time = lambda: now
    task = bars.add_task("counting", total=3 * done)
    bars.update(task, completed=done)
    now = float(seconds)
    bars.update(task, completed=2 * done)
    with console.err.capture() as written:
        console.err.print(bars.get_renderable())
    assert shown in written.get()
    minutes, rest = divmod(seconds, 60)
    assert f"0:{minutes:02d}:{rest:02d}" in written.get()


def test_on_a_terminal_the_display_moves_instead(monkeypatch, capsys):
    monkeypatch.setattr(console, "err", rich.console.Console(width=80, force_terminal=True, color_system=None))
    monkeypatch.setattr(console, "REPORT_SECONDS", 0.01)
    with console.progress() as bars:
        bars.add_task("counting", total=9)
        assert not [thread for thread in threading.enumerate() if thread.name == "progress"]
    assert " in 0:00" not in capsys.readouterr().out


def test_a_program_tells_its_version():
    whole = console.command_line("A program of this test.", top=True)
    whole.command("fine")(fine)
    whole.command("differs")(differs)
    called = CliRunner().invoke(whole, ["--version"])
    assert (called.exit_code, called.stdout) == (0, f"offaxis {importlib.metadata.version('offaxis')}\n")
    assert "A program of this test." in CliRunner().invoke(whole, ["--help"]).stdout
    assert CliRunner().invoke(whole, ["fine"]).stdout == "a result\n"
    assert CliRunner().invoke(app, ["--version"]).exit_code == 2, "a group of commands within a program"
