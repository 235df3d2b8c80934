"""Shared parts of commands on results: results trees, tiers and tasks on a command line, and lists of errors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from benchmark_data import console, files
from benchmark_data.errors import OffaxisError, Unavailable

if TYPE_CHECKING:
    from leaderboard.store.results import Result

PUBLISHED = Path(__file__).parents[1] / "published"
"""As `leaderboard.store.results_tree.PUBLISHED`, which takes long to import."""


def installed(root: Path) -> Path:
    """Refuse the published results if they are not installed, before the packages that read them are required."""
    if root == PUBLISHED and not root.is_dir():
        raise Unavailable(
            "This installation has no published results: they are only in a clone of the repository. Name a results "
            "tree: your own, or leaderboard/published in a clone."
        )
    return root


def published(datasets: Iterable[str] | None = None) -> list[Result]:
    """Read the published results, of some datasets or of all; empty if they are not installed."""
    from leaderboard.store import results_tree

    if not PUBLISHED.is_dir():
        return []
    if datasets is None:
        return results_tree.read_all(PUBLISHED)
    files_by_dataset = results_tree.by_dataset(PUBLISHED)
    return [results_tree.read(file) for name in dict.fromkeys(datasets) for file in files_by_dataset.get(name, ())]


def published_with(results: Sequence[Result], trees: Iterable[Path] = ()) -> list[Result]:
    """Read the published results of the tasks of some results, except those whose runs, in their tiers, are all there.

    Published results of a method that is among them are renamed ``…_published``. Empty if the published tree is one of
    ``trees``, from which the results were read.
    """
    if PUBLISHED.resolve() in {tree.resolve() for tree in trees}:
        return []
    runs_by_result = {(result.task, result.method): result.runs for result in results}
    tasks, others = {result.task for result in results}, []
    for result in published(result.dataset for result in results):
        own_runs = runs_by_result.get((result.task, result.method), ())
        own_tiers = {run.tier for run in own_runs}
        runs = [run for run in result.runs if run.tier in own_tiers]
        if result.task not in tasks or (runs and all(run in own_runs for run in runs)):
            continue
        if own_runs:
            about = result.about.model_copy(update={"title": f"{result.title} (published)"})
            result = result.model_copy(update={"method": f"{result.method}_published", "about": about})
        others.append(result)
    return others


def run_record(path: Path) -> dict[str, Any]:
    """Read ``run.json`` of a run folder, or of the folder of its codes or activations; empty without one."""
    folder = path if path.is_dir() else path.parent
    is_of_run = path.is_dir() or path.name in ("codes.npz", "activations.npz")
    recorded = files.read_json(folder / "run.json") if is_of_run and (folder / "run.json").is_file() else {}
    return recorded if isinstance(recorded, dict) else {}


def by_tier(results: Sequence[Result], others: Sequence[Result]) -> Iterator[tuple[str, list[Result]]]:
    """Yield each tier of some results, desk first, with these and other results of the tasks that they have in it."""
    from leaderboard.report import ranking

    for tier in sorted({tier for result in results for tier in result.tiers}, key=ranking.tier_order):
        tasks = {result.task for result in results if tier in result.tiers}
        yield tier, [result for result in (*results, *others) if result.task in tasks]


Results = Annotated[
    Path,
    typer.Argument(metavar="RESULTS", help="A results tree.", show_default="the published results", callback=installed),
]
OneTask = Annotated[
    str,
    typer.Option(metavar="TASK", help="A task, such as xysquares/spacing_8, or all tasks of a dataset."),
]
Replace = Annotated[bool, typer.Option("--replace", help="Replace stored runs of the same seeds.")]
Tier = Annotated[
    str,
    typer.Option(
        metavar="TIER",
        help="Tier of run folders: desk (ranked), smoke, study or held_out. A submission names its own.",
        show_default="held_out if a split rule divides the dataset, else desk",
    ),
]


def report(what: str, problems: Sequence[OffaxisError]) -> None:
    """Print the errors of something, or that it has none."""
    for problem in problems:
        console.say(f"error: {problem}", style="red")
    if not problems:
        console.say(f"ok: {what}", style="green")
