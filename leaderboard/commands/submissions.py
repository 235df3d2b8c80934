"""``offaxis board submit``, and what is done with submissions: score, verify, review and validate them."""

from __future__ import annotations

import functools
import secrets
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import rich.table
import typer

from benchmark_data import console
from benchmark_data.console import out, say
from benchmark_data.errors import DamagedFile, OffaxisError
from benchmark_data.files import write_text
from leaderboard.commands.arguments import PUBLISHED, Beside, Replace, Seed, SubmittedTier, report

if TYPE_CHECKING:
    from leaderboard.scoring.candidates import Candidate
    from leaderboard.store.results import Result

submit = console.command_line("Hand in a method: a folder with codes, checked and scored by this program.")

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
    from leaderboard.scoring import submission, verification
    from leaderboard.store import results_tree

    file = submission.init(to, method, tasks, tier=tier, seeds=seeds)
    listed = results_tree.by_dataset(PUBLISHED) if PUBLISHED.is_dir() else {}
    chosen = [protocol.task(name) for name in tasks]
    published = [results_tree.read(one) for task in chosen for one in listed.get(task.dataset, ())]
    _say_alone({task.id for task in chosen}, tier, published)
    for one in chosen:
        if not verification.may_be_verified(one):
            console.warn(f"{one.id} leaves too few rows to verify an encoder on: a submission is shown, and not ranked")
    for name, one in zip(tasks, chosen, strict=True):
        if name.partition("@")[0] != one.dataset:
            console.say(f"{name}: {one.dataset}, its default; offaxis board tasks lists the others")
    where = shlex.quote(str(to))
    say(
        f"{file}\nFill it in. To be ranked, put your encoder of each task and seed in as <task>/seed_<k>.onnx; "
        f"offaxis board submit encode {where} writes the codes. Without one, encode the images of <task>/rows.npy in "
        f"that order and write <task>/seed_<k>.npz with `indices` and `codes`. Then: offaxis board validate {where}"
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


def score(
    folder: Folder,
    beside: Beside = PUBLISHED,
    into: Annotated[Path | None, typer.Option(help="A results tree to add the scores to.")] = None,
    replace: Replace = False,
) -> None:
    """Recompute all scores of a submission and show them beside the published rows of its tasks and tier.

    Exit status 1 if it is invalid. For the differences to one method: compare-methods, with --into RESULTS first.
    """
    from leaderboard.report import media
    from leaderboard.scoring import remarks, submission
    from leaderboard.store import results_tree

    published = results_tree.read_all(beside) if beside.is_dir() else []
    checked = submission.check(folder, published=published)
    if checked.problems or checked.submission is None:
        report(str(folder), checked.problems)
        raise typer.Exit(1)
    with console.working("checking") as told:
        scored, _ = _scored(checked.candidates, checked.submission.tier, into, replace, told)
    _show_beside(scored, published)
    for sentence in remarks.outliers(scored, published):
        console.warn(sentence)
    if any(folder.glob("**/seed_*.onnx")):
        sentence = f"Scores are not verified yet, so nothing is ranked: offaxis board verify {folder}"
        say(sentence)
    if into is not None:
        for file in results_tree.write(into, scored, replace=replace):
            media.of_dataset(results_tree.read(file).dataset, file.parent)
            say(file)


def verify(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="DIR...", help="Submissions, run folders and what offaxis train export made."),
    ],
    seed: Seed = "",
    tier: Annotated[
        str, typer.Option(help="Tier of run folders, as of evaluate; a submission says its own.")
    ] = "smoke",
    beside: Annotated[
        Path, typer.Option(metavar="RESULTS", help="The board to compare with.", show_default="the published results")
    ] = PUBLISHED,
    into: Annotated[Path | None, typer.Option(help="A results tree to add the scores to.")] = None,
    replace: Replace = False,
) -> None:
    """Do what a maintainer does: check, recompute all scores, and verify them by the encoders on fresh rows.

    A run folder with an encoder and no codes, as the board publishes them, gets the codes that the encoder gives. Exit
    status 1 if anything is wrong or not verified. The fresh rows are drawn by a text that is made up now and stands in
    the results.
    """
    from leaderboard.report import media
    from leaderboard.scoring import candidates, submission
    from leaderboard.store import results, results_tree

    fresh = seed or secrets.token_hex(16)
    notes: list[str] = []
    found: list[results.Result] = []
    submissions = [path for path in paths if (path / submission.FILE).exists()]
    folders = [path for path in paths if path not in submissions]
    published = results_tree.read_all(beside) if beside.is_dir() and submissions else []
    waiting: list[tuple[str, list[candidates.Candidate]]] = []
    for path in submissions:
        checked = submission.check(path, published=published)
        report(str(path), checked.problems)
        if checked.submission and not checked.problems:
            waiting.append((checked.submission.tier, checked.candidates))
    if len(waiting) < len(submissions):
        raise typer.Exit(1)
    with console.working("checking") as told:
        for path in folders:
            submission.encode_run(path, progress=told)
        waiting += [(tier, [candidates.load(path) for path in folders])] if folders else []
        for of, runs in waiting:
            scored, doubts = _scored(runs, of, into, replace, told, fresh)
            found += scored
            notes += doubts
    _show_beside(found, published)
    say(f"fresh rows drawn by {fresh}")
    out.print(_verified(found))
    if into is not None:
        for file in results_tree.write(into, found, replace=replace):
            media.of_dataset(results_tree.read(file).dataset, file.parent)
            say(file)
    bare = [one for _, runs in waiting for one in runs if one.encoder is None]
    names = (f"{one.record.method} on {one.task.id}, seed {one.record.seed}" for one in bare)
    for sentence in (*notes, *(f"not verified: {name}: it has no encoder" for name in names)):
        say(sentence, style="red")
    seeds = [run for result in found for run in result.runs]
    verified = sum(run.verification is not None for run in seeds)
    say(f"verified: {verified} of {len(seeds)} seeds")
    if verified < len(seeds):
        raise typer.Exit(1)


