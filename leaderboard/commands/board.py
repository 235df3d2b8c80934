"""The ``offaxis board`` command: score codes, look at results, build the board, check it."""

from __future__ import annotations

import functools
import secrets
from pathlib import Path
from typing import Annotated, Literal

import rich.table
import rich.text
import typer

from benchmark_data import console
from benchmark_data.commands.arguments import names_like
from benchmark_data.console import err, out, say
from benchmark_data.errors import DamagedFile, InvalidInput, Unavailable, UnknownName
from benchmark_data.files import check_ending, write_text, written_atomically
from leaderboard.commands import analyse, compare, metrics, submissions, transfer
from leaderboard.commands.arguments import PUBLISHED, OneTask, Replace, Results, Seed, Tier, report, there

app = console.command_line("The leaderboard: score codes, look at results, build the board, check it.")
app.add_typer(analyse.analyse, name="analyse")
app.add_typer(transfer.transfer, name="transfer")
app.add_typer(compare.compare, name="compare")
app.add_typer(submissions.submit, name="submit")
app.command()(metrics.metrics)
app.command()(compare.udr)
app.command()(compare.heatmap)


@app.command("tasks")
def list_tasks(
    name: Annotated[
        str,
        typer.Argument(
            metavar="DATASET",
            help="Only the tasks of this dataset.",
            autocompletion=names_like,
            show_default=False,
        ),
    ] = "",
    json: console.Json = False,
) -> None:
    """List the tasks of the protocol: datasets, how many rows are scored, and the digest of the row list."""
    from leaderboard import protocol

    known = protocol.datasets()
    shown = [protocol.task(each) for each in known if name in ("", each, each.partition("/")[0])]
    if not shown:
        raise UnknownName("dataset", name, {each.partition("/")[0] for each in known})
    if json:
        keys = ("name", "dataset", "train", "test", "factors_scored", "digest")
        out.print_json(
            data=[
                dict(zip(keys, (t.id, t.dataset, len(t.train), len(t.test), len(t.scored), t.digest), strict=True))
                for t in shown
            ]
        )
        return
    table = rich.table.Table(box=None, pad_edge=False)
    for title in ("task", "train", "test", "factors scored", "digest of the rows"):
        table.add_column(title, no_wrap=not title.startswith("digest"))
    for task in shown:
        table.add_row(task.id, f"{len(task.train):,}", f"{len(task.test):,}", str(len(task.scored)), task.digest[:16])
    out.print(table, highlight=False)


@app.command()
def rows(
    task: Annotated[
        str,
        typer.Argument(metavar="TASK", help="A task, such as xysquares/spacing_4.", autocompletion=names_like),
    ],
    to: Annotated[Path, typer.Option(help="The file to write: .npy for numpy, or .txt with one row in a line.")],
) -> None:
    """Write the rows of a task that a method must encode, in their order: train rows, then test rows."""
    import numpy as np

    from leaderboard import protocol

    indices = protocol.task(task).indices
    check_ending("--to", to, ".npy", ".txt")
    with written_atomically(to) as temporary, temporary.open("wb") as file:
        if to.suffix == ".npy":
            np.save(file, indices, allow_pickle=False)
        else:
            np.savetxt(file, indices, fmt="%d")
    out.print(f"{to}: {len(indices):,} rows of {protocol.task(task).id}", highlight=False)


@app.command()
def evaluate(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN...", help="Run folders, each with run.json and codes.npz.")
    ],
    into: Annotated[Path, typer.Option(help="The results tree to write to. It is made where it is missing.")],
    tier: Tier = "smoke",
    method: Annotated[
        str, typer.Option(metavar="NAME", help="Score them under this name, such as that of a second setting.")
    ] = "",
    reproduced: Annotated[
        bool, typer.Option("--reproduced", help="The runs were trained here, not only their codes handed in.")
    ] = False,
    replace: Replace = False,
    new: Annotated[
        bool, typer.Option("--new", help="Leave out runs whose codes the tree holds scores of in this tier.")
    ] = False,
    verify: Annotated[
        bool, typer.Option(help="Verify runs that have an encoder.onnx: offaxis train export writes it.")
    ] = True,
    seed: Seed = "",
    with_pictures: Annotated[
        bool,
        typer.Option(
            "--pictures", help="Show traversals.png, reconstructions.png and the CKA of activations.npz, if there."
        ),
    ] = False,
) -> None:
    """Score the codes of runs and add the scores to a results tree, task by task and method by method.

    A run with an encoder is verified, too: its encoder encodes fresh rows, and their scores must be those of its codes.
    """
    from leaderboard import protocol
    from leaderboard.report import formats, media
    from leaderboard.scoring import candidates
    from leaderboard.store import results_tree

    protocol.tier(tier)
    written: list[Path] = []
    notes: list[str] = []
    status: Literal["reproduced", "recomputed"] = "reproduced" if reproduced else "recomputed"
    fresh = (seed or secrets.token_hex(16)) if verify else ""
    with console.working("checking") as told:
        groups = candidates.grouped([candidates.load(run).renamed(method) for run in runs], tier, status=status)
        if new:
            groups = [group for group in groups if not results_tree.holds(into, group.planned)]
        for group in groups:
            results_tree.check_write(into, group.planned, replace=replace)
        for number, group in enumerate(groups):
            told(f"{group.planned.method} on {group.planned.dataset}", number, len(groups))
            for one in group.candidates:
                notes += metrics.small_sample(one.where, one.codes, one.task, tier)
            result, doubts = candidates.score_group(group, fresh)
            notes += doubts
            written += results_tree.write(into, [result], replace=replace)
            media.of_dataset(result.dataset, written[-1].parent)
            if with_pictures:
                of = {one.record.seed: Path(one.where) for one in group.candidates}
                media.of_runs(of, written[-1], tier)
    if not written:
        out.print("nothing new")
        return
    out.print(formats.terminal([results_tree.read(file) for file in written]))
    for sentence in notes:
        console.warn(sentence)
    for file in written:
        say(file)


