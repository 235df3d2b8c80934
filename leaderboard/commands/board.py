"""``offaxis board``: score codes, submit methods, look at results, and build the board."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from benchmark_data import console
from benchmark_data.commands.arguments import names_like
from benchmark_data.console import err, out, say
from benchmark_data.errors import DamagedFile, UnknownName
from benchmark_data.files import check_ending, write_text
from leaderboard.commands import scores, similarity
from leaderboard.commands.arguments import PUBLISHED, OneTask, Results, by_tier, published_with, report

app = console.command_line("The leaderboard: score codes, submit methods, look at results, build the board.")


@app.command("tasks")
def list_tasks(
    name: Annotated[
        str,
        typer.Argument(metavar="DATASET", help="A dataset or config.", autocompletion=names_like, show_default="all"),
    ] = "",
) -> None:
    """List the tasks: dataset, number of rows to score, and digest of the list of rows."""
    from leaderboard import protocol

    datasets = protocol.datasets()
    tasks = [protocol.task(dataset) for dataset in datasets if name in ("", dataset, dataset.partition("/")[0])]
    if not tasks:
        raise UnknownName("dataset", name, {*datasets, *(dataset.partition("/")[0] for dataset in datasets)})
    rows = [(t.id, f"{len(t.train):,}", f"{len(t.test):,}", len(t.scored), t.digest[:16]) for t in tasks]
    console.table(rows, "task", ">train", ">test", ">factors scored", "digest of the rows", whole=True)


app.command()(scores.score)
app.command()(scores.submit)
app.command()(scores.verify)


@app.command()
def show(
    root: Results = PUBLISHED,
    task: OneTask = "",
    tier: Annotated[str, typer.Option(help="Only this tier, such as desk.", show_default="all, desk first")] = "",
    json: console.Json = False,
) -> None:
    """Print the tables of a results tree. Your own tree is shown with the published rows.

    With --task, the task of exactly that name comes first,
    the variants and splits of its dataset after it.
    """
    from leaderboard.report import formats, ranking
    from leaderboard.store import results_tree

    files = results_tree.by_dataset(root)
    if not files:
        raise _empty_tree_error(root)
    tasks = {file: f"{name}@{file.relative_to(root).parts[0]}" for name in files for file in files[name]}
    selected_tasks = ranking.select_tasks(tasks.values(), task)
    results = [results_tree.read(file) for file, task_id in tasks.items() if task_id in selected_tasks]
    tiers = {name for result in results for name in result.tiers}
    if tier and tier not in tiers:
        raise UnknownName("tier with results", tier, tiers)
    groups = [(name, group) for name, group in by_tier(results, published_with(results, [root])) if tier in ("", name)]
    if json:
        rows = (row for name, group in groups for row in formats.records(ranking.tables(group)) if row["tier"] == name)
        out.print_json(data=[*rows])
        return
    for name, group in groups:
        out.print(formats.terminal(group, name))


def _empty_tree_error(root: Path) -> DamagedFile:
    return DamagedFile(f"{root} has no results of this protocol. Add some: offaxis board score RUN... --to RESULTS")


@app.command()
def compare(
    first: Annotated[str, typer.Argument(metavar="A", help="A method, such as beta_vae.")],
    second: Annotated[str, typer.Argument(metavar="B", help="Another one.")],
    roots: Annotated[
        list[Path] | None,
        typer.Option(
            "--results",
            metavar="RESULTS",
            help="Your results tree, shown with the published rows of its tasks. Repeatable.",
            show_default="the published results",
        ),
    ] = None,
    task: OneTask = "",
    tier: Annotated[str, typer.Option(help="The tier.", show_default="the first with both, desk first")] = "",
    to: Annotated[Path | None, typer.Option(metavar="FILE.csv", help="Also write the differences here.")] = None,
) -> None:
    """Compare two methods: difference of each score on each task, with interval and test."""
    from leaderboard.report import formats, pairwise, ranking
    from leaderboard.store import results_tree

    check_ending(to, ".csv")
    roots = roots or [PUBLISHED]
    results = [result for root in roots for result in results_tree.read_all(root)]
    if not results:
        raise _empty_tree_error(roots[0])
    results += published_with(results, roots)
    boards = ranking.tables(results)
    first, second = (pairwise.method(boards, name) for name in (first, second))
    selected_tasks = ranking.select_tasks({board.task for board in boards}, task)
    tier_boards = pairwise.of_tier([board for board in boards if board.task in selected_tasks], first, second, tier)
    tiers = {board.tier for board in tier_boards}  # one, or all if none has both methods
    pair = pairwise.compare([board for board in boards if board.tier in tiers], first, second)
    if task:
        pair = pairwise.restrict_to_tasks(pair, [board for board in tier_boards if board.tier == pair.tier])
    lines = []
    for name, differences in pair.by_task.items():
        for difference in differences:
            gap = difference.comparison
            interval = f"{formats.signed(gap.low)} to {formats.signed(gap.high)}" if gap.low == gap.low else "-"
            numbers = (f"{difference.first:.3f}", f"{difference.second:.3f}", formats.signed(gap.difference), interval)
            shown_name = name if difference is differences[0] else ""
            lines.append((shown_name, difference.column.title, *numbers, pair.verdict(difference)))
    compared = [board for board in boards if board.tier == pair.tier and board.dataset in pair.by_task]
    title = f"A = {pairwise.describe(compared, first)}, B = {pairwise.describe(compared, second)}, tier {pair.tier}"
    console.table(lines, "task", "score", ">A", ">B", ">A - B", ">95% interval", "result", title=title)
    say("Welch's intervals and tests, with Holm's correction over all tasks of a score, including those not shown.")
    if pairwise.ACROSS in pair.by_task:
        say("The mean over tasks is tested separately.")
    if any(1 in difference.seeds for difference in pair.differences):
        say("Where a method has one seed, the test is whether its score could come from a seed of the other.")
    for sentence in pair.left_out:
        console.warn(f"not compared: {sentence}")
    if to is not None:
        write_text(to, pairwise.comma_separated(pair))


app.command()(similarity.similarity)


@app.command()
def build(
    root: Results = PUBLISHED,
    to: Annotated[Path, typer.Option(metavar="DIR", help="The folder to write.")] = Path("board"),
) -> None:
    """Build the board from the results: HTML pages, and tables as CSV. It needs no server."""
    from leaderboard.report.site import build as site

    folder = to.resolve()  # first, since the build may replace the working directory
    with err.status("building"):
        page = site.build(root, to)
    say(f"{page}\n{(folder / page.name).as_uri()}")


@app.command()
def check(
    root: Results = PUBLISHED,
    against: Annotated[
        Path | None,
        typer.Option(metavar="TREE", help="An earlier copy of the tree to compare with: changed scores are errors."),
    ] = None,
) -> None:
    """Check a results tree and list all problems. Exit status 1 if any."""
    from leaderboard.report import integrity

    problems = integrity.check(root)
    moved = integrity.score_changes(root, against) if against is not None else []  # it may raise: nothing is ok yet
    report(str(root), problems)
    if against is not None:
        report(f"scores of {root} against {against}", moved)
    if problems or moved:
        raise typer.Exit(1)