def _scored(
    runs: Sequence[Candidate],
    tier: str,
    into: Path | None,
    replace: bool,
    told: Callable[[str, int, int], None],
    fresh: str = "",
) -> tuple[list[Result], list[str]]:
    """Score runs that could be written, and verify them if there is a text to draw rows by: results and doubts."""
    from leaderboard.scoring import candidates
    from leaderboard.store import results_tree

    groups = candidates.grouped(runs, tier)
    if into is not None:
        for group in groups:
            results_tree.check_write(into, group.planned, replace=replace)
    found: list[Result] = []
    doubts: list[str] = []
    for group in groups:
        told(f"{group.planned.method} on {group.planned.dataset}", len(found), len(groups))
        result, notes = candidates.score_group(group, fresh)
        found.append(result)
        doubts += notes
    return found, doubts


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
    from leaderboard.scoring import remarks

    for sentence in remarks.alone(tasks, tier, published):
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


def review(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A submission, or a folder of submissions.")],
    beside: Beside = PUBLISHED,
    to: Annotated[Path | None, typer.Option(help="Write the report to this file, too.")] = None,
) -> None:
    """Check and score submissions; print the report that pull requests get. Exit status 1 if any is invalid."""
    from leaderboard.report import review
    from leaderboard.store import results_tree

    published = results_tree.read_all(beside) if beside.is_dir() else []
    with console.working("checking") as told:
        text, valid = review.report(folder, published, progress=told)
    if to is not None:
        write_text(to, text)
    say(text)
    if not valid:
        raise typer.Exit(1)


def validate(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", help="Submissions, run folders, results trees, result files.")
    ],
) -> None:
    """Check submissions, run folders and results; list everything that is wrong. Exit status 1 if anything is.

    Of what is valid, it is said what will not be ranked, and why.
    """
    from leaderboard.report import integrity
    from leaderboard.scoring import candidates, remarks, submission
    from leaderboard.store import results_tree

    published = functools.cache(lambda: results_tree.read_all(PUBLISHED) if PUBLISHED.is_dir() else [])
    failed = False
    runs: list[candidates.Candidate] = []
    unranked: list[str] = []
    for path in paths:
        problems: list[OffaxisError] = []
        if path.is_file() and path.name in (submission.FILE, "run.json"):
            path = path.parent
        if (path / submission.FILE).exists():
            checked = submission.check(path, published=published())
            problems = checked.problems
            if checked.submission and not problems:
                unranked += remarks.unranked(checked.candidates, published(), tier=checked.submission.tier)
        elif (path / "run.json").exists():
            one = candidates.check(path)
            problems, runs = (one, runs) if isinstance(one, list) else ([], [*runs, one])
        elif path.is_dir():
            problems = integrity.check(path)
        elif path.is_file() and results_tree.is_place(path):
            problems = integrity.check_file(path)
        else:
            problems = [
                DamagedFile(
                    str(path),
                    expected="a submission, a run folder, a results tree or a result file in one",
                    received="a file" if path.exists() else "no such folder",
                    remedy=f"`offaxis board submit init {path}` begins a submission.",
                )
            ]
        report(str(path), problems)
        failed |= bool(problems)
    for sentence in (*unranked, *remarks.unranked(runs)):
        console.warn(sentence)
    if failed:
        raise typer.Exit(1)
