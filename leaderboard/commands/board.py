"""The ``offaxis-board`` command: score codes, look at results, build the board, check it."""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import rich.table
import rich.text
import typer

from benchmark_data import console
from benchmark_data.commands.arguments import names_like
from benchmark_data.console import err, out, say
from benchmark_data.errors import DamagedFile, InvalidInput, OffaxisError, Unavailable, UnknownName
from benchmark_data.files import write_text, written_atomically
from leaderboard.commands import analyse, compare, metrics, transfer

if TYPE_CHECKING:
    from leaderboard.store.results import Result

PUBLISHED = Path(__file__).parents[1] / "published"
"""The results that are published with the project. They lie in a checkout of the source, and not in wheels."""

app = console.command_line("The leaderboard: score codes, look at results, build the board, check it.", top=True)
app.add_typer(analyse.analyse, name="analyse")
app.add_typer(transfer.transfer, name="transfer")
app.add_typer(compare.compare, name="compare")
app.command()(metrics.metrics)
app.command()(compare.udr)
app.command()(compare.heatmap)


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

_TIER_HELP = (
    "What training the scores stand for: smoke, minutes; desk, minutes of a core for a small model; study, the "
    "papers'; held_out, on the part of a split that is to train on."
)

Tier = Annotated[str, typer.Option(help=f"{_TIER_HELP} The default claims least; the board ranks in desk.")]
SubmittedTier = Annotated[str, typer.Option(help=f"{_TIER_HELP} The default is where the board ranks.")]


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
    if to.suffix not in (".npy", ".txt"):
        raise InvalidInput("--to", expected="a file name that ends in .npy or .txt", received=to.name)
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
    replace: Annotated[
        bool, typer.Option("--replace", help="Let a run take the place of one with the same seed from other codes.")
    ] = False,
    new: Annotated[
        bool, typer.Option("--new", help="Leave out runs whose codes the tree holds scores of in this tier.")
    ] = False,
    verify: Annotated[
        bool, typer.Option(help="Verify runs that have an encoder.onnx: offaxis-train export writes it.")
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
    from leaderboard.report import formats, media
    from leaderboard.scoring import evaluate
    from leaderboard.store import results

    with console.working("checking") as told:
        written: list[Path] = []
        notes: list[str] = []
        doubts: list[str] = []
        if new:
            runs = evaluate.unscored(runs, into, tier=tier, method=method)
            if not runs:
                out.print("nothing new")
                return
        grouped = evaluate.by_result(runs, method=method) if with_pictures else {}
        for result in evaluate.evaluate(
            runs,
            tier=tier,
            method=method,
            see=lambda where, codes, task: doubts.extend(metrics.small_sample(where, codes, task, tier)),
            status="reproduced" if reproduced else "recomputed",
            fresh=(seed or secrets.token_hex(16)) if verify else "",
            tell=notes.append,
            progress=told,
        ):
            written += results.write(into, [result], replace=replace)
            media.of_dataset(result.dataset, written[-1].parent)
            if with_pictures:
                media.of_runs(grouped[result.dataset, result.method], written[-1])
    out.print(formats.terminal([results.read(file) for file in written]))
    for sentence in (*notes, *doubts):
        console.warn(sentence)
    for file in written:
        say(file)


@transfer.transfer.command("evaluate")
def transfer_evaluate(
    target: Annotated[
        str,
        typer.Argument(metavar="TARGET", help="The dataset whose labels are read.", autocompletion=names_like),
    ],
    codes: Annotated[
        list[str],
        typer.Option(
            metavar="RUN | RUN=FILE | METHOD:SOURCE=FILE",
            help="A run folder on the target itself, or a reference; a run on another dataset and its codes of the "
            "target's rows; or such codes by any encoder, trained on SOURCE. Repeat it; METHOD:SOURCE given twice is "
            "two seeds.",
        ),
    ],
    into: Annotated[Path, typer.Option(help="The results tree to write to. It is made where it is missing.")],
) -> None:
    """Measure what classifiers read from codes of a target, and add it to the transfer matrix of a results tree.

    offaxis-board transfer evaluate sprites2d --codes runs/solids/beta_vae=codes.npz --codes runs/pca --into results
    """
    from leaderboard import protocol
    from leaderboard.scoring import evaluate, transfer_matrix
    from leaderboard.store import transfers

    task = protocol.task(target)
    encoded: list[transfer_matrix.Encoded] = []
    for given in codes:
        name, equals, path = given.partition("=")
        method, colon, source = name.partition(":")
        if (Path(given) / "run.json").is_file():
            one = transfer_matrix.of_run(given, target=target)
        elif equals and (Path(name) / "run.json").is_file():
            one = transfer_matrix.of_run(name, path, target)
        elif equals and colon:
            seed = sum((one.method, one.source) == (method, source) for one in encoded)
            one = transfer_matrix.Encoded(method, source, seed, evaluate.read_codes(path, task), method)
        else:
            raise InvalidInput("--codes", expected="a run folder, RUN=FILE or METHOD:SOURCE=FILE", received=repr(given))
        encoded.append(one)
    fits, fitted = 2 * len(encoded), itertools.count(1)
    with console.working("fitting", fits) as told:
        measured = transfer_matrix.measure(target, encoded, progress=lambda what: told(what, next(fitted), fits))
        written = transfers.write(into, measured)
    for file in written:
        say(file)


submit = console.command_line("Hand in a method: a folder with codes, checked and scored by this program.")
app.add_typer(submit, name="submit")

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="A submission's folder.")]


