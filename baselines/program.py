"""The program `offaxis`: each part is imported when it is called, so that the program's help is fast.

Internal.
"""

from __future__ import annotations

import importlib
from typing import Any

import typer.core
import typer.main

from benchmark_data import console

PARTS = {
    "data": ("benchmark_data.commands.data", "Datasets: list, look at, measure, prepare and build them."),
    "train": ("baselines.commands.train", "Baselines: train them, and write their codes, encoders and pictures."),
    "board": ("leaderboard.commands.board", "Leaderboard: score codes, submit methods, and compare them."),
    "study": ("baselines.commands.study", "Papers: reproduce figures and tables of four papers."),
    "demo": ("baselines.demo", "Train ten small VAEs in minutes, and see where disentanglement fails."),
    "doctor": ("benchmark_data.commands.doctor", "Show which extras, backends and GPUs there are."),
}
"""Name -> the module of its ``app``, and its summary in the program's help."""


def load(name: str) -> Any:
    """Import a part of the program and return its command."""
    return typer.main.get_command(importlib.import_module(PARTS[name][0]).app)


class _LazyGroup(typer.core.TyperGroup):
    """A group with the names and summaries of its commands, which imports a command when it is called."""

    def __init__(self, **settings: Any) -> None:
        commands = {name: typer.core.TyperCommand(name, help=summary) for name, (_, summary) in PARTS.items()}
        super().__init__(**settings | {"commands": commands})

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, command, rest = super().resolve_command(ctx, args)
        return name, command and load(str(name)), rest


app = console.command_line(
    "Offaxis, a disentanglement benchmark: datasets, baselines and a leaderboard.\n\n"
    "To begin: offaxis data show xysquares/spacing_8 --to squares.png; then offaxis demo.",
    top=True,
    cls=_LazyGroup,
)


def main() -> None:
    """Run the program."""
    console.run(app, "offaxis")


if __name__ == "__main__":
    main()
