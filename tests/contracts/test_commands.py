"""The program: how many commands there are, how long their help is, what it loads, and that what names one is right."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from baselines import program

ROOT = Path(__file__).parents[2]
MOST = 32
"""Commands that the program may have."""

BUILT = ("docs/board/", "tests/")
"""What is built from other files, or tested itself."""

LINES = 42
"""Of 80 columns: a screen."""


def leaves(command, *path):
    """Every command that does something, with the words that call it."""
    if not hasattr(command, "commands"):
        yield path, command
        return
    for name, below in command.commands.items():
        yield from leaves(below, *path, name)


LEAVES = dict(leaf for part in program.PARTS for leaf in leaves(program.load(part), part))


def test_there_are_few_commands():
    assert 10 < len(LEAVES) <= MOST


@pytest.mark.parametrize("words", LEAVES, ids=" ".join)
def test_each_help_fits_a_screen_and_begins_with_a_sentence(words, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    done = CliRunner().invoke(program.app, [*words, "--help"], prog_name="offaxis")
    assert done.exit_code == 0
    assert f"Usage: offaxis {' '.join(words)} " in done.stdout
    assert done.stdout.count("\n") <= LINES
    assert LEAVES[words].help.partition("\n\n")[0].rstrip().endswith(".")


def test_the_help_of_the_program_loads_no_part():
    start = (
        "import sys; sys.argv = ['offaxis', '--help']\n"
        "from baselines.program import PARTS, main\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code\n"
        "modules = {name for name, _ in PARTS.values()} | {'numpy', 'keras', 'pandas', 'PIL', 'scipy'}\n"
        "print(sorted(modules & sys.modules.keys()), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", start], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "[]"
    assert all(part in done.stdout for part in program.PARTS)


def test_an_unknown_command_is_refused_and_its_neighbour_named():
    done = CliRunner().invoke(program.app, ["bord"])
    assert (done.exit_code, "Did you mean 'board'?" in done.stderr) == (2, True)


def test_the_version():
    assert re.fullmatch(r"offaxis \d[\d.]+\n", CliRunner().invoke(program.app, ["--version"]).stdout)


def mentions():
    """Files of the project and the commands that each names, as pairs of a place and words."""
    kept = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
    for name in kept or pytest.skip("no git checkout"):
        if Path(name).suffix in {".py", ".md", ".yml", ".html", ".toml"} and not name.startswith(
            ("docs/board/", "tests/")
        ):
            text = (ROOT / name).read_text("utf-8") if (ROOT / name).is_file() else ""
            for found in re.finditer(r"\boffaxis (data|train|board|study)\s+([a-z][a-z-]+)", text):
                yield name, found[1], found[2]


def test_every_command_that_is_named_anywhere_exists():
    known = {words[:2] for words in LEAVES}
    wrong = [f"{name}: offaxis {part} {command}" for name, part, command in mentions() if (part, command) not in known]
    assert wrong == []