@submit.command("init")
def submit_init(
    method: Annotated[str, typer.Argument(metavar="METHOD", help="Lower-case name, such as my_vae.")],
    tasks: Annotated[
        list[str], typer.Option("--task", "--tasks", help="A task, such as xysquares/spacing_4. Give it several times.")
    ],
    to: Annotated[Path, typer.Option(help="The folder to make.")],
    tier: SubmittedTier = "desk",
    seeds: Annotated[int, typer.Option(help="How many seeds. A rank takes 5.")] = 5,
) -> None:
    """Make a submission's folder: a template to fill in, and the rows to encode for each task."""
    from leaderboard import protocol
    from leaderboard.scoring import submission
    from leaderboard.store import results

    file = submission.init(to, method, tasks, tier=tier, seeds=seeds)
    listed = results.by_dataset(PUBLISHED) if PUBLISHED.is_dir() else {}
    chosen = [protocol.task(name) for name in tasks]
    published = [results.read(one) for task in chosen for one in listed.get(task.dataset, ())]
    _say_alone({task.id for task in chosen}, tier, published)
    for name, one in zip(tasks, chosen, strict=True):
        if name.partition("@")[0] != one.dataset:
            console.say(f"{name}: {one.dataset}, its default; offaxis-board tasks lists the others")
    say(
        f"{file}\nFill it in. To be ranked, put your encoder of each task and seed in as <task>/seed_<k>.onnx; "
        f"offaxis-board submit encode {to} writes the codes. Without one, encode the images of <task>/rows.npy in that "
        f"order and write <task>/seed_<k>.npz with `indices` and `codes`. Then: offaxis-board validate {to}"
    )


@submit.command("encode")
def submit_encode(folder: Folder) -> None:
    """Write the codes of every seed that has an encoder, seed_<k>.onnx, and no codes yet."""
    from leaderboard.scoring import submission

    with console.working("encoding") as told:
        written = submission.encode(folder, progress=told)
    for file in written:
        say(file)
    if not written:
        out.print("nothing to encode: no seed has an encoder, seed_<k>.onnx, and no codes", highlight=False)


@submit.command("schema")
def submit_schema() -> None:
    """Print the JSON Schema of submission.json."""
    from leaderboard.scoring import submission

    out.print_json(data=submission.json_schema())