app.command()(submissions.score)
app.command()(submissions.verify)


@app.command("publish-weights")
def publish_weights(
    exports: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="As offaxis train export RUN --to DIR writes them.")
    ],
    into: Annotated[
        Path,
        typer.Option(metavar="RESULTS", help="The results tree.", show_default="the published results", callback=there),
    ] = PUBLISHED,
) -> None:
    """Put encoders of exported runs beside their results, for anyone to fetch; the board links them.

    A run must be among the results, verified by this encoder.
    """
    from leaderboard.report import weights

    for one in weights.add(into, exports):
        size, digest = one.files[weights.ENCODER]
        say(f"{one.folder}: {size:,} bytes, SHA-256 {digest}")


@app.command()
def quarantine(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A result file.")],
    reason: Annotated[str, typer.Option(help="Why it is not to be trusted; empty to lift the quarantine.")],
) -> None:
    """Take a result out of the ranking without deleting it; the reason is shown with it."""
    from leaderboard.store import results_tree

    found = results_tree.quarantine(file, reason)
    out.print(f"{file}: {'in quarantine' if found.quarantine else 'trusted again'}", soft_wrap=True, highlight=False)


@app.command()
def show(
    root: Results = PUBLISHED,
    task: OneTask = "",
    tier: Annotated[str, typer.Option(help="Only this tier, such as smoke.")] = "",
    json: console.Json = False,
) -> None:
    """Print the tables of a results tree in the terminal."""
    from leaderboard.report import formats, ranking
    from leaderboard.store import results_tree

    listed = results_tree.by_dataset(root)
    if not listed:
        raise DamagedFile(
            str(root), expected="at least one result", received="none", remedy="Add some: see `evaluate`."
        )
    if task:
        tasks = {file: f"{name}@{file.relative_to(root).parts[0]}" for name in listed for file in listed[name]}
        chosen = ranking.chosen(tasks.values(), task)
        found = [results_tree.read(file) for file, of in tasks.items() if of in chosen]
    else:
        found = results_tree.read_all(root)
    tiers = {name for result in found for name in result.tiers}
    if tier and tier not in tiers:
        raise UnknownName("tier with results", tier, tiers)
    if json:
        out.print_json(data=[one for one in formats.records(ranking.tables(found)) if tier in ("", one["tier"])])
        return
    out.print(formats.terminal(found, tier))


@app.command("compare-methods")
def compare_methods(
    first: Annotated[str, typer.Argument(metavar="A", help="A method, such as beta_vae.")],
    second: Annotated[str, typer.Argument(metavar="B", help="Another one.")],
    roots: Annotated[
        list[Path] | None,
        typer.Option(
            "--results",
            help="A results tree. Repeat it to compare methods of two: your own and leaderboard/published.",
            show_default="the published results",
        ),
    ] = None,
    task: OneTask = "",
    tier: Annotated[
        str,
        typer.Option(
            help="Compare scores of this tier, such as smoke.", show_default="the first that has both, desk first"
        ),
    ] = "",
    to: Annotated[Path | None, typer.Option(help="Write the differences to this CSV file, too.")] = None,
) -> None:
    """Compare two methods: their difference on each task by each score, its interval, and what seeds tell."""
    from leaderboard.report import formats, pairwise, ranking
    from leaderboard.store import results_tree

    check_ending("--to", to, ".csv")
    found = [result for root in roots or [PUBLISHED] for result in results_tree.read_all(there(root))]
    boards = ranking.tables(found)
    first, second = (pairwise.method(boards, name) for name in (first, second))
    chosen = ranking.chosen({board.task for board in boards}, task)
    asked = pairwise.of_tier([board for board in boards if board.task in chosen], first, second, tier)
    tiers = {board.tier for board in asked}  # one, or all where none has both methods
    pair = pairwise.compare([board for board in boards if board.tier in tiers], first, second)
    if task:
        pair = pairwise.limited(pair, {board.dataset for board in asked})
    table = rich.table.Table(
        rich.table.Column("task", no_wrap=True),
        "score",
        *(rich.table.Column(title, justify="right") for title in ("A", "B", "A - B", "95% interval")),
        "seeds tell",
        title=rich.text.Text(f"A = {pair.first[1]}, B = {pair.second[1]}, tier {pair.tier}"),
        title_justify="left",
        box=None,
        pad_edge=False,
    )
    for name, differences in pair.by_task.items():
        for one in differences:
            by = one.comparison
            interval = f"{formats.signed(by.low)} to {formats.signed(by.high)}" if by.low == by.low else "-"
            numbers = (f"{one.first:.3f}", f"{one.second:.3f}", formats.signed(by.difference), interval)
            shown = name if one is differences[0] else ""
            table.add_row(shown, one.column.title, *numbers, rich.text.Text(pair.says(one)))
    out.print(table, highlight=False)
    out.print(
        "Intervals and tests are Welch's; verdicts of one score are corrected for all of its tasks (Holm), also those "
        "that are not shown, and the mean over tasks is one test of its own.",
        soft_wrap=True,
        highlight=False,
    )
    if to is not None:
        write_text(to, pairwise.comma_separated(pair))


