"""Dataset arguments of all commands: a name, which the shell completes, or a folder of pictures."""

from __future__ import annotations

import functools
from typing import Annotated

import typer

import benchmark_data


def names_like(start: str) -> list[str]:
    """List the datasets and configs whose names begin with ``start``, for shell completion."""
    full_names = [
        config for name in benchmark_data.names() for config in dict.fromkeys([name, *benchmark_data.configs(name)])
    ]
    return [name for name in full_names if name.startswith(start)]


dataset_option = functools.partial(typer.Option, metavar="NAME", autocompletion=names_like)
"""An option that names a dataset."""

NameOrFolder = Annotated[
    str,
    typer.Argument(
        metavar="NAME|FOLDER",
        help="A dataset, one of its configs, or a folder of pictures, with labels in one CSV file if there are any.",
        autocompletion=names_like,
    ),
]

Ray = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="Run tasks on this Ray cluster; local starts one on this machine."),
]
"""The Ray cluster of a command that runs many tasks."""