@app.command()
def score(
    folder: Folder,
    beside: Beside = PUBLISHED,
    into: Annotated[Path | None, typer.Option(help="A results tree to add the scores to.")] = None,
) -> None:
    """Recompute all scores of a submission and show them beside the published rows of its tasks and tier.

    Exit status 1 if it is invalid. For the differences to one method: compare-methods, with --into RESULTS first.
    """
    from leaderboard.report import media
    from leaderboard.scoring import submission
    from leaderboard.store import results

    published = results.read_all(beside) if beside.is_dir() else []
    if problems := submission.check(folder, published=published).problems:
        _report(str(folder), problems)
        raise typer.Exit(1)
    with console.working("checking") as told:
        scored = submission.score(folder, published=published, progress=told)
    _show_beside(scored, published)
    for sentence in submission.outliers(scored, published):
        console.warn(sentence)
    if any(folder.glob("**/seed_*.onnx")):
        sentence = f"Scores are not verified yet, so nothing is ranked: offaxis-board verify {folder}"
        say(sentence)
    if into is not None:
        for file in results.write(into, scored):
            media.of_dataset(results.read(file).dataset, file.parent)
            say(file)


@app.command()
def verify(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="DIR...", help="Submissions, run folders and what offaxis-train export made."),
    ],
    seed: Seed = "",
    tier: Annotated[
        str, typer.Option(help="Tier of run folders, as of evaluate; a submission says its own.")
    ] = "smoke",
    beside: Annotated[
        Path, typer.Option(metavar="RESULTS", help="The board to compare with.", show_default="the published results")
    ] = PUBLISHED,
    into: Annotated[Path | None, typer.Option(help="A results tree to add the scores to.")] = None,
) -> None:
    """Do what a maintainer does: check, recompute all scores, and verify them by the encoders on fresh rows.

    A run folder with an encoder and no codes, as the board publishes them, gets the codes that the encoder gives. Exit
    status 1 if anything is wrong or not verified. The fresh rows are drawn by a text that is made up now and stands in
    the results.
    """
    from leaderboard import protocol
    from leaderboard.report import media
    from leaderboard.scoring import evaluate, submission
    from leaderboard.store import results

    fresh = seed or secrets.token_hex(16)
    notes: list[str] = []
    found: list[results.Result] = []
    submissions = [path for path in paths if (path / submission.FILE).exists()]
    folders = [path for path in paths if path not in submissions]
    published = results.read_all(beside) if beside.is_dir() and submissions else []
    invalid = False
    bare = [evaluate.read_record(path) for path in folders if evaluate.encoder_file(path) is None]
    for path in submissions:
        checked = submission.check(path, published=published)
        bare += [candidate.run for candidate in checked.candidates if candidate.encoder is None]
        _report(str(path), checked.problems)
        invalid |= bool(checked.problems)
    if invalid:
        raise typer.Exit(1)
    with console.working("checking") as told:
        for path in submissions:
            found += submission.score(path, published=published, fresh=fresh, tell=notes.append, progress=told)
        for path in folders:
            submission.encode_run(path, progress=told)
        if folders:
            found += evaluate.evaluate(folders, tier=tier, fresh=fresh, tell=notes.append, progress=told)
    _show_beside(found, published)
    say(f"fresh rows drawn by {fresh}")
    out.print(_verified(found))
    if into is not None:
        for file in results.write(into, found):
            media.of_dataset(results.read(file).dataset, file.parent)
            say(file)
    names = (f"{run.method} on {protocol.task(run.dataset).id}, seed {run.seed}" for run in bare)
    for sentence in (*notes, *(f"not verified: {name}: it has no encoder" for name in names)):
        say(sentence, style="red")
    runs = [run for result in found for run in result.runs]
    verified = sum(run.verification is not None for run in runs)
    say(f"verified: {verified} of {len(runs)} seeds")
    if verified < len(runs):
        raise typer.Exit(1)


def _show_beside(scored: list[Result], published: list[Result]) -> None:
    """Print the tables of scored methods, with the published rows of the same tasks and tiers."""
    from leaderboard.report import formats

    own = {(result.task, result.method) for result in scored}
    for tier in sorted({tier for result in scored for tier in result.tiers}):
        tasks = {result.task for result in scored if tier in result.tiers}
        others = [r for r in published if r.task in tasks and (r.task, r.method) not in own]
        out.print(formats.terminal([*(r for r in scored if tier in r.tiers), *others], tier))
        _say_alone(tasks, tier, published)


