"""``offaxis board score``, ``verify`` and ``submit``: score codes."""

from __future__ import annotations

import secrets
import shlex
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from benchmark_data import console
from benchmark_data.commands.arguments import dataset_option
from benchmark_data.console import out, say
from benchmark_data.errors import InvalidInput, OffaxisError
from leaderboard.commands.arguments import Replace, Tier, by_tier, published, published_with, report

if TYPE_CHECKING:
    from leaderboard.scoring.candidates import Candidate
    from leaderboard.store.results import Result

    Batches = list[tuple[str, list[Candidate]]]


def score(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH...", help="Run folders, submissions, codes, ONNX encoders."),
    ],
    tier: Tier = "",
    to: Annotated[
        Path | None,
        typer.Option(metavar="RESULTS|FILE.csv", help="Store scores of tasks in this tree, others in this CSV file."),
    ] = None,
    method: Annotated[str, typer.Option(metavar="NAME", help="Score run folders under this name.")] = "",
    reproduced: Annotated[bool, typer.Option("--reproduced", help="State that the runs were trained here.")] = False,
    replace: Replace = False,
    new: Annotated[bool, typer.Option("--new", help="Skip runs whose codes are scored in the tree of --to.")] = False,
    unverified: Annotated[bool, typer.Option("--no-verify", help="Do not verify scores with encoder.onnx.")] = False,
    names: Annotated[
        list[str] | None, typer.Option("--metric", metavar="NAME", help="Compute this metric, or all. Repeatable.")
    ] = None,
    dataset: Annotated[str, dataset_option(help="For files of codes: the dataset or folder that was encoded.")] = "",
    array: Annotated[str, typer.Option(metavar="NAME", help="For files of codes: the array of codes.")] = "",
) -> None:
    """Compute scores from codes.

    Run folders and submissions get the scores of their tasks, printed with the
    published rows. Files of codes and runs on your own pictures get the metrics
    that --metric names, by default mig and dci; so do run folders with --metric
    or in one call with files. The last third of the rows is held out, unless the
    file has codes_test and factors_test.
    """
    # Mistyped names of folders; missing files, which have a suffix, are errors when they are read.
    if missing := [path for path in paths if not (path.suffix or path.exists())]:
        raise InvalidInput(f"{missing[0]}: no such file or folder. Pass run folders, submissions or files of codes.")
    is_csv = to is not None and to.suffix == ".csv"
    if names or dataset or array or is_csv or not all(map(_has_record, paths)):
        submissions = [str(path) for path in paths if (path / "submission.json").is_file()]
        switches = {"--reproduced": reproduced, "--replace": replace, "--new": new, "--no-verify": unverified}
        for_tasks = [option for option, value in (switches | {"--method": method, "--tier": tier}).items() if value]
        values = {"--metric": names, "--dataset": dataset, "--array": array, f"--to {to}": is_csv}
        for_codes = [option for option, value in values.items() if value]
        if submissions or for_tasks:
            raise InvalidInput(
                f"{', '.join(submissions + for_tasks)}: only for scores of tasks, and cannot be combined with "
                f"{', '.join(for_codes) or 'files of codes'}. Leave out one or the other."
            )
        if to is not None and not is_csv:
            raise InvalidInput(
                f"--to {to}: a results tree stores scores of the board's datasets by the tier's metrics. Scores of "
                "your own pictures and by other metrics go to a CSV file, such as --to scores.csv."
            )
        from leaderboard.commands import metrics

        metrics.compute(paths, dataset=dataset, names=names, array=array, to=to)
        return
    if to is None and (reproduced or replace or new):
        raise InvalidInput("--reproduced, --replace and --new require --to RESULTS, which stores the scores.")
    fresh_text = "" if unverified else secrets.token_hex(16)
    with console.working("checking") as progress:
        batches = _load_runs(paths, tier, method)
        status: Literal["reproduced", "recomputed"] = "reproduced" if reproduced else "recomputed"
        results, doubts = _score_runs(batches, progress, to, fresh_text, replace=replace, new=new, status=status)
    _print_results(results, doubts, to)


