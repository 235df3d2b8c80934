"""From a results tree to tables and pages: Markdown, CSV, LaTeX, HTML and the terminal.

A pure function of the files: nothing here looks at the clock, the network or the machine, so that building twice gives
the same bytes. Order, ranks and ties are decided in `table` and nowhere else.
"""

from __future__ import annotations

import csv
import dataclasses
import hashlib
import io
import os
import re
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchmark_data.errors import DamagedFile, InvalidInput
from benchmark_data.files import read_json, write_json, written_atomically
from leaderboard import protocol
from leaderboard.protocol import Column
from leaderboard.store import results, statistics, verdicts
from leaderboard.store.results import Budget, Result, Run, Summary

if TYPE_CHECKING:
    import rich.console

DIGITS = 3
"""Decimals that are printed. Methods whose means agree in all of them share a rank."""

CATEGORIES = {
    "unsupervised": "Unsupervised",
    "weakly_supervised": "Weakly supervised",
    "supervised": "Supervised",
    "reference": "References",
}
"""Categories as they are printed, in the order of the groups of a table. Ranks are given within a category."""


LEVEL = "≈"
"""Marks a method that its seeds do not tell from the first of its category."""


@dataclasses.dataclass(frozen=True)
class Row:
    """One method in the table of a task.

    Attributes:
        result: where it comes from.
        runs: its runs in the table's tier, by seed.
        rank: within its category; None where it is not ranked.
        level: whether its seeds do not tell it from the first of its category by the first score, at an error of 5%
            over all pairs of the category's ranked methods. False for the first itself and for what is not ranked.
        note: why it is not ranked; empty where it is.
        cells: score -> summary, with Student's interval of the mean instead of the stored bootstrap's.
    """

    result: Result
    runs: tuple[Run, ...]
    rank: int | None
    note: str
    cells: dict[str, Summary]
    level: bool = False

    @property
    def category(self) -> str:
        """What the method may see."""
        return self.runs[0].supervision

    @property
    def warning(self) -> bool:
        """Whether a reader should see the note: the result is marked or in quarantine."""
        return bool(self.result.quarantine or any(run.marks for run in self.runs))

    @property
    def seeds(self) -> int:
        """How many seeds there are."""
        return len(self.runs)

    @property
    def budget(self) -> str:
        """What training cost, in full; see ``budget``."""
        return budget(self.runs)

    @property
    def cost(self) -> str:
        """What training cost, in short: ``3,000 steps, 61 s``."""
        return budget(self.runs, full=False)

    def values(self, key: str) -> list[float]:
        """Give the score of every seed."""
        return [run.scores[key] for run in self.runs if key in run.scores]


@dataclasses.dataclass(frozen=True)
class Table:
    """The methods on one task, in one tier.

    Attributes:
        task: the task's name.
        tier: the tier's name.
        columns: the scores that any row has, in the protocol's order.
        groups: category -> rows in the order they are printed. Categories without rows are left out.
    """

    task: str
    tier: str
    columns: tuple[Column, ...]
    groups: dict[str, tuple[Row, ...]]

    @property
    def dataset(self) -> str:
        """The dataset's full name."""
        return self.task.partition("@")[0]

    @property
    def rows(self) -> tuple[Row, ...]:
        """All rows, group by group."""
        return tuple(row for rows in self.groups.values() for row in rows)

    @property
    def ranked(self) -> bool:
        """Whether any row has a rank."""
        return any(row.rank for row in self.rows)

    @property
    def caption(self) -> str:
        """Sample sizes and budget: what a reader must know before comparing these numbers with others."""
        return caption(self.tier, self.rows)


def caption(tier: str, rows: Sequence[Row]) -> str:
    """Say on how many rows of a dataset methods were scored, and what training cost.

    Args:
        tier: the tier's name.
        rows: methods, on one or several tasks.

    Returns:
        Such as ``Tier smoke: MIG on 10,000 rows. Training: 3,000 steps, 61 to 64 s on 2 cores.``
    """
    sizes: dict[str, list[str]] = {}
    order = [key.partition(".")[0] for key in protocol.COLUMNS]
    for row in rows:
        for metric, sample in sorted(row.runs[0].samples.items(), key=lambda item: _place(item[0], order)):
            held_out = f" and {sample.test:,} held-out" if sample.test else ""
            sizes.setdefault(f"on {sample.train:,}{held_out} rows", []).append(metric.upper())
    parts = [f"{', '.join(dict.fromkeys(metrics))} {size}" for size, metrics in sizes.items()]
    trained = [run for row in rows if row.category != "reference" for run in row.runs]
    cost = f" Training: {budget(trained)}." if trained else ""
    return f"Tier {tier}: {'; '.join(parts)}.{cost}"