def _say_alone(tasks: set[str], tier: str, published: list[Result]) -> None:
    """Warn of tasks that have published rows to compare with in other tiers only."""
    from leaderboard.scoring import submission

    for sentence in submission.alone(tasks, tier, published):
        console.warn(sentence)


def _verified(found: list[Result]) -> rich.table.Table:
    """Make a table of what was compared."""
    table = rich.table.Table(box=None, pad_edge=False)
    for title in ("task", "method", "seed", "score", "codes", "fresh", "margin"):
        table.add_column(title, no_wrap=title == "score")
    for result in found:
        for run in result.runs:
            for key, one in run.verification.scores.items() if run.verification else ():
                numbers = (f"{number:.4f}" for number in (one.codes, one.fresh, one.margin))
                table.add_row(result.task, result.method, str(run.seed), key, *numbers)
    return table


@app.command("publish-weights")
def publish_weights(
    exports: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="As offaxis-train export RUN --to DIR writes them.")
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
    from leaderboard.store import results

    found = results.quarantine(file, reason)
    out.print(f"{file}: {'in quarantine' if found.quarantine else 'trusted again'}", soft_wrap=True, highlight=False)


@app.command()
def show(
    root: Results = PUBLISHED,
    task: OneTask = "",
    tier: Annotated[str, typer.Option(help="Only this tier, such as smoke.")] = "",
    json: console.Json = False,
) -> None:
    """Print the tables of a results tree in the terminal."""
    from leaderboard.report import formats
    from leaderboard.store import results

    listed = results.by_dataset(root)
    if not listed:
        raise DamagedFile(
            str(root), expected="at least one result", received="none", remedy="Add some: see `evaluate`."
        )
    if task:
        tasks = {file: f"{name}@{file.relative_to(root).parts[0]}" for name in listed for file in listed[name]}
        chosen = _chosen(tasks.values(), task)
        found = [results.read(file) for file, of in tasks.items() if of in chosen]
    else:
        found = results.read_all(root)
    tiers = {name for result in found for name in result.tiers}
    if tier and tier not in tiers:
        raise UnknownName("tier with results", tier, tiers)
    if json:
        out.print_json(data=formats.plain(found, tier), allow_nan=False)
        return
    out.print(formats.terminal(found, tier))


def _chosen(tasks: Iterable[str], wanted: str) -> set[str]:
    """Return the tasks that ``--task`` asks for: of a config or of all of a dataset, of one version if it says which.

    Args:
        tasks: those with results, such as ``"xysquares/spacing_8@v1"``.
        wanted: such as ``"xysquares"``, ``"xysquares/spacing_8"`` or ``"xysquares/spacing_8@v1"``; all if empty.

    Raises:
        UnknownName: there are no such results.
    """
    name, _, version = wanted.partition("@")
    known = [task.partition("@") for task in sorted(tasks)]
    of_name = [one for one in known if not name or f"{one[0]}/".startswith(f"{name}/")]
    if not of_name:
        raise UnknownName("task with results", name, {one[0] for one in known})
    found = {"".join(one) for one in of_name if version in ("", one[2])}
    if not found:
        raise UnknownName(f"version of {name} with results", version, {one[2] for one in of_name})
    return found


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
    from leaderboard.store import results

    found = [result for root in roots or [PUBLISHED] for result in results.read_all(there(root))]
    boards = [board for board in ranking.tables(found) if not ranking.superseded(board.task)]
    first, second = (pairwise.method(boards, name) for name in (first, second))
    chosen = _chosen({board.task for board in boards}, task)
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
    from leaderboard.report import hardness, ranking
    from leaderboard.store import giveaways, results

    boards = [board for board in ranking.tables(results.read_all(root)) if not ranking.superseded(board.task)]
    if measure:
        _audit_datasets(root, [board.dataset for board in boards])
    known = giveaways.read(root)
    there = {board.tier for board in boards}
    if tier and tier not in there:
        raise UnknownName("tier with results", tier, there)
    tiers = [tier] if tier else sorted(there, key=ranking.tier_order)
    each = (hardness.hardness([board for board in boards if board.tier == name], known) for name in tiers)
    found = next((one for one in each if one), None)
    if found is None:
        audited = {board.dataset for board in boards if board.tier in tiers} & known.keys()
        again = f"offaxis-board datasets {root}{f' --tier {tier}' if tier else ''} --measure"
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