def verify(
    paths: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="Submissions, run folders and exports, with encoders.")
    ],
    tier: Tier = "",
    to: Annotated[Path | None, typer.Option(metavar="RESULTS", help="Store the scores in this tree.")] = None,
    replace: Replace = False,
    seed: Annotated[
        str, typer.Option(help="Text that seeds the choice of fresh rows.", show_default="a random one")
    ] = "",
) -> None:
    """Recompute scores, and compare them with those of the encoders on fresh rows.

    Where codes are missing, the encoder writes them. Exit status 1 if anything is
    invalid or not verified.
    """
    fresh_text = seed or secrets.token_hex(16)
    with console.working("checking") as progress:
        batches = _load_runs(paths, tier, encode=progress)
        results, doubts = _score_runs(batches, progress, to, fresh_text, replace=replace)
    skipped = [candidate for _, runs in batches for candidate in runs if candidate.encoder is None]
    names = (f"{candidate.record.method} on {candidate.task.id}, seed {candidate.record.seed}" for candidate in skipped)
    _print_results(results, (), to)
    runs = [(result, run) for result in results for run in result.runs]
    rows = [
        (
            result.task,
            result.method,
            run.seed,
            key,
            *(f"{number:.4f}" for number in (compared.codes, compared.fresh, compared.margin)),
        )
        for result, run in runs
        for key, compared in (run.verification.scores.items() if run.verification else ())
    ]
    if rows:
        console.table(rows, "task", "method", ">seed", "score", ">codes", ">fresh", ">margin")
    remedy = "it has no ONNX encoder; for a run, write one with offaxis train export"
    for sentence in (*doubts, *(f"not verified: {name}: {remedy}" for name in names)):
        say(sentence, style="red")
    verified = sum(run.verification is not None for _, run in runs)
    say(f"verified: {verified} of {len(runs)} seeds, on fresh rows drawn with --seed {shlex.quote(fresh_text)}")
    if verified < len(runs):
        raise typer.Exit(1)


def submit(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The submission's folder, to create or check.")],
    method: Annotated[str, typer.Option(metavar="NAME", help="New submission: its name, such as my_vae.")] = "",
    tasks: Annotated[
        list[str] | None,
        typer.Option("--task", help="New submission: a task, such as xysquares/spacing_4. Repeatable."),
    ] = None,
    tier: Annotated[str, typer.Option(help="New submission: the tier; the board ranks in desk.")] = "desk",
    seeds: Annotated[int, typer.Option(min=1, max=1000, help="New submission: how many seeds. A rank needs 5.")] = 5,
) -> None:
    """Create a submission, then encode and check it.

    First: offaxis board submit DIR --method my_vae --task xysquares/spacing_4

    Fill in DIR/submission.json, and add the encoder or the codes for each task
    and seed. Then: offaxis board submit DIR. Exit status 1 if anything is wrong.
    """
    from leaderboard.scoring import remarks, submission, verification

    if not (folder / submission.FILE).exists():
        _begin_submission(folder, method, tasks or [], tier, seeds)
        return
    if method or tasks or tier != "desk" or seeds != 5:
        raise InvalidInput(f"{folder} already contains a submission. To check it, leave out all options.")
    board_results, files_before = published(), {*folder.rglob("*.npz")}
    with console.working("encoding") as progress:
        checked = submission.check(folder, published=board_results, encode=progress)
    for file in sorted({*folder.rglob("*.npz")} - files_before):
        say(file)
    problems = list(checked.problems)
    for run in () if problems else checked.candidates:
        try:
            if run.encoder:
                verification.check_codes(run.encoder, run.submitted_codes, run.task)
        except OffaxisError as error:
            problems.append(error)
    report(str(folder), problems)
    if problems or checked.submission is None:
        raise typer.Exit(1)
    for sentence in remarks.unranked(checked.candidates, board_results, tier=checked.submission.tier):
        console.warn(sentence)
    say(f"To see its scores: offaxis board score {shlex.quote(str(folder))}")