@app.command("datasets")
def show_datasets(
    root: Results = PUBLISHED,
    tier: Annotated[
        str,
        typer.Option(help="Take scores of this tier.", show_default="the first with two datasets, desk before smoke"),
    ] = "",
    measure: Annotated[
        bool,
        typer.Option("--measure", help="First audit the datasets whose giveaway is not known: seconds for each."),
    ] = False,
    to: Annotated[Path | None, typer.Option(help="Write the scores of every method to this CSV file.")] = None,
) -> None:
    """List datasets by how hard they are: scores of trained methods beside how far pixels give the factors away."""
    from leaderboard.report import families, hardness, ranking
    from leaderboard.store import giveaways, results_tree

    check_ending("--to", to, ".csv")
    boards = ranking.tables(results_tree.read_all(root))
    if measure:
        here = [families.dataset(name) for name in sorted({board.dataset for board in boards})]
        for dataset in giveaways.unknown(root, filter(None, here)):
            try:
                with err.status(f"auditing {dataset.id}"):
                    giveaways.write(root, [giveaways.audited(dataset)])
            except Unavailable as error:
                console.tell(f"left out: {error}", style="yellow")
    known = giveaways.read(root)
    there = {board.tier for board in boards}
    if tier and tier not in there:
        raise UnknownName("tier with results", tier, there)
    tiers = [tier] if tier else sorted(there, key=ranking.tier_order)
    each = (hardness.hardness([board for board in boards if board.tier == name], known) for name in tiers)
    found = next((one for one in each if one), None)
    if found is None:
        audited = {board.dataset for board in boards if board.tier in tiers} & known.keys()
        again = f"offaxis board datasets {root}{f' --tier {tier}' if tier else ''} --measure"
        raise Unavailable(
            f"datasets of {root}{f' in tier {tier}' if tier else ''}",
            expected="scores of trained methods on two datasets that no split rule divides, and the giveaway of one",
            received="fewer scores" if audited else "no giveaway",
            remedy="Score methods on more datasets." if audited else f"Measure the giveaways: {again}",
        )
    out.print(hardness.terminal(found), highlight=False)
    for one in found.predictions:
        say(hardness.sentence(found.column, one))
    if to is not None:
        write_text(to, hardness.comma_separated(found))


@app.command()
def build(
    root: Results = PUBLISHED,
    to: Annotated[Path, typer.Option(help="The folder to write to.")] = Path("site"),
) -> None:
    """Build the board: HTML pages, and tables as CSV, from the results alone."""
    from leaderboard.report.site import build as site

    with err.status("building"):
        page = site.build(root, to)
    say(f"{page}\n{page.resolve().as_uri()}")


app.command()(submissions.review)
app.command()(submissions.validate)


@app.command()
def check(
    root: Results = PUBLISHED,
    against: Annotated[
        str, typer.Option(metavar="TREE|REVISION", help="An earlier copy, or a git revision: no score may have moved.")
    ] = "",
) -> None:
    """Check what is published: results sound, and no score moved. Exit status 1 if not."""
    from leaderboard.report import integrity

    problems = integrity.check(root)
    report(str(root), problems)
    if against:
        drift = integrity.moved(root, against)
        report(f"scores against {against}", drift)
        problems += drift
    if problems:
        raise typer.Exit(1)


@app.command()
def serve(
    site: Annotated[Path, typer.Argument(metavar="SITE", help="The folder of a built board.")] = Path("site"),
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes any free port.")] = 8000,
) -> None:
    """Show a built board at a local address, until interrupted."""
    import http.server

    if not (site / "index.html").is_file():
        raise DamagedFile(
            str(site),
            expected="a built board",
            received="no index.html",
            remedy="Make one: offaxis board build --to site",
        )
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(site))
    try:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", port), handler)
    except OSError as error:
        raise InvalidInput(
            f"port {port}",
            expected="a free port",
            received=error.strerror or str(error),
            remedy="Choose another --port.",
        ) from error
    with server:
        out.print(f"http://127.0.0.1:{server.server_address[1]}/ (Ctrl+C ends it)", highlight=False)
        server.serve_forever()