def _audit_datasets(root: Path, names: Sequence[str]) -> None:
    """Measure the giveaway of datasets where it is not known of their version."""
    from benchmark_data.variants.splitting import Divided
    from leaderboard.report import families
    from leaderboard.store import giveaways

    known = giveaways.read(root)
    for name in sorted(set(names)):
        dataset = families.dataset(name)
        if dataset is None or isinstance(dataset.source, Divided):
            continue
        if name in known and known[name].version == dataset.version:
            continue
        try:
            with err.status(f"auditing {name}"):
                giveaways.write(root, [giveaways.measure(dataset)])
        except Unavailable as error:
            console.tell(f"left out: {error}", style="yellow")


@app.command("ledger")
def show_ledger(
    root: Results = PUBLISHED,
    record: Annotated[
        bool, typer.Option("--record", help="Write what is new into the ledger beside the results.")
    ] = False,
    number: Annotated[int, typer.Option("--last", min=1, help="How many entries to print.")] = 20,
) -> None:
    """List rows that were added, removed and scored anew; with --record, write down what the ledger lacks."""
    import datetime

    from leaderboard.report import ledger
    from leaderboard.store import results

    if record:
        new = ledger.record(root, datetime.datetime.now(datetime.UTC).date())
        out.print(f"{len(new)} new entries", highlight=False)
    events = ledger.read(root)
    missing = ledger.pending(events, results.read_all(root))
    table = rich.table.Table(
        "date", "change", "method", "task", "tier", "seeds", "before", "after", box=None, pad_edge=False
    )
    for event in (*events, *missing)[-number:]:
        scores = ("" if value is None else f"{value:.3f}" for value in (event.before, event.mean))
        row = (event.date.isoformat(), event.change, event.method, event.task, event.tier, str(event.seeds))
        table.add_row(*row, *scores)
    out.print(table, highlight=False)
    if missing:
        out.print(f"{len(missing)} of these are not in the ledger yet: --record writes them.", highlight=False)


@app.command()
def build(
    root: Results = PUBLISHED,
    to: Annotated[Path, typer.Option(help="The folder to write to.")] = Path("site"),
    address: Annotated[
        str,
        typer.Option(metavar="URL", help="Where it will be, ending in /: for what other sites show of it."),
    ] = "",
    space: Annotated[
        bool, typer.Option("--space", help="Add the README.md of a static Space of the Hugging Face Hub.")
    ] = False,
) -> None:
    """Build the board: HTML pages, and tables as Markdown, CSV, JSON and LaTeX, from the results alone."""
    from leaderboard.report.site import build as site

    with err.status("building"):
        page = site.build(root, to, address=address, space=space)
    say(f"{page}\n{page.resolve().as_uri()}")


@app.command()
def export(
    to: Annotated[Path, typer.Option(help="The folder to make.")],
    owner: Annotated[str, typer.Option(help="Who publishes the datasets on the Hub, as OWNER/<dataset>.")],
    root: Results = PUBLISHED,
    source: Annotated[str, typer.Option(metavar="URL", help="The board's address, to be named as the source.")] = "",
) -> None:
    """Export for Hugging Face: a dataset of all results, and evaluation results and a card for each method's model."""
    from leaderboard.report import hub

    with err.status("exporting"):
        folder = hub.write(root, to, owner=owner, source=source)
    say(f"{folder / 'dataset'}\n{folder / 'models'}")


@app.command("import-dlib")
def import_dlib(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What dlib_aggregate_results wrote, or one evaluation.")],
    key: Annotated[str, typer.Option(help="A short name for the source, lower case, such as locatello2019.")],
    authors: Annotated[str, typer.Option(help="Whose numbers these are.")],
    title: Annotated[str, typer.Option(help="Title of the paper or the collection.")],
    year: Annotated[int, typer.Option(help="Year of publication.")],
    link: Annotated[str, typer.Option(help="Link to the paper or the file.")] = "",
    root: Annotated[
        Path,
        typer.Option(
            "--into",
            metavar="RESULTS",
            help="The results tree.",
            show_default="the published results",
            callback=there,
        ),
    ] = PUBLISHED,
) -> None:
    """Add scores of disentanglement_lib's aggregated JSON to the reported numbers: dated, cited and never ranked."""
    from leaderboard.store import import_dlib, reported

    paper = import_dlib.read(file, key=key, authors=authors, title=title, year=year, link=link)
    written = reported.write(root, paper)
    say(f"{written}: {len(paper.rows):,} numbers")


