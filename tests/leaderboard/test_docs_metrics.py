"""The page on metrics: its examples run, its table has every metric, and its commands exist."""

from __future__ import annotations

import re
from pathlib import Path

import typer.main

from leaderboard.commands import board

PAGE = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text("utf-8")


def test_the_examples_run():
    names: dict[str, object] = {}
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == 4
    for block in blocks:
        assert "assert" in block
        exec(compile(block, "metrics.md", "exec"), names)


def test_every_command_and_option_on_the_page_exists():
    root = typer.main.get_command(board.app)
    used = re.findall(r"offaxis-board ((?:\w[\w-]* ?)+)([^`\n#]*)", PAGE)
    assert len(used) >= 6
    for words, rest in used:
        command = root
        for word in words.split():
            if not hasattr(command, "commands"):
                break
            command = command.commands[word]
        known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
        assert set(re.findall(r"--[\w-]+", rest)) <= known, words