def budget(runs: Sequence[Run], *, full: bool = True) -> str:
    """Say what training cost, with ranges where runs differ.

    Args:
        runs: the runs.
        full: say how many images and on what device, too.

    Returns:
        Such as ``3,000 steps, 192,000 images, 61 to 64 s on 2 cores``; ``none`` where nothing was trained.
    """
    return spent([run.budget for run in runs], full=full)


def spent(budgets: Sequence[Budget], *, full: bool = True) -> str:
    """Say what training cost, with ranges where budgets differ.

    Args:
        budgets: those of the runs.
        full: as in ``budget``.

    Returns:
        As ``budget``.
    """

    def span(values: Sequence[float]) -> str:
        low, high = f"{min(values):,.0f}", f"{max(values):,.0f}"
        return low if low == high else f"{low} to {high}"

    if not any(b.steps or b.images for b in budgets):
        return "none"
    devices = ", ".join(sorted({b.device for b in budgets if b.device}))
    parts = [
        f"{span([b.steps for b in budgets])} steps",
        f"{span([b.images for b in budgets])} images" if full else "",
        f"{span([b.seconds for b in budgets])} s" + (f" on {devices}" if devices and full else ""),
    ]
    return ", ".join(filter(None, parts))


def tables(found: Iterable[Result]) -> list[Table]:
    """Make the tables of all tasks and tiers.

    Args:
        found: results.

    Returns:
        Tables in the order of task and tier.
    """
    by_table: dict[tuple[str, str], list[Result]] = {}
    for result in found:
        for tier in result.tiers:
            by_table.setdefault((result.task, tier), []).append(result)
    return [
        table(task, tier, by_table[task, tier])
        for task, tier in sorted(by_table, key=lambda key: (natural(key[0]), key[1]))
    ]


def table(task: str, tier: str, found: Iterable[Result]) -> Table:
    """Make the table of one task in one tier. Order, ranks and ties are decided here.

    Within a category, ranked rows come first, then the others; both by the mean of the first column, highest first, and
    by name where that is equal to ``DIGITS`` decimals. Such rows share a rank, and the next rank counts them: 1, 2, 2,
    4. A row is ranked when it is no reference, has the protocol's number of seeds, no mark, and is not in quarantine.

    Args:
        task: the task's name.
        tier: the tier's name.
        found: the results of that task that have runs in that tier.

    Returns:
        The table.
    """
    rows = [_row(result, tier) for result in found]
    columns = tuple(c for key, c in protocol.COLUMNS.items() if any(key in row.cells for row in rows))

    def order(row: Row) -> tuple[bool, float, str]:
        first = row.cells.get(columns[0].key) if columns else None
        return bool(row.note), -round(first.mean, DIGITS) if first else 2.0, row.result.method

    groups = {}
    for category in CATEGORIES:
        ordered = sorted((row for row in rows if row.category == category), key=order)
        ranked = [row for row in ordered if not row.note]
        places = [order(row)[1] for row in ranked]
        level = _level(ranked, columns[0].key) if ranked else {}
        if ordered:
            groups[category] = tuple(
                row
                if row.note
                else dataclasses.replace(row, rank=1 + places.index(order(row)[1]), level=level[row.result.method])
                for row in ordered
            )
    return Table(task, tier, columns, groups)


def _level(ranked: Sequence[Row], key: str) -> dict[str, bool]:
    """Say of ranked rows whether their seeds do not tell them from the first."""
    found = verdicts.all_pairs({row.result.method: row.values(key) for row in ranked})
    first = ranked[0].result.method
    return {row.result.method: found.get((row.result.method, first), 0.0) > verdicts.ERROR for row in ranked}


def _row(result: Result, tier: str) -> Row:
    runs = result.of(tier)
    if result.quarantine:
        note = f"in quarantine: {result.quarantine}"
    elif runs[0].supervision == "reference":
        note = "a reference"
    elif marks := sorted({mark for run in runs for mark in run.marks}):
        note = f"marked: {', '.join(marks)}"
    elif len(runs) < protocol.SEEDS:
        note = f"{len(runs)} of {protocol.SEEDS} seeds"
    else:
        note = ""
    cells = {
        key: _shown(summary, [run.scores[key] for run in runs], key) for key, summary in result.summary[tier].items()
    }
    return Row(result, runs, None, note, cells)


