"""Tables as Markdown, LaTeX, CSV, BibTeX and for the terminal. What they say is decided in `report.ranking`."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from benchmark_data import files
from leaderboard import protocol
from leaderboard.report.ranking import CATEGORIES, DIGITS, Row, Table, tables
from leaderboard.store import verdicts
from leaderboard.store.results import Result, Summary

if TYPE_CHECKING:
    import rich.console


def bibtex(found: Iterable[Result]) -> str:
    """Collect how to cite the methods of a board.

    Args:
        found: results.

    Returns:
        BibTeX entries, each once, in the order of the methods.
    """
    entries = {result.method: result.about.bibtex.strip() for result in found if result.about.bibtex.strip()}
    return "\n\n".join(dict.fromkeys(entries[method] for method in sorted(entries))) + "\n" if entries else ""


def number(value: float | None) -> str:
    """Print a score: three decimals, or a dash where there is none.

    Args:
        value: the score.

    Returns:
        Text; what rounds to nothing has no sign.

    Example:
        >>> number(0.25), number(-0.0001), number(None)
        ('0.250', '0.000', '–')
    """
    return "–" if value is None else f"{round(value, DIGITS) + 0.0:.{DIGITS}f}"


def signed(value: float) -> str:
    """Print a difference with its sign; what rounds to nothing has none.

    Args:
        value: the difference.

    Returns:
        Three decimals.

    Example:
        >>> signed(0.25), signed(-0.5), signed(-0.0001)
        ('+0.250', '-0.500', '0.000')
    """
    return f"{value:+.{DIGITS}f}" if round(value, DIGITS) else f"{0:.{DIGITS}f}"


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
    """Print a rank with its interval, where that leaves more than one; a dash where there is none."""
    return f"{row.rank}{f' ({span(row.place)})' if row.place and span(row.place) else ''}" if row.rank else "–"


def span(place: verdicts.Place | None) -> str:
    """Print an interval of ranks.

    Args:
        place: where a method stands.

    Returns:
        Such as ``1–4``; nothing where only one rank is left.

    Example:
        >>> span(verdicts.Place(1, 4, 1)), span(verdicts.Place(2, 2, 2))
        ('1–4', '')
    """
    return f"{place.low}–{place.high}" if place and place.low != place.high else ""


def _header(board: Table) -> list[str]:
    return ["Rank", "Method", "Category", *(column.title for column in board.columns), "Seeds", "Training"]


NOTE = (
    f"Mean over seeds with Student's 95% interval, from {verdicts.SEEDS} seeds on. Ranked by the first score within a "
    f"category from {protocol.SEEDS} seeds on; a dash means not ranked. In brackets: the ranks that seeds leave open "
    f"(Welch's test, Holm over all pairs of the category, so that all are to hold at once in 95% of tables)."
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
                _rank(row).replace("–", "--"),
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
    if found is None:
        return "--"
    mean = _tex_number(found.mean)
    if found.low is None or found.high is None:
        return mean
    low, high = (_tex_number(end).replace("0.", ".", 1 if abs(end) < 1 else 0) for end in (found.low, found.high))
    return rf"{mean}\,{{\tiny {low}{' to ' if found.low < 0 else '--'}{high}}}"


def _tex_number(value: float) -> str:
    return number(value).replace("-", "$-$")


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


FIELDS: Mapping[str, type] = MappingProxyType(
    {
        "task": str,
        "tier": str,
        "category": str,
        "rank": int,
        "rank_low": int,
        "rank_high": int,
        "band": int,
        "method": str,
        "title": str,
        "seeds": int,
        "score": str,
        "mean": float,
        "iqm": float,
        "low": float,
        "high": float,
        "note": str,
        "steps": int,
        "images": int,
        "seconds": float,
        "device": str,
        "supervision": str,
        "selection": str,
        "status": str,
        "trust": str,
        "dataset_version": str,
        "date": str,
        "ranked_by": str,
    }
)
"""What a record says, and of which type. What each field is stands in ``docs/publishing.md``."""


def records(boards: Iterable[Table]) -> Iterator[dict[str, object]]:
    """List what tables say in the tidy form.

    Args:
        boards: the tables.

    Yields:
        One record for each score of each method, with the keys ``FIELDS``; None where there is nothing to say.
    """
    for board in boards:
        for row in board.rows:
            run = row.runs[0]
            for key, cell in row.cells.items():
                yield {
                    "task": board.task,
                    "tier": board.tier,
                    "category": row.category,
                    "rank": row.rank,
                    "rank_low": row.place.low if row.place else None,
                    "rank_high": row.place.high if row.place else None,
                    "band": row.place.band if row.place else None,
                    "method": row.result.method,
                    "title": row.result.title,
                    "seeds": row.seeds,
                    "score": key,
                    **{name: None if value is None else round(value, 6) for name, value in _statistics(cell).items()},
                    "note": row.note,
                    "steps": max(r.budget.steps for r in row.runs),
                    "images": max(r.budget.images for r in row.runs),
                    "seconds": round(sum(r.budget.seconds for r in row.runs) / row.seeds, 1),
                    "device": run.budget.device,
                    "supervision": run.supervision,
                    "selection": run.selection,
                    "status": run.status,
                    "trust": row.trust,
                    "dataset_version": run.dataset_version,
                    "date": max(r.date for r in row.runs).isoformat(),
                    "ranked_by": board.columns[0].key if row.rank else None,
                }


def as_json(boards: Iterable[Table]) -> str:
    """Render tables as JSON: what the CSV says, with numbers as numbers.

    Args:
        boards: the tables.

    Returns:
        A JSON list of records, one in a line.
    """
    return listed(records(boards))


def listed(found: Iterable[Mapping[str, object]]) -> str:
    """Render records as JSON.

    Args:
        found: the records.

    Returns:
        A JSON list of them, one in a line.
    """
    return "[\n" + ",\n".join(json.dumps(record, ensure_ascii=False) for record in found) + "\n]\n"


def comma_separated(boards: Iterable[Table]) -> str:
    """Render tables as CSV in the tidy form: one line for each score of each method.

    Args:
        boards: the tables.

    Returns:
        CSV with the header ``FIELDS``, as ``separated`` writes it.
    """
    return separated(FIELDS, records(boards))


def separated(fields: Iterable[str], found: Iterable[Mapping[str, object]]) -> str:
    """Render records as CSV.

    Args:
        fields: their keys, in order.
        found: the records.

    Returns:
        CSV with a header. Text that a spreadsheet would take for a formula is prefixed with an apostrophe.
    """

    def written(name: str, value: object) -> object:
        if name == "seconds":
            return f"{value:.1f}"
        return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t") else value

    names = tuple(fields)
    return files.comma_separated(names, ([written(name, record[name]) for name in names] for record in found))


def joined_json(parts: Sequence[bytes]) -> bytes:
    r"""Put several tables in JSON into one list.

    Args:
        parts: as from ``as_json``, in UTF-8.

    Returns:
        The same as ``as_json`` of all of them.

    Example:
        >>> joined_json([b'[\n{"a": 1}\n]\n', b'[\n{"a": 2}\n]\n'])
        b'[\n{"a": 1},\n{"a": 2}\n]\n'
    """
    return b"[\n" + b",\n".join(part.removeprefix(b"[\n").removesuffix(b"\n]\n") for part in parts) + b"\n]\n"


def joined_csv(parts: Sequence[bytes]) -> bytes:
    r"""Put several tables in CSV into one, under one header.

    Args:
        parts: as from ``comma_separated``, in UTF-8, at least one.

    Returns:
        The same as ``comma_separated`` of all of them.

    Example:
        >>> joined_csv([b"a,b\n1,2\n", b"a,b\n3,4\n"])
        b'a,b\n1,2\n3,4\n'
    """
    return parts[0] + b"".join(part.partition(b"\n")[2] for part in parts[1:])


def plain(found: Iterable[Result], tier: str = "") -> list[dict[str, object]]:
    """Put tables into dictionaries and lists, for JSON.

    Args:
        found: results.
        tier: only the tables of this tier; all of them if empty.

    Returns:
        One for each task and tier: ``task``, ``tier``, ``ranked_by`` (the score that ranks; None where no row has a
        rank) and ``rows`` in the order of the tables. A row has ``method``, ``title``, ``category``, ``rank``, the
        ranks that its seeds leave open (``rank_low``, ``rank_high``) and its ``band`` (None where it is not ranked),
        ``note`` (why it is not ranked), ``seeds`` and ``scores``: score -> ``mean``, ``iqm``, ``low`` and ``high``,
        None where there are too few seeds for an interval.
    """
    return [
        {
            "task": board.task,
            "tier": board.tier,
            "ranked_by": board.ranked_by.key if board.ranked_by else None,
            "rows": [
                {
                    "method": row.result.method,
                    "title": row.result.title,
                    "category": row.category,
                    "rank": row.rank,
                    "rank_low": row.place.low if row.place else None,
                    "rank_high": row.place.high if row.place else None,
                    "band": row.place.band if row.place else None,
                    "note": row.note,
                    "seeds": row.seeds,
                    "scores": {key: _statistics(cell) for key, cell in row.cells.items()},
                }
                for row in board.rows
            ],
        }
        for board in tables(found)
        if tier in ("", board.tier)
    ]


def _statistics(cell: Summary) -> dict[str, float | None]:
    return {"mean": cell.mean, "iqm": cell.iqm, "low": cell.low, "high": cell.high}


def _unranked(board: Table) -> str:
    """Describe why rows are not ranked, where the reader could not know."""
    rows = [row for row in board.rows if not row.rank and row.category != "reference"]
    few = [f"A rank takes {protocol.SEEDS} seeds."] if any(row.seeds < protocol.SEEDS for row in rows) else []
    others = [f"{row.result.title} is not ranked: {row.note}." for row in rows if row.seeds >= protocol.SEEDS]
    return " ".join([*few, *others])


def terminal(found: Iterable[Result], tier: str = "") -> rich.console.Group:
    """Make tables to print in a terminal.

    Args:
        found: results.
        tier: only the tables of this tier; all of them if empty.

    Returns:
        Something that ``rich.print`` prints: one table for each task and tier.
    """
    import rich.box
    import rich.console
    import rich.table
    import rich.text

    parts: list[rich.console.RenderableType] = []
    for board in (board for board in tables(found) if tier in ("", board.tier)):
        shown = rich.table.Table(
            box=rich.box.HORIZONTALS,  # no lines between columns: of 80, four intervals leave 14 for a name
            padding=(0, 1, 0, 0),
            pad_edge=False,
            show_edge=False,
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
                    *([_rank(row).replace(" ", "\n")] if board.ranked else []),
                    rich.text.Text(row.result.title),
                    *cells,
                    str(row.seeds),
                    style="italic" if category == "reference" else "",
                )
        ranks = f" Ranked by {board.ranked_by.title}." if board.ranked_by else ""
        caption = f"{board.caption}{ranks}\n{_unranked(board)}".rstrip() + "\n"
        title = rich.text.Text(f"{board.task}, tier {board.tier}", style="table.title")
        parts += [title, shown, rich.text.Text(caption, style="table.caption")]
    return rich.console.Group(*parts)