def _begin_submission(folder: Path, method: str, tasks: Sequence[str], tier: str, seeds: int) -> None:
    """Make a submission's folder: a template to fill in, and the rows to encode for each task."""
    from leaderboard import protocol
    from leaderboard.scoring import submission, verification

    if not method or not tasks:
        raise InvalidInput(f"{folder} has no submission.json. Name another folder, or add --method and --task.")
    file = submission.init(folder, method, tasks, tier=tier, seeds=seeds)
    task_list = [protocol.task(name) for name in tasks]
    for name, task in zip(tasks, task_list, strict=True):
        if not verification.may_be_verified(task):
            console.warn(
                f"{task.id}: too few rows are left to verify an encoder, so submissions are shown but not ranked"
            )
        if name.partition("@")[0] != task.dataset:
            say(f"{name}: uses its default, {task.dataset}; offaxis board tasks lists the others")
    quoted_folder = shlex.quote(str(folder))
    say(
        f"{file}\nFill it in. To be ranked, put the encoder of each task and seed in as <task>/seed_<k>.onnx. Without "
        "one, encode the images of <task>/rows.npy in that order and write <task>/seed_<k>.npz with `indices` and "
        f"`codes`. Then: offaxis board submit {quoted_folder}"
    )


def _has_record(path: Path) -> bool:
    """Return whether a path is a submission, or a run folder whose record names a dataset of the board."""
    from leaderboard.reading import representations

    has_record = any((path / name).is_file() for name in ("run.json", "submission.json"))
    return has_record and not representations.is_on_own_images(path)


def _load_runs(
    paths: Iterable[Path], tier: str, method: str = "", *, encode: Callable[[str, int, int], None] | None = None
) -> Batches:
    """Read submissions and run folders into pairs of a tier and its runs. Invalid ones end the command."""
    from leaderboard import protocol
    from leaderboard.scoring import candidates, submission

    if tier:
        protocol.tier(tier)
    batches: Batches = []
    folders = [path for path in paths if not (path / submission.FILE).exists()]
    submissions = [path for path in paths if path not in folders]
    board_results = published() if submissions else []
    for path in submissions:
        checked = submission.check(path, published=board_results, encode=encode)
        if checked.submission and tier not in ("", checked.submission.tier):
            text = f"{path}: expected --tier {checked.submission.tier}, as in {submission.FILE}, received {tier}."
            raise InvalidInput(f"{text} Leave out --tier, or change the file.")
        if checked.submission and not checked.problems:
            batches.append((checked.submission.tier, checked.candidates))
        else:
            report(str(path), checked.problems)
    if len(batches) < len(submissions):
        raise typer.Exit(1)
    if encode:
        for path in folders:
            submission.encode_run(path, progress=encode)
    runs_by_tier: dict[str, list[Candidate]] = {}
    for candidate in (candidates.load(path).renamed(method) for path in folders):
        runs_by_tier.setdefault(tier or protocol.default_tier([candidate.task]), []).append(candidate)
    return batches + list(runs_by_tier.items())


def _score_runs(
    batches: Batches,
    progress: Callable[[str, int, int], None],
    to: Path | None,
    fresh_text: str,
    *,
    replace: bool,
    new: bool = False,
    status: Literal["reproduced", "recomputed"] = "recomputed",
) -> tuple[list[Result], list[str]]:
    """Score runs, with ``fresh_text`` verify those with an encoder, and store them; return results and doubts."""
    from leaderboard.report import media
    from leaderboard.scoring import candidates
    from leaderboard.store import results_tree

    groups = [(tier, group) for tier, runs in batches for group in candidates.grouped(runs, tier, status=status)]
    if to is not None:
        if new:
            groups = [(tier, group) for tier, group in groups if not results_tree.has_scores_of(to, group.planned)]
        for _, group in groups:
            results_tree.check_write(to, group.planned, replace=replace)
    results, doubts = [], []
    for number, (_, group) in enumerate(groups):
        progress(f"{group.planned.method} on {group.planned.dataset}", number, len(groups))
        result, notes = candidates.score_group(group, fresh_text)
        doubts += notes
        if to is not None:
            (file,) = results_tree.write(to, [result], replace=replace)
            media.write_pictures(result.dataset, file.parent)
        results.append(result)
    return results, doubts


def _print_results(results: Sequence[Result], doubts: Iterable[str], to: Path | None) -> None:
    """Print the tables of scored methods with the published rows of the same tasks and tiers, and doubts."""
    from leaderboard.report import formats
    from leaderboard.scoring import remarks
    from leaderboard.store import results_tree

    if not results:
        say("nothing new")
        return
    board_results = published_with(results)
    for tier, tier_results in by_tier(results, board_results):
        out.print(formats.terminal(tier_results, tier))
    for sentence in (*doubts, *remarks.outliers(results, board_results)):
        console.warn(sentence)
    if to is not None:
        for result in results:
            say(results_tree.path(to, result.task, result.method))