def _shown(stored: Summary, scores: Sequence[float], key: str) -> Summary:
    """Give a summary with the interval that is shown, within the score's range."""
    ends = verdicts.mean_interval(scores)
    column = protocol.COLUMNS.get(key)
    if ends is None or column is None:
        low, high = ends or (None, None)
    else:
        low, high = max(ends[0], column.low), min(ends[1], column.high)
    return stored.model_copy(update={"low": low, "high": high})


def _place(name: str, order: Sequence[str]) -> tuple[int, str]:
    return (order.index(name) if name in order else len(order)), name


def slug(task: str) -> str:
    """Give the file name of a task's page, without its suffix.

    Args:
        task: the task's name.

    Returns:
        The dataset's name; with the version where another one has replaced it.

    Example:
        >>> slug("xysquares/spacing_4@v1")
        'xysquares.spacing_4'
    """
    name, _, version = task.partition("@")
    return name.replace("/", ".") + (f".{version}" if superseded(task) else "")


def superseded(task: str) -> bool:
    """Say whether another version has replaced a task."""
    return task in protocol.SUPERSEDED


@dataclasses.dataclass(frozen=True)
class Standing:
    """One method across all tasks of a tier.

    Attributes:
        method: its name.
        title: as it is printed.
        category: what it may see.
        average_rank: mean over tasks of its rank within the category, by the means of the first score; ties share.
        overall: interquartile mean of the first score over all runs and tasks, with its interval.
        first: how often it would have the best average rank, had other seeds been drawn.
        improvement: the probability that a run of it beats a run of the method below it; None for the last.
    """

    method: str
    title: str
    category: str
    average_rank: float
    overall: statistics.Summary
    first: float
    improvement: float | None


def standings(boards: Sequence[Table]) -> tuple[Standing, ...]:
    """Compare methods across all tasks of a tier, within each category.

    Args:
        boards: the tables of one tier.

    Returns:
        Those methods that are ranked on every task, best average rank first; nothing where there are no two tasks.
    """
    found: list[Standing] = []
    columns = {board.columns[0].key for board in boards if board.columns}
    if len(boards) < 2 or len(columns) != 1:
        return ()
    (key,) = columns
    for category in CATEGORIES:
        ranked = [{row.result.method: row for row in board.groups.get(category, ()) if row.rank} for board in boards]
        methods = sorted(set.intersection(*(set(rows) for rows in ranked)))
        if not methods:
            continue
        scores = [[rows[method].values(key) for rows in ranked] for method in methods]
        averages = statistics.average_ranks([[sum(task) / len(task) for task in tasks] for tasks in scores])
        first = statistics.rank_stability(scores)[:, 0]
        order = sorted(range(len(methods)), key=lambda m: (averages[m], methods[m]))
        for place, m in enumerate(order):
            below = order[place + 1] if place + 1 < len(order) else None
            found.append(
                Standing(
                    methods[m],
                    ranked[0][methods[m]].result.title,
                    category,
                    float(averages[m]),
                    statistics.iqm_across(scores[m]),
                    float(first[m]),
                    None if below is None else statistics.probability_of_improvement(scores[m], scores[below]),
                )
            )
    return tuple(found)


def bibtex(found: Iterable[Result]) -> str:
    """Collect how to cite the methods of a board.

    Args:
        found: results.

    Returns:
        BibTeX entries, each once, in the order of the methods.
    """
    entries = {result.method: result.about.bibtex.strip() for result in found if result.about.bibtex.strip()}
    return "\n\n".join(dict.fromkeys(entries[method] for method in sorted(entries))) + "\n" if entries else ""


def natural(name: str) -> tuple[tuple[int, int | str], ...]:
    """Give a key that sorts ``spacing_10`` after ``spacing_9``."""
    return tuple((0, int(part)) if part.isdigit() else (1, part) for part in re.findall(r"\d+|\D+", name))


def number(value: float | None) -> str:
    """Print a score: three decimals, or a dash where there is none."""
    return "–" if value is None else f"{value:.{DIGITS}f}"


def cell(row: Row, key: str, form: str = "{mean} [{low}, {high}]") -> str:
    """Print a score with its interval, where there are seeds enough for one.

    Args:
        row: the method.
        key: the score.
        form: how to print the three numbers.

    Returns:
        Such as ``0.123 [0.110, 0.140]``; a dash where there is no score.
    """
    found = row.cells.get(key)
    if found is None:
        return "–"
    if found.low is None:
        return number(found.mean)
    return form.format(mean=number(found.mean), low=number(found.low), high=number(found.high))


