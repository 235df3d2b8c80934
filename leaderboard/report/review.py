"""What a reviewer of a submission should see, as Markdown: what is wrong, or its scores beside the reference rows.

A submission is only read, never run, and every text of it is escaped: the report can be put under a pull request.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmark_data import console
from benchmark_data.errors import DamagedFile, OffaxisError, printable
from benchmark_data.files import write_text
from leaderboard.report import formats, ranking
from leaderboard.scoring import candidates, remarks, submission
from leaderboard.store import results_tree
from leaderboard.store.results import Result

LONGEST = 60_000
"""Characters of a report; GitHub takes comments of 65,536."""

SUBMISSIONS = 50
"""Submissions in a folder that are looked at."""


def report(
    folder: str | os.PathLike[str],
    published: Sequence[Result],
    *,
    progress: submission.Progress = submission.no_progress,
) -> tuple[str, bool]:
    """Check and score submissions.

    Args:
        folder: a submission, or a folder whose folders are submissions.
        published: results that are on the board.
        progress: is called with what is going on.

    Returns:
        Markdown, and whether every submission is valid. What is invalid is not scored.

    Raises:
        DamagedFile: there is no such folder, or nothing in it.
    """
    folders = _submissions(Path(folder))
    parts, valid = [], True
    for one in folders:
        found = submission.check(one, published=published)
        valid &= not found.problems
        parts.append("\n".join(_section(one, found, published, progress)))
    text = printable("\n".join(parts))
    if len(text) > LONGEST:
        text = text[:LONGEST].rpartition("\n")[0] + "\n\n(The report goes on; it is too long for a comment.)\n"
    return text, valid


def _submissions(folder: Path) -> list[Path]:
    if folder.is_symlink() or not folder.is_dir():
        raise DamagedFile(f"{folder}: expected a folder of submissions, received no such folder.")
    if (folder / submission.FILE).exists():
        return [folder]
    with os.scandir(folder) as entries:
        found = sorted(Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False))
    if not 0 < len(found) <= SUBMISSIONS:
        raise DamagedFile(
            f"{folder}: expected 1 to {SUBMISSIONS} submissions, each in a folder, received {len(found)} folders."
        )
    return found


def _section(
    folder: Path, found: submission.Checked, published: Sequence[Result], progress: submission.Progress
) -> Iterator[str]:
    yield f"## {formats.escaped(folder.name)}"
    yield ""
    if found.problems or found.submission is None:
        yield f"Not valid: {len(found.problems)} problem{'s' if len(found.problems) != 1 else ''}. Nothing was scored."
        yield ""
        yield from (f"- {_said(problem, folder)}" for problem in found.problems)
        yield ""
        return
    about = found.submission
    scored: list[Result] = []
    for group in candidates.grouped(found.candidates, about.tier):
        progress(f"{group.planned.method} on {group.planned.dataset}", len(scored), len(about.tasks))
        scored.append(candidates.score_group(group)[0])
    yield (
        f"Valid. {formats.escaped(about.about.title)}, {formats.escaped(about.supervision)}; "
        f"selection: {formats.escaped(about.selection)}. "
        "All scores were recomputed from the codes; references are of the published board."
    )
    yield ""
    for sentence in remarks.unranked(found.candidates, published, tier=about.tier):
        yield f"- **Rank:** {formats.escaped(sentence)}"
    yield ""
    sentences = remarks.outliers(scored, published)
    for sentence in sentences:
        yield f"- **Warning:** {formats.escaped(sentence)}"
    yield from [""] if sentences else []
    for board in ranking.tables([*scored, *_references(scored, published)]):
        yield formats.markdown(board).replace("## ", "### ", 1)


def _references(scored: Sequence[Result], published: Sequence[Result]) -> list[Result]:
    """Find the reference rows of the same tasks and tiers."""
    asked = {(result.task, tier) for result in scored for tier in result.tiers}
    return [
        result
        for result in published
        if result.runs[0].supervision == "reference" and any((result.task, tier) in asked for tier in result.tiers)
    ]


def _said(problem: OffaxisError, folder: Path) -> str:
    """Print a problem with paths as the author knows them."""
    return formats.escaped(str(problem).replace(f"{folder.parent}{os.sep}", ""))


def main(folder: str, board: str, to: str) -> None:
    """Write the report of submissions beside a board, and print it. Exit status 1 if one of them is invalid."""
    published = results_tree.read_all(board) if Path(board).is_dir() else []
    text, valid = report(folder, published)
    write_text(Path(to), text)
    console.say(text)
    sys.exit(not valid)


if __name__ == "__main__":
    main(*sys.argv[1:])
