"""What commands on results share: results trees, tiers and seeds on a command line, and what is wrong with a thing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from benchmark_data import console
from benchmark_data.console import say
from benchmark_data.errors import OffaxisError, Unavailable

PUBLISHED = Path(__file__).parents[1] / "published"
"""The results that are published with the project. They lie in a checkout of the source, and not in wheels."""


def there(root: Path) -> Path:
    """Return a results tree that a command reads, or say where to get the published one."""
    if root == PUBLISHED and not root.is_dir():
        raise Unavailable(
            "published results",
            expected="leaderboard/published, which comes with a checkout of the source",
            received="an installation without it",
            remedy="Name a results tree: your own, or leaderboard/published of a checkout.",
        )
    return root


def beside_or_none(root: Path) -> Path:
    """Return a results tree to compare with; say so where there is none to compare with."""
    if root == PUBLISHED and not root.is_dir():
        console.warn(
            "this installation has no published results to compare with; name some with --beside, such as "
            "leaderboard/published of a checkout of the source"
        )
    return root


Results = Annotated[
    Path,
    typer.Argument(metavar="RESULTS", help="A results tree.", show_default="the published results", callback=there),
]
OneTask = Annotated[
    str,
    typer.Option(
        metavar="TASK", help="Only this task, such as xysquares/spacing_8@v1, or the tasks of this dataset or config."
    ),
]
Beside = Annotated[
    Path,
    typer.Option(
        metavar="RESULTS",
        help="The board to compare with.",
        show_default="the published results",
        callback=beside_or_none,
    ),
]
Seed = Annotated[
    str,
    typer.Option(
        help="Text to draw the fresh rows by, made up after the encoder was handed in.", show_default="random"
    ),
]

Replace = Annotated[
    bool,
    typer.Option(
        "--replace",
        help="Let a run take the place of one with the same seed from other codes, and what is said of the method that "
        "of what the tree says of it.",
    ),
]

_TIER_HELP = (
    "What training the scores stand for: smoke, minutes; desk, minutes of a core for a small model; study, the "
    "papers'; held_out, on the part of a split that is to train on."
)

Tier = Annotated[str, typer.Option(help=f"{_TIER_HELP} The default claims least; the board ranks in desk.")]
SubmittedTier = Annotated[str, typer.Option(help=f"{_TIER_HELP} The default is where the board ranks.")]


def report(what: str, problems: list[OffaxisError]) -> None:
    """Print what is wrong with a thing, or that nothing is."""
    for problem in problems:
        say(f"error: {problem}", style="red")
    if not problems:
        say(f"ok: {what}", style="green")