def _rank(row: Row) -> str:
    """Print a rank, with a mark where the method may as well be first; a dash where there is none."""
    return f"{row.rank}{LEVEL if row.level else ''}" if row.rank else "–"


def _header(board: Table) -> list[str]:
    return ["Rank", "Method", "Category", *(column.title for column in board.columns), "Seeds", "Training"]


NOTE = (
    f"Mean over seeds with Student's 95% interval, from {verdicts.SEEDS} seeds on. Ranked by the first score within a "
    f"category from {protocol.SEEDS} seeds on; a dash means not ranked. {LEVEL} after a rank: the seeds do not tell "
    f"the method from the first of its category (Welch's test, Holm over all pairs of the category)."
)


def escaped(text: str) -> str:
    r"""Escape text for Markdown, so that it is text on one line that mentions nobody, whoever wrote it.

    Args:
        text: any text.

    Returns:
        The same as Markdown source.

    Example:
        >>> print(escaped("a|b <i> @you sprites2d@v1"))
        a\|b &lt;i&gt; &#64;you sprites2d@v1
    """
    safe = re.sub(r"([\\`*_{}\[\]()#+!|~$-])", r"\\\1", " ".join(text.split()))
    safe = safe.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"(?<!\w)@", "&#64;", safe)


def markdown(board: Table) -> str:
    """Render a table as Markdown.

    Args:
        board: the table.

    Returns:
        A heading, the table, and what must be known to read it.
    """
    header = _header(board)
    lines = [
        f"## {escaped(board.task)}",
        "",
        "| " + " | ".join(header) + " |",
        "| ---: | :--- | :--- |" + " ---: |" * (len(board.columns) + 1) + " :--- |",
    ]
    for row in board.rows:
        cells = [
            _rank(row),
            escaped(row.result.title),
            CATEGORIES[row.category],
            *(cell(row, column.key) for column in board.columns),
            str(row.seeds),
            escaped(row.budget),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join([*lines, "", escaped(board.caption), "", NOTE, ""])


def latex(board: Table) -> str:
    """Render a table as LaTeX for the booktabs package.

    Args:
        board: the table.

    Returns:
        A ``table`` environment.
    """
    rows = []
    for category, of_category in board.groups.items():
        rows.append(
            rf"\addlinespace \multicolumn{{{len(board.columns) + 3}}}{{l}}{{\emph{{{CATEGORIES[category]}}}}} \\"
        )
        for row in of_category:
            cells = [
                _rank(row).replace("–", "--").replace(LEVEL, r"$\approx$"),
                tex(row.result.title),
                *(_tex_cell(row, column.key) for column in board.columns),
                str(row.seeds),
            ]
            rows.append(" & ".join(cells) + r" \\")
    heads = " & ".join(["", "Method", *(tex(column.title) for column in board.columns), "Seeds"])
    body = "\n".join(rows)
    return rf"""% Needs \usepackage{{booktabs}} and \usepackage[T1]{{fontenc}}
\begin{{table}}
\centering
\footnotesize
\setlength{{\tabcolsep}}{{2.5pt}}
\begin{{tabular}}{{rl{"r" * (len(board.columns) + 1)}}}
\toprule
{heads} \\
\midrule
{body}
\bottomrule
\end{{tabular}}
\caption{{{tex(board.task)}. {tex(board.caption)} {tex(NOTE)}}}
\end{{table}}
"""


def _tex_cell(row: Row, key: str) -> str:
    """Print a score with its interval in small print and without the zeros before its points."""
    found = row.cells.get(key)
    if found is None or found.low is None:
        return cell(row, key).replace("–", "--")
    low, high = (number(end).removeprefix("0") for end in (found.low, found.high))
    return rf"{number(found.mean)}\,{{\tiny {low}--{high}}}"


def tex(text: str) -> str:
    r"""Escape text for LaTeX, so that pdfLaTeX takes it whatever it is.

    Greek letters become maths; letters that it cannot print become their number, such as ``[U+4E2D]``.

    Args:
        text: any text.

    Returns:
        The same as LaTeX source.

    Example:
        >>> print(tex("β-VAE & 5%"))
        $\beta$-VAE \& 5\%
    """
    return "".join(_tex_letter(letter) for letter in text)


_TEX = {
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "–": "--",
    "≈": r"$\approx$",
    "±": r"$\pm$",
    "ο": "o",
    "λ": r"$\lambda$",
    "Λ": r"$\Lambda$",
}


_TEX_LATIN = frozenset(map(chr, range(0xA1, 0x180))) - set("\u00adĦħĸĿŀŉŦŧſ") | set("–—‘’“”…†‡€")
"""Letters beyond ASCII that pdfLaTeX prints as they are, in the encoding T1."""

_TEX_CAPITALS = frozenset(["GAMMA", "DELTA", "THETA", "XI", "PI", "SIGMA", "UPSILON", "PHI", "PSI", "OMEGA"])
_TEX_GREEK = _TEX_CAPITALS.union(
    ("ALPHA", "BETA", "EPSILON", "ZETA", "ETA", "IOTA", "KAPPA", "MU", "NU", "RHO", "TAU", "CHI")
)


def _tex_letter(letter: str) -> str:
    match unicodedata.name(letter, "").split():
        case ["GREEK", "SMALL", "LETTER", name] if name in _TEX_GREEK:
            return rf"$\{name.lower()}$"
        case ["GREEK", "CAPITAL", "LETTER", name] if name in _TEX_CAPITALS:
            return rf"$\{name.capitalize()}$"
    if letter in _TEX:
        return _TEX[letter]
    if letter in _TEX_LATIN or " " <= letter <= "~":
        return letter
    return " " if letter.isspace() else f"[U+{ord(letter):04X}]"


FIELDS = [
    "task",
    "tier",
    "category",
    "rank",
    "level_with_first",
    "method",
    "title",
    "seeds",
    "score",
    "mean",
    "iqm",
    "low",
    "high",
    "note",
    "steps",
    "images",
    "seconds",
    "device",
    "supervision",
    "selection",
    "status",
    "dataset_version",
    "date",
]


def comma_separated(boards: Iterable[Table]) -> str:
    """Render tables as CSV in the tidy form: one line for each score of each method.

    Args:
        boards: the tables.

    Returns:
        CSV with the header ``FIELDS``. Text that a spreadsheet would take for a formula is prefixed with an apostrophe.
    """

    def inert(value: object) -> object:
        return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t") else value

    stream = io.StringIO()
    writer = csv.DictWriter(stream, FIELDS, lineterminator="\n")
    writer.writeheader()
    for board in boards:
        for row in board.rows:
            run = row.runs[0]
            for key, cell in row.cells.items():
                record: dict[str, object] = {
                    "task": board.task,
                    "tier": board.tier,
                    "category": row.category,
                    "rank": row.rank or "",
                    "level_with_first": int(row.level),
                    "method": row.result.method,
                    "title": row.result.title,
                    "seeds": row.seeds,
                    "score": key,
                    **{name: "" if value is None else f"{value:.6f}" for name, value in _statistics(cell).items()},
                    "note": row.note,
                    "steps": max(r.budget.steps for r in row.runs),
                    "images": max(r.budget.images for r in row.runs),
                    "seconds": f"{sum(r.budget.seconds for r in row.runs):.1f}",
                    "device": run.budget.device,
                    "supervision": run.supervision,
                    "selection": run.selection,
                    "status": run.status,
                    "dataset_version": run.dataset_version,
                    "date": max(r.date for r in row.runs).isoformat(),
                }
                writer.writerow({name: inert(value) for name, value in record.items()})
    return stream.getvalue()


def _statistics(cell: Summary) -> dict[str, float | None]:
    return {"mean": cell.mean, "iqm": cell.iqm, "low": cell.low, "high": cell.high}


def _unranked(board: Table) -> str:
    """Say why rows are not ranked, where the reader could not know."""
    few = sorted({row.seeds for row in board.rows if not row.rank and row.category != "reference"})
    return f"A rank takes {protocol.SEEDS} seeds." if few and few[0] < protocol.SEEDS else ""


def terminal(found: Iterable[Result]) -> rich.console.Group:
    """Make tables to print in a terminal.

    Args:
        found: results.

    Returns:
        Something that ``rich.print`` prints: one table for each task and tier.
    """
    import rich.console
    import rich.table
    import rich.text

    parts = []
    for board in tables(found):
        shown = rich.table.Table(
            title=f"{board.task}, tier {board.tier}",
            caption=f"{board.caption}\n{_unranked(board)}".rstrip(),
            title_justify="left",
            caption_justify="left",
        )
        if board.ranked:
            shown.add_column("#", justify="right")
        shown.add_column("Method")
        for column in board.columns:
            shown.add_column(column.title, justify="right", no_wrap=True)
        shown.add_column("Seeds", justify="right", no_wrap=True)
        for category, rows in board.groups.items():
            shown.add_section()
            for row in rows:
                cells = [
                    rich.text.Text.from_ansi(cell(row, column.key, "{mean}\n\x1b[2m{low}–{high}\x1b[0m"))
                    for column in board.columns
                ]
                shown.add_row(
                    *([_rank(row)] if board.ranked else []),
                    rich.text.Text(row.result.title),
                    *cells,
                    str(row.seeds),
                    style="italic" if category == "reference" else "",
                )
        parts.append(shown)
    return rich.console.Group(*parts)


def files(root: str | os.PathLike[str]) -> dict[str, bytes]:
    """Make everything that a board consists of, in memory.

    Args:
        root: the results tree.

    Returns:
        Path within the board's folder -> content, in the order of the paths.

    Raises:
        DamagedFile: the tree is missing or empty, or a file of it is damaged.
        MissingExtra: Jinja is not installed.
    """
    from leaderboard.report import paper_claims
    from leaderboard.report.site import pages
    from leaderboard.scoring import transfer_matrix
    from leaderboard.store import reported

    root = Path(root)
    found = results.read_all(root)
    if not found:
        raise DamagedFile(
            str(root), expected="at least one result", received="none", remedy="Add some: `offaxis-board evaluate`."
        )
    boards = tables(found)
    papers, transferred = reported.read_all(root), transfer_matrix.read_all(root)
    current = [board for board in boards if not superseded(board.task)]
    made = {
        "tables/all.csv": comma_separated(boards),
        "tables/all.md": "\n".join(markdown(board) for board in boards),
        "tables/all.tex": "\n".join(latex(board) for board in boards),
        "tables/methods.bib": bibtex(found),
        "tables/reported.csv": reported.comma_separated(papers),
        "tables/transfer.csv": transfer_matrix.comma_separated(transferred),
        "tables/directions.csv": paper_claims.comma_separated(paper_claims.find(current)),
    }
    for board in boards:
        name = f"tables/{slug(board.task)}.{board.tier}"
        made |= {f"{name}.md": markdown(board), f"{name}.csv": comma_separated([board]), f"{name}.tex": latex(board)}
    rendered = pages.render(root, found, papers, transferred)
    everything = {name: text.encode() for name, text in made.items()} | rendered
    return {name: everything[name] for name in sorted(everything)}


def build(root: str | os.PathLike[str], site: str | os.PathLike[str]) -> Path:
    """Build the board: pages and tables, from the results alone.

    Args:
        root: the results tree.
        site: the folder to write to: a new or empty one, or one built before, whose files are replaced.

    Returns:
        The first page, to open in a browser.

    Raises:
        InvalidInput: the folder holds something else, or cannot be written.
        DamagedFile: the tree is missing or empty, or a file of it is damaged.
        MissingExtra: Jinja is not installed.
    """
    site = Path(site)
    made = files(root)
    before = built(site)
    for name, content in made.items():
        if before.get(name) != hashlib.sha256(content).hexdigest() or not (site / name).is_file():
            with written_atomically(site / name) as temporary:
                temporary.write_bytes(content)
    for name in before.keys() - made.keys():
        (site / name).unlink(missing_ok=True)
    write_json(site / MANIFEST, {name: hashlib.sha256(content).hexdigest() for name, content in made.items()})
    return site / "index.html"


MANIFEST = "manifest.json"
"""Lists the files of a built board with their SHA-256, so that a later build knows what it may replace."""


def built(site: Path) -> dict[str, str]:
    """Say what an earlier build wrote to a folder.

    Args:
        site: the folder.

    Returns:
        Path -> SHA-256; nothing for a new or empty folder.

    Raises:
        InvalidInput: the folder holds something else.
    """
    manifest = site / MANIFEST
    if manifest.is_file():
        listed = read_json(manifest)
        if isinstance(listed, dict) and all(
            re.fullmatch(r"((tables|tasks|methods|pictures)/)?[\w.-]+", name) for name in listed
        ):
            return listed
    elif not site.exists() or (site.is_dir() and not any(site.iterdir())):
        return {}
    raise InvalidInput(
        str(site),
        expected="a new or empty folder, or one that was built before",
        received="a file" if site.is_file() else "a folder with other files",
        remedy="Choose another folder.",
    )