@app.command()
def review(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A submission, or a folder of submissions.")],
    beside: Beside = PUBLISHED,
    to: Annotated[Path | None, typer.Option(help="Write the report to this file, too.")] = None,
) -> None:
    """Check and score submissions; print the report that pull requests get. Exit status 1 if any is invalid."""
    from leaderboard.report import review
    from leaderboard.store import results

    published = results.read_all(beside) if beside.is_dir() else []
    with console.working("checking") as told:
        text, valid = review.report(folder, published, progress=told)
    if to is not None:
        write_text(to, text)
    say(text)
    if not valid:
        raise typer.Exit(1)


@app.command()
def validate(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Submissions, run folders and results trees.")],
) -> None:
    """Check submissions, run folders and results trees; list everything that is wrong. Exit status 1 if anything is."""
    from leaderboard.report import audit
    from leaderboard.scoring import evaluate, submission
    from leaderboard.store import results

    published = results.read_all(PUBLISHED) if PUBLISHED.is_dir() else []

    failed = False
    for path in paths:
        problems: list[OffaxisError] = []
        if (path / submission.FILE).exists():
            problems = submission.check(path, published=published).problems
        elif (path / "run.json").exists():
            try:
                evaluate.read_run(path)
            except OffaxisError as error:
                problems = [error]
        elif path.is_dir():
            problems = audit.check(path)
        else:
            problems = [
                DamagedFile(
                    str(path),
                    expected="a submission, a run folder or a results tree",
                    received="a file" if path.exists() else "no such folder",
                    remedy=f"`offaxis-board submit init {path}` begins a submission.",
                )
            ]
        _report(str(path), problems)
        failed |= bool(problems)
    if failed:
        raise typer.Exit(1)


@app.command()
def check(
    root: Results = PUBLISHED,
    site: Annotated[Path | None, typer.Option(help="A built board that must be up to date.")] = None,
    against: Annotated[
        str, typer.Option(metavar="TREE|REVISION", help="An earlier copy, or a git revision: no score may have moved.")
    ] = "",
) -> None:
    """Check what is published: results sound, no score moved, the built board up to date. Exit status 1 if not."""
    from leaderboard.report import audit

    problems = audit.check(root)
    _report(str(root), problems)
    if against:
        drift = audit.moved(root, against)
        _report(f"scores against {against}", drift)
        problems += drift
    if site is not None and not problems:
        problems = audit.unattributed(root)
        _report("paper, code and citation of every method", problems)
    if site is not None and not problems:
        stale: list[OffaxisError] = [
            InvalidInput(str(site / name), expected="what the results give", received="something else")
            for name in audit.stale(root, site)
        ]
        _report(str(site), stale)
        if stale:
            out.print(f"Build it again: offaxis-board build {root} --to {site}", soft_wrap=True, highlight=False)
        problems += stale
    if problems:
        raise typer.Exit(1)


def _report(what: str, problems: list[OffaxisError]) -> None:
    """Print what is wrong with a thing, or that nothing is."""
    for problem in problems:
        say(f"error: {problem}", style="red")
    if not problems:
        say(f"ok: {what}", style="green")


@app.command()
def serve(
    site: Annotated[Path, typer.Argument(metavar="SITE", help="The folder of a built board.")] = Path("site"),
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes any free port.")] = 8000,
) -> None:
    """Show a built board at a local address, until interrupted."""
    import functools
    import http.server

    if not (site / "index.html").is_file():
        raise DamagedFile(
            str(site),
            expected="a built board",
            received="no index.html",
            remedy="Make one: offaxis-board build --to site",
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


def main() -> None:
    """Run ``offaxis-board``."""
    console.run(app, "offaxis-board")
